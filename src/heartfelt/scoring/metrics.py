"""The metrics models are scored by: title, direction, chance level, and the ceiling each can be compared with.

Chance is the score of a predictor that knows nothing about the item: a fixed number for correlations, agreement, balanced
accuracy, macro F1 and the ROC area. Elsewhere it comes from the labels that are scored: the best constant answer (the most
frequent category, the mean or median label, the share of positives), or, for texts, the model's own texts assigned to other
items. ``recall`` and BLEU have no chance level.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats

Kind: TypeAlias = Literal["binary", "categories", "ordinal", "numbers", "text", "choices", "strengths", "traces"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricInfo:
    """A metric as pages and tables name it.

    ``chance_rule`` says what chance is, ``chance`` is its value where that is a fixed number. ``base`` is the ceiling of
    :func:`heartfelt.stats.ceiling` that this metric's ceiling is made from, by ``from_base``.
    """

    title: str
    higher_is_better: bool = True
    chance_rule: str = field(default="no chance level is defined", metadata={"formerly": "chance"})
    chance: float | None = field(default=None, metadata={"skip": True})
    base: str | None = field(default=None, metadata={"skip": True})
    from_base: Callable[[float], float] | None = field(default=None, metadata={"skip": True})
    note: str = field(default="", metadata={"skip": True})

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return 1 if self.higher_is_better else -1


def _concordance(correlation: float) -> float:
    return 2 * correlation**2 / (1 + correlation**2)


def _tau(correlation: float) -> float:
    return 2 / math.pi * math.asin(min(max(correlation, -1.0), 1.0))


def _square(error: float) -> float:
    return error * error


_NORMAL = "for normally distributed labels"
_OTHER_TEXTS = "the model's own texts assigned to other items"
_ALL_LABELS = "the distribution of all labels"
_PER_CATEGORY = "1 / categories among the labels"
_SHARE_PRESENT = "share of labels that are present"
_MEAN_LABEL = "always the mean label"
_EVEN = "even odds"
_EVEN_TIES = "even odds, with ties as often as they occur"

METRICS: dict[str, MetricInfo] = {
    "balanced_accuracy": MetricInfo(title="balanced accuracy", chance_rule=_PER_CATEGORY, base="balanced_accuracy"),
    "accuracy": MetricInfo(title="accuracy", chance_rule="share of the most frequent label", base="accuracy"),
    "precision": MetricInfo(title="precision", chance_rule=_SHARE_PRESENT),
    "recall": MetricInfo(title="recall"),
    "f1": MetricInfo(title="F1", chance_rule="always saying present"),
    "macro_f1": MetricInfo(title="macro F1", chance_rule=_PER_CATEGORY, base="macro_f1"),
    "auroc": MetricInfo(title="area under the ROC curve", chance_rule="0.5", chance=0.5),
    "average_precision": MetricInfo(title="average precision", chance_rule=_SHARE_PRESENT),
    "brier": MetricInfo(
        title="Brier score", higher_is_better=False, chance_rule="always the share of labels that are present"
    ),
    "top_2": MetricInfo(title="top-2 accuracy", chance_rule="share of the 2 most frequent labels"),
    "top_3": MetricInfo(title="top-3 accuracy", chance_rule="share of the 3 most frequent labels"),
    "divergence": MetricInfo(
        title="Jensen-Shannon divergence from the votes (bits)",
        higher_is_better=False,
        chance_rule="always the distribution of all votes",
    ),
    "quadratic_kappa": MetricInfo(title="quadratic-weighted kappa", chance_rule="0", chance=0.0),
    "pearson": MetricInfo(title="Pearson correlation (LCC)", chance_rule="0", chance=0.0, base="correlation"),
    "spearman": MetricInfo(
        title="Spearman correlation (SRCC)",
        chance_rule="0",
        chance=0.0,
        base="correlation",
        note="the ceiling of Pearson's correlation",
    ),
    "kendall": MetricInfo(
        title="Kendall's tau (KTAU)", chance_rule="0", chance=0.0, base="correlation", from_base=_tau, note=_NORMAL
    ),
    "ccc": MetricInfo(
        title="concordance (CCC)", chance_rule="0", chance=0.0, base="correlation", from_base=_concordance
    ),
    "mse": MetricInfo(
        title="mean squared error", higher_is_better=False, chance_rule=_MEAN_LABEL, base="rmse", from_base=_square
    ),
    "rmse": MetricInfo(title="root mean squared error", higher_is_better=False, chance_rule=_MEAN_LABEL, base="rmse"),
    "mae": MetricInfo(
        title="mean absolute error",
        higher_is_better=False,
        chance_rule="always the median label",
        base="mae",
        note=_NORMAL,
    ),
    "bleu_1": MetricInfo(title="BLEU-1"),
    "bleu_4": MetricInfo(title="BLEU-4"),
    "rouge_l": MetricInfo(title="ROUGE-L", chance_rule=_OTHER_TEXTS),
    "cider": MetricInfo(title="CIDEr-D", chance_rule=_OTHER_TEXTS),
    "interval_coverage": MetricInfo(title="coverage of the predictor's intervals"),
    "interval_width": MetricInfo(title="mean width of the predictor's intervals", higher_is_better=False),
    "interval_score": MetricInfo(
        title="interval score of the predictor's intervals", higher_is_better=False, chance_rule=_ALL_LABELS
    ),
    "crps": MetricInfo(title="CRPS, normal with the interval's width", higher_is_better=False, chance_rule=_ALL_LABELS),
    "bert_score": MetricInfo(title="BERTScore (MiniLM)", chance_rule=_OTHER_TEXTS),
    "choice_accuracy": MetricInfo(title="accuracy of single choices", chance_rule=_EVEN, chance=0.5),
    "decided_accuracy": MetricInfo(title="accuracy of single choices without ties", chance_rule=_EVEN, chance=0.5),
    "majority_accuracy": MetricInfo(title="accuracy of the majority's choice", chance_rule=_EVEN, chance=0.5),
    "outcome_accuracy": MetricInfo(title="accuracy of first, tie or second", chance_rule="the most frequent outcome"),
    "log_loss": MetricInfo(
        title="log loss of choices (nats)", higher_is_better=False, chance_rule=_EVEN, chance=math.log(2)
    ),
    "outcome_log_loss": MetricInfo(
        title="log loss of first, tie or second (nats)", higher_is_better=False, chance_rule=_EVEN_TIES
    ),
    "choice_brier": MetricInfo(title="Brier score of choices", higher_is_better=False, chance_rule=_EVEN),
    "outcome_brier": MetricInfo(
        title="Brier score of first, tie or second", higher_is_better=False, chance_rule=_EVEN_TIES
    ),
    "trace_ccc": MetricInfo(
        title="concordance with the raters' course (CCC)", chance_rule="a constant course", chance=0.0
    ),
}

HEADLINES: dict[Kind, str] = {
    "binary": "balanced_accuracy",
    "categories": "accuracy",
    "ordinal": "quadratic_kappa",
    "numbers": "pearson",
    "text": "cider",
    "choices": "choice_accuracy",
    "strengths": "spearman",
    "traces": "trace_ccc",
}
FAILURES: dict[Kind, str] = {
    "binary": "a failed prediction counts as the wrong answer, with the worst score seen",
    "categories": "a failed prediction counts as a wrong category, with no share for the right one",
    "ordinal": "a failed prediction counts as the category furthest from the label",
    "numbers": "a failed prediction counts as the far end of the scale for errors, and for correlations as the mean of the "
    "model's own predictions, which says nothing about the item",
    "text": "a failed prediction counts as an empty text",
    "choices": "a failed prediction counts as the stimulus that fewer people chose, and in log loss and Brier scores as even odds",
    "strengths": "a failed prediction counts as the mean of the model's own predictions, which says nothing about the item",
    "traces": "a failed prediction counts as a constant course, whose concordance is 0",
}
"""What a failed prediction counts as in the scores that include failures."""


def converted(metric: str, ceiling: Estimate) -> Estimate:
    """The ceiling of a metric from the ceiling it is made from."""
    info = METRICS[metric]
    if ceiling.value is None:
        return ceiling
    change = info.from_base or float
    value, low, high = (None if end is None else change(end) for end in (ceiling.value, ceiling.low, ceiling.high))
    method = ceiling.method + (f", as {metric} ({info.note})" if info.note else "")
    return replace(ceiling, value=value, low=low, high=high, method=method)


@dataclass(frozen=True, slots=True, eq=False)
class ChanceLevel:
    """The chance level of a metric and what it stands for, or why there is none.

    ``y`` holds the answers of such a predictor, row by row, where it has any to compare with.
    """

    value: float | None
    what: str
    y: Floats | None = None

    def estimate(self, metric: str) -> Estimate:
        name = f"chance level of {metric}"
        if self.value is None:
            return Estimate.missing(self.what, name)
        reason = "fixed by the labels that are scored"
        return Estimate(value=self.value, method=f"{name}: {self.what}", why_no_interval=reason)


def chance_of(metric: str, x: Floats) -> ChanceLevel:
    """The chance level of a metric on the labels ``x``."""
    info = METRICS[metric]
    if info.chance is not None:
        return ChanceLevel(info.chance, "a prediction that says nothing about the item")
    if not x.size:
        return ChanceLevel(None, "there are no labels")
    present = float(np.mean(x > 0.5))
    match metric:
        case "balanced_accuracy" | "macro_f1":
            count = np.unique(x).size
            return ChanceLevel(1 / count, f"guessing among the {count} categories that occur among the labels")
        case "accuracy":
            values, times = np.unique(x, return_counts=True)
            most = np.full(x.size, float(values[np.argmax(times)]))
            return ChanceLevel(float(times.max() / x.size), "always the most frequent label", most)
        case "mse" | "rmse":
            squared = float(np.mean((x - x.mean()) ** 2))
            level = squared if metric == "mse" else math.sqrt(squared)
            return ChanceLevel(level, _MEAN_LABEL, np.full(x.size, x.mean()))
        case "mae":
            middle = float(np.median(x))
            level = float(np.mean(np.abs(x - middle)))
            return ChanceLevel(level, "always the median label", np.full(x.size, middle))
        case "precision" | "average_precision":
            return ChanceLevel(present, "the share of labels that are present")
        case "f1":
            return ChanceLevel(2 * present / (1 + present), "always saying present")
        case "brier":
            share = float(np.mean(x))
            always = np.full(x.size, share)
            return ChanceLevel(share * (1 - share), "always the share of labels that are present", always)
        case _:
            return ChanceLevel(None, f"no chance level of {info.title} is defined")
