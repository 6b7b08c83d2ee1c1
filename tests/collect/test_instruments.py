"""Scores of instruments in the snapshot of a running study, and what becomes of those that cannot be computed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.analysis.panel.groups import rater_grouping
from heartfelt.analysis.panel.instruments import instrument_scores
from heartfelt.analysis.text.methods_section import methods_section, references
from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import AskQuestionnaire, Questionnaire, SessionEnd, ShowTrial
from heartfelt.collect.versions import edits
from heartfelt.publishing.statements.columns import about_column
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from tests.collect.people import Person
from tests.facts import mentions

Make = Callable[..., Path]
Open = Callable[..., Collection]


def take_part(collection: Collection, answers: dict[str, float | str]) -> Person:
    person = Person(collection)
    while not isinstance(person.step, SessionEnd):
        step = person.step
        if isinstance(step, AskQuestionnaire):
            given = {name: answers[name] for name in step.questions if name in answers}
            person.step = collection.do(Questionnaire(person.id, step.time, step.questions, given))
        elif isinstance(step, ShowTrial):
            person.answer(3 + len(collection.raters()) % 5)
        else:
            person.go_on()
    return person


@pytest.mark.slow
def test_scores_are_columns_of_the_raters(make_study: Make, opened: Open) -> None:
    folder = make_study(
        stimuli=3,
        design={"ratings_per_item": 8},
        before=[{"instrument": "tipi"}],
        after=[{"instrument": "gold-msi", "subscales": ["training"], "required": False}],
    )
    collection = opened(folder)
    people = []
    for number in range(1, 8):
        answers: dict[str, float | str] = {f"tipi_{item}": number for item in range(1, 11)}
        answers |= {"tipi_6": 8 - number, "gold_msi_14": 1, "gold_msi_27": 7}
        # The ids of these categories are numbers, other ones than what they count.
        answers |= {f"gold_msi_{item}": "1" for item in (32, 33, 35, 36, 37)}
        if number == 7:
            del answers["gold_msi_32"]
        people.append(take_part(collection, answers))
    snapshot = collection.snapshot(excluded=False)
    raters = {row["rater"]: row for row in snapshot.raters.to_dicts()}
    rows = [raters[person.id] for person in people]
    assert [row["tipi_extraversion"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert [row["tipi_openness"] for row in rows] == [4] * 7
    # 7 + 1 for the reversed ones, then 2, 3, 3, 3 and 2 for the categories called "1".
    assert [row["gold_msi_training"] for row in rows] == [21] * 6 + [None]
    unscored = snapshot.ledger.filter(snapshot.ledger["what"] == "score")
    assert unscored["rater"].to_list() == [people[6].id]
    assert unscored["reason"].to_list() == ["gold_msi_training: 1 of 7 items not answered (0 allowed)"]
    grouping = rater_grouping(snapshot, "tipi_extraversion")
    assert grouping.names == ("up to 3", "over 3 to 5", "over 5")
    assert "Extraversion (Ten-Item" in about_column("raters", "tipi_extraversion", snapshot.study)
    analysis = analyze(snapshot, AnalyzeOptions(by="tipi_extraversion", policy="none"))
    scores = {score.column: score for score in analysis.summary.instruments or ()}
    assert scores["tipi_extraversion"].mean == pytest.approx(4)
    assert scores["tipi_extraversion"].alpha.value == pytest.approx(1)
    assert mentions(scores["tipi_extraversion"].omega.why_missing, "2 items", "3")
    assert scores["gold_msi_training"].missing == 1
    section = methods_section(analysis)
    assert any("filled in the Ten-Item Personality Inventory (10 items)" in part.text for part in section)
    assert any(source.startswith("Gosling") for source in references(section, snapshot.study))


@pytest.mark.slow
def test_a_release_with_scores_in_bands_is_analysed(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(stimuli=2, design={"ratings_per_item": 4}, before=[{"instrument": "tipi"}]))
    for number in range(1, 5):
        take_part(collection, {f"tipi_{item}": number for item in range(1, 11)})
    snapshot = collection.snapshot(excluded=False)
    banded = snapshot.raters.with_columns(tipi_openness=pl.lit("4 or more")).drop("before_tipi_5")
    released = Snapshot.build(
        snapshot.study, stimuli=snapshot.stimuli, ratings=snapshot.ratings, raters=banded, source=snapshot.source
    )
    scores = {score.column: score for score in instrument_scores(released)}
    assert (scores["tipi_openness"].raters, scores["tipi_openness"].mean) == (0, None)
    assert mentions(scores["tipi_openness"].alpha.why_missing, "answers", "items")
    assert scores["tipi_stability"].raters == 4


BASE = "name: x\nscales: {n: {type: yes-no}}\nquestions: [{id: v, text: V, scale: n}]\n"


@pytest.mark.parametrize(
    ("old", "new", "breaking"),
    [
        ("", "before: [{instrument: tipi}]", []),
        ("before: [{instrument: tipi}]", "", []),
        ("before: [{instrument: tipi}]", "before: [{instrument: tipi, required: false}]", []),
        ("consent: {text: A}", "consent: {text: A, boxes: [{id: a, text: B}], document: a.pdf}", []),
        ("", "debriefing: {text: A}\nbranding: {colour: '#5a2d82'}", []),
        ("", "design: {sessions: {count: 2, wait_days: 1}}", []),
        ("before: [{id: a, text: A, scale: n}]", "before: [{id: a, text: B, scale: n}]", ["before.a.text"]),
    ],
)
def test_what_may_be_edited_while_the_study_runs(old: str, new: str, breaking: list[str]) -> None:
    changes = edits(parse_study(BASE + old), parse_study(BASE + new))
    assert changes
    assert [edit.key for edit in changes if edit.breaking] == breaking
