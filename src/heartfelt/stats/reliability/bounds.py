"""Intervals for functions of variance components: profile likelihood, or the delta method on the log scale.

A quantity here is a ratio of two weighted sums of the components, or one such sum: a variance, a share, an
intraclass correlation, a squared standard error. The profile interval holds the values that some set of
components within a deviance of the chi-square quantile (one degree of freedom) of the best attains; its
ends are found by maximising and minimising the quantity inside that region (Venzon & Moolgavkar, 1988, in
variances). It reaches zero when the data allow zero. The delta interval is symmetric in the log of the
quantity (of its odds for a share) and exists only for positive estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from heartfelt.stats.reliability.reml import Fit, maximise
from heartfelt.stats.reliability.system import DenseSystem
from heartfelt.stats.triples import Floats

PROFILE = "profile likelihood"
DELTA = "delta method, log scale"


@dataclass(frozen=True, slots=True)
class Quantity:
    """``top . v``, or its share ``top . v / (top . v + rest . v)`` where ``rest`` is given."""

    top: tuple[float, float, float]
    rest: tuple[float, float, float] | None = None

    def value(self, variances: Floats) -> float:
        """The quantity at these variances."""
        top = float(np.dot(self.top, variances))
        if self.rest is None:
            return top
        total = top + float(np.dot(self.rest, variances))
        return top / total if total > 0 else 0.0

    def gradient(self, variances: Floats) -> Floats:
        """Derivative of the log of the quantity (of its odds for a share) in the variances."""
        out: Floats = np.array(self.top) / float(np.dot(self.top, variances))
        if self.rest is not None:
            out = out - np.array(self.rest) / float(np.dot(self.rest, variances))
        return out

    def slope(self, variances: Floats) -> Floats:
        """Derivative of the quantity itself."""
        top = np.array(self.top)
        if self.rest is None:
            return top
        rest = np.array(self.rest)
        a, b = float(top @ variances), float(rest @ variances)
        return (top * b - rest * a) / max(a + b, 1e-300) ** 2

    def shifted(self, value: float, by: float) -> float:
        """The value moved by ``by`` on the log (odds) scale."""
        if self.rest is None:
            return value * float(np.exp(by))
        return 1.0 / (1.0 + (1.0 - value) / value * float(np.exp(-by)))


@dataclass(frozen=True, slots=True)
class Surface:
    """A fitted system whose variances come in the order ``order`` (positions of big, small, residual).

    ``absent`` variances are not in the model; they stay zero.
    """

    system: DenseSystem
    fit: Fit
    order: tuple[int, int, int]
    absent: frozenset[int] = frozenset()
    _edges: dict[frozenset[int], Fit | None] = field(default_factory=dict)

    def in_order(self, fit: Fit) -> Floats:
        """A fit's variances in the caller's order."""
        big, small = fit.step.ratios
        v = fit.step.residual
        out = np.empty(3)
        out[list(self.order)] = [big * v, small * v, v]
        return out

    def variances(self) -> Floats:
        """The estimates in the caller's order."""
        return self.in_order(self.fit)

    @property
    def edges(self) -> tuple[int, ...]:
        """Positions of the variances that may be zero."""
        return tuple(position for position in self.order[:2] if position not in self.absent)

    def held(self, *zero: int) -> Fit | None:
        """The best fit with the variances at these positions held at zero; None where there is none."""
        key = frozenset(zero)
        if key not in self._edges:
            kept = self.absent | key
            free = (self.order[0] not in kept, self.order[1] not in kept)
            try:
                self._edges[key] = maximise(self.system, self.fit.step.ratios, free)
            except np.linalg.LinAlgError:
                self._edges[key] = None
        return self._edges[key]

    def reaches(self, limit: float, *zero: int) -> bool:
        """Whether these variances may all be zero within the limit of the deviance."""
        if not set(zero) <= set(self.edges):
            return False
        edge = self.held(*zero)
        return edge is not None and edge.step.deviance - self.fit.step.deviance <= limit

    def covariance(self) -> Floats:
        """Inverse average information in the caller's order; components held at zero have none."""
        return inverse_information(self.fit, self.order)

    def at(self, variances: Floats) -> tuple[float, Floats, Floats]:
        """Deviance above the best, its gradient and its expected curvature."""
        big, small, residual = variances[list(self.order)]
        step = self.system.step(big / residual, small / residual, residual)
        score, information = np.empty(3), np.empty((3, 3))
        score[list(self.order)] = step.score
        information[np.ix_(self.order, self.order)] = step.information
        return step.deviance - self.fit.step.deviance, score, 2.0 * information


