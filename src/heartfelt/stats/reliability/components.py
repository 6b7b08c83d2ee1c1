"""Variance components of ratings: how much of the spread is the items, the raters, and the rest.

Model: rating = mean + item + rater + residual, items and raters random and crossed, any rating missing
(``reliability.crossed``), fitted by restricted maximum likelihood, which on complete data equals the analysis of
variance whenever that is not negative. A component may be estimated as zero; its interval then starts at zero.

Units: squared points of the scale; shares are fractions of the sum. The ``error`` is rater + residual, the
variance of one rating about its item. A (rater, item) pair may occur once. Above 3,000 levels on both sides
traces are estimated from random probes and there is no log likelihood.

Intervals are two-way jackknives (``stats.two_way_jackknife``), which cost one pass over the ratings and hold
when raters differ in gain or some are careless. A component v moves on the scale log(v + c), where c is the
part of noise in the variance of the level means it shows in: error / n for items with n ratings each, (item +
residual) / m for raters who gave m each. The scale reaches zero, so an estimate of zero has an upper bound.
Bounds are those of a chi-square with the degrees of freedom that the jackknife variance on this scale
implies, never more than what normal effects of so many items or raters would give. Sums and ratios of
components combine the distances to the bounds of their parts in quadrature (Graybill & Wang, 1980; Zou &
Donner, 2008). Shares of item and rater move on the log F scale, with Student's t. All are for raters like these.
Careless raters who happened not to be on the panel would turn part of the items' variance into residual and add
noise of their own: ``bound_if_careless`` is how low items and their share, and how high the residual, may then
be. Profile likelihood and the delta method are there by name; they assume normal effects and raters alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values
from heartfelt.stats.estimate import Estimate, FutureRaters, check_future_raters
from heartfelt.stats.ratings import Ratings, as_ratings
from heartfelt.stats.reliability.crossed import REML, CrossedFit, Quantity, fit_crossed
from heartfelt.stats.reliability.two_way_jackknife import (
    FOR_ALIKE,
    NAME,
    Sums,
    TwoWaySpread,
    attentive_pairs,
    careless_share,
    differences_of,
    from_log_f,
    half_width,
    log_ratio,
    moment_components,
    moment_jackknife,
    normal_log_f,
    on_log_f,
)

ComponentInterval: TypeAlias = Literal["auto", "jackknife", "profile", "delta", "none"]
Bounds: TypeAlias = tuple[float, float]
Reach: TypeAlias = tuple[float, float, float | None]
"""Lower and upper bound, and the one on the worse side if some future raters are careless."""
Part: TypeAlias = tuple[float, Bounds]
"""A value and its bounds."""

QUANTITIES = {
    "item": Quantity((1.0, 0.0, 0.0)),
    "rater": Quantity((0.0, 1.0, 0.0)),
    "residual": Quantity((0.0, 0.0, 1.0)),
    "error": Quantity((0.0, 1.0, 1.0)),
    "item_share": Quantity((1.0, 0.0, 0.0), (0.0, 1.0, 1.0)),
    "rater_share": Quantity((0.0, 1.0, 0.0), (1.0, 0.0, 1.0)),
    "residual_share": Quantity((0.0, 0.0, 1.0), (1.0, 1.0, 0.0)),
}
_LEAST = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
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


def variance_components(
    rater: Ids | Ratings,
    item: Ids = None,
    value: Values = None,
    *,
    confidence: float = 0.95,
    interval: ComponentInterval = "auto",
    seed: int = 0,
    future_raters: FutureRaters = "alike",
) -> VarianceComponents:
    """Item, rater and residual variance of the ratings by REML, each with an interval.

    ``interval``: "auto" is the "jackknife"; "profile" and "delta" are the model's own, "none" leaves them
    out. ``seed`` matters only where traces are estimated from probes. ``future_raters``: "careless" widens the
    jackknife to ``bound_if_careless``.
    """
    _bounds.check_confidence(confidence)
    check_future_raters(future_raters)
    if interval not in ("auto", "jackknife", "profile", "delta", "none"):
        raise InputError(f"No interval here is called '{interval}'.", "Use 'jackknife', 'profile', 'delta' or 'none'.")
    d = as_ratings(rater, item, value)
    fit = fit_crossed(d, seed=seed)
    if isinstance(fit, str):
        gone = Estimate.missing(fit, REML, d.counts)
        missing = dict.fromkeys(QUANTITIES, gone)
        return VarianceComponents(**missing, mean=gone, log_likelihood=None, method=REML, iterations=0, notes=(fit,))
    if interval == "auto" or interval == "jackknife":
        parts = {name: fit.estimate(quantity, confidence, "none") for name, quantity in QUANTITIES.items()}
        bounded = bounded_components(parts, component_bounds(d, fit.variances, confidence), confidence)
        parts = {name: e.for_future_raters(future_raters) for name, e in bounded.items()}
    else:
        parts = {name: fit.estimate(quantity, confidence, interval) for name, quantity in QUANTITIES.items()}
    deviance = fit.fit.step.deviance + (d.size - 1) * float(np.log(2 * np.pi))
    return VarianceComponents(
        **parts,
        mean=_mean(fit, d, confidence),
        log_likelihood=None if fit.probed else -0.5 * deviance,
        method=fit.method,
        iterations=fit.fit.iterations,
        notes=_notes(fit),
    )


def _mean(fit: CrossedFit, d: Ratings, confidence: float) -> Estimate:
    """Generalised least-squares mean; t interval with the levels of the smaller side less one as degrees of freedom."""
    step, df = fit.fit.step, max(min(len(d.items), len(d.raters)) - 1.0, 1.0)
    point_estimate = Estimate(value=float(step.fixed[0]), method="generalised least squares", counts=fit.counts)
    error = math.sqrt(float(step.fixed_covariance[0, 0]))
    return _bounds.with_t(point_estimate, error, df, "Wald, t quantile", confidence)


def _notes(fit: CrossedFit) -> tuple[str, ...]:
    notes = [fit.why_merged] if fit.merged is not None else []
    for position, name in ((0, "item"), (1, "rater")):
        if fit.variances[position] == 0.0 and fit.merged != position:
            notes.append(f"the {name} variance is estimated as zero, the edge of its range")
    if fit.probed:
        notes.append("no log likelihood: traces were estimated from random probes")
    return tuple(notes)


def bounded_components(
    parts: Mapping[str, Estimate], bounds: Mapping[str, Reach] | str, confidence: float
) -> dict[str, Estimate]:
    """Each estimate with its bounds, or with the reason there are none."""
    if isinstance(bounds, str):
        return {name: e if e.is_missing else e.without_interval(bounds) for name, e in parts.items()}
    name_of = f"{NAME}, log scale, {FOR_ALIKE}"
    out = {}
    for name, e in parts.items():
        low, high, careless = bounds[name]
        bounded = replace(e.with_interval(low, high, name_of, confidence), bound_if_careless=careless)
        out[name] = e if e.is_missing else bounded
    return out


def component_bounds(d: Ratings, variances: Floats, confidence: float) -> dict[str, Reach] | str:
    """Two-way jackknife bounds about these estimates (item, rater, residual), or why there are none."""
    jackknife = moment_jackknife(d)
    reason = jackknife.why_unsteady()
    if reason is not None:
        return reason
    item, rater, residual = (float(v) for v in variances)
    total = item + rater + residual
    n, m = _per_level(d.per_item), _per_level(d.per_rater)
    noise, rater_noise = (rater + residual) / n, (item + residual) / m

    def statistics(sums: Sums) -> list[Floats]:
        v_item, v_rater, v_residual, error = moment_components(sums)
        return [
            _log_above(v_item, noise),
            _log_above(v_rater, rater_noise),
            np.log(v_residual),
            log_ratio(v_item, error, n),
            log_ratio(v_rater, np.maximum(v_item + v_residual, 1e-3 * error), m),
            _log_above((v_item + v_rater) / v_residual, noise / residual),
        ]

    spreads = jackknife.spreads(statistics)
    items, raters = spreads[0].item_count, spreads[0].rater_count
    attentive = attentive_pairs(raters)
    worse = residual + (1.0 - attentive) * item + careless_share(raters) * total
    # What raters' gains do: they scale the items, and their spread is part of the residual.
    differences = differences_of(d)
    gains = (2.0 * differences.gain * item / (item + noise)) ** 2 / raters
    spread_of_gains = 2.0 / max(raters - 1.0, 1.0) * (differences.gain**2 * item / residual) ** 2
    noise_variance, df = spreads[2].alike(spread_of_gains)
    least = spreads[2].items + spread_of_gains
    reach_item, reach_residual = (
        _chi_square(*spreads[0].alike(gains), items, confidence),
        _chi_square(max(noise_variance, least), df, d.size - items - raters, confidence),
    )
    of_item, of_residual = _moved(item, noise, reach_item), _moved(residual, 0.0, reach_residual)
    low_item, _ = _moved(item, noise, reach_item, below=attentive * item)
    _, high_residual = _moved(residual, 0.0, reach_residual, above=worse)
    levels = _as_items(spreads[1])
    of_rater = _moved(rater, rater_noise, _chi_square(levels.variance, levels.df, raters, confidence))

    def residual_share(of_item: Bounds, of_residual: Bounds) -> Bounds:
        parts = (residual, of_residual), (item + rater, _sum((item, of_item), (rater, of_rater)))
        of_rest = _rest_bounds((item + rater) / residual, noise / residual, spreads[5], confidence)
        (low, high), (low_rest, high_rest) = _ratio(*parts), of_rest
        return min(low, low_rest), max(high, high_rest)

    if_careless = (low_item, of_item[1]), (of_residual[0], high_residual)
    return {
        "item": (*of_item, low_item),
        "rater": (*of_rater, None),
        "residual": (*of_residual, high_residual),
        "error": (
            *_sum((rater, of_rater), (residual, of_residual)),
            _sum((rater, of_rater), (residual, if_careless[1]))[1],
        ),
        "item_share": share_bounds(
            item / total,
            n,
            spreads[3],
            confidence,
            floor=0.0,
            gain=differences.gain,
            level_response=differences.in_agreement(on_log_f(item / total, n)),
        ),
        "rater_share": (*_rater_share(rater / total, m, _at_least(spreads[4]), confidence), None),
        "residual_share": (*residual_share(of_item, of_residual), residual_share(*if_careless)[1]),
    }


def share_bounds(
    share: float, k: float, spread: TwoWaySpread, confidence: float, *, floor: float, gain: float, level_response: float
) -> Reach:
    """Bounds of the items' share on the log F scale of k ratings, no lower than ``floor``."""
    centre = on_log_f(share, k)
    unseen = on_log_f(attentive_pairs(spread.rater_count) * share, k) if share > 0 else centre
    normal = normal_log_f(spread.item_count, k)
    half = spread.reach_alike(max(-math.expm1(-centre), 0.0), confidence, normal, gain, level_response)
    away = max(spread.reach_if_careless(centre - unseen, confidence), half)
    low, careless = (max(min(from_log_f(centre - reach, k), share), floor) for reach in (half, away))
    return low, max(from_log_f(centre + half, k), share), careless


