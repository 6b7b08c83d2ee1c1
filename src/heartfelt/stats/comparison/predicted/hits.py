"""Whether predicted choices are right, and how far the share that is right differs between two predictions.

A comparison is right by 1 where the stimulus that was chosen is predicted, by 0.5 where it was a tie or neither is predicted.
Two predictions are compared answer by answer: the mean of the differences, with raters and pairs as samples
(:mod:`heartfelt.stats.reliability.two_way_jackknife`), so that what two predictions share cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.stats._bounds import check_confidence
from heartfelt.stats.columns.triples import Floats, Ids, Ints
from heartfelt.stats.comparison.pairs import Comparisons, PairSets, as_comparisons, judged_sets
from heartfelt.stats.comparison.spread import shared_members, without_units
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.association import MetricDifference
from heartfelt.stats.prediction.jackknife import LEAST_UNITS, JackknifeError
from heartfelt.stats.prediction.metrics import METRICS
from heartfelt.stats.reliability.two_way_jackknife import TwoWaySpread, effective, jackknife_variance

Bools: TypeAlias = npt.NDArray[np.bool_]
Without: TypeAlias = Callable[[Ints, int], Floats]
"""A statistic without each unit, from codes of units and their number."""


def hits(lean: Floats, value: Floats) -> Floats:
    """How right each prediction is; ``lean`` is above 0 where the first is predicted, ``value`` 1 where it was chosen."""
    return np.where(lean > 0, value, np.where(lean < 0, 1.0 - value, 0.5))


def crossed(
    data: Comparisons, sets: PairSets, members: tuple[Ints, int], without: Without, used: Bools
) -> TwoWaySpread:
    """The spread of a statistic of the ``used`` comparisons over pairs, the members that pairs share, and raters."""
    rows, (both, count) = np.flatnonzero(used), members
    pairs = shared_members(
        jackknife_variance(without(sets.codes, sets.count)), jackknife_variance(without(both, count))
    )
    units = min(effective(np.bincount(part)) for part in (sets.codes[rows], both[:, rows].ravel()))
    if data.rater is None:
        return TwoWaySpread(items=pairs, raters=0.0, ratings=0.0, item_count=units, rater_count=1.0)
    return TwoWaySpread(
        items=pairs,
        raters=jackknife_variance(without(data.rater, data.raters)),
        ratings=jackknife_variance(without(np.arange(data.size), data.size)),
        item_count=units,
        rater_count=effective(np.bincount(data.rater[rows])),
    )


def mean_hits(
    rater: Ids | None, first: Ids, second: Ids, score: Floats, other_score: Floats, *, confidence: float = 0.95
) -> MetricDifference:
    """The mean of ``score`` less that of ``other``, each a number per comparison, with its test."""
    check_confidence(confidence)
    name = "difference of accuracy"
    moved = np.asarray(score - other_score, np.float64)
    if not moved.size:
        missing = Estimate.missing("there are no comparisons", name, {"comparisons": 0})
        return MetricDifference(estimate=missing, p=missing)
    data = as_comparisons(rater, first, second, np.ones(moved.size))
    pairs = judged_sets(data)
    counts = {"comparisons": int(moved.size), "pairs": pairs.count}
    counts |= {} if data.rater is None else {"raters": data.raters}
    every = np.ones(moved.size)
    members = np.vstack([data.first, data.second]), len(data.names)
    spread = crossed(data, pairs, members, lambda codes, count: without_units(moved, every, codes, count), every > 0)
    value = float(moved.mean())
    point_estimate = Estimate(value=value, method=name, counts=counts)
    units = min(pairs.count, counts.get("raters", pairs.count))
    test = f"p-value of the {name}"
    reason = None
    if units < LEAST_UNITS:
        unit_name = "pairs" if pairs.count == units else "raters"
        reason = f"{units} {unit_name}; at least {LEAST_UNITS} are needed"
    elif spread.variance <= 0:
        reason = "the two predictions do not differ" if value == 0 else "the difference does not vary"
    if reason is not None:
        untested = Estimate.missing(reason, test, counts)
        return MetricDifference(estimate=point_estimate.without_interval(reason), p=untested, units=pairs.count)
    how = "jackknife over pairs" + ("" if rater is None else " and raters")
    result = JackknifeError(
        value=value, scale="identity", units=units, error=math.sqrt(spread.variance), df=spread.df, how=how
    )
    p = float(result.p(0.0) or 0.0)
    tested = Estimate(value=p, method=f"{test}, {result.name}", counts=counts, why_no_interval="a p-value")
    return MetricDifference(
        estimate=result.estimate(point_estimate, confidence),
        p=tested,
        standard_error=result.error,
        units=pairs.count,
        df=result.df,
        spread=result,
        metric=METRICS["accuracy"],
    )
