"""Scores beside their ceiling: who knows the truth reaches it, and no more."""

from __future__ import annotations

import polars as pl
import pytest

from heartfelt.label import freeze
from heartfelt.score import ScoreOptions, Scores, score
from heartfelt.score.metrics import METRICS
from tests.score import made

SOURCE = "planted truth; for the metrics made of another's ceiling, the formula for normal labels"


def scored(seed: int) -> Scores:
    snapshot, truth = made.numbers(per_cell=5, raters=4, noise=1.2, seed=seed)
    rows = [{"stimulus": name, "question": "valence", "value": value} for name, value in truth.items()]
    return score(snapshot, made.predictions("truth", rows), ScoreOptions(resamples=200, slices=(), seed=seed))


def test_the_truth_reaches_the_ceiling() -> None:
    holds: dict[str, int] = dict.fromkeys(("pearson", "rmse", "mse", "mae", "ccc", "kendall", "within"), 0)
    shares = []
    for seed in range(12):
        found = scored(seed)
        for name in holds:
            level = "within cells" if name == "within" else "item"
            one = found.find("valence", "truth", "pearson" if name == "within" else name, level)
            assert one is not None
            low, high = one.of_ceiling.low, one.of_ceiling.high
            holds[name] += low is not None and high is not None and low <= 1 <= high
            if name == "pearson":
                shares.append(float(one.of_ceiling))
    assert min(holds.values()) >= 10, holds
    assert sum(shares) / len(shares) == pytest.approx(1.0, abs=0.03)


def test_ceilings_of_one_another() -> None:
    found = scored(1)
    ceiling = {one.metric: one.ceiling for one in found.scores if one.level == "item"}
    r = float(ceiling["pearson"])
    assert float(ceiling["ccc"]) == pytest.approx(2 * r**2 / (1 + r**2))
    assert float(ceiling["spearman"]) == r
    assert float(ceiling["mse"]) == pytest.approx(float(ceiling["rmse"]) ** 2)
    assert METRICS["spearman"].note in ceiling["spearman"].method


def test_the_truth_reaches_the_ceiling_of_two_sides() -> None:
    # The ceiling takes the chance of a yes to follow a Beta distribution over items; here it does.
    shares = []
    for seed in range(3):
        snapshot, chance = made.chances(stimuli=150, seed=seed)
        rows = [{"stimulus": s, "question": "match", "value": float(p > 0.5)} for s, p in chance.items()]
        found = score(snapshot, made.predictions("truth", rows), ScoreOptions(resamples=200, slices=()))
        one = found.find("match", "truth")
        assert one is not None
        assert one.ceiling.value is not None
        shares.append(float(one.of_ceiling))
    # Shares of the way from chance (.5) to the ceiling: twice as far off as the scores themselves.
    assert sum(shares) / len(shares) == pytest.approx(1.0, abs=0.12)


def test_where_there_is_no_ceiling_there_is_a_reason() -> None:
    snapshot, truth = made.numbers(per_cell=2)
    rows = made.predictions(
        "truth", [{"stimulus": n, "question": "valence", "value": v} for n, v in truth.items()]
    )
    found = score(freeze(snapshot), rows, ScoreOptions(resamples=200))
    one = found.find("valence", "truth")
    assert one is not None
    assert one.ceiling.why_missing == "the source gives labels, not single ratings"
    assert one.of_ceiling.why_missing == one.ceiling.why_missing
    by_system = found.find("valence", "truth", level="system")
    assert by_system is not None
    assert by_system.ceiling.why_missing == "no ceiling of system means is known"
    assert any("no ceilings" in note for note in found.notes)


def test_a_part_of_a_benchmark_is_scored_alone() -> None:
    snapshot, truth = made.numbers(per_cell=3)
    rows = made.predictions(
        "truth", [{"stimulus": n, "question": "valence", "value": v} for n, v in truth.items()]
    )
    frozen = freeze(snapshot)
    found = score(frozen, rows, ScoreOptions(resamples=200, part="test"))
    assert found.coverage["truth"]["valence"]["items"] == frozen.part("test").height
    assert any("left out" in note for note in found.notes)
    assert set(found.rows["stimulus"]) == set(frozen.part("test")["stimulus"])
    assert isinstance(found.table(), pl.DataFrame)
