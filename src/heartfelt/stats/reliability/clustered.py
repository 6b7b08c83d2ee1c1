"""Means, shares and differences of answers whose raters and stimuli are both samples.

Each statistic is a sum of contributions of single answers. With V(stimuli), V(raters) and V(cells) the sums of the squared
contributions of each stimulus, each rater and each rater's answers about one stimulus, times n / (n - 1),

    V = V(stimuli) + (1 + 4 / R) max(V(raters) - V(cells), 0)

for R raters, with Student's t and Satterthwaite's degrees of freedom (``two_way_jackknife.two_way_variance``; Cameron,
Gelbach & Miller 2011). Where there is a single rater only stimuli count, where there is a single stimulus only raters;
the interval's name says so.

The interval of a share is that of Korn & Graubard (1998): Clopper and Pearson's at the effective sample size
``p (1 - p) / V``, made smaller by ``(z / t)^2``. Where all answers agree there is no variance, and the number of raters is the
sample size. ``docs/stats/coverage.md`` has the simulated coverage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.stats._bounds import clopper_pearson, normal_quantile, p_of_t, t_quantile, with_t
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.two_way_jackknife import two_way_variance

LEAST_EACH = 5
"""Answers that each side of a difference needs."""
NO_WIDTH = "the answers do not differ, which would make an interval without width"


@dataclass(frozen=True, slots=True)
class ClusteredSpread:
    """A variance with its degrees of freedom, and what was sampled."""

    variance: float
    df: float
    over: str


@dataclass(frozen=True, eq=False)
class Crossed:
    """Who gave each answer, and about what, as codes of 0 or more."""

    rater: Ints
    stimulus: Ints

    @cached_property
    def counts(self) -> dict[str, int]:
        (_, raters), (_, stimuli), _ = self._clusters
        return {"answers": self.rater.size, "raters": raters, "stimuli": stimuli}

    @cached_property
    def _clusters(self) -> tuple[tuple[Ints, int], tuple[Ints, int], tuple[Ints, int]]:
        """Raters, stimuli, and each rater's answers about one stimulus: a code from 0 for every answer, and how many."""
        # One number for each pair of rater and stimulus.
        cell = self.rater * (int(self.stimulus.max(initial=0)) + 1) + self.stimulus
        return _dense(self.rater), _dense(self.stimulus), _dense(cell)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Crossed:
        return Crossed(self.rater[chosen], self.stimulus[chosen])

    def spread(self, contributions: Floats) -> ClusteredSpread | str:
        """The variance of a sum of contributions, or why there is none."""
        (raters, by_rater), (stimuli, by_stimulus), (_, by_cell) = (
            _clustered(contributions, *clusters) for clusters in self._clusters
        )
        if raters < 2 and stimuli < 2:
            return "there is a single rater and a single stimulus"
        if raters < 2:
            spread = ClusteredSpread(by_stimulus, stimuli - 1.0, "stimuli, one rater")
        elif stimuli < 2:
            spread = ClusteredSpread(by_rater, raters - 1.0, "raters, one stimulus")
        else:
            variance, df = two_way_variance(
                items=by_stimulus, raters=by_rater, ratings=by_cell, item_df=stimuli - 1.0, rater_count=raters
            )
            spread = ClusteredSpread(variance, df, "raters and stimuli")
        return spread if spread.variance > 1e-24 else NO_WIDTH


def _dense(codes: Ints) -> tuple[Ints, int]:
    values, dense = np.unique(codes, return_inverse=True)
    return dense, values.size


def _clustered(contributions: Floats, dense: Ints, size: int) -> tuple[int, float]:
    """The number of clusters, and the sum of their squared contributions times n / (n - 1)."""
    sums = np.bincount(dense, contributions, size)
    return size, float(sums @ sums) * size / max(size - 1, 1)


def share(hit: npt.ArrayLike, crossed: Crossed, method: str) -> Estimate:
    """The share of answers that are hits, from 0 to 1."""
    hits = np.asarray(hit, np.float64)
    counts = crossed.counts
    if not hits.size:
        return Estimate.missing("there are no such answers", method, counts)
    value = float(hits.mean())
    spread = crossed.spread((hits - value) / hits.size)
    if isinstance(spread, str):
        size = float(counts["raters"] if counts["raters"] > 1 else counts["stimuli"])
        over = "raters" if counts["raters"] > 1 else "stimuli, one rater"
        if 0.0 < value < 1.0:
            return Estimate(value=value, method=method, counts=counts, why_no_interval=spread)
    else:
        size = min(max(value * (1 - value) / spread.variance, 1.0), float(hits.size))
        size *= (normal_quantile(0.95) / t_quantile(0.95, max(spread.df, 1.0))) ** 2
        over = spread.over
    low, high = map(float, clopper_pearson(value * size, size, 0.025))
    name = f"Korn and Graubard, effective sample size over {over}"
    return Estimate(value=value, method=method, counts=counts).with_interval(low, high, name)


def mean(value: npt.ArrayLike, crossed: Crossed, method: str) -> Estimate:
    """The mean of answers."""
    values = np.asarray(value, np.float64)
    if not values.size:
        return Estimate.missing("there are no such answers", method, crossed.counts)
    centre = float(values.mean())
    point_estimate = Estimate(value=centre, method=method, counts=crossed.counts)
    return _with_bounds(point_estimate, crossed.spread((values - centre) / values.size))[0]


def difference(
    value: npt.ArrayLike,
    treated: npt.NDArray[np.bool_],
    crossed: Crossed,
    method: str,
    *,
    within_raters: bool = False,
    counts: Mapping[str, int] | None = None,
) -> tuple[Estimate, float | None]:
    """The mean of the treated answers less that of the others, and its two-sided p-value.

    ``within_raters`` compares each rater's answers with their own: least squares with a level for each rater.
    """
    values = np.asarray(value, np.float64)
    counts = crossed.counts if counts is None else counts
    sides = int(treated.sum()), int((~treated).sum())
    if min(sides) < LEAST_EACH:
        reason = f"each side needs {LEAST_EACH} answers, and there are {sides[0]} and {sides[1]}"
        return Estimate.missing(reason, method, counts), None
    x: Floats = treated.astype(np.float64)
    level: Any = crossed.rater if within_raters else np.zeros(values.size, np.int64)
    x, values = _less_means(x, level), _less_means(values, level)
    squares = float(x @ x)
    if squares < 1e-12:
        return Estimate.missing("no rater has answers on both sides", method, counts), None
    slope = float(x @ values) / squares
    point_estimate = Estimate(value=slope, method=method, counts=counts)
    return _with_bounds(point_estimate, crossed.spread(x * (values - slope * x) / squares))


def _less_means(values: Floats, codes: Ints) -> Floats:
    dense, size = _dense(codes)
    out: Floats = values - (np.bincount(dense, values, size) / np.bincount(dense, minlength=size))[dense]
    return out


def _with_bounds(point_estimate: Estimate, spread: ClusteredSpread | str) -> tuple[Estimate, float | None]:
    if isinstance(spread, str):
        return point_estimate.without_interval(spread), None
    error = math.sqrt(spread.variance)
    name = f"clustered over {spread.over}, Student's t"
    bounded = with_t(point_estimate, error, max(spread.df, 1.0), name, 0.95)
    return bounded, p_of_t(float(point_estimate) / error, spread.df)
