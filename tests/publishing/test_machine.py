"""Facts about people's machines: told by a column's name or by its values, and left out unless they are opened or asked."""

from __future__ import annotations

import polars as pl

from heartfelt.publishing.anonymity.columns.machine import machine_fact
from heartfelt.publishing.anonymity.columns.roles import rater_roles
from heartfelt.publishing.anonymity.columns.unpublished import leave_out_columns
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.options import PublishOptions
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from tests.cases import check_all
from tests.publishing.test_publish import STUDY, small

NAMES = (
    "userAgent", "User-Agent", "Q_UserAgent", "IPAddress", "ip", "client_ip", "Browser", "browser version", "os", "OS",
    "operatingSystem", "screen", "Screen Resolution", "screenWidth", "viewport", "referrer", "HTTP_REFERER", "fingerprint",
    "deviceId", "device_type", "LocationLatitude", "lng", "timeZone", "tz_offset", "cookie", "geo_location", "os_2",
)  # fmt: skip
OTHERS = (
    "age", "gender", "passed_screen", "vip", "pos", "headphones", "listening_device", "translation", "chaos", "tempo", "latency",
    "country", "clip", "platform", "hostess", "lathe", "browser_game_hours", "screening",
)  # fmt: skip
VALUES = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", "192.0.2.1", "2001:db8::7", "a4:5e:60:c1:00:0f", "1920x1080",
    "1920 × 1080", "52.52000, 13.40500", "https://app.example.com/x", "Europe/Berlin",
    "d41d8cd98f00b204e9800998ecf8427e", "Windows 10",
    "MacIntel", "Chrome 120.1", "iOS 17", "Linux", "Safari",
)  # fmt: skip


def test_columns_are_known_by_their_names() -> None:
    assert not [name for name in NAMES if machine_fact(pl.Series(name, [1])) is None]
    assert not [name for name in OTHERS if machine_fact(pl.Series(name, ["a", "b"])) is not None]


@check_all("value", VALUES)
def test_columns_are_known_by_their_values(value: str) -> None:
    assert "its values look like" in str(machine_fact(pl.Series("x", [value, None, "", f" {value} "])))
    assert machine_fact(pl.Series("x", [value, "happy"])) is None, "half of the values are something else"
    assert machine_fact(pl.Series("x", [value, value + "x!", *map(str, range(3))])) is None


def test_most_of_the_values_must_look_alike() -> None:
    addresses = [f"192.0.2.{number}" for number in range(8)]
    assert machine_fact(pl.Series("x", [*addresses, "home", "work"])) is not None
    assert machine_fact(pl.Series("x", [*addresses, "home", "work", "train"])) is None
    assert machine_fact(pl.Series("x", [], dtype=pl.String)) is None
    assert machine_fact(pl.Series("x", [1920, 1080])) is None


def test_they_are_left_out_of_ratings_and_raters_unless_opened_or_asked() -> None:
    base = small()
    study = parse_study(STUDY + "demographics: [{id: browser, text: Which browser?, type: text}]\n")
    names = base.raters["rater"]
    raters = pl.DataFrame({"rater": names}).with_columns(
        about_browser=pl.lit("Firefox"), userAgent=pl.lit("x"), seen=pl.lit("192.0.2.1"), mood=pl.lit("calm")
    )
    ratings = base.ratings.with_columns(os=pl.lit("Linux"), where=pl.lit("192.0.2.1"), loud=pl.col("stimulus"))
    draft = Draft.of(Snapshot.build(study, stimuli=base.stimuli, ratings=ratings, raters=raters))
    roles = rater_roles(draft, PublishOptions())
    assert {name for name, role in roles.items() if role == "machine"} == {"userAgent", "seen"}
    opened = rater_roles(draft, PublishOptions(open=("seen",)))
    assert opened["seen"] == "open"
    left = leave_out_columns(draft, PublishOptions())
    assert not {"os", "where"} & set(left.tables["ratings"].columns)
    assert "loud" in left.tables["ratings"].columns
    said = {step.column: step.about for step in left.steps}
    assert said["os"] == "What is known of the person's machine is left out (by its name)."
    assert said["where"].endswith("(its values look like a network address).")
    kept = leave_out_columns(draft, PublishOptions(open=("os",)))
    assert "os" in kept.tables["ratings"].columns
