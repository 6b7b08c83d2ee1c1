"""A metric of predictions with its usual interval, and the difference between two predictions of the same labels.

The usual intervals are analytic where that is exact or well studied: Fisher's z for Pearson (1921); Bonett and Wright (2000) for
Spearman; Wilson (1927) for proportions; Zou and Donner (2008) for their mean (MOVER); F1 as ``2J / (1 + J)`` of the binomial
proportion ``J = TP / (TP + FP + FN)``; the delta method for macro F1 (Takahashi et al. 2022); DeLong et al. (1988) for the ROC
area; Student's t for the Brier score. The others, Kendall's tau-b, the concordance and the errors among them, have the
jackknife (``heartfelt.stats.jackknife``), which holds with 15 items where Lin's variance and Student's t on the errors do not.
Where pairs come in clusters (several clips of one system), use ``jackknife_metric`` or ``bootstrap_metric`` with ``group``.

Interval and p-value of a difference come from one spread: rows, or whole clusters where ``group`` is given, are left out one
at a time, and the difference has a Student t interval and test with the same standard error and degrees of freedom. So p < .05
exactly when the 95% interval excludes 0. For a metric that is a mean this is the paired t test. ``needed`` is how many units
would show a difference of the observed size with the given power, if the spread stays the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heartfelt.stats import _bounds
from heartfelt.stats._paired import Column, Pairs, Units, as_flags, units_of
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.jackknife import (
    Basis,
    Spread,
    degrees,
    full_value,
    leave_out,
    metric_spread,
    movement,
    too_few,
)
from heartfelt.stats.metrics import METRICS, Metric, metric_called, rows, squared_error
from heartfelt.stats.triples import as_array

POWER = 0.8
_PERFECT = 1 - 1e-14
_AT_ITS_BOUND = "the value is at its bound, where the delta method has no error"
Analytic = Callable[[Pairs, float, float], tuple[_bounds.Bounds | None, str, str]]
"""From rows, value and confidence to bounds, the interval's name, and why there is none."""


def metric_estimate(
    metric: str, x: Column, y: Column, *, positive: Any = None, confidence: float = 0.95
) -> Estimate:
    """A named metric of labels ``x`` and predictions ``y`` with its usual interval.

    ``positive`` names the category that counts as positive, for metrics of two classes.
    """
    chosen = metric_called(metric)
    both = chosen.kind == "flags"
    data = rows(chosen, as_flags(x, positive), as_flags(y, positive if both else None))
    counts = data.counts
    if chosen.kind == "scores":
        counts["positives"] = int(np.count_nonzero(data.x))
    why = chosen.undefined(data)
    if why:
        return Estimate.missing(why, chosen.title, counts)
    if metric == "balanced_accuracy":
        counts["classes"] = int(np.unique(data.x).size)
    if metric == "macro_f1":
        counts["classes"] = len(data.names)
    if metric not in _ANALYTIC:
        spread = metric_spread(Basis(chosen, data), Units(data.n))
        return spread.estimate(Estimate(spread.value, method=chosen.title, counts=counts), confidence)
    value = chosen.value(data)
    bounds, name, why_not = _ANALYTIC[metric](data, value, _bounds.check_confidence(confidence))
    return _bounds.bounded(
        Estimate(value, method=chosen.title, counts=counts), bounds, name, confidence, why_not
    )


def _fisher(name: str, factor: Callable[[float], float]) -> Analytic:
    def interval(data: Pairs, value: float, confidence: float) -> tuple[_bounds.Bounds | None, str, str]:
        if data.n < 4:
            return None, name, "three pairs leave Fisher's z no error"
        if abs(value) >= _PERFECT:
            return None, name, "perfect correlation: its scale is unbounded"
        return _bounds.fisher(value, math.sqrt(factor(value) / (data.n - 3)), confidence), name, ""

    return interval


