"""The state of a collection: the sum of all events so far."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random
from typing import Any, cast

from heartfelt.collect.assign.balance import Balance
from heartfelt.collect.assign.model import Event, Layout, Plan, Rater, Trial
from heartfelt.collect.assign.pairs import Pairs
from heartfelt.collect.assign.pool import Errors, Pool
from heartfelt.collect.commands import Ending

_ACTIVITY = frozenset(
    {
        "consented",
        "told",
        "questioned",
        "heard",
        "ready",
        "planned",
        "retaken",
        "shown",
        "answered",
        "returned",
    }
    | {"renewed", "leased", "resumed", "revisited"}
)
"""Events that show the rater is there: they extend the leases."""
LISTENED = ""
"""Among the values of an answer, the seconds that were spent listening; no question has this id."""


class State:
    """Everything the next decision depends on."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.balance = Balance(layout) if layout.contestants else None
        self.pool = Pool(layout, self.balance)
        self.errors = Errors(layout.spans) if layout.adaptive and not layout.contestants else None
        self.pairs = Pairs(layout) if layout.adaptive and layout.contestants else None
        self.seq = 0
        self.next_trial = 1
        self.last_number = 0
        """The highest number any rater has had."""
        self.erased = self.declined = 0
        self.raters: dict[int, Rater] = {}
        self.by_id: dict[str, Rater] = {}
        self.trials: dict[int, Trial] = {}
        """Trials that can still be answered."""
        self.answered: dict[int, int] = {}
        """The rater who answered a trial, by trial."""
        self.settings: dict[str, Any] = {}
        self.decisions: dict[tuple[str, str], tuple[int, str]] = {}
        """Number and key of the latest decision of a senior rater, by stimulus and question."""
        self.leased = 0
        self.complete = 0
        """Valid ratings of ordinary units in all."""
        self._expiries: list[tuple[float, int]] = []
        self._on_event: dict[str, Callable[[Event, Rater], None]] = {
            "consented": lambda event, rater: setattr(rater, "consented", event.number == 1),
            "told": self._questioned,
            "questioned": self._questioned,
            "heard": lambda _, rater: setattr(rater, "headphones_done", True),
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
        """Take in the next event."""
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
        """Take in many events, in order."""
        for event in events:
            self.apply(event)

    # --- queries ------------------------------------------------------------------------------------------------------

    def pick(self, rater: Rater, rng: Random) -> int | None:
        """The unit the rater should get next. One met in practice comes only when nothing else is left."""
        unit = self._pick(rater, rng)
        if unit is None and rater.practised_units:
            practised, rater.practised_units = rater.practised_units, set()
            unit = self._pick(rater, rng)
            rater.practised_units = practised
        return unit

    def _pick(self, rater: Rater, rng: Random) -> int | None:
        unit = self.pool.pick(rater, rng)
        if unit is None and self.layout.adaptive and self.budget_left > 0:

            def allowed(candidate: int) -> bool:
                return self.pool.allowed(candidate, rater)

            if self.pairs is not None:
                return self.pairs.pick(allowed, self.pool.load, rng)
            if self.errors is not None:
                return self.errors.largest(allowed)
        return unit

    @property
    def budget_left(self) -> int:
        """In an adaptive study, the ratings that are still to be spent."""
        return self.layout.quota * len(self.layout.units) - self.complete - self.leased

    @property
    def open(self) -> bool:
        """Whether any unit needs another rating."""
        return self.pool.open > 0 or (self.layout.adaptive and self.budget_left > 0)

    @property
    def unfilled(self) -> bool:
        """Whether any unit has fewer ratings than it is to get, even if someone is working on the rest."""
        if self.layout.adaptive:
            return self.budget_left + self.leased > 0
        return self.pool.short > 0

    def may_retake(self, trial: Trial) -> bool:
        """Whether a lapsed lease can be renewed without its unit getting ahead of the others."""
        if trial.kind != "rating" or trial.unit is None:
            return True
        floor = self.pool.floor()
        if floor is None:
            return self.layout.adaptive and self.budget_left > 0
        return self.pool.load(trial.unit) <= floor

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
        rater = Rater(cast(int, event.rater), cast(str, event.words), event.at, event.at + self.layout.lease)
        rater.first_seq = event.seq
        self.last_number = max(self.last_number, rater.number)
        self.raters[rater.number] = rater
        self.by_id[rater.id] = rater

    def _questioned(self, event: Event, rater: Rater) -> None:
        rater.demographics_done = rater.demographics_done or event.kind == "told"
        page = json.loads(event.words or '{"time": "about", "questions": [], "answers": {}}')
        rater.questioned.update((page["time"], name) for name in page["questions"])
        rater.facts |= {(page["time"], name): tuple(coded) for name, coded in page["answers"].items()}

    def _ready(self, _: Event, rater: Rater) -> None:
        rater.rested = rater.rested or rater.instructed
        rater.instructed = True

    def _planned(self, event: Event, rater: Rater) -> None:
        plan = json.loads(cast(str, event.words))
        probes = [(place, (kind, probe, source)) for place, kind, probe, source in plan["probes"]]
        rater.plan = Plan(plan["length"], probes)
        rater.planned += plan["length"] - len(probes)
        rater.target, rater.of = plan["target"], int(event.number or 0)
        rater.sessions += 1
        rater.rested = False
        rater.session_units = []

    def _leased(self, event: Event, rater: Rater) -> None:
        about = json.loads(event.words) if event.words is not None else {}
        trial = Trial(
            cast(int, event.trial),
            rater.number,
            event.unit,
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
            if trial.order and self.balance is not None:
                rater.orders.setdefault(unit, []).append(trial.order)
                self.balance.count(rater.number, unit, trial.order, 1)
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
        if trial in rater.queue:
            rater.queue.remove(trial)
        values: dict[str, float] = json.loads(event.words) if event.words else {}
        listened = values.pop(LISTENED, 0.0)
        if listened:
            rater.listened_until = max(rater.listened_until, trial.leased_at) + listened
        if trial.kind == "practice":
            return
        rater.answered += 1
        if trial.kind != "rating":
            return
        if not event.number:
            rater.on_time += 1
        if trial.unit is None:
            return
        rater.rated_units.append(trial.unit)
        if self.layout.adaptive:
            rater.values.append((trial.unit, values))
        # A lease that becomes a rating leaves the sum, and so the unit's place in the pool, as it was.
        if leased and not rater.excluded:
            self.leased -= 1
            self._count_rating(trial.unit, values, 1, leases=-1)
            if self.pairs is not None:
                self.pairs.lease(trial.unit, -1)
        elif leased:
            self._count_lease(trial, -1)
        elif not rater.excluded:
            self._count_rating(trial.unit, values, 1)

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
        rater.earlier_answers, rater.earlier_sessions = (
            rater.answered,
            rater.earlier_sessions + rater.sessions,
        )
        self._resumed(event, rater)
        rater.visit = int(event.number or 1)
        rater.on_time = rater.target = 0
        rater.rested, rater.instructed = True, False
        rater.plan.clear()

    def _excluded(self, _: Event, rater: Rater) -> None:
        if not rater.excluded:
            self._release(rater)
            rater.excluded = True
            self._count_all(rater, -1)

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
        if not rater.excluded:
            self._count_all(rater, -1)
        for unit in list(rater.orders):
            self._forget_orders(rater, unit)
        del self.raters[number], self.by_id[rater.id]
        self.trials = {name: trial for name, trial in self.trials.items() if trial.rater != number}
        if rater.answered or rater.practised:
            self.answered = {trial: who for trial, who in self.answered.items() if who != number}

    def _set(self, event: Event) -> None:
        self.settings.update(json.loads(event.words or "{}"))
        wanted = self.settings.get("ratings_per_item")
        if wanted is not None and wanted > self.layout.quota:
            self.layout = replace(self.layout, quota=wanted)
            self.pool.raise_quota(self.layout)

    def _forget_orders(self, rater: Rater, unit: int) -> None:
        for order in rater.orders.pop(unit, ()):
            if self.balance is not None:
                self.balance.count(rater.number, unit, order, -1)

    # --- counting -----------------------------------------------------------------------------------------------------

    def _count_lease(self, trial: Trial, change: int) -> None:
        assert trial.unit is not None
        self.leased += change
        self.pool.count(trial.unit, leases=change)
        self._update_error(trial.unit)
        if self.pairs is not None:
            self.pairs.lease(trial.unit, change)
        rater = self.raters[trial.rater]
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

    def _count_rating(self, unit: int, values: dict[str, float], change: int, leases: int = 0) -> None:
        self.complete += change
        self.pool.count(unit, valid=change, leases=leases)
        if self.errors is not None:
            self.errors.add(unit, values, change)
            self._update_error(unit)
        elif self.pairs is not None and values:
            self.pairs.add(unit, next(iter(values.values())), change)

    def _count_all(self, rater: Rater, change: int) -> None:
        rated = rater.values if self.layout.adaptive else [(unit, {}) for unit in rater.rated_units]
        for unit, values in rated:
            self._count_rating(unit, values, change)

    def _update_error(self, unit: int) -> None:
        if self.errors is not None:
            # Ties are settled by a number that looks random and is the same in every process.
            tie = (unit * 2654435761 + self.seq * 40503) % 1_000_003
            self.errors.update(unit, self.pool.leases[unit], tie)
