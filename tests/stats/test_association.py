"""Correlations, concordance and errors against SciPy, published numbers and simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction import association
from tests.cases import check_all
from tests.facts import mentions

Correlate = Callable[..., Estimate]

SOURCE = "scipy.stats 1.17 (pearsonr, spearmanr, kendalltau) for correlations; formulas written out for the rest"


def _data(n: int, slope: float, tied: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = slope * x + rng.normal(size=n)
    return (np.round(x * 2), np.round(y * 2)) if tied else (x, y)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("n", [5, 40, 400])
def test_correlations_equal_scipy(n: int, tied: bool) -> None:
    x, y = _data(n, 0.8, tied, n)
    assert association.pearson(x, y).value == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-13)
    assert association.spearman(x, y).value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-13)
    assert association.kendall(x, y).value == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-13)


def test_pearson_interval_equals_scipy() -> None:
    x, y = _data(50, 0.5, False, 1)
    result = association.pearson(x, y)
    theirs = stats.pearsonr(x, y).confidence_interval(0.95)
    assert (result.low, result.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert result.interval == "Fisher z"


def test_ccc_by_hand() -> None:
    # x = 1 2 3 4, y = 2 2 4 6: means 2.5 and 3.5, variances over n 1.25 and 2.75, covariance 1.75.
    result = association.ccc([1, 2, 3, 4], [2, 2, 4, 6])
    assert result.value == pytest.approx(2 * 1.75 / (1.25 + 2.75 + 1.0), abs=1e-14)


def test_errors_by_hand() -> None:
    x, y = [1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 5.0, 3.0]
    assert association.mse(x, y).value == pytest.approx(6 / 4)
    assert association.mae(x, y).value == pytest.approx(4 / 4)
    assert association.rmse(x, y).value == pytest.approx((6 / 4) ** 0.5)
    # Squares 1 0 4 1; without one of them their means are 5/3, 2, 2/3, 5/3. Half of n - 1 degrees of freedom.
    moved = np.log(np.array([5 / 3, 2, 2 / 3, 5 / 3]) / 1.5)
    half = float(stats.t.ppf(0.975, 1.5)) * np.sqrt(3 / 4 * np.sum(moved**2))
    assert association.mse(x, y).high == pytest.approx(1.5 * np.exp(half))
    assert association.mse(x, y).low == pytest.approx(1.5 * np.exp(-half))
    assert association.rmse(x, y).high == pytest.approx((1.5 * np.exp(half)) ** 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "slope", "truth"),
    [
        (association.pearson, 0.75, 0.6),
        (association.spearman, 0.75, 6 / np.pi * np.arcsin(0.3)),
        (association.kendall, 0.75, 2 / np.pi * np.arcsin(0.6)),
        (association.ccc, 0.75, 2 * 0.75 / (1 + 0.75**2 + 1)),
        (association.mse, 0.0, 2.0),
        (association.mae, 0.0, 2 / np.sqrt(np.pi)),
    ],
)
def test_intervals_cover(measure: Correlate, slope: float, truth: float) -> None:
    hits = 0
    for seed in range(400):
        x, y = _data(40, slope, False, 10_000 + seed)
        result = measure(x, y)
        assert result.low is not None
        assert result.high is not None
        hits += result.low <= truth <= result.high
    assert 0.91 <= hits / 400 <= 0.985


@pytest.mark.slow
def test_kendall_interval_covers_with_ties() -> None:
    big = _data(400_000, 0.75, True, 5)
    truth = association.kendall(*big).value
    assert truth is not None
    hits = 0
    for seed in range(300):
        result = association.kendall(*_data(60, 0.75, True, seed))
        assert result.low is not None
        assert result.high is not None
        hits += result.low <= truth <= result.high
    assert 0.91 <= hits / 300 <= 0.985


@check_all("measure", [association.pearson, association.spearman, association.kendall])
@check_all(
    ("x", "y", "why"),
    [
        ([], [], "0 pairs"),
        ([1.0, 2.0], [1.0, 2.0], "2 pairs"),
        ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], "first column does not vary"),
        ([1.0, 2.0, 3.0], [0.1 + 0.2, 0.3, 0.3], "second column does not vary"),
        ([1.0, np.nan, np.inf, 2.0], [1.0, 2.0, 3.0, 4.0], "2 pairs"),
    ],
)
def test_degenerate_input_gives_a_reason(measure: Correlate, x: list[float], y: list[float], why: str) -> None:
    result = measure(x, y)
    assert result.is_missing
    assert why in (result.why_missing or "")


def test_perfect_and_tiny_samples_say_why_there_is_no_interval() -> None:
    assert association.pearson([1, 2, 3], [1, 3, 2]).why_no_interval is not None
    for measure in (association.pearson, association.spearman, association.kendall, association.ccc):
        result = measure([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])
        assert result.value == pytest.approx(1.0)
        assert result.low is None
        assert result.why_no_interval


def test_left_out_pairs_are_counted() -> None:
    result = association.pearson([1, 2, None, 4, 5, 6], [2, 1, 3, 4, np.nan, 6])
    assert dict(result.counts) == {"pairs": 4, "left_out": 2}


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(InputError, match="differ in length"):
        association.pearson([1, 2, 3], [1, 2])


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(-5, 5), min_size=4, max_size=30),
    st.integers(0, 2**32 - 1),
    st.floats(0.1, 1e6),
    st.floats(-1e6, 1e6),
)
def test_correlations_ignore_unit_and_order(values: list[int], seed: int, scale: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    x = np.array(values, dtype=float)
    y = rng.permutation(x) + rng.integers(0, 3, x.size)
    order = rng.permutation(x.size)
    for measure in (association.pearson, association.spearman, association.kendall):
        plain, moved = measure(x, y), measure((x * scale + shift)[order], y[order])
        assert plain.is_missing == moved.is_missing
        if plain.value is not None:
            assert moved.value == pytest.approx(plain.value, abs=1e-7)
            assert -1 <= plain.value <= 1


def test_huge_and_tiny_numbers_do_not_overflow() -> None:
    x, y = _data(30, 1.0, False, 3)
    assert association.pearson(x * 1e200, y * 1e-200).value == pytest.approx(association.pearson(x, y).value)


def test_the_concordance_of_a_constant_prediction_is_zero_without_an_interval() -> None:
    for metric in (association.ccc, association.quadratic_kappa):
        flat = metric([1.0, 2.0, 3.0, 4.0, 6.0], [3.0] * 5)
        assert flat.value == pytest.approx(0, abs=1e-12)
        assert flat.low is None
        assert mentions(flat.why_no_interval, "column", "vary", "0 whatever")
    assert association.ccc([3.1] * 5, [3.1] * 5).why_missing == "neither column varies"
