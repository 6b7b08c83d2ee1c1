"""Adaptive pairing: the next set is one whose two systems are worth comparing most.

What a comparison is worth, and the share of pairs that is drawn at random, is in
:mod:`heartfelt.stats.comparison.strengths.pairing`. Leases count against both systems, so that raters who come
together are spread. Sets of the same two systems take turns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from random import Random

import numpy as np

from heartfelt.collect.assign.model import AssignmentUnits
from heartfelt.stats.comparison.strengths.pairing import PairSchedule


class AdaptivePairs:
    """The open pairs of an adaptive study, by what comparing them is expected to tell."""

    def __init__(self, layout: AssignmentUnits) -> None:
        self._systems = {unit: layout.contestants[unit] for unit in layout.units}
        self._size = 1 + max((max(pair) for pair in self._systems.values()), default=0)
        self._pairing = PairSchedule(max(self._size, 2))
        self._coming = np.zeros(self._pairing.size)
        self._units: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for unit, (first, second) in self._systems.items():
            self._units[min(first, second), max(first, second)].append(unit)
        # Two stimuli of the same system say nothing about the systems.
        pairs = sorted(pair for pair in self._units if pair[0] != pair[1])
        self._pairs = np.array(pairs, np.int64).reshape(len(pairs), 2)

    def add(self, unit: int, value: float, sign: int) -> None:
        """Count an answer (1 if the set's first member was preferred, 0.5 for a tie), or take it back."""
        pair = self._systems.get(unit)
        if pair is not None and pair[0] != pair[1]:
            self._pairing.add(pair[0], pair[1], value, times=sign)

    def lease(self, unit: int, change: int) -> None:
        """Count a comparison that is under way."""
        for system in set(self._systems.get(unit, ())):
            self._coming[system] += change

    def pick(self, allowed: Callable[[int], bool], load: Callable[[int], int], rng: Random) -> int | None:
        """An allowed set of the pair that is worth most, among those with the fewest answers."""
        if self._pairs.size:
            order = self._pairing.order(self._pairs, np.random.default_rng(rng.getrandbits(32)), self._coming)
            for first, second in self._pairs[order].tolist():
                unit = _least(self._units[first, second], allowed, load, rng)
                if unit is not None:
                    return unit
        return _least([u for u, pair in self._systems.items() if pair[0] == pair[1]], allowed, load, rng)


def _least(units: list[int], allowed: Callable[[int], bool], load: Callable[[int], int], rng: Random) -> int | None:
    free = [unit for unit in units if allowed(unit)]
    fewest = min(map(load, free), default=0)
    return rng.choice([unit for unit in free if load(unit) == fewest]) if free else None