def _wilson(of: Callable[[Pairs], tuple[int, int]]) -> Analytic:
    return lambda data, _, confidence: (_bounds.wilson(*of(data), confidence), "Wilson", "")


def _hits(data: Pairs) -> int:
    """Positive labels that were predicted positive."""
    return int(np.sum(data.x & data.y))


def _mover(data: Pairs, _: float, confidence: float) -> tuple[_bounds.Bounds, str, str]:
    totals = np.bincount(data.x)
    hits = np.bincount(data.x[data.x == data.y], minlength=totals.size)[totals > 0]
    totals = totals[totals > 0]
    ends = np.array([_bounds.wilson(h, t, confidence) for h, t in zip(hits, totals, strict=True)])
    bounds = _bounds.mover_mean(hits / totals, ends[:, 0], ends[:, 1])
    return bounds, "Wilson per class, combined by MOVER", ""


def _jaccard(data: Pairs, _: float, confidence: float) -> tuple[_bounds.Bounds, str, str]:
    low, high = _bounds.wilson(_hits(data), int(np.sum(data.x | data.y)), confidence)
    return (2 * low / (1 + low), 2 * high / (1 + high)), "Wilson on the Jaccard share, transformed", ""


def _delta(data: Pairs, value: float, confidence: float) -> tuple[_bounds.Bounds | None, str, str]:
    error = _bounds.influence_error(METRICS["macro_f1"].influence(data))
    bounds = _bounds.delta(value, error, confidence, "logit")
    return bounds, "delta method, logit scale", _AT_ITS_BOUND


def _delong(data: Pairs, value: float, confidence: float) -> tuple[_bounds.Bounds | None, str, str]:
    """From the variances of the placements within each class."""
    influence, variance = METRICS["auroc"].influence(data), 0.0
    for side in (data.x, ~data.x):
        size = int(np.count_nonzero(side))
        variance += float(np.var(influence[side] * size / data.n, ddof=1)) / size if size > 1 else -math.inf
    error = math.sqrt(max(variance, 0.0))
    bounds = _bounds.delta(value, error, confidence, "logit")
    return bounds, "DeLong, logit scale", "the classes do not overlap"


def _student(data: Pairs, _: float, confidence: float) -> tuple[_bounds.Bounds | None, str, str]:
    bounds = _bounds.t_mean(squared_error(data), confidence)
    clipped = None if bounds is None else (max(bounds[0], 0.0), min(bounds[1], 1.0))
    return clipped, "Student t on the squared errors", ""


_ANALYTIC: dict[str, Analytic] = {
    "pearson": _fisher("Fisher z", lambda _: 1.0),
    "spearman": _fisher("Fisher z, Bonett-Wright variance", lambda value: 1 + value * value / 2),
    "accuracy": _wilson(lambda data: (int(np.count_nonzero(data.x == data.y)), data.n)),
    "balanced_accuracy": _mover,
    "macro_f1": _delta,
    "precision": _wilson(lambda data: (_hits(data), int(data.y.sum()))),
    "recall": _wilson(lambda data: (_hits(data), int(data.x.sum()))),
    "f1": _jaccard,
    "auroc": _delong,
    "brier": _student,
}


