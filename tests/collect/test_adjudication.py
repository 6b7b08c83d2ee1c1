"""Items for senior raters: which are selected, at exact limits; decisions in both kinds of store; erasing."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.adjudicators import AddAdjudicator, Adjudicate, CheckAdjudicator, RevokeAdjudicator
from heartfelt.collect.messages.commands import Exclude, Flag, Restore
from heartfelt.collect.messages.errors import DecidedElsewhere, InvalidAnswer, UnknownAdjudicator
from heartfelt.collect.reading.adjudication import AnonymousAnswer, disagree, select
from heartfelt.collect.stored import STORE_FILE
from heartfelt.errors import InputError, UnknownNameError
from heartfelt.snapshot import load
from heartfelt.snapshot.adjudications import AdjudicationHistory
from heartfelt.study.parts.adjudication_rules import DisagreementRule
from heartfelt.study.scales.answer import NONE
from tests.cases import check_all
from tests.collect.people import Person
from tests.study.test_adjudication import study

Make = Callable[..., Path]
Open = Callable[..., Collection]
EMOTIONS = {"type": "categories", "categories": ["joy", "awe", "fear"]}
STUDY: dict[str, Any] = {
    "scales": {"emotions": EMOTIONS, "caption": {"type": "text"}, "nine": {"type": "points", "points": 9}},
    "questions": [
        {"id": "emotion", "text": "Which?", "scale": "emotions"},
        {"id": "caption", "text": "Describe it.", "scale": "caption"},
    ],
    "adjudication": {"rules": [{"type": "disagreement"}]},
    "design": {"ratings_per_item": 3, "practice": 0, "order": "manifest"},
}


def given(*answers: Any) -> list[AnonymousAnswer]:
    return [
        AnonymousAnswer(n, float(each), None) if isinstance(each, int | float) else AnonymousAnswer(n, None, each)
        for n, each in enumerate(answers)
    ]


# --- limits -----------------------------------------------------------------------------------------------------------


@check_all(
    ("scale", "limits", "answers", "selected"),
    [
        ("emotions", {}, ["joy", "joy", "awe"], False),
        ("emotions", {}, ["joy", "joy", "awe", "awe"], True),  # a half is no majority
        ("emotions", {}, ["joy", "joy", "awe", "fear"], True),
        ("emotions", {"share_at_most": 0.75}, ["joy", "joy", "joy", "fear"], True),
        ("emotions", {"share_at_most": 0.74}, ["joy", "joy", "joy", "fear"], False),
        ("emotions", {}, ["joy"], False),  # one rater does not disagree
        ("nine", {}, [1, 5], False),  # exactly half of the scale
        ("nine", {}, [1, 6], True),
        ("nine", {"range_above": 2}, [3, 5, 4], False),
        ("nine", {"range_above": 1.99}, [3, 5, 4], True),
        ("nine", {"sd_above": 1}, [3, 5, 4], False),  # the standard deviation of 3, 4, 5 is 1
        ("nine", {"sd_above": 0.999}, [3, 5, 4], True),
        ("nine", {"range_above": 3, "sd_above": 0.9}, [3, 5, 4], True),  # either limit
        ("nine", {}, [3, NONE], True),  # half of them say that there is none
        ("nine", {}, [3, 3, NONE], False),
        ("nine", {}, [NONE, NONE], False),
        ("tags", {}, ["dog;cat", "dog"], False),  # half of their tags are shared
        ("tags", {"overlap_below": 0.51}, ["dog;cat", "dog"], True),
        ("tags", {}, ["dog", "cat", "dog"], True),  # the mean of 0, 1 and 0 is a third
        ("tags", {}, [NONE, NONE], False),
        ("tags", {}, [NONE, "dog"], True),
        ("caption", {}, ["A dog.", "a  DOG."], False),  # case and spaces aside, the same
        ("caption", {}, ["A dog.", "A cat."], True),
        ("caption", {}, ["A dog.", "A cat.", "A cat."], False),
    ],
)
def test_disagreement_at_its_limits(scale: str, limits: dict[str, float], answers: list[Any], selected: bool) -> None:
    here = study({"rules": [{"type": "all"}]}, scale)
    rule = DisagreementRule(type="disagreement", **limits)
    assert disagree(rule, here.scale_of(f"q_{scale}"), given(*answers)) is selected


def test_every_rule_selects_what_it_says_and_names_itself() -> None:
    rules = [
        {"type": "disagreement"},
        {"type": "rejected", "at_least": 2},
        {"type": "planted"},
        {"type": "flagged", "at_least": 2},
    ]
    here = study({"rules": rules}, "tags", quota=2)
    accepted, rejected = (AnonymousAnswer(1, None, "dog", "accepted"), AnonymousAnswer(2, None, None, "rejected"))
    planted = AnonymousAnswer(3, None, "cat", "accepted", planted=True)
    caught = AnonymousAnswer(4, None, "dog", "fixed", planted=True)
    item = ("s", "q_tags")

    def chosen(*answers: AnonymousAnswer, flags: int = 0, trials: int = 2) -> tuple[str, ...]:
        return select(here, {item: answers}, {"s": trials}, {"s": flags}).get(item, ())

    assert chosen(accepted, accepted) == ()
    assert chosen(accepted, rejected) == ()
    assert chosen(rejected, rejected) == ("rejected",)
    assert chosen(accepted, planted) == ("planted",), "and an answer under a planted value is no disagreement"
    assert chosen(accepted, caught) == ()
    assert chosen(accepted, accepted, flags=1) == ()
    assert chosen(accepted, accepted, flags=2) == ("flagged",)
    assert chosen(accepted, AnonymousAnswer(5, None, "cat"), planted, flags=3) == ("disagreement", "planted", "flagged")
    assert chosen(rejected, rejected, trials=1) == (), "not before the quota is full"


@pytest.mark.slow
def test_the_random_share_is_the_same_every_time_and_about_as_large_as_said() -> None:
    here = study({"rules": [{"type": "random", "share": 0.2}], "after": 1})
    items = {(f"s{n}", "q_emotions"): (AnonymousAnswer(n, 0.0, "joy"),) for n in range(5000)}
    trials = {f"s{n}": 1 for n in range(5000)}
    first = select(here, items, trials, {})
    assert first == select(here, dict(reversed(items.items())), trials, {})
    # A binomial count of 5000 at 0.2 has a standard deviation of 28: five of them are 142.
    assert abs(len(first) - 1000) < 142
    other = select(here.changed(seed=1), items, trials, {})
    assert other.keys() != first.keys()


# --- the store --------------------------------------------------------------------------------------------------------


def collected(opened: Open, folder: Path) -> tuple[Collection, list[Person]]:
    """Three raters and two stimuli: they disagree about s0 and agree about s1."""
    collection = opened(folder)
    people = [Person(collection, recruiter="prolific", person=f"p{n}") for n in range(3)]
    for person, emotion, caption in zip(people, ("joy", "awe", "fear"), ("A", "B", "B"), strict=True):
        person.begin()
        for _ in range(2):
            stimulus = collection.media(person.trial.media or "")
            assert stimulus is None, "there are no media"
            first = person.trial.number == 1
            values = {"emotion": emotion if first else "joy", "caption": caption if first else "same"}
            person.answer(values=values)
    return collection, people


def decide(collection: Collection, who: str, value: Any, question: str = "emotion", **more: Any) -> Any:
    state = collection.adjudication()
    item = next(each for each in state.items if (each.stimulus, each.question) == ("s0", question))
    trials = tuple(answer.trial for answer in item.answers)
    rule = ",".join(item.rules)
    told: dict[str, Any] = {"key": f"k{state.change}", "seen": state.change, "trials": trials, **more}
    return collection.do(Adjudicate(who, stimulus="s0", question=question, value=value, rule=rule, **told))


def history(collection: Collection, question: str = "emotion") -> tuple[dict[str, Any], AdjudicationHistory]:
    frozen = collection.snapshot(excluded=False)
    row = frozen.adjudications.filter(pl.col("question") == question).to_dicts()[0]
    return row, AdjudicationHistory.read(row["history"])


@pytest.mark.slow
def test_items_wait_are_decided_and_keep_their_history(make_study: Make, opened: Open, tmp_path: Path) -> None:
    folder = make_study(2, **STUDY)
    collection, people = collected(opened, folder)
    before = collection.snapshot()
    assert "adjudications" not in before.table_hashes, "a snapshot without decisions keeps its hash"
    state = collection.adjudication()
    assert [(item.stimulus, item.question, item.rules) for item in state.items] == [
        ("s0", "emotion", ("disagreement",))
    ]
    assert (state.waiting, state.decided) == (1, 0)

    senior = collection.do(AddAdjudicator("the first"))
    made = decide(collection, senior, "awe", comment="It towers.")
    assert made.status == "stored"
    assert (collection.adjudication().waiting, collection.adjudication().decided) == (0, 1)
    again = collection.do(
        Adjudicate(senior, stimulus="s0", question="emotion", value="awe", key=f"k{state.change + 1}", seen=0, rule="")
    )
    assert again == type(made)(made.seq, "already"), "sent twice, stored once"

    row, past = history(collection)
    assert (row["stimulus"], row["value"], row["answer"], row["rule"]) == ("s0", 1.0, "awe", "disagreement")
    assert (row["by"], row["comment"], row["decisions"]) == (senior, "It towers.", 1)
    ids = {person.id for person in people}
    assert {answer.rater for answer in past.answers} == ids
    assert {answer.answer for answer in past.answers} == {"joy", "awe", "fear"}

    decide(collection, senior, "fear")
    row, past = history(collection)
    assert (row["answer"], row["decisions"]) == ("fear", 2), "the latest is final"
    assert [(each.answer, each.by, each.comment) for each in past.decisions] == [("awe", senior, "It towers.")]

    latest = collection.decision_before(senior, 2**62)
    assert latest is not None
    assert (latest[:2], latest[2].answer, len(latest[2].trials)) == (("s0", "emotion"), "fear", 3)
    first = collection.decision_before(senior, latest[2].seq)
    assert first is not None
    assert (first[2].answer, first[2].comment, first[2].draft) == ("awe", "It towers.", None)
    assert collection.decision_before(senior, first[2].seq) is None

    target = collection.snapshot().write(tmp_path / "frozen")
    assert load(target).adjudications.equals(collection.snapshot().adjudications)
    assert collection.adjudicators().row(0, named=True)["decisions"] == 2
    assert collection.adjudicators()["note"].to_list() == ["the first"]


@pytest.mark.slow
def test_two_seniors_do_not_overwrite_each_other(make_study: Make, opened: Open) -> None:
    collection, _ = collected(opened, make_study(2, **STUDY))
    first, second = collection.do(AddAdjudicator()), collection.do(AddAdjudicator())
    seen = collection.adjudication().change
    decide(collection, first, "joy")
    with pytest.raises(DecidedElsewhere, match="in the meantime"):
        decide(collection, second, "awe", seen=seen, key="other")
    assert history(collection)[0]["answer"] == "joy"
    decide(collection, second, "awe")
    assert history(collection)[0]["answer"] == "awe", "whoever has seen the decision may revise it"


def test_a_decision_is_an_answer_on_the_questions_scale(make_study: Make, opened: Open) -> None:
    collection, _ = collected(opened, make_study(2, **STUDY))
    senior = collection.do(AddAdjudicator())
    wrong: Any
    for wrong in ("rapture", "", None, [], {"best": 1}, "x" * 30_000):
        with pytest.raises(InvalidAnswer):
            decide(collection, senior, wrong)
    with pytest.raises(InvalidAnswer):
        collection.do(
            Adjudicate(senior, stimulus="s0", question="nothing", value="joy", key="k", seen=10**9, rule="all")
        )
    assert collection.adjudication().decided == 0


@pytest.mark.slow
def test_none_can_be_decided_where_raters_may_say_it(make_study: Make, collect: Open) -> None:
    questions = [{**STUDY["questions"][0], "none": True}, STUDY["questions"][1]]
    collection, _ = collected(collect, make_study(2, **{**STUDY, "questions": questions}))
    senior = collection.do(AddAdjudicator())
    decide(collection, senior, NONE)
    row, _ = history(collection)
    assert (row["value"], row["answer"]) == (None, NONE)
    plain, _ = collected(collect, make_study(2, **STUDY))
    with pytest.raises(InvalidAnswer):
        decide(plain, plain.do(AddAdjudicator()), NONE)


@pytest.mark.slow
def test_links_are_revoked_at_once_and_in_other_processes_too(make_study: Make, opened: Open) -> None:
    folder = make_study(2, **STUDY)
    collection, _ = collected(opened, folder)
    elsewhere = opened(folder)
    senior = elsewhere.do(AddAdjudicator("from another process"))
    collection.do(CheckAdjudicator(senior))
    decide(collection, senior, "joy")
    elsewhere.do(RevokeAdjudicator(senior))
    elsewhere.do(RevokeAdjudicator(senior))
    for refused in (CheckAdjudicator(senior), CheckAdjudicator("a0")):
        with pytest.raises(UnknownAdjudicator):
            collection.do(refused)
    with pytest.raises(UnknownAdjudicator):
        decide(collection, senior, "awe")
    assert collection.adjudicators()["active"].to_list() == [False]
    assert elsewhere.adjudication().decided == 1, "what was decided stays"
    with pytest.raises(UnknownNameError):
        collection.do(RevokeAdjudicator("nobody"))


@pytest.mark.slow
def test_excluded_raters_do_not_count(make_study: Make, opened: Open) -> None:
    collection, people = collected(
        opened,
        make_study(
            2, **{**STUDY, "adjudication": {"rules": [{"type": "disagreement"}], "after": 2, "questions": ["emotion"]}}
        ),
    )
    collection.do(Exclude(people[0].id, "careless"))
    [item] = collection.adjudication().items
    assert {answer.answer for answer in item.answers} == {"awe", "fear"}
    senior = collection.do(AddAdjudicator())
    collection.do(Restore(people[0].id))
    decide(collection, senior, "joy")
    collection.do(Exclude(people[0].id, "careless"))
    _, past = history(collection)
    assert {answer.answer: answer.excluded for answer in past.answers} == {"joy": True, "awe": False, "fear": False}
    collection.do(Exclude(people[1].id, "careless"))
    assert collection.adjudication().decided == 1, "a decision stays, whoever is excluded later"


def test_a_problem_that_raters_report_selects_every_question(make_study: Make, opened: Open) -> None:
    rules = {"adjudication": {"rules": [{"type": "flagged"}], "after": 1}}
    collection = opened(make_study(2, **{**STUDY, **rules}))
    person = Person(collection)
    person.begin()
    collection.do(Flag(person.id, person.trial.trial, reason="blurred"))
    person.answer(values={"emotion": "joy", "caption": "A blur."})
    assert [(item.stimulus, item.question) for item in collection.adjudication().items] == [
        ("s0", "emotion"), ("s0", "caption")]  # fmt: skip


@pytest.mark.slow
def test_erasing_a_rater_removes_their_answers_and_their_words(make_study: Make, opened: Open) -> None:
    everything = {**STUDY, "adjudication": {"rules": [{"type": "all"}]}}
    collection, people = collected(opened, make_study(2, **everything))
    senior = collection.do(AddAdjudicator())
    decide(collection, senior, "joy")
    decide(collection, senior, "A", "caption")
    collection.erase(rater=people[0].id)
    row, past = history(collection)
    assert row["answer"] == "joy", "a category is the senior rater's own"
    assert (len(past.answers), past.erased) == (2, 1)
    assert people[0].id not in row["history"]
    decided = {item.question for item in collection.adjudication().items if item.decisions}
    assert decided == {"emotion"}, "the text they wrote is gone, and the caption waits for its ratings again"


@pytest.mark.slow
def test_erasing_a_senior_rater_removes_their_decisions(make_study: Make, opened: Open) -> None:
    folder = make_study(2, **STUDY)
    collection, _ = collected(opened, folder)
    first, second = collection.do(AddAdjudicator()), collection.do(AddAdjudicator("Narnia"))
    decide(collection, first, "joy")
    decide(collection, second, "awe")
    assert collection.erase_adjudicator(second) == 1
    row, past = history(collection)
    assert (row["answer"], row["by"], past.decisions) == ("joy", first, ())
    decide(collection, first, "fear")
    assert collection.erase_adjudicator(first) == 2
    assert (collection.adjudication().waiting, collection.adjudication().decided) == (1, 0)
    assert collection.adjudicators().height == 0
    store = folder / STORE_FILE
    if store.exists():
        assert b"Narnia" not in store.read_bytes()
    third = collection.do(AddAdjudicator())
    decide(collection, third, "joy")
    assert collection.adjudication().decided == 1


def test_a_store_from_before_is_brought_up_to_date(make_study: Make, collect: Open) -> None:
    folder = make_study(2)
    collect(folder).close()
    with sqlite3.connect(folder / STORE_FILE) as store:
        names = {row[0] for row in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"adjudications", "adjudicators"} <= names
    reopened = collect(folder)
    assert reopened.adjudication().items == ()
    with pytest.raises(InputError, match="has no adjudication"):
        reopened.do(AddAdjudicator())


@pytest.mark.slow
def test_killed_right_after_a_decision(make_study: Make) -> None:
    """Once it is acknowledged it is stored, whatever happens to the process."""
    folder = make_study(2, **STUDY)
    code = textwrap.dedent(
        """
        import os, signal, sys
        from heartfelt.collect import Collection
        from heartfelt.collect.messages.adjudicators import AddAdjudicator
        from tests.collect.test_adjudication import collected, decide
        collection, _ = collected(Collection.open, sys.argv[1])
        senior = collection.do(AddAdjudicator())
        decide(collection, senior, "awe", key="first")
        decide(collection, senior, "fear", key="second")
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code, str(folder)], cwd=root, timeout=120)
    assert done.returncode == -signal.SIGKILL
    with Collection.open(folder) as collection:
        row, past = history(collection)
        assert (row["answer"], [each.answer for each in past.decisions]) == ("fear", ["awe"])
        again = decide(collection, row["by"], "fear", key="second", seen=0)
        assert again.status == "already"


def test_the_journal_names_nobody(make_study: Make, opened: Open) -> None:
    collection, _ = collected(opened, make_study(2, **STUDY))
    senior = collection.do(AddAdjudicator("a note"))
    decide(collection, senior, "joy", key="secret")
    with collection._database.reading() as connection:
        rows = connection.exec_driver_sql(
            "SELECT kind, words FROM journal WHERE kind IN ('adjudicated', 'noted')"
        ).all()
    assert senior not in str(rows)
    assert "a note" not in str(rows)
    assert [json.loads(words) for kind, words in rows if kind == "adjudicated"] == [["s0", "emotion", "secret"]]
