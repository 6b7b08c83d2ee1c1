"""Confidence intervals for agreement: raters and items are both samples.

The default is a two-way jackknife. With ``V_items``, ``V_raters`` and ``V_ratings`` the variances found by
leaving out one item, one rater and one rating at a time,

    variance = V_items + (1 + 4 / raters) max(V_raters - V_ratings, 0).

The last term is what the first two both count: the noise of single ratings. The bounds are taken on a scale
where the statistic is unbounded (log F for alpha and Fleiss' kappa, inverse hyperbolic tangent for others, logit for shares) with
Student's t, its degrees of freedom after Satterthwaite from the effective numbers of items and raters.
What raters' gains and levels usually add comes from ``stats.rater_differences``.
Coefficients have two intervals, as intraclass correlations have (``stats.two_way_jackknife``): one for raters like
these, and with ``bound_if_careless`` how low they may be if some future raters are careless. Two raters cannot be left
out: they are assumed to differ as raters usually do.

In simulations with crossed random effects this covers close to 95 in 100, where leaving out items alone
covers as few as 78, and resampling raters and items with replacement (the pigeonhole bootstrap) nearly
always, at up to twice the width; ``docs/stats/coverage.md`` has the figures. With raters unknown only items are left out, and
the interval's name says so: it then generalises to other items only.

Sources: Cameron, Gelbach, Miller, Robust inference with multiway clustering, 2011 (the sum of variances);
Efron, Stein, The jackknife estimate of variance, 1981; Owen, The pigeonhole bootstrap, 2007.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, suggestion
from heartfelt.stats.estimate import Estimate, FutureRaters
from heartfelt.stats.reliability.rater_differences import USUAL, RaterDifferences
from heartfelt.stats.reliability.two_way_jackknife import (
    FOR_ALIKE,
    TwoWaySpread,
    attentive_pairs,
    effective,
    from_log_f,
    half_width,
    jackknife_variance,
    normal_log_f,
    on_log_f,
)
from heartfelt.wording import plural

METHODS = ("jackknife", "bootstrap")
RESAMPLES = ("both", "items")
FUTURE_RATERS = get_args(FutureRaters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """How an interval is made; ``resamples`` is for a bootstrap, ``future_raters`` for the jackknife of a coefficient."""

    method: str = "jackknife"
    resample: str = "both"
    resamples: int = 1000
    confidence: float = 0.95
    future_raters: FutureRaters = "alike"

    def __post_init__(self) -> None:
        for name, choices in (
            ("method", METHODS), ("resample", RESAMPLES), ("future_raters", FUTURE_RATERS)
        ):  # fmt: skip
            chosen = getattr(self, name)
            if chosen not in choices:
                raise InputError(f"No interval {name} is called {chosen!r}.", suggestion(str(chosen), choices))
        if not 0 < self.confidence < 1:
            raise InputError(f"The confidence must lie between 0 and 1; got {self.confidence}.", "Use 0.95.")
        if self.resamples < 100:
            raise InputError(f"resamples must be at least 100; got {self.resamples}.", "Use 1,000 or more.")


def wanted(
    interval: str | Interval | None,
    resample: str | None = None,
    only: str | None = None,
    future_raters: FutureRaters | None = None,
) -> Interval | None:
    """Read an ``interval`` argument; ``only`` names the one method a statistic offers."""
    if interval is None:
        return None
    plan = interval if isinstance(interval, Interval) else Interval(method=str(interval))
    if resample is not None:
        plan = replace(plan, resample=resample)
    if future_raters is not None:
        plan = replace(plan, future_raters=future_raters)
    if only is not None and plan.method != only:
        raise InputError(
            f"This statistic has no {plan.method} interval.", f"Pass interval='{only}', or None for no interval."
        )
    return plan


def leave_out(
    by_item: npt.NDArray[np.float64],
    by_rater: npt.NDArray[np.float64] | None,
    cells: tuple[int, float, float],
    item_sizes: npt.NDArray[Any],
    rater_sizes: npt.NDArray[Any] | None,
) -> tuple[TwoWaySpread, str] | str:
    """Gather values by item, rater and rating into a spread, or say why there can be none.

    ``by_item`` and ``by_rater`` hold the value, or its change, without each unit that took part, NaN where nothing is left to
    compute from; ``cells`` is count, sum and sum of squares of the changes by single ratings. With the spread comes the reason
    why raters are not part of it, "" where they are.
    """
    if by_item.size < 2:
        return "a single item says nothing about how items differ"
    if np.isnan(by_item).any():
        return "without one of the items nothing is left to compute from"
    spread = TwoWaySpread(
        items=jackknife_variance(by_item), raters=0.0, ratings=0.0, item_count=effective(item_sizes), rater_count=1.0
    )
    if by_rater is None or rater_sizes is None:
        return spread, "raters unknown"
    if by_rater.size < 3 or np.isnan(by_rater).any():
        few = f"only {plural(by_rater.size, 'rater')}"
        reason = few if by_rater.size < 3 else "without one of the raters nothing is left"
        return replace(spread, rater_count=by_rater.size), reason
    count, first, second = cells
    ratings = max(second - first * first / count, 0.0) if count > 1 else 0.0
    raters = jackknife_variance(by_rater)
    return replace(spread, raters=raters, ratings=ratings, rater_count=effective(rater_sizes)), ""


def with_bounds(
    estimate: Estimate,
    spread: tuple[TwoWaySpread, str] | str,
    plan: Interval,
    scale: str = "coefficient",
    per_item: float | None = None,
    differences: RaterDifferences = USUAL,
) -> Estimate:
    """Return the estimate with jackknife bounds, or with the reason why it has none.

    A coefficient that is a reliability of single ratings says how many there are ``per_item``, and what they show of how far
    raters differ.
    """
    if estimate.value is None:
        return estimate
    if isinstance(spread, str):
        return estimate.without_interval(spread)
    two_way, name, both = _sampled(*spread, plan.resample, scale)
    if not both or (per_item is not None and estimate.value <= -1.0 / max(per_item - 1.0, 1e-9)):
        per_item = None
    if not math.isfinite(two_way.variance) or two_way.variance <= 1e-24:
        return estimate.without_interval(
            "leaving out any item or rater changes nothing, which would make an interval without width"
        )
    bounds = _bounds(estimate.value, two_way, plan.confidence, scale, both, per_item, differences)
    if isinstance(bounds, str):
        return estimate.without_interval(bounds)
    low, high, careless = bounds
    for_whom = f", {FOR_ALIKE}" if both else ""
    bounded = estimate.with_interval(low, high, f"{name}, Student's t{for_whom}", plan.confidence)
    bounded_estimate = replace(bounded, bound_if_careless=careless).for_future_raters(plan.future_raters)
    return bounded_estimate.informative(-1.0) if scale == "coefficient" else bounded_estimate


def _sampled(two_way: TwoWaySpread, why_items_only: str, resample: str, scale: str) -> tuple[TwoWaySpread, str, bool]:
    """The spread over what is taken as a sample, its name, and whether it is of a coefficient over items and raters."""
    if resample == "items":
        return replace(two_way, raters=0.0, ratings=0.0, rater_count=1.0), "jackknife over items", False
    both = scale == "coefficient" and (not why_items_only or two_way.rater_count == 2)
    if not why_items_only:
        return two_way, "two-way jackknife over items and raters", both
    assumed = f", raters assumed to differ as usual ({why_items_only})" if both else f" ({why_items_only})"
    return two_way, f"jackknife over items{assumed}", both


def _bounds(
    value: float,
    spread: TwoWaySpread,
    confidence: float,
    scale: str,
    both: bool,
    per_item: float | None,
    differences: RaterDifferences,
) -> tuple[float, float, float | None] | str:
    """Bounds on an unbounded scale and, of a coefficient over ``both`` items and raters, the lower one if some are careless."""
    from scipy.special import expit, logit

    low, high = (0.0, 1.0) if scale == "share" else (-1.0, 1.0)
    if min(value - low, high - value) < 1e-12:
        return f"the value lies on the edge of its range, {value:g}"
    width = high - low

    def to(x: float) -> float:
        # Logit and inverse hyperbolic tangent are the same map, stretched.
        return float(logit((x - low) / width)) if per_item is None else on_log_f(x, per_item)

    def back(z: float) -> float:
        return low + width * float(expit(z)) if per_item is None else from_log_f(z, per_item)

    slope, normal_items, levels = width / ((value - low) * (high - value)), None, 0.0
    if per_item is not None:
        slope = per_item / ((1.0 - value) * (1.0 + (per_item - 1.0) * value))
        normal_items = normal_log_f(spread.item_count, per_item) / slope**2
        levels = differences.in_one_way(to(value)) / slope
    centre, response = to(value), max(value, 0.0) * (1.0 - value)
    half, careless = half_width(spread.variance, spread.df, confidence) * slope, None
    if both:
        distance = centre - to(attentive_pairs(spread.rater_count) * value) if value > 0 else 0.0
        away = spread.reach_if_careless(distance / slope, confidence) * slope
        half = spread.reach_alike(response, confidence, normal_items, differences.gain, levels) * slope
        careless = back(centre - max(away, half))
    return back(centre - half), back(centre + half), careless