@dataclass(frozen=True, slots=True)
class Difference:
    """The metric of the first less that of the second, its test, and how many units would show it."""

    estimate: Estimate
    p: Estimate
    standard_error: float | None
    units: int
    """Pairs, or clusters: what was left out in turn."""
    df: float | None = None
    spread: Spread | None = None
    metric: Metric | None = None

    def at(self, confidence: float, label: str = "") -> Estimate:
        """The difference with an interval at another confidence; ``label`` says what for."""
        if self.spread is None or self.metric is None or self.spread.why_none or self.estimate.is_missing:
            return self.estimate
        plain = replace(self.estimate, low=None, high=None)
        bounded = _in_range(self.spread.estimate(plain, confidence), self.metric)
        return replace(bounded, interval=bounded.interval + (f", {label}" if label else ""))

    def needed(self, alpha: float = 0.05, power: float = POWER) -> Estimate:
        """How many units in all would show a difference of this size, two-sided at ``alpha``."""
        name = f"units for {power:.0%} power at alpha {alpha:g}"
        if self.estimate.value is None or self.standard_error is None:
            return Estimate.missing(self.p.why_missing or "no difference is known", name)
        if self.estimate.value == 0:
            return Estimate.missing("there is no difference to show", name)
        from scipy.special import ndtri

        reach = float(ndtri(1 - alpha / 2) + ndtri(power))
        units = math.ceil(self.units * (reach * self.standard_error / self.estimate.value) ** 2 - 1e-9)
        counts = {"units": self.units}
        return Estimate(units, method=name, counts=counts, why_no_interval="a plan, not an estimate")


def metric_difference(
    metric: str,
    x: Column,
    first: Column,
    second: Column,
    *,
    group: Column | None = None,
    confidence: float = 0.95,
) -> Difference:
    """Compare two predictions against the same labels ``x``; rows that lack either are left out of both."""
    chosen = metric_called(metric)
    name, test = f"difference of {chosen.name}", f"p-value of the difference of {chosen.name}"
    data, other, units, counts = common_rows(chosen, x, first, second, group)
    why = chosen.undefined(data) or chosen.undefined(other)
    if why:
        return Difference(Estimate.missing(why, name, counts), Estimate.missing(why, test, counts), None, 0)
    value = full_value(chosen, data) - full_value(chosen, other)
    spread = _spread(chosen, value, data, other, units)
    estimate = _in_range(spread.estimate(Estimate(value, method=name, counts=counts), confidence), chosen)
    p = spread.p(0.0)
    if p is None:
        missing = Estimate.missing(spread.why_none or "", test, counts)
        return Difference(estimate, missing, None, units.count, None, spread, chosen)
    tested = Estimate(p, method=f"{test}, {spread.name}", counts=counts, why_no_interval="a p-value")
    return Difference(estimate, tested, spread.error, units.count, spread.df, spread, chosen)


def common_rows(
    metric: Metric, x: Column, first: Column, second: Column, group: Column | None
) -> tuple[Pairs, Pairs, Units, dict[str, int]]:
    """The rows that have both predictions, their units and counts."""
    label, *sides = as_array(x), as_array(first), as_array(second)
    both = rows(metric, label, sides[0]).used & rows(metric, label, sides[1]).used
    data, other = (rows(metric, label[both], side[both]) for side in sides)
    units = units_of(both, group)
    return data, other, units, replace(data, used=both).counts | units.counts


def _in_range(estimate: Estimate, metric: Metric) -> Estimate:
    """Bounds no further out than the metric's range allows: 2 for correlations, 1 for shares."""
    most = {"fisher": 2.0, "logit": 1.0}.get(metric.transform)
    if most is None or estimate.low is None or estimate.high is None:
        return estimate
    return replace(estimate, low=max(estimate.low, -most), high=min(estimate.high, most))


def _spread(metric: Metric, value: float, data: Pairs, other: Pairs, units: Units) -> Spread:
    why = too_few(units)
    if why:
        return Spread(value, "identity", units.count, why_none=why)
    _, error, how = movement(
        units,
        data.n,
        lambda: leave_out(metric, data, units) - leave_out(metric, other, units) - value,
        lambda: metric.influence(data) - metric.influence(other),
    )
    if not math.isfinite(error):
        why = f"without one of the {units.name}s the metric is undefined"
    elif not error > 1e-12 * max(1.0, abs(value)):
        same = abs(value) < 1e-12
        why = "the two predictions do not differ" if same else f"every {units.name} shows the same difference"
    if why:
        return Spread(value, "identity", units.count, why_none=why)
    return Spread(value, "identity", units.count, error, degrees(units), how=how)
