"""Scoring: predictions compared with labels, every metric with its interval, its ceiling and what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark, Labels
from heartfelt.predictors.interface.predictor import PREDICTIONS
from heartfelt.progress import Progress, no_progress
from heartfelt.scoring.comparison.by_part import ByPart, cells_of
from heartfelt.scoring.comparison.compare import OTHER_LABELS, Entrant, compare, ranks
from heartfelt.scoring.ground_truth.truth import ITEM, Truth, tasks_of, truth_of
from heartfelt.scoring.measurement.measure import Marked, MetricMeasurer
from heartfelt.scoring.measurement.sheet import Flags, PredictionSheet, sheet_of
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.results.details import TaskDetails
from heartfelt.scoring.results.metrics import METRICS, Kind
from heartfelt.scoring.results.parts import ModelCalibration, PartAgreement, PartError, Worth
from heartfelt.scoring.results.scores import (
    ModelComparison,
    ModelCoverage,
    ModelInfo,
    ModelRank,
    Scores,
    ScoringTask,
    Slice,
)
from heartfelt.scoring.tasks.binary import binary
from heartfelt.scoring.tasks.categories import categories, ordinal
from heartfelt.scoring.tasks.choices import answers_to, choices
from heartfelt.scoring.tasks.numbers import numbers, strengths
from heartfelt.scoring.tasks.pairs import pair_sheet, strength_sheet
from heartfelt.scoring.tasks.texts import texts
from heartfelt.scoring.tasks.traces import trace_sheet, traces
from heartfelt.snapshot import Snapshot
from heartfelt.stats.columns.triples import Ints
from heartfelt.study.model import say

MOST_VALUES = 60
"""A column with more values than this is not sliced by unless asked for."""
UNSCORED = "{:,} predictions are about items without ratings, or left out, and are not scored."
MARKING: dict[Kind, Callable[[PredictionSheet, MetricMeasurer], Marked]] = {
    "binary": binary,
    "categories": categories,
    "ordinal": ordinal,
    "numbers": numbers,
    "text": texts,
    "choices": choices,
    "strengths": strengths,
    "traces": traces,
}
SHEETS: dict[Kind, Callable[[Truth, pl.DataFrame, ScoringTask, str], PredictionSheet]] = {
    "choices": pair_sheet,
    "strengths": strength_sheet,
    "traces": trace_sheet,
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
    """Score a table of predictions (``heartfelt.predictors.interface.predictor.PREDICTIONS``) of one or more models.

    ``about`` says what is known about the models; it is written to ``scores.json``.
    """
    options, about = options or ScoreOptions(), about or {}
    claims = {name: info.interval_confidence for name, info in about.items() if info.interval_confidence}
    options = replace(options, claimed={**claims, **options.claimed})
    truth = source if isinstance(source, Truth) else truth_of(source, options, snapshot=snapshot)
    study, measure, by_part = truth.study, MetricMeasurer(options=options, truth=truth), ByPart.of(truth, options)
    predictions = PREDICTIONS.check(predictions, "predictions")
    about_truth = _about(predictions, truth)
    if not about_truth.height:
        raise InputError(
            f"No prediction is about a scored item of '{study.name}'.",
            "Stimulus and question of the predictions must match the source; check both, and the selection.",
        )
    models = predictions["model"].unique(maintain_order=True).to_list()
    every_task, unscored = _tasks(truth)
    attempted = {task.id: _attempted(task, about_truth) for task in every_task}
    # In the order of the predictions, which tables and figures keep.
    able = {name: [model for model in models if model in having] for name, having in attempted.items()}
    tasks = [task for task in every_task if able[task.id]]
    report, total = progress or no_progress, sum(len(names) for names in able.values())
    results: list[_ModelResult] = []
    comparisons: list[ModelComparison] = []
    model_ranks: list[ModelRank] = []
    details: dict[str, TaskDetails] = {}
    for task in tasks:
        columns, part_columns = columns_of(truth, task, options.slices), by_part.columns(task)
        of_task = []
        for model in able[task.id]:
            sheet = SHEETS.get(task.kind, sheet_of)(truth, about_truth, task, model)
            of_task.append(_ModelResult.of(sheet, measure, by_part, columns, part_columns))
            report("scoring", len(results) + len(of_task), total)
        entrants = [result.entrant(measure) for result in of_task]
        pairs = compare(entrants, task, options.confidence)
        comparisons += pairs
        model_ranks += ranks(entrants, pairs, task, options.confidence)
        details[task.id] = TaskDetails(
            {result.sheet.model: result.marked.details for result in of_task},
            measure.human(task, task.headline),
            measure.smooth_ceiling(task, task.headline),
        )
        results += of_task
    unscored_rows = predictions.height - about_truth.height
    scores = tuple(model_score for result in results for model_score in result.marked.scores)
    metrics, coverage = {part.metric for part in scores}, dict[str, dict[str, ModelCoverage]]()
    for result in results:
        coverage.setdefault(result.sheet.model, {})[result.sheet.task.id] = result.sheet.coverage
    return Scores(
        study=study.name,
        title=say(study.title) or study.name,
        hash=truth.hash,
        models=tuple(models),
        model_info={name: about.get(name, ModelInfo(spec=name, display_name=name)) for name in models},
        options=options,
        tasks=tuple(tasks),
        metrics={name: info for name, info in METRICS.items() if name in metrics},
        coverage=coverage,
        ranks=tuple(model_ranks),
        scores=scores,
        comparisons=tuple(comparisons),
        slices=tuple(part for result in results for part in result.slices),
        details=details,
        parts=_part_agreement(results, by_part.notes(tasks)),
        notes=(
            *truth.notes,
            *unscored,
            *_not_predicted(every_task, models, able),
            *([UNSCORED.format(unscored_rows)] if unscored_rows > 0 else ()),
            *(note for result in results for note in result.marked.notes),
        ),
        ledger=truth.ledger,
        rows=pl.concat([result.rows for result in results], how="vertical") if results else pl.DataFrame(),
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _ModelResult:
    """One model on one task: its sheet, its scores, and what belongs to them."""

    sheet: PredictionSheet
    marked: Marked
    rows: pl.DataFrame
    slices: tuple[Slice, ...]
    calibration: ModelCalibration | None
    errors: Sequence[PartError]
    worth: Worth | None

    @classmethod
    def of(
        cls,
        sheet: PredictionSheet,
        measure: MetricMeasurer,
        by_part: ByPart,
        columns: Sequence[str],
        part_columns: Sequence[str],
    ) -> _ModelResult:
        marked = MARKING[sheet.task.kind](sheet, measure)
        return cls(
            sheet=sheet,
            marked=marked,
            rows=_rows(sheet, marked),
            slices=tuple(_slices(sheet, marked, measure, columns)),
            calibration=by_part.calibration(sheet),
            errors=by_part.errors(sheet, marked, part_columns),
            worth=by_part.worth(sheet),
        )

    def entrant(self, measure: MetricMeasurer) -> Entrant:
        """The model as it is compared with the others of its task."""
        sheet, marked, answers = self.sheet, self.marked, None
        headline = next(part for part in marked.scores if part.metric == sheet.task.headline)
        reason = OTHER_LABELS if sheet.against_other_labels else headline.with_failures.why_missing
        if marked.right is not None:
            answers = answers_to(sheet, measure).table.with_row_index("place")
            answers = answers.select("rater", "first", "second", "place", pl.Series("right", marked.right))
        return Entrant.of(headline, self.rows, reason, answers=answers)


def _not_predicted(tasks: Sequence[ScoringTask], models: Sequence[str], able: Mapping[str, list[str]]) -> Iterator[str]:
    """Notes on tasks that no model predicts, and on models that do not predict a task of others."""
    yield from (f"No model predicts '{task.id}'." for task in tasks if not able[task.id])
    for task in tasks:
        if able[task.id]:
            yield from (f"{model} does not predict '{task.id}'." for model in models if model not in able[task.id])


def _part_agreement(results: Sequence[_ModelResult], notes: tuple[str, ...]) -> PartAgreement:
    of_labels = [part.sheet.model for part in results if part.sheet.from_labels or part.sheet.against_other_labels]
    return PartAgreement(
        calibrations=tuple(result.calibration for result in results if result.calibration is not None),
        errors=tuple(error for result in results for error in result.errors),
        worth=tuple(result.worth for result in results if result.worth is not None),
        from_labels=tuple(dict.fromkeys(of_labels)),
        notes=notes,
    )


def coverage_of(truth: Truth, predictions: pl.DataFrame, model: str) -> dict[str, ModelCoverage]:
    """How much of every task that a model predicts can be used; nothing is scored."""
    about_truth = _about(PREDICTIONS.check(predictions, "predictions"), truth)
    return {
        task.id: SHEETS.get(task.kind, sheet_of)(truth, about_truth, task, model).coverage
        for task in _tasks(truth)[0]
        if model in _attempted(task, about_truth)
    }


def _tasks(truth: Truth) -> tuple[list[ScoringTask], list[str]]:
    """The tasks that a truth can score, and notes on what it cannot."""
    present = set(truth.items["question"].unique())
    tasks, unscored = tasks_of(truth.study, [q.id for q in truth.study.asked if q.id in present])
    tasks, without = _with_strengths(tasks, truth)
    return tasks, unscored + without


def _with_strengths(tasks: Sequence[ScoringTask], truth: Truth) -> tuple[list[ScoringTask], list[str]]:
    """The tasks without those of strengths that nothing has, and a note on each of these."""
    none = [
        task
        for task in tasks
        if task.kind == "strengths"
        and truth.contestants(task) == "stimulus"
        and not truth.items_of(task)["label"].count()
    ]
    notes = [
        f"No strengths are scored for '{task.questions[0]}': no chain of comparisons links its stimuli, nor three of its systems."
        for task in none
    ]
    return [task for task in tasks if task not in none], notes


def _attempted(task: ScoringTask, predictions: pl.DataFrame) -> set[str]:
    """The models that predict a task; degrees are predicted by values, answers or shares, not by scores."""
    attempts = predictions.filter(pl.col("question").is_in(task.questions))
    if task.kind == "traces":
        attempts = (
            attempts.filter(pl.col("samples").is_not_null()) if "samples" in attempts.columns else attempts.clear()
        )
    if task.kind == "ordinal":
        attempts = attempts.filter(pl.any_horizontal(pl.col("value", "answer", "shares").is_not_null()))
    return set(attempts["model"].unique())


def _rows(sheet: PredictionSheet, marked: Marked) -> pl.DataFrame:
    """A sheet as pages show it: ``said`` is what the headline is made of, ``counted`` the same with failures counted."""
    return sheet.rows.select(
        pl.lit(sheet.task.id).alias("task"),
        pl.lit(sheet.model).alias("model"),
        *ITEM,
        pl.col("system", "intent").cast(pl.String),
        "truth",
        "code",
        "score",
        "answer",
        pl.Series("said", np.where(sheet.answered, marked.predicted, np.nan)).fill_nan(None),
        pl.Series("counted", np.where(sheet.answered, marked.predicted, marked.fallback)).fill_nan(None),
        pl.Series("answered", sheet.answered),
        "problem",
    )


def _about(predictions: pl.DataFrame, truth: Truth) -> pl.DataFrame:
    """The predictions about scored items; of comparisons also those about the stimuli and sets that pairs are part of."""
    compared = set(truth.pairs.items["question"]) if truth.pairs.items.height else set()
    about = predictions.join(truth.items.select(ITEM), on=ITEM, how="semi", maintain_order="left")
    if not compared:
        return about
    of_pairs = pl.col("question").is_in(list(compared))
    return pl.concat([about.filter(~of_pairs), predictions.filter(of_pairs)])


def columns_of(truth: Truth, task: ScoringTask, wanted: Sequence[str] | None) -> list[str]:
    """The columns a task is sliced by; of columns that cut the items alike the first."""
    rows = truth.items_of(task)
    if wanted is not None:
        return [name for name in wanted if rows[name].n_unique() > 1]
    out: dict[bytes, str] = {}
    for name in truth.slices:
        column = rows[name].drop_nulls()
        distinct = column.n_unique() if column.dtype in (pl.String, pl.Boolean) else 0
        if 2 <= distinct <= MOST_VALUES and distinct < rows.height:
            # A column that cuts the items as an earlier one does would repeat its slices under other names.
            parts = rows[name].cast(pl.String).fill_null("").rank("dense").to_numpy()
            _, first, code = np.unique(parts, return_index=True, return_inverse=True)
            out.setdefault(first[code].tobytes(), name)
    return list(out.values())


def _slices(sheet: PredictionSheet, marked: Marked, measure: MetricMeasurer, columns: Sequence[str]) -> Iterator[Slice]:
    """Metrics by each value of each column, over answered items, with intervals over stimuli.

    Predictions made of labels in the other half of the stimuli are fair over all of them only, and are not sliced.
    """
    if sheet.from_labels or not (marked.sliced or marked.slice_of):
        return
    for column in columns:
        cells = cells_of(sheet, column)
        for value in cells.drop_nulls().unique().sort().to_list():
            inside = (cells == value).fill_null(False).to_numpy()
            part = partial(
                Slice, model=sheet.model, task=sheet.task.id, column=column, value=value, items=int(inside.sum())
            )
            if marked.slice_of is not None:
                answered = int((inside & sheet.answered).sum())
                yield part(metric=sheet.task.headline, answered=answered, estimate=marked.slice_of(inside))
            for metric, y in marked.sliced.items():
                rows = inside & sheet.answered & np.isfinite(y)
                estimate = measure.numbers(metric, sheet.truth[rows], y[rows], [_repeated(sheet.stimulus, rows)])[0][0]
                yield part(metric=metric, answered=int(rows.sum()), estimate=estimate)


def _repeated(stimulus: Ints | None, rows: Flags) -> Ints | None:
    """The stimulus of each of these rows; None where no stimulus has two of them."""
    if stimulus is None or np.unique(stimulus[rows]).size == rows.sum():
        return None
    return stimulus[rows]
