"""Sections of a bench page that need the scores alone: pairs, slices, every score, coverage, models and method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from heartfelt.report.layout.page import Section
from heartfelt.report.layout.tables import CellValue
from heartfelt.report.layout.templates import section
from heartfelt.scoring import Scores
from heartfelt.scoring.results.scores import ModelComparison, ModelInfo, ScoringTask, Slice
from heartfelt.wording import interval, number, spaced

MOST_REASONS = 3


def comparisons(scores: Scores) -> Section:
    """Every pair of models: for other clips of these systems, and for other systems."""
    by_task = [(task, [pair for pair in scores.comparisons if pair.task == task.id]) for task in scores.tasks]
    tasks = [(task, pairs, *_over_systems(pairs)) for task, pairs in by_task if pairs]
    return section("bench/comparison", "comparison", scores=scores, tasks=tasks)


def _over_systems(pairs: Sequence[ModelComparison]) -> tuple[list[ModelComparison], str | None]:
    """The pairs that are compared over systems too; where there are none, why not."""
    compared = [pair for pair in pairs if pair.over_systems.difference.value is not None]
    reason = pairs[0].over_systems.p.why_missing
    return compared, None if reason in ("no systems", "not compared") else reason


def slices(scores: Scores) -> Section:
    """The headline by slice."""
    grids = []
    for task in scores.tasks:
        task_slices = [row for row in scores.slices if (row.task, row.metric) == (task.id, task.headline)]
        for column in dict.fromkeys(row.column for row in task_slices):
            rows = [row for row in task_slices if row.column == column]
            grids.append((task, column, _slice_lines(scores, rows)))
    return section("bench/slices", "slices", scores=scores, grids=grids)


def _slice_lines(scores: Scores, slices: Sequence[Slice]) -> list[list[CellValue]]:
    sizes = {row.value: row.items for row in reversed(slices)}
    estimates = {(row.value, row.model): row.estimate for row in slices}
    return [
        [spaced(value), sizes[value], *(estimates.get((value, model)) for model in scores.models)]
        for value in dict.fromkeys(row.value for row in slices)
    ]


def all_scores(scores: Scores) -> Section:
    """Every metric of every model."""
    return section("bench/scores", "scores", scores=scores)


def coverage(scores: Scores) -> Section:
    """How many items were answered, why not all were, and how predictions were made."""
    rows = [(model, task, counts) for model, tasks in scores.coverage.items() for task, counts in tasks.items()]
    return section("bench/coverage", "coverage", rows=rows, most_frequent=_most_frequent)


def _most_frequent(texts: Mapping[str, int]) -> str:
    """The most frequent texts with how often each came, and how many others there were; a dash for none."""
    ranked = sorted(texts.items(), key=lambda pair: -pair[1])
    parts = [f"{text} ({number(n)})" for text, n in ranked[:MOST_REASONS]]
    rarer = ranked[MOST_REASONS:]
    if rarer:
        parts.append(f"{len(rarer)} others ({number(sum(n for _, n in rarer))})")
    return "; ".join(parts) or "–"


def models(scores: Scores) -> Section:
    """Which models answered, and which version of heartfelt scored them."""
    return section("bench/models", "models", scores=scores)


def usage(about: Mapping[str, ModelInfo]) -> Section:
    """What hosted models took: requests, tokens and cost; without HTML where no model is hosted."""
    rows = [(name, info.usage) for name, info in about.items() if info.usage is not None]
    return section("bench/usage", "usage", rows=rows)


def repeats(about: Mapping[str, ModelInfo]) -> Section:
    """How far the repeats of each model's answers agree; without HTML where nothing was asked repeatedly."""
    rows = [(name, consistency) for name, info in about.items() for consistency in info.consistency.values()]
    return section("bench/repeats", "repeats", rows=rows)


def method(scores: Scores) -> Section:
    """How the numbers were computed."""
    chosen = [(field.name, getattr(scores.options.selection, field.name)) for field in fields(scores.options.selection)]
    return section(
        "bench/method",
        "method",
        options=scores.options,
        tasks=scores.tasks,
        chances=[_chance(scores, task) for task in scores.tasks],
        notes=scores.notes,
        selection=", ".join(f"{spaced(name)} {value}" for name, value in chosen if value),
    )


def _chance(scores: Scores, task: ScoringTask) -> str:
    chance = scores.chance(task.id)
    if chance.value is None:
        return f"{spaced(task.id)}: no chance level: {chance.why_missing}."
    about = chance.method.partition(": ")[2]
    return f"{spaced(task.id)}: chance is {interval(chance)}" + (f" ({about})." if about else ".")
