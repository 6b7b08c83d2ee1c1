"""Equivalence tests against statsmodels, pingouin and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.stats.inference import equivalence_correlation, equivalence_mean
from tests.facts import mentions

SOURCE = "statsmodels 0.15 ttost_ind and ttost_paired; pingouin 0.6 tost"


def _two(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, 20), rng.normal(0.2, 2, 30)


@pytest.mark.peer
def test_welch_equals_statsmodels() -> None:
    module = pytest.importorskip("statsmodels.stats.weightstats")
    a, b = _two()
    result = equivalence_mean(a, b, low=-1.5, high=1)
    p, above, below = module.ttost_ind(a, b, -1.5, 1, usevar="unequal")
    assert (result.p, result.p_above_low, result.p_below_high) == pytest.approx((p, above[1], below[1]))
    assert result.df == pytest.approx(above[2])


@pytest.mark.slow
@pytest.mark.peer
def test_paired_equals_statsmodels_and_pingouin() -> None:
    module, pg = pytest.importorskip("statsmodels.stats.weightstats"), pytest.importorskip("pingouin")
    a, b = _two(1)
    result = equivalence_mean(a, b[:20], low=-1, high=1, pairs=True)
    assert result.p == pytest.approx(module.ttost_paired(a, b[:20], -1, 1)[0])
    assert result.p == pytest.approx(float(pg.tost(a, b[:20], bound=1, paired=True)["pval"].iloc[0]))


def test_test_and_interval_agree() -> None:
    for seed in range(60):
        a, b = _two(seed)
        mean = equivalence_mean(a, b, low=-0.8, high=0.8)
        assert mean.estimate.low is not None
        assert mean.estimate.high is not None
        assert mean.equivalent == (mean.estimate.low > -0.8 and mean.estimate.high < 0.8)
        r = equivalence_correlation(a, b[:20], low=-0.4, high=0.4, kind="spearman")
        assert r.estimate.low is not None
        assert r.estimate.high is not None
        assert r.equivalent == (r.estimate.low > -0.4 and r.estimate.high < 0.4)
        assert r.estimate.confidence == pytest.approx(0.9)


def test_correlation_by_formula() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=100), rng.normal(size=100)
    result = equivalence_correlation(x, y, low=-0.3, high=0.3)
    z = np.arctanh(stats.pearsonr(x, y).statistic)
    assert result.p_above_low == pytest.approx(stats.norm.sf((z + np.arctanh(0.3)) * np.sqrt(97)))
    assert result.p_below_high == pytest.approx(stats.norm.cdf((z - np.arctanh(0.3)) * np.sqrt(97)))


@pytest.mark.slow
def test_levels_hold_at_the_margin() -> None:
    shown = 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        shown += bool(equivalence_mean(rng.normal(0.5, 1, 40), rng.normal(0, 1, 40), low=-0.5, high=0.5).equivalent)
    assert shown / 600 <= 0.075
    close = [
        equivalence_mean(
            np.random.default_rng(s).normal(size=200),
            np.random.default_rng(s + 999).normal(size=200),
            low=-0.5,
            high=0.5,
        ).equivalent
        for s in range(50)
    ]
    assert sum(map(bool, close)) >= 48


def test_degenerate_input_gives_reasons() -> None:
    assert equivalence_mean([], [1.0], low=-1, high=1).why_missing == "a group is empty"
    assert equivalence_mean([1.0, 1.0], [1.0, 1.0], low=-1, high=1).why_missing == "neither group varies"
    assert equivalence_mean([1.0], [1.0, 2.0], low=-1, high=1).equivalent is None
    same = equivalence_mean([1.0, 2.0], [1.0, 2.0], low=-1, high=1, pairs=True)
    assert mentions(same.why_missing, "differences", "vary")
    assert same.p is None
    assert equivalence_correlation([1, 2, 3], [1, 3, 2], low=-0.5, high=0.5).equivalent is None


def test_misuse_is_refused() -> None:
    with pytest.raises(InputError, match="not a range"):
        equivalence_mean([1, 2], [1, 2], low=1, high=-1)
    with pytest.raises(InputError, match="not a range"):
        equivalence_correlation([1, 2], [1, 2], low=-2, high=1)
    with pytest.raises(InputError, match="alpha"):
        equivalence_mean([1, 2], [1, 2], low=-1, high=1, alpha=0.7)
    with pytest.raises(InputError, match="kendall"):
        equivalence_correlation([1, 2], [1, 2], low=-1, high=1, kind="kendall")  # type: ignore[arg-type]  # on purpose
