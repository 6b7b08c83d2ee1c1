"""The ceiling of each task: how well anything can be expected to do against labels made of these ratings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import polars as pl

from heartfelt.labels.labels import PUBLISHED
from heartfelt.scoring.metrics import METRICS, converted
from heartfelt.scoring.sheet import yes
from heartfelt.scoring.tasks import Task
from heartfelt.scoring.truth import ITEM, NO_RATINGS, Truth
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.noise_ceiling import Ceiling, Metric, ceiling
from heartfelt.stats.reliability.labels import NumberMetric
from heartfelt.stats.reliability.published_means import ceiling_from_means

WITHIN = "within cells"


def _is_mean(method: str) -> bool:
    """Whether labels made this way are means of ratings, weighted or not."""
    return method in ("mean", PUBLISHED) or method.startswith("ITU-T P.910")


@dataclass(slots=True, eq=False)
class Ceilings:
    """Ceilings, each computed when it is first asked for."""

    truth: Truth
    seed: int = 0
    confidence: float = 0.95
    wanted: bool = True
    _found: dict[tuple[str, str], Ceiling | str] = field(default_factory=dict)

    def of(self, task: Task, metric: str, level: str = "item") -> Estimate:
        """The ceiling of a metric, or the reason there is none."""
        name = f"ceiling, {metric}"
        base = METRICS[metric].base
        if not self.wanted:
            return Estimate.missing("ceilings were not asked for", name)
        if base is None or level == "system" or (task.kind == "text"):
            what = "system means" if level == "system" else "this metric"
            return Estimate.missing(f"no ceiling of {what} is known", name)
        if task.kind == "ordinal":
            return Estimate.missing("no ceiling of most frequent degrees is known", name)
        key = (task.id, base)
        if key not in self._found:
            self._found[key] = self._made(task, base)
        found = self._found[key]
        if isinstance(found, str):
            return Estimate.missing(found, name)
        if level == WITHIN and metric != "pearson":
            return Estimate.missing("a ceiling within cells is known for Pearson's correlation only", name)
        return converted(metric, found.within_cells if level == WITHIN else found.overall)

    def human(self, task: Task, metric: str) -> Estimate:
        """What one more rater reaches, where the ceiling was computed."""
        found = self._found.get((task.id, METRICS[metric].base or ""))
        if found is None or isinstance(found, str):
            return Estimate.missing(found or "no ceiling of this metric is known", "one more rater")
        return found.human

    def _of_means(self, kept: pl.DataFrame, base: str) -> Ceiling | str:
        """The ceiling of labels whose single ratings are not known, from their standard errors."""
        if not kept["standard_error"].is_not_null().any():
            return f"{NO_RATINGS}, without spread and count"
        label, error, n = (
            kept[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            for name in ("label", "standard_error", "n")
        )
        top = ceiling_from_means(label, error * np.sqrt(n), n, cast("NumberMetric", base), self.confidence)
        gone = Estimate.missing(NO_RATINGS, "ceiling")
        return Ceiling(base, top, gone, gone, gone, gone)

    def _made(self, task: Task, base: str) -> Ceiling | str:
        """The ceiling over the items that are scored.

        Of categories, tied items are not scored but tell how clear items are, so their votes are used too.
        """
        kept = self.truth.items.filter(pl.col("question").is_in(task.questions))
        if task.kind == "numbers":
            kept = kept.filter(pl.col("label").is_not_null())
        ratings = self.truth.answers.join(
            kept.select(*ITEM, "system", "intent"), on=ITEM, how="inner", maintain_order="left"
        )
        methods = kept["method"].unique().to_list()
        if task.kind == "numbers" and len(methods) == 1 and not _is_mean(str(methods[0])):
            return f"no ceiling of labels made by '{methods[0]}' is known"
        if task.kind == "categories" and any(str(name).startswith("Dawid") for name in methods):
            return "no ceiling of labels made by Dawid-Skene is known"
        if not ratings.height:
            return self._of_means(kept, base) if task.kind == "numbers" else NO_RATINGS
        value: Any = ratings["value"].to_numpy()
        if task.kind == "binary":
            value = yes(task, value)
        single = len(task.questions) == 1
        item = (
            ratings["stimulus"]
            if single
            else ratings.select(pl.concat_str(ITEM, separator="\x1f")).to_series()
        )
        cells = ratings.select(pl.col("system", "intent").fill_null("")).rows()
        named = len(set(cells)) > 1 and base == "correlation"
        cell = pl.Series(["\x1f".join(pair) for pair in cells]) if named else None
        return ceiling(
            ratings["rater"],
            item,
            value,
            cell=cell,
            metric=cast("Metric", base),
            confidence=self.confidence,
            seed=self.seed,
        )
