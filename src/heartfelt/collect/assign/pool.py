"""The open units: by how many ratings they have or are about to have, and in an adaptive study by standard error.

The next unit is one with the fewest, at random among equals. Where a rater meets each cell at most once, a cell with the
most units at that count goes first: what is left at the end of a round then lies in many cells, and the next rater can
take it. Blocks and Latin squares choose among equals too, so that no order of presentation makes counts drift apart.

In an adaptive study, units that have their minimum are chosen by the standard error of their label. The error of a
question is that of its mean, as a share of the scale's range, with the spread shrunk towards a quarter of the range while
answers are few (two equal answers do not prove agreement); for categories that of the share of the most frequent one. A
unit's error is the largest of its questions'. Leases count as if answered, so that raters who come together are spread.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from random import Random

from heartfelt.collect.assign.balance import PositionBalance
from heartfelt.collect.assign.model import AssignmentUnits, Rater

_RANDOM_DRAWS = 12
"""Random draws before the allowed units are listed: listing costs more, and is rarely needed."""
_SETS_COMPARED = 64
"""Sets drawn at random, of which a rater gets the one that is best for the balance."""
_PRIOR_ANSWERS = 2.0
_PRIOR_SPREAD = 0.25


class OpenUnits:
    """Counts of complete valid ratings and live leases by unit, and the open units by their sum."""

    def __init__(self, layout: AssignmentUnits, balance: PositionBalance | None = None) -> None:
        self.layout = layout
        self._balance = balance
        self.valid = [0] * layout.size
        self.leases = [0] * layout.size
        self._ordinary = bytearray(layout.size)
        self._place = [-1] * layout.size
        self._levels: list[dict[int | None, list[int]]] = [{} for _ in range(layout.levels)]
        self.open = 0
        self.short = layout.quota * len(layout.units)
        """Ratings still missing, whoever is working on them."""
        latin = layout.order == "latin-square" and layout.block
        self._square = williams(len(set(layout.block.values()))) if latin else []
        self._group = layout.block or layout.cell
        for unit in layout.units:
            self._ordinary[unit] = True
            self._add(unit, 0)

    def load(self, unit: int) -> int:
        """Complete valid ratings and live leases of a unit."""
        return self.valid[unit] + self.leases[unit]

    def count(self, unit: int, *, valid: int = 0, leases: int = 0) -> None:
        """Change the counts of a unit. One that another process added to the study is only counted."""
        if unit >= len(self.valid):
            more = unit + 1 - len(self.valid)
            self.valid += [0] * more
            self.leases += [0] * more
            self._ordinary += bytes(more)
        before = self.valid[unit] + self.leases[unit]
        if valid and self._ordinary[unit]:
            quota, had = self.layout.quota, self.valid[unit]
            self.short += max(0, quota - had - valid) - max(0, quota - had)
        self.valid[unit] += valid
        self.leases[unit] += leases
        after = before + valid + leases
        if after != before and self._ordinary[unit]:
            self._remove(unit, before)
            self._add(unit, after)

    def raise_quota(self, layout: AssignmentUnits) -> None:
        """Open units again that had as many ratings as they were to get so far."""
        full = [unit for unit in layout.units if self.load(unit) >= len(self._levels)]
        self.layout = layout
        self._levels += [{} for _ in range(layout.levels - len(self._levels))]
        for unit in full:
            self._add(unit, self.load(unit))
        self.short = sum(max(0, layout.quota - self.valid[unit]) for unit in layout.units)

    def floor(self) -> int | None:
        """The lowest count of any open unit."""
        return next((level for level, groups in enumerate(self._levels) if groups), None)

    def _add(self, unit: int, level: int) -> None:
        if level >= len(self._levels):
            return
        members = self._levels[level].setdefault(self._group.get(unit), [])
        self._place[unit] = len(members)
        members.append(unit)
        self.open += 1

    def _remove(self, unit: int, level: int) -> None:
        if level >= len(self._levels):
            return
        groups, group = self._levels[level], self._group.get(unit)
        members = groups[group]
        # The last unit takes the place of the one that goes: removing takes the same time however many units there are.
        position, last = self._place[unit], members.pop()
        if last != unit:
            members[position] = last
            self._place[last] = position
        if not members:
            del groups[group]
        self.open -= 1

    def pick(self, rater: Rater, rng: Random) -> int | None:
        """The unit the rater should get next; None if there is none for them."""
        for groups in self._levels:
            if groups:
                for group in self._preferred(groups, rater, rng):
                    unit = self._within(groups[group], rater, rng)
                    if unit is not None:
                        return unit
        return None

    def allowed(self, unit: int, rater: Rater) -> bool:
        """Whether the rater may still get the unit."""
        return (
            unit not in rater.seen
            and unit not in rater.practised_units
            and (not self.layout.cell or self.layout.cell[unit] not in rater.cells)
        )

    def _preferred(self, groups: dict[int | None, list[int]], rater: Rater, rng: Random) -> Iterator[int | None]:
        """The groups to look into, in order: those of a Latin square, else the largest first, at random among equals."""
        if len(groups) == 1:
            yield from groups
            return
        if self._square:
            yield from self._in_square(groups, rater)
            return
        if self.layout.block:
            current = None if rater.latest is None else self._group.get(rater.latest)
            if current in groups:
                yield current
            free = [group for group in groups if group != current]
        else:
            free = [group for group in groups if group not in rater.cells]
        while free:
            most = max(len(groups[group]) for group in free)
            best = [group for group in free if len(groups[group]) == most]
            rng.shuffle(best)
            yield from best
            free = [group for group in free if len(groups[group]) != most]

    def _in_square(self, groups: Collection[int | None], rater: Rater) -> Iterator[int]:
        size = len(self._square)
        for step in range(size):
            wanted = (self._square[(len(rater.seen) + step) % size] + rater.number) % size
            if wanted in groups:
                yield wanted

    def _within(self, members: Sequence[int], rater: Rater, rng: Random) -> int | None:
        if self.layout.order == "manifest":
            open_units = self._open_to(rater, members)
            after = [unit for unit in open_units if rater.latest is None or unit > rater.latest]
            return min(after or open_units, default=None)
        if self._balance is not None:
            unit = self._least_familiar(self._balance, members, rater, rng)
            if unit is not None:
                return unit
        for _ in range(_RANDOM_DRAWS):
            unit = members[int(rng.random() * len(members))]
            if self.allowed(unit, rater):
                return unit
        open_units = self._open_to(rater, members)
        return rng.choice(open_units) if open_units else None

    def _open_to(self, rater: Rater, members: Sequence[int]) -> list[int]:
        return [unit for unit in members if self.allowed(unit, rater)]

    def _least_familiar(
        self, balance: PositionBalance, members: Sequence[int], rater: Rater, rng: Random
    ) -> int | None:
        """The set whose systems the rater has met least; of many sets, some are compared."""
        draws = members if len(members) <= _SETS_COMPARED else rng.sample(members, _SETS_COMPARED)
        fair = [(balance.familiarity(rater, unit), unit) for unit in self._open_to(rater, draws)]
        if not fair:
            return None
        least = min(fair)[0]
        return rng.choice([unit for familiarity, unit in fair if familiarity == least])


def williams(size: int) -> list[int]:
    """The first row of a Williams square: 0, 1, n-1, 2, n-2 …; adding 1 to every place gives the next row."""
    return [
        0 if position == 0 else (position + 1) // 2 if position % 2 else size - position // 2
        for position in range(size)
    ]


class AnswerSums:
    """Running sums of one question's answers to one unit."""

    __slots__ = ("codes", "n", "square", "total")

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.0
        self.square = 0.0
        self.codes: dict[float, int] = {}

    def add(self, value: float, sign: int) -> None:
        """Add an answer, or subtract it again with ``sign`` -1."""
        self.n += sign
        self.total += sign * value
        self.square += sign * value * value
        self.codes[value] = self.codes.get(value, 0) + sign

    def error(self, span: float, coming: int) -> float:
        """The standard error of the label once ``coming`` more answers are in."""
        n = max(1, self.n + coming)
        if span <= 0:
            # One answer more for and against: a category that everybody chose so far is not certain.
            share = (max(self.codes.values(), default=0) + 1.0) / (self.n + 2.0)
            return math.sqrt(share * (1.0 - share) / n)
        # Rounding can make the sum of squares negative by a hair.
        within = max(0.0, self.square - self.total * self.total / max(1, self.n)) / span**2
        spread = (within + _PRIOR_ANSWERS * _PRIOR_SPREAD**2) / (max(0, self.n - 1) + _PRIOR_ANSWERS)
        return math.sqrt(spread / n)


