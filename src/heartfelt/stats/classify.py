"""How well predicted categories, scores or probabilities match labels.

Conventions: ``label`` is what the panel said, ``predicted`` what the machine said; pairs missing either are
left out and counted. Values lie in [0, 1] except kappa (at most 1). Recall is averaged over the classes
that occur among the labels; F1 over those that occur on either side, a class never predicted rightly
counting 0. Intervals are analytic and named; for clustered pairs use ``resample.bootstrap_metric(...,
group=...)``.

Sources: Wilson (1927) for proportions; Zou and Donner (2008) for their mean; F1 as ``2J / (1 + J)`` of the
binomial proportion ``J = TP / (TP + FP + FN)``; Takahashi et al. (2022) for macro F1; DeLong et al. (1988)
for the ROC area; Fleiss, Cohen and Everitt (1969) for quadratic kappa, which is Lin's concordance on the
category values; Brier (1950); Naeini et al. (2015) for the expected calibration error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from heartfelt.stats import _bounds, _influence
from heartfelt.stats._metrics import METRICS, Rows, rows
from heartfelt.stats._paired import Categories, Column, as_flags, categories, counted
from heartfelt.stats.confusion_table import Confusion
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.jackknife import jackknife_metric
from heartfelt.stats.probability import Calibration, brier, calibration, expected_calibration_error
from heartfelt.stats.triples import Floats, Ints

__all__ = [
    "Calibration",
    "Confusion",
    "accuracy",
    "auroc",
    "average_precision",
    "balanced_accuracy",
    "brier",
    "calibration",
    "confusion",
    "expected_calibration_error",
    "f1",
    "macro_f1",
    "precision",
    "quadratic_kappa",
    "recall",
]


def confusion(label: Column, predicted: Column) -> Confusion:
    """How often each label met each prediction."""
    data = categories(label, predicted)
    classes = len(data.names)
    flat = np.bincount(data.label * classes + data.predicted, minlength=classes * classes)
    matrix = tuple(tuple(int(v) for v in row) for row in flat.reshape(classes, classes))
    return Confusion(tuple(data.names), matrix, accuracy(label, predicted), int(data.kept.size - data.n))


def accuracy(label: Column, predicted: Column, *, confidence: float = 0.95) -> Estimate:
    """The share of predictions equal to the label."""
    data = categories(label, predicted)
    hits = int(np.count_nonzero(data.label == data.predicted))
    return _proportion(hits, data.n, "accuracy", data.counts, confidence, "no pairs")


def balanced_accuracy(label: Column, predicted: Column, *, confidence: float = 0.95) -> Estimate:
    """The mean recall of the classes that occur among the labels."""
    data = categories(label, predicted)
    name = "balanced accuracy"
    if data.n == 0:
        return Estimate.missing("no pairs", name, data.counts)
    labels, _, rightly = _class_counts(data)
    hits, totals = rightly[labels > 0], labels[labels > 0]
    shares = hits / totals
    ends = np.array([_bounds.wilson(h, t, confidence) for h, t in zip(hits, totals, strict=True)])
    counts = data.counts | {"classes": int(totals.size)}
    plain = Estimate(float(shares.mean()), method=name, counts=counts)
    bounds = _bounds.mover_mean(shares, ends[:, 0], ends[:, 1])
    return _bounds.bounded(plain, bounds, "Wilson per class, combined by MOVER", confidence, "")


def precision(
    label: Column, predicted: Column, *, positive: Any = None, confidence: float = 0.95
) -> Estimate:
    """The share of positive predictions whose label is positive."""
    both, said, _, counts = _flags(label, predicted, positive)
    return _proportion(both, said, "precision", counts, confidence, "nothing was predicted positive")


def recall(label: Column, predicted: Column, *, positive: Any = None, confidence: float = 0.95) -> Estimate:
    """The share of positive labels that were predicted positive."""
    both, _, true, counts = _flags(label, predicted, positive)
    return _proportion(both, true, "recall", counts, confidence, "no label is positive")


def f1(label: Column, predicted: Column, *, positive: Any = None, confidence: float = 0.95) -> Estimate:
    """The harmonic mean of precision and recall of the positive class."""
    both, said, true, counts = _flags(label, predicted, positive)
    jaccard = _proportion(both, said + true - both, "F1", counts, confidence, "nothing is positive")
    if jaccard.value is None or jaccard.low is None or jaccard.high is None:
        return jaccard
    low, value, high = (2 * end / (1 + end) for end in (jaccard.low, jaccard.value, jaccard.high))
    plain = Estimate(value, method="F1", counts=counts)
    return plain.with_interval(low, high, "Wilson on the Jaccard share, transformed", confidence)


def macro_f1(label: Column, predicted: Column, *, confidence: float = 0.95) -> Estimate:
    """The unweighted mean of every class's F1."""
    data = categories(label, predicted)
    if data.n == 0:
        return Estimate.missing("no pairs", "macro F1", data.counts)
    labels, predictions, hits = _class_counts(data)
    value = float(np.mean(2 * hits / (labels + predictions)))
    plain = Estimate(value, method="macro F1", counts=data.counts | {"classes": len(data.names)})
    influence = _influence.macro_f1(data.label, data.predicted, len(data.names))
    return _delta(plain, influence, "logit", confidence)


