"""The metrics models are scored by: title, direction, chance level, and the ceiling each can be compared with.

Chance is the score of a predictor that knows nothing about the item: a fixed number for correlations, agreement, balanced
accuracy, macro F1 and the ROC area. Elsewhere it comes from the labels that are scored: the best constant answer (the most
frequent category, the mean or median label, the share of positives), or, for texts, the model's own texts assigned to other
items. ``recall`` and BLEU have no chance level.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Literal, TypeAlias, get_args

import numpy as np

from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate

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


_FROM_BASE: Mapping[str, Callable[[float], float]] = {"kendall": _tau, "ccc": _concordance, "mse": _square}
"""How a metric's ceiling follows from its base, where it is another number."""
_TABLES = tomllib.loads(files(__package__).joinpath("metrics.toml").read_text("utf-8"))
METRICS: dict[str, MetricInfo] = {
    name: MetricInfo(**info, from_base=_FROM_BASE.get(name)) for name, info in _TABLES["metrics"].items()
}
HEADLINES: dict[Kind, str] = {kind: _TABLES["tasks"][kind]["headline"] for kind in get_args(Kind)}
FAILURES: dict[Kind, str] = {kind: _TABLES["tasks"][kind]["failures"] for kind in get_args(Kind)}
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
            return ChanceLevel(level, "always the mean label", np.full(x.size, x.mean()))
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
