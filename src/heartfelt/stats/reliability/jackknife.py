"""Two-way jackknife: the variance of a statistic of ratings whose items and raters are both samples.

The statistic is recomputed without each item, without each rater and without each rating. Items and raters each
carry their own sampling and that of the ratings, so the ratings' part is taken off once: V = V(items) + V(raters)
- V(ratings), and never below the larger of the first two (Cameron, Gelbach & Miller, 2011, for the inclusion and
exclusion of two-way clusters).
"""

from __future__ import annotations

import numpy as np

from heartfelt.stats.triples import Floats

NAME = "two-way jackknife over items and raters"


def spread(without: Floats) -> float:
    """Delete-one jackknife variance from the values without each unit."""
    n = without.size
    if n < 2:
        return 0.0
    centred = without - without.mean()
    return float((n - 1) / n * (centred @ centred))


def two_way_variance(items: Floats, raters: Floats, ratings: Floats) -> float:
    """Variance from the values without each item, each rater and each rating."""
    by_item, by_rater, by_rating = spread(items), spread(raters), spread(ratings)
    return max(by_item + by_rater - by_rating, by_item, by_rater)


def half_width(variance: float, units: int, confidence: float) -> float:
    """t quantile with ``units`` - 1 degrees of freedom times the standard error."""
    from scipy.special import stdtrit

    return float(stdtrit(max(units - 1, 1), 0.5 + confidence / 2) * np.sqrt(variance))
