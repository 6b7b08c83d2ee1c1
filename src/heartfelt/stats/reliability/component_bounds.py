"""Two-way jackknife bounds of variance components and their shares.

A component v moves on the scale log(v + c), where c is the part of noise in the variance of the level means it
shows in: error / n for items with n ratings each, (item + residual) / m for raters who gave m each. The scale
reaches zero, so an estimate of zero has an upper bound. Bounds are those of a chi-square with the degrees of
freedom that the jackknife variance on this scale implies, never more than what normal effects of so many
items or raters would give. Sums and ratios of components combine the distances to the bounds of their parts in
quadrature (Graybill & Wang, 1980; Zou & Donner, 2008). Shares of item and rater move on the log F scale, with
Student's t.

Careless raters who happened not to be on the panel (``stats._two_way``) would turn part of the items' variance
into residual and add noise of their own: items and their share are held to that from below, the residual from
above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from heartfelt.stats._two_way import TwoWaySpread, attentive_pairs, careless_share, half_width
from heartfelt.stats.reliability.design import Design
from heartfelt.stats.reliability.jackknife import (
    MomentJackknife,
    Rows,
    from_log_f,
    log_agreement,
    moment_components,
    on_log_f,
)
from heartfelt.stats.triples import Floats, Ints

_LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class ComponentBounds:
    """Bounds of the components, of their shares and of the error (rater + residual)."""

    item: tuple[float, float]
    rater: tuple[float, float]
    residual: tuple[float, float]
    error: tuple[float, float]
    item_share: tuple[float, float]
    rater_share: tuple[float, float]
    residual_share: tuple[float, float]


def component_bounds(d: Design, variances: Floats, confidence: float) -> ComponentBounds | str:
    """Bounds about these estimates (item, rater, residual), or why there are none."""
    jackknife = MomentJackknife(d)
    why = jackknife.why_unsteady()
    if why is not None:
        return why
    item, rater, residual = (float(v) for v in variances)
    n, m = _per_level(d.per_item), _per_level(d.per_rater)
    noise, rater_noise = (rater + residual) / n, (item + residual) / m
    spreads = jackknife.spreads(
        lambda sums: _log_above(moment_components(sums)[0], noise),
        lambda sums: _log_above(moment_components(sums)[1], rater_noise),
        lambda sums: np.log(moment_components(sums)[2]),
        lambda sums: log_agreement(sums, n),
        lambda sums: _log_rater(sums, m),
        lambda sums: _log_rest(sums, noise / residual),
    )
    items, raters = spreads[0].item_count, spreads[0].rater_count
    kept = attentive_pairs(raters)
    worse = residual + (1.0 - kept) * item + careless_share(raters) * (item + rater + residual)
    of_item = _moved(item, noise, _chi_square(spreads[0], items, confidence), below=kept * item)
    of_rater = _moved(rater, rater_noise, _chi_square(_plain(spreads[1]), raters, confidence))
    of_residual = _moved(
        residual, 0.0, _chi_square(spreads[2], d.size - items - raters, confidence), above=worse
    )
    rest = _sum((item, of_item), (rater, of_rater))
    return ComponentBounds(
        of_item,
        of_rater,
        of_residual,
        _sum((rater, of_rater), (residual, of_residual)),
        share_bounds(item / (item + rater + residual), n, spreads[3], confidence, kept),
        share_bounds(rater / (item + rater + residual), m, _at_least(spreads[4]), confidence, 1.0),
        _widest(
            _ratio((residual, of_residual), (item + rater, rest)),
            _rest_bounds((item + rater) / residual, noise / residual, spreads[5], confidence),
        ),
    )


def share_bounds(
    share: float, k: float, spread: TwoWaySpread, confidence: float, kept: float
) -> tuple[float, float]:
    """Bounds of a share on the log F scale of k ratings; ``kept`` is what unseen careless raters leave of it."""
    centre = on_log_f(share, k)
    low, high = spread.bounds(centre, confidence, below=centre - on_log_f(kept * share, k))
    return max(min(from_log_f(low, k), share), 0.0), max(from_log_f(high, k), share)


def _at_least(spread: TwoWaySpread) -> TwoWaySpread:
    """A spread of raters' levels: no less than normal effects of so many raters would give."""
    least = 2.0 / max(spread.rater_count - 1.0, 1.0)
    raters = max(spread.raters, spread.ratings + least)
    return TwoWaySpread(spread.items, raters, spread.ratings, spread.item_count, spread.rater_count)


