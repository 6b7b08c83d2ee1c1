"""A state that is told events one by one."""

from __future__ import annotations

from typing import Any

from heartfelt.collect.assign import Event, State
from heartfelt.collect.assign.model import AssignmentUnits, Rater


def layout(units: int = 4, quota: int = 2, **more: Any) -> AssignmentUnits:
    return AssignmentUnits(size=units + 1, units=tuple(range(1, units + 1)), quota=quota, lease=10.0, **more)


class Journal:
    """A state that is told events one by one."""

    def __init__(self, layout: AssignmentUnits) -> None:
        self.state = State(layout)
        self.events: list[Event] = []
        self.now = 0.0

    def tell(self, kind: str, rater: int | None = None, **more: Any) -> None:
        event = Event(self.state.seq + 1, self.now, kind, rater, **more)
        self.events.append(event)
        self.state.apply(event)

    def arrive(self, number: int, length: int = 9) -> Rater:
        self.tell("arrived", number, words=f"r{number}")
        self.tell("planned", number, number=float(length), words=f'{{"target":{length},"length":{length},"probes":[]}}')
        return self.state.raters[number]

    def lease(self, rater: int, unit: int) -> int:
        trial = self.state.next_trial
        self.tell("leased", rater, trial=trial, unit=unit)
        return trial

    def replayed(self) -> State:
        again = State(self.state.layout)
        again.replay(self.events)
        return again
