"""The ceiling of each task: how well anything can be expected to do against labels made of these ratings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np
import polars as pl

from heartfelt.labels.labels import PUBLISHED
from heartfelt.scoring.metrics import METRICS, converted
from heartfelt.scoring.scores import Task
from heartfelt.scoring.sheet import yes
from heartfelt.scoring.truth import ITEM, NO_RATINGS, Truth
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.noise_ceiling import Ceiling, ceiling
from heartfelt.stats.reliability.number_ceiling import NumberMetric, ceiling_from_means
from heartfelt.stats.reliability.yardsticks import Metric

WITHIN = "within cells"


@dataclass(slots=True, eq=False)
class Ceilings:
    """Ceilings, each computed when it is first asked for."""

    truth: Truth
    seed: int = 0
    confidence: float = 0.95
    wanted: bool = True
    _known: dict[tuple[str, str], Ceiling | str] = field(default_factory=dict)

    def of(self, task: Task, metric: str, aggregation: str = "item") -> Estimate:
        """The ceiling of a metric, or the reason there is none."""
        name, base = f"ceiling, {metric}", METRICS[metric].base
        if not self.wanted:
            return Estimate.missing("ceilings were not asked for", name)
        if aggregation == "system":
            return Estimate.missing("no ceiling of system means is known", name)
        if base is None or task.kind == "text":
            return Estimate.missing("no ceiling of this metric is known", name)
        if task.kind == "ordinal":
            return Estimate.missing("no ceiling of most frequent degrees is known", name)
        key = (task.id, base)
        if key not in self._known:
            self._known[key] = self._made(task, base)
        result = self._known[key]
        if isinstance(result, str):
            return Estimate.missing(result, name)
        if aggregation == WITHIN and metric != "pearson":
            return Estimate.missing("a ceiling within cells is known for Pearson's correlation only", name)
        return converted(metric, result.within_cells if aggregation == WITHIN else result.overall)

    def human(self, task: Task, metric: str) -> Estimate:
        """What one more rater reaches, where the ceiling was computed."""
        result = self._known.get((task.id, METRICS[metric].base or ""))
        if result is None or isinstance(result, str):
            return Estimate.missing(result or "no ceiling of this metric is known", "one more rater")
        return result.human

    def _of_means(self, items: pl.DataFrame, base: str) -> Ceiling | str:
        """The ceiling of labels whose single ratings are not known, from their standard errors."""
        if not items["standard_error"].is_not_null().any():
            return f"{NO_RATINGS}, without spread and count"
        label, error, n = (
            items[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            for name in ("label", "standard_error", "n")
        )
        top = ceiling_from_means(label, error * np.sqrt(n), n, cast("NumberMetric", base), self.confidence)
        unknown = Estimate.missing(NO_RATINGS, "ceiling")
        return Ceiling(base, top, unknown, unknown, unknown, unknown)

    def _made(self, task: Task, base: str) -> Ceiling | str:
        """The ceiling over the items that are scored.

        Tied items of categories are not scored but show how clear items are, so their votes are used too.
        """
        items = self.truth.items.filter(pl.col("question").is_in(task.questions))
        methods = items["method"].unique().to_list()
        if task.kind == "numbers":
            items = items.filter(pl.col("label").is_not_null())
            methods = items["method"].unique().to_list()
            if len(methods) == 1 and not _is_mean(str(methods[0])):
                return f"no ceiling of labels made by '{methods[0]}' is known"
        if task.kind == "categories" and any(str(name).startswith("Dawid") for name in methods):
            return "no ceiling of labels made by Dawid-Skene is known"
        ratings = self.truth.answers.join(
            items.select(*ITEM, "system", "intent"), on=ITEM, how="inner", maintain_order="left"
        )
        if not ratings.height:
            return self._of_means(items, base) if task.kind == "numbers" else NO_RATINGS
        value = ratings["value"].to_numpy()
        if task.kind == "binary":
            value = yes(self.truth.study.scale_of(task.questions[0]), value)
        item = ratings["stimulus"]
        if len(task.questions) > 1:
            item = ratings.select(pl.concat_str(ITEM, separator="\x1f")).to_series()
        cell = ratings.select(
            pl.concat_str(pl.col("system", "intent").cast(pl.String).fill_null(""), separator="\x1f")
        )
        named = base == "correlation" and cell.to_series().n_unique() > 1
        return ceiling(
            ratings["rater"],
            item,
            value,
            cell=cell.to_series() if named else None,
            metric=cast("Metric", base),
            confidence=self.confidence,
            seed=self.seed,
        )


def _is_mean(method: str) -> bool:
    """Whether labels made this way are means of ratings, weighted or not."""
    return method in ("mean", PUBLISHED) or method.startswith("ITU-T P.910")
