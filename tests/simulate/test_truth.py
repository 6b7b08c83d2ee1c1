from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from heartfelt import simulate
from heartfelt.errors import InputError
from heartfelt.simulate import ConveyanceProfile, TruthOptions

WIDE = TruthOptions(low=-1e6, high=1e6)


def test_the_formula_is_exact_without_noise() -> None:
    convey = ConveyanceProfile({"valence": 0.5, "arousal": 0.9}, {"valence": 1.0, "arousal": -0.5})
    options = TruthOptions(systems={"A": convey}, cell_sd=0.0)
    planted = simulate.truth(simulate.stimuli(["A"], per_cell=2), options)
    valence = planted.filter(question="valence")
    assert np.allclose(valence["true"], 5 + 0.5 * (valence["intended"] - 5) + 1.0)
    arousal = planted.filter(question="arousal")
    assert np.allclose(arousal["true"], 5 + 0.9 * (arousal["intended"] - 5) - 0.5)
    assert planted.height == 2 * 12 * 2


@pytest.mark.slow
def test_planted_spreads_are_there() -> None:
    stimuli = simulate.stimuli([f"S{k}" for k in range(40)], per_cell=40)
    options = replace(WIDE, gain=0.7, gain_sd=0.15, shift_sd=0.4, cell_sd=0.3, stimulus_sd=0.5)
    for question in options.questions:
        planted = simulate.truth(stimuli, options, seed=2).filter(question=question)
        own = (planted["true"] - planted["cell_mean"]).to_numpy()
        assert abs(own.mean()) < 4 * 0.5 / np.sqrt(own.size)
        assert own.std() == pytest.approx(0.5, rel=4 / np.sqrt(2 * own.size))
        cells = planted.unique(["system", "intent"])
        cell = (cells["cell_mean"] - cells["expected"]).to_numpy()
        assert cell.std() == pytest.approx(0.3, rel=4 / np.sqrt(2 * cell.size))
        fits = [
            np.polyfit(part["intended"].to_numpy() - 5, part["expected"].to_numpy() - 5, 1)
            for part in cells.partition_by("system")
        ]
        gain, shift = np.array(fits).T
        assert gain.mean() == pytest.approx(0.7, abs=4 * 0.15 / np.sqrt(40))
        assert gain.std() == pytest.approx(0.15, rel=0.45)
        assert shift.std() == pytest.approx(0.4, rel=0.45)


def test_a_named_conveyance_sets_its_own_spread() -> None:
    options = replace(WIDE, systems={"A": ConveyanceProfile(noise=1.5)}, stimulus_sd=0.2)
    planted = simulate.truth(simulate.stimuli(["A", "B"], per_cell=200), options)
    spread = planted.group_by("system").agg((pl.col("true") - pl.col("cell_mean")).std()).sort("system")
    assert spread["true"].to_list() == pytest.approx([1.5, 0.2], rel=0.06)


def test_truth_is_held_on_the_scale_and_does_not_depend_on_row_order() -> None:
    stimuli = simulate.stimuli(per_cell=5)
    options = TruthOptions(shift_sd=3.0)
    planted = simulate.truth(stimuli, options, seed=1)
    assert planted["true"].min() == 1.0
    assert planted["true"].max() == 9.0
    shuffled = simulate.truth(stimuli.sample(fraction=1.0, shuffle=True, seed=3), options, seed=1)
    key = ["question", "stimulus"]
    assert planted.sort(key).equals(shuffled.sort(key))
    assert not planted.equals(simulate.truth(stimuli, options, seed=2))


def test_adding_a_system_does_not_move_the_others_profile() -> None:
    few = simulate.truth(simulate.stimuli(["A"], per_cell=1), seed=4)
    more = simulate.truth(simulate.stimuli(["A", "B"], per_cell=1), seed=4).filter(system="A")
    assert few["expected"].equals(more["expected"])
    assert few["cell_mean"].equals(more["cell_mean"])


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pl.DataFrame({"stimulus": ["a"], "system": ["A"], "intent": ["x"], "valence": [1.0]}), "no column 'arousal'"),
        (simulate.stimuli(["A"], per_cell=1).with_columns(system=pl.lit(None, pl.String)), "gaps"),
        (simulate.stimuli(["A"], per_cell=1).with_columns(stimulus=pl.lit("a")), "share an id"),
        (simulate.stimuli(["A"], per_cell=1).with_columns(valence=pl.lit(np.inf)), "finite"),
    ],
)
def test_unusable_stimuli_are_refused(frame: pl.DataFrame, words: str) -> None:
    with pytest.raises(InputError, match=words):
        simulate.truth(frame)


def test_impossible_options_are_refused() -> None:
    with pytest.raises(InputError):
        TruthOptions(cell_sd=-1.0)
    with pytest.raises(InputError):
        TruthOptions(neutral=10.0)
    with pytest.raises(InputError):
        ConveyanceProfile(noise=-1.0)
    with pytest.raises(InputError):
        simulate.stimuli([], per_cell=1)
