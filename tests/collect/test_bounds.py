"""The exact limits of assignment and sessions: leases, quotas, caps, draws, renewals, memory. A clock that stands still."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from heartfelt.collect import Collection, CollectOptions, writer
from heartfelt.collect.assign import Event, State
from heartfelt.collect.assign.model import (
    ORDINARY,
    Layout,
    Plan,
    Rater,
    Trial,
    probes_each_session,
    session_plan,
)
from heartfelt.collect.assign.pool import Errors, Pool, Tally
from heartfelt.collect.commands import (
    Answer,
    Arrive,
    Change,
    Command,
    Consent,
    Erase,
    Exclude,
    Flag,
    Heartbeat,
    Invite,
    Leave,
    MediaProblem,
    Next,
    Ready,
    Restore,
    SessionEnd,
    ShowInstructions,
    ShowTrial,
    TrialLog,
)
from heartfelt.collect.errors import StudyBusy, StudyFull, TrialClosed
from heartfelt.collect.session import listening, participants, steps, transaction
from heartfelt.collect.session.listening import played
from heartfelt.errors import InputError
from heartfelt.study.model import AnchorProbe, AttentionProbe, RepeatProbe
from tests.collect.people import Clock, Person, loads
from tests.web.studies import write_study

Make = Callable[..., Path]
Open = Callable[..., Collection]
LEASE = 180.0


@pytest.fixture
def collect(clock: Clock) -> Iterator[Open]:
    made: list[Collection] = []

    def open_(folder: Path, seed: int = 1, **options: Any) -> Collection:
        chosen = CollectOptions(seed=seed, durable=False, **options)
        made.append(Collection.open(folder, clock=clock, options=chosen))
        return made[-1]

    yield open_
    for collection in made:
        collection.close()


def layout(units: int = 4, quota: int = 2, **more: Any) -> Layout:
    return Layout(units + 1, tuple(range(1, units + 1)), quota, lease=10.0, **more)


class Journal:
    """A state that is told events one by one."""

    def __init__(self, layout: Layout) -> None:
        self.state = State(layout)
        self.events: list[Event] = []
        self.now = 0.0

    def tell(self, kind: str, rater: int | None = None, **more: Any) -> None:
        event = Event(self.state.seq + 1, self.now, kind, rater, **more)
        self.events.append(event)
        self.state.apply(event)

    def arrive(self, number: int, length: int = 9) -> Rater:
        self.tell("arrived", number, words=f"r{number}")
        self.tell(
            "planned",
            number,
            number=float(length),
            words=f'{{"target":{length},"length":{length},"probes":[]}}',
        )
        return self.state.raters[number]

    def lease(self, rater: int, unit: int) -> int:
        trial = self.state.next_trial
        self.tell("leased", rater, trial=trial, unit=unit)
        return trial

    def replayed(self) -> State:
        again = State(self.state.layout)
        again.replay(self.events)
        return again


# --- drawing a unit ---------------------------------------------------------------------------------------------------


class Loaded(Random):
    """Draws the first member every time."""

    def random(self) -> float:
        return 0.0


def test_after_twelve_draws_the_rest_is_looked_through() -> None:
    """One unit in fifty is left for this rater: draws that miss it must not end their session."""
    pool = Pool(layout(50))
    rater = Rater(1, "r1", seen=set(range(1, 50)))
    assert pool.pick(rater, Loaded(1)) == 50
    rater.seen.add(50)
    assert pool.pick(rater, Loaded(1)) is None


def test_twelve_draws_and_no_more() -> None:
    draws: list[float] = []

    class Counting(Random):
        def random(self) -> float:
            draws.append(0.0)
            return 0.0

        def getrandbits(self, _: int, /) -> int:
            return 0

    pool = Pool(layout(50))
    assert pool.pick(Rater(1, "r1", seen=set(range(1, 50))), Counting(1)) == 50
    assert len(draws) == 12
    draws.clear()
    assert pool.pick(Rater(2, "r2"), Counting(1)) == 1
    assert len(draws) == 1


def test_a_unit_with_fewer_ratings_comes_first_even_in_another_cell() -> None:
    pool = Pool(layout(4, 3, cell={1: 0, 2: 0, 3: 1, 4: 1}))
    for unit in (1, 2, 3):
        pool.count(unit, leases=1)
    assert {pool.pick(Rater(1, "r1"), Random(seed)) for seed in range(20)} == {4}
    taken = Rater(1, "r1", seen={4}, cells={1})
    assert {pool.pick(taken, Random(seed)) for seed in range(20)} == {1, 2}


def test_a_unit_met_in_practice_comes_when_nothing_else_is_left() -> None:
    journal = Journal(layout(2, 1))
    rater = journal.arrive(1)
    rater.practised_units.add(1)
    assert not journal.state.pool.allowed(1, rater)
    assert {journal.state.pick(rater, Random(seed)) for seed in range(20)} == {2}
    rater.seen.add(2)
    assert journal.state.pick(rater, Random(1)) == 1
    assert rater.practised_units == {1}
    rater.seen.add(1)
    assert journal.state.pick(rater, Random(1)) is None


def test_the_fullest_cell_goes_first() -> None:
    pool = Pool(layout(5, 2, cell={1: 0, 2: 0, 3: 0, 4: 1, 5: 2}))
    assert {pool.pick(Rater(1, "r"), Random(seed)) for seed in range(30)} == {1, 2, 3}
    assert {pool.pick(Rater(1, "r", cells={0}), Random(seed)) for seed in range(30)} == {4, 5}


def test_no_unit_of_a_cell_that_was_met_comes_even_if_nothing_else_is_left() -> None:
    pool = Pool(layout(2, 2, cell={1: 0, 2: 0}))
    assert pool.allowed(2, Rater(1, "r", seen={1}))
    met = Rater(1, "r", seen={1}, cells={0})
    assert not pool.allowed(2, met)
    assert pool.pick(met, Random(1)) is None


def test_a_full_unit_is_open_to_nobody() -> None:
    pool = Pool(layout(2, 2))
    pool.count(1, valid=1)
    pool.count(1, leases=1)
    assert (pool.open, pool.short, pool.floor(), pool.load(1)) == (1, 3, 0, 2)
    assert {pool.pick(Rater(1, "r"), Random(seed)) for seed in range(20)} == {2}
    pool.count(2, valid=3)
    assert (pool.open, pool.short, pool.floor()) == (0, 1, None)
    assert pool.pick(Rater(1, "r"), Random(1)) is None
    pool.count(2, valid=-2)
    assert (pool.open, pool.short, pool.floor()) == (1, 2, 1)


def test_a_raised_quota_opens_what_was_full() -> None:
    pool = Pool(layout(3, 1))
    pool.count(1, valid=1)
    pool.count(2, valid=2)
    pool.count(3, leases=1)
    assert (pool.open, pool.short) == (0, 1)
    pool.raise_quota(layout(3, 2))
    assert (pool.open, pool.short, pool.floor()) == (2, 3, 1)
    assert {pool.pick(Rater(1, "r"), Random(seed)) for seed in range(20)} == {1, 3}


def test_units_another_process_added_are_counted_and_not_given() -> None:
    pool = Pool(layout(1, 2))
    pool.count(9, valid=1)
    assert (pool.valid[9], pool.open, pool.short) == (1, 1, 2)
    assert pool.pick(Rater(1, "r", seen={1}), Random(1)) is None


def test_after_a_unit_another_process_added_any_block_may_come() -> None:
    pool = Pool(layout(3, 2, block={1: 0, 2: 1, 3: 1}, order="blocks"))
    assert {pool.pick(Rater(1, "r", latest=9, seen={9}), Random(seed)) for seed in range(20)} == {2, 3}


def test_manifest_order_begins_again_at_the_top() -> None:
    pool = Pool(layout(4, 2, order="manifest"))
    assert pool.pick(Rater(1, "r"), Random(1)) == 1
    assert pool.pick(Rater(1, "r", latest=2, seen={2}), Random(1)) == 3
    assert pool.pick(Rater(1, "r", latest=4, seen={4}), Random(1)) == 1


def test_a_block_is_finished_first_and_then_the_fullest() -> None:
    pool = Pool(layout(6, 2, block={1: 0, 2: 0, 3: 1, 4: 1, 5: 1, 6: 2}, order="blocks"))
    assert {pool.pick(Rater(1, "r", latest=1, seen={1}), Random(s)) for s in range(20)} == {2}
    assert {pool.pick(Rater(1, "r", latest=2, seen={1, 2}), Random(s)) for s in range(20)} == {3, 4, 5}


# --- leases -----------------------------------------------------------------------------------------------------------


def test_a_lease_lapses_at_its_limit_and_not_before() -> None:
    journal = Journal(layout())
    journal.arrive(1)
    journal.lease(1, 1)
    assert journal.state.expired(9.999) == []
    assert journal.state.expired(10.0) == [1]
    assert journal.state.expired(10.0) == [], "named once"


def test_a_sign_of_life_moves_the_limit() -> None:
    journal = Journal(layout())
    journal.arrive(1)
    journal.lease(1, 1)
    journal.now = 6.0
    journal.tell("renewed", 1)
    assert journal.state.raters[1].until == 16.0
    assert journal.state.expired(10.0) == []
    assert journal.state.expired(15.999) == []
    assert journal.state.expired(16.0) == [1]


def test_a_rater_who_lost_their_leases_and_took_new_ones_is_listed_once() -> None:
    journal = Journal(layout())
    journal.arrive(1)
    journal.lease(1, 1)
    journal.tell("lapsed", 1)
    journal.lease(1, 2)
    assert journal.state.expired(10.0) == [1]


@pytest.mark.parametrize(("number", "consented"), [(1.0, True), (0.0, False)])
def test_consent_is_as_it_was_given(number: float, consented: bool) -> None:
    journal = Journal(layout())
    rater = journal.arrive(1)
    assert rater.consented is None
    journal.tell("consented", 1, number=number)
    assert rater.consented is consented


@pytest.mark.parametrize("kind", ["lapsed", "excluded", "restored", "ended", "passed", "exhausted"])
def test_what_others_do_is_no_sign_of_life(kind: str) -> None:
    journal = Journal(layout())
    rater = journal.arrive(1)
    journal.now = 6.0
    journal.tell(kind, 1, words="left" if kind == "ended" else None)
    assert (rater.last, rater.until) == (0.0, 10.0)


def test_an_answer_in_the_last_moment_is_in_time(make_study: Make, collect: Open, clock: Clock) -> None:
    collection = collect(make_study(6), ahead=0)
    early, late = Person(collection), Person(collection)
    for person in (early, late):
        person.begin()
    clock.now += LEASE - 0.001
    assert early.answer().status == "stored"
    clock.now += 0.001
    assert late.answer().status == "late"


def test_a_lease_lasts_four_times_what_a_trial_takes_and_three_minutes_at_least(
    make_study: Make, collect: Open
) -> None:
    for expected, lease in ((5, 180.0), (45, 180.0), (46, 184.0), (100, 400.0)):
        person = Person(collect(make_study(6, design={"expected_seconds": expected})))
        person.begin()
        assert person.trial.lease_seconds == lease
    person = Person(collect(make_study(6, design={"expected_seconds": 5}), least_lease=30.0))
    person.begin()
    assert person.trial.lease_seconds == 30.0


def test_leases_are_renewed_when_a_third_has_passed(make_study: Make, collect: Open, clock: Clock) -> None:
    collection = collect(make_study(6))
    person = Person(collection)
    person.begin()
    seq = collection.change()
    clock.now += LEASE / 3
    assert collection.do(Heartbeat(person.id, person.trial.trial)) == pytest.approx(LEASE * 2 / 3)
    assert collection.change() == seq, "nothing to write yet"
    clock.now += 0.01
    assert collection.do(Heartbeat(person.id, person.trial.trial)) == pytest.approx(LEASE)
    assert collection.change() == seq + 1


def test_a_returned_trial_takes_no_answer_and_its_unit_goes_to_others(
    make_study: Make, collect: Open
) -> None:
    collection = collect(make_study(3, design={"ratings_per_item": 1}), ahead=0)
    person = Person(collection)
    person.begin()
    first = person.trial
    person.step = collection.do(Flag(person.id, first.trial, "noise", skip=True))
    assert isinstance(person.step, ShowTrial)
    assert person.step.trial != first.trial
    with pytest.raises(TrialClosed):
        collection.do(Answer(person.id, first.trial, "k", {"valence": 5}))
    assert collection.do(Heartbeat(person.id, first.trial)) == 0.0
    assert collection.ratings().height == 0
    assert sorted(loads(collection).values()) == [0, 0, 1]
    person.finish()
    assert sorted(loads(collection).values()) == [0, 1, 1], "the one given back is never shown again"
    other = Person(collection)
    other.finish()
    assert sorted(loads(collection).values()) == [1, 1, 1]


def test_a_given_back_trial_makes_room_for_another_in_the_session(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(9, design={"stimuli_per_rater": 4}), ahead=0)
    person = Person(collection)
    person.begin()
    person.step = collection.do(MediaProblem(person.id, person.trial.trial, "no sound"))
    assert person.finish().ending == "complete"
    assert len(person.shown) == 4


def test_what_was_not_shown_can_come_again_and_what_was_shown_cannot() -> None:
    journal = Journal(layout(3, 1))
    rater = journal.arrive(1)
    hidden, shown, lapsed = (journal.lease(1, unit) for unit in (1, 2, 3))
    journal.tell("shown", 1, trial=shown, number=1.0)
    journal.tell("returned", 1, trial=hidden, words="media")
    journal.tell("returned", 1, trial=shown, words="flagged")
    journal.tell("returned", 1, trial=lapsed, words="lapsed")
    assert rater.seen == {2, 3}
    assert rater.presentations == {2: 1, 3: 1}
    assert set(journal.state.trials) == {shown, lapsed}
    assert (journal.state.trials[shown].closed, journal.state.trials[lapsed].closed) == (True, False)
    assert rater.queue == []
    assert len(rater.plan) == 9, "three places were given back"
    assert journal.state.leased == 0
    assert journal.replayed().raters[1].seen == {2, 3}


def test_a_lapsed_lease_is_taken_up_again_only_while_its_unit_is_behind() -> None:
    journal = Journal(layout(2, 2))
    journal.arrive(1)
    journal.arrive(2)
    trial = journal.lease(1, 1)
    journal.now = 10.0
    state = journal.state
    assert state.expired(10.0) == [1]
    journal.tell("lapsed", 1)
    assert (state.leased, state.pool.load(1)) == (0, 0)
    assert state.may_retake(state.trials[trial])
    journal.lease(2, 1)
    assert not state.may_retake(state.trials[trial]), "unit 2 has fewer"
    journal.lease(2, 2)
    assert state.may_retake(state.trials[trial]), "level again"
    journal.tell("retaken", 1, trial=trial)
    assert (state.leased, state.pool.load(1), state.trials[trial].live) == (3, 2, True)
    assert state.expired(19.999) == []
    assert state.expired(20.0) == [1, 2]


@pytest.mark.parametrize(
    ("kind", "unit"), [("anchor", 1), ("repeat", 1), ("practice", 1), ("attention", None)]
)
@pytest.mark.parametrize("end", ["answered", "returned", "lapsed"])
def test_only_ordinary_trials_count_as_leases(kind: str, unit: int | None, end: str) -> None:
    journal = Journal(layout(2, 2))
    journal.arrive(1)
    ordinary, probe = journal.lease(1, 2), journal.state.next_trial
    journal.tell("leased", 1, trial=probe, unit=unit, words=json.dumps({"kind": kind}))
    state = journal.state
    assert (state.leased, state.pool.leases) == (1, [0, 0, 1])
    journal.tell(end, 1, trial=None if end == "lapsed" else probe, number=0.0)
    left = int(end != "lapsed")
    assert (state.leased, state.complete, state.pool.leases) == (left, 0, [0, 0, left])
    assert (state.trials[ordinary].live, state.pool.valid) == (bool(left), [0, 0, 0])


def test_nothing_is_taken_up_again_once_every_unit_is_full() -> None:
    journal = Journal(layout(1, 1))
    journal.arrive(1)
    journal.arrive(2)
    trial = journal.lease(1, 1)
    journal.tell("lapsed", 1)
    journal.lease(2, 1)
    assert not journal.state.may_retake(journal.state.trials[trial])


def test_an_answer_counts_once_and_only_if_its_rater_does() -> None:
    journal = Journal(layout(2, 2))
    rater = journal.arrive(1)
    first, second, third = journal.lease(1, 1), journal.lease(1, 2), 0
    state = journal.state
    journal.tell("answered", 1, trial=first, number=0.0)
    assert (state.complete, state.leased, state.pool.valid[1], state.pool.leases[1]) == (1, 1, 1, 0)
    assert (rater.answered, rater.on_time, rater.rated_units) == (1, 1, [1])
    journal.tell("excluded", 1)
    assert (state.complete, state.leased, state.pool.valid[1]) == (0, 0, 0)
    journal.tell("excluded", 1)
    assert state.complete == 0
    journal.tell("answered", 1, trial=second, number=1.0)
    assert (state.complete, rater.answered, rater.on_time, rater.rated_units) == (0, 2, 1, [1, 2])
    journal.tell("restored", 1)
    journal.tell("restored", 1)
    assert (state.complete, state.pool.valid[1], state.pool.valid[2]) == (2, 1, 1)
    assert third not in state.trials
    journal.tell("erased", 1, trial=second, number=2.0)
    assert (state.complete, state.erased, state.raters, state.answered) == (0, 1, {}, {})
    assert (state.last_number, state.next_trial) == (1, 3)


@pytest.mark.parametrize("kind", ["practice", "rating"])
def test_whoever_only_practised_is_forgotten_too(kind: str) -> None:
    journal = Journal(layout())
    for number in (1, 2):
        journal.arrive(number)
        trial = journal.state.next_trial
        journal.tell("leased", number, trial=trial, unit=1, words=json.dumps({"kind": kind}))
        journal.tell("answered", number, trial=trial, number=0.0)
    assert journal.state.answered == {1: 1, 2: 2}
    journal.tell("erased", 1, trial=2, number=1.0)
    assert journal.state.answered == {2: 2}


def test_replaying_the_journal_gives_the_same_state() -> None:
    journal = Journal(layout(3, 2, adaptive=True, minimum=1, spans={"q": 8.0}))
    for number in (1, 2):
        journal.arrive(number)
        for unit in (1, 2, 3):
            trial = journal.lease(number, unit)
            journal.tell("answered", number, trial=trial, number=0.0, words=f'{{"q":{unit + number},"":2.5}}')
    journal.tell("erased", 2, trial=9, number=3.0)
    journal.tell("set", words='{"ratings_per_item": 5, "open": true}')
    each, two = journal.state, journal.replayed()
    assert each.layout.quota == two.layout.quota == 5
    assert (each.complete, each.next_trial, each.last_number) == (3, 10, 2)
    assert (two.complete, two.next_trial, two.last_number) == (3, 10, 2)
    assert each.raters[1].listened_until == two.raters[1].listened_until == 7.5
    assert each.errors is not None
    assert two.errors is not None
    assert [each.errors.of(unit) for unit in (1, 2, 3)] == [two.errors.of(unit) for unit in (1, 2, 3)]


def test_somebody_resumed_begins_a_new_session() -> None:
    journal = Journal(layout(3, 2))
    rater = journal.arrive(1, length=3)
    journal.tell("exhausted", 1)
    assert (rater.exhausted, len(rater.plan), rater.of) == (True, 0, 3)
    journal.tell("ended", 1, words="full")
    assert journal.replayed().raters[1].ended == "full"
    journal.tell("resumed", 1)
    assert (rater.ended, rater.exhausted, rater.sessions, rater.planned, rater.of) == (None, False, 0, 0, 0)


def test_a_quota_is_never_lowered() -> None:
    journal = Journal(layout(2, 3))
    journal.tell("set", words='{"ratings_per_item": 2}')
    assert journal.state.layout.quota == 3
    journal.tell("set", words='{"ratings_per_item": 4}')
    assert (journal.state.layout.quota, journal.state.pool.short) == (4, 8)


# --- adaptive assignment ----------------------------------------------------------------------------------------------


def test_an_adaptive_budget_is_the_quota_times_the_units() -> None:
    journal = Journal(layout(2, 2, adaptive=True, minimum=1, spans={"q": 8.0}))
    state = journal.state
    assert (state.budget_left, state.open, state.unfilled) == (4, True, True)
    for number in (1, 2):
        journal.arrive(number)
        trials = [journal.lease(number, unit) for unit in (1, 2)]
    assert (state.budget_left, state.open, state.unfilled) == (0, False, True)
    assert state.pick(journal.arrive(3), Random(1)) is None
    assert not state.may_retake(state.trials[trials[0]])
    for number in (1, 2):
        for trial in list(state.raters[number].queue):
            journal.tell("answered", number, trial=trial.id, number=0.0, words='{"q": 4}')
    assert (state.budget_left, state.open, state.unfilled) == (0, False, False)


def test_after_the_minimum_the_largest_error_decides() -> None:
    journal = Journal(layout(2, 4, adaptive=True, minimum=2, spans={"q": 8.0}))
    for number, values in ((1, (4, 1)), (2, (4, 9))):
        journal.arrive(number)
        for unit, value in zip((1, 2), values, strict=True):
            trial = journal.lease(number, unit)
            journal.tell("answered", number, trial=trial, number=0.0, words=f'{{"q": {value}}}')
    third = journal.arrive(3)
    assert journal.state.pool.open == 0
    assert [journal.state.pick(third, Random(seed)) for seed in range(5)] == [2] * 5
    third.seen.add(2)
    assert journal.state.pick(third, Random(1)) == 1


def test_equal_errors_are_settled_by_a_number_that_looks_random() -> None:
    journal = Journal(layout(6, 4, adaptive=True, minimum=1, spans={"q": 8.0}))
    journal.arrive(1)
    for unit in range(1, 7):
        trial = journal.lease(1, unit)
        journal.tell("answered", 1, trial=trial, number=0.0, words='{"q": 4}')
    rater, order = journal.arrive(2), []
    while (unit := journal.state.pick(rater, Random(1)) or 0) > 0:
        order.append(unit)
        rater.seen.add(unit)
    ties = {unit: (unit * 2_654_435_761 + (2 + 2 * unit) * 40_503) % 1_000_003 for unit in range(1, 7)}
    assert order == sorted(ties, key=ties.__getitem__)
    assert order != sorted(order)


def test_what_is_coming_counts_as_if_it_were_there() -> None:
    errors = Errors({"q": 8.0, "c": 0.0})
    for value in (2.0, 6.0):
        errors.add(1, {"q": value, "other": 9.0}, 1)
    errors.add(2, {"c": 1.0}, 1)
    errors.update(1, 0, 0.0)
    errors.update(2, 0, 0.0)
    alone = Tally()
    for value in (2.0, 6.0):
        alone.add(value, 1)
    assert errors.of(1) == alone.error(8.0, 0)
    assert errors.of(2) == pytest.approx((2 / 3 * 1 / 3) ** 0.5)
    assert errors.largest(lambda _: True) == 2
    errors.update(2, 9, 0.0)
    assert errors.largest(lambda _: True) == 1
    assert errors.largest(lambda unit: unit == 2) == 2
    assert errors.largest(lambda _: False) is None
    assert errors.of(3) == float("inf")


# --- sessions ---------------------------------------------------------------------------------------------------------


def test_a_repeat_needs_a_gap_and_a_source() -> None:
    probe = RepeatProbe(type="repeat", id="r", per_session=1, gap=4)
    assert [slot[0] for slot in session_plan(2, [probe], Random(1))] == ["rating"] * 2
    for seed in range(30):
        slots = session_plan(3, [probe], Random(seed))
        assert [slot[0] for slot in slots].count("repeat") == 1
        for place, (kind, _, source) in enumerate(slots):
            assert kind == "rating" or place - source >= 2
    three = RepeatProbe(type="repeat", id="r", per_session=3, gap=1)
    sources = [slot[2] for slot in session_plan(9, [three], Random(3)) if slot[0] == "repeat"]
    assert len(set(sources)) == 3


def test_two_kinds_of_repeats_never_repeat_the_same_trial() -> None:
    probes = [RepeatProbe(type="repeat", id=name, per_session=1, gap=1) for name in ("a", "b")]
    for seed in range(20):
        slots = session_plan(3, probes, Random(seed))
        sources = [source for kind, _, source in slots if kind == "repeat"]
        assert len(sources) == len(set(sources)) == 2


def test_no_probe_opens_a_session() -> None:
    probe = AttentionProbe(type="attention", id="t", text="t", question="q", answer=1, per_session=2)
    plans = [session_plan(2, [probe], Random(seed)) for seed in range(60)]
    assert {slots[0][0] for slots in plans} == {"rating"}
    assert {slots[-1][0] for slots in plans} == {"rating", "attention"}
    assert [slot[0] for slot in session_plan(0, [probe], Random(1))] == ["attention", "attention"]


def test_the_cap_with_raters_who_are_through(make_study: Make, collect: Open, clock: Clock) -> None:
    collection = collect(make_study(4, design={"ratings_per_item": 9, "stimuli_per_rater": 2}))
    collection.do(Change({"cap": 2}))
    first = Person(collection)
    first.finish()
    second = Person(collection)
    second.begin()
    with pytest.raises(StudyBusy) as busy:
        collection.do(Arrive())
    assert (busy.value.end.ending, busy.value.end.retry_seconds) == ("wait", 20.0)
    second.finish()
    with pytest.raises(StudyFull) as full:
        collection.do(Arrive())
    assert (full.value.end.ending, full.value.end.retry_seconds) == ("full", None)
    collection.do(Exclude(second.id, "noise"))
    third = Person(collection)
    third.finish()
    collection.do(Restore(second.id))
    with pytest.raises(StudyFull):
        collection.do(Arrive())
    collection.do(Change({"cap": 4}))
    assert isinstance(Person(collection).begin(), ShowTrial)


def test_half_an_hour_without_a_sign_frees_a_place(make_study: Make, collect: Open, clock: Clock) -> None:
    collection = collect(make_study(4, design={"ratings_per_item": 9}))
    collection.do(Change({"cap": 1}))
    Person(collection).begin()
    clock.now += 1799.9
    with pytest.raises(StudyBusy):
        collection.do(Arrive())
    clock.now += 0.1
    Person(collection).begin()
    with pytest.raises(StudyBusy):
        collection.do(Arrive())


def test_a_long_lease_is_waited_for(make_study: Make, collect: Open, clock: Clock) -> None:
    collection = collect(make_study(4, design={"ratings_per_item": 9, "expected_seconds": 600}))
    collection.do(Change({"cap": 1}))
    Person(collection).begin()
    clock.now += 2399.0
    with pytest.raises(StudyBusy):
        collection.do(Arrive())
    clock.now += 1.0
    collection.do(Arrive())


def test_somebody_who_left_or_only_looked_holds_no_place(make_study: Make, collect: Open) -> None:
    consent = {"text": "Agree?"}
    collection = collect(make_study(4, design={"ratings_per_item": 9}, consent=consent))
    collection.do(Change({"cap": 1}))
    looking = [Person(collection) for _ in range(3)]
    collection.do(Consent(looking[0].id, True))
    with pytest.raises(StudyBusy):
        collection.do(Arrive())
    collection.do(Leave(looking[0].id))
    Person(collection)


def test_a_cap_of_none_is_no_cap_and_of_zero_lets_nobody_in(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(4, design={"ratings_per_item": 9}))
    collection.do(Change({"cap": 0}))
    with pytest.raises(StudyFull):
        collection.do(Arrive())
    collection.do(Change({"cap": None}))
    Person(collection)


@pytest.mark.parametrize(("others", "ending"), [(3, "partial"), (2, "complete")])
def test_half_of_the_trials_earn_the_code_when_nothing_is_left(
    make_study: Make, collect: Open, others: int, ending: str
) -> None:
    """Four trials are asked for; of four stimuli, others take two or three."""
    collection = collect(make_study(4, design={"ratings_per_item": 1, "stimuli_per_rater": 4}), ahead=0)
    person = Person(collection)
    person.begin()
    for _ in range(others):
        other = Person(collection)
        other.begin()
        other.answer(wants_next=False)
        collection.do(Leave(other.id))
    assert person.finish().ending == ending
    assert len(person.shown) == 4 - others


def test_only_answers_in_time_earn_the_code(make_study: Make, collect: Open, clock: Clock) -> None:
    collection = collect(make_study(2, design={"ratings_per_item": 1}), ahead=0)
    slow = Person(collection)
    slow.begin()
    clock.now += LEASE
    assert Person(collection).finish().ending == "complete"
    receipt = slow.answer()
    assert receipt.status == "late"
    assert isinstance(receipt.next_step, SessionEnd)
    assert receipt.next_step.ending == "partial"


def test_ahead_is_how_many_trials_are_held_beyond_the_first(make_study: Make, collect: Open) -> None:
    for ahead in (0, 1, 3):
        collection = collect(make_study(6), ahead=ahead)
        person = Person(collection)
        person.begin()
        assert len(person.trial.following) == ahead
        assert sum(loads(collection).values()) == 1 + ahead
    assert CollectOptions().ahead == 2
    assert CollectOptions().least_lease == 180.0
    assert (CollectOptions().hidden, CollectOptions().planted) == (0.1, 0.05)


@pytest.mark.parametrize(
    "wrong",
    [
        {"hidden": -0.01},
        {"hidden": 1.01},
        {"planted": -0.01},
        {"planted": 1.01},
        {"hidden": 0.6, "planted": 0.41},
        {"ahead": -1},
        {"least_lease": 0.0},
    ],
)
def test_options_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        CollectOptions(**wrong)
    CollectOptions(hidden=0.6, planted=0.4, ahead=0, least_lease=0.1)
    CollectOptions(hidden=0.0, planted=1.0)


@pytest.mark.parametrize(("count", "works"), [(0, False), (1, True), (10_000, True), (10_001, False)])
def test_how_many_invitations_at_a_time(make_study: Make, collect: Open, count: int, works: bool) -> None:
    collection = collect(make_study(2))
    if works:
        made = collection.do(Invite(count))
        assert len(set(made)) == count
        assert collection.invitations().height == count
    else:
        with pytest.raises(InputError, match="1 to 10,000"):
            collection.do(Invite(count))


def test_those_who_declined_are_remembered_for_a_while(
    make_study: Make, collect: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(participants, "_REMEMBERED", 2)
    collection = collect(make_study(2, consent={"text": "Agree?"}))
    gone = [collection.do(Arrive()).rater for _ in range(3)]
    for rater in gone:
        assert collection.do(Consent(rater, False)) == collection.do(Next(rater))
    assert isinstance(collection.do(Next(gone[1])), SessionEnd)
    assert isinstance(collection.do(Next(gone[2])), SessionEnd)
    with pytest.raises(Exception, match="does not know"):
        collection.do(Next(gone[0]))
    assert collection.raters().height == 0


def test_ready_before_the_instructions_is_asked_again(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(2))
    rater = collection.do(Arrive()).rater
    assert isinstance(collection.do(Next(rater)), ShowInstructions)
    assert isinstance(collection.do(Ready(rater)), ShowTrial)


def test_constants() -> None:
    assert (steps.RETRY_SECONDS, steps._AWAY_SECONDS, steps._RENEW_BELOW) == (20.0, 1800.0, 2 / 3)
    assert (listening.HEARD_ENOUGH, listening._SLACK_SECONDS, listening._SLACK_SHARE) == (0.95, 0.5, 0.05)
    assert (participants._REMEMBERED, transaction._LONGEST, writer.MOST_AT_ONCE) == (10_000, 20_000, 256)


# --- listening --------------------------------------------------------------------------------------------------------


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """A study of clips that last ten seconds and are to be heard to the end."""
    import numpy as np
    import soundfile

    home = write_study(tmp_path / "clips", each=1)
    for path in (home / "media").iterdir():
        soundfile.write(path, np.zeros(10 * 800), 800)
    text = (home / "study.yaml").read_text(encoding="utf-8").replace("listening: free", "listening: full")
    (home / "study.yaml").write_text(text, encoding="utf-8")
    return home


def test_more_than_the_time_allows_is_impossible_and_what_fits_is_not(
    clips: Path, collect: Open, clock: Clock
) -> None:
    """A 10 s clip: 10 s may be claimed once 10 - 0.5 - 0.05 * 10 = 9.0 s have passed."""
    collection = collect(clips, ahead=0)
    person = Person(collection)
    person.begin()
    flags = []
    for passed in (8.99, 9.01):
        clock.now += passed
        person.answer(log=TrialLog(intervals=((0.0, 10.0),), plays=1))
        flags.append(collection.ratings().filter(question="valence").row(-1, named=True))
    assert [row["heard_flag"] for row in flags] == ["impossible", None]
    assert [row["heard"] for row in flags] == [0.999, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "flag"), [(0.0, "incomplete"), (0.9499, "incomplete"), (0.95, None), (1.0, None)]
)
def test_how_much_is_enough(clips: Path, collect: Open, clock: Clock, share: float, flag: str | None) -> None:
    collection = collect(clips, ahead=0)
    person = Person(collection)
    person.begin()
    clock.now += 60
    person.answer(log=TrialLog(intervals=((0.0, 10.0 * share),), plays=1))
    row = collection.ratings().filter(question="valence").row(-1, named=True)
    assert (row["heard"], row["heard_flag"]) == (pytest.approx(share), flag)


def test_what_is_played_twice_is_heard_once() -> None:
    assert played(((0.0, 4.0), (2.0, 6.0), (9.0, 20.0), (5.0, 5.0), (8.0, 7.0)), 10.0) == (8.0, 10.0)
    assert played(((float("nan"), 1.0), (-3.0, 1.0)), 10.0) == (1.0, 1.0)
    assert played((), 10.0) == (0.0, 0.0)


# --- the writer -------------------------------------------------------------------------------------------------------


def test_what_waits_together_is_committed_together(
    make_study: Make, collect: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that queues up behind one transaction goes into the next, up to a limit."""
    monkeypatch.setattr(writer, "MOST_AT_ONCE", 4)
    collection = collect(make_study(4, design={"ratings_per_item": 99}))
    sizes: list[int] = []
    entered, go = threading.Event(), threading.Event()
    original = collection._writer._transaction

    def slow(jobs: list[writer.Job]) -> None:
        sizes.append(len(jobs))
        entered.set()
        assert go.wait(10)
        original(jobs)

    monkeypatch.setattr(collection._writer, "_transaction", slow)
    people = [threading.Thread(target=collection.do, args=(Arrive(),)) for _ in range(8)]
    people[0].start()
    assert entered.wait(10)
    for person in people[1:]:
        person.start()
    while collection._writer._waiting.qsize() < 7:
        pass
    go.set()
    for person in people:
        person.join()
    assert sizes == [1, 4, 3]
    assert collection.raters().height == 8


