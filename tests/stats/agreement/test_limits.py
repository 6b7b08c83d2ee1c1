"""Where agreement has no interval, each reason at its boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats import alpha, exact_agreement, leave_one_out
from heartfelt.stats.agreement import Interval
from heartfelt.stats.agreement.krippendorff import _quick
from heartfelt.stats.estimate import Estimate
from tests.cases import check_all
from tests.facts import mentions

SOURCE = "the definitions, by hand"


def test_a_single_item_has_no_interval() -> None:
    pairwise = exact_agreement([0, 1, 2], [0, 0, 0], [1, 1, 2]).pairwise
    assert pairwise.value == pytest.approx(1 / 3)
    assert mentions(pairwise.why_no_interval, "item", "items")
    two = exact_agreement([0, 1, 2] * 2, [0, 0, 0, 1, 1, 1], [1, 1, 2, 1, 1, 1]).pairwise
    assert two.why_no_interval != pairwise.why_no_interval


def test_a_bootstrap_needs_nine_tenths_of_its_resamples() -> None:
    clear = alpha(
        [0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 2, 2], interval=Interval(method="bootstrap", resample="items", resamples=200)
    )
    undefined = clear.counts["resamples_undefined"]
    assert 60 < undefined < 140
    assert mentions(clear.why_no_interval, "resamples", "value")
    items = np.repeat(np.arange(6), 2)
    mixed = alpha(
        np.tile([0, 1], 6),
        items,
        [1, 1, 2, 2, 1, 2, 2, 2, 1, 1, 2, 1],
        interval=Interval(method="bootstrap", resample="items", resamples=200),
    )
    assert mixed.counts["resamples_undefined"] < 20
    assert mixed.low is not None


def test_an_interval_without_width_is_refused() -> None:
    rater, item = np.tile([0, 1, 2], 3), np.repeat([0, 1, 2], 3)
    same = exact_agreement(rater, item, [1, 1, 2, 2, 1, 1, 1, 2, 1], resample="items").pairwise
    assert same.value == pytest.approx(1 / 3)
    assert same.low is None
    assert "without width" in str(same.why_no_interval)


@pytest.mark.parametrize(
    ("raters", "name"),
    [(2, "jackknife over items, raters assumed to differ as usual (only 2 raters)"), (3, "two-way jackknife")],
)
def test_raters_are_left_out_where_there_are_three(raters: int, name: str) -> None:
    rater, item = np.tile(np.arange(raters), 60), np.repeat(np.arange(60), raters)
    value = (item + (rater == 1) * (item % 3 == 0)) % 8
    result = alpha(rater, item, value)
    assert result.interval.startswith(name)


@pytest.mark.parametrize(
    ("low", "high", "least", "refused"),
    [
        (-1.0, 1.0, -1.0, True),
        (-0.99, 0.99, -1.0, True),
        (-0.989, 1.0, -1.0, False),
        (-1.0, 0.989, -1.0, False),
        (0.005, 0.995, 0.0, True),
        (0.0051, 1.0, 0.0, False),
    ],
)
def test_an_interval_over_all_possible_values_is_refused(low: float, high: float, least: float, refused: bool) -> None:
    made = Estimate(value=0.5, low=low, high=high, interval="t", bound_if_careless=low).informative(least)
    assert (made.low is None, made.high is None, made.bound_if_careless is None) == (refused,) * 3
    assert ("span all possible values" in str(made.why_no_interval)) == refused


def test_leave_one_out_needs_three_votes() -> None:
    two = leave_one_out([0, 1] * 3, [0, 0, 1, 1, 2, 2], [1, 1, 1, 2, 2, 2])
    assert mentions(two.accuracy.why_missing, "item", "majority")
    three = leave_one_out([0, 1, 2] * 2, [0, 0, 0, 1, 1, 1], [1, 1, 1, 2, 2, 2])
    assert (three.accuracy.value, three.accuracy.counts["compared"]) == (1.0, 6)


@pytest.mark.parametrize(("confidence", "resamples"), [(0.0, 100), (1.0, 100), (0.95, 99)])
def test_an_interval_is_refused_outside_its_range(confidence: float, resamples: int) -> None:
    with pytest.raises(InputError):
        Interval(confidence=confidence, resamples=resamples)


def short_way(rater: Any, item: Any, value: Any, level: str = "interval") -> bool:
    """Whether alpha without an interval comes straight from the columns; that it is then the same alpha is checked."""
    quick = _quick(rater, item, value, level)
    if quick is None:
        return False
    counts, within, across = quick
    long = alpha(rater, item, value, level)
    assert dict(long.counts) == counts
    if long.value is not None:
        assert 1 - (counts["ratings"] - 1) * within / across == pytest.approx(long.value, abs=1e-12)
    return True


RATER, ITEM = np.tile([0, 1, 2], 8), np.repeat(np.arange(8), 3)
VALUE = (ITEM + (RATER == 1) * (ITEM % 3 == 0)) % 4


@check_all(
    ("rater", "item", "value", "short"),
    [
        (RATER, ITEM, VALUE, True),
        (None, ITEM, VALUE, True),
        (RATER, ITEM, VALUE.astype(np.int16), True),
        (RATER, ITEM, VALUE * 1e99, True),
        (RATER, ITEM, VALUE * 1e-99, True),
        (RATER, ITEM, VALUE * 1e100, False),
        (RATER, ITEM, VALUE * 1e-101, False),
        (RATER, ITEM, np.where(ITEM == 0, np.inf, VALUE), False),
        (RATER, ITEM, np.full(24, 2.0), True),
        (RATER, ITEM * 1.0, VALUE, False),
        (RATER * 1.0, ITEM, VALUE, False),
        (RATER, ITEM.astype(np.int32), VALUE, False),
        (RATER.astype(np.int32), ITEM, VALUE, False),
    ],
)
def test_whole_numbers_take_the_short_way(rater: Any, item: Any, value: Any, short: bool) -> None:
    assert short_way(rater, item, value) is short


def test_the_short_way_needs_numbers() -> None:
    assert _quick(RATER, ITEM, np.array(list("abcd"))[VALUE], "nominal") is None
    assert _quick(RATER, ITEM, VALUE + 1, "ratio") is None
    assert _quick(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), "interval") is None


@pytest.mark.parametrize("past", [0, 1])
def test_ids_of_a_wide_span_take_the_long_way(past: int) -> None:
    far = 4 * 24 + 1024 - 1 + past
    assert short_way(RATER, np.where(ITEM == 7, far, ITEM), VALUE) is (past == 0)
    assert short_way(np.where(RATER == 2, far, RATER), ITEM, VALUE) is (past == 0)
    assert short_way(RATER, np.where(ITEM == 7, far, ITEM) - 50, VALUE) is (past == 0)


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
@pytest.mark.parametrize("past", [0, 1])
def test_values_of_a_wide_span_take_the_long_way(level: str, past: int) -> None:
    far = 4 * 24 - 1 + past
    for shift in (0, -7, 3):
        assert short_way(RATER, ITEM, np.where(ITEM == 7, far, VALUE) + shift, level) is (past == 0)
    assert short_way(RATER, ITEM, VALUE + 2**52, "interval")
    assert short_way(RATER, ITEM, VALUE + 2**52 - 1, level)
    assert not short_way(RATER, ITEM, VALUE + 2**52, level)
    assert not short_way(RATER, ITEM, VALUE + 0.5, level)
    assert not short_way(RATER, ITEM, np.where(ITEM == 3, 1.5, VALUE), level)


@pytest.mark.parametrize("past", [0, 1])
def test_a_table_of_votes_has_a_largest_size(past: int) -> None:
    # 16 * 24 + 4096 cells: 64 places for items and 70 for values. Without a table only ordinal values have a short way.
    item, value = np.where(ITEM == 7, 63 + past, ITEM), np.where(ITEM == 5, 69, VALUE)
    assert short_way(RATER, item, value, "nominal") is (past == 0)
    assert short_way(RATER, item, value, "ordinal")


def test_a_million_distinct_values_take_the_long_way() -> None:
    item = np.repeat(np.arange(1 << 17), 3)
    value = item.copy()
    value[-1] = (1 << 20) - 1
    assert _quick(None, item, value, "ordinal") is not None
    value[-1] = 1 << 20
    assert _quick(None, item, value, "ordinal") is None


def test_a_bootstrap_of_items_leaves_the_raters_as_they_are() -> None:
    rater, item = np.tile(np.arange(6), 8), np.repeat(np.arange(8), 6)
    value = (item + (rater == 1) * (item % 3 == 0)) % 4

    def interval(few: Any, resample: str, known: bool = True) -> str:
        who = rater[few] if known else None
        return alpha(
            who, item[few], value[few], interval=Interval(method="bootstrap", resample=resample, resamples=100)
        ).interval

    assert mentions(interval(rater < 6, "both"), "bootstrap", "items", "raters")
    assert interval(rater < 6, "items") == "bootstrap of items, percentile"
    assert mentions(interval(rater < 2, "both"), "bootstrap", "items", "2 raters")
    assert mentions(interval(rater < 6, "both", known=False), "bootstrap", "items", "raters")


def test_many_values_do_not_run_over() -> None:
    item = np.repeat(np.arange(2_000), 3)
    assert short_way(None, item, (item * 9 + np.arange(6_000) % 7) % 20_000)
    assert short_way(None, item, item % 256)
    assert short_way(None, item, item % 257)


def test_items_with_many_raters_take_the_long_way() -> None:
    rater, item = np.tile(np.arange(1_000), 2), np.repeat([0, 1], 1_000)
    value = (rater + item) % 3
    assert not short_way(rater, item, value)
    with pytest.raises(InputError, match="more than once"):
        alpha(np.append(rater, 7), np.append(item, 0), np.append(value, 1), interval=None)


def test_bootstraps_of_ranks_and_of_distances() -> None:
    """Stretching the highest value leaves ordinal bounds as they are and moves interval bounds."""
    stretched = np.where(VALUE == 3, 30, VALUE)

    def bounds(value: Any, level: str) -> tuple[float | None, float | None]:
        result = alpha(
            RATER, ITEM, value, level, interval=Interval(method="bootstrap", resample="items", resamples=100)
        )
        return result.low, result.high

    assert bounds(VALUE, "ordinal") == bounds(stretched, "ordinal")
    assert bounds(VALUE, "interval") != bounds(stretched, "interval")
    assert bounds(VALUE * 2.0, "interval") == pytest.approx(bounds(VALUE, "interval"))


def test_a_bootstrap_draws_every_rater() -> None:
    """Only the first rater disagrees: resamples without that rater agree perfectly, those with it do not."""
    rater, item = np.tile(np.arange(6), 8), np.repeat(np.arange(8), 6)
    value = np.where((rater == 0) & (item % 2 == 0), item + 1, item)
    result = alpha(rater, item, value, interval=Interval(method="bootstrap", resample="both", resamples=200))
    assert result.high == pytest.approx(1.0)
    assert result.low is not None
    assert result.low < 0.99


def test_columns_of_whole_numbers_must_have_one_length() -> None:
    with pytest.raises(InputError, match=r"item 4.*value 4.*rater 3"):
        _quick(np.array([0, 1, 0]), np.array([0, 0, 1, 1]), np.array([1, 1, 2, 2]), "nominal")


def test_a_prior_counts_once_in_every_resample_of_raters(monkeypatch: pytest.MonkeyPatch) -> None:
    weights: list[list[float]] = []

    def record(*given: Any) -> float:
        weights.append(given[6].tolist())
        return float(len(weights))

    monkeypatch.setattr("heartfelt.stats.agreement.kernels._kernels_resampling.weighted_alpha", record)
    rater, item = np.tile([0, 1, 2], 6), np.repeat(np.arange(6), 3)
    prior = {name: name % 3 for name in range(6)}
    result = alpha(
        rater, item, item % 4, prior=prior, interval=Interval(method="bootstrap", resample="both", resamples=100)
    )
    assert result.interval.startswith("bootstrap of items and raters")
    assert len(weights) == 100
    assert {own[-1] for own in weights} == {1.0}
    assert {sum(own) for own in weights} == {4.0}
