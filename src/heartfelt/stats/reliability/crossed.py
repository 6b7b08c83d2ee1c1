"""The crossed model of ratings, and intervals for what is read off it.

Model: rating = mean + item + rater + residual, items and raters random and crossed, any rating missing;
fitted by ``stats.reml``. Positions of the variances are (item, rater, residual) throughout. Where the design
cannot separate two of them (every rater gave one rating, or every item got one), they are fitted as one. Only
quantities that weigh them alike can then be read off; the rest are missing, with the reason.

A quantity is a ratio of two weighted sums of the variances, or one such sum: a variance, a share, an
intraclass correlation, a squared standard error. Its profile interval contains the values that some set of
variances within a deviance of the chi-square quantile (one degree of freedom) of the best attains; the ends
are found by maximising and minimising the quantity inside that region (Venzon & Moolgavkar, 1988). It reaches
zero when the data allow zero. The delta interval is symmetric in the log of the quantity (of its odds for a
share) and exists only for positive estimates. Both assume normal effects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.compiled.blas_threads import one_blas_thread
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.ratings import Ratings
from heartfelt.stats.reliability.reml import CrossedSystem, ProbedSystem, RemlFit, maximise

Interval: TypeAlias = Literal["auto", "profile", "delta", "none"]

PROFILE_LIMIT = 600
DIRECT_LIMIT = 3000
REML = "crossed random effects, REML"
REML_PROBES = "crossed random effects, REML with stochastic traces"
PROFILE = "profile likelihood"
DELTA = "delta method, log scale"

ONE_EACH = "every rater gave one rating, so rater and residual variance cannot be separated"
ONE_RATING = "every item has one rating, so item and residual variance cannot be separated"
EXACT = "the ratings are exact sums of item and rater effects, so there is no residual variance to fit"
UNDETERMINED = "the design does not determine the components"


@dataclass(frozen=True, slots=True)
class Quantity:
    """``top . v``, or its share ``top . v / (top . v + rest . v)`` where ``remainder`` is given."""

    top: tuple[float, float, float]
    remainder: tuple[float, float, float] | None = None

    @property
    def positions(self) -> tuple[list[int], list[int] | None]:
        """Which variances count above the line, and below it besides."""
        above, *below = (
            [j for j in range(3) if part[j] > 0] for part in (self.top, self.remainder) if part is not None
        )
        return above, below[0] if below else None

    def value(self, variances: Floats) -> float:
        top = float(np.dot(self.top, variances))
        if self.remainder is None:
            return top
        total = top + float(np.dot(self.remainder, variances))
        return top / total if total > 0 else 0.0

    def gradient(self, variances: Floats) -> Floats:
        """Derivative of the log of the quantity (of its odds for a share) in the variances."""
        out: Floats = np.array(self.top) / float(np.dot(self.top, variances))
        if self.remainder is not None:
            out = out - np.array(self.remainder) / float(np.dot(self.remainder, variances))
        return out

    def shifted(self, value: float, by: float) -> float:
        """The value moved by ``by`` on the log (odds) scale."""
        if self.remainder is None:
            return value * float(np.exp(by))
        return 1.0 / (1.0 + (1.0 - value) / value * float(np.exp(-by)))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CrossedFit:
    """A fitted model: its variances (item, rater, residual), their covariance and intervals of quantities.

    ``order`` gives the positions of the system's variances; those not in it are not in the model and stay zero.
    """

    system: CrossedSystem
    fit: RemlFit
    order: tuple[int, ...]
    counts: dict[str, int]
    _edges: dict[frozenset[int], RemlFit | None] = field(default_factory=dict)

    @property
    def probed(self) -> bool:
        """Whether traces were estimated from random probes."""
        return isinstance(self.system, ProbedSystem)

    @property
    def method(self) -> str:
        return REML_PROBES if self.probed else REML

    @property
    def merged(self) -> int | None:
        return next((position for position in (0, 1) if position not in self.order), None)

    @property
    def why_merged(self) -> str:
        return {None: "", 0: ONE_RATING, 1: ONE_EACH}[self.merged]

    @property
    def variances(self) -> Floats:
        return self._placed(self.fit)

    def _placed(self, fit: RemlFit) -> Floats:
        out = np.zeros(3)
        out[list(self.order)] = fit.step.variances
        return out

    def missing_reason(self, quantity: Quantity) -> str | None:
        """Why the quantity cannot be read off, or None."""
        if self.merged is not None:
            for weights in (quantity.top, quantity.remainder):
                if weights is not None and weights[self.merged] != weights[2]:
                    return self.why_merged
        return None

    @one_blas_thread()
    def estimate(self, quantity: Quantity, confidence: float = 0.95, interval: Interval = "auto") -> Estimate:
        """The quantity with its interval."""
        reason = self.missing_reason(quantity)
        if reason is not None:
            return Estimate.missing(reason, self.method, self.counts)
        point_estimate = Estimate(
            value=quantity.value(self.variances), method=self.method, confidence=confidence, counts=self.counts
        )
        if interval == "none":
            return point_estimate.without_interval("no interval was requested")
        if interval == "auto":
            interval = "delta" if self.probed or self.system.order > PROFILE_LIMIT else "profile"
        if interval == "profile" and not self.probed:
            low, high = self.profile_bounds(quantity, confidence)
            if low is None or high is None:
                return point_estimate.without_interval("the profile likelihood did not reach its limit on both sides")
            return point_estimate.with_interval(low, high, PROFILE, confidence)
        bounds = self.delta_bounds(quantity, confidence)
        if bounds is None:
            return point_estimate.without_interval(
                "the estimate is at its limit, where the delta method has no interval"
            )
        return point_estimate.with_interval(*bounds, DELTA, confidence)

    def delta_bounds(self, quantity: Quantity, confidence: float) -> tuple[float, float] | None:
        """Delta-method bounds, or None where the estimate is at an edge."""
        from scipy.special import ndtri

        value = quantity.value(self.variances)
        if value <= 0.0 or (quantity.remainder is not None and value >= 1.0):
            return None
        covariance = np.zeros((3, 3))
        covariance[np.ix_(self.order, self.order)] = self.fit.covariance
        gradient = quantity.gradient(self.variances)
        error = np.sqrt(max(float(gradient @ covariance @ gradient), 0.0))
        half = float(ndtri(0.5 + confidence / 2) * error)
        return quantity.shifted(value, -half), quantity.shifted(value, half)

    def profile_bounds(self, quantity: Quantity, confidence: float) -> tuple[float | None, float | None]:
        """Profile-likelihood bounds; a bound is None where the search does not settle."""
        from scipy.special import chdtri

        limit = float(chdtri(1, 1.0 - confidence))
        return self._end(quantity, limit, -1.0), self._end(quantity, limit, 1.0)

    def _end(self, quantity: Quantity, limit: float, side: float) -> float | None:
        """One end: inside the region of positive variances, else on the edges where one of them is zero."""
        above, below = quantity.positions
        if side < 0 and self._reaches(limit, *above):
            return 0.0
        if side > 0 and below is not None and self._reaches(limit, *below):
            return 1.0
        present = np.array([j in self.order for j in range(3)])
        inside = self._follow(quantity, limit, side, self._start(self.variances, present), present)
        if inside is not None:
            return inside
        ends = [self._end_at_edge(quantity, limit, side, zero, present) for zero in self.order[:-1]]
        return max((end for end in ends if end is not None), key=lambda end: side * end, default=None)

    def _end_at_edge(
        self, quantity: Quantity, limit: float, side: float, zero: int, present: npt.NDArray[np.bool_]
    ) -> float | None:
        """The end on the edge where the variance at a position is zero; None where the edge is not within the limit."""
        edge = self._edge_fit(zero) if self._reaches(limit, zero) else None
        free = present & (np.arange(3) != zero)
        if edge is None or not all(free[part].any() for part in quantity.positions if part is not None):
            return None
        return self._follow(quantity, limit, side, self._start(self._placed(edge), free), free)

    def _edge_fit(self, *zero: int) -> RemlFit | None:
        """The best fit with the variances at these positions held at zero; None where there is none."""
        key = frozenset(zero)
        if key not in self._edges:
            free = tuple(position not in key for position in self.order[:-1])
            try:
                self._edges[key] = maximise(self.system, self.fit.step.ratios, free)
            except np.linalg.LinAlgError:
                self._edges[key] = None
        return self._edges[key]

    def _reaches(self, limit: float, *zero: int) -> bool:
        """Whether these variances may all be zero within the limit of the deviance."""
        if not set(zero) <= set(self.order[:-1]):
            return False
        edge = self._edge_fit(*zero)
        return edge is not None and edge.step.deviance - self.fit.step.deviance <= limit

    def _at(self, variances: Floats) -> tuple[float, Floats, Floats]:
        """Deviance above the best, its gradient and its expected curvature."""
        *groupings, residual = variances[list(self.order)]
        step = self.system.step(np.array(groupings) / residual, residual)
        score, information = np.zeros(3), np.zeros((3, 3))
        score[list(self.order)] = step.score
        information[np.ix_(self.order, self.order)] = step.information
        return step.deviance - self.fit.step.deviance, score, 2.0 * information

    def _start(self, variances: Floats, free: npt.NDArray[np.bool_]) -> Floats:
        """The variances with free ones that are zero moved in by a standard error or so; one for those not free."""
        if (variances[free] > 0).all():
            return np.where(free, variances, 1.0)
        _, _, curvature = self._at(np.where(free, variances, 0.0))
        inward = np.minimum(np.sqrt(2.0 / np.maximum(np.diag(curvature), 1e-300)), variances.sum())
        return np.where(free, np.where(variances > 0, variances, inward), 1.0)

    def _follow(
        self, quantity: Quantity, limit: float, side: float, start: Floats, free: npt.NDArray[np.bool_]
    ) -> float | None:
        """Follow the quadratic model of the deviance, in logs of the free variances, to the limit."""
        logs = np.log(start)
        deviance, gradient, curvature = self._at(np.where(free, start, 0.0))
        for _ in range(40):
            v = np.where(free, np.exp(logs), 0.0)
            ascent = (quantity.gradient(v) * v)[free]
            in_logs = (curvature * np.outer(v, v))[np.ix_(free, free)]
            slope = (gradient * v)[free]
            try:
                solved = np.linalg.solve(in_logs, np.column_stack([ascent, slope]))
                reach = float(ascent @ solved[:, 0])
                if not reach > 0:
                    return None
                remaining = max(2.0 * (limit - deviance) + float(slope @ solved[:, 1]), 0.0)
                move = side * np.sqrt(remaining / reach) * solved[:, 0] - solved[:, 1]
                # In logs a step of more than 1.5 leaves the region in which the quadratic model holds.
                logs[free] += move * min(1.0, 1.5 / max(float(np.abs(move).max()), 1e-300))
                if (logs[free] < logs[free].max() - 18.0).any() or not np.isfinite(logs).all():
                    return None
                deviance, gradient, curvature = self._at(np.where(free, np.exp(logs), 0.0))
            except np.linalg.LinAlgError:
                return None
            if abs(deviance - limit) < 1e-4 and abs(float(ascent @ move)) < 1e-4:
                return quantity.value(np.where(free, np.exp(logs), 0.0))
        return None


def fit_crossed(d: Ratings, cells: Ints | None = None, *, seed: int = 0) -> CrossedFit | str:
    """Fit the crossed model, with the means of ``cells`` (one per rating) as fixed effects if given.

    A string is the reason there is no fit. Without cells the model is fitted once per ``Ratings``.
    """
    if cells is not None:
        return _fitted(d, cells, seed)
    return d.shared(("crossed fit", seed), lambda: _fitted(d, None, seed))


def _why_unfit(d: Ratings, cells: int | None) -> str | None:
    if d.size == 0:
        return "there are no ratings"
    reasons = {
        f"there are only {d.size} ratings": d.size < 3,
        "there is only one item": len(d.items) == 1,
        "there is only one rater": len(d.raters) == 1,
        "every cell holds one item, so nothing varies within cells": cells is not None and len(d.items) <= cells,
        "every item has one rating and every rater gave one: nothing can be separated": (
            d.per_item.max() == 1 and d.per_rater.max() == 1
        ),
        "all ratings are equal": float(np.ptp(d.value)) == 0.0,
        "there are too few ratings for the number of cells": d.size - (cells or 1) < 2,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _fitted(d: Ratings, cells: Ints | None, seed: int) -> CrossedFit | str:
    reason = _why_unfit(d, None if cells is None else int(cells.max(initial=0)) + 1)
    if reason is not None:
        return reason
    # Where raters gave one rating each they cannot be separated from the residual, nor can items with one rating each.
    merged = 1 if d.per_rater.max() == 1 else 0 if d.per_item.max() == 1 else None
    sides = ((d.item, len(d.items), 0), (d.rater, len(d.raters), 1))
    retained = sorted((side for side in sides if side[2] != merged), key=lambda side: -side[1])
    order = tuple(position for _, _, position in retained)
    system = _system(d, [(codes, size) for codes, size, _ in retained], cells, seed)
    try:
        fit = maximise(system, _starting_ratios(d)[list(order)])
    except np.linalg.LinAlgError:
        return UNDETERMINED
    if fit.exact or fit.step.residual <= 1e-12 * float(d.value.var()):
        return EXACT
    reason = _undetermined(fit) if len(order) == 2 else None
    return CrossedFit(system=system, fit=fit, order=(*order, 2), counts=d.counts) if reason is None else reason


def _system(d: Ratings, groups: list[tuple[Ints, int]], cells: Ints | None, seed: int) -> CrossedSystem:
    if len(groups) == 2 and groups[1][1] > DIRECT_LIMIT:
        return ProbedSystem(d.value, groups, cells, seed=seed)
    return CrossedSystem(d.value, groups, cells)


def _starting_ratios(d: Ratings) -> Floats:
    """Ratios of item and rater variance to the residual's from the spread overall, within items and within raters."""
    total = float(d.value.var())
    centred = d.value - float(d.value.mean())
    parts = []
    for codes, counts in ((d.item, d.per_item), (d.rater, d.per_rater)):
        sums = np.bincount(codes, centred, minlength=counts.size)
        freedom = d.size - counts.size
        within = (
            max(float(centred @ centred) - float((sums * sums / counts).sum()), 0.0) / freedom if freedom else total
        )
        parts.append(max(total - within, 0.0))
    residual = max(total - sum(parts), 0.05 * total)
    return np.array(parts) / residual


def _undetermined(fit: RemlFit) -> str | None:
    """Why the components cannot be separated: the information is singular, or no maximum was found."""
    inside = np.append(fit.step.ratios > 0, True)
    information = fit.step.information[np.ix_(inside, inside)]
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    if np.linalg.eigvalsh(information / np.outer(scale, scale))[0] < 1e-9:
        return UNDETERMINED
    return None if fit.converged else "the search for the maximum of the likelihood did not converge"