def test_a_command_that_fails_half_way_leaves_nothing(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(4))
    person = Person(collection)
    person.begin()
    seq, held = collection.change(), loads(collection)
    with pytest.raises(InputError):
        person.answer(value=99)
    assert (collection.change(), loads(collection)) == (seq, held)
    assert person.answer().status == "stored"


def test_erasing_reopens_every_place_and_forgets_the_person(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(3, design={"ratings_per_item": 1}), ahead=0)
    person = Person(collection, recruiter="prolific", person="p1")
    person.finish()
    with pytest.raises(StudyFull):
        collection.do(Arrive())
    done = collection.do(Erase(participant="p1"))
    assert (done.rater, done.trials) == (person.id, 3)
    assert sorted(loads(collection).values()) == [0, 0, 0]
    assert collection.ratings().height == collection.raters().height == collection.participants().height == 0
    again = Person(collection, recruiter="prolific", person="p1")
    assert again.id != person.id
    assert again.finish().ending == "complete"


def test_an_erased_person_may_come_again_in_the_same_transaction(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(3))
    first = Person(collection, recruiter="prolific", person="p1")
    commands: list[Command[Any]] = [Erase(participant="p1"), Arrive("prolific", "p1")]
    jobs = [writer.Job(command, None, None) for command in commands]
    collection._writer._transaction(jobs)
    assert [job.error for job in jobs] == [None, None]
    assert jobs[1].result.rater != first.id
    assert collection.raters()["rater"].to_list() == [jobs[1].result.rater]


