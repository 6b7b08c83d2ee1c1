"""Who rates what in which order: least-rated stimuli first, ties by lot, each rater over different cells.

Raters arrive one after another. Each takes stimuli from different cells, as a live study hands them out,
and one who leaves early leaves nothing blocked. Inside a cell the stimuli wait in a shuffled queue that is
shuffled anew when it has run through, which is least-rated-first with random ties at the cost of one step
per trial.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import require
from heartfelt.streams import stream

Ints: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignOptions:
    """How the ratings are collected.

    ``per_stimulus`` stops a stimulus at that many raters (None: no limit). ``distinct_cells`` name the
    columns whose combinations a rater is spread over: no cell twice before all were used once. ``repeats``
    shows that many stimuli again at the end to raters who stayed. ``clip_seconds`` pass before the first
    answer to each stimulus. ``copy_gap`` and ``copy_shift`` are a colluder's chances, per trial, of losing
    the place and of moving an answer.
    """

    per_rater: int = 56
    per_stimulus: int | None = None
    scale_low: float = 1.0
    scale_high: float = 9.0
    integer: bool = True
    distinct_cells: tuple[str, ...] = ("system", "intent")
    repeats: int = 0
    clip_seconds: float = 10.0
    arrival_seconds: float = 300.0
    start: datetime = datetime(2025, 1, 6, 9, 0, tzinfo=UTC)
    copy_gap: float = 0.02
    copy_shift: float = 0.05

    def __post_init__(self) -> None:
        low, high, integer = self.scale_low, self.scale_high, self.integer
        require(
            self.per_rater >= 1 and self.repeats >= 0 and (self.per_stimulus is None or self.per_stimulus >= 1),
            "The design has no trials.",
            "Give per_rater and per_stimulus of 1 or more, repeats of 0 or more.",
        )
        require(
            self.repeats <= self.per_rater,
            f"{self.repeats} repeats do not fit {self.per_rater} stimuli per rater.",
            "Repeat at most per_rater stimuli.",
        )
        require(
            low < high and not (integer and (low % 1 or high % 1)),
            f"A scale from {low:g} to {high:g} has no points.",
            "Give scale_low < scale_high, whole numbers where answers are.",
        )
        require(
            self.start.tzinfo is not None and min(self.clip_seconds, self.arrival_seconds) >= 0,
            "The clock of the design is unusable.",
            "Give a start with a time zone and times of 0 or more.",
        )
        require(
            0.0 <= self.copy_gap <= 1.0 and 0.0 <= self.copy_shift <= 1.0,
            "A colluder's chances are not in [0, 1].",
            "Give copy_gap and copy_shift from 0 to 1.",
        )

    @property
    def neutral(self) -> float:
        return (self.scale_low + self.scale_high) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Trials of all raters, rater by rater in presentation order. ``first`` is the trial a repeat repeats."""

    rater: Ints
    stimulus: Ints
    position: Ints
    repeat: Ints
    first: Ints


class _Queue:
    """The stimuli of one cell in the order they will be handed out."""

    __slots__ = ("at", "line", "rounds")

    def __init__(self, members: Ints, rng: np.random.Generator) -> None:
        self.line: list[int] = rng.permutation(members).tolist()
        self.at = 0
        self.rounds = 0

    def available(self, quota: int | None) -> int:
        """How many different stimuli one rater could still take."""
        if quota is None:
            return len(self.line)
        return min(len(self.line), max(0, (quota - self.rounds) * len(self.line) - self.at))

    def take(self, count: int, rng: np.random.Generator) -> list[int]:
        """Hand out ``count`` different stimuli, the least-rated first."""
        dealt = self.line[self.at : self.at + count]
        self.at += len(dealt)
        if self.at == len(self.line):
            owed = count - len(dealt)
            fresh = set(dealt) if owed else set()
            self.line = rng.permutation([x for x in self.line if x not in fresh]).astype(np.int64).tolist()
            if owed:
                reshuffled = rng.permutation([*self.line[owed:], *fresh]).astype(np.int64).tolist()
                self.line = [*self.line[:owed], *reshuffled]
            dealt += self.line[:owed]
            self.at = owed
            self.rounds += 1
        return dealt


