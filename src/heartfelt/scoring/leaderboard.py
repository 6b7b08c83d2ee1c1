"""The models of several runs on one source, compared with each other whatever run they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from heartfelt import __version__
from heartfelt.scoring.calibration.parts import PartAgreement
from heartfelt.scoring.compare import Entrant, compare, ranks
from heartfelt.scoring.details import TaskDetails
from heartfelt.scoring.scores import (
    UNTESTED,
    ModelComparison,
    ModelCoverage,
    ModelInfo,
    ModelRank,
    ModelScore,
    Scores,
    ScoringTask,
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScoredRun:
    """One run: its name, its scores, and its items with labels and predictions where those are at hand."""

    name: str
    scores: Scores
    items: pl.DataFrame
    why_no_items: str | None = None
    why_answered_only: str | None = None
    """Set where the items do not say what failures count as: pairs are then compared on answered items."""


@dataclass(frozen=True, slots=True, eq=False)
class Leaderboard:
    """One source (a snapshot or benchmark by its hash) with all its tasks, as one set of scores."""

    scores: Scores
    notes: tuple[str, ...]
    origin: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The run each model of the board comes from, and its name there."""


def boards_of(runs: Sequence[ScoredRun]) -> list[Leaderboard]:
    """One board per source, in the order of their first run."""
    by_source: dict[str, list[ScoredRun]] = {}
    for run in runs:
        by_source.setdefault(run.scores.hash, []).append(run)
    return [_board(source_runs) for source_runs in by_source.values()]


def _compared_already(runs: Sequence[ScoredRun], task: ScoringTask) -> bool:
    """Whether the run has compared the same models on the same items; choices are compared over pairs here, see docs/scoring.md."""
    alone = len(runs) == 1 and task.kind != "choices"
    return alone and runs[0].why_no_items is None and runs[0].why_answered_only is None


def _board(runs: Sequence[ScoredRun]) -> Leaderboard:
    """The headlines of all runs, task by task; a model that several runs have is named with its run."""
    first = runs[0].scores
    tasks: dict[str, ScoringTask] = {}
    for run in runs:
        for task in run.scores.tasks:
            tasks.setdefault(task.id, task)
    notes = [run.why_no_items for run in runs if run.why_no_items]
    notes += [run.why_answered_only for run in runs if run.why_answered_only]
    names = [model for run in runs for model in run.scores.models]
    about: dict[str, ModelInfo] = {}
    origin: dict[str, tuple[str, str]] = {}
    coverage: dict[str, dict[str, ModelCoverage]] = {}
    details: dict[str, TaskDetails] = {}
    scores: list[ModelScore] = []
    comparisons: list[ModelComparison] = []
    board_ranks: list[ModelRank] = []
    for task in tasks.values():
        having = [run for run in runs if any(task.id == scored_task.id for scored_task in run.scores.tasks)]
        entrants, ceilings = [], set()
        for run, rank in ((board_run, rank) for board_run in having for rank in board_run.scores.ranked(task.id)):
            model, score = rank.model, run.scores.find(task.id, rank.model)
            if score is None:
                continue
            name = model if names.count(model) == 1 else f"{model} ({run.name})"
            scores.append(replace(score, model=name))
            origin[name] = (run.name, model)
            ceilings.add(score.ceiling.value)
            if model in run.scores.model_info:
                about[name] = run.scores.model_info[model]
            covered = run.scores.coverage[model].get(task.id)
            coverage.setdefault(name, {}).update({} if covered is None else {task.id: covered})
            rows = run.items.filter((pl.col("task") == task.id) & (pl.col("model") == model))
            # Whether a model beats chance is decided anew, corrected for all models of the board.
            untested = (rank.why_none or "").startswith(UNTESTED)
            reason = None if rank.beats_chance is False or untested else rank.why_none
            reason = reason or (run.why_no_items if not rows.height else None)
            entrants.append(Entrant.of(score, rows, reason, name=name))
        own_details = having[0].scores.details.get(task.id)
        if own_details is not None:
            details[task.id] = replace(own_details, models={})
        if _compared_already(runs, task):
            comparisons += [pair for pair in first.comparisons if pair.task == task.id]
            board_ranks += [rank for rank in first.ranks if rank.task == task.id]
            continue
        pairs = compare(entrants, task)
        comparisons += pairs
        board_ranks += ranks(entrants, pairs, task)
        if len(ceilings - {None}) > 1:
            notes.append(f"{task.id}: runs scored different items, so their ceilings differ; the first is drawn.")
    joined = replace(
        first,
        heartfelt_version=__version__,
        models=tuple(coverage),
        model_info=about,
        tasks=tuple(tasks.values()),
        metrics={name: metric for run in runs for name, metric in run.scores.metrics.items()},
        coverage=coverage,
        ranks=tuple(board_ranks),
        scores=tuple(scores),
        comparisons=tuple(comparisons),
        slices=(),
        parts=_parts(runs, names),
        details=details,
        notes=(),
        ledger=first.ledger.clear(),
        rows=first.rows.clear(),
    )
    return Leaderboard(joined, tuple(dict.fromkeys(notes)), origin)


def _parts(runs: Sequence[ScoredRun], names: Sequence[str]) -> PartAgreement:
    """Agreement by part of all runs; models of several runs are not combined."""
    parts = []
    for run in runs:
        models = run.scores.models
        shown = {model: model if names.count(model) == 1 else f"{model} ({run.name})" for model in models}
        parts.append(run.scores.parts.renamed(shown))
    return PartAgreement(
        calibrations=tuple(row for part in parts for row in part.calibrations),
        errors=tuple(row for part in parts for row in part.errors),
        worth=tuple(row for part in parts for row in part.worth),
        stacks=parts[0].stacks if len(parts) == 1 else (),
        from_labels=tuple(model for part in parts for model in part.from_labels),
    )