class Errors:
    """The units of an adaptive study by standard error, largest first."""

    def __init__(self, spans: Mapping[str, float]) -> None:
        self._spans = spans
        self._tallies: dict[int, dict[str, AnswerSums]] = {}
        self._heap: list[tuple[float, float, int]] = []
        self._current: dict[int, tuple[float, float]] = {}

    def add(self, unit: int, values: Mapping[str, float], sign: int) -> None:
        """Count a unit's answers, or subtract them again."""
        tallies = self._tallies.setdefault(unit, {})
        for question, value in values.items():
            if question in self._spans:
                tallies.setdefault(question, AnswerSums()).add(value, sign)

    def update(self, unit: int, coming: int, tie: float) -> None:
        """Recompute the unit's error after a change; ``tie`` decides among equals."""
        tallies = self._tallies.get(unit, {}).items()
        error = max((tally.error(self._spans[name], coming) for name, tally in tallies), default=math.inf)
        self._current[unit] = (-error, tie)
        heapq.heappush(self._heap, (-error, tie, unit))

    def of(self, unit: int) -> float:
        """The error of a unit's label."""
        return -self._current.get(unit, (-math.inf, 0.0))[0]

    def largest(self, allowed: Callable[[int], bool]) -> int | None:
        """The allowed unit with the largest error."""
        passed: list[tuple[float, float, int]] = []
        unit: int | None = None
        while self._heap and unit is None:
            entry = heapq.heappop(self._heap)
            # An entry that is no longer current was superseded by a later push: it is dropped when it comes up.
            if entry[:2] == self._current.get(entry[2]):
                passed.append(entry)
                unit = entry[2] if allowed(entry[2]) else None
        for entry in passed:
            heapq.heappush(self._heap, entry)
        return unit
