"""What scoring gives: a row for every model, task and metric, with comparisons, ranks, slices and details."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from heartfelt import __version__
from heartfelt.representation import ShortRepr
from heartfelt.scoring.metrics import FAILURES, METRICS
from heartfelt.scoring.tasks import Task
from heartfelt.stats.estimate import Estimate

NO_CHANCE_BEATEN = "it does not beat chance"
OTHER_SYSTEMS = "other systems"
OTHER_CLIPS = "other clips of these systems"
OTHER_STIMULI = "other stimuli like these"
RANKED_BY = "the headline with failures counted: every item counts, failed and missing predictions at the task's fallback"
_NO_CHANCE = Estimate.missing("no chance level is known", "chance level")


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one model.

    ``level`` is ``item``, ``system`` (means per system first) or ``within cells`` (what is left when the means of system
    and intent are taken off); ``at`` says at which threshold. ``with_failures`` is what models are ranked by: every item
    counts, failed and missing predictions at the fallback that ``FAILURES`` names, with an interval over stimuli.
    ``estimate`` is over answered items only. ``over_systems`` is ``with_failures`` with an interval over systems.
    ``of_ceiling`` is how much of the way from ``chance`` to ``ceiling`` the score with failures goes; ``beyond_chance`` is how
    far it is from chance (above 0 is better), ``p_chance`` the p-value of that.
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
    chance: Estimate = _NO_CHANCE
    beyond_chance: Estimate = _NO_CHANCE
    p_chance: Estimate = _NO_CHANCE

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "model": self.model,
            "task": self.task,
            "level": self.level,
            "metric": self.metric,
            "at": self.at,
            **{name: getattr(self, name).to_json() for name in _ESTIMATES},
        }


_ESTIMATES = (
    "estimate", "with_failures", "over_systems", "ceiling", "of_ceiling", "chance", "beyond_chance", "p_chance",
)  # fmt: skip


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
class SystemComparison:
    """Two models compared over systems: whole systems are left out in turn, so that it speaks of other systems.

    ``difference`` is at the usual confidence for this pair alone, ``p`` belongs to it; ``p_adjusted`` is Holm's.
    """

    difference: Estimate
    p: Estimate
    p_adjusted: float | None = None
    apart: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "difference": self.difference.to_json(), "p": self.p.to_json(), "p_adjusted": self.p_adjusted,
            "apart": self.apart,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two models on the items both were asked about, failures counted.

    ``difference`` (95% for this pair alone) and ``p`` come from one method and agree. ``p_adjusted`` is Holm's over the
    ``pairs`` of the task, and ``difference_adjusted`` the interval at the confidence that correction leaves this pair: it
    leaves out 0 exactly where ``p_adjusted`` is below .05. ``answered`` is the difference on the items both answered.
    """

    task: str
    metric: str
    first: str
    second: str
    difference: Estimate
    p: Estimate
    p_adjusted: float | None
    apart: bool
    """Whether the data show a difference, after Holm's correction, between clips of these systems."""
    more_stimuli: Estimate
    """How many more stimuli would show the difference, if it is as large as it looks."""
    difference_adjusted: Estimate
    answered: Estimate
    over_systems: SystemComparison
    system_means: SystemComparison
    """The same metric on the means of systems (questions answered with numbers)."""
    pairs: int = 1

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "task": self.task, "metric": self.metric, "first": self.first, "second": self.second,
            "difference": self.difference.to_json(), "p": self.p.to_json(), "p_adjusted": self.p_adjusted,
            "p_adjusted_by": f"Holm over {self.pairs} pair{'' if self.pairs == 1 else 's'}", "n_pairs_compared": self.pairs,
            "difference_adjusted": self.difference_adjusted.to_json(),
            "apart": self.apart, "more_stimuli": self.more_stimuli.to_json(), "answered": self.answered.to_json(),
            "over_systems": self.over_systems.to_json(), "system_means": self.system_means.to_json(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class SystemRank:
    """The ranks that comparisons over systems leave open, or why there are none."""

    best: int | None = None
    worst: int | None = None
    why_none: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "best": self.best, "worst": self.worst, "why_none": self.why_none, "generalises_to": OTHER_SYSTEMS,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rank:
    """Where a model stands by the score with failures counted: ``best`` to ``worst`` are the ranks the data leave open.

    A model that does not beat chance (Holm's correction over the models of the task) has no rank.
    """

    task: str
    model: str
    place: int | None
    best: int | None
    worst: int | None
    why_none: str | None = None
    beats_chance: bool | None = None
    p_chance_adjusted: float | None = None
    over_systems: SystemRank = field(default_factory=SystemRank)
    generalises_to: str = OTHER_STIMULI

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
            "why_none": self.why_none, "beats_chance": self.beats_chance, "p_chance_adjusted": self.p_chance_adjusted,
            "generalises_to": self.generalises_to, "over_systems": self.over_systems.to_json(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a model: how it was asked for, and which weights, version and settings answered."""

    spec: str
    display_name: str
    predictor: str | None = None
    version: str | None = None
    hash: str | None = None
    identity: str | None = None
    """Everything that decides its answers, as the predictor names it."""
    interval_confidence: float | None = None
    """The confidence its own intervals claim, where it says so."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "spec": self.spec, "display_name": self.display_name, "predictor": self.predictor, "version": self.version,
            "hash": self.hash, "identity": self.identity, "interval_confidence": self.interval_confidence,
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
    about: Mapping[str, ModelInfo] = field(default_factory=dict)

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

    def leader(self, task: str) -> Rank | None:
        """The model ranked first; None where no model has a rank, as when none beats chance."""
        return next((rank for rank in self.ranked(task) if rank.place is not None), None)

    def table(self) -> pl.DataFrame:
        """The scores as a flat table."""
        return pl.DataFrame([_flat(one) for one in self.scores], infer_schema_length=None)

    def to_json(self) -> dict[str, Any]:
        """Plain data for strict JSON."""
        return {
            "heartfelt_scores": 1,
            "heartfelt_version": __version__,
            "study": self.study,
            "title": self.title,
            "source": self.hash,
            "models": list(self.models),
            "model_info": {name: self.about.get(name, ModelInfo(name, name)).to_json() for name in self.models},
            "ranked_by": RANKED_BY,
            "options": dict(self.options),
            "tasks": [
                {
                    "task": task.id, "kind": task.kind, "questions": list(task.questions), "headline": task.headline,
                    "failures": FAILURES[task.kind],
                }
                for task in self.tasks
            ],
            "metrics": {
                name: {
                    "title": METRICS[name].title, "higher_is_better": METRICS[name].higher, "chance": METRICS[name].chance_rule,
                }
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
    for name in _ESTIMATES[:-1]:
        found: Estimate = getattr(one, name)
        head = "" if name == "estimate" else f"{name}_"
        out |= {f"{head}value": found.value, f"{head}low": found.low, f"{head}high": found.high}
    out["p_chance"] = one.p_chance.value
    out["n"] = one.estimate.counts.get("pairs")
    out["n_with_failures"] = one.with_failures.counts.get("pairs")
    out["why_missing"] = one.estimate.why_missing
    return out
