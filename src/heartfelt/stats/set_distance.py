"""How far one set of stimuli lies from another in an embedding: Fréchet and kernel distances, with intervals over stimuli.

Rows are stimuli (a long file is one row, the mean over its windows: windows of one file are not independent), columns the
embedding's. Both sets are samples, and what is estimated is the distance between the populations they come from. Lower is
closer; 0 means that the embedding cannot tell them apart. Estimates are corrected for sample size, so two samples of one
population score 0 on average, and single estimates may be negative.

*Fréchet distance* (FID, Heusel et al. 2017; FAD, Kilgour et al. 2019): the squared 2-Wasserstein distance of two normal
distributions with the sets' means and covariances, ``|m - m'|^2 + tr S + tr S' - 2 tr (S S')^(1/2)``. With ``S = A^T A``,
``S' = B^T B`` the last trace is the sum of the singular values of ``A B^T``, which is exact for singular covariances and takes
no root of a matrix. The plain figure is too large by about a constant over the number of stimuli. Correction ``jackknife``
extrapolates from the figures without a few stimuli; ``extrapolation`` is FID-infinity (Chong and Forsyth 2020), a line over
the inverse size of halves, thirds and quarters of both sets. The first has the smaller bias and no larger spread in simulations
(``benchmarks/set_distances.py``). With fewer stimuli than dimensions no correction removes all of it, and there is no interval.

*Kernel distance*: the unbiased squared maximum mean discrepancy (Gretton et al. 2012) over all pairs, in blocks. ``cubic`` is
KID's kernel ``(x.y / d + 1)^3`` (Bińkowski et al. 2018); ``gaussian`` is KAD's (Chung et al. 2025), its bandwidth the median
distance between reference rows, its unit hundredths.

Intervals leave out stimuli, of one set after the other (a jackknife of two samples, Arvesen 1969; Efron and Stein 1981), with
Student's t. Drawing stimuli with replacement would repeat some, which moves both distances.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, get_args

import numpy as np

from heartfelt.errors import InputError, require, suggestion
from heartfelt.stats import _bounds
from heartfelt.stats.blas_threads import one_blas_thread
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.jackknife import group_error
from heartfelt.stats.triples import Floats, Ints
from heartfelt.streams import stream

Correction: TypeAlias = Literal["jackknife", "extrapolation", "none"]
Kernel: TypeAlias = Literal["gaussian", "cubic"]

GROUPS = 50
FEWEST = 10
"""Stimuli in the smaller set from which there is an interval."""
PARTS = (1, 2, 3, 4)
BLOCK = 1024
MOST_FOR_MEDIAN = 2000
UNITS: dict[Kernel, float] = {"gaussian": 100.0, "cubic": 1.0}


def frechet_distance(
    x: Floats, y: Floats, *, correction: Correction = "jackknife", confidence: float = 0.95, seed: int = 0
) -> Estimate:
    """The squared Fréchet distance of the sets ``x`` and ``y`` (the reference), corrected for sample size."""
    require(correction in get_args(Correction), f"There is no correction '{correction}'.", "Use jackknife.")
    counts, why = _counts(x, y, fewest=3)
    method = f"Fréchet distance, {'uncorrected' if correction == 'none' else f'{correction} correction'}"
    if why:
        return Estimate.missing(why, method, counts)
    x, y = _in_span(x, y)
    value = _frechet(x, y)
    if correction == "none":
        return Estimate(value, method=method, counts=counts).without_interval(
            "biased by the number of stimuli"
        )
    groups = [_groups(len(rows), seed, name) for rows, name in ((x, "stimuli"), (y, "reference"))]
    rest = (
        np.array([_frechet(x[groups[0] != group], y) for group in range(groups[0].max() + 1)]),
        np.array([_frechet(x, y[groups[1] != group]) for group in range(groups[1].max() + 1)]),
    )
    sizes = [np.bincount(codes) for codes in groups]
    bias = sum(
        float(np.sum((1 - size / size.sum()) * (left - value)))
        for size, left in zip(sizes, rest, strict=True)
    )
    corrected = _extrapolated(x, y, value, seed) if correction == "extrapolation" else value - bias
    errors = [group_error(value, left, size) for left, size in zip(rest, sizes, strict=True)]
    plain = Estimate(corrected, method=method, counts=counts)
    fewest = min(counts["stimuli"], counts["reference"])
    if fewest <= counts["dimensions"]:
        return plain.without_interval(
            f"{fewest:,} stimuli in {counts['dimensions']:,} dimensions: a bias remains that no correction removes"
        )
    return _with_interval(plain, errors, [size.size for size in sizes], confidence)


def kernel_distance(
    x: Floats,
    y: Floats,
    *,
    kernel: Kernel = "gaussian",
    bandwidth: float | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """The unbiased squared maximum mean discrepancy of ``x`` and ``y`` (the reference); of ``gaussian`` in hundredths.

    ``bandwidth`` is that of the Gaussian kernel, by default the median distance between rows of ``y``.
    """
    if kernel not in UNITS:
        raise InputError(f"There is no kernel '{kernel}'.", suggestion(kernel, UNITS, "Kernels"))
    counts, why = _counts(x, y, fewest=4)
    method = f"unbiased squared maximum mean discrepancy, {kernel} kernel"
    if kernel == "gaussian" and not why:
        bandwidth = median_distance(y) if bandwidth is None else bandwidth
        method += f" of bandwidth {bandwidth:.4g}, in hundredths"
        why = "" if bandwidth > 0 else "half of the reference rows are equal, so the kernel has no bandwidth"
    if why:
        return Estimate.missing(why, method, counts)
    n, m = len(x), len(y)
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    within_x, cross_x = _kernel_sums(x, y, kernel, bandwidth)
    within_y, cross_y = _kernel_sums(y, x, kernel, bandwidth)
    a, b, c = float(within_x.sum()), float(within_y.sum()), float(cross_x.sum())
    scale = UNITS[kernel]
    of_x, of_y = a / (n * (n - 1)), b / (m * (m - 1))
    value = scale * (of_x + of_y - 2 * c / (n * m))
    less_x = (a - 2 * within_x) / ((n - 1) * (n - 2)) + of_y - 2 * (c - cross_x) / ((n - 1) * m)
    less_y = of_x + (b - 2 * within_y) / ((m - 1) * (m - 2)) - 2 * (c - cross_y) / (n * (m - 1))
    errors = [group_error(value, scale * left, np.ones(left.size, np.int64)) for left in (less_x, less_y)]
    return _with_interval(Estimate(value, method=method, counts=counts), errors, [n, m], confidence)


def median_distance(rows: Floats, seed: int = 0) -> float:
    """The median distance between two rows; of many, between 2,000 drawn ones."""
    from scipy.spatial.distance import pdist

    if len(rows) > MOST_FOR_MEDIAN:
        rows = rows[stream(seed, "set distance", "bandwidth").permutation(len(rows))[:MOST_FOR_MEDIAN]]
    return float(np.median(pdist(np.asarray(rows, np.float64))))


def _counts(x: Floats, y: Floats, fewest: int) -> tuple[dict[str, int], str]:
    """What there is, and why it is too little."""
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise InputError(
            f"The sets have shapes {x.shape} and {y.shape}.",
            "Pass one row per stimulus, with the same columns.",
        )
    for name, rows in (("set", x), ("reference set", y)):
        bad = int(np.count_nonzero(~np.isfinite(rows).all(axis=1)))
        require(not bad, f"{bad:,} rows of the {name} are not finite.", "Leave them out.")
    counts = {"stimuli": len(x), "reference": len(y), "dimensions": x.shape[1]}
    least = min(len(x), len(y))
    return counts, f"{least} stimuli; at least {fewest} are needed" if least < fewest else ""


def _in_span(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The rows about the reference's mean, in no more dimensions than they span; distances stay."""
    centre = y.mean(axis=0, dtype=np.float64)
    pooled = np.vstack([x - centre, y - centre])
    if pooled.shape[1] > len(pooled):
        pooled = np.asarray(np.linalg.qr(pooled.T, mode="r")).T
    return pooled[: len(x)], pooled[len(x) :]


