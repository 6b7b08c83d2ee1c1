"""Screeners: any answer can screen out, with a code and words of its own, and nobody screened out takes a place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import (
    Arrive,
    AskQuestionnaire,
    ChangeSettings,
    Demographics,
    Exclude,
    Headphones,
    Next,
    Questionnaire,
    Ready,
    Restore,
    SessionEnd,
    ShowInstructions,
    ShowTrial,
)
from heartfelt.collect.messages.errors import StudyFull
from heartfelt.errors import HeartfeltError, InputError
from tests.collect.people import Clock, Person

Make = Callable[..., Path]
Open = Callable[..., Collection]
SCALES = {
    "nine": {"type": "points", "points": 9},
    "yes": {"type": "yes-no"},
    "tags": {"type": "tags", "tags": ["none", "flu", "tinnitus"]},
}
AGE = {"id": "age", "text": "?", "type": "number", "required": True, "at_least": 18}
HEARING = {"id": "hearing", "text": "?", "type": "choice", "choices": ["good", "aid", "poor"]}
TRAINED = {"id": "trained", "text": "?", "scale": "yes"}
HEALTH = {"id": "health", "text": "?", "scale": "tags", "required": False}
POOR: dict[str, Any] = {
    "id": "deaf",
    "when": {"rater": "hearing", "is": ["poor", "aid"]},
    "text": {"en": "Hear!", "de": "Hör!"},
}
LOOK = {"type": "attention", "id": "look", "text": "Choose 3.", "question": "valence", "answer": 3, "per_session": 3}


def screened(collection: Collection) -> dict[str, str]:
    return dict(collection.raters().drop_nulls("screener").select("rater", "screener").iter_rows())


def test_an_answer_screens_out_with_its_own_code(make_study: Make, collect: Open) -> None:
    folder = make_study(
        demographics=[AGE, HEARING],
        screeners=[POOR, {"id": "old", "when": {"rater": "age", "above": 70}}],
        recruiting={"codes": {"screeners": {"old": "OLD1"}}, "return_url": "https://x.org/?c={code}"},
    )
    collection = collect(folder)
    codes = collection.settings
    assert codes.code_screeners["old"] == "OLD1"
    assert len({codes.code_screeners["deaf"], codes.code_screened_out, "OLD1"}) == 3
    ends = []
    for answers in ({"age": 30, "hearing": "aid"}, {"age": 71}, {"age": 17, "hearing": "poor"}, {"age": 30}):
        rater = collection.do(Arrive()).rater
        collection.do(Next(rater))
        ends.append(collection.do(Demographics(rater, answers)))
        assert collection.do(Next(rater)) == ends[-1], "a reload shows the same"
    deaf = codes.code_screeners["deaf"]
    assert ends == [
        SessionEnd(ending="screened-out", code=deaf, url=f"https://x.org/?c={deaf}", text=POOR["text"]),
        SessionEnd(ending="screened-out", code="OLD1", url="https://x.org/?c=OLD1"),
        SessionEnd(
            ending="screened-out", code=codes.code_screened_out, url=f"https://x.org/?c={codes.code_screened_out}"
        ),
        ShowInstructions(),
    ]
    assert sorted(screened(collection).values()) == ["deaf", "old"]
    assert dict(collection.coverage().screened_out) == {"deaf": 1, "old": 1}
    with collection._database.reading() as connection:
        kept = connection.exec_driver_sql("SELECT kept FROM demographics ORDER BY rater").scalars().all()
    assert [bool(each) for each in kept] == [False, False, False, True]
    again = collect(folder, seed=2)
    assert again.settings.code_screeners == codes.code_screeners
    assert screened(again) == screened(collection)


def test_codes_can_be_changed(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(demographics=[HEARING], screeners=[POOR]))
    changed = collection.do(ChangeSettings({"code_screeners": {"deaf": " D9 "}}))
    assert changed.code_screeners == {"deaf": "D9"}
    for wrong in ({"blind": "X"}, {"deaf": ""}, {"deaf": 3}, "X"):
        with pytest.raises(InputError):
            collection.do(ChangeSettings({"code_screeners": wrong}))
    assert collection.settings.code_screeners == {"deaf": "D9"}


def test_a_questionnaire_screens_out_once_its_answers_are_there(make_study: Make, collect: Open) -> None:
    before = [TRAINED | {"page": "one"}, HEALTH | {"page": "two"}]
    both = [{"rater": "trained", "is": "no"}, {"rater": "health", "answered": False}]
    screeners = [{"id": "ill", "when": {"rater": "health", "includes": ["flu"]}}, {"id": "silent", "when": both}]
    collection = collect(make_study(scales=SCALES, before=before, screeners=screeners))

    def walk(trained: str, health: list[str] | None) -> object:
        rater = collection.do(Arrive()).rater
        collection.do(Next(rater))
        step = collection.do(Questionnaire(rater, "before", ["trained"], {"trained": trained}))
        assert isinstance(step, AskQuestionnaire), "what is not asked yet screens out nobody"
        step = collection.do(Questionnaire(rater, "before", ["health"], {} if health is None else {"health": health}))
        return screened(collection).get(rater) if isinstance(step, SessionEnd) else type(step)

    assert walk("yes", None) is ShowInstructions
    assert walk("no", ["none"]) is ShowInstructions
    assert walk("no", None) == "silent"
    assert walk("yes", ["flu", "tinnitus"]) == "ill"


def test_nobody_screened_out_takes_a_place(make_study: Make, collect: Open, clock: Clock) -> None:
    """With a cap of two and arms, ten people who are screened out change nothing for the two who rate."""
    arms = [{"id": "a", "instructions": "A"}, {"id": "b"}]
    collection = collect(
        make_study(
            3,
            demographics=[HEARING],
            screeners=[POOR],
            recruiting={"cap": 2},
            design={"ratings_per_item": 1, "arms": arms},
        )
    )
    for _ in range(10):
        rater = collection.do(Arrive(recruiter="prolific", person=f"p{_}")).rater
        collection.do(Next(rater))
        assert isinstance(collection.do(Demographics(rater, {"hearing": "aid"})), SessionEnd)
    coverage = collection.coverage()
    assert (coverage.complete, coverage.leased, coverage.raters_complete) == (0, 0, 0)
    assert [arm.raters for arm in coverage.arms] == [0, 0]
    assert set(collection.participants()["ended"]) == {"screened-out"}
    assert set(collection.participants()["screener"]) == {"deaf"}
    for _ in range(2):
        assert Person(collection).finish().ending == "complete"
    assert [arm.complete for arm in collection.coverage().arms] == [1, 1]
    with pytest.raises(StudyFull):
        Person(collection)


@pytest.mark.slow
def test_failed_attention_screens_out_and_gives_back(make_study: Make, opened: Open) -> None:
    screener = {"id": "careless", "probe": "look", "failures": 2, "text": "Bye."}
    folder = make_study(8, probes=[LOOK], screeners=[screener], design={"ratings_per_item": 1})
    collection = opened(folder)
    good = Person(collection)
    good.begin()
    for _ in range(3):
        good.answer(3)
    careless = Person(collection)
    careless.begin()
    answered = 0
    while isinstance(careless.step, ShowTrial):
        answered += careless.trial.kind == "rating"
        careless.answer(7)
    code = collection.settings.code_screeners["careless"]
    assert careless.step == SessionEnd(ending="screened-out", code=code, text="Bye.")
    assert sum(trial.kind == "attention" for trial in careless.shown) == 2, "the first failure is forgiven"
    assert answered
    stored = collection.ratings().filter(pl.col("rater") == careless.id, pl.col("kind") == "rating")
    assert stored.height == answered
    assert not stored["counts"].any()
    for each in (collection, opened(folder, seed=2)):
        state = each._store.state
        assert state is not None
        assert state.complete == sum(trial.kind == "rating" for trial in good.shown)
    snapshot = collection.snapshot()
    assert careless.id not in snapshot.ratings["rater"]
    reasons = dict(snapshot.ledger.select("rater", "reason").iter_rows())
    assert reasons[careless.id] == "screened out by 'careless'"
    for command in (Exclude(careless.id, "x"), Restore(careless.id)):
        collection.do(command)
        state = collection._store.state
        assert state is not None
        assert state.complete == sum(trial.kind == "rating" for trial in good.shown)
    assert collection.do(Next(careless.id)) == careless.step
    while isinstance(good.step, ShowTrial):
        good.answer(3)
    assert isinstance(good.step, SessionEnd)
    assert good.step.ending == "complete"
    assert dict(collection.coverage().histogram) == {1: 8}
    assert collection.coverage().extra == 0


@pytest.mark.parametrize(("correct", "ends"), [(5, False), (4, True)])
def test_headphones_have_a_code_of_their_own(make_study: Make, collect: Open, correct: int, ends: bool) -> None:
    probe = {"type": "headphones", "id": "phones", "blocks": True}
    screener = {"id": "speakers", "probe": "phones"}
    collection = collect(make_study(probes=[probe], screeners=[screener]))
    person = Person(collection)
    quietest = collection.quietest_tones(person.id)
    answers = quietest[:correct] + [tone % 3 + 1 for tone in quietest[correct:]]
    step = collection.do(Headphones(person.id, "phones", answers))
    code = collection.settings.code_screeners["speakers"]
    assert step == (SessionEnd(ending="screened-out", code=code) if ends else ShowInstructions())
    assert dict(collection.coverage().screened_out) == {"speakers": int(ends)}


def test_screening_is_over_once_the_instructions_are_read(make_study: Make, collect: Open, tmp_path: Path) -> None:
    folder = make_study(4, demographics=[HEARING])
    collection = collect(folder)
    rater = collection.do(Arrive()).rater
    collection.do(Next(rater))
    collection.do(Demographics(rater, {"hearing": "aid"}))
    collection.do(Ready(rater))
    collection.close()
    text = (folder / "study.yaml").read_text() + "screeners:\n- {id: deaf, when: {rater: hearing, is: aid}}\n"
    (folder / "study.yaml").write_text(text)
    again = collect(folder)
    assert isinstance(again.do(Next(rater)), ShowTrial), "nobody is thrown out of a study they have begun"


def test_erasing_forgets_who_was_screened_out(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(demographics=[HEARING], screeners=[POOR]))
    rater = collection.do(Arrive()).rater
    collection.do(Next(rater))
    collection.do(Demographics(rater, {"hearing": "poor"}))
    assert screened(collection) == {rater: "deaf"}
    collection.erase(rater=rater)
    with collection._database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM screen_outs").scalar() == 0
        journal = connection.exec_driver_sql("SELECT count(*) FROM journal WHERE words = 'deaf'")
        assert journal.scalar() == 0


@pytest.mark.parametrize(
    ("screener", "says"),
    [
        ({"when": {"rater": "height", "is": 1}}, "nothing asked about raters is called 'height'"),
        ({"when": {"question": "valence", "is": 1}}, "Write 'rater: valence'"),
        ({"when": {"rater": "age", "below": 18}}, "screens out nobody"),
        ({"when": [{"rater": "age", "below": 20}, {"rater": "age", "above": 30}]}, "screens out nobody"),
        ({"when": {"rater": "age", "answered": True}}, "screens out everybody"),
        ({"when": {"rater": "age", "below": 18, "not": True}}, "screens out everybody"),
        ({"when": {"rater": "trained", "is": ["yes", "no"]}}, "screens out everybody"),
        ({"when": {"rater": "hearing", "is": "bad"}}, "bad"),
        ({"when": {"rater": "hearing", "above": 1}}, "no order"),
        ({}, "one of 'when' and 'probe'"),
        ({"probe": "look", "when": {"rater": "age", "above": 30}}, "one of 'when' and 'probe'"),
        ({"probe": "nothing"}, "is called 'nothing'"),
        ({"probe": "phones"}, "blocks: true"),
        ({"probe": ["phones", "look"]}, "taken once"),
    ],
)
def test_screeners_that_make_no_sense_are_refused(
    make_study: Make, collect: Open, screener: dict[str, Any], says: str
) -> None:
    phones = {"type": "headphones", "id": "phones"}
    folder = make_study(
        scales=SCALES,
        demographics=[AGE, HEARING],
        before=[TRAINED],
        probes=[LOOK, phones],
        screeners=[{"id": "odd", **screener}],
    )
    with pytest.raises(HeartfeltError, match=says):
        collect(folder)


def test_a_code_needs_its_screener(make_study: Make, collect: Open) -> None:
    with pytest.raises(HeartfeltError, match=r"screener.*'deaf'"):
        collect(make_study(recruiting={"codes": {"screeners": {"deaf": "X"}}}))
