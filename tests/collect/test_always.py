"""Stimuli that every rater gets, next to a random part of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.errors import StudyFull
from heartfelt.collect.options import SimulationOptions
from heartfelt.collect.simulation import simulate_collection
from heartfelt.collect.versions import edits
from heartfelt.errors import HeartfeltError, StudyError
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.formats.study_folder.set_plan import plan_sets
from heartfelt.study import parse_study
from tests.collect.people import Person

Make = Callable[..., Path]
Open = Callable[..., Collection]
ALWAYS = ["s3", "s7"]


def per_rater(collection: Collection) -> dict[str, list[str]]:
    """The stimuli of every rater in the order rated."""
    rows = collection.ratings().filter(pl.col("kind") == "rating").sort("position")
    return {str(key[0]): part["stimulus"].to_list() for key, part in rows.partition_by("rater", as_dict=True).items()}


def until_full(collection: Collection) -> list[str]:
    """People come until nobody is admitted; how each ended."""
    endings: list[str] = []
    while True:
        try:
            endings.append(Person(collection).finish().ending)
        except StudyFull:
            return endings


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"batch": 3}, {"order": "manifest"}])
def test_everybody_gets_them_and_the_quota_of_the_others_is_filled_exactly(
    make_study: Make, collect: Open, more: dict[str, Any]
) -> None:
    design = {"ratings_per_item": 3, "stimuli_per_rater": 6, "always": ALWAYS, **more}
    collection = collect(make_study(12, design=design))
    # Ten others with three ratings each are 30 answers: seven raters with four of them, and one with the last two.
    assert until_full(collection) == ["complete"] * 8
    rated = per_rater(collection)
    assert all(set(ALWAYS) <= set(stimuli) for stimuli in rated.values())
    counts = Counter(stimulus for stimuli in rated.values() for stimulus in stimuli)
    assert {name: count for name, count in counts.items() if name not in ALWAYS} == {
        f"s{n}": 3 for n in range(12) if f"s{n}" not in ALWAYS
    }
    coverage = collection.coverage()
    assert (coverage.complete, coverage.wanted, coverage.extra) == (30, 30, 0)
    assert collection.ratings()["counts"].all()
    listed = coverage.items.filter(pl.col("stimulus").is_in(ALWAYS))
    assert (listed["complete"] + listed["extra"]).to_list() == [8, 8]
    if "order" in more:
        whole = [stimuli for stimuli in rated.values() if len(stimuli) == 6]
        assert any(stimuli == sorted(stimuli, key=lambda name: int(name[1:])) for stimuli in whole)


@pytest.mark.slow
def test_they_come_at_any_place_in_the_order(make_study: Make, collect: Open) -> None:
    design = {"ratings_per_item": 40, "stimuli_per_rater": 6, "always": ["s3"]}
    collection = collect(make_study(12, design=design))
    for _ in range(60):
        Person(collection).finish()
    places = Counter(stimuli.index("s3") for stimuli in per_rater(collection).values())
    assert set(places) == set(range(6))
    assert max(places.values()) <= 20


@pytest.mark.slow
def test_a_set_for_everybody(make_study: Make, collect: Open) -> None:
    rows = ["stimulus,system,prompt", *(f"{system}{n},{system},p{n}" for n in range(6) for system in "ab")]
    folder = make_study(
        rows=rows,
        sets={"type": "ranking"},
        scales={"rank": {"type": "rank"}},
        questions=[{"id": "q", "text": "Order?", "scale": "rank"}],
        design={"ratings_per_item": 2, "stimuli_per_rater": 3, "always": ["p4"]},
    )
    collection = collect(folder)
    for _ in range(5):
        person = Person(collection)
        for _ in person.rate(0):
            pass
        while not hasattr(person.step, "ending"):
            person.answer([0, 1])
    sets = collection.snapshot().ratings.unique(["rater", "trial"]).group_by("rater").agg("set")
    assert all("p4" in names and len(names) == 3 for names in sets["set"])
    outcome = simulate_collection(folder, SimulationOptions(seed=2))
    # Five other sets with two answers each are five raters with two of them.
    assert (outcome.raters, outcome.min, outcome.max) == (5, 2, 2)
    plan = plan_sets(open_study(folder))
    assert plan is not None
    assert (plan.per_rater, plan.raters) == (3, 5)


@pytest.mark.slow
def test_adaptive_studies_spend_their_budget_on_the_others(make_study: Make, collect: Open) -> None:
    design = {"ratings_per_item": 3, "stimuli_per_rater": 4, "always": ["s0"], "adaptive": True}
    collection = collect(make_study(7, design=design))
    assert len(until_full(collection)) == 6
    counts = Counter(stimulus for stimuli in per_rater(collection).values() for stimulus in stimuli)
    assert counts["s0"] == 6
    assert sum(counts.values()) - counts["s0"] == 18


@pytest.mark.parametrize(
    ("design", "problem"),
    [
        ("{always: [a]}", "needs 'stimuli_per_rater'"),
        ("{always: [a, b], stimuli_per_rater: 2}", "leave no room"),
        ("{always: [a], stimuli_per_rater: 3, order: blocks}", "needs 'order: random'"),
        ("{always: [a], stimuli_per_rater: 3, practice_stimuli: [a]}", "'a' is a practice stimulus"),
        ("{playback: restart}", "a picture does not play"),
    ],
)
def test_what_cannot_be_is_refused(design: str, problem: str) -> None:
    text = (
        "name: s\nmedia: image\nscales: {n: {type: points, points: 5}}\nquestions: [{id: q, text: Q, scale: n}]\n"
        f"design: {design}\n"
    )
    with pytest.raises(StudyError, match=problem):
        parse_study(text)


def test_a_name_that_is_not_there_is_refused(make_study: Make, collect: Open) -> None:
    folder = make_study(4, design={"stimuli_per_rater": 2, "always": ["s9"]})
    with pytest.raises(HeartfeltError, match=r"stimulus.*set.*'s9'"):
        collect(folder)


@pytest.mark.parametrize(
    ("part", "breaking"),
    [
        ("design: {stimuli_per_rater: 4, always: [a]}", False),
        ("design: {stimuli_per_rater: 4, playback: restart}", False),
        ("sets: {type: reference, reference: A, hidden_reference: true}", False),
        ("sets: {type: reference, reference: A, reference_first: true}", True),
    ],
)
def test_which_of_the_new_keys_may_change_in_a_running_study(part: str, breaking: bool) -> None:
    plain = "design: {stimuli_per_rater: 4}\nsets: {type: reference, reference: A}\n"
    text = "name: s\nscales: {n: {type: points, points: 5}}\nquestions: [{id: q, text: Q, scale: n}]\n"
    key = part.partition(":")[0]
    changed = "".join(line if not line.startswith(key) else f"{part}\n" for line in plain.splitlines(keepends=True))
    (edit,) = edits(parse_study(text + plain), parse_study(text + changed))
    assert edit.breaking == breaking
