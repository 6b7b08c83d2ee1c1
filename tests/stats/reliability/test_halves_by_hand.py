"""Halves of ratings and the steps from one number of ratings to another, in small exact cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability import halves, raters_needed, reliability_with, split_half
from heartfelt.stats.reliability.halves import length_factor
from heartfelt.stats.reliability.spearman_brown import reliability_curve, stepped, stepped_bound
from heartfelt.stats.reliability.two_way_jackknife import TwoWaySpread
from heartfelt.streams import stream
from tests.stats.reliability.ratings import ITEM, RATER, VALUE, level_share, of_rows


def _halves(uniform: Any) -> Any:
    """Items dealt as the shuffle says: of each item's ratings the first half of a shuffled order, the odd one to either."""
    starts = np.append(0, np.cumsum(np.bincount(ITEM)))
    return starts, halves._deal(starts, np.diff(starts), uniform)


def test_every_item_is_dealt_into_halves_and_the_odd_one_goes_to_either() -> None:
    uniform = np.random.default_rng(0).random((400, 17))
    starts, half = _halves(uniform)
    for item, size in enumerate(np.diff(starts)):
        first = (half[:, starts[item] : starts[item + 1]] == 0).sum(axis=1)
        assert set(first.tolist()) == ({size // 2} if size % 2 == 0 else {size // 2, size // 2 + 1})
        # Every rating is as often in the first half as any other.
        share = (half[:, starts[item] : starts[item + 1]] == 0).mean(axis=0)
        if size > 1:
            assert share == pytest.approx(np.full(size, 0.5), abs=0.12)
    # The two items with three ratings each have a coin of their own.
    larger = [(half[:, starts[item] : starts[item + 1]] == 0).sum(axis=1) > 1 for item in (0, 6)]
    assert 0.4 < float(np.mean(larger[0] == larger[1])) < 0.6


def test_correlations_of_halves_without_each_unit_by_hand() -> None:
    uniform = np.random.default_rng(1).random((6, 17))
    starts, half = _halves(uniform)
    whole, (by_item, by_rater, by_rating) = halves._leave_out(starts, RATER, VALUE, uniform, 6)

    def correlation(split: int, keep: Any) -> float:
        pairs = []
        for item in range(7):
            rows = np.flatnonzero((item == ITEM) & keep)
            sides = [VALUE[rows[half[split, rows] == side]] for side in (0, 1)]
            if np.sum(item == ITEM) > 1 and sides[0].size and sides[1].size:
                pairs.append([side.mean() for side in sides])
        if len(pairs) < 3:
            return math.nan
        return float(np.corrcoef(np.array(pairs).T)[0, 1])

    everything = np.ones(17, bool)
    for split in range(6):
        assert whole[split] == pytest.approx(correlation(split, everything))
        for item in range(7):
            assert by_item[split, item] == pytest.approx(correlation(split, item != ITEM))
        for row in range(17):
            assert by_rating[split, row] == pytest.approx(correlation(split, np.arange(17) != row))
        for rater in range(6):
            # A rater rated each item once at most, so that leaving the rater out leaves out one rating of each.
            assert by_rater[split, rater] == pytest.approx(correlation(split, rater != RATER), nan_ok=True)


def test_split_half_is_stepped_up_by_the_error_of_halves() -> None:
    assert length_factor(np.array([4, 4])) == pytest.approx(2.0)
    assert length_factor(np.array([3, 2, 1])) == pytest.approx((3 / 4 + 1) / 2 / ((1 / 3 + 1 / 2) / 2))
    result = split_half(RATER, ITEM, VALUE, splits=60)
    total = [np.zeros(7), np.zeros(6), np.zeros(17)]
    starts = np.append(0, np.cumsum(np.bincount(ITEM)))
    summed = halves.split_at_once(
        starts, RATER, VALUE - VALUE.mean(), stream(0, "reliability", "split half"), 60, *total
    )
    r, step = (summed or 0) / 60, length_factor(np.bincount(ITEM))
    assert float(result) == pytest.approx(step * r / (1 + (step - 1) * r))
    assert result.counts["items_with_one_rating"] == 1
    assert result.counts["splits"] == 60
    on_z = [np.arctanh(part / 60) for part in total]
    # The sixth rater rated nothing but the item with one rating.
    used = np.bincount(RATER[ITEM != 5])
    units = on_z[0][np.arange(7) != 5], on_z[1][:5], on_z[2][ITEM != 5]
    variances = [(part.size - 1) * float(part.var()) for part in units]
    sizes = np.bincount(ITEM)[[0, 1, 2, 3, 4, 6]]
    counted = [float(part.sum() ** 2 / (part**2).sum()) for part in (sizes, used)]
    spread = TwoWaySpread(
        items=variances[0], raters=variances[1], ratings=variances[2], item_count=counted[0], rater_count=counted[1]
    )
    # Some raters gave fewer than four ratings, which show no gain.
    response, levels = r / (1 + r), min(level_share(RATER, ITEM, VALUE), 0.999)
    # The residual is held at a thousandth of the error at least.
    assert levels == 0.999
    half = spread.reach_alike(response, 0.95, None, 0.35, levels * response)
    low, high = (math.tanh(math.atanh(r) + side * half) for side in (-1, 1))
    assert result.low == pytest.approx(max(step * low / (1 + (step - 1) * low), -1.0))
    assert result.high == pytest.approx(step * high / (1 + (step - 1) * high))
    # Of R raters, three careless ones more would leave R (R - 1) / ((R + 3) (R + 2)) of the pairs attentive.
    many = spread.rater_count
    unseen = math.atanh(many * (many - 1) / ((many + 3) * (many + 2)) * r)
    careless = math.tanh(math.atanh(r) - max(spread.reach_if_careless(math.atanh(r) - unseen, 0.95), half))
    assert result.bound_if_careless == pytest.approx(max(step * careless / (1 + (step - 1) * careless), -1.0))
    with pytest.raises(InputError, match="needs a split"):
        split_half(RATER, ITEM, VALUE, splits=0)
    assert split_half(RATER, ITEM, VALUE, splits=1).value is not None
    close = split_half(*of_rows(np.arange(8.0)[:, None] + 0.05 * np.sin(np.arange(32.0).reshape(8, 4))))
    assert close.low is not None
    assert 0.999 < close.low < float(close)
    same = split_half(*of_rows(np.tile(np.arange(8.0)[:, None], 4)))
    assert same.why_no_interval == "the halves agree perfectly"


def test_stepping_up_at_its_ends() -> None:
    single = Estimate(value=0.4, low=-0.6, high=0.9, method="ICC", interval="F", bound_if_careless=0.1)
    more = stepped(single, 3.0, "k")
    assert (more.value, more.low, more.high) == pytest.approx((1.2 / 1.8, -1.0, 2.7 / 2.8))
    assert more.bound_if_careless == pytest.approx(0.3 / 1.2)
    assert stepped(single, 2.0, "k").low == pytest.approx(-1.0)
    assert stepped(single, 2.0, "k", exact=True).low == pytest.approx(-1.2 / 0.4)
    assert stepped(Estimate(value=0.4, low=-0.6, high=0.9), 4.0, "k", exact=True).low == -1.0
    assert stepped_bound(-0.45, 3.0, -2.0) == -2.0
    assert stepped(Estimate(value=-0.5), 3.0, "k").is_missing
    needed = raters_needed(
        Estimate(value=0.4, low=0.2, high=0.6, method="ICC", interval="F", bound_if_careless=0.1), 0.8
    )
    assert needed.bound_if_careless == 36
    assert raters_needed(Estimate(value=0.4, low=0.0, high=0.6, method="ICC", interval="F"), 0.8).interval.endswith(
        "the reliability may be zero"
    )
    assert raters_needed(0.0, 0.8).is_missing
    assert raters_needed(-1.0, 0.8).is_missing
    assert raters_needed(1.0, 0.8).value == 1
    for outside in (1.0001, -1.0001, math.nan):
        with pytest.raises(InputError, match="between -1 and 1"):
            reliability_with(outside, 2)
    assert reliability_with(0.5, 0.5).value == pytest.approx(0.25 / 0.75)
    curve = reliability_curve({1: Estimate(value=0.5, low=0.0, high=1.0), 2: Estimate(value=2 / 3 + 0.004)}, 2)
    assert (curve[2].low, curve[2].high) == (0.0, 1.0)
    assert reliability_curve({1: Estimate(value=0.5), 2: Estimate(value=2 / 3 + 0.006)}, 1).keys() == {1}
    assert reliability_curve({1: Estimate(value=1.0)}, 3).keys() == {1}
    assert reliability_curve({1: Estimate(value=0.5)}, 2)[2].low is None
    assert reliability_with(0.5, 4).interval == ""
    assert reliability_curve({1: Estimate(value=0.5, low=0.2, high=1.5)}, 2)[2].high is None
