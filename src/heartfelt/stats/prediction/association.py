"""Metrics of predictions with their usual intervals, and the difference between two predictions of the same labels.

Pairs that lack a label or a prediction are left out and counted. Correlations lie in [-1, 1] and need three pairs and two columns
that vary; errors are in the unit of the columns (``mse`` in its square) and need two pairs; the others lie in [0, 1] except kappa
(at most 1). ``positive`` names the category that counts as positive; without it both columns are true/false or 0/1. Definitions
are in ``metrics``.

The usual intervals are analytic where that is exact or well studied: Fisher's z for Pearson (1921); Bonett and Wright (2000) for
Spearman; Wilson (1927) for proportions; Zou and Donner (2008) for their mean (MOVER); F1 as ``2J / (1 + J)`` of the binomial
proportion ``J = TP / (TP + FP + FN)``; the delta method for macro F1 (Takahashi et al. 2022); DeLong et al. (1988) for the ROC
area; Student's t for the Brier score. The others, Kendall's tau-b, the concordance and the errors among them, have the
``jackknife``, which holds with 15 items where Lin's variance and Student's t on the errors do not.
Where pairs come in clusters (several clips of one system), use ``jackknife_metric`` or ``bootstrap_metric`` with ``group``.

Interval and p-value of a difference come from one spread: rows, or whole clusters where ``group`` is given, are left out one
at a time, and the difference has a Student t interval and test with the same standard error and degrees of freedom. So p < .05
exactly when the 95% interval excludes 0. For a metric that is a mean this is the paired t test. ``needed`` is how many units
would show a difference of the observed size with the given power, if the spread stays the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from heartfelt.stats import _bounds
from heartfelt.stats.columns.paired import Column, PairedValues, ResampledUnits, as_flags, categories, units_of
from heartfelt.stats.columns.triples import Ints, as_array
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.jackknife import (
    Basis,
    JackknifeError,
    degrees,
    full_value,
    leave_out,
    metric_spread,
    movement,
    too_few,
)
from heartfelt.stats.prediction.metrics import METRICS, Metric, metric_called, rows, squared_error

Correlation = Literal["pearson", "spearman", "kendall"]

POWER = 0.8
_PERFECT = 1 - 1e-14
_AT_ITS_BOUND = "the value is at its bound, where the delta method has no error"
Analytic = Callable[[PairedValues, float, float], tuple[_bounds.Bounds | None, str, str]]
"""From rows, value and confidence to bounds, the interval's name, and why there is none."""


def metric_estimate(metric: str, x: Column, y: Column, *, positive: Any = None, confidence: float = 0.95) -> Estimate:
    """A named metric of labels ``x`` and predictions ``y`` with its usual interval.

    ``positive`` names the category that counts as positive, for metrics of two classes.
    """
    chosen = metric_called(metric)
    both = chosen.kind == "flags"
    data = rows(chosen, as_flags(x, positive), as_flags(y, positive if both else None))
    counts = data.counts
    if chosen.kind == "scores":
        counts["positives"] = int(np.count_nonzero(data.x))
    reason = chosen.undefined(data)
    if reason:
        return Estimate.missing(reason, chosen.title, counts)
    if metric == "balanced_accuracy":
        counts["classes"] = int(np.unique(data.x).size)
    if metric == "macro_f1":
        counts["classes"] = len(data.names)
    if metric not in _ANALYTIC:
        spread = metric_spread(Basis(chosen, data), ResampledUnits(data.n))
        return spread.estimate(Estimate(value=spread.value, method=chosen.title, counts=counts), confidence)
    value = chosen.value(data)
    bounds, name, why_not = _ANALYTIC[metric](data, value, _bounds.check_confidence(confidence))
    return _bounds.bounded(Estimate(value=value, method=chosen.title, counts=counts), bounds, name, confidence, why_not)


