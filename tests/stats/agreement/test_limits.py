"""Where agreement has no interval, each reason at its boundary."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.stats import alpha, exact_agreement, leave_one_out
from heartfelt.stats.agreement import Interval

SOURCE = "the definitions, by hand"


def test_a_single_item_has_no_interval() -> None:
    pairwise = exact_agreement([0, 1, 2], [0, 0, 0], [1, 1, 2]).pairwise
    assert pairwise.value == pytest.approx(1 / 3)
    assert pairwise.why_no_interval == "a single item says nothing about how items differ"
    two = exact_agreement([0, 1, 2] * 2, [0, 0, 0, 1, 1, 1], [1, 1, 2, 1, 1, 1]).pairwise
    assert two.why_no_interval != pairwise.why_no_interval


def test_a_bootstrap_needs_nine_tenths_of_its_resamples() -> None:
    clear = alpha([0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 2, 2], interval=Interval("bootstrap", "items", 200))
    undefined = clear.counts["resamples_undefined"]
    assert 60 < undefined < 140
    assert clear.why_no_interval == "too few resamples have a value"
    items = np.repeat(np.arange(6), 2)
    mixed = alpha(
        np.tile([0, 1], 6),
        items,
        [1, 1, 2, 2, 1, 2, 2, 2, 1, 1, 2, 1],
        interval=Interval("bootstrap", "items", 200),
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
    ("raters", "name"), [(2, "jackknife over items (only 2 raters)"), (3, "two-way jackknife")]
)
def test_raters_are_left_out_where_there_are_three(raters: int, name: str) -> None:
    rater, item = np.tile(np.arange(raters), 8), np.repeat(np.arange(8), raters)
    value = (item + (rater == 1) * (item % 3 == 0)) % 4
    result = alpha(rater, item, value)
    assert result.interval.startswith(name)


def test_leave_one_out_needs_three_votes() -> None:
    two = leave_one_out([0, 1] * 3, [0, 0, 1, 1, 2, 2], [1, 1, 1, 2, 2, 2])
    assert two.accuracy.why_missing == "no item has three or more votes with a majority among the others"
    three = leave_one_out([0, 1, 2] * 2, [0, 0, 0, 1, 1, 1], [1, 1, 1, 2, 2, 2])
    assert (three.accuracy.value, three.accuracy.counts["compared"]) == (1.0, 6)


@pytest.mark.parametrize("given", [{"confidence": 0.0}, {"confidence": 1.0}, {"resamples": 99}])
def test_an_interval_is_refused_outside_its_range(given: dict[str, float]) -> None:
    from heartfelt.errors import InputError

    with pytest.raises(InputError):
        Interval(**given)  # type: ignore[arg-type]
