"""The mean rating of each item.

Unit: points of the scale. Standard error: sample standard deviation over the square root of the number of
ratings, so an item with one rating has none. A rater may rate an item once.
"""

from __future__ import annotations

import numpy as np

from heartfelt.stats.aggregate.result import Aggregate
from heartfelt.stats.aggregate.sorted_ratings import sorted_ratings
from heartfelt.stats.triples import Ids, Values


def mean(rater: Ids, item: Ids, value: Values) -> Aggregate:
    """Mean rating per item, with standard errors and counts."""
    from heartfelt.stats import _kernels_aggregate as kernels

    s = sorted_ratings(rater, item, value, repeats=False)
    means, sds = kernels.item_means(s.starts, s.value)
    return Aggregate(
        s.items, means, sds / np.sqrt(s.counts), s.counts, "mean", raters=s.raters, left_out=s.left_out
    )
