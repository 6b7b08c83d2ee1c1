"""Restricted maximum likelihood of a linear model with crossed random intercepts.

The factor with the most levels is eliminated in closed form, level by level; what is left, the other
factors' levels and the fixed columns, is one dense symmetric matrix (its order is the number of those). The
likelihood, its gradient and everything reported come from that matrix's Cholesky factor, with the outcome
as a last column whose pivot is the residual (Bates et al. 2015; Henderson 1950 for the equations).
Variances enter as ratios to the residual's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.stats.triples import Floats, Ints

MOST_LEVELS = 6000
_SMALL = 400
_MOST_STEPS = 100
_GROUPED_FLOATS = 6_000_000
_LOWEST, _HIGHEST = math.log(1e-9), math.log(1e9)


@dataclass(frozen=True, slots=True)
class System:
    """Cross-products of a model. ``rest`` covers the other random levels, the fixed columns and the outcome.

    ``slices`` marks each other random factor's levels in it; ``fixed`` and the last place follow.
    """

    rows: int
    columns: int
    sizes: Floats
    starts: Ints
    entries: Ints
    values: Floats
    dense: Floats
    rest: Floats
    slices: tuple[slice, ...]
    grouped: tuple[Floats, Floats] | None

    @property
    def random(self) -> int:
        """How many random levels are not eliminated."""
        return int(self.rest.shape[0]) - self.columns - 1


@dataclass(frozen=True, slots=True)
class Point:
    """The likelihood at one set of ratios, and what it takes to differentiate it."""

    deviance: float
    residual: float
    explained: Floats
    squares: Floats
    coefficients: Floats
    inverse: Floats

    def gradient(self, free: int) -> Floats:
        """Of the deviance with respect to the logarithms of the ratios."""
        return np.asarray(self.explained - self.squares * free / self.residual)


def build(outcome: Floats, fixed: Floats, groups: Sequence[tuple[Ints, int]]) -> System:
    """Collect the cross-products; ``groups`` are codes and number of levels, most levels first."""
    from heartfelt.stats._kernels_inference import add_rows

    rows, columns = fixed.shape
    (first, levels), others = groups[0], groups[1:]
    ends = np.cumsum([0, *(size for _, size in others)])
    random = int(ends[-1])
    dense_rows = np.column_stack([fixed, outcome])
    dense = np.zeros((levels, columns + 1))
    add_rows(first, dense_rows, dense)
    order = random + columns + 1
    rest = np.zeros((order, order))
    rest[random:, random:] = dense_rows.T @ dense_rows
    for (codes, size), begin in zip(others, ends, strict=False):
        own = np.zeros((size, columns + 1))
        add_rows(codes, dense_rows, own)
        rest[begin : begin + size, random:] = own
        rest[np.arange(begin, begin + size), np.arange(begin, begin + size)] = np.bincount(
            codes, minlength=size
        )
    for a, (codes_a, size_a) in enumerate(others):
        for b in range(a):
            codes_b, size_b = others[b]
            table = np.bincount(codes_a * size_b + codes_b, minlength=size_a * size_b).reshape(size_a, size_b)
            rest[ends[a] : ends[a + 1], ends[b] : ends[b + 1]] = table
            rest[ends[b] : ends[b + 1], ends[a] : ends[a + 1]] = table.T
    rest[random:, :random] = rest[:random, random:].T
    starts, entries, values = _sparse(first, levels, [codes for codes, _ in others], ends)
    slices = tuple(slice(int(ends[k]), int(ends[k + 1])) for k in range(len(others)))
    sizes = np.bincount(first, minlength=levels).astype(np.float64)
    plain = System(rows, columns, sizes, starts, entries, values, dense, rest, slices, None)
    return _grouped(plain)


def _sparse(first: Ints, levels: int, others: Sequence[Ints], ends: Ints) -> tuple[Ints, Ints, Floats]:
    """Per level of the first factor: how often it meets each level of the others."""
    random = int(ends[-1])
    if not others:
        return np.zeros(levels + 1, np.int64), np.zeros(0, np.int64), np.zeros(0)
    keys = np.concatenate([first * random + codes + end for codes, end in zip(others, ends, strict=False)])
    met, times = np.unique(keys, return_counts=True)
    starts = np.searchsorted(met, np.arange(levels + 1) * random).astype(np.int64)
    return starts, (met % random).astype(np.int64), times.astype(np.float64)


def _grouped(system: System) -> System:
    """Sum the levels of equal size once, where that fits in memory: only their size enters their weight."""
    from heartfelt.stats._kernels_inference import gram

    distinct, which = np.unique(system.sizes, return_inverse=True)
    order = system.rest.shape[0]
    if distinct.size * order * order > _GROUPED_FLOATS:
        return system
    sums = np.zeros((distinct.size, order, order))
    for k in range(distinct.size):
        weights = (which == k).astype(np.float64)
        gram(system.starts, system.entries, system.values, system.dense, weights, sums[k])
    return System(
        system.rows, system.columns, system.sizes, system.starts, system.entries, system.values,
        system.dense, system.rest, system.slices, (distinct, sums),
    )  # fmt: skip


def _weighted(system: System, power: int, ratio: float) -> Floats:
    """Sum over levels of ``ratio / (1 + ratio * size) ** power`` times ``b b'``, lower triangle."""
    from heartfelt.stats._kernels_inference import gram

    if system.grouped is not None:
        distinct, sums = system.grouped
        weights = ratio / (1 + ratio * distinct) ** power
        # Not a matrix product on purpose: threads cost more than these few additions.
        return np.asarray(np.einsum("k,kij->ij", weights, sums))
    out = np.zeros_like(system.rest)
    weights = ratio / (1 + ratio * system.sizes) ** power
    gram(system.starts, system.entries, system.values, system.dense, weights, out)
    return out


