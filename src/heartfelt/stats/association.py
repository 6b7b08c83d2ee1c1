"""How closely two columns of numbers go together: correlations, concordance and errors.

Conventions: pairs with a missing or infinite side are left out and counted; correlations lie in [-1, 1] and
need three pairs and two columns that vary; errors are in the unit of the columns (``mse`` in its square)
and need two pairs. Intervals are analytic and named; where pairs come in clusters (several clips of one
system), use ``resample.bootstrap_metric(..., group=...)`` instead.

Sources: Fisher (1921) for Pearson; Bonett and Wright (2000) for Spearman; Kendall's tau-b with the
delta-method error of its influence values (Samara and Randles 1988 is the same variance); Lin (1989) for
the concordance correlation, with variances over n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from heartfelt.stats import _bounds, _influence
from heartfelt.stats._metrics import METRICS, Rows
from heartfelt.stats._paired import Column, Pairs, pairs
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats

Correlation = Literal["pearson", "spearman", "kendall"]


def pearson(x: Column, y: Column, *, level: float = 0.95) -> Estimate:
    """The product-moment correlation with Fisher's z interval (exact for bivariate normal data only)."""
    data = pairs(x, y)
    why = _undefined("pearson", data)
    if why:
        return Estimate.missing(why, "Pearson r", data.counts)
    value = pearson_value(data.x, data.y)
    plain = Estimate(value, method="Pearson r", counts=data.counts)
    return _fisher(plain, data.n, 1.0, "Fisher z", level)


def spearman(x: Column, y: Column, *, level: float = 0.95) -> Estimate:
    """The correlation of mid-ranks with Bonett and Wright's interval."""
    data = pairs(x, y)
    why = _undefined("spearman", data)
    if why:
        return Estimate.missing(why, "Spearman rho", data.counts)
    value = pearson_value(mid_ranks(data.x), mid_ranks(data.y))
    plain = Estimate(value, method="Spearman rho", counts=data.counts)
    return _fisher(plain, data.n, 1 + value * value / 2, "Fisher z, Bonett-Wright variance", level)


def kendall(x: Column, y: Column, *, level: float = 0.95) -> Estimate:
    """Tau-b with a delta-method interval on Fisher's scale."""
    data = pairs(x, y)
    why = _undefined("kendall", data)
    if why:
        return Estimate.missing(why, "Kendall tau-b", data.counts)
    first, second = _influence.sort_rows(data.x), _influence.sort_rows(data.y)
    value = kendall_value(first, second)
    plain = Estimate(value, method="Kendall tau-b", counts=data.counts)
    error = _bounds.influence_error(_influence.kendall(first, second))
    bounds = _bounds.delta(value, error, level, "fisher")
    return _bounds.bounded(plain, bounds, "delta method, Fisher z scale", level, _why_flat(value))


def ccc(x: Column, y: Column, *, level: float = 0.95) -> Estimate:
    """Lin's concordance correlation: closeness to the line y = x, so bias and scale count against it."""
    data = pairs(x, y)
    name = "Lin's concordance correlation"
    why = _undefined("ccc", data)
    if why:
        return Estimate.missing(why, name, data.counts)
    value = ccc_value(data.x, data.y)
    plain = Estimate(value, method=name, counts=data.counts)
    bounds = _bounds.delta(value, _lin_error(data, value), level, "fisher") if data.n > 2 else None
    return _bounds.bounded(plain, bounds, "Lin's variance, Fisher z scale", level, _why_flat(value))


def mse(x: Column, y: Column, *, level: float = 0.95) -> Estimate:
    """The mean squared difference, with a Student t interval over the pairs."""
    return _error(x, y, "mean squared error", level, lambda gap: gap * gap)


def mae(x: Column, y: Column, *, level: float = 0.95) -> Estimate:
    """The mean absolute difference, with a Student t interval over the pairs."""
    return _error(x, y, "mean absolute error", level, np.abs)


def rmse(x: Column, y: Column, *, level: float = 0.95) -> Estimate:
    """The root of ``mse``, its interval the roots of that interval's bounds."""
    squared = mse(x, y, level=level)
    name = "root mean squared error"
    if squared.value is None:
        return Estimate.missing(squared.why_missing or "", name, squared.counts)
    root = Estimate(math.sqrt(squared.value), method=name, counts=squared.counts)
    if squared.low is None or squared.high is None:
        return _bounds.bounded(root, None, "", level, squared.why_no_interval or "")
    bounds = (math.sqrt(squared.low), math.sqrt(squared.high))
    return _bounds.bounded(root, bounds, "Student t on squared errors, root taken", level, "")


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


def _fisher(plain: Estimate, n: int, factor: float, interval: str, level: float) -> Estimate:
    value = float(plain)
    if n < 4:
        return _bounds.bounded(plain, None, interval, level, "three pairs leave Fisher's z no error")
    if abs(value) >= 1:
        return _bounds.bounded(plain, None, interval, level, _why_flat(value))
    bounds = _bounds.fisher(value, math.sqrt(factor / (n - 3)), level)
    return _bounds.bounded(plain, bounds, interval, level, "")


def _lin_error(data: Pairs, value: float) -> float:
    """Lin's standard error of the coefficient, from the delta method under bivariate normality."""
    spread_x, spread_y = float(np.std(data.x)), float(np.std(data.y))
    if spread_x == 0 or spread_y == 0:
        return 0.0
    r = pearson_value(data.x, data.y)
    shift = float(data.x.mean() - data.y.mean()) ** 2 / (spread_x * spread_y)
    accuracy = 2 / (spread_x / spread_y + spread_y / spread_x + shift)
    squared = value * value
    variance = (
        (1 - r * r) * accuracy**2 * (1 - squared)
        + 2 * squared * accuracy * (1 - value) * shift
        - squared * accuracy**2 * shift**2 / 2
    ) / (data.n - 2)
    return math.sqrt(max(variance, 0.0))


def _error(x: Column, y: Column, name: str, level: float, loss: Callable[[Floats], Floats]) -> Estimate:
    data = pairs(x, y)
    if data.n < 2:
        return Estimate.missing(f"{data.n} pairs; at least 2 are needed", name, data.counts)
    values = loss(data.x - data.y)
    plain = Estimate(float(values.mean()), method=name, counts=data.counts)
    bounds = _bounds.t_mean(values, level)
    if bounds is not None:
        bounds = (max(bounds[0], 0.0), bounds[1])
    return _bounds.bounded(plain, bounds, "Student t on the errors", level, "")
