"""Commands in one transaction: together, whole or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import Arrive, Command, Erase
from heartfelt.collect.messages.errors import StudyFull
from heartfelt.collect.writing import writer
from heartfelt.errors import InputError
from tests.collect.people import Person, loads

Make = Callable[..., Path]
Open = Callable[..., Collection]


def test_what_waits_together_is_committed_together(
    make_study: Make, collect: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that queues up behind one transaction goes into the next, up to a limit."""
    monkeypatch.setattr(writer, "MOST_AT_ONCE", 4)
    collection = collect(make_study(4, design={"ratings_per_item": 99}))
    sizes: list[int] = []
    entered, go = threading.Event(), threading.Event()
    original = collection._writer._transaction

    def slow(jobs: list[writer.QueuedCommand]) -> None:
        sizes.append(len(jobs))
        entered.set()
        assert go.wait(120)
        original(jobs)

    monkeypatch.setattr(collection._writer, "_transaction", slow)
    people = [threading.Thread(target=collection.do, args=(Arrive(),)) for _ in range(8)]
    people[0].start()
    assert entered.wait(120)
    for person in people[1:]:
        person.start()
    while collection._writer._waiting.qsize() < 7:
        pass
    go.set()
    for person in people:
        person.join()
    assert sizes == [1, 4, 3]
    assert collection.raters().height == 8


def test_a_command_that_fails_half_way_leaves_nothing(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(4))
    person = Person(collection)
    person.begin()
    seq, held = collection.change(), loads(collection)
    with pytest.raises(InputError):
        person.answer(value=99)
    assert (collection.change(), loads(collection)) == (seq, held)
    assert person.answer().status == "stored"


def test_erasing_reopens_every_place_and_forgets_the_person(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(3, design={"ratings_per_item": 1}), ahead=0)
    person = Person(collection, recruiter="prolific", person="p1")
    person.finish()
    with pytest.raises(StudyFull):
        collection.do(Arrive())
    done = collection.do(Erase(participant="p1"))
    assert (done.rater, done.trials) == (person.id, 3)
    assert sorted(loads(collection).values()) == [0, 0, 0]
    assert collection.ratings().height == collection.raters().height == collection.participants().height == 0
    again = Person(collection, recruiter="prolific", person="p1")
    assert again.id != person.id
    assert again.finish().ending == "complete"


def test_an_erased_person_may_come_again_in_the_same_transaction(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(3))
    first = Person(collection, recruiter="prolific", person="p1")
    commands: list[Command[Any]] = [Erase(participant="p1"), Arrive(recruiter="prolific", person="p1")]
    jobs = [writer.QueuedCommand(command=command, future=None, loop=None) for command in commands]
    collection._writer._transaction(jobs)
    assert [job.error for job in jobs] == [None, None]
    assert jobs[1].result.rater != first.id
    assert collection.raters()["rater"].to_list() == [jobs[1].result.rater]
