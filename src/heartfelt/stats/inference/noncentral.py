"""Intervals of explained variance by inverting the noncentral F distribution (Steiger 2004).

The noncentrality lambda of an effect tested on ``n`` rows corresponds to a share ``lambda / (lambda + n)``
of the variance left by the other effects. The bounds are the shares under which the observed F lies at the
upper and the lower tail.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def share_bounds(
    f: float, df: float, df_residual: float, rows: int, confidence: float
) -> tuple[float, float] | None:
    """Bounds of the share of variance behind an F statistic, or None where the distribution gives out."""
    tail = (1 - confidence) / 2
    ends = []
    for below in (1 - tail, tail):
        noncentrality = _noncentrality(f, df, df_residual, below)
        if noncentrality is None:
            return None
        ends.append(noncentrality / (noncentrality + rows))
    return ends[0], ends[1]


def _noncentrality(f: float, df: float, df_residual: float, below: float) -> float | None:
    """The noncentrality under which F lies below ``f`` with chance ``below``; 0 if even the central one is
    less.
    """
    from scipy.special import fdtr, ncfdtr

    if float(fdtr(df, df_residual, f)) <= below:
        return 0.0
    target = _NORMAL.inv_cdf(below)

    def gap(root: float) -> float:
        chance = float(ncfdtr(df, df_residual, root * root, f))
        if not math.isfinite(chance):
            return math.nan
        return _NORMAL.inv_cdf(min(max(chance, 1e-300), 1 - 1e-16)) - target

    # On the scale of the root, the normal quantile of the distribution falls almost linearly.
    middle = math.sqrt(max(df * f - df, 0.25))
    spread = math.sqrt(1 + df * f * df * f / (2 * df_residual * max(df * f, 1)))
    return _falling_root(gap, max(middle - spread * target, 0.1), spread)


def _falling_root(gap: object, start: float, step: float) -> float | None:
    from scipy.optimize import brentq

    assert callable(gap)
    low, high = max(start - 0.5 * step, 0.0), start + 0.5 * step
    at_low, at_high = gap(low), gap(high)
    for _ in range(60):
        if math.isnan(at_low) or math.isnan(at_high):
            return None
        if at_low >= 0 >= at_high:
            root = brentq(gap, low, high, xtol=1e-9, rtol=1e-10)
            return float(root) ** 2
        step *= 2
        if at_low < 0:
            high, at_high = low, at_low
            low = max(low - step, 0.0)
            at_low = gap(low)
        else:
            low, at_low = high, at_high
            high += step
            at_high = gap(high)
    return None
