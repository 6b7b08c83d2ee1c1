"""The median rating of each item.

With an even number of ratings the median is the mean of the middle two. Standard error: the exact bootstrap
one, the standard deviation of the median over all resamples of the item's ratings, found from the
distribution of order statistics without drawing any (Maritz & Jarrett, 1978; above 1,000 ratings an even
number is treated with the two middle ones perfectly correlated, which is slightly conservative). It is zero
where resamples never move the median. A rater may rate an item once.

Intervals do not use it, since a bootstrap of few ratings is far too sure of their middle. They are the order
statistics that the sign test cannot reject, which hold for any distribution of ratings, steps and ties included:
with n ratings the k-th lowest and highest, k the largest number with P(Bin(n, 1/2) < k) <= (1 - confidence) / 2.
Below six ratings no 95% interval exists.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from heartfelt.stats.aggregate.result import Aggregate
from heartfelt.stats.aggregate.sorted_ratings import sorted_ratings
from heartfelt.stats.triples import Floats, Ids, Ints, Values

EXACT_LIMIT = 1000


def median(rater: Ids, item: Ids, value: Values) -> Aggregate:
    """Median rating per item, with exact bootstrap standard errors and counts."""
    from heartfelt.stats import _kernels_aggregate as kernels

    s = sorted_ratings(rater, item, value, repeats=False)
    ordered = kernels.sort_items(s.starts, s.value)
    medians, errors = kernels.median_moments(s.starts, ordered, *_tables(s.counts))
    return Aggregate(
        s.items,
        medians,
        errors,
        s.counts,
        "median",
        s.raters,
        left_out=s.left_out,
        why_no_error="a median of so few ratings has no interval at this confidence (six ratings for 95%)",
        order_bounds=partial(_order_bounds, s.starts, ordered),
    )


def _order_bounds(starts: Ints, ordered: Floats, confidence: float) -> tuple[Floats, Floats]:
    """The order statistics that bound the median, NaN for items with too few ratings."""
    from scipy.special import bdtr

    counts = np.diff(starts)
    inner = np.zeros(counts.size, np.int64)
    for n in np.unique(counts[counts > 0]).tolist():
        chance = bdtr(np.arange(n), n, 0.5)
        inner[counts == n] = int(np.searchsorted(chance, (1.0 - confidence) / 2, side="right"))
    low, high = np.full(counts.size, np.nan), np.full(counts.size, np.nan)
    known = inner > 0
    low[known] = ordered[starts[:-1][known] + inner[known] - 1]
    high[known] = ordered[starts[1:][known] - inner[known]]
    return low, high


def _tables(counts: Ints) -> tuple[Ints, Floats, Floats, Floats, Floats, Floats]:
    """Where each size's weights start, and the weights of the ordered ratings.

    ``lower`` and ``upper`` are the chances that the two middle order statistics of a resample are the i-th
    rating (equal for odd sizes); ``left`` times ``right`` is the chance of a pair i < j, ``left`` times
    ``tail`` that of i with any later one.
    """
    sizes = np.unique(counts[counts > 1])
    offset = np.zeros(int(counts.max(initial=1)) + 1, np.int64)
    parts: list[list[Floats]] = [[], [], [], [], []]
    at = 0
    for n in sizes.tolist():
        offset[n] = at
        at += n
        for kept, part in zip(parts, _weights(n), strict=True):
            kept.append(part)
    lower, upper, left, right, tail = (np.concatenate(p) if p else np.zeros(0) for p in parts)
    return offset, lower, upper, left, right, tail


def _weights(n: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    from scipy.special import betainc, gammaln

    grid = np.arange(n + 1) / n
    m = (n + 1) // 2
    lower = np.diff(betainc(m, n - m + 1, grid))
    zero = np.zeros(n)
    if n % 2 == 1:
        return lower, lower, zero, zero, zero
    upper = np.diff(betainc(m + 1, n - m, grid))
    if n > EXACT_LIMIT:
        both = (lower + upper) / 2
        return both, both, zero, zero, zero
    half = np.exp(0.5 * (gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1)))
    left = half * np.diff(grid**m)
    survival = half * (1.0 - grid) ** (n - m)
    return lower, upper, left, -np.diff(survival), survival[1:]