# --- rare paths of the state ------------------------------------------------------------------------------------------


def test_a_plan_gives_its_probes_at_their_places_and_ordinary_slots_elsewhere() -> None:
    probe = ("anchor", "known", -1)
    plan = Plan(3, [(1, probe)])
    heads = []
    while plan:
        heads.append(plan.head)
        plan.advance()
    assert heads == [ORDINARY, probe, ORDINARY]
    plan = Plan(2, [(0, probe)])
    plan.repeat_ordinary()
    assert (len(plan), plan.head) == (3, ORDINARY), "what was given back comes before the probe"
    plan.advance()
    assert (len(plan), plan.head) == (2, probe)


def test_a_repeat_may_be_the_last_trial() -> None:
    """Of three trials with one between a presentation and its repeat, the first or the second can come again."""
    probe = RepeatProbe(type="repeat", id="again", per_session=1, gap=1)
    plans = [session_plan(3, [probe], Random(seed)) for seed in range(40)]
    assert {slot[2] for plan in plans for slot in plan if slot[0] == "repeat"} == {0, 1}
    assert all(plan[0] == ORDINARY and len(plan) == 4 for plan in plans)


def test_probes_are_counted_by_how_often_they_come() -> None:
    repeat = RepeatProbe(type="repeat", id="again", per_session=2)
    anchor = AnchorProbe(type="anchor", id="known", stimuli=["a"], question="q", per_session=3, at_least=1)
    assert probes_each_session([repeat, anchor]) == 5
    assert probes_each_session([]) == 0


