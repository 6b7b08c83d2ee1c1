"""The simulator drives the real collection. AImoclips' own numbers must end with every clip within one rating."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from heartfelt.collect.options import SimulationOptions
from heartfelt.collect.simulation import simulate_collection
from heartfelt.errors import InputError
from heartfelt.simulate.sessions.random_answers import simulated_answer
from heartfelt.study import load_study, parse_study
from heartfelt.study.recipes import RECIPES, recipe_study, recipe_text
from heartfelt.study.scales.set_scale import SetScale
from tests.cases import check_all

Make = Callable[..., Path]


@pytest.fixture
def aimoclips(tmp_path: Path) -> Path:
    """The published design with its 1,008 clips: 6 systems x 12 intents x 14, no media."""
    folder = tmp_path / "aimoclips"
    folder.mkdir()
    (folder / "study.yaml").write_text(recipe_text("aimoclips"), encoding="utf-8")
    study = load_study(folder)
    rows = [
        f"{system.id}_{intent.id}_{number},{system.id},{intent.id},{system.id}/{number}.wav"
        for system in study.systems
        for intent in study.intents
        for number in range(14)
    ]
    (folder / "stimuli.csv").write_text("\n".join(["stimulus,system,intent,path", *rows]), encoding="utf-8")
    return folder


@pytest.mark.slow
def test_aimoclips_at_the_same_cost(aimoclips: Path) -> None:
    """SOURCE: Go et al. (2025): 1,008 clips, 111 raters x 56 trials; 17 clips were lost to uneven assignment."""
    outcome = simulate_collection(aimoclips, SimulationOptions(raters=111, trials=56, dropout=0.25, seed=2))
    assert outcome.stimuli == 1008
    assert outcome.max - outcome.min <= 1
    assert outcome.lost_stimuli == 0
    assert outcome.max <= 6
    assert outcome.ratings == sum(count * stimuli for count, stimuli in outcome.histogram.items())
    assert outcome.ratings <= 111 * 56
    assert sum(outcome.histogram.values()) == 1008
    assert 10 <= outcome.left <= 50


@pytest.mark.slow
def test_the_same_seed_gives_the_same_outcome(make_study: Make) -> None:
    folder = make_study(20, design={"ratings_per_item": 3, "stimuli_per_rater": 8})
    options = SimulationOptions(raters=7, dropout=0.3, seed=5)
    first, second = simulate_collection(folder, options), simulate_collection(folder, options)
    assert first == second
    assert simulate_collection(folder, SimulationOptions(raters=7, dropout=0.3, seed=6)) != first


@pytest.mark.slow
def test_as_many_raters_as_the_design_needs(make_study: Make) -> None:
    folder = make_study(20, design={"ratings_per_item": 3, "stimuli_per_rater": 10})
    outcome = simulate_collection(folder)
    assert outcome.raters == 6
    assert outcome.histogram == {3: 20}
    assert outcome.turned_away == 0


def test_those_who_come_when_it_is_full_are_turned_away(make_study: Make) -> None:
    outcome = simulate_collection(make_study(4, design={"ratings_per_item": 1}), SimulationOptions(raters=5))
    assert outcome.ratings == 4
    assert outcome.turned_away + outcome.raters == 5
    assert outcome.turned_away > 0


@pytest.mark.slow
def test_nothing_is_left_in_the_study_folder(make_study: Make) -> None:
    folder = make_study(4)
    before = sorted(path.name for path in folder.iterdir())
    simulate_collection(folder)
    assert sorted(path.name for path in folder.iterdir()) == before


@check_all("recipe", RECIPES)
def test_every_scale_of_the_recipes_can_be_answered(recipe: str) -> None:
    study, rng = recipe_study(recipe), np.random.default_rng(random.Random(1).randint(0, 9))
    for question in study.asked:
        scale = study.scale_of(question.id)
        members = 4 if study.sets is None else study.sets.judged or 4
        for _ in range(5):
            answer = simulated_answer(scale, rng, members)
            if isinstance(scale, SetScale):
                scale.read_set(answer, members)
            else:
                scale.read(answer)


def test_open_ended_numbers_can_be_answered() -> None:
    study = parse_study(
        "name: n\nscales: {free: {type: numeric}, above: {type: numeric, low: 3}}\n"
        "questions: [{id: a, text: a, scale: free}, {id: b, text: b, scale: above}]"
    )
    rng = np.random.default_rng(1)
    assert study.scale_of("b").read(simulated_answer(study.scale_of("b"), rng))[0] >= 3  # type: ignore[operator]  # a number on this scale
    study.scale_of("a").read(simulated_answer(study.scale_of("a"), rng))


@pytest.mark.parametrize("wrong", [{"dropout": 1.0}, {"dropout": -0.1}, {"raters": 0}, {"trials": 0}])
def test_simulations_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        SimulationOptions(**wrong)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sets", "scale"),
    [
        ({"type": "pair", "rule": "blocks"}, {"type": "choice", "ties": True}),
        ({"type": "abx", "rule": "blocks"}, {"type": "choice"}),
        ({"type": "ranking", "rule": "blocks", "size": 4}, {"type": "rank"}),
        (None, {"type": "trace"}),
    ],
)
def test_studies_with_sets_and_traces(
    sets: dict[str, object] | None, scale: dict[str, object], make_study: Make
) -> None:
    parts: dict[str, object] = {"scales": {"it": scale}, "questions": [{"id": "q", "text": "?", "scale": "it"}]}
    if sets is not None:
        parts["sets"] = sets
    outcome = simulate_collection(make_study(6, **parts))
    assert outcome.histogram == {2: outcome.stimuli}
    assert outcome.stimuli == (6 if sets is None else 15 if sets["type"] != "ranking" else outcome.stimuli)
