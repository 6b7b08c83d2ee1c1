from __future__ import annotations

from heartfelt.report.charts import axis, interval_row, ticks
from heartfelt.report.palette import mix
from heartfelt.stats.estimate import Estimate


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0.0, 1.0) == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    assert ticks(-1.3, 1.2) == (-1.0, -0.5, 0.0, 0.5, 1.0)
    for low, high in ((0.001, 0.0017), (-5e6, 9e6), (3.0, 3.0001)):
        result = ticks(low, high)
        assert 3 <= len(result) <= 9
        assert low <= min(result) <= max(result) <= high


def test_an_axis_holds_its_values_and_survives_none() -> None:
    made = axis("x", [1.0, None, 3.0], include=[0.0])
    assert made.low == 0.0
    assert made.high > 3.0
    assert axis("x", []).low < axis("x", []).high
    assert axis("x", [2.0]).low < 2.0 < axis("x", [2.0]).high


def test_mixing_colours() -> None:
    assert mix("#ffffff", "#000000", 0.0) == "#ffffff"
    assert mix("#ffffff", "#000000", 2.0) == "#000000"
    assert mix("#000000", "#ff8000", 0.5) == "#804000"


def test_a_row_shows_an_estimate_and_half_an_interval_is_none() -> None:
    made = interval_row("a", Estimate(value=0.5, low=0.25, high=0.75), "#000000", "three raters")
    assert (made.value, made.low, made.high) == (0.5, 0.25, 0.75)
    assert made.words == "a\n0.50 [0.25, 0.75]\nthree raters"
    assert interval_row("a", Estimate(value=0.5, low=0.25, high=None), "#000000").low is None
