"""Trials held ahead of the one that is shown, and trials that only look like the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import Answer, Next, ShowTrial
from tests.collect.people import Clock, Person
from tests.collect.test_answers import TWO

Make = Callable[..., Path]
Open = Callable[..., Collection]


@pytest.mark.slow
def test_trials_held_ahead_can_be_answered_in_order_without_being_asked_for(
    make_study: Make, opened: Open, clock: Clock
) -> None:
    """A rater whose connection is lost answers what was fetched ahead; all of it is stored, once, in that order."""
    collection = opened(make_study(6))
    person = Person(collection)
    person.begin()
    first = person.trial
    assert len(first.following) == 2
    assert [trial.number for trial in first.following] == [first.number + 1, first.number + 2]
    assert first.following[0].trial != first.following[1].trial
    held = [first, *first.following]
    for place, trial in enumerate(held):
        last = place == len(held) - 1
        answer = Answer(person.id, trial.trial, key=f"k{place}", values={"valence": 5}, wants_next=last)
        receipt = collection.do(answer)
        assert receipt.status == "stored"
        assert collection.do(answer).status == "already"
    ratings = collection.ratings().sort("position")
    assert ratings["trial"].to_list() == [int(trial.trial) for trial in held]
    assert ratings["position"].to_list() == [1, 2, 3]


@pytest.mark.slow
def test_answers_to_trials_held_ahead_are_kept_after_their_leases_ran_out(
    make_study: Make, opened: Open, clock: Clock
) -> None:
    """The units went to somebody else meanwhile, and the page was loaded again before the answers were sent."""
    collection = opened(make_study(3, design={"ratings_per_item": 1}))
    person = Person(collection)
    person.begin()
    held = [person.trial, *person.trial.following]
    clock.now += 1e5
    other = Person(collection)
    other.begin()
    while isinstance(other.step, ShowTrial):
        other.answer()
    collection.do(Next(person.id))
    kinds = [
        collection.do(Answer(person.id, trial.trial, key=f"k{place}", values={"valence": 5}, wants_next=False)).status
        for place, trial in enumerate(held)
    ]
    assert kinds == ["late"] * len(held)
    mine = collection.ratings().filter(rater=person.id)
    assert mine.height == mine["stimulus"].n_unique() == len(held)


@pytest.mark.slow
def test_an_attention_trial_asks_what_others_ask_and_keeps_its_own_answer(make_study: Make, opened: Open) -> None:
    probe = {"type": "attention", "id": "look", "text": "Choose 7.", "question": "valence", "answer": 7}
    collection = opened(make_study(6, probes=[probe], questions=TWO))
    person = Person(collection)
    met = list(person.rate())
    (attention,) = [trial for trial in met if trial.kind == "attention"]
    assert {trial.questions for trial in met} == {("valence", "arousal")} == {attention.questions}
    assert (len(met), attention.words) == (7, "Choose 7.")
    retained = collection.ratings().filter(kind="attention")
    assert retained.select("question", "stimulus").rows() == [("valence", None)]