def assign(cell: Ints, stays: Ints, quota: int | None, rng: np.random.Generator) -> list[list[int]]:
    """For each rater, the stimuli rated, in presentation order.

    ``cell`` is each stimulus' cell (0 …), ``stays`` how many trials each rater stays for, ``quota`` the
    most raters a stimulus may get.
    """
    order = np.argsort(cell, kind="stable")
    edges = np.flatnonzero(np.diff(cell[order], prepend=-1, append=-1))
    queues = [_Queue(order[start:end], rng) for start, end in itertools.pairwise(edges)]
    if len(queues) == 1:
        [alone] = queues
        allocated = (alone.take(min(stay, alone.available(quota)), rng) for stay in stays.tolist())
        return [rng.permutation(np.array(hand, dtype=np.int64)).tolist() for hand in allocated]
    rounds = np.zeros(len(queues), dtype=np.int64)
    free = np.array([queue.available(quota) for queue in queues], dtype=np.int64)
    handed: list[list[int]] = []
    for stay in stays.tolist():
        share = _shares(free, rounds, stay, rng)
        hand: list[int] = []
        for index in np.flatnonzero(share).tolist():
            queue = queues[index]
            hand += queue.take(int(share[index]), rng)
            rounds[index] = queue.rounds
            if quota is not None:
                free[index] = queue.available(quota)
        handed.append([hand[index] for index in rng.permutation(len(hand)).tolist()])
    return handed


def _shares(available: Ints, rounds: Ints, stay: int, rng: np.random.Generator) -> Ints:
    share = np.zeros(available.size, dtype=np.int64)
    remaining = min(stay, int(available.sum()))
    while remaining > 0:
        free = np.flatnonzero(available > share)
        if free.size <= remaining:
            share[free] += 1
            remaining -= free.size
            continue
        # A cell taken from before is ahead by what this rater took; the least-rated cells come first, ties
        # by lot.
        ahead = rounds[free] + rng.random(free.size)
        share[free[np.argpartition(ahead, remaining - 1)[:remaining]]] += 1
        remaining = 0
    return share


def stay_lengths(hazard: npt.NDArray[np.float64], per_rater: int, rng: np.random.Generator) -> Ints:
    """How many trials each rater stays for: at least one, with a constant chance of leaving after each."""
    uniform = rng.random(hazard.size)
    stays = np.full(hazard.size, per_rater, dtype=np.int64)
    leaving = hazard > 0
    last = np.floor(np.log1p(-uniform[leaving]) / np.log1p(-hazard[leaving])) + 1
    stays[leaving] = np.minimum(last, per_rater).astype(np.int64)
    return stays


def schedule(cell: Ints, hazard: npt.NDArray[np.float64], design: DesignOptions, seed: int) -> Trials:
    """All trials of all raters under the design. ``cell`` is each stimulus' cell, ``hazard`` each rater's chance of leaving.

    Repeats come at the end, for those who did all their trials.
    """
    stays = stay_lengths(hazard, design.per_rater, stream(seed, "simulate", "leave"))
    handed = assign(cell, stays, design.per_stimulus, stream(seed, "simulate", "assign"))
    rng = stream(seed, "simulate", "repeat")
    at = 0
    rater, stimulus, position, repeat, first = (list[int]() for _ in range(5))
    for index, hand in enumerate(handed):
        repeats = design.repeats if len(hand) == design.per_rater else 0
        again = rng.choice(len(hand), repeats, replace=False).tolist() if repeats else []
        size = len(hand) + len(again)
        rater += [index] * size
        stimulus += [*hand, *(hand[k] for k in again)]
        position += range(1, size + 1)
        repeat += [0] * len(hand) + [1] * len(again)
        first += [*range(at, at + len(hand)), *(at + k for k in again)]
        at += size
    return Trials(
        rater=np.array(rater, np.int64),
        stimulus=np.array(stimulus, np.int64),
        position=np.array(position, np.int64),
        repeat=np.array(repeat, np.int64),
        first=np.array(first, np.int64),
    )
