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

Intervals leave out stimuli one after the other (a jackknife of two samples, Arvesen 1969; Efron and Stein 1981), with Student's t.
Drawing stimuli with replacement would repeat some, which moves both distances. Stimuli that belong together, such as those made
from one prompt by several systems, are one *group*: left out together from both sets, and no pair of the kernel sums. Otherwise two
sets made from the same prompts would seem closer than two samples of one population, and corrected distances would fall below 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np

from heartfelt.errors import InputError, require, suggestion
from heartfelt.stats import _bounds
from heartfelt.stats.columns.triples import Floats, Ids, Ints, code
from heartfelt.stats.compiled.blas_threads import one_blas_thread
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.jackknife import group_error
from heartfelt.streams import stream

Correction: TypeAlias = Literal["jackknife", "extrapolation", "none"]
Kernel: TypeAlias = Literal["gaussian", "cubic"]

GROUPS = 50
PER_DIMENSION: dict[Correction, int] = {"jackknife": 1, "extrapolation": 5}
"""How many stimuli (or groups) per dimension an interval takes: with fewer the corrected distance is still biased."""
FEWEST, LEAST = 10, 4
"""Stimuli (or groups) in the smaller set from which there is an interval, and a distance at all."""
PARTS = (1, 2, 3, 4)
BLOCK = 1024
MOST_FOR_MEDIAN = 2000
UNITS: dict[Kernel, float] = {"gaussian": 100.0, "cubic": 1.0}


Groups: TypeAlias = tuple[Ids, Ids]
"""Which group each row of either set belongs to."""


