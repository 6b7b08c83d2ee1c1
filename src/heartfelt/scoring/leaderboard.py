"""The models of several runs on one source, compared with each other whatever run they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from heartfelt import __version__
from heartfelt.scoring.compare import CompareOptions, Entrant, compare, ranks
from heartfelt.scoring.scores import Comparison, Coverage, ModelInfo, Rank, Score, Scores, Task, TaskDetails


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRun:
    """One run: its name, its scores, and its items with labels and predictions where those are at hand."""

    name: str
    scores: Scores
    items: pl.DataFrame
    why_no_items: str | None = None
    why_answered_only: str | None = None
    """Set where the items do not say what failures count as: pairs are then compared on answered items."""


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """One source (a snapshot or benchmark by its hash) with all its tasks, as one set of scores."""

    scores: Scores
    notes: tuple[str, ...]


def boards_of(runs: Sequence[ScoredRun]) -> list[Board]:
    """One board per source, in the order of their first run."""
    by_source: dict[str, list[ScoredRun]] = {}
    for run in runs:
        by_source.setdefault(run.scores.hash, []).append(run)
    return [_board(mine) for mine in by_source.values()]


def _board(runs: Sequence[ScoredRun]) -> Board:
    first = runs[0].scores
    tasks: dict[str, Task] = {}
    for run in runs:
        for task in run.scores.tasks:
            tasks.setdefault(task.id, task)
    notes = [run.why_no_items for run in runs if run.why_no_items]
    notes += [run.why_answered_only for run in runs if run.why_answered_only]
    joined = _Joined([model for run in runs for model in run.scores.models])
    for task in tasks.values():
        notes += joined.add(
            task, [run for run in runs if any(task.id == score.id for score in run.scores.tasks)]
        )
    scores = replace(
        first,
        version=__version__,
        models=tuple(joined.coverage),
        about=joined.about,
        tasks=tuple(tasks.values()),
        metrics={name: metric for run in runs for name, metric in run.scores.metrics.items()},
        coverage=joined.coverage,
        ranks=tuple(joined.ranks),
        scores=tuple(joined.scores),
        comparisons=tuple(joined.comparisons),
        slices=(),
        details=joined.details,
        notes=(),
        ledger=first.ledger.clear(),
        rows=first.rows.clear(),
    )
    return Board(scores, tuple(dict.fromkeys(notes)))


class _Joined:
    """The headlines of all runs, task by task; a model that several runs have is named with its run."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.about: dict[str, ModelInfo] = {}
        self.coverage: dict[str, dict[str, Coverage]] = {}
        self.details: dict[str, TaskDetails] = {}
        self.scores: list[Score] = []
        self.comparisons: list[Comparison] = []
        self.ranks: list[Rank] = []

    def add(self, task: Task, runs: Sequence[ScoredRun]) -> list[str]:
        """Add a task of all runs that have it; return notes."""
        entrants = [entrant for run in runs for entrant in self._entrants(task, run)]
        details = runs[0].scores.details.get(task.id)
        if details is not None:
            self.details[task.id] = replace(details, models={})
        options = CompareOptions(task.id, task.kind, task.headline)
        pairs = compare(entrants, options)
        self.comparisons += pairs
        self.ranks += ranks(entrants, pairs, options)
        ceilings = {score.ceiling.value for score in self.scores if score.task == task.id} - {None}
        if len(ceilings) > 1:
            return [f"{task.id}: runs scored different items, so their ceilings differ; the first is drawn."]
        return []

    def _entrants(self, task: Task, run: ScoredRun) -> list[Entrant]:
        entrants = []
        for rank in run.scores.ranked(task.id):
            score = run.scores.find(task.id, rank.model)
            if score is None:
                continue
            model = rank.model
            name = model if self.names.count(model) == 1 else f"{model} ({run.name})"
            self.scores.append(replace(score, model=name))
            if model in run.scores.about:
                self.about[name] = run.scores.about[model]
            covered = run.scores.coverage[model].get(task.id)
            self.coverage.setdefault(name, {})
            if covered is not None:
                self.coverage[name][task.id] = covered
            rows = run.items.filter((pl.col("task") == task.id) & (pl.col("model") == model))
            # Whether a model beats chance is decided anew, corrected for all models of the board.
            why = None if rank.beats_chance is False else rank.why_none
            why = why or (run.why_no_items if not rows.height else None)
            value, beyond, p = score.with_failures.value, score.beyond_chance.value, score.p_chance.value
            entrants.append(Entrant(name, rows, value, why, beyond, p))
        return entrants
