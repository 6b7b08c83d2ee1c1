"""Maximum likelihood for strengths: Newton's method with the contestants' mean strength held at zero.

The information about strengths from pairs is the Laplacian of the graph of comparisons, so one step costs one pass over the pairs
that occur and one linear system: by Cholesky for a few hundred contestants, by conjugate gradients beyond. Order effect and
tie parameter border the system.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.comparison.pairs import Cells
from heartfelt.stats.comparison.strengths.links import DAVIDSON, Derivatives, Link

DIRECT_AT_MOST = 300
STEPS = 60
ACCURACY = 1e-5
"""Relative residual of a step's linear system; the next step makes up for it."""
FLAT = 1e-10
"""A share of the information about an order effect or a tie parameter that is rounding once the strengths have theirs."""
CLOSE = 1e-6
"""A step so small leaves an error of the order of its square, and of ``ACCURACY`` times its size."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StrengthFit:
    """Strengths with mean zero, order effect and tie parameter at the maximum, or how the search failed."""

    strengths: Floats
    order: float
    tie: float
    likelihood: float
    converged: bool


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StrengthProblem:
    """What is fitted: the cells, the model, whether an order effect belongs to it, and the penalty.

    The penalty is a number of ties of each contestant with an imaginary one of strength zero.
    """

    cells: Cells
    link: Link
    size: int
    with_order: bool = False
    with_tie: bool = False
    penalty: float = 0.0

    @property
    def compiled(self) -> bool:
        """Whether the model has a compiled pass over the cells."""
        in_kernel = self.link.logistic or (self.link is DAVIDSON and self.with_tie)
        return in_kernel and not self.with_order

    @property
    def borders(self) -> int:
        """Parameters besides the strengths."""
        return int(self.with_order) + int(self.with_tie)

    def differences(self, strengths: Floats, order: float) -> Floats:
        return strengths[self.cells.first] - strengths[self.cells.second] + order


def border_columns(problem: StrengthProblem, parts: Derivatives) -> tuple[Floats, Floats, Floats]:
    """Slopes of the bordering parameters, their cross terms with the strengths (one row each) and their own information."""
    slopes, crosses, border = [], [], np.zeros((problem.borders, problem.borders))
    if problem.with_order:
        slopes.append(parts.slope.sum())
        crosses.append(parts.curvature)
        border[0, 0] = parts.curvature.sum()
    if problem.with_tie:
        if parts.tie_slope is None or parts.tie_cross is None or parts.tie_curvature is None:
            raise ValueError(f"{problem.link.name} has no tie parameter")
        slopes.append(parts.tie_slope.sum())
        crosses.append(parts.tie_cross)
        border[-1, -1] = parts.tie_curvature.sum()
        if problem.with_order:
            border[0, 1] = border[1, 0] = parts.tie_cross.sum()
    rows = [scatter(problem, cross) for cross in crosses]
    return np.array(slopes), np.array(rows).reshape(problem.borders, problem.size), border


def scatter(problem: StrengthProblem, per_cell: Floats) -> Floats:
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


def regularised(penalty: float, strengths: Floats, slope: Floats, matrix: Floats) -> tuple[Floats, Floats]:
    """Slope and information with the penalty's part; without one, information made invertible along equal strengths."""
    size = strengths.size
    if not penalty:
        matrix += np.trace(matrix) / size**2
        return slope, matrix
    from scipy.special import expit

    matrix = matrix + np.diag(penalty * expit(strengths) * expit(-strengths))
    return slope - penalty * np.tanh(strengths / 2.0) / 2.0, matrix


def solve(matrix: Floats, rhs: Floats) -> Floats:
    """Solve a positive definite system for right-hand sides in columns, by conjugate gradients if it is large."""
    if matrix.shape[0] <= DIRECT_AT_MOST:
        from scipy.linalg import cho_factor, cho_solve

        return np.asarray(cho_solve(cho_factor(matrix, check_finite=False), rhs, check_finite=False))
    return np.column_stack([_conjugate_gradients(matrix, column) for column in rhs.T])


def _conjugate_gradients(matrix: Floats, rhs: Floats) -> Floats:
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


class Position(Protocol):
    """A place in the search: the parameters and the slope of the likelihood there."""

    @property
    def at(self) -> Floats:
        """The parameters."""

    @property
    def slope(self) -> Floats:
        """The slope by each of them."""


P = TypeVar("P", bound=Position)


