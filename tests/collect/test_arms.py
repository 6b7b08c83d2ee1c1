"""Arms: everybody in one, balanced within strata while people leave; quotas in each arm; every process agrees."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.commands import (
    Arrive,
    AskDemographics,
    Demographics,
    Erase,
    Exclude,
    Leave,
    Next,
    Questionnaire,
    Ready,
    SessionEnd,
    ShowInstructions,
    ShowTrial,
)
from heartfelt.collect.messages.errors import StudyClosed
from heartfelt.collect.options import SimulationOptions
from heartfelt.collect.session.progress.arms import least_filled
from heartfelt.collect.simulation import simulate_collection
from heartfelt.errors import HeartfeltError, InputError, StudyError
from tests.collect.faults import start, told
from tests.collect.people import Clock, Person, write_study

Make = Callable[..., Path]
Open = Callable[..., Collection]
NAMES = ("calm", "plain", "tense")
ARMS: list[dict[str, Any]] = [
    {"id": "calm", "instructions": "Listen calmly."},
    {"id": "plain"},
    {"id": "tense", "instructions": {"en": "Listen tensely.", "de": "Hör angespannt zu."}},
]
GENDER = {"id": "gender", "text": "?", "type": "choice", "choices": ["f", "m", "x"], "required": True}


def in_arms(collection: Collection) -> pl.DataFrame:
    return collection.raters().drop_nulls("arm")


def test_the_arm_with_the_fewest_relative_to_its_weight_is_next() -> None:
    rng = Random(1)
    counts: Counter[str] = Counter()
    weights = {"a": 2.0, "b": 1.0, "c": 1.0}
    for people in range(1, 41):
        counts[least_filled(weights, counts, counts, rng)] += 1
        for name, weight in weights.items():
            assert abs(counts[name] - people * weight / 4) <= 1
    drawn = Counter(least_filled(dict.fromkeys("abc", 1.0), {}, {}, rng) for _ in range(300))
    assert min(drawn.values()) > 60, "equals are drawn at random"
    assert least_filled(dict.fromkeys("abc", 1.0), {}, {"a": 3, "b": 2, "c": 3}, rng) == "b"


class Crowd:
    """People who come and go at one study, through any of its processes."""

    def __init__(self, collections: list[Collection], clock: Clock, seed: int) -> None:
        self.collections = collections
        self.clock = clock
        self.rng = Random(seed)
        self.present: list[tuple[Person, int | None]] = []

    def come(self, gender: str, leaves: bool) -> None:
        person = Person(self.rng.choice(self.collections))
        assert isinstance(person.step, AskDemographics)
        person.step = person.collection.do(Demographics(person.id, {"gender": gender}))
        assert isinstance(person.step, ShowInstructions)
        self.present.append((person, self.rng.randint(0, 4) if leaves else None))

    def work(self) -> None:
        """Somebody does one trial, or leaves: half of those say so."""
        place = self.rng.randrange(len(self.present))
        person, left = self.present[place]
        person.collection = self.rng.choice(self.collections)
        self.clock.now += 2
        if left == 0:
            if self.rng.random() < 0.5:
                person.collection.do(Leave(person.id))
            del self.present[place]
            return
        if isinstance(person.step, ShowInstructions):
            person.step = person.collection.do(Ready(person.id))
        elif isinstance(person.step, ShowTrial):
            person.answer()
            self.present[place] = (person, None if left is None else left - 1)
        if isinstance(person.step, SessionEnd):
            del self.present[place]


def balanced(collection: Collection, clock: Clock) -> None:
    """Among those who are complete or at work, arms differ by at most one in every stratum."""
    state = collection._store.state
    assert state is not None
    counts: defaultdict[object, Counter[str]] = defaultdict(Counter)
    for rater in state.raters.values():
        if rater.arm and (rater.ended == "complete" or (rater.ended is None and clock.now - rater.last < 1800)):
            counts[rater.facts["about", "gender"]][rater.arm] += 1
    for stratum in counts.values():
        sizes = [stratum[name] for name in NAMES]
        assert max(sizes) - min(sizes) <= 1, counts


@pytest.mark.slow
def test_people_in_arms_are_balanced_though_some_leave(make_study: Make, clock: Clock) -> None:
    """200 people in three arms and three strata, through two processes that start again: balanced, quotas never over."""
    design = {"ratings_per_item": 60, "stimuli_per_rater": 5, "arms": ARMS, "strata": ["gender"]}
    folder = make_study(10, design=design, demographics=[GENDER])

    def opened(seed: int) -> Collection:
        return Collection.open(folder, clock=clock, options=CollectOptions(seed=seed, durable=False))

    crowd = Crowd([opened(1), opened(2)], clock, seed=3)
    for number in range(200):
        crowd.come(crowd.rng.choice("ffmmx"), leaves=crowd.rng.random() < 0.3)
        for _ in range(4):
            if crowd.present:
                crowd.work()
        if number == 90:
            crowd.collections[0].close()
            crowd.collections[0] = opened(4)
    while crowd.present:
        crowd.work()
    clock.now += 4000
    assert len(in_arms(crowd.collections[0])) == 200
    # Those who left after the last arrival are replaced by whoever comes next.
    for gender in "fmx" * 12:
        crowd.come(gender, leaves=False)
        while crowd.present:
            crowd.work()
    counts = []
    for collection in crowd.collections:
        balanced(collection, clock)
        counts.append({arm.arm: (arm.raters, arm.complete, arm.ratings) for arm in collection.coverage().arms})
        collection.close()
    assert counts[0] == counts[1]
    again = opened(5)
    balanced(again, clock)
    coverage = again.coverage()
    assert {arm.arm: (arm.raters, arm.complete, arm.ratings) for arm in coverage.arms} == counts[0]
    sizes: list[int] = coverage.counts["complete"].to_list()
    assert max(sizes) <= 60
    assert not coverage.extra
    by_arm = [sizes[start : start + 10] for start in (0, 10, 20)]
    assert all(max(part) - min(part) <= 1 for part in by_arm), "items are balanced within each arm"
    again.close()


def test_every_arm_fills_its_own_quotas(make_study: Make, collect: Open) -> None:
    arms = [{"id": "a", "instructions": "A"}, {"id": "b", "stimuli": {"system": "x"}}]
    rows = ["stimulus,system", "s0,x", "s1,x", "s2,y", "s3,y"]
    folder = make_study(rows=rows, design={"ratings_per_item": 3, "stimuli_per_rater": 2, "arms": arms})
    collection = collect(folder)
    with pytest.raises(StudyClosed):
        for _ in range(20):
            Person(collection).finish()
    coverage = collection.coverage()
    assert (coverage.units, coverage.wanted, coverage.complete, coverage.extra) == (6, 18, 18, 0)
    assert dict(coverage.histogram) == {3: 6}
    assert dict(coverage.items.select("stimulus", "complete").iter_rows()) == {"s0": 6, "s1": 6, "s2": 3, "s3": 3}
    assert dict(coverage.items.select("stimulus", "quota").iter_rows()) == {"s0": 6, "s1": 6, "s2": 3, "s3": 3}
    ratings = collection.ratings().join(collection.raters().select("rater", "arm"), on="rater")
    assert set(ratings.filter(pl.col("arm") == "b")["stimulus"]) == {"s0", "s1"}
    assert ratings["counts"].all(), "an item counts in every arm"
    by_arm = {arm.arm: (arm.complete, arm.ratings, arm.wanted) for arm in coverage.arms}
    assert by_arm == {"a": (6, 12, 12), "b": (3, 6, 6)}


def test_an_arm_has_its_own_instructions_questions_and_probes(make_study: Make, collect: Open) -> None:
    scales = {"nine": {"type": "points", "points": 9}}
    questions = [{"id": name, "text": name, "scale": "nine"} for name in ("valence", "arousal")]
    probe = {"type": "attention", "id": "look", "text": "Choose 3.", "question": "arousal", "answer": 3}
    arms = [{"id": "both", "instructions": {"en": "Both.", "de": "Beides."}}, {"id": "one", "questions": ["valence"]}]
    folder = make_study(4, scales=scales, questions=questions, probes=[probe], design={"arms": arms})
    collection = collect(folder)
    met: dict[str, tuple[object, int]] = {}
    for _ in range(2):
        person = Person(collection)
        shown = person.step
        assert isinstance(shown, ShowInstructions)
        person.begin()
        trials = 0
        while isinstance(person.step, ShowTrial):
            met[",".join(person.trial.questions)] = (shown.text, trials := trials + 1)
            person.answer(3)
    assert met == {"valence,arousal": ({"en": "Both.", "de": "Beides."}, 5), "valence": (None, 4)}, (
        "the attention trial asks about arousal, which one arm does not"
    )


def test_the_place_of_somebody_who_goes_returns(make_study: Make, collect: Open, clock: Clock) -> None:
    collection = collect(make_study(4, design={"ratings_per_item": 50, "arms": ARMS}))

    def arms() -> dict[str, str]:
        return dict(in_arms(collection).select("rater", "arm").iter_rows())

    people = [Person(collection) for _ in range(3)]
    for person in people:
        person.begin()
    first = arms()
    assert sorted(first.values()) == sorted(NAMES)
    ways: list[Callable[[str], object]] = [
        lambda name: collection.do(Leave(name)),
        lambda name: collection.do(Exclude(name, "test")),
        lambda name: collection.erase(rater=name),
    ]
    for number, go in enumerate(ways):
        gone = people[number].id
        go(gone)
        people[number] = new = Person(collection)
        new.begin()
        assert arms()[new.id] == first.get(gone, arms()[new.id])
        first = arms()
    assert collection.do(Next(people[0].id)) == people[0].step, "asking again changes nothing"
    clock.now += 1801
    back = people[0]
    late = Person(collection)
    late.begin()
    back.answer()
    assert arms()[back.id] == first[back.id], "who comes back keeps the arm"
    assert collection.do(Erase(rater=late.id)).trials == 0
    with collection._database.reading() as connection:
        kept = connection.exec_driver_sql("SELECT count(*) FROM arms").scalar()
    assert kept == len(arms()) == 5


def test_people_who_come_together_are_spread(make_study: Make, collect: Open) -> None:
    """Whoever has only the instructions before them counts already, for as long as a lease."""
    collection = collect(make_study(4, design={"ratings_per_item": 50, "arms": ARMS}))
    for _ in range(9):
        Person(collection)
    assert sorted(in_arms(collection)["arm"]) == sorted(NAMES * 3)


def test_strata_may_be_questions_and_are_balanced_apart(make_study: Make, collect: Open) -> None:
    before = [{"id": "trained", "text": "?", "scale": "yes"}]
    scales = {"nine": {"type": "points", "points": 9}, "yes": {"type": "yes-no"}}
    design = {"ratings_per_item": 50, "arms": ARMS, "strata": ["trained"]}
    collection = collect(make_study(4, scales=scales, before=before, design=design))
    for answer in ("yes",) * 4 + ("no",) * 5 + ("yes",) * 5:
        rater = collection.do(Arrive()).rater
        collection.do(Next(rater))
        step = collection.do(Questionnaire(rater, "before", ["trained"], {"trained": answer}))
        assert isinstance(step, ShowInstructions)
        collection.do(Ready(rater))
    sizes = in_arms(collection).group_by("before_trained", "arm").len()
    assert sizes.filter(pl.col("before_trained") == "yes")["len"].to_list() == [3, 3, 3]
    assert sorted(sizes.filter(pl.col("before_trained") == "no")["len"]) == [1, 2, 2]


@pytest.mark.slow
def test_arms_show_some_sets(make_study: Make, collect: Open) -> None:
    """Pairs of three systems: an arm compares two of them, another names one set."""
    rows = ["stimulus,system,prompt", *(f"{s}{p},{s},p{p}" for s in "abc" for p in (1, 2))]
    parts: dict[str, Any] = {
        "rows": rows,
        "sets": {"type": "pair", "rule": "by-prompt"},
        "scales": {"which": {"type": "choice"}},
        "questions": [{"id": "valence", "text": "Which?", "scale": "which"}],
    }
    arms: list[dict[str, Any]] = [{"id": "two", "stimuli": {"system": ["a", "b"]}}, {"id": "one", "sets": ["a1|c1"]}]
    collection = collect(make_study(design={"ratings_per_item": 2, "arms": arms}, **parts))
    with pytest.raises(StudyClosed):
        for _ in range(9):
            person = Person(collection)
            while not isinstance(person.step, SessionEnd):
                person.answer(0) if isinstance(person.step, ShowTrial) else person.go_on()
    shown = collection.ratings().join(collection.raters().select("rater", "arm"), on="rater")
    counts = dict(shown.group_by("arm").agg(pl.col("set").unique().sort()).iter_rows())
    assert counts == {"two": ["a1|b1", "a2|b2"], "one": ["a1|c1"]}
    assert dict(collection.coverage().histogram) == {2: 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    "design", [{"order": "latin-square"}, {"order": "blocks"}, {"distinct": ["intent"]}, {"adaptive": True}]
)
@pytest.mark.parametrize("page", ["all", "one"])
def test_arms_fill_up_in_every_order(make_study: Make, collect: Open, design: dict[str, Any], page: str) -> None:
    rows = ["stimulus,system,intent", *(f"{s}{i},{s},{i}" for s in "abc" for i in "xyz")]
    questions = [{"id": name, "text": name, "scale": "nine"} for name in ("valence", "arousal")]
    arms = [{"id": "ab", "stimuli": {"system": ["a", "c"]}}, {"id": "v", "questions": ["valence"]}]
    design = {"ratings_per_item": 3, "arms": arms, "questions_per_page": page, **design}
    collection = collect(make_study(rows=rows, questions=questions, design=design))
    with pytest.raises(StudyClosed):
        for _ in range(40):
            Person(collection).finish()
    coverage = collection.coverage()
    assert coverage.complete == coverage.wanted == 3 * (6 + 9 if page == "all" else 12 + 9)
    assert not coverage.extra


@pytest.mark.parametrize(
    ("arms", "says"),
    [
        ([{"id": "a"}], "nothing to compare"),
        ([{"id": "a"}, {"id": "b"}], "all alike"),
        ([{"id": "a"}, {"id": "a", "instructions": "x"}], "two arms are called 'a'"),
        ([{"id": "a"}, {"id": "b", "questions": ["x"]}], "no question is called 'x'"),
        ([{"id": "a"}, {"id": "b", "sets": ["x"]}], "has no sets"),
        ([{"id": "a"}, {"id": "b", "stimuli": {"mood": "x"}}], "mood"),
        ([{"id": "a"}, {"id": "b", "stimuli": {"stimulus": "x"}}], "nothing to rate"),
    ],
)
def test_arms_that_make_no_sense_are_refused(make_study: Make, collect: Open, arms: Any, says: str) -> None:
    with pytest.raises(HeartfeltError, match=says):
        collect(make_study(4, design={"arms": arms}))


def test_an_arm_with_raters_stays_what_it_is(make_study: Make, collect: Open, tmp_path: Path) -> None:
    arms = [{"id": "a", "instructions": "A"}, {"id": "b"}]
    folder = make_study(4, design={"arms": arms})
    collection = collect(folder)
    person = Person(collection)
    person.begin()
    person.answer()
    collection.close()
    name = folder.name

    def edited(number: int, arms: list[dict[str, Any]]) -> Path:
        written = write_study(tmp_path / f"edit{number}", name, 4, design={"arms": arms})
        (folder / "study.yaml").write_bytes((written / "study.yaml").read_bytes())
        return folder

    changes: list[tuple[list[dict[str, Any]], str]] = [
        ([], "arms"),
        ([{"id": "a", "instructions": "other"}, {"id": "b"}], "instructions"),
        ([{"id": "a", "instructions": "A"}, {"id": "c"}], "removed"),
    ]
    for number, (change, says) in enumerate(changes):
        with pytest.raises(StudyError, match=says):
            collect(edited(number, change))
    more: list[dict[str, Any]] = [
        {"id": "a", "instructions": {"en": "A", "de": "Ä"}, "weight": 2},
        {"id": "b"},
        {"id": "c"},
    ]
    again = collect(edited(9, more))
    assert [arm.arm for arm in again.coverage().arms] == ["a", "b", "c"]


@pytest.mark.slow
def test_simulated_raters_go_through_arms_and_screeners(make_study: Make) -> None:
    folder = make_study(
        6,
        demographics=[GENDER],
        screeners=[{"id": "first", "when": {"rater": "gender", "is": "f"}}],
        probes=[{"type": "attention", "id": "look", "text": "3!", "question": "valence", "answer": 3}],
        design={"ratings_per_item": 4, "stimuli_per_rater": 3, "arms": ARMS, "strata": ["gender"]},
    )
    outcome = simulate_collection(folder, SimulationOptions(raters=40, seed=2))
    assert (outcome.stimuli, outcome.ratings, outcome.min, outcome.max) == (6, 72, 4, 4)
    assert outcome.histogram == {4: 18}, "four ratings of six stimuli in each of three arms"


@pytest.mark.slow
def test_the_journal_says_who_is_in_which_arm(make_study: Make, opened: Open) -> None:
    folder = make_study(4, design={"ratings_per_item": 9, "arms": ARMS})
    collection = opened(folder)
    for _ in range(4):
        Person(collection).begin()
    other = opened(folder, seed=9)
    with collection._database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT rater, words FROM journal WHERE kind = 'assigned' ORDER BY seq")
        journal = {row.rater: row.words for row in rows}
    for each in (collection, other):
        state = each._store.state
        assert state is not None
        assert {rater.number: rater.arm for rater in state.raters.values()} == journal
        assert json.dumps(sorted(journal.values())) == json.dumps(sorted(in_arms(each)["arm"].to_list()))


@pytest.mark.slow
def test_two_processes_agree_and_one_is_killed(make_study: Make) -> None:
    """Two processes assign arms at the same time, one dies by kill -9: nothing is over its quota, and the rest fills up."""
    folder = make_study(8, design={"ratings_per_item": 14, "stimuli_per_rater": 4, "arms": ARMS})
    Collection.open(folder).close()
    victim, other = start(folder, None, 25, 1), start(folder, None, 25, 2)
    assert victim.stdout is not None
    lines = list(islice(victim.stdout, 30))
    os.kill(victim.pid, signal.SIGKILL)
    rest, _ = victim.communicate(timeout=250)
    out, errors = other.communicate(timeout=250)
    assert other.returncode == 0, errors
    acknowledged = told([*lines, *rest.splitlines(keepends=True), *out.splitlines(keepends=True)])
    clock = Clock()
    clock.now = time.time() + 4000
    with Collection.open(folder, clock=clock, options=CollectOptions(seed=1, durable=False)) as collection:
        stored = {str(trial) for trial in collection.ratings()["trial"]}
        assert acknowledged.keys() <= stored, "no acknowledged rating is lost"
        coverage = collection.coverage()
        assert max(coverage.counts["complete"].to_list()) <= 14
        assert (coverage.extra, coverage.leased) == (0, 0)
        for _ in range(20):
            Person(collection).finish()
        sizes = {arm.arm: arm.complete for arm in collection.coverage().arms}
        assert max(sizes.values()) - min(sizes.values()) <= 1, sizes
        while collection.coverage().complete < 336:
            Person(collection).finish()
        assert dict(collection.coverage().histogram) == {14: 24}


def test_a_preview_chooses_the_arm(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(4, design={"ratings_per_item": 9, "arms": ARMS}))
    for _ in range(3):
        assert Person(collection, arm="tense").step == ShowInstructions(ARMS[2]["instructions"])
    with pytest.raises(InputError, match="no arm 'calmer'"):
        Person(collection, arm="calmer")
