"""Questionnaires between trials: when they come, that each time is stored, and that nothing is shown past them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import (
    Answer,
    AskQuestionnaire,
    Erase,
    Next,
    Questionnaire,
    SessionEnd,
    ShowTrial,
)
from heartfelt.collect.messages.errors import MissingAnswer, PageAnswered
from heartfelt.collect.options import SimulationOptions
from heartfelt.collect.simulation import simulate_collection
from heartfelt.collect.versions import edits
from heartfelt.errors import StudyError
from heartfelt.publishing.anonymity.columns.unpublished import leave_out_columns
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.options import PublishOptions
from heartfelt.snapshot.folder import load
from heartfelt.study import load_study, parse_study
from tests.collect.people import Person

Make = Callable[..., Path]
Open = Callable[..., Collection]
MOOD = {"id": "mood", "text": "Mood?", "scale": "nine"}
TIRED = {"id": "tired", "text": "Tired?", "scale": "nine", "page": "two"}


def study(make: Make, *blocks: dict[str, Any], stimuli: int = 8, **parts: Any) -> Path:
    design = {"ratings_per_item": 3, **parts.pop("design", {})}
    return make(stimuli, between=list(blocks), design=design, **parts)


def walk(person: Person) -> list[str]:
    """The steps of a whole visit; questionnaires by the time they came, trials as the number answered before each."""
    seen = []
    person.begin()
    while not isinstance(person.step, SessionEnd):
        step = person.step
        if isinstance(step, AskQuestionnaire):
            seen.append(step.time)
            answers = dict.fromkeys(step.questions, len(seen) % 9 + 1)
            person.step = person.collection.do(Questionnaire(person.id, step.time, step.questions, answers))
        elif isinstance(step, ShowTrial):
            seen.append("trial")
            person.answer()
        else:
            seen.append(type(step).__name__)
            person.go_on()
    return seen


def shortened(seen: list[str]) -> str:
    names = {"trial": ".", "TakeBreak": "B"}
    return "".join(names.get(step, f"[{step}]") for step in seen)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("when", "design", "expected"),
    [
        ({"after_trials": 3}, {}, "...[between:m@3]....."),
        ({"after_trials": [2, 5]}, {}, "..[between:m@2]...[between:m@5]..."),
        ({"every": 3}, {}, "...[between:m@3]...[between:m@6].."),
        ({"every": 4}, {}, "....[between:m@4]...."),
        ({"after_trials": 8}, {}, "........"),
        ({"at_break": True}, {"batch": 3}, "...[between:m@3]B...[between:m@6]B.."),
        ({"every": 3}, {"batch": 3}, "...[between:m@3]B...[between:m@6]B.."),
        ({"after_trials": 1}, {"practice": 2}, "...[between:m@1]......."),
    ],
)
def test_when_it_comes(
    make_study: Make, collect: Open, when: dict[str, Any], design: dict[str, Any], expected: str
) -> None:
    collection = collect(study(make_study, {"id": "m", "questions": [MOOD], **when}, design=design))
    assert shortened(walk(Person(collection))) == expected


@pytest.mark.slow
def test_each_time_is_stored_and_reaches_the_snapshot(make_study: Make, opened: Open, tmp_path: Path) -> None:
    folder = study(
        make_study,
        {"id": "m", "questions": [MOOD, TIRED], "every": 3},
        {"id": "once", "questions": [MOOD], "after_trials": 5},
    )
    collection = opened(folder)
    for _ in range(2):
        walk(Person(collection))
    snapshot = collection.snapshot()
    snapshot.write(tmp_path / "snap")
    table = load(tmp_path / "snap").questionnaires
    rows = table.filter(table["rater"] == table["rater"][0]).sort("after_trials", "question")
    assert rows.select("questionnaire", "after_trials", "question").rows() == [
        ("m", 3, "mood"), ("m", 3, "tired"), ("once", 5, "mood"), ("m", 6, "mood"), ("m", 6, "tired"),
    ]  # fmt: skip
    assert table.height == 10
    assert rows["value"].null_count() == 0
    columns = [name for name in snapshot.raters.columns if name.startswith("between")]
    assert columns == ["between_once_mood"], "what may come several times is in the table only"
    assert snapshot.raters["between_once_mood"].to_list() == rows.filter(questionnaire="once")["value"].to_list() * 2
    assert snapshot.hash == load(tmp_path / "snap").hash
    released = leave_out_columns(Draft.of(snapshot), PublishOptions())
    assert not released.tables["questionnaires"].height
    assert any(step.table == "questionnaires" for step in released.steps)


@pytest.mark.slow
def test_no_trial_beyond_it_is_sent_ahead(make_study: Make, collect: Open) -> None:
    """A page shows trials it holds without asking: those after the questionnaire must not be among them."""
    block = {"id": "m", "questions": [MOOD], "after_trials": 3}
    collection = collect(study(make_study, block, design={"practice": 1}), ahead=4)
    person = Person(collection)
    person.begin()
    ahead = []
    while isinstance(person.step, ShowTrial):
        ahead.append(len(person.step.following))
        person.answer()
    assert ahead == [3, 2, 1, 0]
    assert isinstance(person.step, AskQuestionnaire)


@pytest.mark.slow
def test_it_stays_until_it_is_answered_and_comes_once(make_study: Make, collect: Open) -> None:
    collection = collect(study(make_study, {"id": "m", "questions": [MOOD, TIRED], "every": 2}))
    person = Person(collection)
    for _ in person.rate(2):
        pass
    first = person.step
    assert first == AskQuestionnaire("between:m@2", ("mood",))
    assert collection.do(Next(person.id)) == first
    assert collection.raters()["step"].to_list() == ["between"]
    with pytest.raises(MissingAnswer, match="mood"):
        collection.do(Questionnaire(person.id, first.time, first.questions, {}))
    page = collection.do(Questionnaire(person.id, first.time, first.questions, {"mood": 4}))
    assert page == AskQuestionnaire("between:m@2", ("tired",))
    # The same page sent again, as after a lost connection, changes nothing; another tab's answers are refused.
    assert collection.do(Questionnaire(person.id, first.time, first.questions, {"mood": 4})) == page
    with pytest.raises(PageAnswered):
        collection.do(Questionnaire(person.id, first.time, first.questions, {"mood": 9}))
    step = collection.do(Questionnaire(person.id, "between:m@2", ("tired",), {"tired": 1}))
    assert isinstance(step, ShowTrial)
    assert collection.snapshot().questionnaires["value"].to_list() == [4.0, 1.0]
    collection.do(Erase(person.id))
    assert not collection.snapshot().questionnaires.height


@pytest.mark.slow
def test_an_answer_that_was_given_offline_is_stored_while_a_questionnaire_waits(
    make_study: Make, collect: Open
) -> None:
    """The page of an older version of the study may hold a trial beyond a questionnaire that came since."""
    folder = study(make_study)
    collection = collect(folder, ahead=2)
    person = Person(collection)
    person.begin()
    held = person.trial.following
    person.answer()
    collection.close()
    written = yaml.safe_load((folder / "study.yaml").read_text())
    written["between"] = [{"id": "m", "questions": [MOOD], "after_trials": 1}]
    (folder / "study.yaml").write_text(yaml.safe_dump(written))
    collection = collect(folder)
    assert isinstance(collection.do(Next(person.id)), AskQuestionnaire)
    receipt = collection.do(Answer(person.id, held[0].trial, key="offline", values={"valence": 3}))
    assert receipt.status == "stored"
    assert receipt.next_step == AskQuestionnaire("between:m@1", ("mood",))


@pytest.mark.slow
def test_conditions_test_facts_and_the_same_time(make_study: Make, collect: Open) -> None:
    why = {"id": "why", "text": "Why?", "scale": "nine", "page": "two", "show_if": {"question": "mood", "below": 4}}
    old = {"id": "old", "text": "Old?", "scale": "nine", "show_if": {"rater": "age", "above": 40}}
    block = {"id": "m", "questions": [MOOD, old, why], "every": 2}
    collection = collect(study(make_study, block, demographics=[{"id": "age", "text": "Age?", "type": "number"}]))
    person = Person(collection)
    pages = []
    person.begin()
    moods = iter([2, 8, 3])
    while not isinstance(person.step, SessionEnd):
        step = person.step
        if isinstance(step, AskQuestionnaire):
            pages.append((step.time, step.questions))
            value = 5 if step.questions == ("why",) else next(moods)
            answers = {step.questions[0]: value}
            person.step = collection.do(Questionnaire(person.id, step.time, step.questions, answers))
        else:
            person.answer()
    assert pages == [
        ("between:m@2", ("mood",)),
        ("between:m@2", ("why",)),
        ("between:m@4", ("mood",)),
        ("between:m@6", ("mood",)),
        ("between:m@6", ("why",)),
    ]


@pytest.mark.slow
def test_simulated_raters_answer_them(make_study: Make) -> None:
    block = {"id": "m", "questions": [MOOD, TIRED], "every": 2}
    outcome = simulate_collection(study(make_study, block, stimuli=6), SimulationOptions(seed=3))
    assert (outcome.lost_stimuli, outcome.min, outcome.max) == (0, 3, 3)


def test_edits(make_study: Make) -> None:
    def changed(**parts: Any) -> list[tuple[str, bool]]:
        new = load_study(study(make_study, {"id": "m", "questions": [MOOD], "every": 3, **parts}))
        return [(edit.key, edit.breaking) for edit in edits(old, new) if edit.key != "name"]

    old = load_study(study(make_study, {"id": "m", "questions": [MOOD], "every": 3}))
    assert changed() == []
    assert changed(every=4) == [("between:m.every", False)]
    assert changed(questions=[MOOD, TIRED]) == [("between:m.tired", False)]
    assert changed(questions=[MOOD | {"text": "Hungry?"}]) == [("between:m.mood.text", True)]
    assert changed(id="other") == [("between:m.mood", False), ("between:other.mood", False)]


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("{id: m, questions: [Q]}", "say when it comes"),
        ("{id: m, questions: [Q], every: 2, at_break: true}", "say when it comes"),
        ("{id: m, questions: [Q], at_break: true}", "there are no breaks"),
        ("{id: 'a@b', questions: [Q], every: 2}", "pattern"),
        ("{id: m, questions: [Q, Q], every: 2}", "two questions are called 'mood'"),
        ("{id: m, questions: [{id: q, text: Q, scale: x}], every: 2}", "no scale is called 'x'"),
        ("{id: m, questions: [{id: q, text: Q, scale: n, axis: a}], every: 2}", "about stimuli"),
        ("{id: m, questions: [{id: q, text: Q, scale: y, wish: comments}], every: 2}", "a wish is"),
        ("{id: m, questions: [{id: q, text: Q, scale: n, show_if: {question: z, is: 1}}], every: 2}", "called 'z'"),
    ],
)
def test_what_cannot_be_is_refused(block: str, problem: str) -> None:
    block = block.replace("Q", "{id: mood, text: Mood, scale: n}") if "[Q" in block else block
    text = (
        "name: s\nscales: {n: {type: points, points: 5}, y: {type: yes-no}}\n"
        f"questions: [{{id: q, text: Q, scale: n}}]\nbetween: [{block}]\n"
    )
    with pytest.raises(StudyError, match=problem):
        parse_study(text)


def test_a_study_without_them_keeps_its_hash() -> None:
    text = "name: s\nscales: {n: {type: points, points: 5}}\nquestions: [{id: q, text: Q, scale: n}]\n"
    plain = parse_study(text)
    assert plain.hash == parse_study(text + "between: []\ndesign: {always: [], playback: continue}\n").hash
    dumped = plain.model_dump(mode="json")
    assert not {"between"} & set(dumped)
    assert not {"always", "playback"} & set(dumped["design"])
