"""Leases: when they lapse, what renews them, what happens to the trial. A clock that stands still."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import Answer, Flag, Heartbeat, MediaProblem, ShowTrial
from heartfelt.collect.messages.errors import TrialClosed
from tests.cases import check_all
from tests.collect.journal import Journal, layout
from tests.collect.people import Clock, Person, loads

Make = Callable[..., Path]
Open = Callable[..., Collection]
LEASE = 180.0


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


@pytest.mark.slow
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


def test_a_returned_trial_takes_no_answer_and_its_unit_goes_to_others(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(3, design={"ratings_per_item": 1}), ahead=0)
    person = Person(collection)
    person.begin()
    first = person.trial
    person.step = collection.do(Flag(person.id, first.trial, reason="noise", skip=True))
    assert isinstance(person.step, ShowTrial)
    assert person.step.trial != first.trial
    with pytest.raises(TrialClosed):
        collection.do(Answer(person.id, first.trial, key="k", values={"valence": 5}))
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


@check_all(("kind", "unit"), [("anchor", 1), ("repeat", 1), ("practice", 1), ("attention", None)])
@check_all("end", ["answered", "returned", "lapsed"])
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
            journal.now += 2.5
            words = f'{{"q":{unit + number},"":2.5," ":1.0}}'
            journal.tell("answered", number, trial=trial, number=0.0, words=words)
    journal.tell("erased", 2, trial=9, number=3.0)
    journal.tell("set", words='{"ratings_per_item": 5, "open": true}')
    each, two = journal.state, journal.replayed()
    assert each.layout.quota == two.layout.quota == 5
    assert (each.complete, each.next_trial, each.last_number) == (3, 10, 2)
    assert (two.complete, two.next_trial, two.last_number) == (3, 10, 2)
    assert each.raters[1].listened_until == two.raters[1].listened_until == 7.5
    assert each.raters[1].impossible == two.raters[1].impossible == 3
    assert each.demands[0].errors is not None
    assert two.demands[0].errors is not None
    assert [each.demands[0].errors.of(unit) for unit in (1, 2, 3)] == [
        two.demands[0].errors.of(unit) for unit in (1, 2, 3)
    ]


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
