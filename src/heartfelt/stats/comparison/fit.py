"""Maximum likelihood for strengths: Newton's method on pairs added up, with the contestants' mean strength held at zero.

The information about the strengths is the Laplacian of the graph of comparisons, so one step costs one pass over the
pairs that occur
and one linear system: by Cholesky for a few hundred contestants, by conjugate gradients beyond. Order effect and tie
parameter border the system.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.stats.comparison.links import Derivatives, Link
from heartfelt.stats.comparison.pairs import Cells
from heartfelt.stats.triples import Floats

DIRECT_AT_MOST = 300
STEPS = 60
ACCURACY = 1e-5
"""Relative residual of a step's linear system; the next step makes up for it."""
CLOSE = 1e-6
"""A step so small leaves an error of the order of its square, and of ``ACCURACY`` times its size."""
FAR = 30.0
"""A strength beyond this is on its way to infinity: the odds are 10^13 to one."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Strengths with mean zero, order effect and tie parameter at the maximum, or how the search failed."""

    strengths: Floats
    order: float
    tie: float
    likelihood: float
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is fitted: the cells, the model, whether an order effect belongs to it, and the penalty.

    The penalty is a number of ties of each contestant with an imaginary one of strength zero.
    """

    cells: Cells
    link: Link
    size: int
    with_order: bool
    with_tie: bool
    penalty: float = 0.0

    @property
    def borders(self) -> int:
        """Parameters besides the strengths."""
        return int(self.with_order) + int(self.with_tie)

    def differences(self, strengths: Floats, order: float) -> Floats:
        """The difference of strengths in each cell, with the order effect."""
        return strengths[self.cells.first] - strengths[self.cells.second] + order


def border_columns(problem: Problem, parts: Derivatives) -> tuple[Floats, Floats, Floats]:
    """Slopes of the bordering parameters, their cross terms with the strengths (one row each) and their own information."""
    slopes, crosses, own = [], [], np.zeros((problem.borders, problem.borders))
    if problem.with_order:
        slopes.append(parts.slope.sum())
        crosses.append(parts.curvature)
        own[0, 0] = parts.curvature.sum()
    if problem.with_tie:
        if parts.tie_slope is None or parts.tie_cross is None or parts.tie_curvature is None:
            raise ValueError(f"{problem.link.name} has no tie parameter")
        slopes.append(parts.tie_slope.sum())
        crosses.append(parts.tie_cross)
        own[-1, -1] = parts.tie_curvature.sum()
        if problem.with_order:
            own[0, 1] = own[1, 0] = parts.tie_cross.sum()
    rows = [scatter(problem, cross) for cross in crosses]
    return np.array(slopes), np.array(rows).reshape(problem.borders, problem.size), own


def scatter(problem: Problem, per_cell: Floats) -> Floats:
    """Add values of cells to the first contestant and take them from the second."""
    cells = problem.cells
    gained = np.bincount(cells.first, per_cell, minlength=problem.size)
    return np.asarray(gained - np.bincount(cells.second, per_cell, minlength=problem.size), np.float64)


def laplacian(cells: Cells, weights: Floats, size: int) -> Floats:
    """The square matrix with the weight of each pair taken off its two places and added to both diagonals."""
    flat = np.bincount(cells.first * size + cells.second, weights, minlength=size * size)
    matrix = flat.reshape(size, size)
    matrix += matrix.T.copy()
    diagonal = matrix.sum(axis=1)
    np.negative(matrix, out=matrix)
    np.fill_diagonal(matrix, diagonal)
    return np.asarray(matrix, np.float64)


def information(problem: Problem, matrix: Floats, strengths: Floats) -> Floats:
    """The information about the strengths: with the penalty's part, or invertible by a constant along equal strengths."""
    if problem.penalty:
        matrix[np.diag_indices(problem.size)] += problem.penalty / (4.0 * np.cosh(strengths / 2.0) ** 2)
    else:
        matrix += np.trace(matrix) / problem.size**2
    return matrix


def solve(matrix: Floats, rhs: Floats) -> Floats:
    """Solve a positive definite system for right-hand sides in columns, by conjugate gradients if it is large."""
    if matrix.shape[0] <= DIRECT_AT_MOST:
        from scipy.linalg import cho_factor, cho_solve

        return np.asarray(cho_solve(cho_factor(matrix, check_finite=False), rhs, check_finite=False))
    return np.column_stack([_conjugate_gradients(matrix, column) for column in rhs.T])


