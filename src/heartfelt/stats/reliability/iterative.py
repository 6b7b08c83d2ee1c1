"""The mixed-model system of crossed ratings when its smaller side is too large to factor.

Systems are solved by preconditioned conjugate gradients and traces are estimated from random signs
(Hutchinson). A score based on m probes adds about 1/m of the score's own sampling variance, so 32 probes
widen the standard errors by under 2%. The log likelihood needs a determinant and is not available.

Source: Hutchinson (1990); Stein, Chen & Anitescu (2013) on stochastic score equations.
"""

from __future__ import annotations

import numpy as np

from heartfelt.stats.reliability.system import RatingSystem, Step
from heartfelt.stats.triples import Floats, Ints
from heartfelt.streams import stream

PROBES = 32


class IterativeSystem(RatingSystem):
    """The system as a product only; the same probes are used at every step, so the fit is deterministic."""

    def __init__(
        self, big: Ints, small: Ints, value: Floats, fixed: Ints | None = None, *, seed: int = 0
    ) -> None:
        super().__init__(big, small, value, fixed)
        signs = stream(seed, "reliability", "trace probes").integers(0, 2, (self.m, PROBES))
        self._probes = (2.0 * signs - 1.0).astype(np.float64)
        self._warm: Floats | None = None
        self.iterations = 0

    def _solve(self, big: float, small: float, right: Floats, start: Floats | None = None) -> Floats:
        """Solve S x = right for each column."""
        factor = big / (1.0 + big * self.sizes)
        root = self._root(small)
        diagonal = self._diagonal(factor, root)

        def product(x: Floats) -> Floats:
            out: Floats = self._k.system_product(self.starts, self.small, self.fixed, factor, root, self.q, x)
            return out

        x = np.zeros_like(right) if start is None else start.copy()
        residual = right - product(x)
        z = residual / diagonal[:, None]
        direction = z.copy()
        rho = (residual * z).sum(0)
        limit = 1e-16 * np.maximum((right * right).sum(0), 1e-300)
        for _ in range(500):
            if ((residual * residual).sum(0) <= limit).all():
                break
            self.iterations += 1
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

    def _root(self, small: float) -> Floats:
        root = np.ones(self.m)
        root[: self.q] = np.sqrt(small)
        return root

    def _diagonal(self, factor: Floats, root: Floats) -> Floats:
        spread = np.repeat(factor, np.diff(self.bounds))
        ones = self._k.gather(self.small, self.fixed, np.ones_like(self.y), self.q, self.m)
        diagonal: Floats = ones - np.bincount(self.levels, spread * self.weights**2, minlength=self.m)
        diagonal = diagonal * root**2
        diagonal[: self.q] += 1.0
        return np.maximum(diagonal, 1e-12)

    def step(self, big: float, small: float, residual: float | None = None) -> Step:
        """Residual variance, score and average information; the deviance is not a number here."""
        small = max(small, 1e-8)
        factor = big / (1.0 + big * self.sizes)
        shares = 1.0 / (1.0 + big * self.sizes)
        root = self._root(small)
        right = root * self._project(factor)
        first = self._solve(big, small, np.column_stack([right, self._probes]), self._warm)
        self._warm = first
        solution, probed = first[:, 0], first[:, 1:]
        weighted_yy = self._yy - float(factor @ self._big_sums**2)
        variance = (weighted_yy - float(right @ solution)) / self.df if residual is None else residual
        py, big_sums, small_sums = self._residual_quadratics(root * solution, shares, factor)
        inverse_trace = float((self._probes[: self.q] * probed[: self.q]).sum(0).mean())
        forms = self._k.level_forms(
            self.bounds,
            self.levels,
            self.weights,
            shares**2,
            root,
            self._probes,
            np.ascontiguousarray(probed),
        )
        trace_big = float((self.sizes * shares).sum()) - float(forms.mean())
        trace_small = (self.q - inverse_trace) / small
        traces = np.array([trace_big, trace_small, self.df - big * trace_big - small * trace_small])
        squares = np.array([big_sums @ big_sums, small_sums @ small_sums, py @ py])
        variates, weighted = self._working(py, big_sums, small_sums, factor)
        sides = np.column_stack(
            [root * self._k.gather(self.small, self.fixed, w, self.q, self.m) for w in weighted]
            + [np.eye(self.m, self.p, -self.q)]
        )
        solved = self._solve(big, small, sides)
        inner = np.array([[f @ w for w in weighted] for f in variates]) - sides[:, :3].T @ solved[:, :3]
        return Step(
            (big, small),
            variance,
            float("inf"),
            (traces - squares / variance) / variance,
            (inner + inner.T) / (4.0 * variance**3),
            solution[self.q :] + self.centre,
            solved[self.q :, 3:] * variance,
        )