def evaluate(system: System, log_ratios: Floats) -> Point | None:
    """The deviance at these ratios (the eliminated factor's first), or None where it cannot be computed."""
    ratios = np.exp(log_ratios)
    random, order = system.random, system.rest.shape[0]
    scale = np.ones(order)
    for ratio, place in zip(ratios[1:], system.slices, strict=True):
        scale[place] = math.sqrt(ratio)
    matrix = (system.rest - _weighted(system, 1, ratios[0])) * scale[:, None] * scale
    matrix[np.arange(random), np.arange(random)] += 1.0
    factored = _factor(matrix)
    if factored is None:
        return None
    pivots, solution, inverse = factored
    residual, free = float(pivots[-1] ** 2), system.rows - system.columns
    shrink = 1 + ratios[0] * system.sizes
    log_det = float(np.sum(np.log(shrink))) + 2 * float(np.sum(np.log(pivots[:-1])))
    deviance = log_det + free * (1 + math.log(2 * math.pi * residual / free))
    explained, squares = _pieces(system, ratios, scale, solution, inverse)
    return Point(deviance, residual, explained, squares, solution[random:], inverse[random:, random:])


def _factor(matrix: Floats) -> tuple[Floats, Floats, Floats] | None:
    """Pivots of a symmetric matrix (lower triangle given), and solution and inverse of all but its last
    column.

    Small matrices stay out of LAPACK, whose threads cost more than the work and stall on a busy machine.
    """
    if matrix.shape[0] <= _SMALL:
        from heartfelt.stats._kernels_inference import factor_upper, inverse_of_factor

        upper = np.ascontiguousarray(matrix.T)
        if not factor_upper(upper):
            return None
        inverse = inverse_of_factor(upper, upper.shape[0] - 1)
        return np.diagonal(upper).copy(), np.einsum("ij,j->i", inverse, matrix[-1, :-1]), inverse
    from scipy.linalg.lapack import dpotrf, dpotri, dtrtrs

    lower, bad = dpotrf(matrix, lower=1, overwrite_a=0, clean=1)
    if bad:
        return None
    solution, _ = dtrtrs(lower[:-1, :-1], lower[-1, :-1], lower=1, trans=1)
    inverse, _ = dpotri(lower[:-1, :-1], lower=1)
    return np.diagonal(lower), solution, np.tril(inverse) + np.tril(inverse, -1).T


