"""Adaptive pairing: the next set is one whose two systems are worth comparing most.

What a comparison is worth is the expected gain in information about all strengths (:mod:`heartfelt.stats.comparison`).
Leases count against both systems, so that raters who come together are spread. Sets of the same two systems take turns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from random import Random

import numpy as np

from heartfelt.collect.assign.model import Layout
from heartfelt.stats.comparison.pairing import Pairing


class Pairs:
    """The open pairs of an adaptive study, by what comparing them is expected to tell."""

    def __init__(self, layout: Layout) -> None:
        self._systems = {unit: layout.contestants[unit] for unit in layout.units}
        self._size = 1 + max((max(pair) for pair in self._systems.values()), default=0)
        self._won = np.zeros((self._size, self._size))
        self._coming = np.zeros(self._size)
        self._pairing: Pairing | None = None
        self._since_fit = 0
        self._units: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for unit, (first, second) in self._systems.items():
            self._units[min(first, second), max(first, second)].append(unit)
        # Two stimuli of the same system say nothing about the systems.
        pairs = sorted(pair for pair in self._units if pair[0] != pair[1])
        self._pairs = np.array(pairs, np.int64).reshape(len(pairs), 2)

    def add(self, unit: int, value: float, sign: int) -> None:
        """Count an answer (1 if the set's first member was preferred, 0.5 for a tie), or take it back."""
        pair = self._systems.get(unit)
        if pair is None:
            return
        first, second = pair
        self._won[first, second] += sign * value
        self._won[second, first] += sign * (1.0 - value)
        self._since_fit += 1
        if self._pairing is not None and sign > 0 and first != second:
            self._pairing.add(first, second, value)
        else:
            self._pairing = None

    def lease(self, unit: int, change: int) -> None:
        """Count a comparison that is under way."""
        for system in set(self._systems.get(unit, ())):
            self._coming[system] += change

    def pick(self, allowed: Callable[[int], bool], load: Callable[[int], int], rng: Random) -> int | None:
        """An allowed set of the pair that is worth most, among those with the fewest answers."""
        if self._pairs.size:
            first, second = self._pairs.T
            gains = self._fitted().gains()[first, second]
            gains /= 1.0 + self._coming[first] + self._coming[second]
            ties = np.random.default_rng(rng.getrandbits(32)).random(gains.size)
            for place in np.lexsort((ties, -np.round(gains, 12))):
                unit = _least(self._units[int(first[place]), int(second[place])], allowed, load, rng)
                if unit is not None:
                    return unit
        return _least([u for u, pair in self._systems.items() if pair[0] == pair[1]], allowed, load, rng)

    def _fitted(self) -> Pairing:
        """Strengths that are exact as of a few answers ago."""
        if self._pairing is None:
            self._pairing = Pairing(self._size)
            self._pairing.won = self._won.copy()
            self._since_fit = self._size
        if self._since_fit >= max(1, self._size // 4):
            self._pairing.refit()
            self._since_fit = 0
        return self._pairing


def _least(
    units: list[int], allowed: Callable[[int], bool], load: Callable[[int], int], rng: Random
) -> int | None:
    free = [unit for unit in units if allowed(unit)]
    fewest = min(map(load, free), default=0)
    return rng.choice([unit for unit in free if load(unit) == fewest]) if free else None
