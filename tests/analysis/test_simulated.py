"""What was planted in a simulated study comes out of its analysis."""

from __future__ import annotations

import polars as pl
import pytest

from heartfelt import simulate
from heartfelt.analysis import Analysis, AnalyzeOptions, analyze
from heartfelt.simulate.conveyed_emotion import ConveyanceProfile
from tests.analysis.made import simulated, summary_of

pytestmark = pytest.mark.slow  # what they look at takes seconds to make

GAINS = {"Sinewood": (0.4, 0.5), "Pluckbox": (0.9, 0.0), "Brassline": (0.6, -0.6), "Chipling": (0.2, 0.3)}


@pytest.fixture(scope="module")
def planted() -> tuple[simulate.SimulatedRatings, Analysis]:
    table = simulate.stimuli(per_cell=8)
    both = ("valence", "arousal")
    profiles = {
        name: ConveyanceProfile(dict.fromkeys(both, gain), dict.fromkeys(both, shift), 0.4)
        for name, (gain, shift) in GAINS.items()
    }
    options = simulate.TruthOptions(systems=profiles, cell_sd=0.0)
    mix = simulate.RaterMix(shares={"ignores-stimulus": 0.1}, gain_sd=0.1, bias_sd=0.4)
    sim = simulate.study_ratings(
        table, 60, truth_options=options, mix=mix, design=simulate.DesignOptions(per_rater=48), seed=7
    )
    return sim, analyze(simulated(sim, table), AnalyzeOptions(policy="default", resamples=200))


def test_careless_raters_are_left_out(planted: tuple[simulate.SimulatedRatings, Analysis]) -> None:
    sim, result = planted
    careless = set(sim.raters.filter(pl.col("kind") != "honest")["rater"])
    dropped = set(summary_of(result)["screening"]["dropped_by_default"])
    assert len(careless) == 6
    assert len(dropped & careless) >= 5
    assert len(dropped - careless) <= 3


@pytest.mark.parametrize("question", ["valence", "arousal"])
def test_planted_slopes_are_recovered(planted: tuple[simulate.SimulatedRatings, Analysis], question: str) -> None:
    sim, result = planted
    truth = sim.truth.filter(pl.col("question") == question)
    for row in summary_of(result)["slopes"]:
        if row["question"] != question or row["system"] == "all":
            continue
        mine = truth.filter(pl.col("system") == row["system"])
        slope = mine.select(pl.cov("true", "intended") / pl.var("intended")).item()
        assert slope == pytest.approx(GAINS[row["system"]][0], abs=0.08)
        assert row["slope"]["value"] == pytest.approx(slope, abs=0.1)
        assert row["slope"]["low"] - 0.03 <= slope <= row["slope"]["high"] + 0.03


def test_planted_shifts_are_recovered(planted: tuple[simulate.SimulatedRatings, Analysis]) -> None:
    sim, result = planted
    true = sim.truth.group_by("system", "question").agg((pl.col("true") - pl.col("intended")).mean().alias("shift"))
    shift = {(system, question): value for system, question, value in true.iter_rows()}
    inside = 0
    for row in summary_of(result)["systems"]:
        planted_shift = shift[(row["system"], row["question"])]
        assert row["deviation"]["value"] == pytest.approx(planted_shift, abs=0.35)
        inside += row["deviation"]["low"] <= planted_shift <= row["deviation"]["high"]
    assert inside >= 6


def test_the_most_faithful_system_ranks_first_and_apart(planted: tuple[simulate.SimulatedRatings, Analysis]) -> None:
    _, result = planted
    for question in ("valence", "arousal"):
        rows = sorted(
            (r for r in summary_of(result)["systems"] if r["question"] == question), key=lambda r: int(r["rank"])
        )
        assert rows[0]["system"] == "Pluckbox"
        assert rows[-1]["system"] == "Chipling"
        assert rows[0]["tied_with"] == []


def test_effects_are_found_on_labels_and_on_ratings(planted: tuple[simulate.SimulatedRatings, Analysis]) -> None:
    _, result = planted
    for row in summary_of(result)["anova"] + summary_of(result)["mixed"]:
        if row["effect"] == "system" and row["deviation"] == "signed":
            assert row["p"] < 1e-6, row["model"]
    assert summary_of(result)["quadrants"]["hit_rate_by_system"]["Pluckbox"]["value"] > 0.85


def test_no_difference_is_not_called_one() -> None:
    table = simulate.stimuli(per_cell=6)
    same = ConveyanceProfile({"valence": 0.7, "arousal": 0.7}, {}, 0.5)
    options = simulate.TruthOptions(systems=dict.fromkeys(simulate.SYSTEMS, same), cell_sd=0.0)
    sim = simulate.study_ratings(table, 40, truth_options=options, seed=11)
    result = summary_of(analyze(simulated(sim, table), AnalyzeOptions(resamples=100)))
    rows = [r for r in result["anova"] if r["effect"] == "system" and r["model"] == "system + intent"]
    assert all(row["p"] > 0.01 for row in rows)
    assert not any(
        row["significant"] for row in result["pairwise"] if row["factor"] == "system" and row["deviation"] == "signed"
    )
    assert any("No difference between systems is shown" in sentence for sentence in result["verdict"])
