"""Whether predicted choices are right, and how far the share that is right differs between two predictions.

A comparison is right by 1 where the stimulus that was chosen is predicted, by 0.5 where it was a tie or neither is predicted.
Two predictions are compared answer by answer: the mean of the differences, with raters and pairs as samples
(:mod:`heartfelt.stats.two_way_jackknife`), so that what two predictions share cancels.
"""

from __future__ import annotations

import math

import numpy as np

from heartfelt.stats._bounds import check_confidence
from heartfelt.stats.association import Difference
from heartfelt.stats.comparison.spread import crossed_spread
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.jackknife import LEAST_UNITS, Spread
from heartfelt.stats.metrics import METRICS
from heartfelt.stats.triples import Floats, Ids, code
from heartfelt.stats.two_way_jackknife import TwoWaySpread, effective, jackknife_variance


def hits(lean: Floats, value: Floats) -> Floats:
    """How right each prediction is; ``lean`` is above 0 where the first is predicted, ``value`` 1 where it was chosen."""
    return np.where(lean > 0, value, np.where(lean < 0, 1.0 - value, 0.5))


def mean_hits(
    rater: Ids | None, pair: Ids, one: Floats, other: Floats, *, confidence: float = 0.95
) -> Difference:
    """The mean of ``one`` less that of ``other``, each a number per comparison, with its test."""
    check_confidence(confidence)
    name = "difference of accuracy"
    moved = np.asarray(one - other, np.float64)
    pairs = code(pair)
    count, of_pair = pairs.count, pairs.codes
    counts = {"comparisons": int(moved.size), "pairs": count}
    if not moved.size:
        missing = Estimate.missing("there are no comparisons", name, counts)
        return Difference(missing, missing, None, 0)
    each = np.ones(moved.size)
    if rater is None:
        sums, sizes = np.bincount(of_pair, moved), np.bincount(of_pair)
        left = (moved.sum() - sums) / np.maximum(moved.size - sizes, 1)
        spread = TwoWaySpread(jackknife_variance(left), 0.0, 0.0, effective(sizes), 1.0)
    else:
        raters = code(rater)
        counts["raters"] = raters.count
        spread = crossed_spread(moved, each, (of_pair, count), (raters.codes, raters.count))
    value = float(moved.mean())
    plain = Estimate(value, method=name, counts=counts)
    units = min(count, counts.get("raters", count))
    test = f"p-value of the {name}"
    why = None
    if units < LEAST_UNITS:
        what = "pairs" if count <= counts.get("raters", count) else "raters"
        why = f"{units} {what}; at least {LEAST_UNITS} are needed"
    elif spread.variance <= 0:
        why = "the two predictions do not differ" if value == 0 else "the difference does not vary"
    if why is not None:
        return Difference(plain.without_interval(why), Estimate.missing(why, test, counts), None, count)
    how = "jackknife over pairs" + ("" if rater is None else " and raters")
    result = Spread(value, "identity", units, math.sqrt(spread.variance), spread.df, how=how)
    p = Estimate(
        float(result.p(0.0) or 0.0),
        method=f"{test}, {result.name}",
        counts=counts,
        why_no_interval="a p-value",
    )
    metric = METRICS["accuracy"]
    return Difference(result.estimate(plain, confidence), p, result.error, count, result.df, result, metric)
