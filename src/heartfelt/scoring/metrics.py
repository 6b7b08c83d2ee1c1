"""What is known of each metric: its usual name, which way is better, what says nothing, and what a ceiling of it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from heartfelt.stats.estimate import Estimate

Kind: TypeAlias = Literal["binary", "categories", "ordinal", "numbers", "text"]


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """One metric as pages and tables name it.

    ``chance`` is the score of a prediction that says nothing, where it is a fixed number; ``chance_rule`` says what it is.
    ``base`` is the ceiling of :func:`heartfelt.stats.ceiling` it is made from, ``from_base`` how.
    """

    title: str
    higher: bool = True
    chance: float | None = None
    base: str | None = None
    from_base: Callable[[float], float] | None = None
    note: str = ""
    chance_rule: str = "no chance level is defined"


def _concordance(correlation: float) -> float:
    return 2 * correlation**2 / (1 + correlation**2)


def _tau(correlation: float) -> float:
    return 2 / math.pi * math.asin(min(max(correlation, -1.0), 1.0))


_NORMAL = "for normally distributed labels"
_DEALT = "the model's own texts dealt out to other items"
_CLIMATE = "the distribution of all labels"

METRICS: dict[str, MetricFacts] = {
    "balanced_accuracy": MetricFacts(
        "balanced accuracy",
        chance=0.5,
        base="balanced_accuracy",
        chance_rule="1 / categories among the labels",
    ),
    "accuracy": MetricFacts("accuracy", base="accuracy", chance_rule="share of the most frequent label"),
    "precision": MetricFacts("precision", chance_rule="share of labels that are present"),
    "recall": MetricFacts("recall"),
    "f1": MetricFacts("F1", chance_rule="always saying present"),
    "macro_f1": MetricFacts("macro F1", base="macro_f1", chance_rule="1 / categories among the labels"),
    "auroc": MetricFacts("area under the ROC curve", chance=0.5, chance_rule="0.5"),
    "average_precision": MetricFacts("average precision", chance_rule="share of labels that are present"),
    "brier": MetricFacts(
        "Brier score", higher=False, chance_rule="always the share of labels that are present"
    ),
    "top_2": MetricFacts("top-2 accuracy", chance_rule="share of the 2 most frequent labels"),
    "top_3": MetricFacts("top-3 accuracy", chance_rule="share of the 3 most frequent labels"),
    "divergence": MetricFacts(
        "Jensen-Shannon divergence from the votes (bits)",
        higher=False,
        chance_rule="always the distribution of all votes",
    ),
    "quadratic_kappa": MetricFacts("quadratic-weighted kappa", chance=0.0, chance_rule="0"),
    "pearson": MetricFacts("Pearson correlation (LCC)", chance=0.0, base="correlation", chance_rule="0"),
    "spearman": MetricFacts(
        "Spearman correlation (SRCC)",
        chance=0.0,
        base="correlation",
        note="the ceiling of Pearson's correlation",
        chance_rule="0",
    ),
    "kendall": MetricFacts(
        "Kendall's tau (KTAU)", chance=0.0, base="correlation", from_base=_tau, note=_NORMAL, chance_rule="0"
    ),
    "ccc": MetricFacts(
        "concordance (CCC)", chance=0.0, base="correlation", from_base=_concordance, chance_rule="0"
    ),
    "mse": MetricFacts(
        "mean squared error",
        higher=False,
        base="rmse",
        from_base=lambda e: e * e,
        chance_rule="always the mean label",
    ),
    "rmse": MetricFacts(
        "root mean squared error", higher=False, base="rmse", chance_rule="always the mean label"
    ),
    "mae": MetricFacts(
        "mean absolute error", higher=False, base="mae", note=_NORMAL, chance_rule="always the median label"
    ),
    "bleu_1": MetricFacts("BLEU-1"),
    "bleu_4": MetricFacts("BLEU-4"),
    "rouge_l": MetricFacts("ROUGE-L", chance_rule=_DEALT),
    "cider": MetricFacts("CIDEr-D", chance_rule=_DEALT),
    "interval_coverage": MetricFacts("coverage of the predictor's intervals"),
    "interval_width": MetricFacts("mean width of the predictor's intervals", higher=False),
    "interval_score": MetricFacts(
        "interval score of the predictor's intervals", higher=False, chance_rule=_CLIMATE
    ),
    "crps": MetricFacts("CRPS, normal with the interval's width", higher=False, chance_rule=_CLIMATE),
    "bert_score": MetricFacts("BERTScore (MiniLM)", chance_rule=_DEALT),
}

HEADLINES: dict[Kind, str] = {
    "binary": "balanced_accuracy",
    "categories": "accuracy",
    "ordinal": "quadratic_kappa",
    "numbers": "pearson",
    "text": "cider",
}
NUMBERS = ("pearson", "spearman", "kendall", "ccc", "rmse", "mse", "mae")
FAILURES: dict[Kind, str] = {
    "binary": "a failed prediction counts as the wrong answer, with the worst score seen",
    "categories": "a failed prediction counts as a wrong category, with no share for the right one",
    "ordinal": "a failed prediction counts as the category furthest from the label",
    "numbers": "a failed prediction counts as the far end of the scale for errors, and for correlations as the mean of the "
    "model's own predictions, which says nothing of the item",
    "text": "a failed prediction counts as an empty text",
}
"""What becomes of failed predictions in the scores that count them."""


def converted(metric: str, ceiling: Estimate) -> Estimate:
    """The ceiling of a metric from the ceiling it is made from."""
    facts = METRICS[metric]
    if ceiling.value is None:
        return ceiling
    change = facts.from_base or (lambda value: value)
    ends = [None if end is None else change(end) for end in (ceiling.value, ceiling.low, ceiling.high)]
    method = ceiling.method + (f", as {metric} ({facts.note})" if facts.note else "")
    return replace(
        ceiling, value=ends[0], low=ends[1], high=ends[2], method=method, counts=dict(ceiling.counts)
    )
