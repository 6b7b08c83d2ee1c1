"""What a predictor that knows nothing of the item would score, for each metric.

A fixed number for correlations, agreement, balanced accuracy, macro F1 and the ROC area. Elsewhere it is read off the labels
that are scored: the best constant answer (the most frequent category, the mean or median label, the share of positives), or,
for texts, the model's own texts dealt out to other items. ``recall`` and BLEU have no chance level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.scoring.metrics import METRICS
from heartfelt.scoring.sheet import Floats
from heartfelt.stats.estimate import Estimate

CLIMATE = "the labels' own distribution"


@dataclass(frozen=True, slots=True, eq=False)
class Chance:
    """The chance level of a metric and what it stands for; ``y`` holds such a predictor's answers, row by row, where it has
    any to compare with.
    """

    value: float | None
    what: str
    y: Floats | None = None

    def estimate(self, metric: str) -> Estimate:
        """As every number is given."""
        name = f"chance level of {metric}"
        if self.value is None:
            return Estimate.missing(self.what, name)
        return Estimate(
            self.value, method=f"{name}: {self.what}", why_no_interval="fixed by the labels that are scored"
        )


def chance_of(metric: str, x: Floats) -> Chance:
    """The chance level of a metric on these labels."""
    facts = METRICS[metric]
    if facts.chance is not None and metric != "balanced_accuracy":
        return Chance(facts.chance, "a prediction that says nothing of the item")
    if not x.size:
        return Chance(None, "there are no labels")
    if metric in _CONSTANTS:
        return _CONSTANTS[metric](x)
    return Chance(None, f"no chance level of {facts.title} is defined")


def _classes(x: Floats) -> Chance:
    count = int(np.unique(x).size)
    return Chance(1 / count, f"guessing among the {count} categories that occur among the labels")


def _most_frequent(x: Floats) -> Chance:
    values, times = np.unique(x, return_counts=True)
    said = np.full(x.size, float(values[np.argmax(times)]))
    return Chance(float(times.max() / x.size), "always the most frequent label", said)


def _mean(x: Floats, root: bool = False) -> Chance:
    error = float(np.mean((x - x.mean()) ** 2))
    return Chance(
        float(np.sqrt(error)) if root else error, "always the mean label", np.full(x.size, x.mean())
    )


def _median(x: Floats) -> Chance:
    middle = float(np.median(x))
    return Chance(float(np.mean(np.abs(x - middle))), "always the median label", np.full(x.size, middle))


def _positives(x: Floats) -> Chance:
    return Chance(float(np.mean(x > 0.5)), "the share of labels that are present")


def _always_yes(x: Floats) -> Chance:
    share = float(np.mean(x > 0.5))
    return Chance(2 * share / (1 + share), "always saying present")


def _probability(x: Floats) -> Chance:
    share = float(np.mean(x))
    return Chance(share * (1 - share), "always the share of labels that are present", np.full(x.size, share))


_CONSTANTS = {
    "balanced_accuracy": _classes,
    "macro_f1": _classes,
    "accuracy": _most_frequent,
    "mse": _mean,
    "rmse": lambda x: _mean(x, root=True),
    "mae": _median,
    "precision": _positives,
    "average_precision": _positives,
    "f1": _always_yes,
    "brier": _probability,
}