def auroc(label: Column, predicted: Column, *, positive: Any = None, confidence: float = 0.95) -> Estimate:
    """The chance that a positive is scored above a negative, ties counting half."""
    return _scored("auroc", "area under the ROC curve", label, predicted, positive, confidence)


def average_precision(
    label: Column, predicted: Column, *, positive: Any = None, confidence: float = 0.95
) -> Estimate:
    """Precision averaged over the positives, each at its own score as threshold (no interpolation)."""
    return _scored("average_precision", "average precision", label, predicted, positive, confidence)


def quadratic_kappa(label: Column, predicted: Column, *, confidence: float = 0.95) -> Estimate:
    """Agreement beyond chance of ordered categories given as numbers, disagreement counting its square.

    Weights follow the values themselves, so unused categories between two used ones keep their distance.
    """
    name = "quadratic-weighted kappa"
    data = rows(METRICS["quadratic_kappa"], label, predicted)
    why = METRICS["quadratic_kappa"].undefined(data)
    if why:
        return Estimate.missing(why, name, _counts(data))
    found = jackknife_metric("quadratic_kappa", data.x, data.y, confidence=confidence)
    return replace(found, method=name, counts=_counts(data))


def _class_counts(data: Categories) -> tuple[Ints, Ints, Ints]:
    """Per class: how many labels, how many predictions, how many both."""
    sides = data.label, data.predicted, data.label[data.label == data.predicted]
    labels, predictions, hits = (np.bincount(side, minlength=len(data.names)) for side in sides)
    return labels, predictions, hits


def _counts(data: Rows) -> dict[str, int]:
    return counted(data.n, int(data.kept.size - data.n))


def _flags(label: Column, predicted: Column, positive: Any) -> tuple[int, int, int, dict[str, int]]:
    data = rows(METRICS["f1"], as_flags(label, positive), as_flags(predicted, positive))
    return int(np.sum(data.x & data.y)), int(data.y.sum()), int(data.x.sum()), _counts(data)


def _proportion(
    successes: int, trials: int, name: str, counts: dict[str, int], confidence: float, why: str
) -> Estimate:
    if trials == 0:
        return Estimate.missing(why, name, counts)
    plain = Estimate(successes / trials, method=name, counts=counts)
    low, high = _bounds.wilson(successes, trials, confidence)
    return plain.with_interval(low, high, "Wilson", confidence)


def _delta(plain: Estimate, influence: Floats, transform: _bounds.Transform, confidence: float) -> Estimate:
    scale = "Fisher z" if transform == "fisher" else transform
    bounds = _bounds.delta(float(plain), _bounds.influence_error(influence), confidence, transform)
    why = "the value is at its bound, where the delta method has no error"
    return _bounds.bounded(plain, bounds, f"delta method, {scale} scale", confidence, why)


def _scored(
    metric: str, name: str, label: Column, predicted: Column, positive: Any, confidence: float
) -> Estimate:
    chosen = METRICS[metric]
    data = rows(chosen, as_flags(label, positive), predicted)
    counts = _counts(data) | {"positives": int(np.count_nonzero(data.x))}
    why = chosen.undefined(data) if data.n else "no pairs"
    if why:
        return Estimate.missing(why, name, counts)
    by = _influence.sort_rows(data.y)
    value, influence = _SCORES[metric](by, data.x)
    plain = Estimate(value, method=name, counts=counts)
    if metric == "auroc":
        error = _influence.delong_error(influence, data.x)
        bounds = _bounds.delta(value, error, confidence, "logit")
        return _bounds.bounded(plain, bounds, "DeLong, logit scale", confidence, "the classes do not overlap")
    found = jackknife_metric(metric, data.x, data.y, confidence=confidence)
    return replace(found, value=value, method=name, counts=counts)


def _auroc_value(by: _influence.Sorted, positive: _influence.Flags) -> tuple[float, Floats]:
    yes = np.bincount(by.place, weights=positive, minlength=by.places)
    no = by.sizes - yes
    wins = float(np.sum(yes * (np.cumsum(no) - 0.5 * no)))
    return wins / float(yes.sum() * no.sum()), _influence.auroc(by, positive)


def _precision_value(by: _influence.Sorted, positive: _influence.Flags) -> tuple[float, Floats]:
    yes = np.bincount(by.place, weights=positive, minlength=by.places)[::-1]
    called, true = np.cumsum(by.sizes[::-1]), np.cumsum(yes)
    return float(np.sum(yes * true / called)) / float(yes.sum()), _influence.average_precision(by, positive)


_SCORES: dict[str, Callable[[_influence.Sorted, _influence.Flags], tuple[float, Floats]]] = {
    "auroc": _auroc_value,
    "average_precision": _precision_value,
}
