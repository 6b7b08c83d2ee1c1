"""Variance components of ratings: how much of the spread is the items, the raters, and the rest.

Model: rating = mean + item + rater + residual, items and raters random and crossed, any rating missing.
Fitted by restricted maximum likelihood (Patterson & Thompson, 1971), which on complete data equals the
analysis of variance whenever that is not negative. A component may be estimated as zero; its interval then
starts at zero.

Units: squared points of the scale; shares are fractions of the sum. The ``error`` is rater + residual, the
variance of one rating about its item. Intervals are two-way jackknives (``component_bounds``), which cost one
pass over the ratings and hold when raters differ in gain or some are careless. By name there are also profile
likelihood and the delta method on the log scale; they assume normal effects and raters alike. Above 3,000
levels on both sides traces are estimated from random probes and there is no log likelihood. A (rater, item)
pair may occur once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.bounds import Quantity
from heartfelt.stats.reliability.component_bounds import ComponentBounds, component_bounds
from heartfelt.stats.reliability.crossed import REML, CrossedFit, check_confidence, fit_crossed
from heartfelt.stats.reliability.design import Design, rating_design
from heartfelt.stats.reliability.jackknife import NAME
from heartfelt.stats.triples import Ids, Values

ComponentInterval: TypeAlias = Literal["auto", "jackknife", "profile", "delta", "none"]
INTERVALS = ("auto", "jackknife", "profile", "delta", "none")

ITEM = Quantity((1.0, 0.0, 0.0))
RATER = Quantity((0.0, 1.0, 0.0))
RESIDUAL = Quantity((0.0, 0.0, 1.0))
ERROR = Quantity((0.0, 1.0, 1.0))
ITEM_SHARE = Quantity((1.0, 0.0, 0.0), (0.0, 1.0, 1.0))
RATER_SHARE = Quantity((0.0, 1.0, 0.0), (1.0, 0.0, 1.0))
RESIDUAL_SHARE = Quantity((0.0, 0.0, 1.0), (1.0, 1.0, 0.0))
QUANTITIES = {
    "item": ITEM,
    "rater": RATER,
    "residual": RESIDUAL,
    "error": ERROR,
    "item_share": ITEM_SHARE,
    "rater_share": RATER_SHARE,
    "residual_share": RESIDUAL_SHARE,
}


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Components, their shares of the total, the mean and the log restricted likelihood."""

    item: Estimate
    rater: Estimate
    residual: Estimate
    error: Estimate
    item_share: Estimate
    rater_share: Estimate
    residual_share: Estimate
    mean: Estimate
    log_likelihood: float | None
    method: str
    iterations: int = 0
    notes: tuple[str, ...] = ()

    @property
    def value(self) -> float | None:
        """The items' share, the headline."""
        return self.item_share.value

    @property
    def low(self) -> float | None:
        """Lower bound of the items' share."""
        return self.item_share.low

    @property
    def high(self) -> float | None:
        """Upper bound of the items' share."""
        return self.item_share.high

    def to_json(self) -> dict[str, Any]:
        """Plain objects for strict JSON."""
        names = ("item", "rater", "residual", "error", "item_share", "rater_share", "residual_share", "mean")
        out: dict[str, Any] = {name: getattr(self, name).to_json() for name in names}
        return out | {
            "log_likelihood": self.log_likelihood,
            "method": self.method,
            "iterations": self.iterations,
            "notes": list(self.notes),
        }


def variance_components(
    rater: Ids,
    item: Ids,
    value: Values,
    *,
    confidence: float = 0.95,
    interval: ComponentInterval = "auto",
    seed: int = 0,
) -> VarianceComponents:
    """Item, rater and residual variance of the ratings by REML, each with an interval.

    ``interval``: "auto" is the "jackknife"; "profile" and "delta" are the model's own, "none" leaves them
    out. ``seed`` matters only where traces are estimated from probes.
    """
    check_confidence(confidence)
    if interval not in INTERVALS:
        raise InputError(
            f"There is no interval '{interval}' here.", "Use 'jackknife', 'profile', 'delta' or 'none'."
        )
    d = rating_design(rater, item, value)
    fit = fit_crossed(d, seed=seed)
    if isinstance(fit, str):
        return _nothing(fit, d)
    return VarianceComponents(
        **_parts(fit, d, confidence, interval),
        mean=_mean(fit, d, confidence),
        log_likelihood=_log_likelihood(fit, d),
        method=fit.method,
        iterations=fit.fit.iterations,
        notes=_notes(fit),
    )


def _parts(fit: CrossedFit, d: Design, confidence: float, interval: ComponentInterval) -> dict[str, Estimate]:
    if interval in ("profile", "delta", "none"):
        return {name: fit.estimate(quantity, confidence, interval) for name, quantity in QUANTITIES.items()}
    plain = {name: fit.estimate(quantity, confidence, "none") for name, quantity in QUANTITIES.items()}
    bounds = component_bounds(d, fit.variances, confidence)
    return {name: e if e.is_missing else _bounded(e, name, bounds, confidence) for name, e in plain.items()}


def _bounded(e: Estimate, name: str, bounds: ComponentBounds | str, confidence: float) -> Estimate:
    if isinstance(bounds, str):
        return replace(e, counts=dict(e.counts), why_no_interval=bounds)
    low, high = getattr(bounds, name)
    bounded = e.with_interval(low, high, f"{NAME}, log scale", confidence)
    return replace(bounded, why_no_interval=None, counts=dict(e.counts))


def _log_likelihood(fit: CrossedFit, d: Design) -> float | None:
    if not np.isfinite(fit.fit.step.deviance):
        return None
    return -0.5 * (fit.fit.step.deviance + (d.size - 1) * float(np.log(2 * np.pi)))


def _mean(fit: CrossedFit, d: Design, confidence: float) -> Estimate:
    """Generalised least-squares mean; t interval with the levels of the smaller side less one as degrees of
    freedom."""
    from scipy.special import stdtrit

    mean = float(fit.fit.step.fixed[0])
    error = float(np.sqrt(fit.fit.step.fixed_covariance[0, 0]))
    df = min(len(d.items), len(d.raters)) - 1
    half = float(stdtrit(df, 0.5 + confidence / 2)) * error
    return Estimate(
        mean,
        mean - half,
        mean + half,
        "generalised least squares",
        "Wald, t quantile",
        confidence,
        fit.counts,
    )


def _notes(fit: CrossedFit) -> tuple[str, ...]:
    notes = [fit.why_merged] if fit.merged is not None else []
    for position, name in ((0, "item"), (1, "rater")):
        if fit.variances[position] == 0.0 and fit.merged != position:
            notes.append(f"the {name} variance is estimated as zero, the edge of its range")
    if fit.surface is None:
        notes.append("no log likelihood: traces were estimated from random probes")
    return tuple(notes)


def _nothing(why: str, d: Design) -> VarianceComponents:
    gone = Estimate.missing(why, REML, d.counts)
    return VarianceComponents(gone, gone, gone, gone, gone, gone, gone, gone, None, REML, 0, (why,))
