"""How well predicted categories, scores or probabilities match labels.

``label`` is the raters' category, ``predicted`` the machine's; pairs that lack either are left out and counted. Values lie in
[0, 1] except kappa (at most 1). Definitions are in ``metrics``, intervals in ``paired_metrics``. ``positive`` names the
category that counts as positive; without it both columns are true/false or 0/1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from heartfelt.stats._bounds import wilson
from heartfelt.stats._paired import Column, categories
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.paired_metrics import metric_estimate
from heartfelt.stats.triples import Ints


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of label by prediction: ``matrix[i][j]`` counts label ``categories[i]`` predicted as ``categories[j]``.

    ``accuracy`` is the share on the diagonal.
    """

    categories: tuple[Any, ...]
    matrix: tuple[tuple[int, ...], ...]
    accuracy: Estimate
    left_out: int = field(default=0, metadata={"key": "n_left_out"})

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
        low, high = wilson(hits, total, confidence)
        return Estimate(hits / total, low, high, "recall", "Wilson", confidence, {"pairs": total})


def confusion(label: Column, predicted: Column) -> Confusion:
    """How often each label met each prediction, over the categories of both in sorted order."""
    data = categories(label, predicted)
    classes = len(data.names)
    flat = np.bincount(data.x * classes + data.y, minlength=classes * classes)
    matrix = tuple(tuple(int(v) for v in row) for row in flat.reshape(classes, classes))
    return Confusion(tuple(data.names), matrix, accuracy(label, predicted), data.left_out)


def accuracy(label: Column, predicted: Column, *, confidence: float = 0.95) -> Estimate:
    """The share of predictions equal to the label."""
    return metric_estimate("accuracy", label, predicted, confidence=confidence)


def balanced_accuracy(label: Column, predicted: Column, *, confidence: float = 0.95) -> Estimate:
    """The mean recall of the classes that occur among the labels."""
    return metric_estimate("balanced_accuracy", label, predicted, confidence=confidence)


def precision(
    label: Column, predicted: Column, *, positive: Any = None, confidence: float = 0.95
) -> Estimate:
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


def average_precision(
    label: Column, predicted: Column, *, positive: Any = None, confidence: float = 0.95
) -> Estimate:
    """Precision averaged over the positives, each at its own score as threshold (no interpolation)."""
    return metric_estimate("average_precision", label, predicted, positive=positive, confidence=confidence)


def quadratic_kappa(label: Column, predicted: Column, *, confidence: float = 0.95) -> Estimate:
    """Agreement beyond chance of ordered categories given as numbers, disagreement counting its square.

    Weights follow the values themselves, so unused categories between two used ones keep their distance. This is Lin's
    concordance on the category values (Fleiss, Cohen and Everitt 1969).
    """
    return metric_estimate("quadratic_kappa", label, predicted, confidence=confidence)
