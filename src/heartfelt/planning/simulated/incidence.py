"""Who rates what: the real assignment, run in memory.

Raters come a few at a time, as in a running study, and each gets the unit that ``collect.assign`` would give them: fewest ratings
first, no cell twice where the design says so. A rater who leaves early gives the unit on screen back. Nothing is stored, so a
design of thousands of ratings takes a fraction of a second; what is left out against a real collection (practice, probes, expiring
leases, adaptive spending) does not change how many ratings a stimulus gets. ``tests/planning`` compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.collect.assign.balance import PositionBalance
from heartfelt.collect.assign.model import AssignmentUnits, Rater
from heartfelt.collect.assign.pool import OpenUnits

Ints: TypeAlias = npt.NDArray[np.int64]

TOGETHER = 6
"""Raters who work at the same time."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Incidence:
    """Ratings in the order of raters and their trials: who, which unit, at which place."""

    rater: Ints
    unit: Ints
    position: Ints
    raters: int
    """Raters who gave at least one rating."""
    left: int
    """Raters who left early."""
    turned_away: int
    """People for whom nothing was left to rate."""
    first: Ints
    """For sets of two: which member was shown first."""


@dataclass(frozen=True, slots=True)
class AssignedUnits:
    """What is assigned: the cell of each stimulus, or the systems of each set's members."""

    cells: Sequence[int]
    """The combination a rater meets at most once, by unit; empty if there is no such rule."""
    count: int
    contestants: Sequence[tuple[int, int]] = ()
    """For sets of two: the systems of the members."""


def assign(units: AssignedUnits, quota: int, per_rater: int, raters: int, dropout: float, seed: int) -> Incidence:
    """Run the assignment for ``raters`` people who are to do ``per_rater`` trials each and leave early with chance ``dropout``."""
    rng = Random(seed)
    layout = AssignmentUnits(
        size=units.count,
        units=range(units.count),
        quota=quota,
        cell=dict(enumerate(units.cells)),
        contestants=dict(enumerate(units.contestants)),
    )
    balance = PositionBalance(layout) if units.contestants else None
    pool = OpenUnits(layout, balance)
    hazard = 1.0 - (1.0 - dropout) ** (1.0 / per_rater)
    trials: list[list[tuple[int, int]]] = [[] for _ in range(raters)]
    waiting = iter(range(raters))
    present: list[tuple[Rater, int | None]] = []
    left_early = turned_away = 0
    while True:
        while len(present) < TOGETHER and (number := next(waiting, None)) is not None:
            present.append((Rater(number=number, id=str(number)), None))
        if not present:
            break
        index = int(rng.random() * len(present))
        rater, unit = present[index]
        done = trials[rater.number]
        if unit is not None:
            if rng.random() < hazard:
                pool.count(unit, leases=-1)
                left_early += 1
                del present[index]
                continue
            pool.count(unit, valid=1, leases=-1)
            order = 0
            if balance is not None:
                shown = balance.draw(rater, unit, rng)
                balance.count(rater.number, unit, shown, 1)
                order = shown[0]
            done.append((unit, order))
        following = pool.pick(rater, rng) if len(done) < per_rater else None
        if following is None:
            turned_away += not done
            del present[index]
            continue
        pool.count(following, leases=1)
        rater.seen.add(following)
        rater.latest = following
        if layout.cell:
            rater.cells.add(layout.cell[following])
        present[index] = (rater, following)
    return _columns(trials, left_early, turned_away)


def _columns(trials: list[list[tuple[int, int]]], left_early: int, turned_away: int) -> Incidence:
    took_part = [of_rater for of_rater in trials if of_rater]
    sizes = np.array([len(of_rater) for of_rater in took_part], np.int64)
    every = np.array([trial for of_rater in took_part for trial in of_rater], np.int64).reshape(-1, 2)
    position = np.concatenate([np.arange(1, size + 1) for size in sizes]) if sizes.size else sizes
    return Incidence(
        rater=np.repeat(np.arange(sizes.size), sizes),
        unit=every[:, 0],
        position=position.astype(np.int64),
        raters=int(sizes.size),
        left=left_early,
        turned_away=turned_away,
        first=every[:, 1],
    )