def _rater_share(share: float, k: float, spread: TwoWaySpread, confidence: float) -> Bounds:
    """Bounds of the raters' share on the log F scale of k ratings each."""
    low, high = spread.bounds(on_log_f(share, k), confidence)
    return max(min(from_log_f(low, k), share), 0.0), max(from_log_f(high, k), share)


def _at_least(spread: TwoWaySpread) -> TwoWaySpread:
    """A spread of raters' levels: no less than normal effects of so many raters would give."""
    least = 2.0 / max(spread.rater_count - 1.0, 1.0)
    raters = max(spread.raters, spread.ratings + least)
    return replace(spread, raters=raters)


def _as_items(spread: TwoWaySpread) -> TwoWaySpread:
    """A spread of raters' levels as one of items: nothing is made up for few raters, whose number bounds it."""
    return TwoWaySpread(
        items=spread.plain_variance,
        raters=0.0,
        ratings=0.0,
        item_count=spread.rater_count,
        rater_count=spread.item_count,
    )


def _chi_square(variance: float, df: float, levels: float, confidence: float) -> Bounds:
    """How far the bounds of a log variance of so many levels lie below and above, from its own variance, known with ``df``."""
    from scipy.special import chdtri

    tail = 0.5 - confidence / 2
    least = 2.0 / max(levels - 1.0, 1.0)
    # What goes beyond normal effects is itself estimated: Student's t in place of the normal quantile.
    ratio = half_width(1.0, df, confidence) / half_width(1.0, 1e9, confidence)
    freedom = max(2.0 / (least + max(variance - least, 0.0) * ratio**2), min((levels - 1.0) / 2.0, 3.0), 1.0)
    low, high = (math.log(float(chdtri(freedom, p)) / freedom) for p in (tail, 1.0 - tail))
    return low, -high


