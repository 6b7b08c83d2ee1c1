"""The state of a collection: what all facts so far add up to. Facts go in one by one; questions come out."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random
from typing import Any, cast

from heartfelt.collect.assign.adaptive import Errors
from heartfelt.collect.assign.journal import Fact
from heartfelt.collect.assign.layout import Layout
from heartfelt.collect.assign.plan import Plan
from heartfelt.collect.assign.pool import Pool
from heartfelt.collect.assign.rater import Rater, Trial
from heartfelt.collect.commands import Ending

_ACTS = frozenset(
    {"arrived", "consented", "told", "heard", "ready", "planned", "retaken", "shown", "answered", "returned"}
    | {"renewed", "leased", "resumed"}
)
"""Facts that show the rater is there: they renew the leases."""
_COMING_AND_GOING = frozenset({"arrived", "erased", "declined"})


LISTENED = ""
"""Among the values of an answer, the seconds that were spent listening; no question has this id."""


class State:
    """Everything the next decision depends on."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.pool = Pool(layout)
        self.errors = Errors(layout.spans) if layout.adaptive else None
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
        """Who answered a trial, by trial."""
        self.settings: dict[str, Any] = {}
        self.leased = 0
        self.complete = 0
        """Valid ratings of ordinary units in all."""
        self._expiries: list[tuple[float, int]] = []
        self._apply: dict[str, Callable[[Fact], None]] = {
            name.removeprefix("_do_"): getattr(self, name) for name in dir(self) if name.startswith("_do_")
        }

    def apply(self, fact: Fact) -> None:
        """Take in the next fact."""
        self.seq = fact.seq
        if fact.rater is not None and fact.kind not in _COMING_AND_GOING:
            rater = self.raters[fact.rater]
            if fact.kind in _ACTS:
                rater.last = fact.at
                rater.until = fact.at + self.layout.lease
        act = self._apply.get(fact.kind)
        if act is not None:
            act(fact)

    def replay(self, facts: Iterable[Fact]) -> None:
        """Take in many facts, in order."""
        for fact in facts:
            self.apply(fact)

    # --- questions ----------------------------------------------------------------------------------------------------

    def pick(self, rater: Rater, rng: Random) -> int | None:
        """The unit the rater should get next. One met in practice comes only when nothing else is left."""
        unit = self._pick(rater, rng)
        if unit is None and rater.tried:
            tried, rater.tried = rater.tried, set()
            unit = self._pick(rater, rng)
            rater.tried = tried
        return unit

    def _pick(self, rater: Rater, rng: Random) -> int | None:
        unit = self.pool.pick(rater, rng)
        if unit is None and self.errors is not None and self.budget_left > 0:
            return self.errors.largest(lambda one: self.pool.allowed(one, rater))
        return unit

    @property
    def budget_left(self) -> int:
        """In an adaptive study, the ratings that are still to be spent."""
        return self.layout.quota * len(self.layout.units) - self.complete - self.leased

    @property
    def open(self) -> bool:
        """Whether any unit wants another rating."""
        return self.pool.open > 0 or (self.layout.adaptive and self.budget_left > 0)

    @property
    def unfilled(self) -> bool:
        """Whether any unit has fewer ratings than it is to get, even if somebody is at work on the rest."""
        if self.layout.adaptive:
            return self.budget_left + self.leased > 0
        return self.pool.short > 0

    def may_retake(self, trial: Trial) -> bool:
        """Whether a lapsed lease can be taken up again without a unit getting ahead of the others."""
        if trial.kind != "rating" or trial.unit is None:
            return True
        floor = self.pool.floor()
        if floor is None:
            return self.layout.adaptive and self.budget_left > 0
        return self.pool.load(trial.unit) <= floor

    def expired(self, now: float) -> list[int]:
        """Raters whose leases have run out; each is named once."""
        out: list[int] = []
        while self._expiries and self._expiries[0][0] <= now:
            _, number = heapq.heappop(self._expiries)
            rater = self.raters.get(number)
            if rater is None or not rater.live:
                continue
            if rater.until <= now:
                out.append(number)
            else:
                heapq.heappush(self._expiries, (rater.until, number))
        return out

    # --- facts --------------------------------------------------------------------------------------------------------

    def _do_arrived(self, fact: Fact) -> None:
        rater = Rater(cast(int, fact.rater), cast(str, fact.words), fact.at, fact.at + self.layout.lease)
        rater.first_seq = fact.seq
        self.last_number = max(self.last_number, rater.number)
        self.raters[rater.number] = rater
        self.by_id[rater.id] = rater

    def _do_consented(self, fact: Fact) -> None:
        self._rater(fact).agreed = fact.number == 1

    def _do_told(self, fact: Fact) -> None:
        self._rater(fact).told = True

    def _do_heard(self, fact: Fact) -> None:
        self._rater(fact).heard = True

    def _do_ready(self, fact: Fact) -> None:
        rater = self._rater(fact)
        if rater.instructed:
            rater.rested = True
        rater.instructed = True

    def _do_planned(self, fact: Fact) -> None:
        rater = self._rater(fact)
        plan = json.loads(fact.words or "")
        probes = [(place, (kind, probe, source)) for place, kind, probe, source in plan["probes"]]
        rater.plan = Plan(plan["length"], probes)
        rater.planned += plan["length"] - len(probes)
        rater.target, rater.of = plan["target"], int(fact.number or 0)
        rater.sessions += 1
        rater.rested = False
        rater.session_units = []

    def _do_leased(self, fact: Fact) -> None:
        rater = self._rater(fact)
        trial = Trial(
            cast(int, fact.trial), rater.number, fact.unit, session=rater.sessions, leased_at=fact.at
        )
        if fact.words is not None:
            for name, value in json.loads(fact.words).items():
                setattr(trial, name, value)
        self.next_trial = max(self.next_trial, trial.id + 1)
        self.trials[trial.id] = trial
        rater.queue.append(trial)
        if trial.kind == "practice":
            rater.practised += 1
            if trial.unit is not None:
                rater.tried.add(trial.unit)
            return
        rater.plan.take()
        if trial.unit is not None:
            rater.times[trial.unit] = rater.times.get(trial.unit, 0) + 1
        if trial.kind == "rating" and trial.unit is not None:
            rater.seen.add(trial.unit)
            rater.latest = trial.unit
            rater.session_units.append(trial.unit)
            if self.layout.cell:
                rater.cells.add(self.layout.cell.get(trial.unit, -1))
            self._lease(trial, 1)

    def _do_retaken(self, fact: Fact) -> None:
        trial = self.trials[cast(int, fact.trial)]
        trial.live = True
        if trial.kind == "rating":
            self._lease(trial, 1)

    def _do_shown(self, fact: Fact) -> None:
        trial = self.trials[cast(int, fact.trial)]
        rater = self._rater(fact)
        trial.position = int(fact.number or 0)
        if trial.position > 0:
            rater.positions = trial.position

    def _do_answered(self, fact: Fact) -> None:
        rater = self._rater(fact)
        trial = self.trials.pop(cast(int, fact.trial))
        self.answered[trial.id] = rater.number
        held = trial.live and trial.kind == "rating"
        if trial in rater.queue:
            rater.queue.remove(trial)
        trial.live = False
        values: dict[str, float] = json.loads(fact.words) if fact.words else {}
        listened = values.pop(LISTENED, 0.0)
        if listened:
            rater.listened_until = max(rater.listened_until, trial.leased_at) + listened
        if trial.kind == "practice":
            return
        rater.answered += 1
        if trial.kind == "rating" and not fact.number:
            rater.on_time += 1
        if trial.kind != "rating" or trial.unit is None:
            return
        rater.done.append(trial.unit)
        if self.errors is not None:
            rater.values.append((trial.unit, values))
        # A lease that becomes a rating leaves the sum, and so the unit's place in the pool, as it was.
        if held and not rater.excluded:
            self.leased -= 1
            self._valid(trial.unit, values, 1, leases=-1)
        elif held:
            self._lease(trial, -1)
        elif not rater.excluded:
            self._valid(trial.unit, values, 1)

    def _do_returned(self, fact: Fact) -> None:
        rater = self._rater(fact)
        trial = self.trials[cast(int, fact.trial)]
        self._let_go(rater, trial)
        trial.over = fact.words != "lapsed"
        if trial.kind != "rating" or trial.unit is None:
            return
        rater.plan.once_more()
        if trial.unit in rater.session_units:
            rater.session_units.remove(trial.unit)
        # A trial whose lease ran out may be on the screen of a rater who is offline: their answer is still taken.
        if not trial.shown and trial.over:
            rater.seen.discard(trial.unit)
            rater.times.pop(trial.unit, None)
            rater.cells.discard(self.layout.cell.get(trial.unit, -1))
            del self.trials[trial.id]

    def _do_passed(self, fact: Fact) -> None:
        self._rater(fact).plan.take()

    def _do_exhausted(self, fact: Fact) -> None:
        rater = self._rater(fact)
        rater.exhausted = True
        rater.plan.clear()

    def _do_lapsed(self, fact: Fact) -> None:
        self._release(self._rater(fact))

    def _do_ended(self, fact: Fact) -> None:
        rater = self._rater(fact)
        self._release(rater)
        rater.ended = cast(Ending, fact.words)

    def _do_resumed(self, fact: Fact) -> None:
        rater = self._rater(fact)
        rater.ended, rater.exhausted = None, False
        rater.sessions = rater.planned = rater.of = 0

    def _do_excluded(self, fact: Fact) -> None:
        rater = self._rater(fact)
        if rater.excluded:
            return
        self._release(rater)
        rater.excluded = True
        self._count_all(rater, -1)

    def _do_restored(self, fact: Fact) -> None:
        rater = self._rater(fact)
        if rater.excluded:
            rater.excluded = False
            self._count_all(rater, 1)

    def _do_erased(self, fact: Fact) -> None:
        self.erased += 1
        self._forget(fact)

    def _do_declined(self, fact: Fact) -> None:
        self.declined += 1
        self._forget(fact)

    def _forget(self, fact: Fact) -> None:
        """Be as if the rater had never come. Their facts are gone from the store, so they may be unknown here."""
        number = cast(int, fact.rater)
        self.last_number = max(self.last_number, number)
        self.next_trial = max(self.next_trial, (fact.trial or 0) + 1)
        rater = self.raters.get(number)
        if rater is None:
            return
        self._release(rater)
        if not rater.excluded:
            self._count_all(rater, -1)
        del self.raters[number], self.by_id[rater.id]
        self.trials = {name: trial for name, trial in self.trials.items() if trial.rater != number}
        if rater.answered or rater.practised:
            self.answered = {trial: who for trial, who in self.answered.items() if who != number}

    def _do_set(self, fact: Fact) -> None:
        self.settings.update(json.loads(fact.words or "{}"))
        wanted = self.settings.get("ratings_per_item")
        if wanted is not None and wanted > self.layout.quota:
            self.layout = replace(self.layout, quota=wanted)
            self.pool.raise_quota(self.layout)

    # --- counting -----------------------------------------------------------------------------------------------------

    def _rater(self, fact: Fact) -> Rater:
        return self.raters[cast(int, fact.rater)]

    def _lease(self, trial: Trial, change: int) -> None:
        assert trial.unit is not None
        self.leased += change
        self.pool.count(trial.unit, leases=change)
        self._weigh(trial.unit)
        if change > 0:
            rater = self.raters[trial.rater]
            if not rater.live:
                rater.live = True
                heapq.heappush(self._expiries, (rater.until, rater.number))

    def _let_go(self, rater: Rater, trial: Trial) -> None:
        """Take the trial out of the rater's hands, with its lease if that is live."""
        if trial in rater.queue:
            rater.queue.remove(trial)
            if trial.live and trial.kind == "rating":
                self._lease(trial, -1)
        trial.live = False

    def _release(self, rater: Rater) -> None:
        for trial in rater.queue:
            if trial.live and trial.kind == "rating":
                self._lease(trial, -1)
            trial.live = False
        rater.live = False

    def _valid(self, unit: int, values: dict[str, float], change: int, leases: int = 0) -> None:
        self.complete += change
        self.pool.count(unit, valid=change, leases=leases)
        if self.errors is not None:
            self.errors.add(unit, values, change)
            self._weigh(unit)

    def _count_all(self, rater: Rater, change: int) -> None:
        if self.errors is not None:
            for unit, values in rater.values:
                self._valid(unit, values, change)
        else:
            for unit in rater.done:
                self._valid(unit, {}, change)

    def _weigh(self, unit: int) -> None:
        if self.errors is not None:
            # Ties are settled by a number that looks random and is the same in every process.
            self.errors.update(
                unit, self.pool.leases[unit], (unit * 2654435761 + self.seq * 40503) % 1_000_003
            )
