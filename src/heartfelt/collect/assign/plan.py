"""A session's plan: ordinary trials with the study's probes among them, at random places.

A session is what lies between two breaks, or all a rater does if the study has none. Every probe comes as often as its
``per_session`` says. No probe opens a session, and a repeat keeps its distance from the first presentation as far as the
session is long enough.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from random import Random
from typing import TypeAlias

from heartfelt.study.probe import AnchorProbe, AttentionProbe, Probe, RepeatProbe

Slot: TypeAlias = tuple[str, str, int]
"""A place in a plan: kind, probe, and for a repeat which of the session's ordinary trials comes again."""
ORDINARY: Slot = ("rating", "", -1)


class Plan:
    """What is left of a session's plan. Only the probes are written down: everything else is ordinary."""

    __slots__ = ("_again", "_length", "_next", "_probes")

    def __init__(self, length: int = 0, probes: Iterable[tuple[int, Slot]] = ()) -> None:
        self._length = length
        self._probes = deque(probes)
        self._next = 0
        self._again = 0

    def __len__(self) -> int:
        return self._length - self._next + self._again

    @property
    def head(self) -> Slot:
        """The next slot."""
        if not self._again and self._probes and self._probes[0][0] == self._next:
            return self._probes[0][1]
        return ORDINARY

    def take(self) -> None:
        """Go on to the slot after the next."""
        if self._again:
            self._again -= 1
            return
        if self._probes and self._probes[0][0] == self._next:
            self._probes.popleft()
        self._next += 1

    def once_more(self) -> None:
        """Put an ordinary slot in front, for a trial that was given back."""
        self._again += 1

    def clear(self) -> None:
        """Forget what is left."""
        self._length = self._next = self._again = 0
        self._probes.clear()


def session_plan(ordinary: int, probes: Sequence[Probe], rng: Random) -> list[Slot]:
    """The slots of a session with ``ordinary`` ordinary trials."""
    slots: list[Slot] = [ORDINARY] * ordinary
    if not probes_each_session(probes):
        return slots
    for probe in probes:
        if isinstance(probe, AnchorProbe | AttentionProbe):
            for _ in range(probe.per_session):
                slots.insert(rng.randint(1, len(slots)) if slots else 0, (probe.type, probe.id, -1))
    for probe in probes:
        if isinstance(probe, RepeatProbe):
            _insert_repeats(slots, probe, ordinary, rng)
    return slots


def _insert_repeats(slots: list[Slot], probe: RepeatProbe, ordinary: int, rng: Random) -> None:
    taken = {source for kind, _, source in slots if kind == "repeat"}
    for _ in range(probe.per_session):
        places = [place for place, slot in enumerate(slots) if slot[0] == "rating"]
        gap = min(probe.gap, len(slots) - 2)
        free = [
            source
            for source in range(ordinary)
            if source not in taken and places[source] + gap + 1 <= len(slots)
        ]
        if gap < 1 or not free:
            return
        source = rng.choice(free)
        taken.add(source)
        slots.insert(rng.randint(places[source] + gap + 1, len(slots)), ("repeat", probe.id, source))


def probes_each_session(probes: Sequence[Probe]) -> int:
    """How many trials of a session are probes."""
    return sum(
        probe.per_session for probe in probes if isinstance(probe, AnchorProbe | AttentionProbe | RepeatProbe)
    )