def test_an_ordinary_trial_is_no_repeat() -> None:
    journal = Journal(layout())
    journal.arrive(1)
    trial = journal.state.trials[journal.lease(1, 1)]
    assert (trial.kind, trial.repeat, trial.session, trial.position, trial.shown) == (
        "rating",
        0,
        1,
        0,
        False,
    )
    assert Trial(1, 1, 1).session == 0


@pytest.mark.parametrize("fact", ["demographics_done", "headphones_done", "instructed"])
def test_any_page_passed_is_more_than_opening_the_link(fact: str) -> None:
    assert not Rater(1, "r").engaged
    assert Rater(1, "r", consented=False).engaged
    rater = Rater(1, "r")
    setattr(rater, fact, True)
    assert rater.engaged


def test_counts_grow_to_the_unit_that_was_added() -> None:
    pool = Pool(layout(1, 2))
    pool.count(9, leases=1)
    assert (len(pool.valid), len(pool.leases), pool.leases[9]) == (10, 10, 1)


def test_the_error_of_categories_follows_the_most_frequent_one() -> None:
    tally = Tally()
    for code in (1.0, 1.0, 1.0, 2.0, 3.0):
        tally.add(code, 1)
    share = 4 / 7
    assert tally.error(0.0, 0) == pytest.approx(math.sqrt(share * (1 - share) / 5))
    assert tally.error(0.0, 2) == pytest.approx(math.sqrt(share * (1 - share) / 7))


def test_a_rater_without_leases_does_not_expire() -> None:
    journal = Journal(layout())
    journal.arrive(1)
    journal.lease(1, 1)
    journal.tell("ended", 1, words="left")
    assert journal.state.expired(10.0) == []


def test_an_answer_after_the_lease_takes_no_lease_away() -> None:
    journal = Journal(layout(2, 2))
    journal.arrive(1)
    trial = journal.lease(1, 1)
    journal.tell("lapsed", 1)
    state = journal.state
    journal.tell("answered", 1, trial=trial, number=1.0)
    assert (state.leased, state.complete, state.pool.valid[1], state.pool.leases[1]) == (0, 1, 1, 0)
    assert state.raters[1].on_time == 0
