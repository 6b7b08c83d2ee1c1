"""The answers of raters whose sequences run in parallel, aligned position by position."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl

from heartfelt.snapshot import Snapshot
from heartfelt.stats.columns.triples import Floats

MOST_RATERS = 8
MOST_TRIALS = 120
GAP = 0.8


@dataclass(frozen=True, slots=True)
class PresentedTrial:
    """One presentation: its place in the rater's order, what was played, and the answers by question."""

    place: int
    stimulus: str
    answers: dict[str, float]


@dataclass(frozen=True, slots=True)
class ParallelAnswers:
    """Raters' trials in aligned columns; None where a rater has no trial."""

    raters: tuple[str, ...]
    questions: tuple[str, ...]
    lines: tuple[tuple[PresentedTrial | None, ...], ...]
    left_out: int = 0


def parallel_answers(snapshot: Snapshot, raters: Sequence[str]) -> ParallelAnswers:
    """Align the raters' trials with those of the first; at most ``MOST_RATERS`` raters and ``MOST_TRIALS`` trials."""
    trials = _trials(snapshot, raters[:MOST_RATERS])
    shown = [name for name in raters[:MOST_RATERS] if name in trials]
    if not shown:
        return ParallelAnswers((), (), (), len(raters))
    every = list(chain.from_iterable(trials[name] for name in shown))
    answered = set().union(*(trial.answers for trial in every))
    questions = tuple(question.id for question in snapshot.study.asked if question.id in answered)
    answers = {name: _matrix(snapshot, trials[name], questions, every) for name in shown}
    lines = [_line(_align(answers[shown[0]], answers[name]), trials[name]) for name in shown]
    return ParallelAnswers(tuple(shown), questions, _in_columns(lines), len(raters) - len(shown))


def _in_columns(
    lines: Sequence[Mapping[tuple[int, float], PresentedTrial]],
) -> tuple[tuple[PresentedTrial | None, ...], ...]:
    """The lines with every column that any of them has, in order."""
    columns = sorted(set().union(*lines))
    return tuple(tuple(line.get(column) for column in columns) for line in lines)


def _line(
    steps: Sequence[tuple[int | None, int | None]], trials: Sequence[PresentedTrial]
) -> dict[tuple[int, float], PresentedTrial]:
    """A rater's trials by column: that of a trial of the first rater, or the n-th of those that come before it."""
    line: dict[tuple[int, float], PresentedTrial] = {}
    at, waiting = 0, 0
    for first_index, index in steps:
        if first_index is not None:
            at, waiting = first_index + 1, 0
        if index is not None:
            line[(at, waiting) if first_index is None else (first_index, math.inf)] = trials[index]
            waiting += first_index is None
    return line


def _trials(snapshot: Snapshot, raters: Sequence[str]) -> dict[str, list[PresentedTrial]]:
    ratings = snapshot.scan_ratings().filter(pl.col("rater").is_in(list(raters)) & pl.col("value").is_finite())
    have = ratings.collect_schema().names()
    order = [name for name in ("position", "at") if name in have]
    frame = ratings.with_row_index("_row").sort([*order, "_row"], nulls_last=True).collect()
    if "repeat" in have:
        frame = frame.filter(pl.col("repeat").fill_null(0) == 0)
    out: dict[str, dict[str, PresentedTrial]] = {}
    columns = ("rater", "stimulus", "question", "value")
    for rater, stimulus, question, value in frame.select(columns).iter_rows():
        of_rater = out.setdefault(rater, {})
        trial = of_rater.setdefault(stimulus, PresentedTrial(len(of_rater) + 1, stimulus, {}))
        trial.answers[question] = value
    return {rater: list(by_stimulus.values())[:MOST_TRIALS] for rater, by_stimulus in out.items()}


def _matrix(
    snapshot: Snapshot, trials: Sequence[PresentedTrial], questions: Sequence[str], every: Sequence[PresentedTrial]
) -> Floats:
    """Answers between 0 and 1 on their scale, or on the range of ``every`` answer; NaN where there is none."""
    out = np.array([[trial.answers.get(question, np.nan) for question in questions] for trial in trials])
    for column, question in enumerate(questions):
        question_answers = [trial.answers[question] for trial in every if question in trial.answers]
        low, high = snapshot.study.scale_of(question).bounds() or (min(question_answers), max(question_answers))
        out[:, column] = (out[:, column] - low) / ((high - low) or 1.0)
    return out


def _align(a: Floats, b: Floats) -> list[tuple[int | None, int | None]]:
    """The alignment of two whole sequences with the least sum of differences; a trial without a partner costs ``GAP``."""
    distances = np.abs(a[:, None, :] - b[None, :, :])
    comparable = np.isfinite(distances)
    cost = np.where(comparable, distances, 0.0).sum(axis=2) / np.maximum(comparable.sum(axis=2), 1) * 2
    n, m = cost.shape
    best = np.zeros((n + 1, m + 1))
    best[:, 0], best[0, :] = np.arange(n + 1) * GAP, np.arange(m + 1) * GAP
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best[i, j] = min(best[i - 1, j - 1] + cost[i - 1, j - 1], best[i - 1, j] + GAP, best[i, j - 1] + GAP)
    steps: list[tuple[int | None, int | None]] = []
    i, j = n, m
    while i or j:
        if i and j and best[i, j] == best[i - 1, j - 1] + cost[i - 1, j - 1]:
            i, j = i - 1, j - 1
            steps.append((i, j))
        elif i and best[i, j] == best[i - 1, j] + GAP:
            i -= 1
            steps.append((i, None))
        else:
            j -= 1
            steps.append((None, j))
    return steps[::-1]