def _frechet(x: Floats, y: Floats) -> float:
    """The plain squared distance."""
    (mean_x, root_x), (mean_y, root_y) = _moments(x), _moments(y)
    apart = mean_x - mean_y
    shared = float(np.linalg.svd(root_x @ root_y.T, compute_uv=False).sum())
    return float(apart @ apart) + float(np.sum(root_x**2)) + float(np.sum(root_y**2)) - 2 * shared


def _moments(rows: Floats) -> tuple[Floats, Floats]:
    """The mean, and a matrix whose square is the covariance, with no more rows than columns."""
    mean = rows.mean(axis=0)
    root = (rows - mean) / math.sqrt(len(rows) - 1)
    return mean, np.asarray(np.linalg.qr(root, mode="r")) if len(root) > root.shape[1] else root


def _extrapolated(x: Floats, y: Floats, value: float, seed: int) -> float:
    """The intercept of a line through the mean distances of halves, thirds and quarters of both sets."""
    parts = [part for part in PARTS if min(len(x), len(y)) // part >= 3]
    orders = [
        stream(seed, "set distance", name).permutation(len(rows)) for name, rows in (("x", x), ("y", y))
    ]
    means = [
        value
        if part == 1
        else float(np.mean([_frechet(x[orders[0][i::part]], y[orders[1][i::part]]) for i in range(part)]))
        for part in parts
    ]
    return float(np.polyfit(parts, means, 1)[1]) if len(parts) > 1 else value


def _groups(size: int, seed: int, name: str) -> Ints:
    """The group each row is left out with, at random: each row alone where there are at most ``GROUPS``."""
    order = stream(seed, "set distance", "groups", name).permutation(size)
    return np.asarray(order % min(size, GROUPS), np.int64)


@one_blas_thread()
def _kernel_sums(
    rows: Floats, others: Floats, kernel: Kernel, bandwidth: float | None
) -> tuple[Floats, Floats]:
    """Of each row, the sum of its kernel with the set's other rows, and with the rows of the other set."""
    squares, other_squares = np.sum(rows**2, axis=1), np.sum(others**2, axis=1)
    within, cross = np.empty(len(rows)), np.empty(len(rows))

    def kernels(some: Floats, of_some: Floats, against: Floats, of_against: Floats) -> Floats:
        products = some @ against.T
        if kernel == "cubic":
            return np.asarray((products / some.shape[1] + 1) ** 3)
        apart = np.maximum(of_some[:, None] + of_against[None, :] - 2 * products, 0.0)
        return np.asarray(np.exp(-apart / (2 * float(bandwidth or 1.0) ** 2)))

    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        own, out_w, out_c = rows[part], np.zeros(len(rows[part])), np.zeros(len(rows[part]))
        for other in range(0, len(rows), BLOCK):
            block = slice(other, other + BLOCK)
            values = kernels(own, squares[part], rows[block], squares[block])
            if block == part:
                np.fill_diagonal(values, 0.0)
            out_w += values.sum(axis=1)
        for other in range(0, len(others), BLOCK):
            block = slice(other, other + BLOCK)
            out_c += kernels(own, squares[part], others[block], other_squares[block]).sum(axis=1)
        within[part], cross[part] = out_w, out_c
    return within, cross


def _with_interval(plain: Estimate, errors: list[float], units: list[int], confidence: float) -> Estimate:
    fewest = min(plain.counts["stimuli"], plain.counts["reference"])
    if fewest < FEWEST:
        return plain.without_interval(f"{fewest} stimuli; an interval needs {FEWEST}")
    variance = sum(error**2 for error in errors)
    if variance <= 0:
        return plain.without_interval("leaving out stimuli does not change it")
    df = variance**2 / sum(error**4 / (count - 1) for error, count in zip(errors, units, strict=True))
    name = "jackknife over the stimuli of both sets, Student's t"
    return _bounds.with_t(plain, math.sqrt(variance), df, name, confidence)
