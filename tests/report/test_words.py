from __future__ import annotations

import pytest

from heartfelt.report import words
from heartfelt.report.chart import axis, ticks
from heartfelt.report.palette import mix


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (991, "991"), (6162, "6,162"), (0.12345, "0.123"), (-0.0001, "0.000"), (-1.5, "−1.50"),
     (150.525, "150.53"), (1343.9, "1,344"), (float("nan"), "–")],
)  # fmt: skip
def test_numbers_read_as_in_papers(value: float | None, text: str) -> None:
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("p", "text", "marks"),
    [(0.2, ".200", ""), (0.05, ".050", ""), (0.049, ".049", "*"), (0.0099, ".010", "**"), (0.0009, "< .001", "***"),
     (1.0, "1", "")],
)  # fmt: skip
def test_p_values_and_their_stars(p: float, text: str, marks: str) -> None:
    assert words.chance(p) == text
    assert words.stars(p) == marks


def test_an_interval_or_the_reason_there_is_none() -> None:
    assert words.interval({"value": 0.71, "low": 0.68, "high": 0.74}) == "0.710 [0.680, 0.740]"
    assert words.interval({"value": 2.0, "low": None, "high": None}) == "2.00"
    assert words.interval({"value": None, "why_missing": "one rater"}) == "none: one rater"


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0.0, 1.0) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert ticks(-1.3, 1.2) == [-1.0, -0.5, 0.0, 0.5, 1.0]
    for low, high in ((0.001, 0.0017), (-5e6, 9e6), (3.0, 3.0001)):
        found = ticks(low, high)
        assert 3 <= len(found) <= 9
        assert low <= min(found) <= max(found) <= high


def test_an_axis_holds_its_values_and_survives_none() -> None:
    made = axis("x", [1.0, None, 3.0], include=[0.0])
    assert made["low"] == 0.0
    assert made["high"] > 3.0
    assert axis("x", [])["low"] < axis("x", [])["high"]
    assert axis("x", [2.0])["low"] < 2.0 < axis("x", [2.0])["high"]


def test_mixing_colours() -> None:
    assert mix("#ffffff", "#000000", 0.0) == "#ffffff"
    assert mix("#ffffff", "#000000", 2.0) == "#000000"
    assert mix("#000000", "#ff8000", 0.5) == "#804000"
