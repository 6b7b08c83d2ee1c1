"""Predicted conveyance: planted truth, coverage with and without ratings, and what must be told."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.scoring.conveyance import Evidence, KnownError, predicted_conveyance
from heartfelt.serialization import to_json
from heartfelt.streams import stream

REFERENCES = {"valence": {"happy": 8.0, "sad": 2.0, "calm": 6.0}, "arousal": {"happy": 6.0, "sad": 3.0, "calm": 2.0}}
ERROR = KnownError(0.5, 0.3, 0.8, 6)


def world(rng: np.random.Generator, rated: int = 0, *, per_cell: int = 10) -> Evidence:
    """Two systems whose clips lie 0.5 above their intents on average; a predictor with errors of every kind."""
    stimuli, predictions, ratings = [], [], []
    for system in ("A", "B"):
        for question, intents in REFERENCES.items():
            shift = rng.normal(0, ERROR.system)
            for intent, reference in intents.items():
                cell = rng.normal(0, ERROR.intent)
                for place in range(per_cell):
                    name = f"{system}_{intent}_{place}"
                    if question == "valence":
                        stimuli.append({"stimulus": name, "system": system, "intent": intent})
                    truth = reference + 0.5 + rng.normal(0, 0.7)
                    value = truth + shift + cell + rng.normal(0, ERROR.stimulus)
                    predictions.append({"stimulus": name, "question": question, "value": value})
                    if place < rated:
                        for rater in rng.choice(20, 4, replace=False):
                            answer = truth + rng.normal(0, 1)
                            ratings.append(
                                {"rater": f"r{rater}", "stimulus": name, "question": question, "value": answer}
                            )
    return Evidence(
        stimuli=pl.DataFrame(stimuli),
        predictions=pl.DataFrame(predictions),
        references=REFERENCES,
        midpoints={"valence": 5.0, "arousal": 5.0},
        ratings=pl.DataFrame(ratings) if ratings else None,
        errors={} if rated else {"valence": ERROR, "arousal": ERROR},
    )


def predicted(evidence: Evidence) -> Any:
    """The result as summary.json holds it."""
    return to_json(predicted_conveyance(evidence))


def of_system(found: dict[str, Any], key: str = "deviation_by_system") -> list[dict[str, Any]]:
    return [row for row in found[key] if row["system"] == "A" and row["question"] == "valence"]


@pytest.mark.slow
def test_without_ratings_the_predictors_known_error_is_carried() -> None:
    rng = stream(1, "conveyance", "unrated")
    hits = 0
    for _ in range(150):
        (row,) = of_system(predicted(world(rng)))
        hits += row["deviation"]["low"] <= 0.5 <= row["deviation"]["high"]
    assert hits / 150 > 0.93


@pytest.mark.slow
def test_a_few_ratings_give_valid_and_narrower_intervals() -> None:
    rng = stream(2, "conveyance", "rated")
    hits, narrower = 0, []
    for _ in range(120):
        (row,) = of_system(predicted(world(rng, 4, per_cell=40)))
        deviation, alone = row["deviation"], row["ratings_alone"]
        hits += deviation["low"] <= 0.5 <= deviation["high"]
        narrower.append((deviation["high"] - deviation["low"]) / (alone["high"] - alone["low"]))
    assert hits / 120 > 0.9
    assert np.mean(narrower) < 1.0


def test_slopes_and_quadrants_are_there_and_marked() -> None:
    result = predicted(world(stream(3, "one")))
    assert result["marked"] == "predicted"
    assert result["stimuli"] == 60
    assert result["rated"] == 0
    for row in result["slopes"]:
        assert row["slope"]["low"] < row["slope"]["value"] < row["slope"]["high"]
    counts = np.array(result["quadrants"]["counts"])
    assert counts.sum() == 60
    assert result["quadrants"]["hit_rate"]["all"]["value"] == pytest.approx(np.trace(counts[:, :4]) / 60)
    assert len(result["deviation_by_cell"]) == 12


def test_an_unknown_error_is_a_reason_not_an_interval() -> None:
    asked = world(stream(4, "two"))
    bare = Evidence(
        stimuli=asked.stimuli, predictions=asked.predictions, references=asked.references, midpoints=asked.midpoints
    )
    (row,) = of_system(predicted(bare))
    assert row["deviation"]["low"] is None
    assert "not known" in row["deviation"]["why_no_interval"]


def test_intents_without_references_are_refused() -> None:
    asked = world(stream(5, "three"))
    with pytest.raises(InputError, match="intent has a reference"):
        predicted_conveyance(
            Evidence(
                stimuli=asked.stimuli,
                predictions=asked.predictions,
                references={"valence": {"bored": 2.0}},
                midpoints={"valence": 5.0},
            )
        )


@pytest.mark.slow
def test_what_needs_ratings_is_in_the_summary_only_with_ratings() -> None:
    plain = {"system", "question", "deviation"}
    (unrated,) = of_system(predicted(world(stream(6, "keys"))))
    (rated,) = of_system(predicted(world(stream(6, "keys"), 4)))
    assert set(unrated) == plain
    assert set(rated) == plain | {"ratings_alone", "tuning"}
    cells = predicted(world(stream(6, "keys")))["deviation_by_cell"]
    assert all(set(cell) == plain | {"intent"} for cell in cells)
