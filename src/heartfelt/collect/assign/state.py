"""The state of a collection: the sum of all events so far."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random
from typing import Any, cast

from heartfelt.collect.assign.demand import Demand
from heartfelt.collect.assign.model import (
    IMPOSSIBLE,
    LISTENED,
    AssignmentUnits,
    Event,
    Rater,
    ReservedTrial,
    SessionPlan,
)
from heartfelt.collect.assign.pool import OpenUnits
from heartfelt.collect.messages.commands import Ending

_ACTIVITY = frozenset(
    {"consented", "told", "questioned", "heard", "ready", "planned", "retaken", "shown", "answered", "returned"}
    | {"renewed", "leased", "resumed", "assigned", "revisited"}
)
"""Events that show the rater is there: they extend the leases."""


class State:
    """Everything the next decision depends on."""

    def __init__(self, layout: AssignmentUnits) -> None:
        self.layout = layout
        nobody = replace(layout, units=(), arms={})
        self.arms = {name: Demand(part) for name, part in layout.arms.items()}
        """What each arm wants; empty for a study without arms."""
        self._whole = Demand(nobody if layout.arms else layout)
        """What a study without arms wants; in one with arms, the counts of raters who are in none."""
        self.seq = 0
        self.next_trial = 1
        self.last_number = 0
        """The highest number any rater has had."""
        self.erased = self.declined = 0
        self.raters: dict[int, Rater] = {}
        self.by_id: dict[str, Rater] = {}
        self.trials: dict[int, ReservedTrial] = {}
        """Trials that can still be answered."""
        self.answered: dict[int, int] = {}
        """The rater who answered a trial, by trial."""
        self.settings: dict[str, Any] = {}
        self.decisions: dict[tuple[str, str], tuple[int, str]] = {}
        """Number and key of the latest decision of a senior rater, by stimulus and question."""
        self._expiries: list[tuple[float, int]] = []
        self._on_event: dict[str, Callable[[Event, Rater], None]] = {
            "consented": lambda event, rater: setattr(rater, "consented", event.number == 1),
            "told": self._questioned,
            "questioned": self._questioned,
            "heard": lambda _, rater: setattr(rater, "headphones_done", True),
            "assigned": self._assigned,
            "failed": self._failed,
            "screened": self._screened,
            "ready": self._ready,
            "planned": self._planned,
            "leased": self._leased,
            "retaken": self._retaken,
            "shown": self._shown,
            "answered": self._answered,
            "returned": self._returned,
            "passed": lambda _, rater: rater.plan.advance(),
            "exhausted": self._exhausted,
            "lapsed": lambda _, rater: self._release(rater),
            "ended": self._ended,
            "resumed": self._resumed,
            "revisited": self._revisited,
            "excluded": self._excluded,
            "restored": self._restored,
        }

    def apply(self, event: Event) -> None:
        self.seq = event.seq
        kind = event.kind
        if kind == "set":
            self._set(event)
        elif kind == "arrived":
            self._arrived(event)
        elif kind in {"erased", "declined"}:
            self._removed(event)
        elif kind == "adjudicated":
            stimulus, question, key = json.loads(cast(str, event.words))
            self.decisions[stimulus, question] = (event.seq, key)
        elif event.rater is not None:
            rater = self.raters[event.rater]
            if kind in _ACTIVITY:
                rater.last = event.at
                rater.until = event.at + self.layout.lease
            handler = self._on_event.get(kind)
            if handler is not None:
                handler(event, rater)

    def replay(self, events: Iterable[Event]) -> None:
        for event in events:
            self.apply(event)

    # --- queries ------------------------------------------------------------------------------------------------------

    def demand(self, rater: Rater) -> Demand:
        """What the rater's arm wants, or the study if it has no arms."""
        return self.arms.get(rater.arm, self._whole)

    @property
    def demands(self) -> tuple[Demand, ...]:
        """What every arm wants, or the study if it has no arms."""
        return tuple(self.arms.values()) or (self._whole,)

    @property
    def pool(self) -> OpenUnits:
        """The counts by unit of a study without arms."""
        return self._whole.pool

    @property
    def leased(self) -> int:
        """Leases in all."""
        return sum(demand.leased for demand in self.demands)

    @property
    def complete(self) -> int:
        """Valid ratings of ordinary units in all."""
        return sum(demand.complete for demand in self.demands)

    @property
    def budget_left(self) -> int:
        return sum(demand.budget_left for demand in self.demands)

    @property
    def open(self) -> bool:
        return any(demand.open for demand in self.demands)

    @property
    def unfilled(self) -> bool:
        return any(demand.unfilled for demand in self.demands)

    def pick(self, rater: Rater, rng: Random) -> int | None:
        return self.demand(rater).pick(rater, rng)

    def may_retake(self, trial: ReservedTrial) -> bool:
        if trial.kind != "rating" or trial.unit is None:
            return True
        return self.demand(self.raters[trial.rater]).may_retake(trial.unit)

    def expired(self, now: float) -> list[int]:
        """Raters whose leases have expired; each is listed once."""
        out: list[int] = []
        while self._expiries and self._expiries[0][0] <= now:
            _, number = heapq.heappop(self._expiries)
            rater = self.raters.get(number)
            if rater is None or not rater.live or number in out:
                continue
            if rater.until <= now:
                out.append(number)
            else:
                heapq.heappush(self._expiries, (rater.until, number))
        return out

    # --- events -------------------------------------------------------------------------------------------------------

    def _arrived(self, event: Event) -> None:
        rater = Rater(
            number=cast(int, event.rater), id=cast(str, event.words), last=event.at, until=event.at + self.layout.lease
        )
        rater.first_seq = event.seq
        self.last_number = max(self.last_number, rater.number)
        self.raters[rater.number] = rater
        self.by_id[rater.id] = rater

    def _questioned(self, event: Event, rater: Rater) -> None:
        rater.demographics_done = rater.demographics_done or event.kind == "told"
        page = json.loads(event.words or '{"time": "about", "questions": [], "answers": {}}')
        rater.questioned.update((page["time"], name) for name in page["questions"])
        rater.facts |= {(page["time"], name): tuple(coded) for name, coded in page["answers"].items()}

    def _assigned(self, event: Event, rater: Rater) -> None:
        self._release(rater)
        self._count_all(rater, -1)
        rater.arm = cast(str, event.words)
        self._count_all(rater, 1)

    def _failed(self, event: Event, rater: Rater) -> None:
        probe = cast(str, event.words)
        rater.failures[probe] = rater.failures.get(probe, 0) + 1

    def _screened(self, event: Event, rater: Rater) -> None:
        """Take back what the rater's ratings counted; their leases go with the end that follows."""
        self._count_all(rater, -1)
        rater.screener = event.words

    def _ready(self, _: Event, rater: Rater) -> None:
        rater.rested = rater.rested or rater.instructed
        rater.instructed = True

    def _planned(self, event: Event, rater: Rater) -> None:
        plan = json.loads(cast(str, event.words))
        probes = [(position, (kind, probe, source)) for position, kind, probe, source in plan["probes"]]
        rater.plan = SessionPlan(plan["length"], probes)
        rater.planned += plan["length"] - len(probes)
        rater.target, rater.of = plan["target"], int(event.number or 0)
        rater.sessions += 1
        rater.rested = False
        rater.session_units = []

    def _leased(self, event: Event, rater: Rater) -> None:
        about = json.loads(event.words) if event.words is not None else {}
        trial = ReservedTrial(
            id=cast(int, event.trial),
            rater=rater.number,
            unit=event.unit,
            session=rater.earlier_sessions + rater.sessions,
            leased_at=event.at,
            **about,
        )
        self.next_trial = max(self.next_trial, trial.id + 1)
        self.trials[trial.id] = trial
        rater.queue.append(trial)
        unit = trial.unit
        if trial.kind == "practice":
            rater.practised += 1
            if unit is not None:
                rater.practised_units.add(unit)
            return
        rater.plan.advance()
        if unit is not None:
            rater.presentations[unit] = rater.presentations.get(unit, 0) + 1
            balance = self.demand(rater).balance
            if trial.order and balance is not None:
                rater.orders.setdefault(unit, []).append(trial.order)
                balance.count(rater.number, unit, trial.order, 1)
        if trial.kind == "rating" and unit is not None:
            rater.seen.add(unit)
            rater.latest = unit
            rater.session_units.append(unit)
            if self.layout.cell:
                rater.cells.add(self.layout.cell.get(unit, -1))
            self._count_lease(trial, 1)

    def _retaken(self, event: Event, _: Rater) -> None:
        trial = self.trials[cast(int, event.trial)]
        trial.live = True
        if trial.kind == "rating":
            self._count_lease(trial, 1)

    def _shown(self, event: Event, rater: Rater) -> None:
        trial = self.trials[cast(int, event.trial)]
        trial.position = int(event.number or 0)
        if trial.position > 0:
            rater.positions = trial.position

    def _answered(self, event: Event, rater: Rater) -> None:
        trial = self.trials.pop(cast(int, event.trial))
        self.answered[trial.id] = rater.number
        leased, trial.live = trial.live, False
        # An answer may come after its lease lapsed, when the trial is in no queue any more.
        if trial in rater.queue:
            rater.queue.remove(trial)
        values: dict[str, float] = json.loads(event.words) if event.words else {}
        listened, impossible = values.pop(LISTENED, 0.0), values.pop(IMPOSSIBLE, 0.0)
        if listened:
            # Not beyond the answer itself: a server's clock may have been set back since the trial was reserved.
            rater.listened_until = min(event.at, max(rater.listened_until, trial.leased_at) + listened)
        if trial.kind == "practice":
            return
        rater.answered += 1
        rater.impossible += bool(impossible)
        if trial.kind != "rating":
            return
        if not event.number:
            rater.on_time += 1
        if trial.unit is None:
            return
        rater.rated_units.append(trial.unit)
        if self.layout.adaptive:
            rater.values.append((trial.unit, values))
        if leased and rater.counts:
            self.demand(rater).count_leased_rating(trial.unit, values, self.seq)
        elif leased:
            self._count_lease(trial, -1)
        elif rater.counts:
            self.demand(rater).count_rating(trial.unit, values, 1, self.seq)

    def _returned(self, event: Event, rater: Rater) -> None:
        trial = self.trials[cast(int, event.trial)]
        if trial in rater.queue:
            rater.queue.remove(trial)
            if trial.live and trial.kind == "rating":
                self._count_lease(trial, -1)
        trial.live = False
        trial.closed = event.words != "lapsed"
        if trial.kind != "rating" or trial.unit is None:
            return
        rater.plan.repeat_ordinary()
        if trial.unit in rater.session_units:
            rater.session_units.remove(trial.unit)
        # A trial whose lease expired may be on the screen of a rater who is offline: their answer is still accepted.
        if not trial.shown and trial.closed:
            rater.seen.discard(trial.unit)
            rater.presentations.pop(trial.unit, None)
            self._forget_orders(rater, trial.unit)
            rater.cells.discard(self.layout.cell.get(trial.unit, -1))
            del self.trials[trial.id]

    def _exhausted(self, _: Event, rater: Rater) -> None:
        rater.exhausted = True
        rater.plan.clear()

    def _ended(self, event: Event, rater: Rater) -> None:
        self._release(rater)
        rater.ended, rater.ended_at = cast(Ending, event.words), event.at

    def _resumed(self, _: Event, rater: Rater) -> None:
        rater.ended, rater.exhausted = None, False
        rater.sessions = rater.planned = rater.of = 0

    def _revisited(self, event: Event, rater: Rater) -> None:
        rater.earlier_answers, rater.earlier_sessions = (rater.answered, rater.earlier_sessions + rater.sessions)
        self._resumed(event, rater)
        rater.visit = int(event.number or 1)
        rater.on_time = rater.target = 0
        rater.rested, rater.instructed = True, False
        rater.plan.clear()

    def _excluded(self, _: Event, rater: Rater) -> None:
        if not rater.excluded:
            self._release(rater)
            self._count_all(rater, -1)
            rater.excluded = True

    def _restored(self, _: Event, rater: Rater) -> None:
        if rater.excluded:
            rater.excluded = False
            self._count_all(rater, 1)

    def _removed(self, event: Event) -> None:
        """Be as if the rater had never come. Their events are gone from the store, so they may be unknown here."""
        number = cast(int, event.rater)
        self.erased += event.kind == "erased"
        self.declined += event.kind == "declined"
        self.last_number = max(self.last_number, number)
        self.next_trial = max(self.next_trial, (event.trial or 0) + 1)
        rater = self.raters.get(number)
        if rater is None:
            return
        self._release(rater)
        self._count_all(rater, -1)
        for unit in list(rater.orders):
            self._forget_orders(rater, unit)
        del self.raters[number], self.by_id[rater.id]
        self.trials = {name: trial for name, trial in self.trials.items() if trial.rater != number}
        if rater.answered or rater.practised:
            self.answered = {trial: rater for trial, rater in self.answered.items() if rater != number}

    def _set(self, event: Event) -> None:
        self.settings.update(json.loads(event.words or "{}"))
        wanted = self.settings.get("ratings_per_item")
        if wanted is not None and wanted > self.layout.quota:
            self.layout = self.layout.with_quota(wanted)
            for demand in self.demands:
                demand.raise_quota(wanted)

    def _forget_orders(self, rater: Rater, unit: int) -> None:
        balance = self.demand(rater).balance
        for order in rater.orders.pop(unit, ()):
            if balance is not None:
                balance.count(rater.number, unit, order, -1)

    # --- counting -----------------------------------------------------------------------------------------------------

    def _count_lease(self, trial: ReservedTrial, change: int) -> None:
        assert trial.unit is not None
        rater = self.raters[trial.rater]
        self.demand(rater).count_lease(trial.unit, change, self.seq)
        if change > 0 and not rater.live:
            rater.live = True
            heapq.heappush(self._expiries, (rater.until, rater.number))

    def _release(self, rater: Rater) -> None:
        """Release every lease of a rater."""
        for trial in rater.queue:
            if trial.live and trial.kind == "rating":
                self._count_lease(trial, -1)
            trial.live = False
        rater.live = False

    def _count_all(self, rater: Rater, change: int) -> None:
        """Count every rating of a rater, or take them back; those of somebody who does not count are left."""
        if not rater.counts:
            return
        rated = rater.values if self.layout.adaptive else [(unit, {}) for unit in rater.rated_units]
        demand = self.demand(rater)
        for unit, values in rated:
            demand.count_rating(unit, values, change, self.seq)
