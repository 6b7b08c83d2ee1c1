"""Reliability from published means alone: with every item's mean, spread and count, the one-way table is known.

The mean square within items is the pooled variance of the ratings, the one between comes from the means, both weighted by
counts. So ICC(1) and the reliability of the means follow without a single rating; what needs to know who rated what
does not. Intervals are F, with n0 where counts differ (Searle, Casella & McCulloch 1992, 3.8), and take raters as
different for every item. The ceilings are those of `heartfelt.stats.reliability.number_ceiling`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.number_ceiling import NumberMetric, ceiling_from_means
from heartfelt.stats.reliability.spearman_brown import stepped_up

METHOD = "one-way analysis of variance from published means, spreads and counts"
METRICS: tuple[NumberMetric, ...] = ("correlation", "rmse")


@dataclass(frozen=True, slots=True)
class OneWayMeans:
    """ICC(1,1), ICC(1,k), and the ceilings of correlation and root mean squared error."""

    icc1: Estimate
    icc1k: Estimate
    ceiling: Estimate
    rmse: Estimate


def one_way_from_means(mean: pl.Series, sd: pl.Series, n: pl.Series) -> OneWayMeans:
    """One-way reliability of published means; missing with a reason where spread or count is."""
    usable = pl.DataFrame({"mean": mean, "sd": sd, "n": n}).drop_nulls().filter(pl.col("n") > 1)
    counts = {"items": usable.height, "ratings": int(usable["n"].sum())}
    why = None
    if usable.height < 2:
        why = "fewer than two items have a mean, a spread and a count"
    y, s, k = (usable[name].to_numpy().astype(np.float64) for name in ("mean", "sd", "n"))
    within = float(((k - 1) * s**2).sum() / (k - 1).sum()) if usable.height else 0.0
    top, error = (ceiling_from_means(y, s, k, metric) for metric in METRICS)
    if why is None and within <= 0:
        why = "the spreads are all zero"
    if why is not None:
        gone = Estimate.missing(why, METHOD, counts)
        return OneWayMeans(gone, gone, top, error)
    from scipy.special import fdtri

    total = float(k.sum())
    grand = float((k * y).sum() / total)
    df = (usable.height - 1, total - usable.height)
    between = float((k * (y - grand) ** 2).sum()) / df[0]
    n0 = (total - float((k**2).sum()) / total) / df[0]
    f = between / within
    bounds = [f / float(fdtri(*df, q)) for q in (0.975, 0.025)]

    def single(ratio: float) -> float:
        return (ratio - 1) / (ratio - 1 + n0)

    name = "F" if float(np.ptp(k)) == 0 else "F with n0 for unequal counts"
    icc1 = Estimate(
        single(f), single(bounds[0]), single(bounds[1]), f"ICC(1,1), {METHOD}", name, 0.95, counts
    )
    values = [stepped_up(single(ratio), n0) for ratio in (f, *bounds)]
    icc1k = Estimate(values[0], values[1], values[2], f"ICC(1,k), {METHOD}, k = {n0:.6g}", name, 0.95, counts)
    return OneWayMeans(icc1, icc1k, top, error)
