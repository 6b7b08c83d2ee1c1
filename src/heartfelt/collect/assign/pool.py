"""The open units, sorted by how many ratings they have or are about to have.

The next unit is one with the fewest, at random among equals. Where a rater meets each cell at most once, a cell with the
most units at that level goes first: what is left at the end of a round then lies in many cells, and the next rater can
take it. Blocks and Latin squares choose among equals too, so that no order of presentation makes counts drift apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from heartfelt.collect.assign.layout import Layout
from heartfelt.collect.assign.rater import Rater

_TRIES = 12


class Pool:
    """Counts of complete valid ratings and live leases by unit, and the open units by their sum."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.valid = [0] * layout.size
        self.leases = [0] * layout.size
        self._ordinary = bytearray(layout.size)
        self._group = [0] * layout.size
        self._place = [-1] * layout.size
        grouping = layout.block or layout.cell
        for unit in layout.units:
            self._ordinary[unit] = 1
            self._group[unit] = grouping.get(unit, 0)
        self._levels: list[dict[int, list[int]]] = [{} for _ in range(layout.levels)]
        self.open = 0
        self.short = layout.quota * len(layout.units)
        """Ratings that are still missing, whoever is at work on them."""
        self._row = williams(layout.conditions) if layout.order == "latin-square" else []
        for unit in layout.units:
            self._put(unit, 0)

    def load(self, unit: int) -> int:
        """Complete valid ratings and live leases of a unit."""
        return self.valid[unit] + self.leases[unit]

    def count(self, unit: int, *, valid: int = 0, leases: int = 0) -> None:
        """Change the counts of a unit."""
        if unit >= len(self.valid):
            self._grow(unit + 1)
        before = self.valid[unit] + self.leases[unit]
        if valid and self._ordinary[unit]:
            quota, had = self.layout.quota, self.valid[unit]
            self.short += max(0, quota - had - valid) - max(0, quota - had)
        self.valid[unit] += valid
        self.leases[unit] += leases
        after = before + valid + leases
        if after != before and self._ordinary[unit]:
            self._take(unit, before)
            self._put(unit, after)

    def raise_quota(self, layout: Layout) -> None:
        """Open units again that have as many ratings as they were to get so far."""
        full = [unit for unit in layout.units if self.load(unit) >= len(self._levels)]
        self.layout = layout
        self._levels += [{} for _ in range(layout.levels - len(self._levels))]
        for unit in full:
            self._put(unit, self.load(unit))
        self.short = sum(max(0, layout.quota - self.valid[unit]) for unit in layout.units)

    def _grow(self, size: int) -> None:
        """Make room for units that another process has added to the study; they are only counted here."""
        more = size - len(self.valid)
        self.valid += [0] * more
        self.leases += [0] * more
        self._ordinary += bytes(more)

    def floor(self) -> int | None:
        """The lowest count of any open unit."""
        return next((level for level, groups in enumerate(self._levels) if groups), None)

    def _put(self, unit: int, level: int) -> None:
        if level >= len(self._levels):
            return
        members = self._levels[level].setdefault(self._group[unit], [])
        self._place[unit] = len(members)
        members.append(unit)
        self.open += 1

    def _take(self, unit: int, level: int) -> None:
        if level >= len(self._levels):
            return
        groups = self._levels[level]
        members = groups[self._group[unit]]
        place, last = self._place[unit], members.pop()
        if last != unit:
            members[place] = last
            self._place[last] = place
        if not members:
            del groups[self._group[unit]]
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
            and unit not in rater.tried
            and (not self.layout.cell or self.layout.cell[unit] not in rater.cells)
        )

    def _preferred(self, groups: dict[int, list[int]], rater: Rater, rng: Random) -> Iterator[int]:
        if len(groups) == 1:
            yield from groups
            return
        if self.layout.order == "latin-square" and self.layout.block:
            yield from self._by_square(groups, rater)
            return
        ours: int | None = None
        if self.layout.block:
            ours = None if rater.latest is None else self._group[rater.latest]
            if ours in groups:
                yield ours
            free = [group for group in groups if group != ours]
        else:
            free = [group for group in groups if group not in rater.cells]
        while free:
            most = max(len(groups[group]) for group in free)
            best = [group for group in free if len(groups[group]) == most]
            rng.shuffle(best)
            yield from best
            free = [group for group in free if len(groups[group]) != most]

    def _by_square(self, groups: dict[int, list[int]], rater: Rater) -> Iterator[int]:
        size = len(self._row)
        for step in range(size):
            wanted = (self._row[(len(rater.seen) + step) % size] + rater.number) % size
            if wanted in groups:
                yield wanted

    def _within(self, members: Sequence[int], rater: Rater, rng: Random) -> int | None:
        if self.layout.order == "manifest":
            return self._in_manifest_order(members, rater)
        size = len(members)
        for _ in range(_TRIES):
            unit = members[int(rng.random() * size)]
            if self.allowed(unit, rater):
                return unit
        left = [unit for unit in members if self.allowed(unit, rater)]
        return rng.choice(left) if left else None

    def _in_manifest_order(self, members: Sequence[int], rater: Rater) -> int | None:
        left = [unit for unit in members if self.allowed(unit, rater)]
        after = [unit for unit in left if rater.latest is None or unit > rater.latest]
        return min(after or left, default=None)


def williams(size: int) -> list[int]:
    """The first row of a Williams square: 0, 1, n-1, 2, n-2 …; adding 1 to every place gives the next row."""
    return [
        0 if place == 0 else (place + 1) // 2 if place % 2 else size - place // 2 for place in range(size)
    ]