def _pieces(
    system: System, ratios: Floats, scale: Floats, solution: Floats, inverse: Floats
) -> tuple[Floats, Floats]:
    """Per factor: its levels less the trace of their block of the inverse, and its squared (spherical)
    effects.
    """
    ratio, shrink = float(ratios[0]), 1 + ratios[0] * system.sizes
    second = _weighted(system, 2, ratio)[:-1, :-1] * scale[:-1, None] * scale[:-1]
    crossed = 2 * float(np.sum(np.tril(second, -1) * inverse)) + float(
        np.diagonal(second) @ np.diagonal(inverse)
    )
    explained = [float(np.sum(1 - 1 / shrink)) - crossed]
    spherical = solution * scale[:-1]
    fitted = system.dense[:, :-1] @ solution[system.random :]
    if system.entries.size:
        level = np.repeat(np.arange(system.sizes.size), np.diff(system.starts))
        fitted += np.bincount(level, weights=system.values * spherical[system.entries], minlength=shrink.size)
    effects = math.sqrt(ratio) * (system.dense[:, -1] - fitted) / shrink
    squares = [float(effects @ effects)]
    for place in system.slices:
        explained.append(float(np.sum(1 - np.diagonal(inverse)[place])))
        squares.append(float(solution[place] @ solution[place]))
    return np.array(explained), np.array(squares)


def fit(system: System) -> tuple[Floats, Point, int] | None:
    """Maximise the restricted likelihood over the logarithms of the ratios.

    Returns them, the likelihood there and how often it was evaluated (-1: no maximum was found).
    Quasi-Newton steps in the one to three dimensions there are; a ratio that keeps falling is tried at its
    lower end at once.
    """
    count = 1 + len(system.slices)
    free = system.rows - system.columns
    here = np.full(count, math.log(0.3))
    point = evaluate(system, here)
    if point is None:
        return None
    levels = np.array([system.sizes.size, *(place.stop - place.start for place in system.slices)])
    curvature = np.diag(1 / np.maximum(point.explained**2 / levels, 1.0))
    steps = 1
    for _ in range(_MOST_STEPS):
        slope = point.gradient(free)
        live = _live(here, slope)
        if float(np.abs(slope[live]).max(initial=0.0)) < 1e-7:
            return here, point, steps
        moved = _step(system, here, point, (slope, live, curvature))
        if moved is None:
            break
        there, ahead, tried = moved
        steps += tried
        curvature = _updated(curvature, there - here, ahead.gradient(free) - slope)
        here, point = there, ahead
    slope = point.gradient(free)
    converged = float(np.abs(slope[_live(here, slope)]).max(initial=0.0)) < 1e-3
    return here, point, steps if converged else -1


def _live(here: Floats, slope: Floats) -> npt.NDArray[np.bool_]:
    """Which ratios are free to move: not those pressed against an end."""
    return np.asarray(~(((here <= _LOWEST) & (slope >= 0)) | ((here >= _HIGHEST) & (slope <= 0))))


def _step(
    system: System, here: Floats, point: Point, how: tuple[Floats, npt.NDArray[np.bool_], Floats]
) -> tuple[Floats, Point, int] | None:
    """A point of smaller deviance, and how often it was evaluated to find it; None if rounding leaves none."""
    slope, live, curvature = how
    falling = live & (here < math.log(1e-3)) & (slope > 0)
    if falling.any():
        there = np.where(falling, _LOWEST, here)
        ahead = evaluate(system, there)
        if ahead is not None and ahead.deviance <= point.deviance + 1e-9:
            return there, ahead, 1
    direction = np.where(live, -(curvature * live[None, :]) @ slope, 0.0)
    if float(direction @ slope) >= 0:
        direction = np.where(live, -slope / max(float(np.abs(slope).max()), 1.0), 0.0)
    direction = np.clip(direction, -4.0, 4.0)
    size = 1.0
    for tried in range(1, 40):
        there = np.clip(here + size * direction, _LOWEST, _HIGHEST)
        ahead = evaluate(system, there)
        gain = 1e-4 * float(slope @ (there - here))
        if ahead is not None and ahead.deviance <= point.deviance + gain + 1e-11 * abs(point.deviance):
            if np.array_equal(there, here):
                return None
            return there, ahead, tried
        size *= 0.4
    return None


def _updated(curvature: Floats, moved: Floats, changed: Floats) -> Floats:
    """The inverse Hessian after a step (Broyden, Fletcher, Goldfarb, Shanno)."""
    along = float(moved @ changed)
    if along <= 1e-12 * math.sqrt(float(moved @ moved) * float(changed @ changed)):
        return curvature
    left = np.eye(moved.size) - np.outer(moved, changed) / along
    return np.asarray(left @ curvature @ left.T + np.outer(moved, moved) / along)


def at_zero(log_ratio: float) -> bool:
    """Whether a ratio has run to its lower end: the variance is estimated as 0."""
    return log_ratio < math.log(1e-7)
