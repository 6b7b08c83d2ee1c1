"""Bounds, degrees of freedom and guards of the tests: exact values from R, and what degenerate data give."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.stats import inference
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import mixed_model, posthoc, tukey
from heartfelt.stats.inference.mixed import chi_square_interval
from heartfelt.stats.inference.posthoc import Pairwise
from heartfelt.stats.prediction.jackknife import JackknifeError, jackknife_metric
from tests.cases import check_all
from tests.facts import mentions
from tests.stats.reliability.ratings import crossed

SOURCE = "R 4: lmerTest 3 (Satterthwaite), lme4; Student's t and the studentized range of SciPy"

# lmerTest::lmer(y ~ system + loud + ...): per coefficient the standard error and degrees of freedom, then F tests and
# variances (groupings in the order given, residual), log likelihood.
LMER_TEST: dict[str, Any] = {
    "rater": {
        "errors": [0.3113393360, 0.3048249277, 0.1438007424],
        "df": [79.8468224, 79.8684412, 81.9029018],
        "system": (3.87658, 79.726464, 0.024736),
        "variances": [0.9303600277, 1.3942672623],
        "log_likelihood": -150.088158725,
    },
    "rater item": {
        "errors": [0.7013750249, 0.6944315326, 0.1197984200],
        "df": [8.6351858, 8.3264517, 75.7747265],
        "system": (0.15738, 8.558532, 0.85680),
        "variances": [0.9275385230, 0.8492750604, 0.8241144032],
        "log_likelihood": -137.990137541,
    },
    "rater item day": {
        "errors": [0.7013741935, 0.6944306933, 0.1197984277],
        "df": [8.6352131, 8.3264775, 75.7747228],
        "system": (0.15738, 8.558559, 0.85680),
        "variances": [0.9275399057, 0.8492727091, 0.0, 0.8241145536],
        "log_likelihood": -137.990137541,
    },
}


@pytest.mark.parametrize("groupings", LMER_TEST)
def test_mixed_models_equal_lmer_test(groupings: str) -> None:
    d, printed = crossed(1), LMER_TEST[groupings]
    fixed = {"system": d["system"], "loud": d["loud"]}
    result = mixed_model(d["y"], fixed, {name: d[name] for name in groupings.split()}, confidence=0.9)
    by_name = [result.coefficient(name) for name in ("system[b]", "system[c]", "loud")]
    assert [c.standard_error for c in by_name] == pytest.approx(printed["errors"], rel=1e-5)
    assert [c.df for c in by_name] == pytest.approx(printed["df"], rel=1e-4)
    for coefficient in by_name:
        df, error = coefficient.df or 0.0, coefficient.standard_error or 0.0
        half = stats.t(df).ppf(0.95) * error
        low, value, high = (coefficient.estimate.low, float(coefficient.estimate), coefficient.estimate.high)
        assert (low, high) == pytest.approx((value - half, value + half), rel=1e-9)
        assert coefficient.p == pytest.approx(2 * stats.t(df).sf(abs(coefficient.t or 0)))
    effect = result.effect("system")
    assert (effect.f, effect.df_residual, effect.p) == pytest.approx(printed["system"], rel=1e-4)
    assert effect.df == 2
    variances = [result.variances[name].value for name in [*groupings.split(), "residual"]]
    assert variances == pytest.approx(printed["variances"], rel=1e-5, abs=1e-9)
    assert result.log_likelihood == pytest.approx(printed["log_likelihood"], abs=1e-7)


def test_one_grouping_has_chi_square_bounds() -> None:
    d = crossed(1)
    result = mixed_model(d["y"], {}, {"rater": d["rater"]}, confidence=0.9)
    estimate = result.variances["residual"]
    # 83 rows beyond the raters' levels: the residual's degrees of freedom are nearly that many.
    low, high = (float(estimate) * 83 / stats.chi2(83).ppf(p) for p in (0.95, 0.05))
    assert (estimate.low, estimate.high) == pytest.approx((low, high), rel=2e-3)
    assert estimate.interval == "Satterthwaite chi-square"


def test_a_grouping_without_variance_is_reported_as_zero_without_bounds() -> None:
    d = crossed(1)
    result = mixed_model(d["y"], {}, {name: d[name] for name in ("rater", "item", "day")})
    day = result.variances["day"]
    assert (day.value, day.low, day.high) == (0.0, None, None)
    assert mentions(day.why_no_interval, "0", "edge")
    assert result.notes == ("the variance of day is estimated as 0",)


@pytest.mark.slow
def test_tukey_bounds_are_those_of_the_studentized_range() -> None:
    rng = np.random.default_rng(1)
    y, g = rng.normal(size=22), np.repeat(["a", "b", "c"], [10, 7, 5])
    within = sum(((y[g == name] - y[g == name].mean()) ** 2).sum() for name in "abc") / 19
    result = tukey(y, g, confidence=0.9)
    pair = result["a", "c"]
    half = stats.studentized_range(3, 19).ppf(0.9) * math.sqrt(within / 2 * (1 / 10 + 1 / 5))
    difference = float(y[g == "a"].mean() - y[g == "c"].mean())
    assert (pair.estimate.low, pair.estimate.high) == pytest.approx((difference - half, difference + half), rel=1e-6)
    assert pair.df == 19
    scale = math.sqrt(within / 2 * (1 / 10 + 1 / 5))
    assert pair.p == pytest.approx(stats.studentized_range(3, 19).sf(abs(difference) / scale), rel=1e-6)
    assert [p.significant for p in result.pairs] == [bool((p.p or 1) < 0.1) for p in result.pairs]


@pytest.mark.parametrize("value", [1.0, 1e-3, 1e9])
def test_tukey_on_groups_that_do_not_vary_gives_the_differences_and_a_reason(value: float) -> None:
    result = tukey([value, value, 2 * value, 2 * value, 3 * value], list("aabbc"))
    assert mentions(result.why_missing, "variation", "groups")
    assert [pair.estimate.value for pair in result.pairs] == pytest.approx([-value, -2 * value, -value])
    for pair in result.pairs:
        assert (pair.p, pair.df, pair.estimate.low, pair.significant) == (None, None, None, None)
        assert mentions(pair.estimate.why_no_interval, "variation", "groups")
    # A third of 0.1 and the like leave rounding, which is no variation either.
    third = tukey(np.repeat([0.1 / 3, 0.2 / 3], 6) * value, np.repeat(["a", "b"], 6))
    assert third.pairs[0].p is None
    assert tukey([value] * 4, list("aabb")).pairs[0].estimate.value == 0.0
    given = tukey([value, value, 2 * value, 2 * value], list("aabb"), mean_square=0.0, df=5.0)
    assert mentions(given.why_missing, "variation", "groups")


def test_tukey_guards() -> None:
    assert mentions(tukey([1.0, 2.0], ["a", "b"]).why_missing, "group", "row", "residual")
    assert mentions(tukey([1.0, 2.0], ["a", "a"]).why_missing, "1 groups", "2")
    with pytest.raises(InputError, match="degrees of freedom"):
        tukey([1.0, 2.0], ["a", "b"], mean_square=1.0)


def test_a_likelihood_without_a_maximum_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heartfelt.stats.reliability.reml.MOST_STEPS", 1)
    d = crossed(1)
    result = mixed_model(d["y"], {"system": d["system"]}, {"rater": d["rater"], "item": d["item"]})
    assert mentions(result.why_missing, "maximum", "likelihood")
    assert result.coefficients == ()
    assert all(variance.is_missing for variance in result.variances.values())


FIGURES: dict[str, Callable[[dict[str, Any], float], Any]] = {
    "coefficient": lambda d, c: mixed_model(
        d["y"], {"loud": d["loud"]}, {"rater": d["rater"]}, confidence=c
    ).coefficients[1].estimate,
    "variance": lambda d, c: mixed_model(d["y"], {}, {"rater": d["rater"]}, confidence=c).variances["rater"],
    "crossed variance": lambda d, c: mixed_model(
        d["y"], {}, {"rater": d["rater"], "item": d["item"]}, confidence=c
    ).variances["item"],
    "partial eta": lambda d, c: inference.anova(d["y"], {"s": d["system"]}, confidence=c).rows[0].partial_eta_squared,
    "r squared": lambda d, c: inference.anova(d["y"], {"s": d["system"]}, confidence=c).r_squared,
    "tukey": lambda d, c: tukey(d["y"], d["system"], confidence=c).pairs[0].estimate,
    "games": lambda d, c: inference.games_howell(d["y"], d["system"], confidence=c).pairs[0].estimate,
    "marginal mean": lambda d, c: inference.marginal_means(
        d["y"], {"s": d["system"]}, "s", confidence=c
    ).means["a"],
    "marginal pair": lambda d, c: inference.marginal_means(
        d["y"], {"s": d["system"]}, "s", confidence=c
    ).pairs.pairs[0].estimate,
    "equivalence": lambda d, c: inference.equivalence_mean(
        d["y"][:40], d["y"][40:], low=-1, high=1, alpha=(1 - c) / 2
    ).estimate,
    "equivalence r": lambda d, c: inference.equivalence_correlation(
        d["y"], d["loud"], low=-0.5, high=0.5, alpha=(1 - c) / 2
    ).estimate,
    "permutation": lambda d, c: inference.permutation_two_sample(
        d["y"][:40], d["y"][40:], resamples=50, confidence=c
    ).estimate,
    "paired": lambda d, c: inference.permutation_paired(d["y"], d["loud"], resamples=50, confidence=c).estimate,
    "counts": lambda d, c: inference.count_dependence(
        None, np.repeat(np.arange(36), [1, 2, 3, 4] * 9), d["y"], confidence=c
    ).answers.change,
    "powered": lambda d, c: inference.prediction_powered_mean(
        inference.Rated(d["y"], d["loud"]), d["loud"], confidence=c
    ).estimate,
    "powered alone": lambda d, c: inference.prediction_powered_mean(
        inference.Rated(d["y"], d["loud"]), d["loud"], confidence=c
    ).ratings_alone,
    "jackknife": lambda d, c: jackknife_metric("pearson", d["y"], d["loud"], confidence=c),
}  # fmt: skip


@check_all("name", FIGURES)
def test_a_higher_confidence_is_labelled_and_wider(name: str) -> None:
    d = crossed(1)
    figures = [FIGURES[name](d, confidence) for confidence in (0.5, 0.9, 0.99)]
    widths = []
    for estimate, confidence in zip(figures, (0.5, 0.9, 0.99), strict=True):
        assert estimate.confidence == pytest.approx(confidence)
        assert estimate.low <= estimate.value <= estimate.high
        widths.append(estimate.high - estimate.low)
    assert widths[0] < widths[1] < widths[2]


def test_drawn_p_values_have_the_exact_binomial_bounds() -> None:
    rng = np.random.default_rng(2)
    p = inference.permutation_two_sample(rng.normal(0.5, 1, 30), rng.normal(size=30), resamples=400).p
    hits = round(float(p) * 401) - 1
    low, high = stats.binomtest(hits, 400).proportion_ci(0.95, method="exact")
    assert (p.low, p.high) == pytest.approx((low, high), rel=1e-9)
    assert p.counts["resamples"] == 400


def test_paired_metrics_of_a_share_at_its_end() -> None:
    x = np.array([0, 1] * 10)
    estimate = jackknife_metric("accuracy", x, x, confidence=0.9)
    quantile = stats.t(19).ppf(0.95)
    assert estimate.high == 1.0
    assert estimate.low == pytest.approx(1 / (1 + quantile**2 / 20), rel=1e-9)
    spread = JackknifeError(value=1.0, scale="logit", units=20, df=19.0, effective=20.0)
    assert spread.p(1.0) == 1.0
    assert spread.p(0.9) == pytest.approx(2 * stats.t(19).sf(0.1 / math.sqrt(0.09 / 20)))


def test_three_units_are_the_fewest_for_a_jackknife() -> None:
    x, y = np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.0, 3.0, 2.0, 5.0])
    assert jackknife_metric("rmse", x[:3], y[:3]).low is not None
    two = jackknife_metric("rmse", x[:2], y[:2])
    assert (two.low, two.why_no_interval) == (None, "2 pairs; at least 3 are needed for an interval")
    clusters = jackknife_metric("rmse", x, y, group=["a", "a", "b", "b"])
    assert mentions(clusters.why_no_interval, "2 clusters", "3")


def test_a_chi_square_interval_needs_one_degree_of_freedom() -> None:
    # The variance of a log variance is two over its degrees of freedom.
    plain = Estimate(value=3.0, method="variance")
    few = chi_square_interval(plain, 2 / 0.9, 0.9)
    assert (few.low, few.why_no_interval) == (None, "it is known with less than one degree of freedom")
    enough = chi_square_interval(plain, 2 / 1.1, 0.9)
    assert (enough.low, enough.high) == pytest.approx([3 * 1.1 / stats.chi2(1.1).ppf(p) for p in (0.95, 0.05)])


def test_counts_that_vary_over_few_items_are_not_tested() -> None:
    """Ten items with two ratings and one with many: the count varies over hardly more than one effective item."""
    item = np.append(np.repeat(np.arange(10), 2), np.full(20, 10))
    result = inference.count_dependence(None, item, np.arange(40.0) % 7)
    assert result.answers.p is None
    assert "effective items; 10 are needed" in (result.answers.change.why_missing or "")
    even = np.repeat(np.arange(20), [1, 3] * 10)
    assert inference.count_dependence(None, even, np.arange(40.0) % 7).answers.p is not None


def test_little_variation_is_variation() -> None:
    """Groups whose rows differ by a hundredth of their mean are compared."""
    pair = tukey([99.0, 100.0, 101.0, 109.0, 110.0, 111.0], list("aaabbb")).pairs[0]
    scale = math.sqrt(1 / 3)
    assert pair.statistic == pytest.approx(10 / scale / math.sqrt(2))
    assert pair.p == pytest.approx(stats.studentized_range(2, 4).sf(10 / scale), rel=1e-6)


def test_without_a_pair_there_is_no_largest_difference() -> None:
    assert mentions(
        Pairwise(pairs=(), method="Tukey-Kramer", confidence=0.95, counts={}).largest.why_missing, "pair", "compared"
    )
    assert mentions(tukey([1.0, 2.0], ["a", "a"]).largest.why_missing, "1 groups", "2")


def test_the_studentized_range_is_summed_as_far_as_the_variance_can_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chi-square with 100 degrees of freedom over its mean is beyond ``1 + 2 sqrt(x / 100) + 2 x / 100`` with a chance
    of at most exp(-x) (Laurent and Massart 2000); x is 32, and the sum ends with the first step from there."""
    spans: list[Floats] = []

    def tail(span: Floats, _: int) -> Floats:
        spans.append(span)
        return np.zeros(span.size)

    monkeypatch.setattr(posthoc, "_range_tail", tail)
    posthoc.upper_tail(3.0, 3, 100.0)
    (span,) = spans
    last, step = 2 * math.log(span[-1] / 3.0), math.log(span[1] / span[0])
    end = math.log(1 + 2 * math.sqrt(0.32) + 2 * 0.32)
    assert end <= last <= end + 2 * step + 1e-9


def test_the_search_for_a_critical_value_goes_down_by_half_a_log_unit_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, tail = [], posthoc.upper_tail

    def watched(q: float, groups: int, df: float) -> float:
        tried.append(math.log(q))
        return tail(q, groups, df)

    monkeypatch.setattr(posthoc, "upper_tail", watched)
    posthoc.critical.cache_clear()
    assert posthoc.critical(0.5, 3, 1.0) == pytest.approx(stats.studentized_range(3, 1).ppf(0.5), rel=1e-6)
    steps = np.diff(tried)
    assert float(steps.min()) == pytest.approx(-0.5)
    assert float(steps.max()) < 1e-9


@pytest.mark.parametrize("noise", [1e-6, 1e-9, 1e-12])
def test_tukey_on_groups_that_hardly_vary_stays_small(noise: float) -> None:
    """Two groups: the studentized range is Student's t times the square root of 2."""
    result = tukey([1.0, 1.0 + noise, 2.0, 2.0], list("aabb"))
    pair = result.pairs[0]
    t = 1.0 / np.sqrt(noise**2 / 4 * (1 / 2 + 1 / 2))
    assert pair.p == pytest.approx(2 * stats.t.sf(t, 2), rel=1e-3, abs=1e-15)
