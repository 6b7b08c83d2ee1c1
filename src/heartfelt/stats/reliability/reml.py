"""Restricted maximum likelihood of ratings with crossed random effects: the one engine behind every such model.

Model: y = X b + Z_1 u_1 + ... + Z_k u_k + e. Each grouping (item, rater, session) adds a normal effect per
level with a variance of its own; fixed effects are cell means or any columns. Variances enter as ratios to
the residual variance. The first grouping, the one with the most levels, is eliminated (its block is
diagonal); the others and the fixed effects remain in

    S = J + R Z'WZ R,   W = I - r B (I + r B'B)^-1 B',

B marking the levels of the first grouping and r its ratio, J the identity on the random levels in Z, R =
diag(root of their ratios, 1). A Cholesky factor of S gives the restricted likelihood, its inverse the score,
and products with it the average information. Cost per step: linear in the ratings for fixed group sizes,
cubic in the order of S. No items x raters matrix is formed.

Where S is too large to factor (``ProbedSystem``), systems are solved by preconditioned conjugate gradients and traces
are estimated from random signs. A score based on m probes adds about 1/m of the score's own sampling variance, so 32
probes widen the standard errors by under 2%. There is no likelihood then, which would need a determinant.

Source: Patterson & Thompson (1971); Henderson (1950) for the equations; Gilmour, Thompson & Cullis (1995) for
the average information; Hutchinson (1990) and Stein, Chen & Anitescu (2013) for probes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.compiled.blas_threads import one_blas_thread
from heartfelt.streams import stream

STACK_CELLS = 12_000_000
TINY = 1e-9
HIGHEST_RATIO = 1e8
MOST_STEPS = 60
PROBES = 32
# Below this a compiled loop beats LAPACK, whose threads cost more to wake than the work they share.
COMPILED_LIMIT = 250
# Up to this, rows at a time are quick enough to do without the compiled loop, too; BLAS uses no threads yet.
ROW_LIMIT = 96


def inverse_by_rows(chol: Floats) -> Floats:
    """(L L')^-1 from the lower triangle of L."""
    rows = np.zeros_like(chol)
    for i in range(len(chol)):
        rows[i, :i] = -(chol[i, :i] @ rows[:i, :i])
        rows[i, i] = 1.0
        rows[i, : i + 1] /= chol[i, i]
    inverse: Floats = np.einsum("ki,kj->ij", rows, rows)
    return inverse


@dataclass(frozen=True, slots=True, kw_only=True)
class RemlStep:
    """The restricted likelihood at some ratios, with the residual variance at its best or as given.

    ``deviance`` is -2 log likelihood without its constant; ``score`` its gradient and ``information`` half its expected
    curvature, both in the variances (the groupings', then the residual's). ``explained`` is the degrees of freedom each
    grouping takes up, ``squares`` what each and the residual contribute to the weighted sum of squares.
    """

    ratios: Floats
    residual: float
    deviance: float
    explained: Floats
    squares: Floats
    score: Floats
    information: Floats
    fixed: Floats
    fixed_covariance: Floats

    @property
    def variances(self) -> Floats:
        return np.append(self.ratios, 1.0) * self.residual


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """What one factorisation of S gives; ``apply`` solves for further sides and for the fixed effects' block."""

    solution: Floats
    explained: float
    log_determinant: float
    traces: Floats
    apply: Callable[[Floats], tuple[Floats, Floats]]


class CrossedSystem:
    """Ratings sorted by the first grouping, with what does not change from step to step; S is formed and factored.

    ``groups`` are codes and number of levels, most levels first. Fixed effects are the means of ``cells``
    (one mean unless given), or the dense ``columns``.
    """

    least_ratio = 0.0

    def __init__(
        self,
        value: Floats,
        groups: Sequence[tuple[Ints, int]],
        cells: Ints | None = None,
        columns: Floats | None = None,
    ) -> None:
        from heartfelt.stats.compiled import _kernels_reliability as kernels

        self._k = kernels
        (first, levels), later_groups = groups[0], groups[1:]
        self.starts, order = kernels.group(first, levels)
        ends = np.cumsum([0, *(size for _, size in later_groups)]).tolist()
        self.slices = [slice(a, b) for a, b in pairwise(ends)]
        self.random = ends[-1]
        codes = [code + begin for (code, _), begin in zip(later_groups, ends, strict=False)]
        marked = 0
        if columns is None:
            cells = np.zeros(value.size, np.int64) if cells is None else cells
            codes, marked = [*codes, cells + self.random], int(cells.max()) + 1
        self.codes: Ints = np.empty((value.size, len(codes)), np.int64)
        for index, code in enumerate(codes):
            self.codes[:, index] = code[order]
        self.columns = np.zeros((value.size, 0)) if columns is None else columns[order]
        self.marked = self.random + marked
        self.order = self.marked + self.columns.shape[1]
        self.centre = float(value.mean())
        self.y = value[order] - self.centre
        self.sizes = np.diff(self.starts).astype(np.float64)
        self.df = self.y.size - (self.order - self.random)
        self.bounds, self.levels, self.weights = kernels.level_lists(self.starts, self.codes, self.columns, self.marked)
        self._zy = self._gather(self.y)
        self._first_sums = kernels.group_sums(self.starts, self.y)
        self._yy = float(self.y @ self.y)
        self.no_residual = 1e-13 * self._yy / self.y.size
        self._prepare()

    def _prepare(self) -> None:
        """Z'Z, and for each distinct size of a first level the sum of m m' over its levels, where that fits in memory."""
        self._plain = np.zeros((self.order, self.order))
        self._k.add_ones(self.codes, self._plain)
        for index in range(self.columns.shape[1]):
            self._plain[self.marked + index] = self._gather(self.columns[:, index])
        self._distinct, self._size_of = np.unique(self.sizes, return_inverse=True)
        self._stack: Floats | None = None
        if self._distinct.size * self.order**2 <= STACK_CELLS:
            stack = np.zeros((self._distinct.size, self.order, self.order))
            for s in range(self._distinct.size):
                self._add_pairs((self._size_of == s).astype(np.float64), stack[s])
                stack[s] += np.tril(stack[s], -1).T
            self._stack = stack.reshape(self._distinct.size, -1)

    def _add_pairs(self, scale: Floats, out: Floats) -> None:
        self._k.pairs_add(self.bounds, self.levels, self.weights, scale, out)

    def _gather(self, f: Floats) -> Floats:
        out: Floats = self._k.gather(self.codes, f, self.order)
        if self.columns.shape[1]:
            out[self.marked :] = self.columns.T @ f
        return out

    def _fitted(self, coefficients: Floats) -> Floats:
        """Z x per rating."""
        out: Floats = self._k.fitted(self.codes, coefficients)
        return out + self.columns @ coefficients[self.marked :] if self.columns.shape[1] else out

    def step(self, ratios: Sequence[float] | Floats, residual: float | None = None) -> RemlStep:
        at = np.array(ratios, np.float64)
        at[1:] = np.maximum(at[1:], self.least_ratio)
        shares = 1.0 / (1.0 + at[0] * self.sizes)
        factor = at[0] * shares
        root = np.ones(self.order)
        for ratio, block in zip(at[1:], self.slices, strict=True):
            root[block] = np.sqrt(ratio)
        shrunk = np.repeat(factor * self._first_sums, np.diff(self.bounds)) * self.weights
        right = root * (self._zy - np.bincount(self.levels, shrunk, minlength=self.order))
        solved = self._solved(at, root, shares, right)
        weighted_yy = self._yy - float(factor @ self._first_sums**2)
        # Where everything is explained rounding may make the rest negative.
        quadratic = max(weighted_yy - solved.explained, 1e-15 * self._yy)
        variance = quadratic / self.df if residual is None else residual
        unexplained = self.y - self._fitted(root * solved.solution)
        first = self._k.group_sums(self.starts, unexplained) * shares
        py = self._k.shrink(self.starts, unexplained, factor)
        sums = self._gather(py)
        effect_traces = at * solved.traces
        traces = np.append(solved.traces, self.df - float(effect_traces.sum()))
        squares = np.array([first @ first, *(sums[block] @ sums[block] for block in self.slices), py @ py])
        # The working variates of the average information: each V_k P y, and W times it.
        variates = [self._k.spread(self.starts, first)]
        for k, block in enumerate(self.slices):
            variates.append(sums[block][self.codes[:, k] - block.start])
        variates.append(py)
        weighted = [self._k.shrink(self.starts, f, factor) for f in variates]
        sides = np.stack([root * self._gather(w) for w in weighted], axis=1)
        applied, fixed = solved.apply(sides)
        inner = np.array([[f @ w for w in weighted] for f in variates]) - sides.T @ applied
        return RemlStep(
            ratios=at,
            residual=variance,
            deviance=solved.log_determinant + self.df * float(np.log(variance)) + quadratic / variance,
            explained=effect_traces,
            squares=np.append(at, 1.0) * squares,
            score=(traces - squares / variance) / variance,
            information=(inner + inner.T) / (4.0 * variance**3),
            fixed=solved.solution[self.random :] + (self.centre if self.marked == self.order else 0.0),
            fixed_covariance=fixed * variance,
        )

    def _matrix(self, ratio: float, shares: Floats) -> Floats:
        """Z'WZ, on and below its diagonal."""
        if self._stack is None:
            matrix = self._plain.copy()
            self._add_pairs(-ratio * shares, matrix)
            return matrix
        weights = -ratio / (1.0 + ratio * self._distinct)
        matrix = (weights @ self._stack).reshape(self.order, self.order)
        matrix += self._plain
        return matrix

    def _solved(self, ratios: Floats, root: Floats, shares: Floats, right: Floats) -> Solved:
        from scipy.linalg import blas, lapack

        matrix = self._matrix(ratios[0], shares)
        matrix *= root[:, None]
        matrix *= root
        matrix.flat[: self.random * self.order : self.order + 1] += 1.0
        # LAPACK wants columns first: the transposed view is its upper triangle, so nothing is copied.
        chol, info = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
        if info != 0:
            raise np.linalg.LinAlgError("the mixed-model system is not positive definite")
        log_det = float(2.0 * np.log(np.diag(chol)).sum() - np.log(shares).sum())
        half, _ = lapack.dtrtrs(chol, right, lower=0, trans=1)
        if self.order <= ROW_LIMIT:
            inverse = inverse_by_rows(chol.T)
        elif self.order <= COMPILED_LIMIT:
            inverse = self._k.inverse_of_factor(chol.T)
        else:
            inverse = lapack.dpotri(chol, lower=0, overwrite_c=1)[0].T
        traces = [float((self.sizes * shares).sum()) - self._pair_trace(inverse, root, shares)]
        traces += [self._trace(k, ratios, root, shares, inverse) for k in range(len(self.slices))]
        full = np.tril(inverse[self.random :, self.random :])

        def apply(sides: Floats) -> tuple[Floats, Floats]:
            return blas.dsymm(1.0, inverse.T, sides, lower=0), full + np.tril(full, -1).T

        solution = blas.dsymv(1.0, inverse.T, right, lower=0)
        return Solved(
            solution=solution,
            explained=float(half @ half),
            log_determinant=log_det,
            traces=np.array(traces),
            apply=apply,
        )

    def _pair_trace(self, inverse: Floats, root: Floats, shares: Floats) -> float:
        if self._stack is None:
            return float(self._k.pairs_sum(self.bounds, self.levels, self.weights, shares**2, inverse, root))
        scaled = np.tril(inverse) * root[:, None] * root
        scaled += np.tril(scaled, -1).T
        of_size = np.empty(self._distinct.size)
        of_size[self._size_of] = shares
        return float((self._stack @ scaled.ravel()) @ of_size**2)

    def _trace(self, k: int, ratios: Floats, root: Floats, shares: Floats, inverse: Floats) -> float:
        """Trace of Z_k'PZ_k for another grouping."""
        span, ratio = self.slices[k], float(ratios[k + 1])
        if ratio > TINY:
            return float(span.stop - span.start - np.diag(inverse)[span].sum()) / ratio
        matrix = self._matrix(ratios[0], shares)
        diagonal_sum = float(np.diag(matrix)[span].sum())
        matrix = np.tril(matrix) + np.tril(matrix, -1).T
        live = np.flatnonzero(root)
        cross = matrix[live, span] * root[live, None]
        block = np.tril(inverse[np.ix_(live, live)])
        return diagonal_sum - float((((block + np.tril(block, -1).T) @ cross) * cross).sum())


class ProbedSystem(CrossedSystem):
    """The system as a product only; the same probes serve every step, so the fit is deterministic. No dense columns."""

    least_ratio = 1e-8

    def __init__(
        self, value: Floats, groups: Sequence[tuple[Ints, int]], cells: Ints | None = None, *, seed: int = 0
    ) -> None:
        self._seed = seed
        super().__init__(value, groups, cells)

    def _prepare(self) -> None:
        signs = stream(self._seed, "reliability", "trace probes").integers(0, 2, (self.order, PROBES))
        self._probes = (2.0 * signs - 1.0).astype(np.float64)
        self._warm: Floats | None = None

    def _solve(self, ratio: float, root: Floats, shares: Floats, right: Floats, start: Floats | None = None) -> Floats:
        """Solve S x = right for each column by conjugate gradients."""
        factor = ratio * shares
        diagonal = self._diagonal(factor, root)

        def product(x: Floats) -> Floats:
            out: Floats = self._k.system_product(self.starts, self.codes, factor, root, self.random, x)
            return out

        x = np.zeros_like(right) if start is None else start.copy()
        residual = right - product(x)
        z = residual / diagonal[:, None]
        direction = z.copy()
        rho = (residual * z).sum(0)
        # The square of a relative residual of 1e-8.
        limit = 1e-16 * np.maximum((right * right).sum(0), 1e-300)
        for _ in range(500):
            if ((residual * residual).sum(0) <= limit).all():
                break
            image = product(direction)
            curvature = (direction * image).sum(0)
            alpha = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
            x += alpha * direction
            residual -= alpha * image
            z = residual / diagonal[:, None]
            new = (residual * z).sum(0)
            beta = np.divide(new, rho, out=np.zeros_like(rho), where=rho > 0)
            direction = z + beta * direction
            rho = new
        return x

    def _diagonal(self, factor: Floats, root: Floats) -> Floats:
        spread = np.repeat(factor, np.diff(self.bounds))
        counts = self._gather(np.ones_like(self.y))
        diagonal = counts - np.bincount(self.levels, spread * self.weights**2, minlength=self.order)
        diagonal = diagonal * root**2
        diagonal[: self.random] += 1.0
        return np.maximum(diagonal, 1e-12)

    def _solved(self, ratios: Floats, root: Floats, shares: Floats, right: Floats) -> Solved:
        sides = np.column_stack([right, self._probes])
        self._warm = self._solve(ratios[0], root, shares, sides, self._warm)
        solution, probed = self._warm[:, 0], np.ascontiguousarray(self._warm[:, 1:])
        forms = self._k.level_forms(self.bounds, self.levels, self.weights, shares**2, root, self._probes, probed)
        traces = [float((self.sizes * shares).sum()) - float(forms.mean())]
        for ratio, span in zip(ratios[1:], self.slices, strict=True):
            inside = float((self._probes[span] * probed[span]).sum(0).mean())
            traces.append((span.stop - span.start - inside) / float(ratio))

        def apply(sides: Floats) -> tuple[Floats, Floats]:
            fixed = np.eye(self.order, self.order - self.random, -self.random)
            both = self._solve(ratios[0], root, shares, np.column_stack([sides, fixed]))
            return both[:, : sides.shape[1]], both[self.random :, sides.shape[1] :]

        return Solved(
            solution=solution,
            explained=float(right @ solution),
            log_determinant=float("inf"),
            traces=np.array(traces),
            apply=apply,
        )


@dataclass(frozen=True, slots=True)
class RemlFit:
    """Where the likelihood is highest; ``free`` marks the ratios that were not fixed at zero."""

    step: RemlStep
    iterations: int
    converged: bool
    free: tuple[bool, ...]

    @property
    def exact(self) -> bool:
        """Whether a ratio ran to its upper end: nothing is left for the residual."""
        return float(self.step.ratios.max()) >= 0.1 * HIGHEST_RATIO

    @property
    def covariance(self) -> Floats:
        """Of the estimated variances, zero for those at the edge."""
        inside = np.append(self.step.ratios > 0, True)
        out = np.zeros(self.step.information.shape)
        out[np.ix_(inside, inside)] = np.linalg.pinv(self.step.information[np.ix_(inside, inside)])
        return out


@one_blas_thread()
def maximise(
    system: CrossedSystem,
    start: Sequence[float] | Floats,
    free: tuple[bool, ...] | None = None,
    *,
    precision: float | None = None,
) -> RemlFit:
    """Find the ratios of highest restricted likelihood, holding those not free at zero.

    Newton steps with the average information. A ratio may end at zero; the others are then optimised along
    that edge. The likelihood is never allowed to fall where it is known; with probes, steps are limited
    instead. The search ends where the deviance can fall by no more than ``precision``: small systems are
    solved to rounding, large ones to three thousandths of a standard error unless more is asked for.
    """
    probed = isinstance(system, ProbedSystem)
    if precision is None:
        precision = 1e-11 if system.order <= COMPILED_LIMIT and not probed else 1e-5
    free = tuple(True for _ in start) if free is None else free
    now = system.step(np.where(free, np.clip(start, 0.01, 100.0), 0.0))
    for iteration in range(1, MOST_STEPS + 1):
        if now.residual <= system.no_residual:
            return RemlFit(now, iteration, False, free)
        move, gain = _newton_step(now, free)
        if gain < precision:
            return RemlFit(now, iteration, True, free)
        if now.ratios.max() >= HIGHEST_RATIO:
            return RemlFit(now, iteration, False, free)
        if probed:
            now = system.step(_inside(now.ratios, move, 2.0))
            continue
        ahead = _search(system, now, move, gain)
        if ahead is None:
            return RemlFit(now, iteration, gain < 1e-6, free)
        now = ahead
    return RemlFit(now, MOST_STEPS, gain < 1e-9 and not probed, free)


def _newton_step(now: RemlStep, free: tuple[bool, ...]) -> tuple[Floats, float]:
    """The move of the free ratios, and how much the deviance can fall by it; nothing where all of them are at their edge."""
    gradient, curvature = _in_ratios(now)
    live = np.array(free) & ~((now.ratios <= TINY) & (gradient >= 0))
    move = np.zeros(gradient.size)
    if not live.any():
        return move, -math.inf
    inside = curvature[np.ix_(live, live)]
    ridge = 1e-10 * float(np.trace(inside)) + 1e-300
    move[live] = -np.linalg.solve(inside + ridge * np.eye(len(inside)), gradient[live])
    gain = -float(gradient @ move)
    scale = np.where(live, np.maximum(now.ratios, 0.01), 0.0)
    if gain <= 0 and float(np.abs(gradient * scale).max()) > 1e-6:
        # Without curvature, as where the outcome is fitted exactly, only the direction is known.
        move = -10.0 * np.sign(gradient) * scale
        gain = -float(gradient @ move)
    return move, gain


def _search(system: CrossedSystem, now: RemlStep, move: Floats, gain: float) -> RemlStep | None:
    """The first of ever shorter steps that raises the likelihood; a gain too small to be seen in it is trusted."""
    for halving in range(30):
        try:
            ahead = system.step(_inside(now.ratios, move * 0.5**halving, 10.0))
        except np.linalg.LinAlgError:
            continue
        if ahead.deviance < now.deviance or gain < 1e-9:
            return ahead
    return None


def _inside(ratios: Floats, move: Floats, growth: float) -> Floats:
    """The point after a move, at most ``growth`` times larger, at least zero (small ratios drop to zero)."""
    trial = np.minimum(ratios + move, np.maximum(ratios, 0.01) * growth)
    trial = np.where(trial < 0, np.where(ratios > 1e-3, ratios * 0.1, 0.0), trial)
    return np.where(trial < TINY, 0.0, np.minimum(trial, HIGHEST_RATIO))


def _in_ratios(step: RemlStep) -> tuple[Floats, Floats]:
    """Gradient and curvature of the deviance in the ratios, the residual variance at its best."""
    count = step.ratios.size
    jacobian: npt.NDArray[np.float64] = np.eye(count + 1) * step.residual
    jacobian[:, count] = np.append(step.ratios, 1.0)
    gradient = (step.score @ jacobian)[:count]
    information = jacobian.T @ (2.0 * step.information) @ jacobian
    cross = information[:count, count]
    residual_information = max(float(information[count, count]), 1e-30 * float(np.abs(information).max()) + 1e-300)
    curvature = information[:count, :count] - np.outer(cross, cross) / residual_information
    return gradient, curvature