def inverse_information(fit: Fit, order: tuple[int, int, int]) -> Floats:
    """Covariance of the estimated variances, zero for those at the edge."""
    big, small = fit.step.ratios
    inside = np.array([big > 0, small > 0, True])
    inverse = np.zeros((3, 3))
    inverse[np.ix_(inside, inside)] = np.linalg.pinv(fit.step.information[np.ix_(inside, inside)])
    out = np.empty((3, 3))
    out[np.ix_(order, order)] = inverse
    return out


def delta_bounds(
    quantity: Quantity, variances: Floats, covariance: Floats, confidence: float
) -> tuple[float, float] | None:
    """Delta-method bounds, or None where the estimate is at an edge."""
    from scipy.special import ndtri

    value = quantity.value(variances)
    if value <= 0.0 or (quantity.rest is not None and value >= 1.0):
        return None
    gradient = quantity.gradient(variances)
    half = float(ndtri(0.5 + confidence / 2)) * float(
        np.sqrt(max(float(gradient @ covariance @ gradient), 0.0))
    )
    return quantity.shifted(value, -half), quantity.shifted(value, half)


def profile_bounds(
    surface: Surface, quantity: Quantity, confidence: float
) -> tuple[float | None, float | None]:
    """Profile-likelihood bounds; a bound is None where the search does not settle."""
    from scipy.special import chdtri

    limit = float(chdtri(1, 1.0 - confidence))
    return _end(surface, quantity, limit, -1.0), _end(surface, quantity, limit, 1.0)


def _end(surface: Surface, quantity: Quantity, limit: float, side: float) -> float | None:
    """One end: inside the region of positive variances, else on the edges where one of them is zero."""
    top = [j for j in range(3) if quantity.top[j] > 0]
    rest = [j for j in range(3) if quantity.rest is not None and quantity.rest[j] > 0]
    if side < 0 and surface.reaches(limit, *top):
        return 0.0
    if side > 0 and quantity.rest is not None and surface.reaches(limit, *rest):
        return 1.0
    present = np.array([j not in surface.absent for j in range(3)])
    inside = _newton(surface, quantity, limit, side, _start(surface, surface.variances(), present), present)
    if inside is not None:
        return inside
    ends = []
    for zero in surface.edges:
        edge = surface.held(zero) if surface.reaches(limit, zero) else None
        free = present & (np.arange(3) != zero)
        if edge is not None and free[top].any() and (quantity.rest is None or free[rest].any()):
            start = _start(surface, surface.in_order(edge), free)
            ends.append(_newton(surface, quantity, limit, side, start, free))
    found = [end for end in ends if end is not None]
    if not found:
        return None
    return max(found) if side > 0 else min(found)


def _start(surface: Surface, variances: Floats, free: npt.NDArray[np.bool_]) -> Floats:
    """The variances with free ones that are zero moved in by a standard error or so; one for those not free."""
    if (variances[free] > 0).all():
        return np.where(free, variances, 1.0)
    _, _, curvature = surface.at(np.where(free, variances, 0.0))
    inward = np.minimum(np.sqrt(2.0 / np.maximum(np.diag(curvature), 1e-300)), variances.sum())
    return np.where(free, np.where(variances > 0, variances, inward), 1.0)


def _newton(
    surface: Surface,
    quantity: Quantity,
    limit: float,
    side: float,
    start: Floats,
    free: npt.NDArray[np.bool_],
) -> float | None:
    """Follow the quadratic model of the deviance, in logs of the free variances, to the limit."""
    logs = np.log(start)

    def variances() -> Floats:
        return np.where(free, np.exp(logs), 0.0)

    deviance, gradient, curvature = surface.at(variances())
    for _ in range(40):
        v = variances()
        ascent = (quantity.gradient(v) * v)[free]
        in_logs = (curvature * np.outer(v, v))[np.ix_(free, free)]
        slope = (gradient * v)[free]
        try:
            solved = np.linalg.solve(in_logs, np.column_stack([ascent, slope]))
        except np.linalg.LinAlgError:
            return None
        reach = float(ascent @ solved[:, 0])
        if not reach > 0:
            return None
        room = max(2.0 * (limit - deviance) + float(slope @ solved[:, 1]), 0.0)
        move = side * np.sqrt(room / reach) * solved[:, 0] - solved[:, 1]
        logs[free] += move * min(1.0, 1.5 / max(float(np.abs(move).max()), 1e-300))
        if (logs[free] < logs[free].max() - 18.0).any() or not np.isfinite(logs).all():
            return None
        try:
            deviance, gradient, curvature = surface.at(variances())
        except np.linalg.LinAlgError:
            return None
        if abs(deviance - limit) < 1e-4 and abs(float(ascent @ move)) < 1e-4:
            return quantity.value(variances())
    return None
