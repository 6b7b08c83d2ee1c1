"""Scoring: predictions compared with labels, every metric with its interval, its ceiling and what failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark, Labels
from heartfelt.predictors.predictor import PREDICTIONS
from heartfelt.progress import Progress
from heartfelt.scoring.binary import binary, decisions, one_sided, ordering
from heartfelt.scoring.categories import (
    categories,
    furthest_degree,
    nearest_degree,
    ordinal,
    wrong_category,
)
from heartfelt.scoring.ceilings import Ceilings
from heartfelt.scoring.compare import OTHER_LABELS, CompareOptions, Entrant, compare, ranks
from heartfelt.scoring.measure import Measure
from heartfelt.scoring.metrics import METRICS, Kind
from heartfelt.scoring.numbers import numbers, predicted_numbers
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.scores import (
    Comparison,
    Coverage,
    ModelDetails,
    ModelInfo,
    Rank,
    Score,
    Scores,
    Slice,
    Task,
    TaskDetails,
)
from heartfelt.scoring.sheet import Sheet, sheet_of
from heartfelt.scoring.texts import candidates, texts
from heartfelt.scoring.truth import ITEM, Truth, tasks_of, truth_of
from heartfelt.snapshot import Snapshot
from heartfelt.stats.text import cider
from heartfelt.stats.triples import Floats
from heartfelt.study.model import say

MOST_VALUES = 60
"""A column with more values than this is not sliced by unless asked for."""
_SLICED: dict[Kind, tuple[str, ...]] = {
    "binary": ("balanced_accuracy", "accuracy", "auroc"),
    "categories": ("accuracy", "macro_f1"),
    "ordinal": ("quadratic_kappa",),
    "numbers": ("pearson", "spearman", "rmse"),
    "text": (),
}


def score(
    source: Snapshot | Benchmark | Labels | Truth,
    predictions: pl.DataFrame,
    options: ScoreOptions | None = None,
    *,
    snapshot: Snapshot | None = None,
    progress: Progress | None = None,
    about: Mapping[str, ModelInfo] | None = None,
) -> Scores:
    """Score a table of predictions (``heartfelt.predictors.predictor.PREDICTIONS``) of one or more models.

    ``about`` says what is known about the models; it is written to ``scores.json``.
    """
    options, about = options or ScoreOptions(), about or {}
    claims = {name: info.interval_confidence for name, info in about.items() if info.interval_confidence}
    options = replace(options, claimed={**claims, **options.claimed})
    truth = source if isinstance(source, Truth) else truth_of(source, options, snapshot=snapshot)
    predictions = PREDICTIONS.check(predictions, "predictions")
    models = predictions["model"].unique(maintain_order=True).to_list()
    known = predictions.join(truth.items.select(ITEM), on=ITEM, how="semi")
    if not known.height:
        raise InputError(
            f"No prediction is about a scored item of '{truth.study.name}'.",
            "Stimulus and question of the predictions must match the source; check both, and the selection.",
        )
    present = set(truth.items["question"].unique())
    tasks, notes = tasks_of(truth.study, [q.id for q in truth.study.asked if q.id in present])
    able = {task.id: _attempted(task, known) for task in tasks}
    notes += [f"No model predicts '{task.id}'." for task in tasks if not able[task.id]]
    tasks = [task for task in tasks if able[task.id]]
    notes += [
        f"{model} does not predict '{task.id}'."
        for task in tasks
        for model in models
        if model not in able[task.id]
    ]
    unscored = predictions.height - known.height
    if unscored:
        notes.append(
            f"{unscored:,} predictions are about items without ratings, or left out, and are not scored."
        )
    ceilings = Ceilings(truth, options.seed, options.confidence, options.ceilings)
    collected = _Collected(Measure(options, ceilings), truth)
    done, total = 0, sum(len(able[task.id]) for task in tasks)
    for task in tasks:
        sheets = (sheet_of(truth, known, task, model) for model in models if model in able[task.id])
        for _ in collected.add(task, sheets):
            done += 1
            if progress is not None:
                progress("scoring", done, total)
    return collected.scores(models, tasks, [*truth.notes, *notes, *collected.notes], about)


def _attempted(task: Task, known: pl.DataFrame) -> set[str]:
    """The models that predict a task; degrees are predicted by values, answers or shares, not by scores."""
    mine = known.filter(pl.col("question").is_in(task.questions))
    if task.kind == "ordinal":
        mine = mine.filter(pl.any_horizontal(pl.col("value", "answer", "shares").is_not_null()))
    return set(mine["model"].unique())


@dataclass(slots=True)
class _Collected:
    """Scores as they come in, task by task."""

    measure: Measure
    truth: Truth
    estimates: list[Score] = field(default_factory=list)
    slices: list[Slice] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    ranks: list[Rank] = field(default_factory=list)
    coverage: dict[str, dict[str, Coverage]] = field(default_factory=dict)
    details: dict[str, TaskDetails] = field(default_factory=dict)
    rows: list[pl.DataFrame] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, task: Task, sheets: Iterable[Sheet]) -> Iterator[None]:
        """Score everything about one task; yields when a model is done."""
        options = self.measure.options
        columns = columns_of(self.truth, task, options.slices)
        details: dict[str, ModelDetails] = {}
        entrants = []
        for sheet in sheets:
            scores, details[sheet.model] = self._scores(sheet)
            self.estimates += scores
            rows = _rows(sheet, *self._predicted(sheet))
            headline = next(each for each in scores if each.metric == task.headline)
            entrants.append(_entrant(sheet, rows, headline))
            self.coverage.setdefault(sheet.model, {})[task.id] = sheet.coverage
            self.slices += slices(sheet, self.measure, columns)
            self.notes += one_sided(sheet, options.threshold) if task.kind == "binary" else []
            self.rows.append(rows)
            yield
        how = CompareOptions(task.id, task.kind, task.headline, options.confidence)
        pairs = compare(entrants, how)
        self.comparisons += pairs
        self.ranks += ranks(entrants, pairs, how)
        self.details[task.id] = TaskDetails(details, self.measure.ceilings.human(task, task.headline))

    def _scores(self, sheet: Sheet) -> tuple[list[Score], ModelDetails]:
        match sheet.task.kind:
            case "binary":
                return binary(sheet, self.measure)
            case "categories":
                return categories(sheet, self.measure, self.truth)
            case "ordinal":
                return ordinal(sheet, self.measure)
            case "numbers":
                return numbers(sheet, self.measure)
            case _:
                return texts(sheet, self.measure, self.truth)

    def _predicted(self, sheet: Sheet) -> tuple[Floats, Floats]:
        """What the headline is made of (decisions, numbers, codes, or each caption's own score; NaN where the model failed),
        and the same with failed and missing predictions at the fallback.
        """
        match sheet.task.kind:
            case "binary":
                values, fallback = decisions(sheet, self.measure.options.threshold)[0], 1.0 - sheet.truth
            case "categories":
                values, fallback = sheet.code, wrong_category(sheet)
            case "ordinal":
                values, fallback = nearest_degree(sheet), furthest_degree(sheet)
            case "numbers":
                values = predicted_numbers(sheet)
                known = values[sheet.answered]
                fallback = np.full(values.size, float(known.mean()) if known.size else np.nan)
            case _:
                values = fallback = cider(*candidates(sheet, self.truth))
        return np.where(sheet.answered, values, np.nan), np.where(sheet.answered, values, fallback)

    def scores(
        self,
        models: Sequence[str],
        tasks: Sequence[Task],
        notes: Sequence[str],
        about: Mapping[str, ModelInfo],
    ) -> Scores:
        """All of it."""
        study = self.truth.study
        metrics = {each.metric for each in self.estimates}
        return Scores(
            study=study.name,
            title=say(study.title) or study.name,
            hash=self.truth.hash,
            models=tuple(models),
            about={name: about.get(name, ModelInfo(name, name)) for name in models},
            options=self.measure.options,
            tasks=tuple(tasks),
            metrics={name: info for name, info in METRICS.items() if name in metrics},
            coverage=self.coverage,
            ranks=tuple(self.ranks),
            scores=tuple(self.estimates),
            comparisons=tuple(self.comparisons),
            slices=tuple(self.slices),
            details=self.details,
            notes=tuple(notes),
            ledger=self.truth.ledger,
            rows=pl.concat(self.rows, how="vertical") if self.rows else pl.DataFrame(),
        )


def _rows(sheet: Sheet, predicted: Floats, counted: Floats) -> pl.DataFrame:
    """A sheet as pages show it: ``said`` is what the headline is made of, ``counted`` the same with failures counted."""
    return sheet.rows.select(
        pl.lit(sheet.task.id).alias("task"),
        pl.lit(sheet.model).alias("model"),
        *ITEM,
        pl.col("system").cast(pl.String),
        pl.col("intent").cast(pl.String),
        "truth",
        "code",
        "score",
        "answer",
        pl.Series("said", predicted).fill_nan(None),
        pl.Series("counted", counted).fill_nan(None),
        pl.Series("answered", sheet.answered),
        "problem",
    )


def _entrant(sheet: Sheet, rows: pl.DataFrame, headline: Score) -> Entrant:
    ranked = headline.with_failures
    why = OTHER_LABELS if sheet.against_other_labels else ranked.why_missing
    beyond, p = headline.beyond_chance.value, headline.p_chance.value
    return Entrant(sheet.model, rows, ranked.value, why, beyond, p)


def columns_of(truth: Truth, task: Task, wanted: Sequence[str] | None) -> list[str]:
    """The columns a task is sliced by."""
    rows = truth.items.filter(pl.col("question").is_in(task.questions))
    if wanted is not None:
        return [name for name in wanted if rows[name].n_unique() > 1]
    out = []
    for name in truth.slices:
        column = rows[name].drop_nulls()
        distinct = column.n_unique() if column.dtype in (pl.String, pl.Boolean) else 0
        if 2 <= distinct <= MOST_VALUES and distinct < rows.height:
            out.append(name)
    return out


def slices(sheet: Sheet, measure: Measure, columns: Sequence[str]) -> Iterator[Slice]:
    """The metrics of a sheet by each value of each column, over answered items, with intervals over stimuli."""
    metrics = _SLICED[sheet.task.kind]
    if not metrics:
        return
    values = {name: _sliced_values(sheet, measure, name) for name in metrics}
    for column in columns:
        cells = sheet.rows[column if column in sheet.rows.columns else f"own_{column}"].cast(pl.String)
        for value in cells.drop_nulls().unique().sort().to_list():
            inside = (cells == value).fill_null(False).to_numpy()
            for metric, y in values.items():
                rows = inside & sheet.answered & np.isfinite(y)
                group = None if sheet.stimulus is None else sheet.stimulus[rows]
                if group is not None and np.unique(group).size == group.size:
                    group = None
                estimate = measure.numbers(metric, sheet.truth[rows], y[rows], [group])[0][0]
                counts = int(inside.sum()), int(rows.sum())
                yield Slice(sheet.model, sheet.task.id, column, value, metric, *counts, estimate)


def _sliced_values(sheet: Sheet, measure: Measure, metric: str) -> Floats:
    match sheet.task.kind:
        case "binary" if metric == "auroc":
            return ordering(sheet)
        case "binary":
            return decisions(sheet, measure.options.threshold)[0]
        case "numbers" if metric == "rmse" and not sheet.on_scale:
            return np.full(sheet.truth.size, np.nan)
        case "numbers":
            return predicted_numbers(sheet)
        case _:
            return sheet.code
