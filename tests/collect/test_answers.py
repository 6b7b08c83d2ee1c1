"""Answers: stored once, on their scale, by the right rater, in time or flagged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import (
    Answer,
    Exclude,
    Flag,
    Heartbeat,
    MediaProblem,
    Next,
    Restore,
    SessionEnd,
    ShowTrial,
    TrialLog,
)
from heartfelt.collect.messages.errors import InvalidAnswer, MissingAnswer, TrialClosed, TrialNotFound
from tests.collect.people import Clock, Person, loads

Make = Callable[..., Path]
Open = Callable[..., Collection]

TWO = [
    {"id": "valence", "text": "How pleasant?", "scale": "nine"},
    {"id": "arousal", "text": "How arousing?", "scale": "ten"},
]


def test_point_ten_is_ten(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(1, questions=TWO))
    person = Person(collection)
    person.begin()
    assert person.answer(values={"valence": 9, "arousal": "10"}).status == "stored"
    values = dict(collection.ratings().select("question", "value").iter_rows())
    assert values == {"valence": 9.0, "arousal": 10.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "error", "says"),
    [
        ({"valence": 0, "arousal": 5}, InvalidAnswer, "valence.*'0'.*\n.*1 to 9"),
        ({"valence": 5, "arousal": 11}, InvalidAnswer, "arousal.*\n.*1 to 10"),
        ({"valence": 5.5, "arousal": 5}, InvalidAnswer, "valence"),
        ({"valence": True, "arousal": 5}, InvalidAnswer, "valence"),
        ({"valence": {"a": 1}, "arousal": 5}, InvalidAnswer, "valence"),
        ({"valence": "5\x00", "arousal": 5}, InvalidAnswer, "valence"),
        ({"valence": 5}, MissingAnswer, "arousal"),
        ({"valence": 5, "arousal": None}, MissingAnswer, "arousal"),
        ({}, MissingAnswer, "valence, arousal"),
        ({"valence": 5, "arousal": 5, "dominance": 5}, InvalidAnswer, "dominance"),
    ],
)
def test_answers_off_the_scale_are_refused_by_name(
    make_study: Make, opened: Open, values: dict[str, Any], error: type[Exception], says: str
) -> None:
    collection = opened(make_study(2, questions=TWO))
    person = Person(collection)
    person.begin()
    with pytest.raises(error, match=says):
        person.answer(values=values)
    assert collection.ratings().height == 0
    assert person.answer().status == "stored"


@pytest.mark.slow
def test_sent_twice_is_stored_once(make_study: Make, opened: Open) -> None:
    folder = make_study(3)
    collection = opened(folder)
    person = Person(collection)
    person.begin()
    trial = person.trial
    first = Answer(person.id, trial.trial, key="k1", values={"valence": 7})
    assert collection.do(first).status == "stored"
    again = collection.do(first)
    assert (again.status, again.trial) == ("already", trial.trial)
    assert again.next_step == collection.do(Next(person.id))
    other = collection.do(Answer(person.id, trial.trial, key="k2", values={"valence": 2}))
    assert other.status == "already"
    collection.close()
    collection = opened(folder)
    assert collection.do(first).status == "already"
    assert collection.ratings()["value"].to_list() == [7.0]
    assert collection.coverage().complete == 1


def test_another_raters_trial_is_refused(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(4))
    each, two = Person(collection), Person(collection)
    each.begin()
    two.begin()
    for command in (
        Answer(two.id, each.trial.trial, key="k", values={"valence": 5}),
        Heartbeat(two.id, each.trial.trial),
        Flag(two.id, each.trial.trial, reason="noise"),
        MediaProblem(two.id, each.trial.trial, "404"),
    ):
        with pytest.raises(TrialNotFound):
            collection.do(command)
    each.answer()
    with pytest.raises(TrialNotFound):
        collection.do(Answer(two.id, each.shown[0].trial, key="k", values={"valence": 5}))
    assert collection.flags().height == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "0", "-1", "99999999", "1e3", "٣", "9" * 400, "a\x00b"])
def test_trials_that_are_none(make_study: Make, opened: Open, name: str) -> None:
    collection = opened(make_study(2))
    person = Person(collection)
    person.begin()
    with pytest.raises(TrialNotFound):
        collection.do(Answer(person.id, name, key="k", values={"valence": 5}))


def test_out_of_order_is_refused(make_study: Make, opened: Open) -> None:
    """Trials ahead are held for the rater, but not shown: nobody can answer what they have not heard."""
    collection = opened(make_study(6))
    person = Person(collection)
    person.begin()
    ahead = str(int(person.trial.trial) + 1)
    with pytest.raises(TrialNotFound):
        collection.do(Answer(person.id, ahead, key="k", values={"valence": 5}))


def test_asking_again_gives_the_same_trial(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(6))
    person = Person(collection)
    person.begin()
    change = collection.change()
    assert collection.do(Next(person.id)) == person.trial
    assert collection.change() == change, "a reload in time stores nothing"


@pytest.mark.slow
def test_a_late_answer_is_kept_and_flagged(make_study: Make, opened: Open, clock: Clock) -> None:
    collection = opened(make_study(3))
    person = Person(collection)
    person.begin()
    clock.now += 181
    assert collection.coverage().leased == 0, "an abandoned lease blocks nothing"
    receipt = person.answer(8)
    assert receipt.status == "late"
    row = collection.ratings().row(0, named=True)
    assert (row["value"], row["late"], row["counts"]) == (8.0, True, True)
    assert collection.coverage().complete == 1


@pytest.mark.slow
def test_a_late_answer_to_a_full_item_is_kept_and_does_not_count(make_study: Make, opened: Open, clock: Clock) -> None:
    collection = opened(make_study(1, design={"ratings_per_item": 1}))
    slow = Person(collection)
    slow.begin()
    clock.now += 181
    assert Person(collection).finish().ending == "complete"
    assert slow.answer(2).status == "late"
    counted = collection.ratings().filter("counts")
    assert (counted.height, counted["late"].to_list()) == (1, [False])
    coverage = collection.coverage()
    assert (coverage.complete, coverage.extra) == (1, 1)
    assert collection.snapshot().survey.ratings == 2


def test_a_heartbeat_keeps_the_lease(make_study: Make, opened: Open, clock: Clock) -> None:
    collection = opened(make_study(3, design={"expected_seconds": 60}))
    person = Person(collection)
    person.begin()
    assert person.trial.lease_seconds == 240
    for _ in range(5):
        clock.now += 200
        assert collection.do(Heartbeat(person.id, person.trial.trial)) == 240
    assert collection.coverage().leased == 3
    assert person.answer().status == "stored"
    assert collection.do(Heartbeat(person.id, person.shown[0].trial)) == 0


def test_a_heartbeat_often_costs_nothing(make_study: Make, opened: Open, clock: Clock) -> None:
    collection = opened(make_study(3))
    person = Person(collection)
    person.begin()
    change = collection.change()
    clock.now += 10
    assert collection.do(Heartbeat(person.id, person.trial.trial)) == 170
    assert collection.change() == change


@pytest.mark.slow
def test_coming_back_after_the_lease(make_study: Make, opened: Open, clock: Clock) -> None:
    """The trial is taken up again while nobody else has it; once somebody has, another one comes."""
    collection = opened(make_study(2, design={"ratings_per_item": 1}))
    person = Person(collection)
    person.begin()
    waiting = person.trial
    clock.now += 1000
    step = collection.do(Next(person.id))
    assert isinstance(step, ShowTrial)
    assert step.trial == waiting.trial
    assert collection.coverage().leased == 2
    clock.now += 1000
    assert Person(collection).finish().ending == "complete"
    assert isinstance(collection.do(Next(person.id)), SessionEnd)
    assert max(loads(collection).values()) == 1


def test_everything_about_an_answer_is_kept(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(2))
    person = Person(collection)
    person.begin()
    heard = TrialLog(
        seconds=3.25,
        first_play=0.5,
        plays=2,
        intervals=((0.0, 4.0), (1.0, 4.0)),
        focus_losses=1,
        changes=((1.5, "valence", "4"), (2.0, "valence", "5")),
        device="phone",
        began=1_800_000_000.25,
    )
    person.answer(5, log=heard, comment="a door slams")
    row = collection.trials(person.id).filter(status="answered").row(0, named=True)
    assert row["intervals"] == "[[0.0,4.0],[1.0,4.0]]"
    assert row["changes"] == '[[1.5,"valence","4"],[2.0,"valence","5"]]'
    assert (row["seconds"], row["first_play"], row["plays"], row["focus_losses"]) == (3.25, 0.5, 2, 1)
    assert (row["device"], row["comment"], row["position"]) == ("phone", "a door slams", 1)
    rating = collection.ratings().row(0, named=True)
    assert rating["study_version"] == collection.study.hash


@pytest.mark.slow
@pytest.mark.parametrize(
    "heard",
    [
        TrialLog(seconds=float("nan"), first_play=float("inf"), plays=10**30, focus_losses=-4),
        TrialLog(device="\x00\ud800", changes=((float("nan"), "q", "v"),), intervals=((0.0, float("inf")),)),
        TrialLog(changes=tuple((0.0, "q", "v" * 100) for _ in range(10_000))),
    ],
)
def test_nonsense_beside_an_answer_does_not_lose_the_answer(make_study: Make, opened: Open, heard: TrialLog) -> None:
    collection = opened(make_study(2))
    person = Person(collection)
    person.begin()
    assert person.answer(3, log=heard, comment="\x00\ud800" + "x" * 100_000).status == "stored"
    assert collection.ratings()["value"].to_list() == [3.0]


@pytest.mark.slow
def test_excluding_reopens_and_restoring_closes(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(3, design={"ratings_per_item": 1}))
    person = Person(collection)
    person.begin()
    person.answer()
    assert collection.do(Exclude(person.id, "random answers")) == 3
    assert loads(collection) == {"s0": 0, "s1": 0, "s2": 0}
    assert collection.do(Exclude(person.id, "again")) == 0
    assert isinstance(collection.do(Next(person.id)), SessionEnd)
    row = collection.raters().row(0, named=True)
    assert (row["state"], row["reason"]) == ("excluded", "random answers")
    assert collection.do(Restore(person.id)) == 1
    assert collection.coverage().complete == 1
    step = collection.do(Next(person.id))
    assert isinstance(step, ShowTrial), "a rater who was taken back in can go on"


def test_excluding_after_the_study_is_full_lets_others_in(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(2, design={"ratings_per_item": 1}))
    careless = Person(collection)
    careless.finish()
    collection.do(Exclude(careless.id, "straight line"))
    assert Person(collection).finish().ending == "complete"
    assert collection.do(Restore(careless.id)) == 2
    coverage = collection.coverage()
    assert (coverage.complete, coverage.extra, dict(coverage.histogram)) == (2, 2, {1: 2})


def test_an_excluded_raters_last_answer_is_kept(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(3))
    person = Person(collection)
    person.begin()
    collection.do(Exclude(person.id, "x"))
    receipt = person.answer(4)
    assert receipt.status == "late"
    assert collection.ratings()["value"].to_list() == [4.0]
    assert collection.coverage().complete == 0
    collection.do(Restore(person.id))
    assert collection.coverage().complete == 1


@pytest.mark.slow
def test_flagging_keeps_the_trial_or_skips_it(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(4, design={"ratings_per_item": 1}))
    person = Person(collection)
    person.begin()
    first = person.trial
    assert collection.do(Flag(person.id, first.trial, reason="distorted", comment="clicks")) == first
    step = collection.do(Flag(person.id, first.trial, reason="silent", skip=True))
    assert isinstance(step, ShowTrial)
    assert step.trial != first.trial
    with pytest.raises(TrialClosed):
        collection.do(Answer(person.id, first.trial, key="k", values={"valence": 5}))
    frame = collection.flags()
    assert frame["reason"].to_list() == ["distorted", "silent"]
    assert frame["skipped"].to_list() == [False, True]
    person.step = step
    person.finish()
    assert sorted(loads(collection).values()) == [0, 1, 1, 1], "the slot is open for somebody else"


def test_media_that_will_not_play_go_to_somebody_else(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(3, design={"ratings_per_item": 1}))
    person = Person(collection)
    person.begin()
    first = person.trial
    person.step = collection.do(MediaProblem(person.id, first.trial, "decode error"))
    assert person.finish().ending == "complete"
    problem = collection.problems().row(0, named=True)
    assert (problem["rater"], problem["problem"]) == (person.id, "decode error")
    assert loads(collection)[problem["stimulus"]] == 0
    assert Person(collection).finish().ending == "complete"
    assert loads(collection)[problem["stimulus"]] == 1


def test_an_answer_can_be_sent_without_going_on(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(3))
    person = Person(collection)
    person.begin()
    receipt = person.answer(wants_next=False)
    assert receipt.next_step is None
    assert collection.trials(person.id)["status"].to_list().count("shown") == 0
