"""A rater's way: consent, questions about them, headphones, instructions, practice, trials, breaks, the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import (
    Arrive,
    AskConsent,
    AskDemographics,
    AskHeadphones,
    ChangeSettings,
    Demographics,
    Exclude,
    GiveConsent,
    Headphones,
    Invite,
    Leave,
    Next,
    Ready,
    SessionEnd,
    ShowInstructions,
    ShowTrial,
    TakeBreak,
)
from heartfelt.collect.messages.errors import (
    InvalidAnswer,
    MissingAnswer,
    StartedElsewhere,
    StudyBusy,
    StudyClosed,
    StudyFull,
    UnknownRater,
)
from heartfelt.errors import InputError
from heartfelt.study import load_study
from tests.collect.people import Clock, Person

Make = Callable[..., Path]
Open = Callable[..., Collection]

AGE = {"id": "age", "text": "Your age", "type": "number", "required": True, "at_least": 18}
GENDER = {"id": "gender", "text": "Gender", "type": "choice", "choices": ["female", "male"]}
CHECK = {"type": "headphones", "id": "tones", "trials": 6, "pass_at": 5}


def test_the_whole_way(make_study: Make, opened: Open) -> None:
    collection = opened(
        make_study(
            4,
            consent={"text": "Do you agree?"},
            demographics=[AGE],
            probes=[CHECK],
            design={"practice": 2, "batch": 2, "ratings_per_item": 1},
        )
    )
    person = Person(collection)
    assert collection.do(Next(person.id)) == AskConsent()
    assert person.go_on() == AskDemographics()
    assert person.go_on() == AskHeadphones("tones", 6)
    assert person.go_on() == ShowInstructions()
    person.go_on()
    kinds = []
    while isinstance(person.step, ShowTrial) and person.step.kind == "practice":
        kinds.append((person.step.number, person.step.of))
        person.answer()
    assert kinds == [(1, 2), (2, 2)]
    assert [person.trial.number, person.trial.of] == [1, 4]
    person.answer()
    person.answer()
    assert collection.do(Next(person.id)) == TakeBreak(2, 4)
    person.go_on()
    person.answer()
    person.answer()
    end = SessionEnd(ending="complete", code=collection.settings.code_complete)
    assert person.step == end
    assert collection.do(Next(person.id)) == end
    row = collection.raters().row(0, named=True)
    assert (row["state"], row["trials"], row["about_age"], row["headphones_correct"]) == ("complete", 4, 30.0, 6)


def test_refusing_ends_with_its_own_code(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(consent={"text": "Do you agree?"}))
    person = Person(collection)
    end = collection.do(GiveConsent(person.id, False))
    assert end == SessionEnd(ending="no-consent", code=collection.settings.code_no_consent)
    assert collection.do(Next(person.id)) == end
    assert collection.do(GiveConsent(person.id, True)) == end


def test_consent_that_is_not_required_can_be_refused(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(consent={"text": "May we publish?", "required": False}))
    person = Person(collection)
    assert collection.do(GiveConsent(person.id, False)) == ShowInstructions()
    assert collection.raters()["agreed"].to_list() == [False]


@pytest.mark.slow
@pytest.mark.parametrize("answer", [17, "17", "17,5"])
def test_below_the_limit_is_screened_out(make_study: Make, opened: Open, answer: object) -> None:
    collection = opened(make_study(demographics=[AGE]))
    person = Person(collection)
    end = collection.do(Demographics(person.id, {"age": answer}))
    assert end == SessionEnd(ending="screened-out", code=collection.settings.code_screened_out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "error", "says"),
    [
        ({}, MissingAnswer, "age"),
        ({"age": ""}, MissingAnswer, "age"),
        ({"age": "old"}, InvalidAnswer, "not a number"),
        ({"age": True}, InvalidAnswer, "not a number"),
        ({"age": float("nan")}, InvalidAnswer, "not a number"),
        ({"age": 20, "gender": "blue"}, InvalidAnswer, "gender"),
        ({"age": 20, "shoes": 44}, InvalidAnswer, "shoes"),
    ],
)
def test_demographics_are_held_to_what_is_asked(
    make_study: Make, opened: Open, answers: dict[str, object], error: type[Exception], says: str
) -> None:
    collection = opened(make_study(demographics=[AGE, GENDER]))
    person = Person(collection)
    with pytest.raises(error, match=says):
        collection.do(Demographics(person.id, answers))
    assert collection.do(Next(person.id)) == AskDemographics()


@pytest.mark.parametrize(("blocks", "goes_on"), [(False, True), (True, False)])
def test_a_failed_headphone_check_is_kept_and_stops_only_if_told_to(
    make_study: Make, opened: Open, blocks: bool, goes_on: bool
) -> None:
    collection = opened(make_study(probes=[{**CHECK, "blocks": blocks}]))
    person = Person(collection)
    right = collection.quietest_tones(person.id)
    step = collection.do(Headphones(person.id, "tones", [*right[:4], *(place % 3 + 1 for place in right[4:])]))
    assert isinstance(step, ShowInstructions if goes_on else SessionEnd)
    row = collection.raters().row(0, named=True)
    assert (row["headphones_correct"], row["headphones_passed"]) == (4, False)


def test_a_headphone_check_of_another_length_is_refused(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(probes=[CHECK]))
    person = Person(collection)
    with pytest.raises(InputError, match="6 trials, but 3 answers"):
        collection.do(Headphones(person.id, "tones", [1, 1, 1]))


@pytest.mark.slow
def test_the_same_person_is_the_same_rater(make_study: Make, opened: Open) -> None:
    folder = make_study()
    collection = opened(folder)
    first = collection.do(Arrive(recruiter="prolific", person="5f-participant", facts={"STUDY_ID": "abc"}))
    assert not first.resumed
    again = collection.do(Arrive(recruiter="prolific", person="5f-participant"))
    assert again.resumed
    assert again.rater == first.rater
    assert collection.do(Arrive(recruiter="mturk", person="5f-participant")).rater != first.rater
    collection.close()
    assert opened(folder).do(Arrive(recruiter="prolific", person="5f-participant")).rater == first.rater


@pytest.mark.slow
def test_an_id_alone_does_not_open_somebody_elses_session(make_study: Make, opened: Open) -> None:
    folder = make_study(consent={"text": "?"})
    collection = opened(folder)
    theirs = {"session": "only their link has this", "study": "everybody knows this"}
    first = collection.do(Arrive(recruiter="prolific", person="p1", facts=theirs))
    assert collection.do(Arrive(recruiter="prolific", person="p1")).rater == first.rater, (
        "nothing was said under this id yet"
    )
    collection.do(GiveConsent(first.rater, True))
    for facts in ({}, {"study": "everybody knows this"}, {"session": "a guess"}):
        with pytest.raises(StartedElsewhere, match=r"another browser.*\n.*Continue in that browser"):
            collection.do(Arrive(recruiter="prolific", person="p1", facts=facts))
    with pytest.raises(StartedElsewhere):
        collection.do(Arrive(recruiter="prolific", person="p1", proven=("r0000000000000000",)))
    assert collection.do(Arrive(recruiter="prolific", person="p1", proven=(first.rater,))).rater == first.rater
    collection.close()
    again = opened(folder)
    with pytest.raises(StartedElsewhere):
        again.do(Arrive(recruiter="prolific", person="p1"))
    assert again.do(Arrive(recruiter="prolific", person="p1", facts=theirs)).rater == first.rater


@pytest.mark.slow
def test_ids_of_the_recruiter_are_in_their_own_table_only(make_study: Make, opened: Open, tmp_path: Path) -> None:
    folder = make_study()
    collection = opened(folder)
    person = Person(collection, recruiter="prolific", person="SECRET-PERSON", facts={"session": "SECRET-SESSION"})
    person.finish()
    row = collection.participants().row(0, named=True)
    assert (row["participant"], row["session"], row["rater"]) == ("SECRET-PERSON", "SECRET-SESSION", person.id)
    assert (row["ended"], row["trials"]) == ("complete", 6)
    for frame in (collection.raters(), collection.ratings(), collection.trials(person.id)):
        assert "SECRET" not in str(frame.to_dicts())
    written = collection.snapshot().write(tmp_path / "frozen")
    for path in written.rglob("*"):
        assert path.is_dir() or b"SECRET" not in path.read_bytes()


def test_recruited_raters_bring_their_id(make_study: Make, opened: Open) -> None:
    collection = opened(make_study())
    with pytest.raises(InputError, match="prolific"):
        collection.do(Arrive(recruiter="prolific"))


def test_invitations_open_the_door_once_each(make_study: Make, opened: Open) -> None:
    collection = opened(make_study())
    each, two = collection.do(Invite(2, "the choir"))
    arrived = collection.do(Arrive(recruiter="link", person=each))
    assert collection.do(Arrive(recruiter="link", person=each)).rater == arrived.rater
    with pytest.raises(UnknownRater):
        collection.do(Arrive(recruiter="link", person="never made"))
    frame = collection.invitations()
    assert dict(frame.select("invitation", "rater").iter_rows()) == {each: arrived.rater, two: None}
    with pytest.raises(InputError):
        collection.do(Invite(0))


def test_closing_stops_new_raters_and_lets_old_ones_finish(make_study: Make, opened: Open) -> None:
    collection = opened(make_study())
    person = Person(collection)
    person.begin()
    collection.do(ChangeSettings({"open": False}))
    with pytest.raises(StudyClosed) as refused:
        collection.do(Arrive())
    assert refused.value.ending == "closed"
    assert person.finish().ending == "complete"
    collection.do(ChangeSettings({"open": True}))
    collection.do(Arrive())


@pytest.mark.slow
def test_the_cap_counts_those_who_take_part(make_study: Make, opened: Open, clock: Clock) -> None:
    collection = opened(make_study(consent={"text": "Agree?"}, design={"ratings_per_item": 9}))
    collection.do(ChangeSettings({"cap": 2}))
    for _ in range(5):
        collection.do(Arrive())  # a link preview, or somebody who only looks
    first, second = Person(collection), Person(collection)
    collection.do(GiveConsent(first.id, True))
    collection.do(GiveConsent(second.id, True))
    with pytest.raises(StudyBusy) as refused:
        collection.do(Arrive())
    assert refused.value.ending == "wait", "nobody is through yet"
    collection.do(Leave(second.id))
    third = Person(collection)
    collection.do(GiveConsent(third.id, True))
    with pytest.raises(StudyBusy):
        collection.do(Arrive())
    clock.now += 3600
    fourth = Person(collection)
    assert fourth.finish().ending == "complete", "those who closed the window hold no place"
    assert Person(collection).finish().ending == "complete"
    with pytest.raises(StudyFull) as over:
        collection.do(Arrive())
    assert over.value.end.code == collection.settings.code_full
    first.step = collection.do(Next(first.id))
    assert first.finish().ending == "complete", "whoever has begun may finish"


def test_a_study_with_all_its_ratings_is_full(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(2, design={"ratings_per_item": 1}))
    late = Person(collection)
    assert Person(collection).finish().ending == "complete"
    with pytest.raises(StudyFull):
        collection.do(Arrive())
    assert late.begin() == SessionEnd(ending="full", code=collection.settings.code_full)


def test_leases_alone_do_not_fill_a_study(make_study: Make, opened: Open, clock: Clock) -> None:
    """While others hold the last places, people wait; they get a place that is given back, or hear that it is full."""
    collection = opened(make_study(2, design={"ratings_per_item": 1}))
    holder, waiting = Person(collection), Person(collection)
    holder.begin()
    with pytest.raises(StudyBusy) as busy:
        collection.do(Arrive())
    assert busy.value.end == SessionEnd(ending="wait", retry_seconds=20.0)
    assert waiting.begin() == SessionEnd(ending="wait", retry_seconds=20.0)
    assert collection.do(Next(waiting.id)) == SessionEnd(ending="wait", retry_seconds=20.0)
    collection.do(Leave(holder.id))
    waiting.step = collection.do(Next(waiting.id))
    assert waiting.finish().ending == "complete"
    with pytest.raises(StudyFull):
        collection.do(Arrive())


def test_who_was_told_full_takes_a_place_that_opens(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(2, design={"ratings_per_item": 1}))
    full = SessionEnd(ending="full", code=collection.settings.code_full)
    late, early = Person(collection), Person(collection)
    assert early.finish().ending == "complete"
    assert late.begin() == full
    assert collection.do(Next(late.id)) == full, "nothing has changed"
    collection.do(Exclude(early.id, "careless"))
    collection.do(ChangeSettings({"open": False}))
    assert collection.do(Next(late.id)) == full, "a closed study takes nobody in"
    collection.do(ChangeSettings({"open": True}))
    late.step = collection.do(Next(late.id))
    assert isinstance(late.step, ShowTrial)
    assert (late.step.number, late.step.of) == (1, 2)
    assert late.finish().ending == "complete"
    assert collection.coverage().complete == 2
    states = dict(collection.raters().select("rater", "state").iter_rows())
    assert states[late.id] == "complete"


def test_one_late_answer_earns_no_complete_code(make_study: Make, opened: Open, clock: Clock) -> None:
    collection = opened(make_study(4, design={"ratings_per_item": 1, "stimuli_per_rater": 4}))
    slow = Person(collection)
    slow.begin()
    clock.now += 3600
    assert Person(collection).finish().ending == "complete"
    receipt = slow.answer()
    assert receipt.status == "late"
    assert slow.step == SessionEnd(ending="partial", code=collection.settings.code_partial)
    states = dict(collection.raters().select("rater", "state").iter_rows())
    assert states[slow.id] == "partial"


@pytest.mark.slow
def test_half_of_a_session_is_complete_when_nothing_is_left(make_study: Make, opened: Open) -> None:
    for share, ending in ((0.5, "complete"), (0.9, "partial")):
        collection = opened(
            make_study(4, design={"ratings_per_item": 1, "stimuli_per_rater": 4}, recruiting={"complete_share": share})
        )
        first = Person(collection)
        for _ in first.rate(2):
            pass
        collection.do(Leave(first.id))
        assert Person(collection).finish().ending == ending


@pytest.mark.slow
def test_codes_come_from_the_study(make_study: Make, opened: Open) -> None:
    codes = {"complete": "C", "screened_out": "S", "declined": "D", "full": "F", "partial": "P"}
    back = "https://example.org/?cc={code}"
    folder = make_study(2, consent={"text": "?"}, recruiting={"codes": codes, "return_url": back, "cap": 7})
    collection = opened(folder)
    settings = collection.settings
    assert (settings.code_full, settings.code_no_consent, settings.cap) == ("F", "D", 7)
    person = Person(collection)
    person.begin()
    assert collection.do(Leave(person.id)) == SessionEnd(ending="left", code="P", url="https://example.org/?cc=P")
    collection.do(ChangeSettings({"code_partial": "P2", "open": False}))
    with pytest.raises(StudyClosed) as closed:
        collection.do(Arrive())
    assert closed.value.end == SessionEnd(ending="closed", code="F", url="https://example.org/?cc=F")
    collection.close()
    again = opened(folder)
    assert again.settings.code_partial == "P2", "what was changed in the dashboard stays until study.yaml changes"
    assert "recruiting" not in again.study.plain()
    assert load_study(folder).hash == again.study.hash


def test_leaving_gives_everything_back(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(6))
    person = Person(collection)
    person.begin()
    person.answer()
    assert collection.coverage().leased == 3
    end = collection.do(Leave(person.id))
    assert end == SessionEnd(ending="left", code=collection.settings.code_partial)
    assert collection.coverage().leased == 0
    assert collection.coverage().complete == 1
    assert collection.do(Next(person.id)) == end


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        {"colour": 1},
        {"cap": -1},
        {"cap": True},
        {"open": "yes"},
        {"code_complete": " "},
        {"return_url": "javascript:x"},
    ],
)
def test_settings_are_held_to_what_they_mean(make_study: Make, opened: Open, wrong: dict[str, object]) -> None:
    collection = opened(make_study())
    before = collection.settings
    with pytest.raises(InputError):
        collection.do(ChangeSettings(wrong))
    assert collection.settings == before


def test_the_end_leads_back_to_the_recruiter(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(1, design={"ratings_per_item": 1}))
    collection.do(ChangeSettings({"return_url": "https://example.org/done?cc={code}", "code_complete": "C1"}))
    assert Person(collection).finish() == SessionEnd(ending="complete", code="C1", url="https://example.org/done?cc=C1")


def test_strangers_are_told_so(make_study: Make, opened: Open) -> None:
    collection = opened(make_study())
    with pytest.raises(UnknownRater):
        collection.do(Next("nobody"))


def test_ready_skips_nothing(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(consent={"text": "Agree?"}))
    person = Person(collection)
    assert collection.do(Ready(person.id)) == AskConsent()
    person.begin()
    assert collection.do(Ready(person.id)) == collection.do(Next(person.id))


def test_resuming_on_another_day_in_another_process(make_study: Make, opened: Open) -> None:
    folder = make_study(6)
    collection = opened(folder)
    person = Person(collection)
    for _ in person.rate(2):
        pass
    waiting = person.trial
    collection.close()
    person.collection = opened(folder)
    step = person.collection.do(Next(person.id))
    assert isinstance(step, ShowTrial)
    assert (step.trial, step.number) == (waiting.trial, 3)
    person.step = step
    assert person.finish().ending == "complete"
