"""The published AImoclips tests, recomputed from the public ratings."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.stats.groups.geometry import ellipse
from heartfelt.stats.inference import anova, mixed_model, tukey
from heartfelt.stats.prediction.regression import shrinkage_slope

SOURCE = "AImoclips paper (2025): two-way tables, type II, eta squared of the table; counts of its data card"

pytestmark = pytest.mark.data


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def clips(shared_data: Path) -> dict[str, Any]:
    folder = shared_data / "aimoclips"
    intents = {row["emotion"]: row for row in _table(folder / "emotion_intents_metadata.csv")}
    ratings = _table(folder / "ratings_metadata.csv")
    result = _table(folder / "clips_metadata.csv")
    out: dict[str, Any] = {
        "system": np.array([row["model"] for row in result]),
        "intent": np.array([row["emotion"] for row in result]),
        "quadrant": np.array([intents[row["emotion"]]["quadrant"] for row in result]),
        "ratings": ratings,
        "files": {row["audio_file"]: i for i, row in enumerate(result)},
    }
    place = np.array([out["files"][row["audio_file"]] for row in ratings])
    for dimension in ("valence", "arousal"):
        values = np.array([float(row[dimension]) for row in ratings])
        mean = np.bincount(place, weights=values) / np.bincount(place)
        aim = np.array([float(intents[intent][f"gt_{dimension}"]) for intent in out["intent"]])
        out[dimension], out[f"{dimension} aim"] = mean, aim
        out[f"{dimension} deviation"] = mean - aim
    return out


@pytest.mark.parametrize(("dimension", "f", "eta"), [("valence", 150.53, 0.123), ("arousal", 39.44, 0.0836)])
def test_systems_differ_in_signed_deviation(clips: dict[str, Any], dimension: str, f: float, eta: float) -> None:
    result = anova(clips[f"{dimension} deviation"], {"system": clips["system"], "intent": clips["intent"]})
    row = result["system"]
    assert (row.df, result.residual_df) == (5, 974)
    assert row.f == pytest.approx(f, abs=0.005)
    assert row.eta_squared.value == pytest.approx(eta, abs=0.0005)


@pytest.mark.parametrize(("dimension", "f", "eta"), [("valence", 29.27, 0.0814), ("arousal", 14.62, 0.0421)])
def test_quadrants_differ_in_absolute_deviation(clips: dict[str, Any], dimension: str, f: float, eta: float) -> None:
    outcome = np.abs(clips[f"{dimension} deviation"])
    result = anova(outcome, {"quadrant": clips["quadrant"], "system": clips["system"]})
    row = result["quadrant"]
    assert (row.df, result.residual_df) == (3, 982)
    assert row.f == pytest.approx(f, abs=0.005)
    assert row.eta_squared.value == pytest.approx(eta, abs=0.0005)


@pytest.mark.parametrize("dimension", ["valence", "arousal"])
def test_eight_pairs_of_systems_differ(clips: dict[str, Any], dimension: str) -> None:
    result = tukey(clips[f"{dimension} deviation"], clips["system"])
    assert len(result.pairs) == 15
    assert len(result.significant) == 8


def test_the_interaction_the_paper_leaves_out_is_the_largest_effect(clips: dict[str, Any]) -> None:
    outcome = np.abs(clips["valence deviation"])
    result = anova(
        outcome, {"quadrant": clips["quadrant"], "system": clips["system"]}, interactions=[("quadrant", "system")]
    )
    sizes = {row.effect: float(row.eta_squared) for row in result.rows}
    assert max(sizes, key=sizes.__getitem__) == "quadrant:system"


def test_systems_still_differ_with_raters_and_stimuli_random(clips: dict[str, Any]) -> None:
    ratings = clips["ratings"]
    place = np.array([clips["files"][row["audio_file"]] for row in ratings])
    outcome = np.array([float(row["valence"]) for row in ratings]) - clips["valence aim"][place]
    result = mixed_model(
        outcome,
        {"system": clips["system"][place], "intent": clips["intent"][place]},
        {"rater": [row["user"] for row in ratings], "stimulus": place},
    )
    effect = result.effect("system")
    assert effect.p is not None
    assert effect.p < 1e-60
    # Fewer than the 974 of the stimulus means, never the 6,145 of the ratings.
    assert effect.df_residual is not None
    assert 900 < effect.df_residual < 985
    assert all(part.low is not None and part.low > 0 for part in result.variances.values())


def test_perceived_emotion_shrinks_towards_the_middle(clips: dict[str, Any]) -> None:
    for dimension in ("valence", "arousal"):
        result = shrinkage_slope(clips[dimension], clips[f"{dimension} aim"], cluster=clips["intent"])
        assert result.slope.high is not None
        assert 0 < float(result.slope) < result.slope.high < 1


def test_ellipses_of_the_quadrant_maps(clips: dict[str, Any]) -> None:
    here = (clips["system"] == "Suno") & (clips["quadrant"] == "hv_ha")
    result = ellipse(clips["valence"][here], clips["arousal"][here])
    values = np.linalg.eigvalsh(np.cov(clips["valence"][here], clips["arousal"][here]))
    assert result.semi_axes == pytest.approx(np.sqrt(5.9915 * values[::-1]), rel=1e-5)
