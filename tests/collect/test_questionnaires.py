"""Questionnaires and conditions in a running collection: what is asked of whom, stored once, refused, forgotten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import (
    Answer,
    AskQuestionnaire,
    Demographics,
    Next,
    Questionnaire,
    SessionEnd,
    ShowTrial,
    Step,
)
from heartfelt.collect.messages.errors import InvalidAnswer, MissingAnswer, PageAnswered
from heartfelt.collect.options import SimulationOptions
from heartfelt.collect.simulation import simulate_collection
from heartfelt.study.scales.answer import NONE
from tests.collect.people import Person
from tests.collect.test_erasing import rows_of

Make = Callable[..., Path]
Open = Callable[..., Collection]
STUDY: dict[str, Any] = {
    "scales": {
        "nine": {"type": "points", "points": 9},
        "yes": {"type": "yes-no"},
        "words": {"type": "text"},
        "things": {"type": "tags", "tags": ["cat", "dog"]},
    },
    "demographics": [{"id": "age", "text": "Age?", "type": "number"}],
    "before": [
        {"id": "mood", "text": "Mood?", "scale": "nine", "page": "one"},
        {"id": "why", "text": "Why?", "scale": "words", "page": "one", "show_if": {"question": "mood", "below": 4}},
        {"id": "plays", "text": "Do you play?", "scale": "yes", "page": "two", "none": True},
        {
            "id": "what",
            "text": "What?",
            "scale": "words",
            "page": "three",
            "show_if": {"question": "plays", "is": "yes"},
        },
    ],
    "after": [
        {"id": "mood", "text": "Mood now?", "scale": "nine"},
        {"id": "note", "text": "Anything else?", "scale": "words", "required": False},
    ],
    "questions": [
        {"id": "people", "text": "Anybody there?", "scale": "yes", "none": True},
        {"id": "smile", "text": "Do they smile?", "scale": "nine", "show_if": {"question": "people", "is": "yes"}},
        {"id": "music", "text": "Musical?", "scale": "nine", "show_if": {"rater": "plays", "is": "yes"}},
        {"id": "old", "text": "Old?", "scale": "nine", "show_if": {"rater": "age", "above": 40}},
        {"id": "things", "text": "Things?", "scale": "things", "machine_first": True, "none": True},
        {"id": "pets", "text": "Pets?", "scale": "nine", "show_if": [{"draft": "things", "includes": "cat"}]},
    ],
    "rows": ["stimulus,things", "s0,cat;cow", "s1,dog", "s2,(none)"],
    "design": {"ratings_per_item": 3, "practice": 0, "order": "manifest"},
}


def begin(collection: Collection, plays: Any = "yes", **arrival: Any) -> Person:
    person = Person(collection, **arrival)
    person.go_on()
    send(person, {"mood": 5})
    send(person, {"plays": plays})
    if plays == "yes":
        send(person, {"what": "cello"})
    person.begin()
    return person


def at(person: Person) -> Step:
    return person.step


def send(person: Person, answers: dict[str, Any]) -> None:
    step = person.step
    assert isinstance(step, AskQuestionnaire)
    person.step = person.collection.do(Questionnaire(person.id, step.time, step.questions, answers))


@pytest.mark.slow
def test_a_questionnaire_comes_page_by_page_and_is_stored_once(make_study: Make, opened: Open) -> None:
    folder = make_study(**STUDY)
    collection = opened(folder)
    person = Person(collection, recruiter="prolific", person="p")
    person.go_on()
    assert at(person) == AskQuestionnaire("before", ("mood", "why"))
    for answers, error, problem in (
        ({}, MissingAnswer, "mood"),
        ({"mood": 2}, MissingAnswer, "why"),
        ({"mood": 5, "why": "so"}, InvalidAnswer, "'why' is not asked"),
        ({"mood": 12}, InvalidAnswer, "'12' is not on the scale"),
        ({"mood": NONE}, InvalidAnswer, "not on the scale"),
        ({"mood": 5, "plays": "yes"}, InvalidAnswer, "'plays' is not on this page"),
    ):
        with pytest.raises(error, match=problem):
            send(person, answers)
    page = at(person)
    assert isinstance(page, AskQuestionnaire)
    send(person, {"mood": 2, "why": "rain"})
    assert at(person) == AskQuestionnaire("before", ("plays",))
    again = collection.do(Questionnaire(person.id, "before", page.questions, {"mood": 2, "why": "rain"}))
    assert again == at(person), "a page sent twice is stored once"
    collection.close()
    collection = opened(folder, seed=2)
    person.collection = collection
    person.step = collection.do(Next(person.id))
    assert at(person) == AskQuestionnaire("before", ("plays",)), "after a restart it continues where it was"
    send(person, {"plays": NONE})
    person.begin()
    assert (person.trial.number, person.trial.of) == (1, 3), "nobody plays nothing"
    assert collection.raters()["step"].to_list() == ["trial"]
    while isinstance(person.step, ShowTrial):
        asked = person.step.questions
        person.answer(values=dict.fromkeys(asked, 5) | {"people": "no", "things": ["cat"]} | {"smile": None})
    assert at(person) == AskQuestionnaire("after", ("mood", "note"))
    assert collection.raters()["step"].to_list() == ["after"]
    send(person, {"mood": 7})
    end = at(person)
    assert isinstance(end, SessionEnd)
    assert end.ending == "complete"
    row = collection.snapshot().raters.row(0, named=True)
    facts = {name: row[name] for name in row if name.startswith(("before_", "after_"))}
    assert facts == {"before_mood": 2.0, "before_why": "rain", "before_plays": NONE, "after_mood": 7.0}
    assert rows_of(collection, 1)["questionnaires"] == 4
    collection.erase(rater=person.id)
    assert rows_of(collection, 1) == {"journal": 1}


@pytest.mark.slow
@pytest.mark.parametrize("plays", ["yes", "no"])
def test_conditions_are_tested_by_the_server(make_study: Make, opened: Open, plays: str) -> None:
    collection = opened(make_study(**STUDY), hidden=0.0, planted=1.0)
    person = begin(collection, plays)
    music = ("music",) if plays == "yes" else ()
    asked = {0: ("people", "smile", *music, "things", "pets"), 1: ("people", "smile", *music, "things")}
    for number in range(3):
        step = person.trial
        assert step.questions == asked.get(number, asked[1]), "drafts are tested as they are, whatever is shown"
        values = dict.fromkeys(step.questions, 5) | {"things": NONE}
        for wrong, error, problem in (
            ({"people": "no"}, InvalidAnswer, "'smile' is not asked after these answers"),
            ({"people": NONE}, InvalidAnswer, "'smile' is not asked after these answers"),
            ({"people": "yes", "smile": None}, MissingAnswer, "smile"),
            ({"people": "yes", "smile": NONE}, InvalidAnswer, "smile"),
            ({"people": "yes", "old": 3}, InvalidAnswer, "'old' is not asked in this trial"),
        ):
            with pytest.raises(error, match=problem):
                collection.do(Answer(person.id, step.trial, key=f"k{number}", values={**values, **wrong}))
        people: dict[str, Any] = {"people": "yes"} if number else {"people": NONE, "smile": None}
        person.answer(values=values | people)
    rated = collection.ratings()
    assert rated.filter(question="smile").height == 2
    none = rated.filter(question="people", stimulus="s0").row(0, named=True)
    assert (none["value"], none["answer"]) == (None, NONE)
    assert set(rated.filter(question="things")["answer"].to_list()) == {NONE}


@pytest.mark.slow
def test_simulated_raters_answer_what_they_are_shown(make_study: Make) -> None:
    outcome = simulate_collection(make_study(**STUDY), SimulationOptions(raters=4, seed=3))
    assert (outcome.ratings, outcome.left) == (9, 0)


@pytest.mark.slow
def test_an_adaptive_study_is_not_steered_by_what_is_not_always_asked(make_study: Make, opened: Open) -> None:
    design = {**STUDY["design"], "adaptive": True}
    collection = opened(make_study(**{**STUDY, "design": design}))
    assert set(collection._material.layout.spans) == {"people"}
    for _ in range(2):
        person = begin(collection, "no")
        while isinstance(person.step, ShowTrial):
            shown = dict.fromkeys(person.step.questions, 5) | {"people": "no", "smile": None, "things": "cat"}
            person.answer(values=shown)
    assert collection.coverage().complete == 6


def test_one_question_a_trial_is_not_asked_where_its_draft_says_no(make_study: Make, opened: Open) -> None:
    design = {**STUDY["design"], "questions_per_page": "one"}
    pets = {"id": "pets", "text": "Pets?", "scale": "nine", "show_if": {"draft": "things", "includes": "cat"}}
    things = STUDY["questions"][4]
    parts: dict[str, Any] = {"before": [], "after": [], "demographics": []}
    collection = opened(make_study(**{**STUDY, **parts, "design": design, "questions": [pets, things]}))
    items = collection.coverage().items.select("stimulus", "question").rows()
    assert [stimulus for stimulus, question in items if question == "pets"] == ["s0"]
    assert len(items) == 4


def test_a_page_sent_again_is_told_from_one_of_another_tab(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(**STUDY))
    person = Person(collection)
    collection.do(Demographics(person.id, {"age": 30}))
    first = collection.do(Demographics(person.id, {"age": 30}))
    assert isinstance(first, AskQuestionnaire)
    with pytest.raises(PageAnswered, match="another tab"):
        collection.do(Demographics(person.id, {"age": 31}))
    page = ("before", ["mood", "why"], {"mood": 2, "why": "  rain\x00 "})
    following = collection.do(Questionnaire(person.id, *page))
    assert collection.do(Questionnaire(person.id, *page)) == following
    for answers in ({"mood": 3, "why": "rain"}, {"mood": 9}, {"mood": "?"}):
        with pytest.raises(PageAnswered, match="another tab"):
            collection.do(Questionnaire(person.id, "before", ["mood", "why"], answers))
    assert collection.do(Next(person.id)) == following