def _moved(value: float, noise: float, reach: Bounds, below: float | None = None, above: float | None = None) -> Bounds:
    """A variance moved on the log scale above its noise, further by what unseen careless raters may do."""
    centre = math.log(value + noise)
    down = 0.0 if below is None else centre - math.log(below + noise)
    up = 0.0 if above is None else math.log(above + noise) - centre
    low = math.exp(centre - math.hypot(reach[0], down)) - noise
    high = math.exp(min(centre + math.hypot(reach[1], up), 700.0)) - noise
    return min(max(low, 0.0), value), max(high, value)


def _sum(*parts: Part) -> Bounds:
    total = sum(value for value, _ in parts)
    down = math.hypot(*(value - low for value, (low, _) in parts))
    up = math.hypot(*(high - value for value, (_, high) in parts))
    return max(total - down, 0.0), total + up


def _ratio(part: Part, remainder: Part) -> Bounds:
    """Bounds of part / (part + rest) from both."""
    (a, (a_low, a_high)), (b, (b_low, b_high)) = part, remainder
    if b <= 0:
        return a_low / (a_low + b_high), 1.0
    odds = math.log(a / b)
    up = math.inf if b_low <= 0 else math.hypot(math.log(a_high / a), math.log(b / b_low))
    down = math.hypot(math.log(a / max(a_low, 1e-300)), math.log(b_high / b))
    return 1.0 / (1.0 + math.exp(min(down - odds, 700.0))), 1.0 / (1.0 + math.exp(-min(odds + up, 700.0)))


def _rest_bounds(remainder: float, noise: float, spread: TwoWaySpread, confidence: float) -> Bounds:
    """Bounds of 1 / (1 + rest) by the jackknife on log(rest + noise)."""
    low, high = spread.bounds(math.log(remainder + noise), confidence)
    # Beyond e^700 there is no number.
    ends = [max(math.exp(min(z, 700.0)) - noise, 0.0) for z in (high, low)]
    return 1.0 / (1.0 + ends[0]), 1.0 / (1.0 + ends[1])


def _per_level(counts: Ints) -> float:
    """Effective number of ratings per level of a one-way layout, at least 1."""
    n = float(counts.sum())
    return max((n - float(np.square(counts, dtype=np.float64).sum()) / n) / max(counts.size - 1, 1), 1.0)


def _log_above(values: Floats, noise: float) -> Floats:
    return np.log(np.maximum(values + noise, _LEAST * noise))