def frechet_distance(
    x: Floats,
    y: Floats,
    *,
    groups: Groups | None = None,
    correction: Correction = "jackknife",
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """The squared Fréchet distance of the sets ``x`` and ``y`` (the reference), corrected for sample size."""
    if correction not in get_args(Correction):
        raise InputError(f"There is no correction '{correction}'.", suggestion(correction, get_args(Correction)))
    sets = _Sets.of(x, y, groups)
    method = f"Fréchet distance, {'uncorrected' if correction == 'none' else f'{correction} correction'}"
    if sets.why_too_few:
        return Estimate.missing(sets.why_too_few, method, sets.counts)
    x, y = _in_span(x, y)
    value = _frechet(x, y)
    if correction == "none":
        return Estimate(value=value, method=method, counts=sets.counts).without_interval(
            "biased by the number of stimuli"
        )
    bias, errors, units = 0.0, [], []
    for kind in sets.kinds:
        group_of = stream(seed, "set distance", kind.size).permutation(kind.size) % min(kind.size, GROUPS)
        values_without, sizes, shares = [], [], []
        for group_number in range(int(group_of.max()) + 1):
            gone_x, gone_y = (np.isin(side, kind[group_of == group_number]) for side in (sets.of_x, sets.of_y))
            values_without.append(_frechet(x[~gone_x], y[~gone_y]))
            sizes.append(np.count_nonzero(gone_x) + np.count_nonzero(gone_y))
            shares.append(max(gone_x.mean(), gone_y.mean()))
        bias += float(np.sum((1 - np.array(shares)) * (np.array(values_without) - value)))
        errors.append(group_error(value, np.array(values_without), np.array(sizes)))
        units.append(len(sizes))
    corrected = value - bias if correction == "jackknife" else _extrapolated(x, y, sets, value, seed)
    point_estimate = Estimate(value=corrected, method=method, counts=sets.counts)
    fewest, size = sets.fewest, sets.counts["dimensions"]
    if fewest <= size * PER_DIMENSION[correction]:
        unit_name = "groups of stimuli" if groups is not None else "stimuli"
        return point_estimate.without_interval(
            f"{fewest:,} {unit_name} in {size:,} dimensions: too few for the correction to remove all bias"
        )
    return _with_interval(point_estimate, sets, errors, units, confidence)


def kernel_distance(
    x: Floats,
    y: Floats,
    *,
    groups: Groups | None = None,
    kernel: Kernel = "gaussian",
    bandwidth: float | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """The unbiased squared maximum mean discrepancy of ``x`` and ``y`` (the reference); of ``gaussian`` in hundredths.

    ``bandwidth`` is that of the Gaussian kernel, by default the median distance between rows of ``y``.
    """
    if kernel not in UNITS:
        raise InputError(f"There is no kernel '{kernel}'.", suggestion(kernel, UNITS, "Kernels"))
    sets, reason = _Sets.of(x, y, groups), ""
    method = f"unbiased squared maximum mean discrepancy, {kernel} kernel"
    if kernel == "gaussian" and not sets.why_too_few:
        bandwidth = median_distance(y) if bandwidth is None else bandwidth
        method += f" of bandwidth {bandwidth:.4g}, in hundredths"
        reason = "" if bandwidth > 0 else "half of the reference rows are equal, so the kernel has no bandwidth"
    if reason or sets.why_too_few:
        return Estimate.missing(reason or sets.why_too_few, method, sets.counts)
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    with one_blas_thread():
        # Of every group: kernel sums and pairs that go with it, within x, within y and between them.
        within_x, within_y = (
            2 * _group_sums(rows, rows, codes, codes, sets.size, kernel, bandwidth)
            for rows, codes in ((x, sets.of_x), (y, sets.of_y))
        )
        between = _group_sums(x, y, sets.of_x, sets.of_y, sets.size, kernel, bandwidth)
        also = _group_sums(y, x, sets.of_y, sets.of_x, sets.size, kernel, bandwidth)
    totals = (within_x.sum(axis=1) / 2, within_y.sum(axis=1) / 2, between.sum(axis=1))
    totals_without = (totals[0][:, None] - within_x, totals[1][:, None] - within_y, totals[2][:, None] - between - also)
    (value,), values_without = (
        UNITS[kernel] * (a[0] / a[1] + b[0] / b[1] - 2 * c[0] / c[1])
        for a, b, c in ([total[:, None] for total in totals], totals_without)
    )
    rows = np.bincount(sets.of_x, minlength=sets.size) + np.bincount(sets.of_y, minlength=sets.size)
    errors = [group_error(float(value), values_without[kind], rows[kind]) for kind in sets.kinds]
    point_estimate = Estimate(value=float(value), method=method, counts=sets.counts)
    return _with_interval(point_estimate, sets, errors, [kind.size for kind in sets.kinds], confidence)


def median_distance(rows: Floats, seed: int = 0) -> float:
    """The median distance between two rows; of many, between 2,000 drawn ones."""
    from scipy.spatial.distance import pdist

    if len(rows) > MOST_FOR_MEDIAN:
        rows = rows[stream(seed, "set distance", "bandwidth").permutation(len(rows))[:MOST_FOR_MEDIAN]]
    return float(np.median(pdist(np.asarray(rows, np.float64))))


@dataclass(frozen=True)
class _Sets:
    """The group of every row of both sets: by default each row is its own."""

    of_x: Ints
    of_y: Ints
    counts: dict[str, int]

    @classmethod
    def of(cls, x: Floats, y: Floats, groups: Groups | None) -> _Sets:
        if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
            raise InputError(
                f"The sets have shapes {x.shape} and {y.shape}.", "Pass one row per stimulus, with the same columns."
            )
        for name, rows in (("set", x), ("reference set", y)):
            bad = int(np.count_nonzero(~np.isfinite(rows).all(axis=1)))
            require(not bad, f"{bad:,} rows of the {name} are not finite.", "Leave them out.")
        counts = {"stimuli": len(x), "reference": len(y), "dimensions": x.shape[1]}
        if groups is None:
            return cls(np.arange(len(x)), len(x) + np.arange(len(y)), counts)
        names = [*groups[0], *groups[1]]
        require(len(names) == len(x) + len(y), "Not every row has a group.", "Give one group per row.")
        codes = code(names).codes
        return cls(codes[: len(x)], codes[len(x) :], counts | {"groups": int(codes.max(initial=-1)) + 1})

    @property
    def size(self) -> int:
        return int(max(self.of_x.max(), self.of_y.max())) + 1

    @cached_property
    def fewest(self) -> int:
        """Groups in the set that has fewer."""
        return min(np.unique(self.of_x).size, np.unique(self.of_y).size)

    @property
    def why_too_few(self) -> str:
        """Why there is no distance; empty where there is one."""
        unit_name = "groups of stimuli" if "groups" in self.counts else "stimuli"
        return "" if self.fewest >= LEAST else f"{self.fewest} {unit_name} in a set; at least {LEAST} are needed"

    @property
    def kinds(self) -> list[Ints]:
        """The groups in one set alone, and those in both; a single one counts with the others."""
        x, y = np.unique(self.of_x), np.unique(self.of_y)
        kinds = [np.setdiff1d(x, y), np.setdiff1d(y, x), np.intersect1d(x, y)]
        single = np.concatenate([kind for kind in kinds if kind.size == 1] or [np.zeros(0, np.int64)])
        kinds = sorted((kind for kind in kinds if kind.size > 1), key=len)
        return [*kinds[:-1], np.concatenate([kinds[-1], single])]


def _in_span(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The rows about the reference's mean, in no more dimensions than they span; distances stay."""
    centre = y.mean(axis=0, dtype=np.float64)
    pooled = np.vstack([x - centre, y - centre])
    if pooled.shape[1] > len(pooled):
        # Fewer rows than dimensions span fewer: a rotation keeps all distances in as many columns as there are rows.
        pooled = np.asarray(np.linalg.qr(pooled.T, mode="r")).T
    return pooled[: len(x)], pooled[len(x) :]


def _frechet(x: Floats, y: Floats) -> float:
    (mean_x, root_x), (mean_y, root_y) = _moments(x), _moments(y)
    difference = mean_x - mean_y
    shared = float(np.linalg.svd(root_x @ root_y.T, compute_uv=False).sum())
    return float(difference @ difference) + float(np.sum(root_x**2)) + float(np.sum(root_y**2)) - 2 * shared


def _moments(rows: Floats) -> tuple[Floats, Floats]:
    """The mean, and a matrix whose square is the covariance, with no more rows than columns."""
    mean = rows.mean(axis=0)
    root = (rows - mean) / math.sqrt(len(rows) - 1)
    return mean, np.asarray(np.linalg.qr(root, mode="r")) if len(root) > root.shape[1] else root


def _extrapolated(x: Floats, y: Floats, sets: _Sets, value: float, seed: int) -> float:
    """The intercept of a line through the mean distances of halves, thirds and quarters of both sets."""
    shuffled = np.zeros(sets.size, np.int64)
    for kind in sets.kinds:
        shuffled[kind] = stream(seed, "set distance", "parts", kind.size).permutation(kind.size)
    parts = [part for part in PARTS if sets.fewest // part >= LEAST]
    means = [value]
    for part in parts[1:]:
        cuts = [(shuffled[sets.of_x] % part == i, shuffled[sets.of_y] % part == i) for i in range(part)]
        means.append(float(np.mean([_frechet(x[in_x], y[in_y]) for in_x, in_y in cuts])))
    return float(np.polyfit(parts, means, 1)[1]) if len(parts) > 1 else value


def _group_sums(
    rows: Floats,
    other_rows: Floats,
    groups: Ints,
    other_groups: Ints,
    size: int,
    kernel: Kernel,
    bandwidth: float | None,
) -> Floats:
    """The kernel summed over the rows of each group with the others of other groups, and how many pairs these are."""
    squares, other_squares = np.sum(rows**2, axis=1), np.sum(other_rows**2, axis=1)
    out = np.zeros((2, size))
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        for begin in range(0, len(other_rows), BLOCK):
            block = slice(begin, begin + BLOCK)
            values = rows[part] @ other_rows[block].T
            if kernel == "cubic":
                values = (values / rows.shape[1] + 1) ** 3
            else:
                distance = squares[part, None] + other_squares[None, block] - 2 * values
                values = np.exp(-np.maximum(distance, 0.0) / (2 * float(bandwidth or 1.0) ** 2))
            counted = groups[part, None] != other_groups[None, block]
            for index, table in enumerate((np.where(counted, values, 0.0), counted)):
                out[index] += np.bincount(groups[part], table.sum(axis=1), minlength=size)
    return out


def _with_interval(
    point_estimate: Estimate, sets: _Sets, errors: list[float], units: list[int], confidence: float
) -> Estimate:
    unit_name = "groups of stimuli" if "groups" in sets.counts else "stimuli"
    if sets.fewest < FEWEST:
        return point_estimate.without_interval(f"{sets.fewest} {unit_name}; an interval needs {FEWEST}")
    variance = sum(error**2 for error in errors)
    if variance <= 0:
        return point_estimate.without_interval("leaving out stimuli does not change it")
    df = _bounds.satterthwaite(*((error**2, count - 1) for error, count in zip(errors, units, strict=True)))
    name = f"jackknife over the {unit_name} of both sets, Student's t"
    return _bounds.with_t(point_estimate, math.sqrt(variance), df, name, confidence)
