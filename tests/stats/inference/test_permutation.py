"""Permutation tests against SciPy's exact enumeration and simulation."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.serialization import dumps
from heartfelt.stats.inference import permutation_correlation, permutation_paired, permutation_two_sample
from tests.facts import mentions

SOURCE = "scipy.stats.permutation_test 1.17 with n_resamples=inf"


def _two(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=6), rng.normal(0.8, 1, size=8)


def _gap(a: Any, b: Any, axis: int) -> Any:
    return a.mean(axis) - b.mean(axis)


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_two_sample_exact_equals_scipy(alternative: Any) -> None:
    a, b = _two()
    result = permutation_two_sample(a, b, alternative=alternative)
    theirs = stats.permutation_test((a, b), _gap, vectorized=True, alternative=alternative, n_resamples=10**6)
    assert result.exact
    assert result.arrangements == 3003
    assert result.p.value == pytest.approx(theirs.pvalue, abs=1e-12)
    assert result.estimate.value == pytest.approx(a.mean() - b.mean())


def test_two_sample_two_sided_counts_both_tails() -> None:
    a, b = _two(1)
    theirs = stats.permutation_test((a, b), _gap, vectorized=True, n_resamples=10**6)
    far = np.abs(theirs.null_distribution) >= abs(theirs.statistic) - 1e-12
    assert permutation_two_sample(a, b).p.value == pytest.approx(far.mean(), abs=1e-12)


def test_welch_statistic_equals_scipy() -> None:
    a, b = _two(2)

    def welch(x: Any, y: Any, axis: int) -> Any:
        return stats.ttest_ind(x, y, axis=axis, equal_var=False).statistic

    theirs = stats.permutation_test((a, b), welch, vectorized=True, alternative="less", n_resamples=10**6)
    result = permutation_two_sample(a, b, statistic="welch", alternative="less")
    assert result.p.value == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.slow
def test_paired_exact_equals_scipy() -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=10)
    b = a + rng.normal(0.5, 1, size=10)
    theirs = stats.permutation_test(
        (a, b), _gap, permutation_type="samples", vectorized=True, n_resamples=10**6, alternative="less"
    )
    result = permutation_paired(a, b, alternative="less")
    assert result.arrangements == 1024
    assert result.p.value == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(
    ("kind", "theirs"), [("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)]
)
def test_correlation_exact_equals_scipy(kind: Any, theirs: Any, tied: bool) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=6)
    y = x + rng.normal(size=6)
    if tied:
        x, y = np.round(x), np.round(y)
    expected = stats.permutation_test(
        (y,), lambda z: theirs(x, z)[0], permutation_type="pairings", alternative="greater", n_resamples=10**6
    )
    result = permutation_correlation(x, y, kind=kind, alternative="greater")
    assert result.arrangements == 720
    assert result.p.value == pytest.approx(expected.pvalue, abs=1e-12)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_drawn_p_value_brackets_the_exact_one(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=8)
    y = 0.5 * x + rng.normal(size=8)
    exact = permutation_correlation(x, y, kind=kind)
    monkeypatch.setattr("heartfelt.stats.inference.permutation.EXACT_LIMIT", 10)
    drawn = permutation_correlation(x, y, kind=kind, resamples=20_000)
    assert exact.exact
    assert not drawn.exact
    assert drawn.arrangements == 20_001
    assert drawn.p.value == pytest.approx(float(exact.p), abs=0.012)
    assert drawn.p.interval == "Clopper-Pearson over resamples"


def test_drawn_two_sample_and_paired_bracket_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = _two(6)
    exact = [
        permutation_two_sample(a, b),
        permutation_two_sample(b, a, statistic="welch"),
        permutation_paired(a, b[:6]),
    ]
    monkeypatch.setattr("heartfelt.stats.inference.permutation.EXACT_LIMIT", 10)
    drawn = [
        permutation_two_sample(a, b, resamples=20_000),
        permutation_two_sample(b, a, statistic="welch", resamples=20_000),
        permutation_paired(a, b[:6], resamples=20_000),
    ]
    for each, two in zip(exact, drawn, strict=True):
        assert two.p.value == pytest.approx(float(each.p), abs=0.012)


def test_no_drawn_p_value_is_zero() -> None:
    rng = np.random.default_rng(7)
    result = permutation_two_sample(rng.normal(size=40), rng.normal(9, 1, size=40), resamples=999)
    assert result.p.value == pytest.approx(1 / 1000)
    assert result.p.low == 0


@pytest.mark.slow
def test_levels_hold_and_blocks_matter() -> None:
    # Two blocks with different means in both columns: a correlation between blocks, none inside them.
    block = np.repeat([0, 1], 15)
    plain = inside = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=30) + 1.5 * block, rng.normal(size=30) + 1.5 * block
        plain += float(permutation_correlation(x, y, resamples=199, seed=seed).p) <= 0.05
        inside += float(permutation_correlation(x, y, within=block, resamples=199, seed=seed).p) <= 0.05
    assert plain / 200 > 0.4
    assert 0.015 <= inside / 200 <= 0.095


@pytest.mark.slow
def test_welch_holds_its_level_where_the_mean_does_not() -> None:
    mean = welch = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        a, b = 3 * rng.normal(size=10), rng.normal(size=40)
        mean += float(permutation_two_sample(a, b, resamples=199, seed=seed).p) <= 0.05
        welch += float(permutation_two_sample(a, b, statistic="welch", resamples=199, seed=seed).p) <= 0.05
    assert mean / 300 > 0.12
    assert welch / 300 <= 0.09


def test_same_seed_same_p() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=50), rng.normal(size=50)
    p = [permutation_correlation(x, y, seed=seed).p.value for seed in (1, 1, 2)]
    assert p[0] == p[1] != p[2]


def test_degenerate_input_gives_reasons() -> None:
    assert permutation_two_sample([], [1.0]).p.why_missing == "a group is empty"
    assert mentions(permutation_two_sample([1.0, 1.0], [1.0]).p.why_missing, "values", "vary")
    single = permutation_two_sample([1.0], [2.0, 3.0], statistic="welch")
    assert single.p.why_missing == "a group has a single value"
    assert permutation_two_sample([1.0], [2.0, 3.0]).p.value == pytest.approx(2 / 3)
    assert permutation_paired([], []).p.why_missing == "no pairs"
    assert permutation_paired([1.0, 2.0], [1.0, 2.0]).p.why_missing == "no pair differs"
    assert mentions(permutation_correlation([1, 1, 1], [1, 2, 3]).p.why_missing, "column", "vary")
    alone = permutation_correlation([1.0, 2, 3, 4], [1.0, 3, 2, 4], within=[1, 2, 3, 4])
    assert mentions(alone.p.why_missing, "shuffling", "blocks")


def test_misuse_is_refused() -> None:
    with pytest.raises(InputError, match="alternative"):
        permutation_paired([1, 2], [2, 1], alternative="bigger")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InputError, match="permutation test of 'median'"):
        permutation_two_sample([1, 2], [2, 1], statistic="median")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InputError, match="within blocks"):
        permutation_correlation([1, 2, 3], [2, 1, 3], kind="kendall", within=[1, 1, 1])
    with pytest.raises(InputError, match="blocks has 2 rows"):
        permutation_correlation([1, 2, 3], [2, 1, 3], within=[1, 1])
    with pytest.raises(InputError, match="resamples"):
        permutation_paired([1, 2], [2, 1], resamples=0)


def test_result_is_plain_json() -> None:
    text = json.loads(dumps(permutation_two_sample(*_two())))
    assert text["exact"] is True
    assert text["p"]["why_no_interval"] == "exact"
