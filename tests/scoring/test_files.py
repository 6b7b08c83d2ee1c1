"""Scores as a file: what is written is restored, key by key."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from heartfelt.scoring import ScoreOptions, Scores, score
from heartfelt.scoring.results.details import BinaryDetails, NumberDetails
from heartfelt.serialization import from_json, read_json, write_json
from tests.scoring import made

KEYS = [
    "heartfelt_scores", "heartfelt_version", "study", "title", "hash", "models", "model_info", "ranked_by", "options",
    "tasks", "metrics", "coverage", "ranks", "scores", "comparisons", "slices", "details", "parts", "notes",
]  # fmt: skip


@pytest.mark.slow
def test_scores_are_restored_from_their_file(tmp_path: Path) -> None:
    snapshot, truth = made.presence(stimuli=20)
    rows = [{"stimulus": s, "question": q, "value": min(v, 1.0)} for (s, q), v in truth.items()]
    tables = [made.predictions("a", rows), made.predictions("b", rows[::2])]
    scores = score(snapshot, pl.concat(tables), ScoreOptions(ceilings=False))
    write_json(tmp_path / "scores.json", scores)
    restored = read_json(tmp_path / "scores.json", Scores)
    assert made.as_json(restored) == made.as_json(scores)
    assert list(made.as_json(scores)) == KEYS
    assert restored.find("presence", "a") == scores.find("presence", "a")
    assert isinstance(restored.details["presence"].models["a"], BinaryDetails)
    assert restored.options.confidence == 0.95


@pytest.mark.slow
def test_keys_of_the_parts() -> None:
    snapshot, truth = made.numbers(per_cell=2)
    rows = [{"stimulus": n, "question": "valence", "value": v, "low": v - 1, "high": v + 1} for n, v in truth.items()]
    plain = made.as_json(score(snapshot, made.predictions("m", rows), ScoreOptions(slices=("language",))))
    assert list(plain["tasks"][0]) == ["id", "kind", "questions", "headline", "failures"]
    assert plain["metrics"]["rmse"] == {
        "title": "root mean squared error", "higher_is_better": False, "chance_rule": "always the mean label",
    }  # fmt: skip
    assert plain["scores"][0]["aggregation"] == "item"
    assert list(plain["slices"][0]) == [
        "model", "task", "column", "value", "metric", "items", "answered", "estimate",
    ]  # fmt: skip
    assert list(plain["options"]) == [
        "threshold", "folds", "seed", "resamples", "confidence", "selection", "ties", "part", "systems_from",
        "interval_confidence",
    ]  # fmt: skip
    details = plain["details"]["valence"]["models"]["m"]
    assert list(details) == ["mean_prediction", "intervals"]
    restored = from_json(Scores, plain).details["valence"].models["m"]
    assert isinstance(restored, NumberDetails)
    assert restored.intervals is not None
