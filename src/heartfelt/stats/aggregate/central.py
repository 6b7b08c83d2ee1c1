"""The mean, the median and the most frequent answer of each item. A rater may rate an item once.

Mean, in points of the scale: the standard error is the sample standard deviation over the square root of the number of ratings,
so an item with one rating has none.

Median: with an even number of ratings the mean of the middle two. Its standard error is the exact bootstrap one, the standard
deviation of the median over all resamples of the item's ratings, from the distribution of order statistics without drawing any
(Maritz & Jarrett, 1978; above 1,000 ratings an even number is treated with the two middle ones perfectly correlated, which is
slightly conservative). It is zero where resamples never move the median. Intervals do not use it, since a bootstrap of few
ratings is far too sure of their middle. They are the order statistics that the sign test cannot reject, which hold for any
distribution of ratings, steps and ties included: with n ratings the k-th lowest and highest, k the largest number with
P(Bin(n, 1/2) < k) <= (1 - confidence) / 2. Below six ratings no 95% interval exists.

Mode, with an explicit policy for ties:

| ties | a tied item gets |
|---|---|
| "lowest" | the first of the tied categories in category order |
| "highest" | the last |
| "missing" | no category |
| "split" | no single category; its support is shared equally among the tied ones |

Category order is the one passed, else ascending, else order of appearance. ``shares`` is the share of the item's ratings that
chose the (or each) most frequent category, its standard error sqrt(p (1 - p) / n). Categories may be numbers, strings or
anything hashable.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.aggregate.result import Aggregate, CategoryConsensus
from heartfelt.stats.aggregate.sorted_ratings import item_means, sorted_categories, sorted_ratings
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values

TIED = "the most frequent categories are tied"
"""Why an item has no mode."""
EXACT_LIMIT = 1000
SUPPORT_CELLS = 20_000_000
Ties: TypeAlias = Literal["lowest", "highest", "missing", "split"]


def mean(rater: Ids, item: Ids, value: Values) -> Aggregate:
    """Mean rating per item, with standard errors and counts."""
    s = sorted_ratings(rater, item, value, repeats=False)
    means, sds = item_means(s.item, s.value, len(s.items))
    return Aggregate(**s.facts, values=means, standard_errors=sds / np.sqrt(s.counts), method="mean")


def median(rater: Ids, item: Ids, value: Values) -> Aggregate:
    """Median rating per item, with exact bootstrap standard errors and counts."""
    from heartfelt.stats.aggregate import _kernels_aggregate as kernels

    s = sorted_ratings(rater, item, value, repeats=False)
    ordered = kernels.sort_items(s.starts, s.value)
    medians, errors = kernels.median_moments(s.starts, ordered, *_tables(s.counts))
    return Aggregate(
        **s.facts,
        values=medians,
        standard_errors=errors,
        method="median",
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
    bounded = inner > 0
    low[bounded] = ordered[starts[:-1][bounded] + inner[bounded] - 1]
    high[bounded] = ordered[starts[1:][bounded] - inner[bounded]]
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
        for collected, part in zip(parts, _weights(n), strict=True):
            collected.append(part)
    lower, upper, left_moments, right, tail = (np.concatenate(p) if p else np.zeros(0) for p in parts)
    return offset, lower, upper, left_moments, right, tail


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
    # The binomial coefficient as a product of two roots: neither factor overflows.
    half = np.exp(0.5 * (gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1)))
    lower_weight = half * np.diff(grid**m)
    survival = half * (1.0 - grid) ** (n - m)
    return lower, upper, lower_weight, -np.diff(survival), survival[1:]


def mode(
    rater: Ids, item: Ids, value: Values, *, ties: Ties = "missing", categories: Sequence[Any] | None = None
) -> CategoryConsensus:
    """Most frequent category per item, its share, and the number of ties."""
    from heartfelt.stats.aggregate import _kernels_aggregate as kernels

    if ties not in ("lowest", "highest", "missing", "split"):
        raise InputError(f"No tie policy is called '{ties}'.", "Use 'lowest', 'highest', 'missing' or 'split'.")
    s = sorted_categories(rater, item, value, categories=categories, repeats=False)
    votes, bounds, winners = kernels.plurality(s.starts, s.value, len(s.categories))
    number = np.diff(bounds)
    tied = number > 1
    chosen = winners[bounds[1:] - 1] if ties == "highest" else winners[bounds[:-1]] if winners.size else winners
    single = ties in ("lowest", "highest")
    notes = [f"{np.count_nonzero(tied)} of {len(s.items)} items are tied"] if tied.any() else []
    values = [None if tied[i] and not single else s.categories[chosen[i]] for i in range(len(s.items))]
    large = len(s.items) * len(s.categories) > SUPPORT_CELLS
    support = np.zeros((0 if large else len(s.items), len(s.categories)))
    if large:
        notes.append("no table of support: there are too many items and categories")
    elif ties == "split":
        support[np.repeat(np.arange(number.size), number), winners] = np.repeat(1.0 / np.maximum(number, 1), number)
    else:
        named = np.flatnonzero(~tied | single)
        support[named, chosen[named]] = 1.0
    shares = votes / np.maximum(s.counts, 1)
    return CategoryConsensus(
        **s.facts,
        values=values,
        shares=shares,
        standard_errors=np.sqrt(shares * (1.0 - shares) / np.maximum(s.counts, 1)),
        categories=s.categories,
        support=support,
        method=f"mode, ties {ties}",
        notes=tuple(notes),
        why_missing=TIED,
    )
