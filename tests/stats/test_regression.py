"""The shrinkage slope against statsmodels, a dense calculation and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm

from heartfelt.errors import InputError
from heartfelt.stats.prediction.regression import shrinkage_slope
from tests.facts import mentions

SOURCE = "statsmodels 0.15 OLS (HC3, two-way cluster); CR2 and its degrees of freedom by dense matrices"


def _data(seed: int, clusters: int = 9, n: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    each, two = rng.integers(0, clusters, n), rng.integers(0, 15, n)
    x = rng.normal(size=clusters)[each] + 0.3 * rng.normal(size=n)
    y = 0.5 * x + rng.normal(size=clusters)[each] + rng.normal(size=n)
    return x, y, each, two


@pytest.mark.peer
def test_hc3_equals_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.api")
    x, y, _, _ = _data(0)
    result = shrinkage_slope(y, x)
    theirs = sm.OLS(y, sm.add_constant(x)).fit(cov_type="HC3", use_t=True)
    assert result.slope.value == pytest.approx(theirs.params[1])
    assert result.intercept.value == pytest.approx(theirs.params[0])
    assert (result.slope.low, result.slope.high) == pytest.approx(tuple(theirs.conf_int()[1]))
    assert (result.intercept.low, result.intercept.high) == pytest.approx(tuple(theirs.conf_int()[0]))
    assert result.p_no_relation == pytest.approx(theirs.pvalues[1])
    assert result.r_squared == pytest.approx(theirs.rsquared)


@pytest.mark.peer
def test_two_way_clusters_equal_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.api")
    x, y, each, two = _data(1)
    result = shrinkage_slope(y, x, cluster={"rater": each, "stimulus": two})
    kwds = {"groups": np.column_stack([each, two])}
    theirs = sm.OLS(y, sm.add_constant(x)).fit(cov_type="cluster", cov_kwds=kwds, use_t=True)
    assert result.standard_error == pytest.approx(theirs.bse[1])
    assert (result.slope.low, result.slope.high) == pytest.approx(tuple(theirs.conf_int()[1]))
    assert result.slope.counts["rater"] == 9


def test_cr2_equals_the_dense_calculation() -> None:
    x, y, each, _ = _data(2)
    n = x.size
    design = np.column_stack([np.ones(n), x])
    inverse = np.linalg.inv(design.T @ design)
    hat = design @ inverse @ design.T
    residual = y - hat @ y
    meat, pulls = np.zeros((2, 2)), []
    for cluster in range(9):
        rows = each == cluster
        adjust = np.linalg.inv(sqrtm(np.eye(rows.sum()) - hat[np.ix_(rows, rows)]).real)
        score = design[rows].T @ adjust @ residual[rows]
        meat += np.outer(score, score)
        pulls.append((np.eye(n) - hat)[:, rows] @ adjust @ design[rows] @ inverse @ [0, 1])
    spread = np.linalg.eigvalsh(np.array(pulls) @ np.array(pulls).T)
    result = shrinkage_slope(y, x, cluster=each)
    assert result.standard_error == pytest.approx(np.sqrt((inverse @ meat @ inverse)[1, 1]))
    assert result.df == pytest.approx(spread.sum() ** 2 / np.sum(spread**2))


@pytest.mark.slow
def test_few_clusters_still_cover() -> None:
    # Twelve intents whose own deviations are shared by all their clips, as in a real study.
    hits = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        intent = np.repeat(np.arange(12), 20)
        intended = np.linspace(2, 8, 12)[intent]
        perceived = 5 + 0.4 * (intended - 5) + 0.5 * rng.normal(size=12)[intent] + rng.normal(size=240)
        result = shrinkage_slope(perceived, intended, cluster=intent)
        assert result.slope.low is not None
        assert result.slope.high is not None
        hits += result.slope.low <= 0.4 <= result.slope.high
    assert 0.925 <= hits / 400 <= 0.98


def test_neutral_point_and_tests() -> None:
    rng = np.random.default_rng(3)
    intended = rng.uniform(1, 9, 500)
    result = shrinkage_slope(5 + 0.4 * (intended - 5) + 0.1 * rng.normal(size=500), intended)
    assert result.neutral == pytest.approx(5, abs=0.05)
    assert result.p_no_shrinkage is not None
    assert result.p_no_relation is not None
    assert result.p_no_shrinkage < 1e-10
    assert result.p_no_relation < 1e-10


def test_degenerate_input_gives_reasons() -> None:
    assert mentions(shrinkage_slope([1, 2], [1, 2]).slope.why_missing, "2 pairs", "3")
    assert mentions(shrinkage_slope([1, 2, 3], [4, 4, 4]).slope.why_missing, "coordinate", "vary")
    exact = shrinkage_slope([1, 2, 3, 4], [1, 2, 3, 4])
    assert exact.slope.value == pytest.approx(1)
    assert mentions(exact.slope.why_no_interval, "points", "line")
    assert exact.neutral is None
    two = shrinkage_slope([1, 2, 4, 3], [1, 2, 3, 5], cluster=["a", "a", "b", "b"])
    assert mentions(two.slope.why_no_interval, "2 clusters", "3")
    with pytest.raises(InputError, match="one or two"):
        shrinkage_slope([1, 2, 3], [1, 2, 3], cluster={"a": [1] * 3, "b": [1] * 3, "c": [1] * 3})
    with pytest.raises(InputError, match="rows"):
        shrinkage_slope([1, 2, 3], [1, 2, 3], cluster=[1, 2])