def _conjugate_gradients(matrix: Floats, rhs: Floats) -> Floats:
    """Jacobi-preconditioned conjugate gradients."""
    x = np.zeros_like(rhs)
    residual = rhs.copy()
    scale = 1.0 / np.diag(matrix)
    z = scale * residual
    direction = z.copy()
    rz = float(residual @ z)
    target = ACCURACY**2 * float(rhs @ rhs)
    for _ in range(10 * rhs.size):
        if float(residual @ residual) <= target:
            break
        product = matrix @ direction
        step = rz / float(direction @ product)
        x += step * direction
        residual -= step * product
        z = scale * residual
        rz, before = float(residual @ z), rz
        direction = z + (rz / before) * direction
    return x


@dataclass(slots=True, eq=False)
class _Point:
    """Parameters with the slopes and the information there."""

    strengths: Floats
    borders: Floats
    slope: Floats
    border_slopes: Floats
    matrix: Floats
    crosses: Floats
    own: Floats


def _point(problem: Problem, strengths: Floats, borders: Floats) -> _Point:
    order = float(borders[0]) if problem.with_order else 0.0
    tie = float(borders[-1]) if problem.with_tie else 0.0
    if problem.link.logistic and not problem.with_order:
        from heartfelt.stats._kernels_comparison import logistic_pass

        sums = problem.cells.sums
        won, total = sums[:, 0] + sums[:, 1] / 2, sums.sum(axis=1)
        slope, matrix = logistic_pass(problem.cells.first, problem.cells.second, won, total, strengths, 0.0)
        border = np.zeros(0), np.zeros((0, problem.size)), np.zeros((0, 0))
    else:
        parts = problem.link.evaluate(problem.differences(strengths, order), problem.cells.sums, tie)
        slope = scatter(problem, parts.slope)
        matrix = laplacian(problem.cells, parts.curvature, problem.size)
        border = border_columns(problem, parts)
    if problem.penalty:
        slope = slope - problem.penalty * np.tanh(strengths / 2.0) / 2.0
    return _Point(
        strengths, borders, slope, border[0], information(problem, matrix, strengths), border[1], border[2]
    )


def fit(problem: Problem) -> Fit:
    """Newton's method. The likelihoods are concave, so a step is short enough where the slope along it has not turned round;
    otherwise it is halved.
    """
    borders = np.zeros(problem.borders)
    if problem.with_tie:
        borders[-1] = problem.link.start
    here = _point(problem, _start(problem), borders)
    for _ in range(STEPS):
        step, border_step = _step(problem, here)
        rise = float(here.slope @ step) + float(here.border_slopes @ border_step)
        length = 1.0
        while True:
            borders = here.borders + length * border_step
            if not problem.with_tie or borders[-1] > problem.link.least:
                there = _point(problem, here.strengths + length * step, borders)
                if float(there.slope @ step) + float(there.border_slopes @ border_step) >= -0.9 * rise:
                    break
            length /= 2
            if length < 1e-9:
                return _finished(problem, here, False)
        change = length * max(
            float(np.abs(step).max(initial=0.0)), float(np.abs(border_step).max(initial=0.0))
        )
        here = there
        if change < CLOSE:
            return _finished(problem, here, True)
        if max(float(np.abs(v).max(initial=0.0)) for v in (here.strengths, here.borders)) > FAR:
            break
    return _finished(problem, here, False)


def _start(problem: Problem) -> Floats:
    """Log odds of each contestant's share of wins, a little short of where the maximum will be."""
    if not problem.link.logistic:
        return np.zeros(problem.size)
    sums = problem.cells.sums
    lead = scatter(problem, sums[:, 0] - sums[:, 2])
    total = np.bincount(problem.cells.first, sums.sum(axis=1), minlength=problem.size)
    total += np.bincount(problem.cells.second, sums.sum(axis=1), minlength=problem.size)
    start = 2.0 * np.arctanh(lead / (total + 1.0))
    return np.asarray(start - start.mean())


def _finished(problem: Problem, point: _Point, converged: bool) -> Fit:
    order = float(point.borders[0]) if problem.with_order else 0.0
    tie = float(point.borders[-1]) if problem.with_tie else 0.0
    strengths = point.strengths - point.strengths.mean() if converged else point.strengths
    parts = problem.link.evaluate(problem.differences(strengths, order), problem.cells.sums, tie)
    return Fit(strengths, order, tie, float(parts.likelihood.sum()), converged)


def _step(problem: Problem, point: _Point) -> tuple[Floats, Floats]:
    if not problem.borders:
        return solve(point.matrix, point.slope[:, None])[:, 0], np.zeros(0)
    solved = solve(point.matrix, np.column_stack([point.slope, point.crosses.T]))
    border = np.linalg.solve(
        point.own - point.crosses @ solved[:, 1:], point.border_slopes - point.crosses @ solved[:, 0]
    )
    return np.asarray(solved[:, 0] - solved[:, 1:] @ border), np.asarray(border, np.float64)