def _fisher(name: str, factor: Callable[[float], float]) -> Analytic:
    def interval(data: PairedValues, value: float, confidence: float) -> tuple[_bounds.Bounds | None, str, str]:
        if data.n < 4:
            return None, name, "three pairs leave Fisher's z no error"
        if abs(value) >= _PERFECT:
            return None, name, "perfect correlation: its scale is unbounded"
        return _bounds.fisher(value, math.sqrt(factor(value) / (data.n - 3)), confidence), name, ""

    return interval


def _wilson(of: Callable[[PairedValues], tuple[int, int]]) -> Analytic:
    return lambda data, _, confidence: (_bounds.wilson(*of(data), confidence), "Wilson", "")


def _hits(data: PairedValues) -> int:
    return int(np.sum(data.x & data.y))


def _mover(data: PairedValues, _: float, confidence: float) -> tuple[_bounds.Bounds, str, str]:
    totals = np.bincount(data.x)
    hits = np.bincount(data.x[data.x == data.y], minlength=totals.size)[totals > 0]
    totals = totals[totals > 0]
    ends = np.array([_bounds.wilson(h, t, confidence) for h, t in zip(hits, totals, strict=True)])
    bounds = _bounds.mover_mean(hits / totals, ends[:, 0], ends[:, 1])
    return bounds, "Wilson per class, combined by MOVER", ""


def _jaccard(data: PairedValues, _: float, confidence: float) -> tuple[_bounds.Bounds, str, str]:
    low, high = _bounds.wilson(_hits(data), int(np.sum(data.x | data.y)), confidence)
    return (2 * low / (1 + low), 2 * high / (1 + high)), "Wilson on the Jaccard share, transformed", ""


def _delta(data: PairedValues, value: float, confidence: float) -> tuple[_bounds.Bounds | None, str, str]:
    error = _bounds.influence_error(METRICS["macro_f1"].influence(data))
    bounds = _bounds.delta(value, error, confidence, "logit")
    return bounds, "delta method, logit scale", _AT_ITS_BOUND


def _delong(data: PairedValues, value: float, confidence: float) -> tuple[_bounds.Bounds | None, str, str]:
    """From the variances of the placements within each class."""
    influence, variance = METRICS["auroc"].influence(data), 0.0
    for side in (data.x, ~data.x):
        size = int(np.count_nonzero(side))
        variance += float(np.var(influence[side] * size / data.n, ddof=1)) / size if size > 1 else -math.inf
    error = math.sqrt(max(variance, 0.0))
    bounds = _bounds.delta(value, error, confidence, "logit")
    return bounds, "DeLong, logit scale", "the classes do not overlap"


def _student(data: PairedValues, _: float, confidence: float) -> tuple[_bounds.Bounds | None, str, str]:
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


