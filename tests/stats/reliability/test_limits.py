"""Guards of intraclass correlations and ceilings, each at its boundary."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from heartfelt.stats.ceilings.noise_ceiling import ceiling
from heartfelt.stats.ceilings.number_ceiling import NumberMetric, ceiling_from_means, perfect_agreement
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.ratings import as_ratings
from heartfelt.stats.reliability import crossed, icc, variance_components
from heartfelt.stats.reliability.crossed import Quantity
from heartfelt.stats.reliability.intraclass import NO_ERROR, NO_ITEMS, _clean, one_way
from heartfelt.stats.reliability.rater_differences import gain_variance
from tests.facts import mentions
from tests.stats.reliability.ratings import Triple, ragged

SOURCE = "the definitions, by hand"


def of_table(table: list[list[float]]) -> Triple:
    rows = np.asarray(table, float)
    item, rater = np.indices(rows.shape)
    return rater.ravel(), item.ravel(), rows.ravel()


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_incomplete_forms_are_ratios_of_the_components(seed: int) -> None:
    columns = ragged(seed, 12, 6, 0.6)
    result, parts = icc(*columns), variance_components(*columns)
    assert not result.complete
    each, raters, residual = (float(part) for part in (parts.item, parts.rater, parts.residual))
    assert min(each, raters, residual) > 0
    assert result.icc2.value == pytest.approx(each / (each + raters + residual), rel=1e-9)
    assert result.icc3.value == pytest.approx(each / (each + residual), rel=1e-9)


def test_a_negative_correlation_has_an_interval_until_the_items_are_all_alike() -> None:
    some = icc(*of_table([[1, 3, 5, 6], [2, 5, 3, 4], [4, 1, 5, 3], [5, 4, 2, 1], [3, 2, 4, 5]])).icc1
    assert -1 / 3 < float(some) < -0.05
    assert some.low is not None
    assert some.low < float(some)
    alike = icc(*of_table([[1, 2, 3, 6], [6, 1, 2, 3], [3, 6, 1, 2], [2, 3, 6, 1]])).icc1
    assert alike.value == pytest.approx(-1 / 3)
    assert alike.why_no_interval == NO_ITEMS
    nearly = icc(*of_table([[1, 2, 3, 6.2], [6, 1, 2, 3], [3, 6, 1, 2], [2, 3, 6, 1], [1, 6, 3, 2]])).icc1
    ratio = 1 + 4 * float(nearly) / (1 - float(nearly))
    assert 1e-6 < ratio < 0.01
    assert nearly.why_no_interval != NO_ITEMS


def test_a_sum_of_squares_is_zero_up_to_rounding() -> None:
    assert _clean(1.00e-13, 1.0, 100) == 0.0
    assert _clean(1.01e-13, 1.0, 100) == 1.01e-13
    assert _clean(2.02e-13, 2.0, 100) == 2.02e-13


GAINS, TRUTH = np.array([0.5, 1.0, 1.5]), np.array([1.0, 2.0, 4.0, 7.0])


def test_gains_that_differ_are_a_variance() -> None:
    d = as_ratings(*of_table((TRUTH[:, None] * GAINS).tolist()))
    # The items' means are the truth times the mean gain, 1, and the slopes on them are the gains.
    assert gain_variance(d) == pytest.approx(np.var(GAINS, ddof=1) * np.var(TRUTH), rel=1e-12)


def test_gains_need_three_raters_with_four_ratings_each() -> None:
    table = TRUTH[:, None] * GAINS
    assert gain_variance(as_ratings(*of_table(table[:3].tolist()))) == 0.0
    assert gain_variance(as_ratings(*of_table(table[:, :2].tolist()))) == 0.0


def test_gains_that_differ_less_than_chance_are_no_variance() -> None:
    noise = [[1, -1, 1], [-1, 1, 1], [-1, -1, -1], [1, 1, -1], [1, 1, 1], [-1, -1, -1]]
    truth = np.arange(6.0)[:, None]
    assert gain_variance(as_ratings(*of_table((truth + np.array(noise)).tolist()))) == 0.0


def test_single_ratings_are_no_agreement() -> None:
    rater, item = np.arange(6) % 2, np.arange(6)
    assert perfect_agreement(as_ratings(rater, item, item * 1.0), 0.95) is None
    twice = perfect_agreement(as_ratings([*rater, 1], [*item, 0], [*item * 1.0, 0.0]), 0.95)
    assert twice is not None
    assert twice.chances == 1
    assert twice.error == pytest.approx(0.95 * 25)
    alone = perfect_agreement(as_ratings([0] * 6, item, item * 1.0), 0.95)
    assert alone is None


@pytest.mark.parametrize(("step", "missing"), [(0.009, True), (0.011, False)])
def test_labels_that_differ_by_rounding_are_equal(step: float, missing: bool) -> None:
    """At values of 1,000 labels are equal up to a variance of 1e-4, here a quarter of the squared step of .02."""
    label = np.repeat([1000.0, 1000.0 - 2 * step], 4)
    rater, item = np.tile([0, 1], 8), np.repeat(np.arange(8), 2)
    overall = ceiling(rater, item, label[item]).overall
    assert overall.is_missing is missing
    if missing:
        assert overall.why_missing == "all ratings are equal"
    else:
        assert overall.value == 1.0


def test_agreed_ratings_bound_the_ceiling_by_the_rule_of_three() -> None:
    label = np.arange(1.0, 7.0)
    columns = of_table([[x, x, x] for x in label])
    correlation = ceiling(*columns).overall
    rmse, mae = ceiling(*columns, metric="rmse").overall, ceiling(*columns, metric="mae").overall
    error = (1 - 0.05 ** (1 / 12)) * 25 / 3
    assert correlation.low == pytest.approx(np.sqrt(label.var() / (label.var() + error)))
    assert (correlation.value, correlation.high) == (1.0, 1.0)
    assert (rmse.low, rmse.high) == pytest.approx((0.0, np.sqrt(error)))
    assert (mae.low, mae.high) == pytest.approx((0.0, np.sqrt(2 / np.pi * error)))


@pytest.mark.parametrize(("items", "has"), [(4, False), (5, True)])
def test_published_means_need_five_items_for_an_interval(items: int, has: bool) -> None:
    mean: Floats = np.arange(items, dtype=np.float64)
    result = ceiling_from_means(mean, np.ones(items), np.full(items, 4.0))
    assert (result.low is not None) is has
    assert result.value == pytest.approx(np.sqrt(1 - 0.25 / mean.var(ddof=1)))


def test_gains_allow_for_the_error_of_each_slope() -> None:
    rng = np.random.default_rng(3)
    table = TRUTH[:, None] * np.array([0.4, 1.0, 1.6, 1.2]) + rng.normal(size=(4, 4)) / 4
    x = table.mean(axis=1) - table.mean()
    slopes = x @ table / (x @ x)
    left = ((table - table.mean(axis=0) - np.outer(x, slopes)) ** 2).sum(axis=0) / (4 - 2)
    expected = (slopes.var(ddof=1) - np.mean(left / (x @ x))) * x.var()
    assert expected > 0
    assert gain_variance(as_ratings(*of_table(table.tolist()))) == pytest.approx(expected, rel=1e-9)


def test_sums_of_effects_count_what_could_have_differed() -> None:
    overall = ceiling(*of_table([[i + r for r in (0.0, 1.0, 3.0)] for i in (0.0, 2.0, 3.0, 7.0)])).overall
    assert overall.value == 1.0
    assert mentions(overall.interval, "three", "6 ratings")


def test_agreement_holds_up_to_rounding() -> None:
    table = [[0.3, 0.1 + 0.2], [1.0, 1.0], [2.0, 2.0]]
    assert perfect_agreement(as_ratings(*of_table(table)), 0.95) is not None
    table[0][1] = 0.3001
    assert perfect_agreement(as_ratings(*of_table(table)), 0.95) is None


@pytest.mark.parametrize(("metric", "unit"), [("correlation", 1.0), ("rmse", 1e4), ("mae", 1e4)])
def test_a_ceiling_of_published_means_knows_its_unit(metric: NumberMetric, unit: float) -> None:
    mean, sd, n = np.array([1.0, 2, 2.5, 4, 5, 3]), np.array([1, 0.8, 1.2, 0.5, 0.9, 1]), np.full(6, 5.0)
    plain, small = (ceiling_from_means(mean, sd, n, metric), ceiling_from_means(mean / 1e4, sd / 1e4, n, metric))
    assert plain.method == f"published means, spreads and counts, {metric}"
    assert plain.low is not None
    assert plain.high is not None
    ends = [end / unit for end in (float(plain), plain.low, plain.high)]
    assert (small.value, small.low, small.high) == pytest.approx(ends, rel=1e-9)


def test_the_method_names_the_effective_number_of_ratings_where_they_differ() -> None:
    table = "ICC(1,1), one-way analysis of variance"
    assert icc(*of_table([[1, 2], [3, 5], [2, 2]])).icc1.method == table
    assert icc(np.arange(6), np.repeat([0, 1, 2], 2), [1, 2, 3, 5, 2, 2]).icc1.method == table
    unequal = icc(np.arange(6), [0, 0, 1, 1, 1, 2], [1, 2, 3, 5, 2, 2]).icc1
    # (6 - (4 + 9 + 1) / 6) / 2
    assert unequal.method == f"{table}, n0 = 1.83333"


def test_sums_of_squares_do_not_depend_on_where_the_scale_starts() -> None:
    """From 2**52 on there are no fractions left, so the mean of the ratings is off by up to a half."""
    rater, item, value = of_table([[1, 2], [4, 4], [2, 6], [7, 5]])
    near, far = one_way(as_ratings(rater, item, value)), one_way(as_ratings(rater, item, value + 2**52))
    assert float(value.mean()) != int(value.mean())
    assert (far.between, far.within) == pytest.approx((near.between, near.within), rel=1e-9)


def test_unequal_counts_without_any_visible_error_have_bounds_close_to_one() -> None:
    value = np.array([0.0, 1.0, 0.0, 1e6, 1e6 + 1, 3e6, 3e6 + 1, 3e6, 3e6 + 1])
    result = icc([0, 1, 2, 0, 1, 0, 1, 2, 3], [0, 0, 0, 1, 1, 2, 2, 2, 2], value, interval="f").icc1
    assert mentions(result.interval, "exact", "unequal")
    assert result.low is not None
    assert result.high is not None
    assert 1 - 1e-6 < result.low <= float(result) <= result.high < 1
    assert 1 - result.high < 1e-12


def test_the_crossed_fit_of_a_correlation_has_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def fit(_: object, *, seed: int = 0) -> str:
        seeds.append(seed)
        return "no fit"

    monkeypatch.setattr(import_module("heartfelt.stats.reliability.intraclass"), "fit_crossed", fit)
    assert icc(*ragged(1, 12, 6, 0.6), seed=5).icc2.why_missing == "no fit"
    assert set(seeds) == {5}


def test_a_value_without_an_interval_keeps_its_confidence() -> None:
    equal = icc(*of_table([[1, 1, 1], [2, 2, 2], [4, 4, 4]]), confidence=0.9, interval="f")
    for form in (equal.icc1, equal.icc2, equal.icc3):
        assert (form.why_no_interval, form.confidence) == (NO_ERROR, 0.9)


def test_profiles_are_followed_up_to_a_number_of_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = crossed.fit_crossed(as_ratings(*ragged(5, 9, 6, 0.8)))
    assert not isinstance(fit, str)
    for most, name in ((fit.system.order, crossed.PROFILE), (fit.system.order - 1, crossed.DELTA)):
        monkeypatch.setattr(crossed, "PROFILE_LIMIT", most)
        assert fit.estimate(Quantity((0.0, 0.0, 1.0))).interval == name


def test_components_are_undetermined_where_the_information_inside_is_singular() -> None:
    # The second grouping has the same information as the residual; it counts only where its variance is positive.
    information = np.array([[2.0, 0.5, 0.5], [0.5, 1.0, 1.0], [0.5, 1.0, 1.0]])
    for ratios, converged, why in (
        ([0.5, 0.0], True, None),
        ([0.0, 0.5], True, crossed.UNDETERMINED),
        ([0.5, 0.5], True, crossed.UNDETERMINED),
        ([0.5, 0.0], False, "the search for the maximum of the likelihood did not converge"),
    ):
        step = SimpleNamespace(ratios=np.array(ratios), information=information)
        assert crossed._undetermined(cast(Any, SimpleNamespace(step=step, converged=converged))) == why
