"""The answers of raters whose sequences run in parallel, aligned position by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.snapshot import Snapshot

MOST_RATERS = 8
MOST_TRIALS = 120
GAP = 0.8


@dataclass(frozen=True, slots=True)
class Trial:
    """One presentation: its place in the rater's order, what was played, and the answers by question."""

    place: int
    stimulus: str
    answers: dict[str, float]


@dataclass(frozen=True, slots=True)
class ParallelAnswers:
    """Raters' trials in aligned columns; None where a rater has no trial."""

    raters: tuple[str, ...]
    questions: tuple[str, ...]
    lines: tuple[tuple[Trial | None, ...], ...]
    left_out: int = 0


def parallel_answers(snapshot: Snapshot, raters: Sequence[str]) -> ParallelAnswers:
    """Align the raters' trials with those of the first; at most ``MOST_RATERS`` raters and ``MOST_TRIALS`` trials."""
    shown = list(raters[:MOST_RATERS])
    trials = _trials(snapshot, shown)
    shown = [name for name in shown if trials.get(name)]
    if not shown:
        return ParallelAnswers((), (), (), len(raters))
    questions = [
        q.id for q in snapshot.study.asked if any(q.id in t.answers for name in shown for t in trials[name])
    ]
    spans = _spans(snapshot, questions, [t for name in shown for t in trials[name]])
    first = trials[shown[0]]
    # Columns are the first rater's trials, with columns before each and at the end for what the others have in between.
    between: list[int] = [0] * (len(first) + 1)
    aligned = []
    for name in shown[1:]:
        steps = _align(_matrix(first, questions, spans), _matrix(trials[name], questions, spans))
        aligned.append(steps)
        run, at = 0, 0
        for here, there in steps:
            if here is None and there is not None:
                run += 1
            else:
                between[at] = max(between[at], run)
                run, at = 0, (here or 0) + 1
        between[at] = max(between[at], run)
    starts, column = [], 0
    for extra in between:
        starts.append(column + extra)
        column += extra + 1
    width = column - 1
    lines = [_in_columns([(place, place) for place in range(len(first))], first, starts, between, width)]
    lines += [
        _in_columns(steps, trials[name], starts, between, width)
        for steps, name in zip(aligned, shown[1:], strict=True)
    ]
    return ParallelAnswers(tuple(shown), tuple(questions), tuple(lines), len(raters) - len(shown))


def _trials(snapshot: Snapshot, raters: Sequence[str]) -> dict[str, list[Trial]]:
    ratings = snapshot.scan_ratings().filter(
        pl.col("rater").is_in(list(raters)) & pl.col("value").is_finite()
    )
    have = ratings.collect_schema().names()
    order = [name for name in ("position", "at") if name in have]
    frame = ratings.with_row_index("_row").sort([*order, "_row"], nulls_last=True).collect()
    if "repeat" in have:
        frame = frame.filter(pl.col("repeat").fill_null(0) == 0)
    out: dict[str, dict[str, Trial]] = {}
    for rater, stimulus, question, value in frame.select(
        "rater", "stimulus", "question", "value"
    ).iter_rows():
        mine = out.setdefault(rater, {})
        trial = mine.setdefault(stimulus, Trial(len(mine) + 1, stimulus, {}))
        trial.answers[question] = value
    return {rater: list(mine.values())[:MOST_TRIALS] for rater, mine in out.items()}


def _spans(
    snapshot: Snapshot, questions: Sequence[str], trials: Sequence[Trial]
) -> dict[str, tuple[float, float]]:
    out = {}
    for question in questions:
        values = [t.answers[question] for t in trials if question in t.answers]
        out[question] = snapshot.study.scale_of(question).bounds() or (min(values), max(values))
    return out


Numbers = npt.NDArray[np.float64]


def _matrix(
    trials: Sequence[Trial], questions: Sequence[str], spans: dict[str, tuple[float, float]]
) -> Numbers:
    """Answers between 0 and 1, NaN where there is none."""
    return np.array(
        [
            [
                (t.answers[q] - spans[q][0]) / ((spans[q][1] - spans[q][0]) or 1.0)
                if q in t.answers
                else np.nan
                for q in questions
            ]
            for t in trials
        ]
    )


def _align(a: Numbers, b: Numbers) -> list[tuple[int | None, int | None]]:
    """The alignment of two whole sequences with the least sum of differences; a trial without a partner costs ``GAP``."""
    apart = np.abs(a[:, None, :] - b[None, :, :])
    known = np.isfinite(apart)
    cost = np.where(known, apart, 0.0).sum(axis=2) / np.maximum(known.sum(axis=2), 1) * 2
    n, m = cost.shape
    best = np.zeros((n + 1, m + 1))
    best[:, 0], best[0, :] = np.arange(n + 1) * GAP, np.arange(m + 1) * GAP
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best[i, j] = min(
                best[i - 1, j - 1] + cost[i - 1, j - 1], best[i - 1, j] + GAP, best[i, j - 1] + GAP
            )
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


def _in_columns(
    steps: Sequence[tuple[int | None, int | None]],
    trials: Sequence[Trial],
    starts: Sequence[int],
    between: Sequence[int],
    width: int,
) -> tuple[Trial | None, ...]:
    """One rater's trials in columns: next to their partners, or in the columns before the next of the first rater's."""
    line: list[Trial | None] = [None] * width
    at = 0
    waiting: list[Trial] = []
    for here, there in [*steps, (len(starts) - 1, None)]:
        if here is None:
            waiting.append(trials[there or 0])
            continue
        at = here
        for offset, trial in enumerate(waiting):
            line[starts[at] - between[at] + offset] = trial
        waiting = []
        if there is not None and at < len(starts) - 1:
            line[starts[at]] = trials[there]
    return tuple(line)
