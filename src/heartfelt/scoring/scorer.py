"""Scoring: predictions compared with labels, every metric with its interval, its ceiling and what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark, Labels
from heartfelt.predictors.predictor import PREDICTIONS
from heartfelt.progress import Progress
from heartfelt.scoring.by_part import ByPart, cells_of
from heartfelt.scoring.calibration.parts import ModelCalibration, PartAgreement, PartError, Worth
from heartfelt.scoring.compare import OTHER_LABELS, Entrant, compare, ranks
from heartfelt.scoring.details import TaskDetails
from heartfelt.scoring.measure import Marked, MetricMeasurer
from heartfelt.scoring.metrics import METRICS, Kind
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.scores import (
    ModelComparison,
    ModelCoverage,
    ModelInfo,
    ModelRank,
    ModelScore,
    Scores,
    ScoringTask,
    Slice,
)
from heartfelt.scoring.sheet import PredictionSheet, sheet_of
from heartfelt.scoring.tasks.binary import binary
from heartfelt.scoring.tasks.categories import categories, ordinal
from heartfelt.scoring.tasks.choices import answers_to, choices
from heartfelt.scoring.tasks.numbers import numbers, strengths
from heartfelt.scoring.tasks.pairs import pair_sheet, strength_sheet
from heartfelt.scoring.tasks.texts import texts
from heartfelt.scoring.tasks.traces import trace_sheet, traces
from heartfelt.scoring.truth import ITEM, Truth, tasks_of, truth_of
from heartfelt.snapshot import Snapshot
from heartfelt.study.model import say

MOST_VALUES = 60
"""A column with more values than this is not sliced by unless asked for."""
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
    """Score a table of predictions (``heartfelt.predictors.predictor.PREDICTIONS``) of one or more models.

    ``about`` says what is known about the models; it is written to ``scores.json``.
    """
    options, about = options or ScoreOptions(), about or {}
    claims = {name: info.interval_confidence for name, info in about.items() if info.interval_confidence}
    options = replace(options, claimed={**claims, **options.claimed})
    truth = source if isinstance(source, Truth) else truth_of(source, options, snapshot=snapshot)
    study, measure = truth.study, MetricMeasurer(options=options, truth=truth)
    predictions = PREDICTIONS.check(predictions, "predictions")
    models = predictions["model"].unique(maintain_order=True).to_list()
    about_truth = _about(predictions, truth)
    if not about_truth.height:
        raise InputError(
            f"No prediction is about a scored item of '{study.name}'.",
            "Stimulus and question of the predictions must match the source; check both, and the selection.",
        )
    every_task, unscored = _tasks(truth)
    able = {task.id: _attempted(task, about_truth) for task in every_task}
    tasks = [task for task in every_task if able[task.id]]
    notes = [*truth.notes, *unscored]
    notes += [f"No model predicts '{task.id}'." for task in every_task if not able[task.id]]
    notes += [
        f"{model} does not predict '{task.id}'." for task in tasks for model in models if model not in able[task.id]
    ]
    if predictions.height > about_truth.height:
        not_about_truth = predictions.height - about_truth.height
        notes.append(
            f"{not_about_truth:,} predictions are about items without ratings, or left out, and are not scored."
        )
    scores: list[ModelScore] = []
    by_slice: list[Slice] = []
    comparisons: list[ModelComparison] = []
    model_ranks: list[ModelRank] = []
    coverage: dict[str, dict[str, ModelCoverage]] = {}
    details: dict[str, TaskDetails] = {}
    rows: list[pl.DataFrame] = []
    by_part = ByPart.of(truth, options)
    calibrations: list[ModelCalibration | None] = []
    errors: list[PartError] = []
    worth: list[Worth | None] = []
    of_labels: dict[str, None] = {}
    done, total = 0, sum(len(able[task.id]) for task in tasks)
    for task in tasks:
        columns, part_columns = columns_of(truth, task, options.slices), by_part.columns(task)
        entrants, of_models = [], {}
        for model in [model for model in models if model in able[task.id]]:
            sheet = SHEETS.get(task.kind, sheet_of)(truth, about_truth, task, model)
            marked = MARKING[task.kind](sheet, measure)
            rows.append(_rows(sheet, marked))
            entrants.append(_entrant(sheet, rows[-1], marked, measure))
            of_models[model] = marked.details
            scores += marked.scores
            by_slice += _slices(sheet, marked, measure, columns)
            calibrations.append(by_part.calibration(sheet))
            errors += by_part.errors(sheet, marked, part_columns)
            worth.append(by_part.worth(sheet))
            if sheet.from_labels or sheet.against_other_labels:
                of_labels[model] = None
            notes += marked.notes
            coverage.setdefault(model, {})[task.id] = sheet.coverage
            done += 1
            if progress is not None:
                progress("scoring", done, total)
        pairs = compare(entrants, task, options.confidence)
        comparisons += pairs
        model_ranks += ranks(entrants, pairs, task, options.confidence)
        details[task.id] = TaskDetails(
            of_models, measure.human(task, task.headline), measure.smooth_ceiling(task, task.headline)
        )
    metrics = {model_score.metric for model_score in scores}
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
        scores=tuple(scores),
        comparisons=tuple(comparisons),
        slices=tuple(by_slice),
        details=details,
        parts=PartAgreement(
            calibrations=tuple(row for row in calibrations if row is not None),
            errors=tuple(errors),
            worth=tuple(row for row in worth if row is not None),
            from_labels=tuple(of_labels),
            notes=by_part.notes(tasks),
        ),
        notes=tuple(notes),
        ledger=truth.ledger,
        rows=pl.concat(rows, how="vertical") if rows else pl.DataFrame(),
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


def _entrant(sheet: PredictionSheet, rows: pl.DataFrame, marked: Marked, measure: MetricMeasurer) -> Entrant:
    headline = next(model_score for model_score in marked.scores if model_score.metric == sheet.task.headline)
    reason = OTHER_LABELS if sheet.against_other_labels else headline.with_failures.why_missing
    answers = None
    if marked.right is not None:
        answers = answers_to(sheet, measure).table.with_row_index("place")
        answers = answers.select("rater", "first", "second", "place", pl.Series("right", marked.right))
    return Entrant.of(headline, rows, reason, answers=answers)


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
    for column in columns if (marked.sliced or marked.slice_of) and not sheet.from_labels else ():
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
                group = None if sheet.stimulus is None else sheet.stimulus[rows]
                if group is not None and np.unique(group).size == group.size:
                    group = None
                estimate = measure.numbers(metric, sheet.truth[rows], y[rows], [group])[0][0]
                yield part(metric=metric, answered=int(rows.sum()), estimate=estimate)
