"""The order in which a set is presented: drawn at random, so that every place comes equally often to everyone.

An order is drawn for every presentation. Of the orders that could be drawn, the one that does most for the balance is
taken, at random among equals: for the set over all raters, each member comes equally early and late; for the rater over
all sets, each system does. In an ABX trial both members are X equally often, and X matches both places equally often. A
set that comes again comes in another order.

The same counts choose between sets: a rater gets those whose systems they have met least, and among equals those whose
systems were compared least, which keeps the graph of comparisons connected while answers are few.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from random import Random

from heartfelt.collect.assign.model import AssignmentUnits, Rater

_ORDERS_DRAWN = 16
"""Orders that are compared where a set has too many to compare all."""
_FEW_MEMBERS = 3


class PositionBalance:
    """Where members of sets, and systems, were presented so far."""

    def __init__(self, layout: AssignmentUnits) -> None:
        self._layout = layout
        self._offsets: defaultdict[tuple[int, int], float] = defaultdict(float)
        """By set and member: the sum of the places it had, from -1 for the first to 1 for the last."""
        self._rater_offsets: defaultdict[tuple[int, int], float] = defaultdict(float)
        """The same by rater and system."""
        self._matched: defaultdict[tuple[int, int], int] = defaultdict(int)
        """How often each member of a set was X."""
        self._matched_place: defaultdict[tuple[int, int], int] = defaultdict(int)
        """How often X was the one at each place, by rater."""
        self._met: defaultdict[int, int] = defaultdict(int)
        self._rater_met: defaultdict[tuple[int, int], int] = defaultdict(int)

    def draw(self, rater: Rater, unit: int, rng: Random) -> list[int]:
        """The order for the next presentation of a set to a rater.

        Members named to the rater come first, and so does a reference that always leads.
        """
        systems = self._layout.contestants.get(unit, ())
        leading = self._layout.leading.get(unit)
        first = [member for member, system in enumerate(systems) if system < 0 or member == leading]
        members = [member for member in range(len(systems)) if member not in first]
        orders = [[*first, *order] for order in _orders(members, rng)]
        before = [list(order[: len(systems)]) for order in rater.orders.get(unit, ())]
        # A repeat in the order of the first time would test memory of places.
        orders = [order for order in orders if order not in before] or orders
        order = min(orders, key=lambda order: self._unevenness(rater.number, unit, order))
        if self._layout.matching:
            candidates = list(enumerate(order))
            rng.shuffle(candidates)
            order.append(min(candidates, key=lambda candidate: self._matches(rater.number, unit, *candidate))[1])
        return order

    def count(self, rater: int, unit: int, order: Sequence[int], sign: int) -> None:
        """Count a presentation, or take it back with ``sign`` -1."""
        systems = self._layout.contestants.get(unit, ())
        shown = order[: len(systems)]
        if sorted(shown) != list(range(len(systems))):
            return  # the set has changed since
        for member, offset in _places(systems, shown):
            self._offsets[unit, member] += sign * offset
            self._rater_offsets[rater, systems[member]] += sign * offset
            self._met[systems[member]] += sign
            self._rater_met[rater, systems[member]] += sign
        for member in order[len(systems) :] if systems else ():
            self._matched[unit, member] += sign
            self._matched_place[rater, shown.index(member)] += sign

    def familiarity(self, rater: Rater, unit: int) -> tuple[int, int]:
        """How often the rater has met the systems of a set, and how often they were presented in all."""
        systems = [system for system in self._layout.contestants.get(unit, ()) if system >= 0]
        return (
            sum(self._rater_met.get((rater.number, system), 0) for system in systems),
            sum(self._met.get(system, 0) for system in systems),
        )

    def _unevenness(self, rater: int, unit: int, order: Sequence[int]) -> float:
        systems = self._layout.contestants.get(unit, ())
        return sum(
            (self._offsets.get((unit, member), 0.0) + offset) ** 2
            + (self._rater_offsets.get((rater, systems[member]), 0.0) + offset) ** 2
            for member, offset in _places(systems, order)
        )

    def _matches(self, rater: int, unit: int, position: int, member: int) -> int:
        return self._matched.get((unit, member), 0) + self._matched_place.get((rater, position), 0)


def _orders(judged: Sequence[int], rng: Random) -> Iterator[list[int]]:
    """Orders to choose from, in random order: all of a small set, some of a large one."""
    if len(judged) <= _FEW_MEMBERS:
        orders = [list(order) for order in itertools.permutations(judged)]
        rng.shuffle(orders)
        yield from orders
        return
    for _ in range(_ORDERS_DRAWN):
        yield rng.sample(judged, len(judged))


def _places(systems: Sequence[int], order: Sequence[int]) -> Iterator[tuple[int, float]]:
    """Each judged member with its place, from -1 for the first to 1 for the last."""
    judged = [member for member in order if systems[member] >= 0]
    last = len(judged) - 1
    for position, member in enumerate(judged):
        yield member, 2.0 * position / last - 1.0 if last else 0.0
