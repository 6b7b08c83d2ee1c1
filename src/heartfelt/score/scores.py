"""What scoring gives: a row for every model, task and metric, with comparisons, ranks, slices and details."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from heartfelt.representation import ShortRepr
from heartfelt.score.metrics import FAILURES, METRICS
from heartfelt.score.tasks import Task
from heartfelt.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one model.

    ``level`` is ``item``, ``system`` (means per system first) or ``within cells`` (what is left when the means of system
    and intent are taken off); ``at`` says at which threshold. ``estimate`` is over answered items with an interval over
    stimuli, ``with_failures`` counts failed predictions, ``over_systems`` has an interval over systems.
    """

    model: str
    task: str
    level: str
    metric: str
    at: str
    estimate: Estimate
    with_failures: Estimate
    over_systems: Estimate
    ceiling: Estimate
    of_ceiling: Estimate

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "model": self.model,
            "task": self.task,
            "level": self.level,
            "metric": self.metric,
            "at": self.at,
            "estimate": self.estimate.to_json(),
            "with_failures": self.with_failures.to_json(),
            "over_systems": self.over_systems.to_json(),
            "ceiling": self.ceiling.to_json(),
            "of_ceiling": self.of_ceiling.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Slice:
    """A metric on some of the items."""

    model: str
    task: str
    column: str
    value: str
    metric: str
    items: int
    answered: int
    estimate: Estimate

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "model": self.model, "task": self.task, "column": self.column, "value": self.value, "metric": self.metric,
            "n_items": self.items, "n_answered": self.answered, "estimate": self.estimate.to_json(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two models on the items both answered; ``p_adjusted`` is Holm's over all pairs of the task."""

    task: str
    metric: str
    first: str
    second: str
    difference: Estimate
    p: Estimate
    p_adjusted: float | None
    apart: bool
    """Whether the data can tell the two apart."""
    more_stimuli: Estimate
    """How many more stimuli would tell them apart, were the difference as large as it looks."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "task": self.task, "metric": self.metric, "first": self.first, "second": self.second,
            "difference": self.difference.to_json(), "p": self.p.to_json(), "p_adjusted": self.p_adjusted,
            "apart": self.apart, "more_stimuli": self.more_stimuli.to_json(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rank:
    """Where a model stands: ``best`` to ``worst`` are the ranks the data leave open."""

    task: str
    model: str
    place: int | None
    best: int | None
    worst: int | None
    why_none: str | None = None

    @property
    def words(self) -> str:
        """``2`` or ``1–3``; a dash for a model that is not ranked."""
        if self.best is None or self.worst is None:
            return "–"
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "task": self.task, "model": self.model, "place": self.place, "best": self.best, "worst": self.worst,
            "why_none": self.why_none,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scores(ShortRepr):
    """Everything that scoring gives. ``rows`` holds each item with its label and each model's prediction."""

    study: str
    title: str
    hash: str
    models: tuple[str, ...]
    tasks: tuple[Task, ...]
    scores: tuple[Score, ...]
    slices: tuple[Slice, ...]
    comparisons: tuple[Comparison, ...]
    ranks: tuple[Rank, ...]
    coverage: Mapping[str, Mapping[str, Any]]
    details: Mapping[str, Mapping[str, Any]]
    options: Mapping[str, Any]
    notes: tuple[str, ...]
    ledger: pl.DataFrame
    rows: pl.DataFrame = field(repr=False)

    def find(
        self, task: str, model: str, metric: str | None = None, level: str = "item", at: str | None = None
    ) -> Score | None:
        """One score: the task's headline unless a metric is named."""
        wanted = metric or self.task(task).headline
        for one in self.scores:
            if (one.task, one.model, one.metric, one.level) == (task, model, wanted, level) and at in (
                None,
                one.at,
            ):
                return one
        return None

    def task(self, name: str) -> Task:
        """A task by its id."""
        return next(task for task in self.tasks if task.id == name)

    def ranked(self, task: str) -> list[Rank]:
        """The ranks of a task, best first, those without a rank last."""
        mine = [rank for rank in self.ranks if rank.task == task]
        return sorted(mine, key=lambda rank: (rank.place is None, rank.place or 0))

    def table(self) -> pl.DataFrame:
        """The scores as a flat table."""
        return pl.DataFrame([_flat(one) for one in self.scores], infer_schema_length=None)

    def to_json(self) -> dict[str, Any]:
        """Plain data for strict JSON."""
        return {
            "heartfelt_scores": 1,
            "study": self.study,
            "title": self.title,
            "source": self.hash,
            "models": list(self.models),
            "options": dict(self.options),
            "tasks": [
                {
                    "task": task.id, "kind": task.kind, "questions": list(task.questions), "headline": task.headline,
                    "failures": FAILURES[task.kind],
                }
                for task in self.tasks
            ],
            "metrics": {
                name: {"title": METRICS[name].title, "higher_is_better": METRICS[name].higher}
                for name in METRICS
                if any(one.metric == name for one in self.scores)
            },
            "coverage": {model: dict(found) for model, found in self.coverage.items()},
            "ranks": _json(self.ranks),
            "scores": _json(self.scores),
            "comparisons": _json(self.comparisons),
            "slices": _json(self.slices),
            "details": {name: dict(found) for name, found in self.details.items()},
            "notes": list(self.notes),
        }  # fmt: skip


def _json(many: Sequence[Any]) -> list[dict[str, Any]]:
    return [one.to_json() for one in many]


def _flat(one: Score) -> dict[str, Any]:
    out: dict[str, Any] = {name: getattr(one, name) for name in ("model", "task", "level", "metric", "at")}
    for name in ("estimate", "with_failures", "over_systems", "ceiling", "of_ceiling"):
        found: Estimate = getattr(one, name)
        head = "" if name == "estimate" else f"{name}_"
        out |= {f"{head}value": found.value, f"{head}low": found.low, f"{head}high": found.high}
    out["n"] = one.estimate.counts.get("pairs")
    out["why_missing"] = one.estimate.why_missing
    return out
