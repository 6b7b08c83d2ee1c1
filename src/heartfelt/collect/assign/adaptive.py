"""Where the next rating tells most: the standard error of each unit's label, kept up to date.

The error of a question is that of its mean, as a share of the scale's range, with the spread held towards a quarter of
the range while answers are few (two equal answers do not prove agreement); for categories that of the share of the most
frequent one. A unit's error is the largest of its questions'. Leases count as if answered, so that raters who come
together are spread.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping

_PRIOR_ANSWERS = 2.0
_PRIOR_SPREAD = 0.25


class Tally:
    """Running sums of one question's answers to one unit."""

    __slots__ = ("codes", "n", "square", "total")

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.0
        self.square = 0.0
        self.codes: dict[float, int] = {}

    def add(self, value: float, sign: int) -> None:
        """Add an answer, or take it out again with ``sign`` -1."""
        self.n += sign
        self.total += sign * value
        self.square += sign * value * value
        self.codes[value] = self.codes.get(value, 0) + sign

    def error(self, span: float, coming: int) -> float:
        """The standard error of the label once ``coming`` more answers are in."""
        n = max(1, self.n + coming)
        if span <= 0:
            share = (max(self.codes.values(), default=0) + 1.0) / (self.n + 2.0)
            return math.sqrt(share * (1.0 - share) / n)
        within = max(0.0, self.square - self.total * self.total / max(1, self.n)) / span**2
        spread = (within + _PRIOR_ANSWERS * _PRIOR_SPREAD**2) / (max(0, self.n - 1) + _PRIOR_ANSWERS)
        return math.sqrt(spread / n)


class Errors:
    """The units by standard error, largest first."""

    def __init__(self, spans: Mapping[str, float]) -> None:
        self._spans = spans
        self._tallies: dict[int, dict[str, Tally]] = {}
        self._heap: list[tuple[float, float, int]] = []
        self._now: dict[int, tuple[float, float]] = {}

    def add(self, unit: int, values: Mapping[str, float], sign: int) -> None:
        """Count a unit's answers, or take them out again."""
        tallies = self._tallies.setdefault(unit, {})
        for question, value in values.items():
            if question in self._spans:
                tallies.setdefault(question, Tally()).add(value, sign)

    def update(self, unit: int, coming: int, tie: float) -> None:
        """Put the unit in its place after a change; ``tie`` is what decides among equals."""
        errors = [
            tally.error(self._spans[question], coming)
            for question, tally in self._tallies.get(unit, {}).items()
        ]
        error = max(errors, default=math.inf)
        self._now[unit] = (-error, tie)
        heapq.heappush(self._heap, (-error, tie, unit))

    def of(self, unit: int) -> float:
        """The error of a unit's label."""
        return -self._now.get(unit, (-math.inf, 0.0))[0]

    def largest(self, allowed: Callable[[int], bool]) -> int | None:
        """The allowed unit with the largest error."""
        aside: list[tuple[float, float, int]] = []
        found: int | None = None
        while self._heap:
            entry = heapq.heappop(self._heap)
            if entry[:2] != self._now.get(entry[2]):
                continue
            aside.append(entry)
            if allowed(entry[2]):
                found = entry[2]
                break
        for entry in aside:
            heapq.heappush(self._heap, entry)
        return found
