"""The result of scoring: a row per model, task and metric, with comparisons, ranks, slices and details.

``heartfelt.serialization`` writes ``Scores`` as ``scores.json`` and restores it from there; the tables ``rows`` and ``ledger``
have files of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import polars as pl

from heartfelt import __version__
from heartfelt.predictors.execution.repeats import SelfConsistency
from heartfelt.predictors.interface.calls import Usage
from heartfelt.representation import ShortRepr
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.results.details import TaskDetails
from heartfelt.scoring.results.metrics import FAILURES, HEADLINES, Kind, MetricInfo
from heartfelt.scoring.results.parts import PartAgreement
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import spaced

LAYOUT = 2
NO_CHANCE_BEATEN = "it does not beat chance"
NO_CHANCE_BEATEN_IN_OTHERS = "it does not beat chance with systems taken as a sample"
UNTESTED = "chance cannot be tested"
OTHER_SYSTEMS = "other systems"
OTHER_CLIPS = "other clips of these systems"
OTHER_STIMULI = "other stimuli like these"
OTHER_PAIRS = "other pairs and raters like these"
OTHER_CONTESTANTS = "other stimuli or systems like these"
RANKED_BY = (
    "the headline with failures counted: every item counts, failed and missing predictions at the task's fallback"
)
_NO_CHANCE = Estimate.missing("no chance level is known", "chance level")
_NOT_OVER_SYSTEMS = Estimate.missing("not tested over systems; score it again", "p-value, systems rearranged")
_NOT_COMPARED = Estimate.missing("not compared", "difference")
_NOT_SCORED = Estimate.missing("nothing was scored")
ScorePart: TypeAlias = Literal["estimate", "with_failures", "over_systems", "ceiling", "of_ceiling", "chance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringTask:
    """Questions that are scored together, in one way; models are ranked by ``headline``.

    ``failures`` says what a failed prediction counts as.
    """

    id: str = field(metadata={"formerly": "task"})
    kind: Kind
    questions: tuple[str, ...]
    headline: str
    failures: str = ""

    @classmethod
    def of(cls, name: str, kind: Kind, questions: tuple[str, ...]) -> ScoringTask:
        """A task with the usual headline of its kind."""
        return cls(id=name, kind=kind, questions=questions, headline=HEADLINES[kind], failures=FAILURES[kind])


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelScore:
    """One metric of one model.

    ``aggregation`` is ``item``, ``system`` (means per system first) or ``within cells`` (residuals after subtracting the
    means of system and intent); ``at`` names the threshold. Models are ranked by ``with_failures``: every item counts, failed
    and missing predictions at the fallback that ``FAILURES`` names, with an interval over stimuli. ``estimate`` is over
    answered items only. ``over_systems`` is ``with_failures`` with an interval over systems. ``of_ceiling`` is the share of
    the way from ``chance`` to ``ceiling`` that the score with failures covers; ``beyond_chance`` is its distance from chance
    (above 0 is better). ``p_chance`` tests that the predictions say nothing about stimuli of these systems,
    ``p_chance_over_systems`` that they say nothing about those of other systems.
    """

    model: str
    task: str
    aggregation: str = field(metadata={"formerly": "level"})
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
    p_chance_over_systems: Estimate = _NOT_OVER_SYSTEMS


_INTERVALS = ("estimate", "with_failures", "over_systems", "ceiling", "of_ceiling", "chance", "beyond_chance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A metric on the answered items with one ``value`` in a ``column``."""

    model: str
    task: str
    column: str
    value: str
    metric: str
    items: int = field(metadata={"formerly": "n_items"})
    answered: int = field(metadata={"formerly": "n_answered"})
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """Two models compared over systems: whole systems are left out in turn, so it generalises to other systems.

    ``difference`` is at the usual confidence for this pair alone, with its ``p``; ``p_adjusted`` is Holm's.
    """

    difference: Estimate
    p: Estimate
    p_adjusted: float | None = None
    apart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """Two models on the items both were asked about, failures counted.

    ``difference`` (at the usual confidence, for this pair alone) and ``p`` come from one method and agree. ``p_adjusted`` is
    Holm's over the ``pairs`` of the task, and ``difference_adjusted`` the interval at the confidence that correction leaves
    this pair: it excludes 0 exactly where ``apart`` is true. ``answered`` is the difference on the items both answered.
    """

    task: str
    metric: str
    first: str
    second: str
    difference: Estimate
    p: Estimate
    p_adjusted: float | None
    p_adjusted_by: str = "Holm"
    pairs: int = field(default=1, metadata={"formerly": "n_pairs_compared"})
    difference_adjusted: Estimate = _NOT_COMPARED
    apart: bool = False
    """Whether the data show a difference, after Holm's correction, between clips of these systems."""
    more_stimuli: Estimate = _NOT_COMPARED
    """How many more stimuli would show the difference, if it is as large as observed."""
    answered: Estimate = _NOT_COMPARED
    over_systems: SystemComparison = SystemComparison(_NOT_COMPARED, _NOT_COMPARED)
    system_means: SystemComparison = SystemComparison(_NOT_COMPARED, _NOT_COMPARED)
    """The same metric on the means of systems (questions answered with numbers)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRank:
    """The ranks that comparisons over systems leave possible, or why there are none.

    A model that does not beat chance over systems, or cannot be tested over so few, has none.
    """

    best: int | None = None
    worst: int | None = None
    why_none: str | None = None
    generalises_to: str = OTHER_SYSTEMS
    beats_chance: bool | None = None
    p_chance_adjusted: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRank:
    """A model's rank by the score with failures counted: the data leave ``best`` to ``worst`` possible.

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
    generalises_to: str = OTHER_STIMULI
    over_systems: SystemRank = SystemRank()

    @property
    def words(self) -> str:
        """``2`` or ``1–3``; a dash for a model that is not ranked."""
        if self.best is None or self.worst is None:
            return "–"
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"

    @property
    def below_chance(self) -> bool:
        """Whether the model was tested against chance and does not beat it."""
        return self.beats_chance is False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What is known about a model: how it was asked for, and which weights, version and settings answered."""

    spec: str
    display_name: str
    predictor: str | None = None
    version: str | None = None
    hash: str | None = None
    identity: str | None = None
    """Everything that decides its answers, as the predictor names it."""
    interval_confidence: float | None = None
    """The confidence its own intervals claim, where it says so."""
    usage: Usage | None = None
    """Requests, tokens and cost of a hosted model."""
    consistency: Mapping[str, SelfConsistency] = field(default_factory=dict)
    """By question, how far its answers agree where it was asked repeatedly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCoverage:
    """How many items of a task a model was asked and answered, and why the others were not answered."""

    items: int
    answered: int
    share: float | None
    without_label: int
    problems: Mapping[str, int]
    notes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Scores(ShortRepr):
    """Everything that scoring returns. ``rows`` holds each item with its label and each model's prediction."""

    heartfelt_scores: int = LAYOUT
    """The layout of the file."""
    heartfelt_version: str = __version__
    study: str
    title: str
    hash: str = field(metadata={"formerly": "source"})
    models: tuple[str, ...]
    model_info: Mapping[str, ModelInfo] = field(default_factory=dict)
    ranked_by: str = RANKED_BY
    options: ScoreOptions
    tasks: tuple[ScoringTask, ...]
    metrics: Mapping[str, MetricInfo]
    coverage: Mapping[str, Mapping[str, ModelCoverage]]
    ranks: tuple[ModelRank, ...]
    scores: tuple[ModelScore, ...]
    comparisons: tuple[ModelComparison, ...]
    slices: tuple[Slice, ...]
    details: Mapping[str, TaskDetails]
    parts: PartAgreement = field(default_factory=PartAgreement, metadata={"omit": True})
    """Calibration, errors and worth by part, and whether combining models helps."""
    notes: tuple[str, ...]
    ledger: pl.DataFrame = field(default_factory=pl.DataFrame, metadata={"skip": True})
    rows: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False, metadata={"skip": True})

    def find(
        self, task: str, model: str, metric: str | None = None, aggregation: str = "item", at: str | None = None
    ) -> ModelScore | None:
        """A single score: the task's headline unless a metric is named."""
        wanted = (task, model, metric or self.task(task).headline, aggregation)
        for score in self.scores:
            key = (score.task, score.model, score.metric, score.aggregation)
            if key == wanted and at in (None, score.at):
                return score
        return None

    def task(self, name: str) -> ScoringTask:
        return next(task for task in self.tasks if task.id == name)

    def ranked(self, task: str) -> list[ModelRank]:
        """The ranks of a task, best first, those without a rank last."""
        of_task = [rank for rank in self.ranks if rank.task == task]
        return sorted(of_task, key=lambda rank: (rank.place is None, rank.place or 0))

    def leader(self, task: str) -> ModelRank | None:
        """The model ranked first; None where no model has a rank, as when none beats chance."""
        return next((rank for rank in self.ranked(task) if rank.place is not None), None)

    def metric_title(self, metric: str) -> str:
        definition = self.metrics.get(metric)
        return definition.title if definition else spaced(metric)

    def headline(self, task: str, model: str, part: ScorePart = "with_failures") -> Estimate:
        """A model's headline score, or another estimate that belongs to it; missing where it was not scored."""
        score = self.find(task, model)
        estimate: Estimate = _NOT_SCORED if score is None else getattr(score, part)
        return estimate

    def chance(self, task: str) -> Estimate:
        """The chance level of a task's headline: that of the first model with one, else why it is not known."""
        return self._of_any_model(task, "chance")

    def ceiling(self, task: str) -> Estimate:
        """The ceiling of a task's headline: that of the first model with one, else why it is not known."""
        return self._of_any_model(task, "ceiling")

    def _of_any_model(self, task: str, part: ScorePart) -> Estimate:
        every = [self.headline(task, model, part) for model in self.models]
        return next((estimate for estimate in every if estimate.value is not None), every[0] if every else _NOT_SCORED)

    def one_rater(self, task: str) -> Estimate:
        """The score that one more rater reaches on a task's headline."""
        details = self.details.get(task)
        return details.one_rater if details else _NOT_SCORED

    def smooth_ceiling(self, task: str) -> Estimate | None:
        """The ceiling of a task's headline under a smooth family of vote distributions; None where it has no interval."""
        details = self.details.get(task)
        smooth = details.smooth_ceiling if details else None
        return None if smooth is None or smooth.low is None else smooth

    def tied_with(self, task: str, model: str) -> list[str]:
        """The ranked models that do not differ significantly from a model, after Holm's correction."""
        ranked = {rank.model for rank in self.ranked(task) if rank.place is not None}
        tied = [
            pair.second if pair.first == model else pair.first
            for pair in self.comparisons
            if pair.task == task and not pair.apart and model in (pair.first, pair.second)
        ]
        return [model_name for model_name in tied if model_name in ranked]

    def answered(self, task: str, model: str) -> tuple[int, int]:
        """How many items of a task a model answered, and how many there were."""
        covered = self.coverage.get(model, {}).get(task)
        return (covered.answered, covered.items) if covered else (0, 0)

    def misses(self, task: ScoringTask, most: int) -> pl.DataFrame:
        """At most ``most`` answered items per model, the worst first, with how far ``off`` the model was.

        Items that were not missed are left out.
        """
        worst = self.errors(task).filter(pl.col("off") > 0)
        ordered = worst.sort("off", "stimulus", descending=[True, False])
        return ordered.group_by("model", maintain_order=True).head(most)

    def errors(self, task: ScoringTask) -> pl.DataFrame:
        """Every answered item of a task with how far ``off`` the model was, in the order of ``rows``.

        Numbers and degrees are compared on the scale, or by rank where predictions are not on it; a wrong yes or no is as far
        off as its score is from the threshold (1 without a score), and a wrong category is 1 off. A pair is as far off as the
        raters were agreed on the other side, a trace by what its concordance lacks to 1. Texts are not compared.
        """
        truth, points = pl.col("truth"), pl.col("score")
        if task.kind == "text":
            distance = pl.lit(None, dtype=pl.Float64)
        elif task.kind == "choices":
            against = pl.col("code") * (truth - 0.5) < 0
            distance = pl.when(against).then(2 * (truth - 0.5).abs()).otherwise(0.0)
        elif task.kind == "traces":
            distance = 1.0 - pl.col("said")
        elif task.kind in ("numbers", "ordinal", "strengths"):
            on_scale = pl.col("code").is_not_null().any().over("model")
            by_rank = (points.rank().over("model") - truth.rank().over("model")).abs()
            distance = pl.when(on_scale).then((pl.col("code") - truth).abs()).otherwise(by_rank)
        else:
            reach = (points - self.options.threshold).abs().fill_null(1.0)
            distance = pl.when(pl.col("said") != truth).then(reach if task.kind == "binary" else 1.0).otherwise(0.0)
        answered = self.rows.filter((pl.col("task") == task.id) & pl.col("answered"))
        return answered.with_columns(distance.alias("off"))

    def table(self) -> pl.DataFrame:
        return pl.DataFrame([_flat(score) for score in self.scores], infer_schema_length=None)


def _flat(score: ModelScore) -> dict[str, str | float | None]:
    out: dict[str, str | float | None] = {
        "model": score.model,
        "task": score.task,
        "aggregation": score.aggregation,
        "metric": score.metric,
        "at": score.at,
    }
    for name in _INTERVALS:
        estimate: Estimate = getattr(score, name)
        head = "" if name == "estimate" else f"{name}_"
        out |= {f"{head}value": estimate.value, f"{head}low": estimate.low, f"{head}high": estimate.high}
    return out | {
        "p_chance": score.p_chance.value,
        "p_chance_over_systems": score.p_chance_over_systems.value,
        "n": score.estimate.counts.get("pairs"),
        "n_with_failures": score.with_failures.counts.get("pairs"),
        "why_missing": score.estimate.why_missing,
    }
