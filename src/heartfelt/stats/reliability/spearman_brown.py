"""How reliability grows with the number of raters averaged, and how many raters a target needs.

Spearman (1910) and Brown (1910): with reliability r of one rating, the mean of k ratings has reliability k
r / (1 + (k - 1) r). Which r to start from decides what is asked: ICC(1) or ICC(2) where each item may be
rated by other raters (their level counts as error), ICC(3) where the same raters rate everything. Both
directions are monotone, so bounds of r carry over. A number of raters is rounded up to a whole one.
"""

from __future__ import annotations

import math

from heartfelt.errors import InputError
from heartfelt.stats.estimate import Estimate

METHOD = "Spearman-Brown"


def stepped_up(r: float, k: float) -> float:
    """Reliability of the mean of k ratings from that of one."""
    below = 1.0 + (k - 1.0) * r
    return k * r / below if below > 0 else -math.inf


def stepped_bound(r: float, k: float, value: float) -> float:
    """A lower bound stepped up, held at -1 (or the value, if that is lower): below it there is nothing to tell."""
    return max(stepped_up(r, k), min(-1.0, value))


def stepped_down(r: float, k: float) -> float:
    """Reliability of one rating from that of the mean of k."""
    return r / (k - (k - 1.0) * r)


def reliability_with(single: Estimate | float, k: float) -> Estimate:
    """Reliability of the mean of ``k`` ratings, from the reliability of a single one."""
    if not (math.isfinite(k) and k > 0):
        raise InputError(
            f"A number of raters must be positive; got {k}.", "Pass the number of ratings averaged per item."
        )
    start = _checked(single)
    if start.value is None:
        return Estimate.missing(start.why_missing or "", _method(start, k), start.counts)
    value = stepped_up(start.value, k)
    if not math.isfinite(value):
        return Estimate.missing(
            f"a single-rating reliability of {start.value:.3f} has no counterpart for {k:g} raters",
            _method(start, k),
            start.counts,
        )
    return Estimate(
        value,
        None if start.low is None else stepped_bound(start.low, k, value),
        None if start.high is None else stepped_up(start.high, k),
        _method(start, k),
        _interval(start),
        start.confidence,
        start.counts,
        None,
        start.why_no_interval,
    )


def raters_needed(single: Estimate | float, target: float) -> Estimate:
    """Raters per item needed for a reliability of ``target``, from the reliability of a single rating.

    The bounds swap: the upper bound of the reliability gives the lower bound of the number. An upper bound
    is absent where the reliability may be zero or below, since then no number suffices.
    """
    if not 0.0 < target < 1.0:
        raise InputError(f"A target reliability lies between 0 and 1; got {target}.", "Pass for example 0.8.")
    start = _checked(single)
    method = f"{METHOD} to a reliability of {target:g}, from {start.method or 'a given reliability'}"
    if start.value is None:
        return Estimate.missing(start.why_missing or "", method, start.counts)
    if start.value <= 0:
        return Estimate.missing(
            "a single rating has no reliability, so no number of raters reaches the target",
            method,
            start.counts,
        )
    bounded = start.low is not None and start.high is not None
    interval = _interval(start)
    if bounded and start.low is not None and start.low <= 0:
        interval += "; no upper bound, since the reliability may be zero"
    return Estimate(
        _needed(start.value, target),
        _needed(start.high, target) if start.high is not None else None,
        _needed(start.low, target) if start.low is not None else None,
        method,
        interval,
        start.confidence,
        start.counts,
        None,
        start.why_no_interval,
    )


def _needed(r: float, target: float) -> float | None:
    if r <= 0:
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
    return Estimate(
        float(single),
        method="a given reliability",
        why_no_interval="the reliability was given without an interval",
    )


def _method(start: Estimate, k: float) -> str:
    return f"{METHOD} to {k:g} raters, from {start.method or 'a given reliability'}"


def _interval(start: Estimate) -> str:
    return f"{start.interval}, by {METHOD}" if start.interval else ""
