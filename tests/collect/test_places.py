"""Who may take part: caps, places held by others, codes, invitations and pages that were passed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.assign.model import Rater
from heartfelt.collect.messages.commands import (
    Answer,
    Arrive,
    ChangeSettings,
    Exclude,
    GiveConsent,
    Invite,
    Leave,
    Next,
    Ready,
    Restore,
    SessionEnd,
    ShowInstructions,
    ShowTrial,
)
from heartfelt.collect.messages.errors import StudyBusy, StudyFull, TrialNotFound
from heartfelt.collect.session import listening, participants, steps
from heartfelt.collect.session.progress import arms, transaction
from heartfelt.collect.writing import writer
from heartfelt.errors import InputError
from heartfelt.study.parts.design import HEARD_ENOUGH
from tests.collect.people import Clock, Person, loads

Make = Callable[..., Path]
Open = Callable[..., Collection]
LEASE = 180.0


@pytest.mark.slow
def test_the_cap_with_raters_who_are_through(make_study: Make, collect: Open, clock: Clock) -> None:
    collection = collect(make_study(4, design={"ratings_per_item": 9, "stimuli_per_rater": 2}))
    collection.do(ChangeSettings({"cap": 2}))
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
    collection.do(ChangeSettings({"cap": 4}))
    assert isinstance(Person(collection).begin(), ShowTrial)


def test_half_an_hour_without_a_sign_frees_a_place(make_study: Make, collect: Open, clock: Clock) -> None:
    collection = collect(make_study(4, design={"ratings_per_item": 9}))
    collection.do(ChangeSettings({"cap": 1}))
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
    collection.do(ChangeSettings({"cap": 1}))
    Person(collection).begin()
    clock.now += 2399.0
    with pytest.raises(StudyBusy):
        collection.do(Arrive())
    clock.now += 1.0
    collection.do(Arrive())


@pytest.mark.slow
def test_somebody_who_left_or_only_looked_holds_no_place(make_study: Make, collect: Open) -> None:
    consent = {"text": "Agree?"}
    collection = collect(make_study(4, design={"ratings_per_item": 9}, consent=consent))
    collection.do(ChangeSettings({"cap": 1}))
    looking = [Person(collection) for _ in range(3)]
    collection.do(GiveConsent(looking[0].id, True))
    with pytest.raises(StudyBusy):
        collection.do(Arrive())
    collection.do(Leave(looking[0].id))
    Person(collection)


@pytest.mark.slow
def test_a_cap_of_none_is_no_cap_and_of_zero_lets_nobody_in(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(4, design={"ratings_per_item": 9}))
    collection.do(ChangeSettings({"cap": 0}))
    with pytest.raises(StudyFull):
        collection.do(Arrive())
    collection.do(ChangeSettings({"cap": None}))
    Person(collection)


@pytest.mark.slow
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


@pytest.mark.slow
def test_ahead_is_how_many_trials_are_held_beyond_the_first(make_study: Make, collect: Open) -> None:
    for ahead in (0, 1, 3):
        collection = collect(make_study(6), ahead=ahead)
        person = Person(collection)
        person.begin()
        assert len(person.trial.following) == ahead
        assert sum(loads(collection).values()) == 1 + ahead
    assert CollectOptions().ahead == 2
    assert CollectOptions().least_lease == 180.0
    design = collection.study.design
    assert (design.hidden_drafts, design.planted_drafts) == (0.1, 0.05)
    assert (CollectOptions().hidden, CollectOptions().planted) == (None, None), "as in the design"


@pytest.mark.slow
def test_drafts_verified_together_are_held_together(make_study: Make, collect: Open) -> None:
    """Those of a page and of the next; each is a trial of its own and is answered in order."""
    asked = [{"id": "style", "text": "Style", "scale": "nine", "machine_first": True}]
    design = {"questions_per_page": "one", "drafts_per_page": 4, "ratings_per_item": 1}
    rows = ["stimulus,style", *(f"s{n},{1 + n % 9}" for n in range(20))]
    folder = make_study(rows=rows, media="image", questions=asked, design=design)
    collection = collect(folder, hidden=0.0, planted=0.0)
    person = Person(collection)
    person.begin()
    trials = [person.trial, *person.trial.following]
    assert len(trials) == 8
    assert sum(loads(collection).values()) == 8
    with pytest.raises(TrialNotFound):
        collection.do(Answer(person.id, trials[2].trial, key="early", values={}, verdicts={"style": "accepted"}))
    for trial in trials[:4]:
        receipt = collection.do(
            Answer(
                person.id,
                trial.trial,
                key=trial.trial,
                values={},
                verdicts={"style": "accepted"},
                wants_next=trial is trials[3],
            )
        )
        assert receipt.status == "stored"
    assert isinstance(receipt.next_step, ShowTrial)
    assert receipt.next_step.trial == trials[4].trial
    assert len(receipt.next_step.following) == 7
    assert collection.snapshot().fields["verdict"].to_list() == ["accepted"] * 4


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


@pytest.mark.slow
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
        assert collection.do(GiveConsent(rater, False)) == collection.do(Next(rater))
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
    assert (steps.RETRY_SECONDS, arms.AWAY_SECONDS, steps._RENEW_BELOW) == (20.0, 1800.0, 2 / 3)
    assert (HEARD_ENOUGH, listening._SLACK_SECONDS, listening._SLACK_SHARE) == (0.95, 0.5, 0.05)
    assert (participants._REMEMBERED, transaction._LONGEST, writer.MOST_AT_ONCE) == (10_000, 20_000, 256)


@pytest.mark.parametrize("fact", ["demographics_done", "headphones_done", "instructed"])
def test_any_page_passed_is_more_than_opening_the_link(fact: str) -> None:
    assert not Rater(number=1, id="r").engaged
    assert Rater(number=1, id="r", consented=False).engaged
    rater = Rater(number=1, id="r")
    setattr(rater, fact, True)
    assert rater.engaged
