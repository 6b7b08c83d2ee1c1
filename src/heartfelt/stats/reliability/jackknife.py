"""Two-way jackknife: the variance of a statistic of ratings whose items and raters are both samples.

The statistic is recomputed without each item, without each rater and without each rating. Leaving out items shows the
sampling of items and of their ratings; leaving out raters adds what raters do beyond the ratings they give:
V = V(items) + max(V(raters) - V(ratings), 0). This is the inclusion and exclusion of two-way clusters (Cameron,
Gelbach & Miller, 2011), with the raters' own part held at or above zero.
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
    return spread(items) + max(spread(raters) - spread(ratings), 0.0)


def half_width(variance: float, units: int, confidence: float) -> float:
    """t quantile with ``units`` - 1 degrees of freedom times the standard error."""
    from scipy.special import stdtrit

    return float(stdtrit(max(units - 1, 1), 0.5 + confidence / 2) * np.sqrt(variance))