def ascend(
    start: Floats,
    look: Callable[[Floats], P],
    step: Callable[[P], Floats],
    far: float,
    allowed: Callable[[Floats], bool] = lambda _: True,
) -> tuple[P, bool]:
    """Newton's method on a concave likelihood: the last position, and whether it is the maximum.

    A step is short enough where the slope along it has not turned round; otherwise it is halved. Information that cannot be
    inverted means that the likelihood is flat in some direction: it rises for ever, and there is no maximum.
    """
    point = look(start)
    for _ in range(STEPS):
        try:
            direction = step(point)
        except np.linalg.LinAlgError:
            return point, False
        rise = float(point.slope @ direction)
        length = 1.0
        while length >= 1e-9:
            target = point.at + length * direction
            if allowed(target):
                next_point = look(target)
                if float(next_point.slope @ direction) >= -0.9 * rise:
                    break
            length /= 2
        else:
            return point, False
        point = next_point
        if length * float(np.abs(direction).max(initial=0.0)) < CLOSE:
            return point, True
        if float(np.abs(point.at).max(initial=0.0)) > far:
            break
    return point, False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Point:
    """Strengths and bordering parameters with the slopes and the information there."""

    at: Floats
    slope: Floats
    matrix: Floats
    crosses: Floats
    border: Floats


def fit(problem: StrengthProblem) -> StrengthFit:
    """The strengths, order effect and tie parameter of highest likelihood."""
    borders = np.zeros(problem.borders)
    if problem.with_tie:
        borders[-1] = _tie_start(problem) if problem.compiled else problem.link.start
    start = np.concatenate([_start(problem), borders])
    least = problem.link.least if problem.with_tie else -np.inf
    point, converged = ascend(
        start,
        lambda at: _point(problem, at),
        lambda point: _step(problem, point),
        problem.link.far,
        lambda at: float(at[-1]) > least,
    )
    strengths, order, tie = _parameters(problem, point.at)
    if converged:
        strengths = strengths - strengths.mean()
    return StrengthFit(
        strengths=strengths,
        order=order,
        tie=tie,
        likelihood=_likelihood(problem, strengths, order, tie),
        converged=converged,
    )


def _likelihood(problem: StrengthProblem, strengths: Floats, order: float, tie: float) -> float:
    cells = problem.cells
    if problem.compiled:
        from heartfelt.stats.comparison._kernels_comparison import pair_likelihood

        return float(pair_likelihood(cells.first, cells.second, cells.sums, strengths, problem.with_tie, tie))
    parts = problem.link.evaluate(problem.differences(strengths, order), cells.sums, tie)
    return float(parts.likelihood.sum())


def _parameters(problem: StrengthProblem, at: Floats) -> tuple[Floats, float, float]:
    order = float(at[problem.size]) if problem.with_order else 0.0
    return at[: problem.size], order, float(at[-1]) if problem.with_tie else 0.0


def _point(problem: StrengthProblem, at: Floats) -> _Point:
    strengths, order, tie = _parameters(problem, at)
    cells, size = problem.cells, problem.size
    if problem.compiled:
        from heartfelt.stats.comparison._kernels_comparison import pair_pass

        slope, matrix = pair_pass(cells.first, cells.second, cells.sums, problem.with_tie, at)
        slope, slopes = slope[:size], slope[size:]
        matrix, crosses, border = matrix[:size, :size], matrix[size:, :size], matrix[size:, size:]
    else:
        parts = problem.link.evaluate(problem.differences(strengths, order), cells.sums, tie)
        slope, matrix = scatter(problem, parts.slope), laplacian(cells, parts.curvature, size)
        slopes, crosses, border = border_columns(problem, parts)
    slope, matrix = regularised(problem.penalty, strengths, slope, matrix)
    return _Point(at=at, slope=np.concatenate([slope, slopes]), matrix=matrix, crosses=crosses, border=border)


def _start(problem: StrengthProblem) -> Floats:
    """Log odds of each contestant's share of wins, a little short of where the maximum will be."""
    if not problem.compiled:
        return np.zeros(problem.size)
    from heartfelt.stats.comparison._kernels_comparison import pair_totals

    cells = problem.cells
    lead, total = pair_totals(cells.first, cells.second, cells.sums, problem.size)
    start = 2.0 * np.arctanh(lead / (total + 1.0))
    return np.asarray(start - start.mean())


def _tie_start(problem: StrengthProblem) -> float:
    """Davidson's log nu if all contestants were equal."""
    won, tied, lost = problem.cells.sums.sum(axis=0).tolist()
    return math.log(2.0 * tied / max(won + lost, 1.0))


def _step(problem: StrengthProblem, point: _Point) -> Floats:
    slope, slopes = point.slope[: problem.size], point.slope[problem.size :]
    solved = solve(point.matrix, np.column_stack([slope, point.crosses.T]))
    if not problem.borders:
        return solved[:, 0]
    reduced = point.border - point.crosses @ solved[:, 1:]
    if np.linalg.eigvalsh(reduced)[0] <= FLAT * np.diag(point.border).max():
        # As where one side never lost but for ties: strengths and the tie parameter grow together.
        raise np.linalg.LinAlgError("the strengths explain what the order effect or the tie parameter explains")
    border = np.linalg.solve(reduced, slopes - point.crosses @ solved[:, 0])
    return np.concatenate([solved[:, 0] - solved[:, 1:] @ border, border])
