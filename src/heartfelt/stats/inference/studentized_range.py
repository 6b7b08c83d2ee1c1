"""The studentized range distribution: of the span of k normal means over an independent standard deviation.

Both integrals are trapezoid sums, which converge exponentially here: over the smallest of the k values (the
integrand is as smooth and as thin-tailed as a normal density), and over the logarithm of the standard
deviation. Written for the upper tail, so that small p-values keep their digits. Lund and Lund (1983) give
the integrals.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from heartfelt.stats.triples import Floats

_REACH = 8.4


def _range_tail(span: Floats, groups: int) -> Floats:
    """Chance that the range of ``groups`` standard normals exceeds each span."""
    from scipy.special import ndtr

    flat = span.ravel()
    step = 0.3 if groups < 10 else 0.15
    far = _REACH + float(flat.max(initial=0.0)) / 2
    top = np.arange(-_REACH, far + step, step)
    below = ndtr(top)
    density = np.exp(-0.5 * top * top) / math.sqrt(2 * math.pi) * below ** (groups - 1) * groups * step
    out = np.empty(flat.size)
    for start in range(0, flat.size, 4096):
        part = flat[start : start + 4096]
        share = np.minimum(ndtr(top - part[:, None]) / below, 1 - 1.2e-16)
        out[start : start + 4096] = -np.expm1((groups - 1) * np.log1p(-share)) @ density
    return np.minimum(out, 1.0).reshape(span.shape)


def upper_tail(q: float, groups: int, df: float) -> float:
    """Chance that the studentized range exceeds ``q``."""
    if q <= 0:
        return 1.0
    if not math.isfinite(df) or df > 1e8:
        return float(_range_tail(np.array([q]), groups)[0])
    # Density of u = ln(s): proportional to exp(df * u - df * exp(2u) / 2). Beside the range's own tail, which
    # falls like exp(-q² s² / 4), the product peaks at a smaller s.
    peak = 0.5 * math.log(df / (df + q * q / 2))
    reach = 32 / df
    low = peak - reach - math.sqrt(reach)
    high = 0.5 * math.log1p(2 * reach + 2 * math.sqrt(reach))
    step = min(0.6 / math.sqrt(2 * df + 2), 0.18)
    u = np.arange(low, high + step, step)
    log_constant = math.log(2) + 0.5 * df * math.log(df / 2) - math.lgamma(df / 2)
    weight = np.exp(log_constant + df * u - 0.5 * df * np.exp(2 * u)) * step
    return min(float(weight @ _range_tail(q * np.exp(u), groups)), 1.0)


@lru_cache(maxsize=512)
def critical(confidence: float, groups: int, df: float) -> float:
    """The value exceeded with chance ``1 - level``, by secants on logarithmic scales."""
    from scipy.special import stdtrit

    target = math.log1p(-confidence)

    def gap(log_q: float) -> float:
        return math.log(max(upper_tail(math.exp(log_q), groups, df), 1e-300)) - target

    # Bonferroni's value for all pairs is close, and a little above.
    start = math.sqrt(2) * -float(stdtrit(df, (1 - confidence) / (groups * (groups - 1))))
    before, here = math.log(start), math.log(start) - 0.02
    gap_before, gap_here = gap(before), gap(here)
    for _ in range(50):
        if abs(gap_here) < 1e-12 or gap_here == gap_before:
            break
        step = -gap_here * (here - before) / (gap_here - gap_before)
        before, gap_before = here, gap_here
        here += min(max(step, -0.5), 0.5)
        gap_here = gap(here)
    return math.exp(here)