def pearson(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The product-moment correlation with Fisher's z interval (exact for bivariate normal data only)."""
    return metric_estimate("pearson", x, y, confidence=confidence)


def spearman(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The correlation of mid-ranks with Bonett and Wright's interval."""
    return metric_estimate("spearman", x, y, confidence=confidence)


def kendall(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """Tau-b with a jackknife interval on Fisher's scale."""
    return metric_estimate("kendall", x, y, confidence=confidence)


def ccc(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """Lin's concordance correlation: closeness to the line y = x, so bias and scale count against it."""
    return metric_estimate("ccc", x, y, confidence=confidence)


def mse(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The mean squared difference, with a jackknife interval on the log scale."""
    return metric_estimate("mse", x, y, confidence=confidence)


def mae(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The mean absolute difference, with a jackknife interval on the log scale."""
    return metric_estimate("mae", x, y, confidence=confidence)


def rmse(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The root of ``mse``; the bounds are the roots of its bounds."""
    return metric_estimate("rmse", x, y, confidence=confidence)


def accuracy(label: Column, predicted: Column, *, confidence: float = 0.95) -> Estimate:
    """The share of predictions equal to the label."""
    return metric_estimate("accuracy", label, predicted, confidence=confidence)


def balanced_accuracy(label: Column, predicted: Column, *, confidence: float = 0.95) -> Estimate:
    """The mean recall of the classes that occur among the labels."""
    return metric_estimate("balanced_accuracy", label, predicted, confidence=confidence)


def precision(label: Column, predicted: Column, *, positive: Any = None, confidence: float = 0.95) -> Estimate:
    """The share of positive predictions whose label is positive."""
    return metric_estimate("precision", label, predicted, positive=positive, confidence=confidence)


def recall(label: Column, predicted: Column, *, positive: Any = None, confidence: float = 0.95) -> Estimate:
    """The share of positive labels that were predicted positive."""
    return metric_estimate("recall", label, predicted, positive=positive, confidence=confidence)


def f1(label: Column, predicted: Column, *, positive: Any = None, confidence: float = 0.95) -> Estimate:
    """The harmonic mean of precision and recall of the positive class."""
    return metric_estimate("f1", label, predicted, positive=positive, confidence=confidence)


def macro_f1(label: Column, predicted: Column, *, confidence: float = 0.95) -> Estimate:
    """The unweighted mean of the classes' F1."""
    return metric_estimate("macro_f1", label, predicted, confidence=confidence)


def auroc(label: Column, predicted: Column, *, positive: Any = None, confidence: float = 0.95) -> Estimate:
    """The chance that a positive is scored above a negative, ties counting half."""
    return metric_estimate("auroc", label, predicted, positive=positive, confidence=confidence)


def average_precision(label: Column, predicted: Column, *, positive: Any = None, confidence: float = 0.95) -> Estimate:
    """Precision averaged over the positives, each at its own score as threshold (no interpolation)."""
    return metric_estimate("average_precision", label, predicted, positive=positive, confidence=confidence)


def quadratic_kappa(label: Column, predicted: Column, *, confidence: float = 0.95) -> Estimate:
    """Agreement beyond chance of ordered categories given as numbers, disagreement counting its square.

    Weights follow the values themselves, so unused categories between two used ones keep their distance. This is Lin's
    concordance on the category values (Fleiss, Cohen and Everitt 1969).
    """
    return metric_estimate("quadratic_kappa", label, predicted, confidence=confidence)


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of label by prediction: ``matrix[i][j]`` counts label ``categories[i]`` predicted as ``categories[j]``.

    ``accuracy`` is the share on the diagonal.
    """

    categories: tuple[Any, ...]
    matrix: tuple[tuple[int, ...], ...]
    accuracy: Estimate
    left_out: int = field(default=0, metadata={"formerly": "n_left_out"})

    @property
    def counts(self) -> Ints:
        """The matrix as an array."""
        return np.asarray(self.matrix, dtype=np.int64).reshape(len(self.categories), len(self.categories))

    def recall(self, category: Any, confidence: float = 0.95) -> Estimate:
        """The share of a category's labels that were predicted as it."""
        index = self.categories.index(category)
        total, hits = int(self.counts[index].sum()), int(self.counts[index, index])
        if total == 0:
            return Estimate.missing(f"no label is '{category}'", "recall", {"pairs": 0})
        share = Estimate(value=hits / total, method="recall", counts={"pairs": total})
        return share.with_interval(*_bounds.wilson(hits, total, confidence), "Wilson", confidence)


def confusion(label: Column, predicted: Column) -> Confusion:
    """How often each label met each prediction, over the categories of both in sorted order."""
    data = categories(label, predicted)
    classes = len(data.names)
    flat = np.bincount(data.x * classes + data.y, minlength=classes * classes)
    matrix = tuple(tuple(int(v) for v in row) for row in flat.reshape(classes, classes))
    return Confusion(tuple(data.names), matrix, accuracy(label, predicted), data.left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDifference:
    """The metric of the first less that of the second, its test, and how many units would show it."""

    estimate: Estimate
    p: Estimate
    standard_error: float | None = None
    units: int = 0
    """Pairs, or clusters: what was left out in turn."""
    df: float | None = None
    spread: JackknifeError | None = None
    metric: Metric | None = None

    def at(self, confidence: float, label: str = "") -> Estimate:
        """The difference with an interval at another confidence; ``label`` says what for."""
        if self.spread is None or self.metric is None or self.spread.why_none or self.estimate.is_missing:
            return self.estimate
        point_estimate = replace(self.estimate, low=None, high=None)
        bounded = _in_range(self.spread.estimate(point_estimate, confidence), self.metric)
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
        return Estimate(value=units, method=name, counts=counts, why_no_interval="a plan, not an estimate")


def metric_difference(
    metric: str, x: Column, first: Column, second: Column, *, group: Column | None = None, confidence: float = 0.95
) -> MetricDifference:
    """Compare two predictions against the same labels ``x``; rows that lack either are left out of both."""
    chosen = metric_called(metric)
    name, test = f"difference of {chosen.name}", f"p-value of the difference of {chosen.name}"
    data, second_data, units, counts = common_rows(chosen, x, first, second, group)
    reason = chosen.undefined(data) or chosen.undefined(second_data)
    if reason:
        missing, untested = (Estimate.missing(reason, method, counts) for method in (name, test))
        return MetricDifference(estimate=missing, p=untested)
    value = full_value(chosen, data) - full_value(chosen, second_data)
    spread = _spread(chosen, value, data, second_data, units)
    estimate = _in_range(spread.estimate(Estimate(value=value, method=name, counts=counts), confidence), chosen)
    p = spread.p(0.0)
    if p is None:
        untested = Estimate.missing(spread.why_none or "", test, counts)
        return MetricDifference(estimate=estimate, p=untested, units=units.count, spread=spread, metric=chosen)
    return MetricDifference(
        estimate=estimate,
        p=Estimate(value=p, method=f"{test}, {spread.name}", counts=counts, why_no_interval="a p-value"),
        standard_error=spread.error,
        units=units.count,
        df=spread.df,
        spread=spread,
        metric=chosen,
    )


def common_rows(
    metric: Metric, x: Column, first: Column, second: Column, group: Column | None
) -> tuple[PairedValues, PairedValues, ResampledUnits, dict[str, int]]:
    """The rows that have both predictions, their units and counts."""
    label, *sides = as_array(x), as_array(first), as_array(second)
    both = rows(metric, label, sides[0]).used & rows(metric, label, sides[1]).used
    data, second_data = (rows(metric, label[both], side[both]) for side in sides)
    units = units_of(both, group)
    return data, second_data, units, replace(data, used=both).counts | units.counts


def _in_range(estimate: Estimate, metric: Metric) -> Estimate:
    """Bounds no further out than the metric's range allows: 2 for correlations, 1 for shares."""
    most = {"fisher": 2.0, "logit": 1.0}.get(metric.transform)
    if most is None or estimate.low is None or estimate.high is None:
        return estimate
    return replace(estimate, low=max(estimate.low, -most), high=min(estimate.high, most))


def _spread(
    metric: Metric, value: float, data: PairedValues, second_data: PairedValues, units: ResampledUnits
) -> JackknifeError:
    spread = JackknifeError(value=value, scale="identity", units=units.count, why_none=too_few(units))
    if spread.why_none:
        return spread
    _, error, how = movement(
        units,
        data.n,
        lambda: leave_out(metric, data, units) - leave_out(metric, second_data, units) - value,
        lambda: metric.influence(data) - metric.influence(second_data),
    )
    if not math.isfinite(error):
        return replace(spread, why_none=f"without one of the {units.name}s the metric is undefined")
    if not error > 1e-12 * max(1.0, abs(value)):
        same = abs(value) < 1e-12
        reason = "the two predictions do not differ" if same else f"every {units.name} shows the same difference"
        return replace(spread, why_none=reason)
    return replace(spread, error=error, df=degrees(units), how=how)
