"""What a table says about a person's machine: its browser, address, screen and place, by the column's name and by its values.

Such facts single people out and say nothing about ratings, so they are left out unless the researcher opens the column.
"""

from __future__ import annotations

import re

import polars as pl

from heartfelt.files import packaged_toml

_PATTERNS = packaged_toml(__package__, "machine.toml")
_NAMES = re.compile(_PATTERNS["names"].replace("\n", ""))
_VALUES = {description: pattern.replace("\n", "") for description, pattern in _PATTERNS["values"].items()}
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
