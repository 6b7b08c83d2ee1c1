"""Distances of sets: against formulas that share no code, brute force, and simulations with a known truth.

SOURCE: scipy.linalg.sqrtm for the Fréchet distance as FID's authors publish it; eigenvalues of the product of singular covariances;
loops over pairs for kernels; closed forms of the maximum mean discrepancy of normal distributions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import linalg

from heartfelt.errors import InputError
from heartfelt.stats.groups import set_distance
from heartfelt.stats.groups.set_distance import Correction, Kernel, frechet_distance, kernel_distance, median_distance
from heartfelt.stats.prediction.jackknife import group_error
from tests.facts import mentions

Floats = npt.NDArray[np.float64]


def two_sets(n: int = 40, m: int = 55, size: int = 6, seed: int = 1) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=(size, size))
    return rng.normal(size=(n, size)), rng.normal(0.4, 1.2, size=(m, size)) @ turn


def published(x: Floats, y: Floats) -> float:
    root = linalg.sqrtm(np.cov(x, rowvar=False) @ np.cov(y, rowvar=False))
    apart = x.mean(axis=0) - y.mean(axis=0)
    traces = np.trace(np.cov(x, rowvar=False)) + np.trace(np.cov(y, rowvar=False))
    return float(apart @ apart + traces - 2 * np.trace(np.real(root)))


def value(estimate: Any) -> float:
    assert estimate.value is not None, estimate.why_missing
    return float(estimate.value)


@pytest.mark.parametrize("shape", [(40, 55, 6), (30, 300, 12), (300, 30, 2)])
def test_the_plain_distance_is_the_published_one(shape: tuple[int, int, int]) -> None:
    x, y = two_sets(*shape)
    assert value(frechet_distance(x, y, correction="none")) == pytest.approx(published(x, y), rel=1e-8)


def test_fewer_stimuli_than_dimensions_have_an_exact_distance_and_no_interval() -> None:
    x, y = two_sets(9, 12, 40)
    product = np.cov(x, rowvar=False) @ np.cov(y, rowvar=False)
    shared = np.sqrt(np.maximum(np.real(linalg.eigvals(product)), 0.0)).sum()
    apart = x.mean(axis=0) - y.mean(axis=0)
    exact = apart @ apart + np.var(x, axis=0, ddof=1).sum() + np.var(y, axis=0, ddof=1).sum() - 2 * shared
    assert value(frechet_distance(x, y, correction="none")) == pytest.approx(exact, rel=1e-6)
    corrected = frechet_distance(*two_sets(12, 15, 40))
    assert corrected.low is None
    assert "12 stimuli in 40 dimensions" in (corrected.why_no_interval or "")


def test_the_extrapolation_has_an_interval_only_where_it_removes_the_bias() -> None:
    x, y = two_sets(40, 40, 12)
    assert "40 stimuli in 12 dimensions" in (frechet_distance(x, y, correction="extrapolation").why_no_interval or "")
    assert frechet_distance(x, y).low is not None
    assert frechet_distance(*two_sets(40, 40, 4), correction="extrapolation").low is not None


def test_normal_distributions_with_diagonal_covariances() -> None:
    x, _ = two_sets(50)
    whitened = linalg.solve_triangular(
        np.linalg.cholesky(np.cov(x, rowvar=False)), (x - x.mean(axis=0)).T, lower=True
    ).T
    sd, mean = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.5]), np.array([0.5, 0, 0, -1, 0, 0])
    exact = float(np.sum(mean**2) + np.sum((sd - 1) ** 2))
    assert value(frechet_distance(whitened, whitened * sd + mean, correction="none")) == pytest.approx(exact)


def test_the_correction_is_the_jackknife_of_both_sets() -> None:
    x, y = two_sets(20, 30, 3)
    plain = published(x, y)
    without_x = np.mean([published(np.delete(x, i, 0), y) for i in range(20)])
    without_y = np.mean([published(x, np.delete(y, i, 0)) for i in range(30)])
    expected = plain - 19 * (without_x - plain) - 29 * (without_y - plain)
    assert value(frechet_distance(x, y)) == pytest.approx(expected, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "n"), [(4, 30), (12, 40)])
def test_corrections_take_out_the_bias(size: int, n: int) -> None:
    names: tuple[Correction, ...] = ("none", "extrapolation", "jackknife")
    rng = np.random.default_rng(5)
    drawn: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(30):
        x, y = rng.normal(size=(n, size)), rng.normal(size=(n, size))
        for name in names:
            drawn[name].append(value(frechet_distance(x, y, correction=name)))
    mean = {name: float(np.mean(values)) for name, values in drawn.items()}
    assert abs(mean["jackknife"]) < 0.12 * mean["none"]
    assert abs(mean["extrapolation"]) < 0.35 * mean["none"]
    assert np.std(drawn["jackknife"]) < 1.3 * np.std(drawn["none"])


def by_hand(x: Floats, y: Floats, kernel: Kernel, bandwidth: float, groups: tuple[Any, Any]) -> float:
    def one(a: Floats, b: Floats) -> float:
        if kernel == "cubic":
            return float((a @ b / a.size + 1) ** 3)
        return 100 * math.exp(-float(np.sum((a - b) ** 2)) / (2 * bandwidth**2))

    def mean(left: Floats, right: Floats, of_left: Any, of_right: Any) -> float:
        pairs = [
            one(a, b)
            for a, u in zip(left, of_left, strict=True)
            for b, v in zip(right, of_right, strict=True)
            if u != v
        ]
        return float(np.mean(pairs))

    u, v = groups
    return mean(x, x, u, u) + mean(y, y, v, v) - 2 * mean(x, y, u, v)


@pytest.mark.parametrize("kernel", ["gaussian", "cubic"])
@pytest.mark.parametrize("block", [7, 1024])
@pytest.mark.parametrize("grouped", [False, True])
def test_kernel_distances_are_means_over_pairs(
    kernel: Kernel, block: int, grouped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_distance, "BLOCK", block)
    x, y = two_sets(15, 22, 5)
    own = ([f"x{i}" for i in range(15)], [f"y{i}" for i in range(22)])
    groups = ([i % 11 for i in range(15)], [i % 13 for i in range(22)]) if grouped else own
    width = median_distance(y)
    found = kernel_distance(x, y, kernel=kernel, groups=groups if grouped else None)
    assert value(found) == pytest.approx(by_hand(x, y, kernel, width, groups), rel=1e-10)
    without = {}
    for name in {*groups[0], *groups[1]}:
        in_x, in_y = (np.array([group != name for group in side]) for side in groups)
        rest = (np.array(groups[0])[in_x], np.array(groups[1])[in_y])
        without[name] = by_hand(x[in_x], y[in_y], kernel, width, rest)
    both = sorted(set(groups[0]) & set(groups[1]), key=str)
    parts = [both, [n for n in without if n not in groups[1]], [n for n in without if n not in groups[0]]]
    parts = [part for part in parts if part]
    error = math.sqrt(sum(jackknife(value(found), [without[n] for n in part], part, groups) ** 2 for part in parts))
    assert found.low is not None
    assert found.high is not None
    half = (found.high - found.low) / 2
    assert 1.95 * error < half < 2.4 * error


def jackknife(full: float, rest: list[float], names: list[Any], groups: tuple[Any, Any]) -> float:
    sizes = np.array([list(groups[0]).count(name) + list(groups[1]).count(name) for name in names])
    return group_error(full, np.array(rest), sizes)


def truth(shift: Floats, sds: Floats, width: float) -> float:
    """The squared maximum mean discrepancy, in hundredths, of a standard normal and another with these standard deviations."""

    def expected(mean: Floats, variance: Floats) -> float:
        return float(
            np.prod(np.sqrt(width**2 / (width**2 + variance))) * np.exp(-0.5 * np.sum(mean**2 / (width**2 + variance)))
        )

    none = np.zeros_like(shift)
    return 100 * (expected(none, 2 + none) + expected(none, 2 * sds**2) - 2 * expected(shift, 1 + sds**2))


@pytest.mark.parametrize("shared", [0.0, 0.6])
@pytest.mark.parametrize("same", [True, False])
def test_intervals_cover_and_are_no_wider_than_they_must_be(shared: float, same: bool) -> None:
    size, n, per_group, rounds = 3, 30, 3, 80
    shift = np.zeros(size) if same else np.array([0.5, 0.0, -0.3])
    sds = np.ones(size) if same else np.array([1.0, 1.4, 0.8])
    known = {"kernel": truth(shift, sds, 2.4), "frechet": float(np.sum(shift**2) + np.sum((sds - 1) ** 2))}
    rng = np.random.default_rng(11)
    codes = (np.arange(n), np.repeat(np.arange(n), per_group))
    found: dict[str, list[Any]] = {"kernel": [], "frechet": []}
    for _ in range(rounds):
        common = rng.normal(size=(n, size))
        x, y = (
            math.sqrt(shared) * common[who] + math.sqrt(1 - shared) * rng.normal(size=(who.size, size)) for who in codes
        )
        y = shift + sds * y
        found["kernel"].append(kernel_distance(x, y, bandwidth=2.4, groups=codes))
        found["frechet"].append(frechet_distance(x, y, groups=codes))
    for name, estimates in found.items():
        low, high, middle = (np.array([getattr(row, key) for row in estimates]) for key in ("low", "high", "value"))
        assert np.mean((low <= known[name]) & (known[name] <= high)) >= 0.89, name
        assert np.mean(high - low) < 2 * 3.92 * middle.std(), name
        assert abs(middle.mean() - known[name]) < 4 * middle.std() / math.sqrt(rounds), name


def test_sets_from_the_same_prompts_seem_too_close_unless_prompts_are_groups() -> None:
    rng = np.random.default_rng(2)
    plain, grouped, codes = [], [], np.arange(27)
    for _ in range(40):
        prompts = rng.normal(size=(27, 4))
        x, y = (prompts + rng.normal(size=(27, 4)) for _ in range(2))
        for estimate in (frechet_distance, kernel_distance):
            plain.append(value(estimate(x, y)))
            grouped.append(value(estimate(x, y, groups=(codes, codes))))
    assert np.mean(plain) < -5 * np.std(plain) / math.sqrt(80)
    assert abs(np.mean(grouped)) < 3 * np.std(grouped) / math.sqrt(80)


def test_a_long_set_is_compared_in_little_memory() -> None:
    import tracemalloc

    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(4000, 4)), rng.normal(size=(3500, 4))
    tracemalloc.start()
    kernel_distance(x, y, bandwidth=2.0)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 60e6, "the matrix of all pairs would take 128 MB"


def test_the_bandwidth_is_the_median_distance() -> None:
    rows = np.array([[0.0], [1.0], [3.0]])
    assert median_distance(rows) == 2.0
    flat = kernel_distance(rows.repeat(5, axis=0), np.zeros((12, 1)))
    assert "no bandwidth" in (flat.why_missing or "")


def test_too_little_is_said_in_words() -> None:
    x, y = two_sets(3, 50, 2)
    assert mentions(frechet_distance(x, y).why_missing or "", "3 stimuli", "4")
    assert "an interval needs 10" in (kernel_distance(*two_sets(9, 50, 2)).why_no_interval or "")
    codes = ([i % 3 for i in range(40)], [i % 3 for i in range(50)])
    assert "3 groups of stimuli" in (kernel_distance(*two_sets(40, 50, 2), groups=codes).why_missing or "")


@pytest.mark.parametrize("distance", [frechet_distance, kernel_distance])
def test_bad_input_is_refused(distance: Any) -> None:
    x, y = two_sets(12, 15, 3)
    x[2, 1] = np.nan
    with pytest.raises(InputError, match=r"1 rows.*set.*finite"):
        distance(x, y)
    with pytest.raises(InputError, match="same columns"):
        distance(y, y[:, :2])
    with pytest.raises(InputError, match="group"):
        distance(y, y, groups=([1], [2]))


def test_unknown_names_are_refused() -> None:
    x, y = two_sets()
    with pytest.raises(InputError, match="jacknife"):
        frechet_distance(x, y, correction="jacknife")  # type: ignore[arg-type]  # what a person may type
    with pytest.raises(InputError, match="linear"):
        kernel_distance(x, y, kernel="linear")  # type: ignore[arg-type]  # what a person may type
