"""The mixed-model system of crossed ratings, solved directly.

Model: rating = fixed + item + rater + residual, the two effects random. With the ratios of the variances to
the residual variance, ``big`` for the side with more levels and ``small`` for the other, the larger side is
eliminated (its block is diagonal) and the smaller side and the fixed effects remain in one dense system

    S = J + R Z'WZ R,   W = I - big * B (I + big * B'B)^-1 B',

J the identity on the small side, R = diag(sqrt(small), 1). One Cholesky factor of S yields the restricted
likelihood, its inverse the score, and products with it the average information. Cost per step: linear in the
ratings for fixed group sizes, cubic in the smaller side. No items x raters matrix is formed.

Source: Henderson's mixed-model equations; Gilmour, Thompson & Cullis (1995) for the average information.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.stats.triples import Floats, Ints

STACK_CELLS = 12_000_000
TINY = 1e-9
# Below this a compiled loop beats LAPACK, whose threads cost more to wake than the work they share.
COMPILED_LIMIT = 250


@dataclass(frozen=True, slots=True)
class Step:
    """The restricted likelihood at one pair of ratios, with the residual variance at its best or as given.

    ``deviance`` is -2 log likelihood without its constant; ``score`` its gradient and ``information`` half
    its expected curvature, both in the variances (big, small, residual).
    """

    ratios: tuple[float, float]
    residual: float
    deviance: float
    score: Floats
    information: npt.NDArray[np.float64]
    fixed: Floats
    fixed_covariance: npt.NDArray[np.float64]


class RatingSystem:
    """Ratings sorted by the larger side, with what does not change from step to step."""

    def __init__(self, big: Ints, small: Ints, value: Floats, fixed: Ints | None = None) -> None:
        from heartfelt.stats import _kernels_reliability as kernels

        self._k = kernels
        n_big, self.q = int(big.max()) + 1, int(small.max()) + 1
        self.starts, order = kernels.group(big, n_big)
        self.small = small[order]
        self.fixed = np.zeros(big.size, np.int64) if fixed is None else fixed[order]
        self.p = int(self.fixed.max()) + 1
        self.m = self.q + self.p
        self.centre = float(value.mean())
        self.y = value[order] - self.centre
        self.sizes = np.diff(self.starts).astype(np.float64)
        self.df = self.y.size - self.p
        self.bounds, self.levels, self.weights = kernels.level_lists(
            self.starts, self.small, self.fixed, self.q, self.p
        )
        self._zy = kernels.gather(self.small, self.fixed, self.y, self.q, self.m)
        self._big_sums = kernels.group_sums(self.starts, self.y)
        self._yy = float(self.y @ self.y)

    def _project(self, factor: Floats) -> Floats:
        """Z'Wy for the shrinkage ``factor`` of each group."""
        shrunk = np.repeat(factor * self._big_sums, np.diff(self.bounds)) * self.weights
        out: Floats = self._zy - np.bincount(self.levels, shrunk, minlength=self.m)
        return out

    def _residual_quadratics(
        self, coefficients: Floats, shares: Floats, factor: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Py per rating, and its sums over the big and small levels."""
        residual = self.y - self._k.fitted(self.small, self.fixed, coefficients, self.q)
        big = self._k.group_sums(self.starts, residual) * shares
        py = self._k.shrink(self.starts, residual, factor)
        small = self._k.gather(self.small, self.fixed, py, self.q, self.m)[: self.q]
        return py, big, small

    def _working(
        self, py: Floats, big: Floats, small: Floats, factor: Floats
    ) -> tuple[list[Floats], list[Floats]]:
        """The working variates V_k P y and W times them."""
        variates = [self._k.spread(self.starts, big), small[self.small], py]
        return variates, [self._k.shrink(self.starts, f, factor) for f in variates]


class DenseSystem(RatingSystem):
    """The system with its matrix formed: exact likelihood, score and average information."""

    def __init__(self, big: Ints, small: Ints, value: Floats, fixed: Ints | None = None) -> None:
        super().__init__(big, small, value, fixed)
        self._plain = np.zeros((self.m, self.m))
        self._k.add_ones(self.small, self.fixed, self.q, self._plain)
        distinct, self._size_of = np.unique(self.sizes, return_inverse=True)
        self._distinct = distinct
        self._stack: Floats | None = None
        if distinct.size * self.m**2 <= STACK_CELLS:
            stack = np.zeros((distinct.size, self.m, self.m))
            for s in range(distinct.size):
                self._k.pairs_add(
                    self.bounds, self.levels, self.weights, (self._size_of == s).astype(np.float64), stack[s]
                )
                stack[s] += np.tril(stack[s], -1).T
            self._stack = stack.reshape(distinct.size, -1)

    def _factor(self, big: float, small: float) -> tuple[Floats, Floats, Floats, float]:
        """Diagonal of R, Cholesky factor of S, shrinkage of each big level, log determinant."""
        from scipy.linalg import lapack

        factor = big / (1.0 + big * self.sizes)
        if self._stack is not None:
            weights = -big / (1.0 + big * self._distinct)
            matrix = (weights @ self._stack).reshape(self.m, self.m)
            matrix += self._plain
        else:
            matrix = self._plain.copy()
            self._k.pairs_add(self.bounds, self.levels, self.weights, -factor, matrix)
        root = np.ones(self.m)
        root[: self.q] = np.sqrt(small)
        matrix *= root[:, None]
        matrix *= root
        matrix.flat[: self.q * self.m : self.m + 1] += 1.0
        # LAPACK wants columns first: the transposed view is its upper triangle, so nothing is copied.
        chol, info = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
        if info != 0:
            raise np.linalg.LinAlgError("the mixed-model system is not positive definite")
        return root, chol, factor, float(2.0 * np.log(np.diag(chol)).sum() + np.log1p(big * self.sizes).sum())

    def deviance(self, big: float, small: float, residual: float | None = None) -> tuple[float, float]:
        """-2 log restricted likelihood and the residual variance (the best one unless given)."""
        root, chol, factor, log_det = self._factor(big, small)
        right = root * self._project(factor)
        quadratic = self._quadratic(chol, right, factor)
        return self._close(log_det, quadratic, residual)

    def _quadratic(self, chol: Floats, right: Floats, factor: Floats) -> float:
        from scipy.linalg import lapack

        half, _ = lapack.dtrtrs(chol, right, lower=0, trans=1)
        weighted = self._yy - float(factor @ self._big_sums**2)
        return max(weighted - float(half @ half), 1e-15 * self._yy)

    def _close(self, log_det: float, quadratic: float, residual: float | None) -> tuple[float, float]:
        best = quadratic / self.df if residual is None else residual
        return log_det + self.df * float(np.log(best)) + quadratic / best, best

    def step(self, big: float, small: float, residual: float | None = None) -> Step:
        """Likelihood, score and average information at the given ratios."""
        root, chol, factor, log_det = self._factor(big, small)
        right = root * self._project(factor)
        quadratic = self._quadratic(chol, right, factor)
        deviance, variance = self._close(log_det, quadratic, residual)
        inverse = self._inverse(chol)
        solution = _symmetric_product(inverse, right)
        shares = 1.0 / (1.0 + big * self.sizes)
        py, big_sums, small_sums = self._residual_quadratics(root * solution, shares, factor)
        trace_big = float((self.sizes * shares).sum()) - self._pair_trace(inverse, root, shares)
        trace_small = self._small_trace(inverse, small, big)
        traces = np.array([trace_big, trace_small, self.df - big * trace_big - small * trace_small])
        squares = np.array([big_sums @ big_sums, small_sums @ small_sums, py @ py])
        variates, weighted = self._working(py, big_sums, small_sums, factor)
        sides = np.stack([root * self._k.gather(self.small, self.fixed, w, self.q, self.m) for w in weighted])
        inner = np.array([[f @ w for w in weighted] for f in variates])
        inner -= sides @ np.stack([_symmetric_product(inverse, s) for s in sides]).T
        full = np.tril(inverse[self.q :, self.q :])
        return Step(
            (big, small),
            variance,
            deviance,
            (traces - squares / variance) / variance,
            (inner + inner.T) / (4.0 * variance**3),
            solution[self.q :] + self.centre,
            (full + np.tril(full, -1).T) * variance,
        )

    def _inverse(self, chol: Floats) -> Floats:
        """Lower triangle of the inverse of S, rows first."""
        from scipy.linalg import lapack

        if self.m <= COMPILED_LIMIT:
            compiled: Floats = self._k.inverse_of_factor(chol.T)
            return compiled
        inverse, _ = lapack.dpotri(chol, lower=0, overwrite_c=1)
        lower: Floats = inverse.T
        return lower

    def _pair_trace(self, inverse: Floats, root: Floats, shares: Floats) -> float:
        if self._stack is None:
            return float(self._k.pairs_sum(self.bounds, self.levels, self.weights, shares**2, inverse, root))
        scaled = np.tril(inverse) * root[:, None] * root
        scaled += np.tril(scaled, -1).T
        of_size = np.empty(self._distinct.size)
        of_size[self._size_of] = shares
        return float((self._stack @ scaled.ravel()) @ of_size**2)

    def _small_trace(self, inverse: Floats, small: float, big: float) -> float:
        if small > TINY:
            return float((self.q - np.diag(inverse)[: self.q].sum()) / small)
        factor = big / (1.0 + big * self.sizes)
        matrix = self._plain.copy()
        self._k.pairs_add(self.bounds, self.levels, self.weights, -factor, matrix)
        cross = matrix[self.q :, : self.q]
        fixed = np.tril(inverse[self.q :, self.q :])
        fixed = fixed + np.tril(fixed, -1).T
        return float(np.trace(matrix[: self.q, : self.q]) - ((fixed @ cross) * cross).sum())


def _symmetric_product(lower: Floats, x: Floats) -> Floats:
    """A symmetric matrix given by its lower triangle (rows first) times a vector."""
    from scipy.linalg import blas

    out: Floats = blas.dsymv(1.0, lower.T, x, lower=0)
    return out
