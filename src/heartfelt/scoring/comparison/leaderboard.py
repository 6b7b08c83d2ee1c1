"""The models of several runs on one source, compared with each other whatever run they come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from heartfelt import __version__
from heartfelt.scoring.comparison.compare import Entrant, compare, ranks
from heartfelt.scoring.results.details import TaskDetails
from heartfelt.scoring.results.parts import PartAgreement
from heartfelt.scoring.results.scores import (
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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _BoardModel:
    """One model of a run on one task, under its ``name`` on the board."""

    name: str
    run: ScoredRun
    rank: ModelRank
    score: ModelScore

    @property
    def coverage(self) -> dict[str, ModelCoverage]:
        covered = self.run.scores.coverage[self.rank.model].get(self.rank.task)
        return {} if covered is None else {self.rank.task: covered}

    def entrant(self) -> Entrant:
        rows = self.run.items.filter((pl.col("task") == self.rank.task) & (pl.col("model") == self.rank.model))
        # Whether a model beats chance is decided anew, corrected for all models of the board.
        untested = (self.rank.why_none or "").startswith(UNTESTED)
        reason = None if self.rank.beats_chance is False or untested else self.rank.why_none
        reason = reason or (self.run.why_no_items if not rows.height else None)
        return Entrant.of(self.score, rows, reason, name=self.name)


def _names_on_board(runs: Sequence[ScoredRun]) -> dict[tuple[str, str], str]:
    """By run and model, the model's name; a model that several runs have is named with its run."""
    counts = Counter(model for run in runs for model in run.scores.models)
    return {
        (run.name, model): model if counts[model] == 1 else f"{model} ({run.name})"
        for run in runs
        for model in run.scores.models
    }


def _models_of(task: str, runs: Sequence[ScoredRun], names: Mapping[tuple[str, str], str]) -> Iterator[_BoardModel]:
    for run in runs:
        for rank in run.scores.ranked(task):
            score = run.scores.find(task, rank.model) if task in {part.id for part in run.scores.tasks} else None
            if score is not None:
                yield _BoardModel(name=names[run.name, rank.model], run=run, rank=rank, score=score)


def _board(runs: Sequence[ScoredRun]) -> Leaderboard:
    """The headlines of all runs, task by task."""
    first, names = runs[0].scores, _names_on_board(runs)
    tasks: dict[str, ScoringTask] = {}
    details: dict[str, TaskDetails] = {}
    for run in runs:
        for task in run.scores.tasks:
            # The first run that has a task gives its details.
            if tasks.setdefault(task.id, task) is task and task.id in run.scores.details:
                details[task.id] = replace(run.scores.details[task.id], models={})
    by_task = {name: list(_models_of(name, runs, names)) for name in tasks}
    models = [model for of_task in by_task.values() for model in of_task]
    notes = [run.why_no_items for run in runs if run.why_no_items]
    notes += [run.why_answered_only for run in runs if run.why_answered_only]
    comparisons: list[ModelComparison] = []
    board_ranks: list[ModelRank] = []
    for task in tasks.values():
        if _compared_already(runs, task):
            comparisons += [pair for pair in first.comparisons if pair.task == task.id]
            board_ranks += [rank for rank in first.ranks if rank.task == task.id]
            continue
        entrants = [model.entrant() for model in by_task[task.id]]
        pairs = compare(entrants, task)
        comparisons += pairs
        board_ranks += ranks(entrants, pairs, task)
        if len({model.score.ceiling.value for model in by_task[task.id]} - {None}) > 1:
            notes.append(f"{task.id}: runs scored different items, so their ceilings differ; the first is drawn.")
    coverage: dict[str, dict[str, ModelCoverage]] = {}
    about: dict[str, ModelInfo] = {}
    for model in models:
        coverage.setdefault(model.name, {}).update(model.coverage)
        if model.rank.model in model.run.scores.model_info:
            about[model.name] = model.run.scores.model_info[model.rank.model]
    joined = replace(
        first,
        heartfelt_version=__version__,
        models=tuple(coverage),
        model_info=about,
        tasks=tuple(tasks.values()),
        metrics={name: metric for run in runs for name, metric in run.scores.metrics.items()},
        coverage=coverage,
        ranks=tuple(board_ranks),
        scores=tuple(replace(model.score, model=model.name) for model in models),
        comparisons=tuple(comparisons),
        slices=(),
        parts=_parts(runs, names),
        details=details,
        notes=(),
        ledger=first.ledger.clear(),
        rows=first.rows.clear(),
    )
    origin = {model.name: (model.run.name, model.rank.model) for model in models}
    return Leaderboard(joined, tuple(dict.fromkeys(notes)), origin)


def _parts(runs: Sequence[ScoredRun], names: Mapping[tuple[str, str], str]) -> PartAgreement:
    """Agreement by part of all runs; models of several runs are not combined."""
    parts = [run.scores.parts.renamed({model: names[run.name, model] for model in run.scores.models}) for run in runs]
    joined = {
        name: tuple(row for part in parts for row in getattr(part, name))
        for name in ("calibrations", "errors", "worth", "from_labels")
    }
    return PartAgreement(**joined, stacks=parts[0].stacks if len(parts) == 1 else ())
