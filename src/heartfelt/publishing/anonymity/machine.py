"""What a table says about a person's machine: its browser, address, screen and place, by the column's name and by its values.

Such facts single people out and say nothing about ratings, so they are left out unless the researcher opens the column.
"""

from __future__ import annotations

import re

import polars as pl

_NAMES = re.compile(
    r"^screen$|(?:^|_)(?:user_?agent(?:_string)?|ua|ip|ip_?v?[46]|ip_?addr(?:ess)?|(?:remote|client|host)_?(?:addr|address|name|ip)|hostname|"
    r"mac_?addr(?:ess)?|browser|browser_?(?:name|version|info|language|lang)|os|os_?(?:name|version|info)|operating_?system|"
    r"device_?(?:type|model|id|name|info|memory|pixel_?ratio)|machine|machine_?id|hardware_?concurrency|cpu_?cores|gpu|webgl|"
    r"screen_?(?:size|width|height|res|resolution|x|y|w|h)|(?:display|monitor)_?(?:size|resolution)|viewport|"
    r"(?:viewport|window|inner|outer)_?(?:size|width|height)|color_?depth|pixel_?ratio|referr?er|http_?referr?er|fingerprint|"
    r"canvas_?hash|visitor_?id|cookies?|cookie_?id|session_?(?:id|token|cookie)|time_?zone|tz|tz_?offset|timezone_?offset|"
    r"geo|geo_?(?:location|ip|lat|lon)|gps|lat|latitude|lon|lng|longitude|location_?(?:latitude|longitude|lat|lon|lng)|isp|"
    r"connection_?(?:type|speed)|carrier|advertising_?id|idfa|imei|push_?token)(?:$|_\d+$)"
)
_VALUES = {
    "a user agent": r"^(?:Mozilla|Opera|Dalvik|okhttp)/\d.*|.*\b(?:AppleWebKit|Gecko|Chrome|Safari|Firefox)/\d.*",
    "a network address": r"^(?:\d{1,3}\.){3}\d{1,3}$|^(?:[0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{0,4}$",
    "the address of a device": r"^(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$",
    "the size of a screen": r"^\d{3,4}\s?[xX×*]\s?\d{3,4}(?:\s?[xX×*@]\s?\d{1,3})?$",
    "a place on the map": r"^\(?-?\d{1,3}\.\d{3,}\s*[,;]\s*-?\d{1,3}\.\d{3,}\)?$",
    "the page somebody came from": r"^(?:https?|android-app)://\S+$",
    "a fingerprint": r"^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})$",
    "a time zone": r"^(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Z][A-Za-z_/]+$",
    "an operating system": r"^(?i:win(?:dows)?[ _]?(?:nt|xp|7|8|10|11|32|64)?[\d.]*|mac ?os(?: ?x)?[\d._ ]*|macintel|"
    r"linux(?: \w+)?|android[\d. ]*|ios[\d._ ]*|iphone|ipad|chrome ?os|ubuntu)$",
    "a browser": r"^(?i:(?:google )?chrome|chromium|(?:mobile )?safari|firefox|(?:microsoft )?edge|opera|samsung internet|brave|"
    r"internet explorer)[ /]?[\d.]*$",
}
_MIN_SHARE = 0.8
"""The share of a column's values that look alike."""


def machine_fact(column: pl.Series) -> str | None:
    """What a column says of people's machines, in words; None where it says nothing of the kind."""
    if _NAMES.search(_snake_case(column.name)):
        return "by its name"
    if column.dtype != pl.String:
        return None
    values = column.drop_nulls().str.strip_chars().unique()
    values = values.filter(values != "").head(1000)
    for description, pattern in _VALUES.items():
        if values.len() and int(values.str.contains(pattern).sum()) >= _MIN_SHARE * values.len():
            return f"its values look like {description}"
    return None


def _snake_case(name: str) -> str:
    """``clientIP`` and ``Client-IP`` as ``client_ip``."""
    spaced_out = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", spaced_out.casefold()).strip("_")
