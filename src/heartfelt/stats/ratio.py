"""The ratio of two estimates, with an interval made from theirs.

Both intervals are used as they are, lopsided or not (the method of variance estimates recovery, MOVER; Donner and Zou
2012, *Statistical Methods in Medical Research* 21). The two are taken to be independent. The lower of the two must stay
above 0: a ratio to something that may be nothing has no bounds.
"""

from __future__ import annotations

import math

from heartfelt.stats.estimate import Estimate

# A bound this small a share of the value cannot be told from 0.
NOTHING = 1e-3


def ratio(top: Estimate, bottom: Estimate, method: str = "ratio") -> Estimate:
    """``top / bottom`` with a MOVER interval, or the reason there is none."""
    counts = dict(top.counts)
    for side in (top, bottom):
        if side.value is None:
            return Estimate.missing(side.why_missing or "one side is missing", method, counts)
    a, b = float(top), float(bottom)
    if b <= 0:
        return Estimate.missing("what it is divided by is not above 0", method, counts)
    plain = Estimate(a / b, method=method, counts=counts)
    if top.low is None or top.high is None or bottom.low is None or bottom.high is None:
        why = top.why_no_interval or bottom.why_no_interval or "one side has no interval"
        return Estimate(a / b, method=method, counts=counts, why_no_interval=why)
    if top.confidence != bottom.confidence:
        why = "the two intervals are at different levels"
        return Estimate(a / b, method=method, counts=counts, why_no_interval=why)
    low = _end(a, b, top.low, bottom.high, -1)
    high = _end(a, b, top.high, bottom.low, 1)
    if low is None or high is None:
        why = "what it is divided by may be 0"
        return Estimate(a / b, method=method, counts=counts, why_no_interval=why)
    return plain.with_interval(
        min(low, a / b), max(high, a / b), "MOVER from the two intervals", top.confidence
    )


def _end(a: float, b: float, top: float, bottom: float, sign: int) -> float | None:
    """One bound: the end of ``a``'s interval against the opposite end of ``b``'s."""
    below = bottom * (2 * b - bottom)
    if bottom <= NOTHING * b or below <= 0:
        return None
    # (a b)² - top (2a - top) * below, written as a sum of squares: it cannot be negative but for rounding.
    under = (a * b) ** 2 - top * (2 * a - top) * below
    return (a * b + sign * math.sqrt(max(under, 0.0))) / below
