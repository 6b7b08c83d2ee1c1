"""The state alone, held to what a plain recount says, over any run of events (Hypothesis)."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from heartfelt.collect.assign import Event, State
from heartfelt.collect.assign.model import AssignmentUnits, SessionPlan, probes_each_session, session_plan
from heartfelt.collect.assign.pool import AnswerSums, Errors
from heartfelt.study.model import AnchorProbe, AttentionProbe, Probe, RepeatProbe

UNITS = 7
QUOTA = 3
CELLS = {unit: unit % 4 for unit in range(1, UNITS + 1)}


class Assigning(RuleBasedStateMachine):
    """Raters come, take, answer, give back, lapse, come back, are left out and taken in again, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.layout = AssignmentUnits(
            size=UNITS + 1, units=tuple(range(1, UNITS + 1)), quota=QUOTA, cell=CELLS, lease=10.0
        )
        self.state = State(self.layout)
        self.events: list[Event] = []
        self.now = 0.0
        self.rng = Random(1)

    def tell(self, kind: str, **more: object) -> None:
        event = Event(self.state.seq + 1, self.now, kind, **more)  # type: ignore[arg-type]  # fields of a event by name
        self.state.apply(event)
        self.events.append(event)

    @rule()
    def arrive(self) -> None:
        number = len(self.state.raters) + 1
        self.tell("arrived", rater=number, words=f"r{number}")
        self.tell("planned", rater=number, number=9.0, words='{"target":9,"length":9,"probes":[]}')

    @precondition(lambda self: self.state.raters)
    @rule(data=st.data())
    def take(self, data: st.DataObject) -> None:
        rater = self.state.raters[data.draw(st.sampled_from(sorted(self.state.raters)))]
        if len(rater.queue) >= 3 or not rater.plan or rater.excluded or rater.ended:
            return
        unit = self.state.pick(rater, self.rng)
        allowed = [each for each in self.layout.units if self.state.pool.allowed(each, rater)]
        wanting = [each for each in allowed if self.state.pool.load(each) < QUOTA]
        if unit is None:
            assert not wanting
            return
        assert self.state.pool.load(unit) == min(self.state.pool.load(each) for each in wanting)
        self.tell("leased", rater=rater.number, trial=self.state.next_trial, unit=unit)

    @precondition(lambda self: any(rater.queue for rater in self.state.raters.values()))
    @rule(data=st.data(), how=st.sampled_from(["answer", "answer", "answer", "give back", "show"]))
    def act(self, data: st.DataObject, how: str) -> None:
        busy = [rater.number for rater in self.state.raters.values() if rater.queue]
        rater = self.state.raters[data.draw(st.sampled_from(busy))]
        trial = rater.queue[0]
        if not trial.shown:
            self.tell("shown", rater=rater.number, trial=trial.id, number=float(rater.positions + 1))
        if how == "answer":
            self.tell("answered", rater=rater.number, trial=trial.id, unit=trial.unit, number=float(not trial.live))
        elif how == "give back":
            self.tell("returned", rater=rater.number, trial=trial.id, words="flagged")

    @rule(seconds=st.sampled_from([1.0, 4.0, 11.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        for number in self.state.expired(self.now):
            self.tell("lapsed", rater=number)

    @precondition(lambda self: self.state.raters)
    @rule(data=st.data(), kind=st.sampled_from(["excluded", "restored", "renewed", "left", "back"]))
    def change(self, data: st.DataObject, kind: str) -> None:
        rater = self.state.raters[data.draw(st.sampled_from(sorted(self.state.raters)))]
        if kind == "left":
            if not rater.ended:
                self.tell("ended", rater=rater.number, words="left")
        elif kind == "back":
            for trial in list(rater.queue):
                if trial.live or rater.excluded or rater.ended:
                    continue
                if self.state.may_retake(trial):
                    self.tell("retaken", rater=rater.number, trial=trial.id)
                else:
                    self.tell("returned", rater=rater.number, trial=trial.id, words="lapsed")
        else:
            self.tell(kind, rater=rater.number)

    @invariant()
    def counts_are_what_a_recount_says(self) -> None:
        valid: Counter[int] = Counter()
        leases: Counter[int] = Counter()
        for rater in self.state.raters.values():
            if not rater.excluded:
                valid.update(rater.rated_units)
            leases.update(trial.unit for trial in rater.queue if trial.live and trial.unit is not None)
            assert len(rater.rated_units) == len(set(rater.rated_units)), "a unit twice for one rater"
            met = [CELLS[unit] for unit in rater.seen]
            assert len(met) == len(set(met)), "a cell twice for one rater"
        for unit in self.layout.units:
            assert self.state.pool.valid[unit] == valid[unit]
            assert self.state.pool.leases[unit] == leases[unit]
        assert self.state.leased == sum(leases.values())
        assert self.state.complete == sum(valid.values())
        loads = [self.state.pool.load(unit) for unit in self.layout.units]
        assert self.state.pool.open == sum(1 for load in loads if load < QUOTA)
        floor = self.state.pool.floor()
        assert floor == min((load for load in loads if load < QUOTA), default=None)

    @invariant()
    def no_live_lease_is_out_of_time(self) -> None:
        for rater in self.state.raters.values():
            held = any(trial.live for trial in rater.queue)
            assert not held or rater.live

    def teardown(self) -> None:
        """A second state made from the events alone is the same."""
        again = State(self.layout)
        again.replay(self.events)
        assert again.pool.valid == self.state.pool.valid
        assert again.pool.leases == self.state.pool.leases
        assert again.seq == self.state.seq
        for number, rater in self.state.raters.items():
            other = again.raters[number]
            assert [trial.id for trial in other.queue] == [trial.id for trial in rater.queue]
            assert (other.seen, other.cells, other.rated_units) == (rater.seen, rater.cells, rater.rated_units)
            assert (len(other.plan), other.positions, other.until) == (len(rater.plan), rater.positions, rater.until)


TestAssigning = Assigning.TestCase
TestAssigning.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)

PROBES: list[Probe] = [
    AnchorProbe(type="anchor", id="a", stimuli=["x"], question="q", at_least=1, per_session=2),
    AttentionProbe(type="attention", id="t", text="t", question="q", answer=1),
    RepeatProbe(type="repeat", id="r", per_session=2, gap=4),
]


@pytest.mark.parametrize("ordinary", [1, 2, 3, 8, 30])
def test_plans(ordinary: int) -> None:
    for seed in range(40):
        slots = session_plan(ordinary, PROBES, Random(seed))
        kinds = Counter(kind for kind, _, _ in slots)
        assert (kinds["rating"], kinds["anchor"], kinds["attention"]) == (ordinary, 2, 1)
        assert slots[0][0] == "rating"
        places = [place for place, slot in enumerate(slots) if slot[0] == "rating"]
        repeats = [(place, source) for place, (kind, _, source) in enumerate(slots) if kind == "repeat"]
        assert len({source for _, source in repeats}) == len(repeats)
        for place, source in repeats:
            assert place > places[source], "a repeat comes after what it repeats"
        if ordinary == 30:
            assert len(slots) == 30 + probes_each_session(PROBES)
            assert all(place - places[source] > 4 for place, source in repeats)


def test_a_plan_is_taken_slot_by_slot() -> None:
    plan = SessionPlan(3, [(1, ("anchor", "a", -1))])
    taken = []
    plan.repeat_ordinary()
    while plan:
        taken.append(plan.head[0])
        plan.advance()
    assert taken == ["rating", "rating", "anchor", "rating"]


def test_errors_shrink_with_answers_and_grow_with_spread() -> None:
    """SOURCE: by hand. Spread held towards a quarter of the range with the weight of two answers."""
    tally = AnswerSums()
    for value in (1.0, 9.0):
        tally.add(value, 1)
    spread = (32 / 64 + 2 * 0.25**2) / (1 + 2)
    assert tally.error(8.0, 0) == pytest.approx(math.sqrt(spread / 2))
    assert tally.error(8.0, 2) == pytest.approx(math.sqrt(spread / 4))
    tally.add(9.0, -1)
    assert tally.error(8.0, 0) == pytest.approx(math.sqrt(2 * 0.25**2 / 2 / 1))
    nominal = AnswerSums()
    for value in (0.0, 0.0, 1.0):
        nominal.add(value, 1)
    assert nominal.error(0.0, 0) == pytest.approx(math.sqrt(0.6 * 0.4 / 3))


def test_the_largest_error_comes_first() -> None:
    errors = Errors({"q": 8.0})
    for unit, values in {1: (5, 5), 2: (1, 9), 3: (4, 6)}.items():
        for value in values:
            errors.add(unit, {"q": float(value)}, 1)
        errors.update(unit, 0, unit)
    assert errors.largest(lambda _: True) == 2
    assert errors.largest(lambda unit: unit != 2) == 3
    assert errors.largest(lambda _: True) == 2, "looking changes nothing"
    errors.update(2, 8, 9)
    assert errors.largest(lambda _: True) == 3
    assert errors.largest(lambda unit: unit > 5) is None
    assert errors.of(7) == math.inf