def _plain(spread: TwoWaySpread) -> TwoWaySpread:
    """A spread of raters' levels as one of items: nothing is made up for few raters, whose number bounds it."""
    both = spread.items + max(spread.raters - spread.ratings, 0.0)
    return TwoWaySpread(both, 0.0, 0.0, spread.rater_count, spread.item_count)


def _chi_square(spread: TwoWaySpread, levels: float, confidence: float) -> tuple[float, float]:
    """How far the bounds of a log variance lie below and above."""
    from scipy.special import chdtri

    tail = 0.5 - confidence / 2
    least = 2.0 / max(levels - 1.0, 1.0)
    # What goes beyond normal effects is itself estimated: Student's t in place of the normal quantile.
    ratio = half_width(1.0, spread.df, confidence) / half_width(1.0, 1e9, confidence)
    variance = least + max(spread.variance - least, 0.0) * ratio**2
    fewest = max((min(spread.item_count, spread.rater_count) - 1.0) / 2.0, 1.0)
    df = max(2.0 / variance, fewest)
    low, high = (math.log(float(chdtri(df, p)) / df) for p in (tail, 1.0 - tail))
    return low, -high


def _moved(
    value: float,
    noise: float,
    reach: tuple[float, float],
    below: float | None = None,
    above: float | None = None,
) -> tuple[float, float]:
    """A variance moved on the log scale above its noise, further by what unseen careless raters may do."""
    centre = math.log(value + noise)
    down = 0.0 if below is None else centre - math.log(below + noise)
    up = 0.0 if above is None else math.log(above + noise) - centre
    low = math.exp(centre - math.hypot(reach[0], down)) - noise
    high = math.exp(min(centre + math.hypot(reach[1], up), 700.0)) - noise
    return min(max(low, 0.0), value), max(high, value)


def _sum(*parts: tuple[float, tuple[float, float]]) -> tuple[float, float]:
    """Bounds of a sum from its parts and their bounds."""
    total = sum(value for value, _ in parts)
    down = math.hypot(*(value - low for value, (low, _) in parts))
    up = math.hypot(*(high - value for value, (_, high) in parts))
    return max(total - down, 0.0), total + up


def _ratio(
    part: tuple[float, tuple[float, float]], rest: tuple[float, tuple[float, float]]
) -> tuple[float, float]:
    """Bounds of part / (part + rest) from both and their bounds."""
    (a, (a_low, a_high)), (b, (b_low, b_high)) = part, rest
    if b <= 0:
        return a_low / (a_low + b_high), 1.0
    odds = math.log(a / b)
    up = math.inf if b_low <= 0 else math.hypot(math.log(a_high / a), math.log(b / b_low))
    down = math.hypot(math.log(a / max(a_low, 1e-300)), math.log(b_high / b))
    return 1.0 / (1.0 + math.exp(min(down - odds, 700.0))), 1.0 / (1.0 + math.exp(-min(odds + up, 700.0)))


def _rest_bounds(rest: float, noise: float, spread: TwoWaySpread, confidence: float) -> tuple[float, float]:
    """Bounds of 1 / (1 + rest) by the jackknife on log(rest + noise)."""
    low, high = spread.bounds(math.log(rest + noise), confidence)
    ends = [max(math.exp(min(z, 700.0)) - noise, 0.0) for z in (high, low)]
    return 1.0 / (1.0 + ends[0]), 1.0 / (1.0 + ends[1])


def _widest(*bounds: tuple[float, float]) -> tuple[float, float]:
    return min(low for low, _ in bounds), max(high for _, high in bounds)


def _per_level(counts: Ints) -> float:
    """Effective number of ratings per level of a one-way layout, at least 1."""
    n = float(counts.sum())
    return max((n - float(np.square(counts, dtype=np.float64).sum()) / n) / max(counts.size - 1, 1), 1.0)


def _log_above(values: Floats, noise: float) -> Floats:
    return np.log(np.maximum(values + noise, _LEAST * noise))


def _log_rater(sums: Rows, m: float) -> Floats:
    item, rater, residual, error = moment_components(sums)
    rest = np.maximum(item + residual, 1e-3 * error)
    return np.log(np.maximum(1.0 + m * rater / rest, _LEAST))


def _log_rest(sums: Rows, noise: float) -> Floats:
    item, rater, residual, _ = moment_components(sums)
    return _log_above((item + rater) / residual, noise)
