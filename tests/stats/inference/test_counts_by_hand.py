"""Counts of ratings and predictions beside ratings in small exact cases: least squares and the equations written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartfelt.stats.inference import Rated, count_dependence, prediction_powered_mean, prediction_powered_slope
from tests.facts import mentions


@pytest.mark.parametrize("nominal", [False, True])
def test_counts_and_answers_by_least_squares(nominal: bool) -> None:
    """Raters and cells as dummy columns, errors clustered by item with their leverage (CR3)."""
    item = np.repeat(np.arange(24), [1 + k % 3 for k in range(24)])
    # Raters do not meet both cells alike, so that neither's means can be taken out alone.
    cell = item // 12
    rater = (np.arange(item.size) * 5 + item) % np.where(cell == 0, 3, 5)
    value = np.rint(1.5 + np.sin(np.arange(item.size) * 7.0) + 0.3 * rater)
    result = count_dependence(rater, item, value, cell=cell, nominal=nominal, confidence=0.9)
    n = np.bincount(item)[item].astype(float)
    apart = np.array([
        np.mean([(v != w) if nominal else (v - w) ** 2 for w in np.delete(value[item == i], own)])
        for i, v, own in zip(item, value, [int(np.sum(item[:k] == item[k])) for k in range(item.size)], strict=True)
        if np.sum(item == i) > 1
    ], float)  # fmt: skip
    several = n > 1
    for test, column, rows in ((result.answers, value, np.ones(n.size, bool)), (result.disagreement, apart, several)):
        if nominal and test is result.answers:
            assert test.category is not None
            column = (value == test.category) * 1.0
        dummies = np.column_stack([rater[rows, None] == np.unique(rater), cell[rows, None] == np.unique(cell)]).astype(
            float
        )
        hat = dummies @ np.linalg.pinv(dummies)
        x, y = n[rows] - hat @ n[rows], column - hat @ column
        items = item[rows]
        by_item = np.array([np.sum(x[items == i] ** 2) for i in np.unique(items)])
        total = by_item.sum()
        slope = float(x @ y) / total
        score = np.array([np.sum((x * (y - slope * x))[items == i]) for i in np.unique(items)])
        error = math.sqrt(float(np.sum((score / (1 - by_item / total)) ** 2))) / total
        free = total**2 / float(np.sum(by_item**2)) - 1
        p = 2 * stats.t.sf(abs(slope) / error, free)
        half = stats.t.ppf(0.95, free) * error
        change = test.change
        assert (change.value, change.low, change.high) == pytest.approx((slope, slope - half, slope + half), abs=1e-7)
        common = np.unique(value, return_counts=True)[1]
        kinds = int(np.sum(np.minimum(common, value.size - common) >= 10)) if nominal and test is result.answers else 1
        assert test.p == pytest.approx(min(p * kinds, 1.0), rel=1e-5)


def test_of_several_categories_the_clearest_is_named_not_the_largest_change() -> None:
    """After every answer of 1 and no other, one rating more; answers of 2 and 3 change more, by chance."""
    item = np.repeat(np.arange(40), 1 + np.arange(40) % 2)
    value = np.where(np.bincount(item)[item] == 2, 1.0, 2.0 + np.arange(item.size) % 2)
    value[::9] = 3.0
    result = count_dependence(None, item, value, nominal=True).answers
    tests = {}
    n = np.bincount(item)[item] - 1.0
    for kind in (1.0, 2.0, 3.0):
        tests[kind] = count_dependence(None, item, (value == kind) * 1.0).answers
    assert result.category == min(tests, key=lambda kind: float(tests[kind].p or 0.0))
    assert result.p == pytest.approx(min(3 * min(float(each.p or 0.0) for each in tests.values()), 1.0))
    assert n.any()


@pytest.mark.parametrize("raters", [False, True])
@pytest.mark.parametrize("tuning", [None, 0.6])
def test_prediction_powered_means_by_hand(raters: bool, tuning: float | None) -> None:
    value = np.array([6.2, 3.1, 4.8, 7.0, 2.4, 5.5, 4.1, 6.6])
    predicted = np.array([6.9, 6.9, 5.1, 5.1, 3.5, 6.0, 4.2, 7.5])
    item, rater = np.array([0, 0, 1, 1, 2, 3, 4, 5]), np.array([0, 1, 2, 0, 1, 2, 0, 1])
    others = np.array([6.1, 4.4, 5.0, 3.9, 7.2, 6.6, 5.8])
    result = prediction_powered_mean(
        Rated(value, predicted, item, rater if raters else None), others, tuning=tuning, confidence=0.9
    )
    weight = 1 / np.bincount(item)[item]
    leverage = weight.sum()
    of_value, of_prediction = (
        weight / leverage * (column - np.average(column, weights=weight)) / math.sqrt(1 - 1 / leverage)
        for column in (value, predicted)
    )
    a, b = (np.bincount(item, part) for part in (of_value, of_prediction))
    best = float(np.clip(a @ b / (b @ b) / (1 + 6 / 7), 0, 1)) if tuning is None else tuning
    assert result.tuning == pytest.approx(best)
    corrected = value - best * predicted
    mean = float(np.average(corrected, weights=weight) + best * others.mean())
    assert result.estimate.value == pytest.approx(mean)
    assert result.offset == pytest.approx(np.average(predicted - value, weights=weight))
    assert result.predictions_alone == pytest.approx(others.mean())
    # Where the weight was fitted each gap counts over what its leverage leaves, not over the root of that.
    influence = weight / leverage * (corrected - np.average(corrected, weights=weight)) / (1 - 1 / leverage)

    def clustered(part: Any) -> tuple[float, float]:
        items = float(np.sum(np.bincount(item, part) ** 2))
        if not raters:
            return items, 5.0
        by_rater = float(np.sum(np.bincount(rater, part) ** 2)) * 3 / 2
        return max(items + by_rater - float(part @ part), items, by_rater), 2.0

    rated, df = clustered(influence)
    many = best**2 * float(others.var(ddof=1)) / 7
    free = (rated + many) ** 2 / (rated**2 / df + many**2 / 6)
    half = stats.t.ppf(0.95, free) * math.sqrt(rated + many)
    assert (result.estimate.low, result.estimate.high) == pytest.approx((mean - half, mean + half))
    alone, df = clustered(of_value)
    half = stats.t.ppf(0.95, df) * math.sqrt(alone)
    plain = result.ratings_alone
    assert (plain.low, plain.high) == pytest.approx((float(plain) - half, float(plain) + half))
    assert (plain.method, result.estimate.method) == ("mean", "prediction-powered mean")


def test_prediction_powered_slopes_need_three_items() -> None:
    rated = Rated([1.0, 2.0, 4.0], [1.0, 3.0, 4.0])
    result = prediction_powered_slope(rated, [1.0, 2.0, 3.0], [2.0, 3.0, 5.0], [1.0, 2.0, 3.0], tuning=1.0)
    assert result.estimate.value == pytest.approx(1.5 - 1.5 + 1.5)
    assert result.estimate.low is not None
    two = prediction_powered_slope(Rated([1.0, 2.0], [1.0, 3.0]), [1.0, 2.0], [2.0] * 3, [1.0, 2.0, 3.0])
    assert mentions(two.estimate.why_missing, "items", "vary")
    flat = prediction_powered_slope(rated, [1.0, 2.0, 3.0], [2.0, 3.0, 5.0], [2.0, 2.0, 2.0])
    assert "too few to add anything" in (flat.estimate.why_missing or "")
    constant = prediction_powered_mean(Rated([2.0] * 4, [1.0, 2.0, 3.0, 4.0]), [2.0, 3.0, 5.0])
    assert constant.tuning == 0.0
    assert mentions(constant.ratings_alone.why_no_interval, "values", "vary")


def test_categories_that_were_hardly_chosen_are_not_tested() -> None:
    item = np.repeat(np.arange(12), np.arange(12) % 3 + 1)
    result = count_dependence(None, item, np.arange(item.size) * 1.0, nominal=True).answers
    assert mentions(result.change.why_missing, "category", "chosen")
