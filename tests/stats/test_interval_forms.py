"""Interval forms on small data, against textbook formulas and libraries, and where each refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from heartfelt.errors import InputError
from heartfelt.stats import _bounds, bootstrap_metric, calibration, ellipse, jackknife_metric, overlap
from heartfelt.stats._bounds import ratio
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.association import metric_difference, metric_estimate
from heartfelt.stats.prediction.jackknife import cluster_df, spread_of
from heartfelt.stats.prediction.metrics import METRICS, rows
from heartfelt.stats.prediction.probability import brier
from heartfelt.stats.prediction.resample import SamplingUnits, chosen_interval, condense
from tests.cases import check_all
from tests.facts import mentions

SOURCE = "scipy.stats (binomtest, ttest, norm, bootstrap's BCa formula); numpy.quantile; the formulas by hand"

X = np.array([1.0, 2.0, 2.5, 4.0, 4.5, 5.0, 6.5, 7.0, 8.0, 9.0])
Y = np.array([1.5, 1.0, 3.5, 3.0, 5.5, 4.5, 6.0, 8.0, 7.0, 9.5])


@check_all("confidence", [0.8, 0.9, 0.95, 0.99])
@check_all(("hits", "n"), [(0, 5), (5, 5), (1, 7), (12, 40)])
def test_wilson_is_that_of_scipy(hits: int, n: int, confidence: float) -> None:
    expected = scipy_stats.binomtest(hits, n).proportion_ci(confidence, method="wilson")
    assert _bounds.wilson(hits, n, confidence) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_student_t_of_a_mean_is_that_of_scipy(confidence: float) -> None:
    expected = scipy_stats.ttest_1samp(X, 0).confidence_interval(confidence)
    assert _bounds.t_mean(X, confidence) == pytest.approx((expected.low, expected.high))
    assert _bounds.t_mean(X[:1], confidence) is None
    assert _bounds.t_mean(X[:2], confidence) is not None


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_fisher_is_that_of_scipy(confidence: float) -> None:
    expected = scipy_stats.pearsonr(X, Y).confidence_interval(confidence)
    r = float(np.corrcoef(X, Y)[0, 1])
    assert _bounds.fisher(r, 1 / math.sqrt(7), confidence) == pytest.approx((expected.low, expected.high))


def test_the_delta_method_on_each_scale_by_hand() -> None:
    z = scipy_stats.norm.ppf(0.95)
    assert _bounds.delta(0.4, 0.1, 0.9) == pytest.approx((0.4 - z * 0.1, 0.4 + z * 0.1))
    assert _bounds.delta(0.4, 0.1, 0.9, "log") == pytest.approx((0.4 * math.exp(-z / 4), 0.4 * math.exp(z / 4)))
    centre, half = math.log(0.4 / 0.6), z * 0.1 / 0.24
    expected = tuple(1 / (1 + math.exp(-(centre + side * half))) for side in (-1, 1))
    assert _bounds.delta(0.4, 0.1, 0.9, "logit") == pytest.approx(expected)
    centre, half = math.atanh(0.4), z * 0.1 / 0.84
    assert _bounds.delta(0.4, 0.1, 0.9, "fisher") == pytest.approx((math.tanh(centre - half), math.tanh(centre + half)))


@pytest.mark.parametrize(
    ("value", "error", "transform"),
    [(0.4, 0.0, "identity"), (0.4, math.nan, "identity"), (0.0, 0.1, "log"), (1.0, 0.1, "logit"),
     (0.0, 0.1, "logit"), (1.0, 0.1, "fisher"), (-1.0, 0.1, "fisher")],
)  # fmt: skip
def test_the_delta_method_refuses_the_ends_of_its_scale(
    value: float, error: float, transform: _bounds.Transform
) -> None:
    assert _bounds.delta(value, error, 0.95, transform) is None


def test_the_mean_of_proportions_stays_between_0_and_1() -> None:
    shares, lows, highs = np.array([0.5, 1.0]), np.array([0.2, 0.6]), np.array([0.8, 1.0])
    assert _bounds.mover_mean(shares, lows, highs) == pytest.approx((0.75 - math.hypot(0.3, 0.4) / 2, 0.9))
    assert _bounds.mover_mean(np.array([0.01]), np.array([-1.0]), np.array([3.0])) == (0.0, 1.0)


def test_percentile_and_basic_by_hand() -> None:
    replicates = np.arange(101.0)
    assert _bounds.percentile(replicates, 0.9) == pytest.approx((5.0, 95.0))
    assert _bounds.percentile(replicates, 0.95) == pytest.approx((2.5, 97.5))
    assert _bounds.basic(60.0, replicates, 0.9) == pytest.approx((25.0, 115.0))


def test_bca_by_its_formula() -> None:
    replicates = np.sort(scipy_stats.norm.ppf((np.arange(400) + 0.5) / 400)) ** 3
    influence = np.array([-1.0, -0.5, -0.2, 0.1, 0.3, 1.9])
    normal = scipy_stats.norm
    bias = normal.ppf(np.mean(replicates < 0.4))
    a = (influence**3).sum() / 6 / (influence**2).sum() ** 1.5
    points = [normal.cdf(bias + (bias + z) / (1 - a * (bias + z))) for z in (normal.ppf(0.05), normal.ppf(0.95))]
    expected = np.quantile(replicates, points)
    assert _bounds.bca(0.4, replicates, influence, 0.9) == pytest.approx(tuple(expected))
    ties = np.repeat([0.0, 1.0, 2.0], [10, 20, 10])
    assert _bounds.bca(1.0, ties, np.array([-1.0, 1.0]), 0.9) == pytest.approx(tuple(np.quantile(ties, [0.05, 0.95])))


def test_bca_refuses_a_value_outside_all_resamples() -> None:
    replicates, influence = np.arange(1.0, 11.0), np.array([-1.0, 0.5, 0.5])
    assert _bounds.bca(0.0, replicates, influence, 0.95) is None
    assert _bounds.bca(11.0, replicates, influence, 0.95) is None
    assert _bounds.bca(5.0, replicates, np.zeros(3), 0.95) is None


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1, 1.5])
def test_a_confidence_lies_between_0_and_1(confidence: float) -> None:
    for interval in (
        lambda: _bounds.check_confidence(confidence),
        lambda: _bounds.normal_quantile(confidence),
        lambda: _bounds.t_quantile(confidence, 5),
        lambda: _bounds.percentile(X, confidence),
        lambda: ellipse(X, Y, confidence=confidence),
    ):
        with pytest.raises(InputError):
            interval()


def test_influence_gives_the_standard_error_of_a_mean() -> None:
    assert _bounds.influence_error(X - X.mean()) == pytest.approx(X.std(ddof=1) / math.sqrt(X.size))


@pytest.mark.parametrize(
    ("metric", "x", "y"),
    [
        ("pearson", X, Y),
        ("mae", X, Y),
        ("accuracy", np.array([1, 1, 0, 0, 1, 0, 1, 1]), np.array([1, 0, 0, 0, 1, 1, 1, 1])),
    ],
)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_p_is_the_confidence_at_which_the_interval_ends_at_the_tested_value(
    metric: str, x: np.ndarray[tuple[int], np.dtype[np.float64]], y: np.ndarray[tuple[int], np.dtype[np.float64]],
    confidence: float,
) -> None:  # fmt: skip
    _, spread = spread_of(metric, x, y)
    assert spread is not None
    bounds = spread.bounds(confidence)
    assert bounds is not None
    for end in bounds:
        assert spread.p(end) == pytest.approx(1 - confidence, rel=1e-6)


def test_the_jackknife_of_a_mean_by_hand() -> None:
    gaps = np.abs(X - Y)
    _, spread = spread_of("mae", X, Y)
    assert spread is not None
    logs = np.log((gaps.sum() - gaps) / 9) - np.log(gaps.mean())
    error = math.sqrt(0.9 * float(logs @ logs))
    centred = logs - logs.mean()
    tails = 10 / (np.mean(centred**4) / np.mean(centred**2) ** 2 - 1)
    df = min(4.5, tails)
    assert (spread.error, spread.df) == pytest.approx((error, df))
    half = scipy_stats.t.ppf(0.95, df) * error
    result = jackknife_metric("mae", X, Y, confidence=0.9)
    assert (result.low, result.high) == pytest.approx((gaps.mean() * math.exp(-half), gaps.mean() * math.exp(half)))


def test_clusters_of_one_size_have_one_degree_of_freedom_less_than_there_are() -> None:
    assert cluster_df(np.array([4, 4, 4, 4, 4])) == pytest.approx(4.0)
    assert cluster_df(np.array([40, 1, 1, 1, 1])) < 2.0


def test_fewer_than_three_units_have_no_spread() -> None:
    group = np.repeat([0, 1], 5)
    result = jackknife_metric("mae", X, Y, group=group)
    assert result.low is None
    assert mentions(result.why_no_interval, "2 clusters", "3")
    assert jackknife_metric("mae", X, Y, group=np.append(group[:-1], 2)).low is not None


def test_very_many_rows_take_the_delta_method() -> None:
    sample = SamplingUnits(rows(METRICS["mae"], X, Y))
    assert chosen_interval("auto", sample, 50_000_000) == "bca"
    assert chosen_interval("auto", sample, 50_000_001) == "delta"
    assert chosen_interval("percentile", sample, 50_000_001) == "percentile"


def test_equal_pairs_are_folded_only_where_that_is_cheaper() -> None:
    few = rows(METRICS["accuracy"], np.zeros(79, int), np.zeros(79, int))
    many = rows(METRICS["accuracy"], np.repeat([0, 1], 80), np.tile([0, 1], 80))
    assert condense(few).copies is None
    folded = condense(many)
    assert folded.copies is not None
    assert folded.copies.tolist() == [40, 40, 40, 40]
    just_short = rows(METRICS["accuracy"], np.repeat([0, 1], 79), np.tile([0, 1], 79))
    assert condense(just_short).copies is None


@pytest.mark.slow
def test_a_metric_undefined_in_a_tenth_of_the_resamples_has_no_interval() -> None:
    label = np.array([1] + [0] * 9)
    result = bootstrap_metric("recall", label, label, resamples=200, interval="percentile")
    assert result.low is None
    lost = result.counts["undefined_resamples"]
    assert lost > 20
    assert result.why_no_interval == f"undefined in {lost} of 200 resamples"


def test_the_calibration_error_starts_at_0_unless_the_test_rejects() -> None:
    label, probability = np.repeat([0, 1], 40), np.repeat([0.9, 0.1], 40)
    rejected = calibration(label, probability, resamples=200)
    assert rejected.p_calibrated == pytest.approx(1 / 201)
    assert rejected.error.value == pytest.approx(0.9)
    assert rejected.error.low is not None
    assert rejected.error.low > 0.5
    fine = calibration(np.tile([0, 1], 20), np.full(40, 0.5), resamples=200)
    assert (fine.p_calibrated, fine.error.low) == (1.0, 0.0)


def test_calibration_bins_by_hand() -> None:
    label, probability = np.array([0, 1, 1, 0, 1]), np.array([0.1, 0.5, 0.5, 0.6, 1.0])
    result = calibration(label, probability, bins=2, resamples=100)
    assert [(each.low_edge, each.high_edge, each.count) for each in result.bins] == [(0.0, 0.5, 3), (0.5, 1.0, 2)]
    assert result.bins[0].mean_probability == pytest.approx(1.1 / 3)
    assert result.error.value == pytest.approx((abs(1.1 - 2) + abs(1.6 - 1)) / 5)
    by_count = calibration(label, probability, bins=2, binning="count", resamples=100)
    assert [each.count for each in by_count.bins] == [3, 2]
    with pytest.raises(InputError):
        calibration(label, probability, bins=0)
    with pytest.raises(InputError):
        calibration(label, probability, bins=2, binning="size")  # type: ignore[arg-type]  # wrong on purpose


def test_the_axes_of_an_ellipse_are_those_of_its_share() -> None:
    for share, quantile in ((0.95, 5.991464547), (0.5, 1.386294361)):
        result = ellipse(X, Y, confidence=share)
        values = np.linalg.eigvalsh(np.cov(X, Y))[::-1]
        assert result.semi_axes == pytest.approx(tuple(np.sqrt(quantile * values)))
        assert result.confidence == share


def test_the_overlap_has_a_95_percent_interval_whatever_share_the_ellipses_hold() -> None:
    result = overlap((X, Y), (X + 1, Y[::-1]), confidence=0.5, resamples=200, seed=4)
    assert result.confidence == 0.95
    assert (result.value, result.low, result.high) == pytest.approx(
        (0.0969358458, 0.0284279063, 0.1243451855), rel=1e-7
    )


def test_a_ratio_by_mover() -> None:
    top, bottom = (
        Estimate(value=0.4, low=0.3, high=0.6, confidence=0.9),
        Estimate(value=0.8, low=0.6, high=0.9, confidence=0.9),
    )
    result = ratio(top, bottom)
    assert result.confidence == 0.9
    assert (result.value, result.low, result.high) == pytest.approx(
        (0.5, (0.32 - math.sqrt(0.0079)) / 0.63, (0.32 + math.sqrt(0.0304)) / 0.6)
    )
    uneven = ratio(top, Estimate(value=0.8, low=0.6, high=0.9, confidence=0.95))
    assert (uneven.low, uneven.why_no_interval) == (None, "the two intervals have different confidences")
    near = ratio(top, Estimate(value=0.8, low=0.0008, high=0.9, confidence=0.9))
    assert near.why_no_interval == "the denominator may be 0"
    assert mentions(ratio(top, Estimate(value=0.0)).why_missing, "denominator", "0")


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
def test_four_pairs_are_the_least_for_an_interval_of_a_correlation(metric: str) -> None:
    four = metric_estimate(metric, [1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 5.0])
    assert four.low is not None
    three = metric_estimate(metric, [1.0, 2.0, 3.0], [1.0, 3.0, 2.0])
    assert three.low is None
    assert mentions(three.why_no_interval, "three", "pairs")


def test_exact_bounds_of_shares_are_those_of_the_binomial() -> None:
    hits, trials = np.array([0.0, 1.0, 3.0, 9.0, 10.0]), np.full(5, 10.0)
    low, high = _bounds.clopper_pearson(hits, trials, 0.05)
    for at, (below, above) in enumerate(zip(low, high, strict=True)):
        theirs = scipy_stats.binomtest(int(hits[at]), 10).proportion_ci(0.9, "exact")
        assert (below, above) == pytest.approx((theirs.low, theirs.high))
    assert (low[0], high[-1]) == (0.0, 1.0)


def test_scales_go_there_and_back_and_have_their_slope() -> None:
    for name, scale in _bounds.SCALES.items():
        for value in (0.05, 0.4, 0.9):
            place, step = scale.to(value), 1e-6
            assert scale.interval(place, 0.0) == pytest.approx((value, value))
            assert scale.slope(value) == pytest.approx(
                (scale.to(value + step) - scale.to(value - step)) / (2 * step), rel=1e-6
            )
            low, high = scale.interval(place, 0.3)
            assert (scale.to(low), scale.to(high)) == pytest.approx((place - 0.3, place + 0.3)), name
    assert [math.isfinite(_bounds.SCALES[name].to(1.0)) for name in ("identity", "fisher", "log", "logit")] == [
        True,
        False,
        True,
        False,
    ]
    assert _bounds.SCALES["log"].interval(800.0, 10.0) == (math.exp(700.0), math.exp(700.0))


def test_resamples_equal_to_the_value_count_half_in_bca() -> None:
    """A value in the middle of its resamples has no bias; without skewness the interval is the percentile one."""
    replicates = np.arange(101.0)
    assert _bounds.bca(50.0, replicates, np.array([-1.0, 1.0]), 0.9) == pytest.approx((5.0, 95.0))


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
def test_a_correlation_close_to_perfect_has_an_interval_and_a_perfect_one_none(metric: str) -> None:
    x = np.arange(200.0)
    close = x.copy()
    close[[0, 1]] = close[[1, 0]]
    near = metric_estimate(metric, x, close)
    assert float(near) > 0.9999
    assert near.low is not None
    assert mentions(metric_estimate(metric, x, x).why_no_interval, "correlation", "scale")


def test_a_category_that_is_only_predicted_takes_no_part_in_the_balanced_accuracy() -> None:
    """``b`` lies between the categories of the labels and has no recall of its own."""
    result = metric_estimate("balanced_accuracy", list("aaacc"), list("aabcc"))
    ends = [_bounds.wilson(hits, n, 0.95) for hits, n in ((2, 3), (2, 2))]
    shares, (lows, highs) = np.array([2 / 3, 1.0]), np.array(ends).T
    assert result.value == pytest.approx(5 / 6)
    assert (result.low, result.high) == pytest.approx(_bounds.mover_mean(shares, lows, highs))


def test_the_name_of_an_interval_at_another_confidence_ends_with_its_label() -> None:
    difference = metric_difference("pearson", X, Y, Y[::-1])
    assert difference.at(0.95).interval == difference.estimate.interval
    assert difference.at(0.9, "corrected").interval == f"{difference.estimate.interval}, corrected"


def test_the_bounds_of_a_brier_score_stop_at_zero_and_one() -> None:
    good = brier([1, 0, 1], [0.9, 0.1, 0.2])
    assert (good.low, good.interval) == (0.0, "Student t on the squared errors")
    bad = brier([1, 0, 1], [0.1, 0.9, 0.8])
    assert bad.high == 1.0
