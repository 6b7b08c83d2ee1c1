"""Several sessions of the same rater, days apart: when they open, what they present, and whom to remind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import Arrive, Leave, Next, SessionEnd, ShowInstructions, ShowTrial, Step
from heartfelt.collect.messages.errors import StartedElsewhere, StudyFull
from heartfelt.collect.options import SimulationOptions
from heartfelt.collect.simulation import simulate_collection
from heartfelt.errors import StudyError
from heartfelt.study import parse_study
from tests.collect.people import Clock, Person

Make = Callable[..., Path]
Open = Callable[..., Collection]
DAY = 86_400.0


def finish(person: Person) -> SessionEnd:
    person.begin()
    while isinstance(person.step, ShowTrial):
        person.answer()
    assert isinstance(person.step, SessionEnd)
    return person.step


def asked(person: Person) -> Step:
    person.step = person.collection.do(Next(person.id))
    return person.step


@pytest.mark.slow
@pytest.mark.parametrize("stimuli", ["new", "same"])
def test_the_next_session_opens_after_days_in_every_process(
    make_study: Make, opened: Open, clock: Clock, stimuli: str
) -> None:
    folder = make_study(
        stimuli=6,
        design={
            "ratings_per_item": 4,
            "stimuli_per_rater": 3,
            "sessions": {"count": 2, "wait_days": 7, "within_days": 14, "stimuli": stimuli},
        },
        after=[{"id": "end", "text": "Done?", "scale": "nine", "required": False}],
        recruiting={"codes": {"sessions": ["ONE"], "complete": "ALL"}, "return_url": "https://x.org/?cc={code}"},
    )
    collection = opened(folder)
    person = Person(collection, recruiter="prolific", person="p", facts={"session": "s1"})
    end = finish(person)
    assert (end.ending, end.code, end.url) == ("later", "ONE", "https://x.org/?cc=ONE")
    assert (end.opens, end.closes) == (clock.now + 7 * DAY, clock.now + 14 * DAY)
    first = list(person.shown)
    clock.now += 6 * DAY
    early = asked(person)
    assert isinstance(early, SessionEnd)
    assert early.opens_in == pytest.approx(DAY), "too early: they are told when"
    assert collection.waiting().select("session", "due", "participant").rows() == [(2, False, "p")]
    clock.now += 1.5 * DAY
    collection.close()
    collection = person.collection = opened(folder, seed=2)
    assert collection.waiting()["due"].to_list() == [True]
    back = collection.do(Arrive(recruiter="prolific", person="p", facts={"session": "s2"}))
    assert (back.rater, back.resumed) == (person.id, True)
    assert isinstance(asked(person), ShowInstructions)
    person.go_on()
    assert (person.trial.number, person.trial.of) == (1, 3)
    with pytest.raises(StartedElsewhere):
        collection.do(Arrive(recruiter="prolific", person="p", facts={"session": "s3"}))
    while isinstance(person.step, ShowTrial):
        person.answer(7)
    person.shown = person.shown[3:]
    assert collection.raters()["step"].to_list() == ["after"], "the last session ends with the questionnaire"
    ratings = collection.ratings()
    sets = [set(ratings.filter(ratings["session"] == session)["stimulus"]) for session in (1, 2)]
    if stimuli == "same":
        assert sets[0] == sets[1]
        assert ratings["kind"].to_list() == ["rating"] * 3 + ["repeat"] * 3
        assert ratings["repeat"].to_list() == [0] * 3 + [1] * 3
        assert collection.study.repeats_are_probes
    else:
        assert not sets[0] & sets[1]
        assert ratings["kind"].to_list() == ["rating"] * 6
    assert len(first) == 3
    assert collection.snapshot().ratings["batch"].to_list() == ["1"] * 3 + ["2"] * 3
    assert collection.waiting().height == 0


@pytest.mark.slow
def test_too_late_and_leaving(make_study: Make, opened: Open, clock: Clock) -> None:
    sessions = {"count": 3, "wait_days": 1, "within_days": 2}
    folder = make_study(stimuli=6, design={"ratings_per_item": 4, "stimuli_per_rater": 1, "sessions": sessions})
    collection = opened(folder)
    late, leaver = Person(collection), Person(collection)
    assert finish(late).code == f"{collection.settings.code_session}1"
    finish(leaver)
    clock.now += 1.5 * DAY
    asked(leaver)
    second = finish(leaver)
    assert second.code == f"{collection.settings.code_session}2"
    assert collection.do(Leave(leaver.id)).ending == "later", "whoever waits has nothing to leave"
    clock.now += DAY
    over = asked(late)
    assert isinstance(over, SessionEnd)
    assert over.ending == "too-late"
    assert collection.waiting()["rater"].to_list() == [leaver.id]
    asked(leaver)
    assert collection.do(Leave(leaver.id)).ending == "left"


@pytest.mark.slow
def test_raters_who_wait_count_towards_the_cap(make_study: Make, opened: Open) -> None:
    folder = make_study(
        stimuli=6,
        design={"ratings_per_item": 4, "stimuli_per_rater": 1, "sessions": {"count": 2, "wait_days": 1}},
        recruiting={"cap": 1},
    )
    collection = opened(folder)
    finish(Person(collection))
    with pytest.raises(Exception, match="all the raters it needs"):
        Person(collection)


@pytest.mark.slow
def test_what_is_left_is_promised_to_those_who_come_back(make_study: Make, opened: Open, clock: Clock) -> None:
    sessions = {"count": 2, "wait_days": 1, "within_days": 3}
    folder = make_study(stimuli=4, design={"ratings_per_item": 1, "stimuli_per_rater": 2, "sessions": sessions})
    collection = opened(folder)
    first = Person(collection)
    first.begin()
    with pytest.raises(StudyFull):
        Person(collection)
    assert finish(first).ending == "later"
    with pytest.raises(StudyFull):
        Person(collection)
    clock.now += 2 * DAY
    asked(first)
    assert finish(first).ending == "complete"
    assert collection.ratings()["stimulus"].n_unique() == 4


@pytest.mark.slow
def test_whoever_is_too_late_loses_what_was_promised(make_study: Make, opened: Open, clock: Clock) -> None:
    sessions = {"count": 2, "wait_days": 1, "within_days": 3}
    folder = make_study(stimuli=4, design={"ratings_per_item": 1, "stimuli_per_rater": 2, "sessions": sessions})
    collection = opened(folder)
    assert finish(Person(collection)).ending == "later"
    clock.now += 4 * DAY
    assert finish(Person(collection)).ending == "later", "their place is somebody else's now"


@pytest.mark.slow
def test_simulated_raters_come_back(make_study: Make) -> None:
    folder = make_study(
        stimuli=8, design={"ratings_per_item": 2, "stimuli_per_rater": 4, "sessions": {"count": 2, "wait_days": 3}}
    )
    outcome = simulate_collection(folder, SimulationOptions(seed=1))
    assert (outcome.raters, outcome.min, outcome.max) == (2, 2, 2)
    assert outcome.days > 3


@pytest.mark.parametrize(
    ("design", "problem"),
    [
        ("{sessions: {count: 2, wait_days: 2, within_days: 1}}", "within_days must be greater"),
        ("{batch: 5, sessions: {count: 2, wait_days: 2}}", "has no breaks"),
        ("{sessions: {count: 1, wait_days: 2}}", "greater than or equal to 2"),
    ],
)
def test_sessions_that_cannot_be(design: str, problem: str) -> None:
    text = f"name: x\nscales: {{n: {{type: yes-no}}}}\nquestions: [{{id: v, text: V, scale: n}}]\ndesign: {design}\n"
    with pytest.raises(StudyError, match=problem):
        parse_study(text)
