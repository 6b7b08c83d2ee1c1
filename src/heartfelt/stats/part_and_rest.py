"""The mean of a part of some values compared with that of the rest, by the permutation distribution in closed form.

Where values are dealt to part and rest at random, the variance and skewness of the part's mean follow from those of all values;
Pearson's type III distribution has the same (Mielke and Berry 2007, *Permutation Methods*). Squared errors are skewed, and a
small part with a large mean is then less surprising than Student's t says. Interval and p-value agree.
"""

from __future__ import annotations

import math

import numpy as np

from heartfelt.stats.triples import Floats

LEAST_SKEW = 1e-3


def part_and_rest(part: Floats, rest: Floats, *, confidence: float) -> tuple[float, float, float] | None:
    """Interval and p-value of the difference of two means, were the values dealt to the two at random.

    None where all values are equal.
    """
    values = np.concatenate([part, rest])
    n, k = values.size, part.size
    centred = values - values.mean()
    second, third = float(np.mean(centred**2)), float(np.mean(centred**3))
    if second <= 1e-24 * max(float(np.abs(values).max()) ** 2, 1e-300):
        return None
    difference = float(part.mean() - rest.mean())
    error = math.sqrt(second * n * n / ((n - 1) * k * (n - k)))
    skew = third / second**1.5 * (n - 2 * k) / (n - 2) * math.sqrt((n - 1) / (k * (n - k)))
    tail = (1 - confidence) / 2
    low, high = _type_three_quantile(tail, skew), _type_three_quantile(1 - tail, skew)
    above = _type_three_above(difference / error, skew)
    p = min(2 * min(above, 1 - above), 1.0)
    return difference - high * error, difference - low * error, p


def _type_three_above(z: float, skew: float) -> float:
    """The share of a standardised Pearson type III distribution that lies above ``z``."""
    from scipy.special import gammaincc, ndtr

    if abs(skew) < LEAST_SKEW:
        return float(ndtr(-z))
    shape = 4 / skew**2
    above = float(gammaincc(shape, max(shape + math.copysign(z, z * skew) * math.sqrt(shape), 0.0)))
    return above if skew > 0 else 1 - above


def _type_three_quantile(share: float, skew: float) -> float:
    from scipy.special import gammaincinv, ndtri

    if abs(skew) < LEAST_SKEW:
        return float(ndtri(share))
    shape = 4 / skew**2
    position = float(gammaincinv(shape, share if skew > 0 else 1 - share))
    return math.copysign(1.0, skew) * (position - shape) / math.sqrt(shape)
