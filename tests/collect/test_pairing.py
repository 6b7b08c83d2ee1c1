"""Adaptive pairing in a collection: the pairs that tell most come next, and every process agrees on what is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from heartfelt.collect import Collection
from heartfelt.collect.assign.model import AssignmentUnits, Event
from heartfelt.collect.assign.pairs import AdaptivePairs
from heartfelt.collect.assign.state import State
from heartfelt.collect.messages.commands import Exclude, ShowTrial
from tests.collect.people import Person

Open = Callable[..., Collection]
Make = Callable[..., Path]
SYSTEMS = 8


def arena(make: Make, scale: dict[str, Any], prompts: int = 3, **design: Any) -> Path:
    """Systems m0 to m7, of which the first is the best, each with a stimulus for every prompt."""
    rows = [f"m{s}_{p},m{s},{p}" for p in range(prompts) for s in range(SYSTEMS)]
    return make(
        rows=["stimulus,system,prompt", *rows],
        sets={"type": "pair"},
        scales={"it": scale},
        questions=[{"id": "better", "text": "Which is better?", "scale": "it"}],
        design={"adaptive": True, "ratings_per_item": 1, "stimuli_per_rater": 10, **design},
    )


def compare(collection: Collection, people: int, scale: str = "choice") -> list[str]:
    """People who prefer the system with the lower number; returns the sets in the order they came."""
    names = {media: stimulus for stimulus, media in collection.media_ids().items()}
    order = []
    for _ in range(people):
        person = Person(collection)
        person.begin()
        while isinstance(person.step, ShowTrial):
            trial = person.step
            assert not names, "these studies have no media"
            stored = collection._store.state
            assert stored is not None
            leased = stored.trials[int(trial.trial)]
            unit = collection._material.units[leased.unit or 0]
            first, second = (int(unit.members[place].stimulus[1]) for place in leased.order)
            value: Any = int(second < first)
            if scale == "preference":
                value = 1 if second < first else -1
            elif scale == "rank":
                value = [1, 0] if second < first else [0, 1]
            person.answer(value)
            order.append(unit.stimulus)
    return order


def met(order: list[str]) -> Counter[str]:
    return Counter(stimulus.split("_")[0] for name in order for stimulus in name.split("|"))


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["choice", "preference"])
def test_everybody_is_compared_first_and_the_sure_ones_less(scale: str, make_study: Make, opened: Open) -> None:
    collection = opened(arena(make_study, {"type": scale}))
    order = compare(collection, 6, scale)
    assert len(order) == 60
    assert len(met(order[:8])) == SYSTEMS, "the first comparisons reach everybody"
    state = collection._store.state
    assert state is not None
    assert state.demands[0].pairs is not None
    strengths = state.demands[0].pairs._pairing.strengths
    assert np.corrcoef(strengths, -np.arange(SYSTEMS))[0, 1] > 0.9, "all were answered by the number"
    far = sum(abs(int(a[1]) - int(b[1])) >= 6 for a, b in (name.split("|") for name in order[20:]))
    assert far <= 4, "what is certain is not asked again"


@pytest.mark.slow
def test_a_restart_knows_the_same(make_study: Make, opened: Open) -> None:
    folder = arena(make_study, {"type": "rank"})
    collection = opened(folder)
    compare(collection, 3, "rank")
    raters = collection.raters()["rater"].to_list()
    collection.do(Exclude(raters[0], "test"))
    earlier = collection._store.state
    assert earlier is not None
    collection.close()
    later = opened(folder)._store.state
    assert later is not None
    before, after = earlier.demands[0], later.demands[0]
    assert before.pairs is not None
    assert after.pairs is not None
    assert np.allclose(before.pairs._pairing.won, after.pairs._pairing.won)
    assert before.pairs._pairing.won.sum() == 20, "an excluded rater's answers do not count"
    assert np.array_equal(before.pairs._pairing.strengths, after.pairs._pairing.strengths)
    assert np.array_equal(before.pairs._coming, after.pairs._coming)
    assert not before.pairs._coming.any()


def big() -> AssignmentUnits:
    """100 systems and all their 4,950 pairs."""
    rows = [(i, j) for i in range(100) for j in range(i)]
    contestants = dict(enumerate(rows, 1))
    return AssignmentUnits(
        size=len(rows) + 1, units=sorted(contestants), quota=5, adaptive=True, minimum=0, contestants=contestants
    )


@pytest.mark.slow
def test_raters_who_come_together_are_spread() -> None:
    pairs, rng, layout = AdaptivePairs(big()), Random(1), big()
    leased: Counter[int] = Counter()
    for _ in range(50):
        unit = pairs.pick(lambda _: True, lambda _: 0, rng)
        assert unit is not None
        pairs.lease(unit, 1)
        leased.update(layout.contestants[unit])
    assert len(leased) == 100
    assert set(leased.values()) == {1}


@pytest.mark.slow
def test_a_large_arena_is_covered_evenly() -> None:
    layout, rng, nrng = big(), Random(1), np.random.default_rng(1)
    state = State(layout)
    state.apply(Event(1, 0.0, "arrived", 1, words="r1"))
    rater = state.raters[1]
    true = nrng.normal(size=100)
    for trial in range(1, 301):
        unit = state.pick(rater, rng)
        assert unit is not None
        first, second = layout.contestants[unit]
        state.apply(Event(2 * trial, 0.0, "leased", 1, trial, unit, words='{"order":[0,1]}'))
        won = nrng.random() < 1 / (1 + np.exp(true[second] - true[first]))
        state.apply(Event(2 * trial + 1, 0.0, "answered", 1, trial, unit, words=f'{{"q":{float(won)}}}'))
    met = Counter(system for unit in rater.seen for system in layout.contestants[unit])
    assert len(met) == 100
    assert min(met.values()) >= 3
