"""Fitting the crossed model to a rating design, and reading quantities off the fit.

Positions of the variances are (item, rater, residual) throughout. Where the design cannot tell two of them
apart (every rater gave one rating, or every item got one), they are fitted as one, and only quantities that
weigh them alike can be read off; the rest are missing, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.bounds import (
    DELTA,
    PROFILE,
    Quantity,
    Surface,
    delta_bounds,
    inverse_information,
    profile_bounds,
)
from heartfelt.stats.reliability.design import Design
from heartfelt.stats.reliability.iterative import IterativeSystem
from heartfelt.stats.reliability.reml import CEILING, DIRECT_LIMIT, Fit, maximise
from heartfelt.stats.reliability.system import DenseSystem
from heartfelt.stats.triples import Floats, Ints

Interval: TypeAlias = Literal["auto", "profile", "delta", "none"]

PROFILE_LIMIT = 600
REML = "crossed random effects, REML"
REML_PROBES = "crossed random effects, REML with stochastic traces"

ONE_EACH = "every rater gave one rating, so rater and residual variance cannot be told apart"
ONE_RATING = "every item has one rating, so item and residual variance cannot be told apart"
EXACT = "the ratings are exact sums of item and rater effects, so there is no residual variance to fit"


@dataclass(frozen=True, slots=True)
class CrossedFit:
    """Fitted variances (item, rater, residual), their covariance and what may be read off them."""

    variances: Floats
    covariance: Floats
    fit: Fit
    method: str
    counts: Mapping[str, int]
    surface: Surface | None
    merged: int | None = None
    why_merged: str = ""

    def missing_reason(self, quantity: Quantity) -> str | None:
        """Why the quantity cannot be read off, or None."""
        if self.merged is None:
            return None
        for weights in (quantity.top, quantity.rest):
            if weights is not None and weights[self.merged] != weights[2]:
                return self.why_merged
        return None

    def estimate(
        self,
        quantity: Quantity,
        confidence: float = 0.95,
        interval: Interval = "auto",
        transform: Callable[[float], float] | None = None,
    ) -> Estimate:
        """The quantity with its interval, ``transform`` (increasing) applied to value and bounds."""
        why = self.missing_reason(quantity)
        if why is not None:
            return Estimate.missing(why, self.method, self.counts)
        change = transform or (lambda x: x)
        value = quantity.value(self.variances)
        name, low, high = self._bounds(quantity, confidence, interval)
        return Estimate(
            change(value),
            None if low is None else change(low),
            None if high is None else change(high),
            self.method,
            name if low is not None or high is not None else "",
            confidence,
            self.counts,
            why_no_interval=None if low is not None else name,
        )

    def _bounds(
        self, quantity: Quantity, confidence: float, interval: Interval
    ) -> tuple[str, float | None, float | None]:
        surface = self.surface
        if interval == "none":
            return "no interval was asked for", None, None
        if interval == "auto":
            interval = "profile" if surface is not None and surface.system.m <= PROFILE_LIMIT else "delta"
        if interval == "profile" and surface is not None:
            low, high = profile_bounds(surface, quantity, confidence)
            if low is not None and high is not None:
                return PROFILE, low, high
            return "the profile likelihood did not reach its limit on both sides", None, None
        found = delta_bounds(quantity, self.variances, self.covariance, confidence)
        if found is None:
            return "the estimate is at its limit, where the delta method has no interval", None, None
        return DELTA, found[0], found[1]


def check_confidence(confidence: float) -> None:
    """Refuse a confidence level outside (0, 1)."""
    if not 0.0 < confidence < 1.0:
        raise InputError(
            f"A confidence level lies between 0 and 1; got {confidence}.", "Pass 0.95 for a 95% interval."
        )


def why_unfit(d: Design, cells: int = 1, cell_items: int | None = None) -> str | None:
    """Why no crossed model can be fitted at all, or None."""
    if d.size == 0:
        return "there are no ratings"
    if d.size < 3:
        return f"there are only {d.size} ratings"
    if len(d.items) == 1:
        return "there is only one item"
    if len(d.raters) == 1:
        return "there is only one rater"
    if cell_items is not None and cell_items <= cells:
        return "every cell holds one item, so nothing varies within cells"
    if d.per_item.max() == 1 and d.per_rater.max() == 1:
        return "every item has one rating and every rater gave one: nothing can be separated"
    if float(np.ptp(d.value)) == 0.0:
        return "all ratings are equal"
    return None


def fit_crossed(d: Design, fixed: Ints | None = None, *, seed: int = 0) -> CrossedFit | str:
    """Fit the crossed model by REML, with cell means as fixed effects if given; a string says why there is
    no fit."""
    cells = 1 if fixed is None else int(fixed.max(initial=0)) + 1
    why = why_unfit(d, cells, len(d.items) if fixed is not None else None)
    if why is not None:
        return why
    if d.size - cells < 2:
        return "there are too few ratings for the number of cells"
    merged = 1 if d.per_rater.max() == 1 else 0 if d.per_item.max() == 1 else None
    system, order = _system(d, fixed, merged, seed)
    start = _start(d, order)
    free = (merged is None or order[0] != merged, merged is None or order[1] != merged)
    try:
        fit = maximise(system, start, free)
    except np.linalg.LinAlgError:
        return "the design does not determine the components"
    big, small = fit.step.ratios
    if max(big, small) >= 0.1 * CEILING or fit.step.residual <= 1e-12 * float(d.value.var()):
        return EXACT
    why = _undetermined(fit) if merged is None else None
    if why is not None:
        return why
    dense = isinstance(system, DenseSystem)
    absent = frozenset() if merged is None else frozenset({merged})
    surface = Surface(system, fit, order, absent) if isinstance(system, DenseSystem) else None
    variances = np.empty(3)
    variances[list(order)] = np.array([big, small, 1.0]) * fit.step.residual
    return CrossedFit(
        variances,
        inverse_information(fit, order),
        fit,
        REML if dense else REML_PROBES,
        d.counts,
        surface,
        merged,
        ONE_EACH if merged == 1 else ONE_RATING,
    )


def _system(
    d: Design, fixed: Ints | None, merged: int | None, seed: int
) -> tuple[DenseSystem | IterativeSystem, tuple[int, int, int]]:
    """The system with the side of more levels eliminated, and where its variances belong."""
    nowhere = np.zeros(d.size, np.int64)
    if merged == 1:
        return DenseSystem(d.item, nowhere, d.value, fixed), (0, 1, 2)
    if merged == 0:
        return DenseSystem(d.rater, nowhere, d.value, fixed), (1, 0, 2)
    items_more = len(d.items) >= len(d.raters)
    big, small = (d.item, d.rater) if items_more else (d.rater, d.item)
    order = (0, 1, 2) if items_more else (1, 0, 2)
    if min(len(d.items), len(d.raters)) > DIRECT_LIMIT:
        return IterativeSystem(big, small, d.value, fixed, seed=seed), order
    return DenseSystem(big, small, d.value, fixed), order


def _start(d: Design, order: tuple[int, int, int]) -> tuple[float, float]:
    """Starting ratios from the spread overall, within items and within raters."""
    total = float(d.value.var())
    spread = [
        total - _within(d.value, codes, n) for codes, n in ((d.item, d.per_item), (d.rater, d.per_rater))
    ]
    residual = max(total - max(spread[0], 0.0) - max(spread[1], 0.0), 0.05 * total)
    return max(spread[order[0]], 0.0) / residual, max(spread[order[1]], 0.0) / residual


def _within(value: Floats, codes: Ints, counts: Ints) -> float:
    """Pooled variance within groups."""
    centred = value - float(value.mean())
    sums = np.bincount(codes, centred, minlength=counts.size)
    left = value.size - counts.size
    if left <= 0:
        return float(value.var())
    return max(float(centred @ centred) - float((sums * sums / counts).sum()), 0.0) / left


def _undetermined(fit: Fit) -> str | None:
    """Whether the information is singular, so that the components cannot be told apart."""
    inside = np.array([fit.step.ratios[0] > 0, fit.step.ratios[1] > 0, True])
    information = fit.step.information[np.ix_(inside, inside)]
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    if np.linalg.eigvalsh(information / np.outer(scale, scale))[0] < 1e-9:
        return "the design does not determine the components"
    if not fit.converged:
        return "the likelihood search did not settle"
    return None
