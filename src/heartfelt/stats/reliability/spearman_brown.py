"""How reliability grows with the number of raters averaged, and how many raters a target needs.

With a reliability r of one rating, the mean of k ratings has reliability k r / (1 + (k - 1) r) (Spearman
1910; Brown 1910). Start from ICC(1) or ICC(2) where each item may be rated by other raters (their levels
count as error), from ICC(3) where the same raters rate everything. Both directions are monotone, so bounds of
r carry over. A number of raters is rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from heartfelt.errors import InputError
from heartfelt.stats.estimate import Estimate

METHOD = "Spearman-Brown"


def stepped_up(r: float, k: float) -> float:
    """Reliability of the mean of k ratings from that of one."""
    below = 1.0 + (k - 1.0) * r
    return k * r / below if below > 0 else -math.inf


def stepped_bound(r: float, k: float, value: float) -> float:
    """A lower bound stepped up, no lower than -1 (or the value, if that is lower)."""
    return max(stepped_up(r, k), min(-1.0, value))


def stepped(single: Estimate, k: float, method: str, exact: bool = False) -> Estimate:
    """The reliability of one rating stepped up to the mean of k, with its bounds; ``exact`` ones may lie below -1."""
    if single.value is None:
        return replace(single, method=method)
    value = stepped_up(single.value, k)
    if not math.isfinite(value):
        reason = f"a single-rating reliability of {single.value:.3f} has no counterpart for {k:g} ratings"
        return Estimate.missing(reason, method, single.counts)
    low = None if single.low is None else stepped_bound(single.low, k, value)
    if exact and single.low is not None and math.isfinite(stepped_up(single.low, k)):
        low = stepped_up(single.low, k)
    high = None if single.high is None else stepped_up(single.high, k)
    bound = single.bound_if_careless
    careless = None if bound is None else stepped_bound(bound, k, value)
    return replace(single, value=value, low=low, high=high, method=method, bound_if_careless=careless)


def reliability_with(single: Estimate | float, k: float) -> Estimate:
    """Reliability of the mean of ``k`` ratings, from the reliability of a single one."""
    if not (math.isfinite(k) and k > 0):
        raise InputError(
            f"A number of raters must be positive; got {k}.", "Pass the number of ratings averaged per item."
        )
    start = _checked(single)
    method = f"{METHOD} to {k:g} raters, from {start.method or 'a given reliability'}"
    return replace(stepped(start, k, method), interval=_interval(start))


def reliability_curve(estimates: Mapping[int, Estimate], last: int) -> dict[int, Estimate]:
    """Reliability of the mean of 1 to ``last`` ratings where the known ones lie on one curve; else the known ones.

    Bounds of a single rating outside 0 to 1 have no curve and are left out.
    """
    present = {k: estimate for k, estimate in sorted(estimates.items()) if estimate.value is not None}
    single = float(present[1]) if 1 in present else 0.0
    gaps = [abs(stepped_up(single, k) - float(estimate)) for k, estimate in present.items()]
    if not 0 < single < 1 or max(gaps) >= 0.005:
        return {k: estimate for k, estimate in present.items() if k <= last}
    low, high = (b if b is not None and 0 <= b <= 1 else None for b in (present[1].low, present[1].high))
    start = replace(present[1], low=low, high=high)
    return {k: stepped(start, k, METHOD) for k in range(1, last + 1)}


def raters_needed(single: Estimate | float, target: float) -> Estimate:
    """Raters per item needed for a reliability of ``target``, from the reliability of a single rating.

    The bounds swap: the upper bound of the reliability gives the lower bound of the number. An upper bound is
    absent where the reliability may be zero or below, since then no number suffices. ``bound_if_careless`` is the
    upper bound if some future raters are careless.
    """
    if not 0.0 < target < 1.0:
        raise InputError(f"A target reliability lies between 0 and 1; got {target}.", "Pass for example 0.8.")
    start = _checked(single)
    method = f"{METHOD} to a reliability of {target:g}, from {start.method or 'a given reliability'}"
    if start.value is None:
        return replace(start, method=method)
    if start.value <= 0:
        reason = "a single rating has no reliability, so no number of raters reaches the target"
        return Estimate.missing(reason, method, start.counts)
    interval = _interval(start)
    if start.low is not None and start.high is not None and start.low <= 0:
        interval += "; no upper bound, since the reliability may be zero"
    ends = (start.value, start.high, start.low, start.bound_if_careless)
    value, low, high, careless = (_needed(r, target) for r in ends)
    return replace(start, value=value, low=low, high=high, method=method, interval=interval, bound_if_careless=careless)


def _needed(r: float | None, target: float) -> float | None:
    if r is None or r <= 0:
        return None
    exact = target * (1.0 - r) / ((1.0 - target) * r)
    return float(max(1, math.ceil(exact - 1e-9)))


def _checked(single: Estimate | float) -> Estimate:
    if isinstance(single, Estimate):
        return single
    if not (math.isfinite(single) and -1.0 <= single <= 1.0):
        raise InputError(
            f"The reliability of a single rating lies between -1 and 1; got {single}.",
            "Pass an intraclass correlation of single ratings, such as icc(...).icc2.",
        )
    reason = "the reliability was given without an interval"
    return Estimate(value=float(single), method="a given reliability", why_no_interval=reason)


def _interval(start: Estimate) -> str:
    return f"{start.interval}, by {METHOD}" if start.interval else ""
