"""How closely two columns of numbers go together: correlations, concordance and errors.

Conventions: pairs with a missing or infinite side are left out and counted; correlations lie in [-1, 1] and
need three pairs and two columns that vary; errors are in the unit of the columns (``mse`` in its square)
and need two pairs. Intervals are analytic and named; where pairs come in clusters (several clips of one
system), use ``resample.bootstrap_metric(..., group=...)`` instead.

Sources: Fisher (1921) for Pearson; Bonett and Wright (2000) for Spearman; Lin (1989) for the concordance correlation, with
variances over n; ``heartfelt.stats.jackknife`` for the intervals of Kendall's tau-b, the concordance and the errors, which
hold with 15 items where Lin's variance and Student's t on the errors did not.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from heartfelt.stats import _bounds, _influence
from heartfelt.stats._metrics import METRICS, Rows
from heartfelt.stats._paired import Column, Pairs, pairs
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.jackknife import jackknife_metric
from heartfelt.stats.triples import Floats

Correlation = Literal["pearson", "spearman", "kendall"]


def pearson(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The product-moment correlation with Fisher's z interval (exact for bivariate normal data only)."""
    data = pairs(x, y)
    why = _undefined("pearson", data)
    if why:
        return Estimate.missing(why, "Pearson r", data.counts)
    value = pearson_value(data.x, data.y)
    plain = Estimate(value, method="Pearson r", counts=data.counts)
    return _fisher(plain, data.n, 1.0, "Fisher z", confidence)


def spearman(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The correlation of mid-ranks with Bonett and Wright's interval."""
    data = pairs(x, y)
    why = _undefined("spearman", data)
    if why:
        return Estimate.missing(why, "Spearman rho", data.counts)
    value = pearson_value(mid_ranks(data.x), mid_ranks(data.y))
    plain = Estimate(value, method="Spearman rho", counts=data.counts)
    return _fisher(plain, data.n, 1 + value * value / 2, "Fisher z, Bonett-Wright variance", confidence)


def kendall(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """Tau-b with a jackknife interval on Fisher's scale."""
    return _jackknifed("kendall", "Kendall tau-b", x, y, confidence)


def ccc(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """Lin's concordance correlation: closeness to the line y = x, so bias and scale count against it."""
    return _jackknifed("ccc", "Lin's concordance correlation", x, y, confidence)


def mse(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The mean squared difference, with a jackknife interval on the log scale."""
    return _jackknifed("mse", "mean squared error", x, y, confidence)


def mae(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The mean absolute difference, with a jackknife interval on the log scale."""
    return _jackknifed("mae", "mean absolute error", x, y, confidence)


def rmse(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The root of ``mse``, its interval the roots of that interval's bounds."""
    return _jackknifed("rmse", "root mean squared error", x, y, confidence)


def _jackknifed(metric: str, name: str, x: Column, y: Column, confidence: float) -> Estimate:
    data = pairs(x, y)
    if METRICS[metric].undefined(Rows(data.x, data.y, data.kept)):
        return Estimate.missing(_undefined(metric, data) or "", name, data.counts)
    found = jackknife_metric(metric, data.x, data.y, confidence=confidence)
    return replace(found, method=name, counts=data.counts)


def pearson_value(x: Floats, y: Floats) -> float:
    """Pearson's r of clean columns that vary."""
    a, b = x - x.mean(), y - y.mean()
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    return float(np.clip(a @ b / math.sqrt(float(a @ a) * float(b @ b)), -1, 1))


def mid_ranks(column: Floats) -> Floats:
    """Ranks from 1, ties sharing their mean rank."""
    by = _influence.sort_rows(column)
    return np.asarray((by.starts[1:] + by.starts[:-1] + 1)[by.place] / 2)


def kendall_value(x: _influence.Sorted, y: _influence.Sorted) -> float:
    """Tau-b of sorted columns that vary."""
    from heartfelt.stats._kernels_resample import kendall_scores

    n = x.order.size
    net = float(kendall_scores(x.order, x.starts, y.place, y.places).sum())
    free = [n * (n - 1) - float(np.sum(by.sizes * (by.sizes - 1.0))) for by in (x, y)]
    return float(np.clip(net / math.sqrt(free[0]) / math.sqrt(free[1]), -1, 1))


def ccc_value(x: Floats, y: Floats) -> float:
    """Lin's coefficient of clean columns, at least one of which varies."""
    a, b = x - x.mean(), y - y.mean()
    apart = float(a @ a) + float(b @ b) + x.size * float(x.mean() - y.mean()) ** 2
    return 2 * float(a @ b) / apart


def _undefined(metric: str, data: Pairs) -> str | None:
    return METRICS[metric].undefined(Rows(data.x, data.y, data.kept))


def _why_flat(value: float) -> str:
    return (
        "perfect correlation: its scale is unbounded" if abs(value) >= 1 else "no variation in its influence"
    )


def _fisher(plain: Estimate, n: int, factor: float, interval: str, confidence: float) -> Estimate:
    value = float(plain)
    if n < 4:
        return _bounds.bounded(plain, None, interval, confidence, "three pairs leave Fisher's z no error")
    if abs(value) >= 1:
        return _bounds.bounded(plain, None, interval, confidence, _why_flat(value))
    bounds = _bounds.fisher(value, math.sqrt(factor / (n - 3)), confidence)
    return _bounds.bounded(plain, bounds, interval, confidence, "")
