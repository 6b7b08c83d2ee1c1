"""Predicted courses against the raters', moment by moment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.labels import freeze, labels
from heartfelt.scoring import ScoreOptions, Scores, score
from heartfelt.scoring.results.details import TraceDetails
from heartfelt.serialization import from_json
from heartfelt.snapshot import Snapshot
from heartfelt.stats.traces.traces import concordance
from tests.facts import mentions
from tests.scoring.compared import courses
from tests.scoring.made import as_json, predictions

TASK = "arousal (trace)"


@cache
def data() -> tuple[Snapshot, dict[str, list[float]]]:
    return courses()


def given(
    truth: Mapping[str, Sequence[float | None]], model: str = "m", rate: float | None = 2.0, start: float | None = 0.0
) -> pl.DataFrame:
    rows: list[dict[str, Any]] = [
        {
            "stimulus": name,
            "question": "arousal",
            "value": 0.0,
            "samples": json.dumps(list(course)),
            "rate": rate,
            "start": start,
        }
        for name, course in truth.items()
    ]
    return predictions(model, rows)


def headline(scores: Scores, model: str = "m", at: str | None = None) -> float:
    found = scores.find(TASK, model, at=at)
    assert found is not None
    return float(found.with_failures)


@pytest.mark.slow
def test_the_score_is_the_mean_concordance_after_the_lag() -> None:
    snapshot, truth = data()
    scores = score(snapshot, given(truth))
    details = scores.details[TASK].models["m"]
    assert details == TraceDetails(2.0, 8)
    table = {row["stimulus"]: row["samples"] for row in labels(snapshot).courses.iter_rows(named=True)}
    after = [concordance(np.array(table[name][4:]), np.array(course[:-4])) for name, course in truth.items()]
    plain = [concordance(np.array(table[name]), np.array(course)) for name, course in truth.items()]
    assert headline(scores) == pytest.approx(np.mean(after))  # type: ignore[arg-type]  # none is missing
    assert headline(scores, at="without lag") == pytest.approx(np.mean(plain))  # type: ignore[arg-type]  # none is missing
    found = scores.find(TASK, "m")
    assert found is not None
    assert found.with_failures.low is not None
    assert "stimuli and raters" in found.with_failures.interval
    assert found.with_failures.counts["raters"] == 6
    assert found.of_ceiling.value == pytest.approx(1.0, abs=0.05)
    assert scores.one_rater(TASK).value is not None
    assert from_json(Scores, as_json(scores)).details[TASK].models["m"] == details


@pytest.mark.slow
def test_a_prediction_at_another_rate_is_read_off_between_its_samples() -> None:
    snapshot, truth = data()
    sparse = {name: course[::4] for name, course in truth.items()}
    full, coarse = (headline(score(snapshot, table)) for table in (given(truth), given(sparse, rate=0.5)))
    assert coarse == pytest.approx(full, abs=0.03)


@pytest.mark.slow
def test_a_constant_course_scores_nothing_and_has_no_rank() -> None:
    snapshot, truth = data()
    flat = {name: [0.2] * len(course) for name, course in truth.items()}
    scores = score(snapshot, pl.concat([given(truth), given(flat, "flat")]))
    assert headline(scores, "flat") == 0.0
    assert {rank.model: rank.place for rank in scores.ranked(TASK)} == {"m": 1, "flat": None}
    (pair,) = [each for each in scores.comparisons if each.task == TASK]
    assert pair.difference.value == pytest.approx(headline(scores))
    assert pair.apart


@pytest.mark.slow
def test_failures_count_as_a_constant_course() -> None:
    snapshot, truth = data()
    some = {name: course for name, course in truth.items() if name not in {"c0", "c1"}}
    scores = score(snapshot, given(some))
    found = scores.find(TASK, "m")
    assert found is not None
    assert float(found.with_failures) == pytest.approx(float(found.estimate) * 6 / 8)
    assert scores.coverage["m"][TASK].problems == {"no prediction was given": 2}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("samples", "rate", "problem"),
    [
        ([0.1, 0.2, 0.3], None, "the trace has 3 samples, the raters' course 60; give its rate in samples per second"),
        ([0.1, 0.2, 0.3], 2.0, "the trace covers 7% of the moments that raters followed"),
        ([None, None], 2.0, "the trace has no sample"),
    ],
)
def test_traces_that_do_not_fit_are_failures(samples: list[float | None], rate: float | None, problem: str) -> None:
    snapshot, truth = data()
    table = pl.concat([given({**truth, "c0": samples}, rate=rate)])
    if rate is None:
        table = pl.concat([given({"c0": samples}, rate=None), given({k: v for k, v in truth.items() if k != "c0"})])
    scores = score(snapshot, table)
    assert scores.coverage["m"][TASK].problems == {problem: 1}


@pytest.mark.slow
def test_without_a_rate_samples_are_the_moments_of_the_raters() -> None:
    snapshot, truth = data()
    assert headline(score(snapshot, given(truth, rate=None, start=None))) == pytest.approx(
        headline(score(snapshot, given(truth)))
    )


@pytest.mark.slow
def test_a_frozen_benchmark_holds_courses() -> None:
    snapshot, truth = data()
    scores = score(freeze(snapshot), given(truth), ScoreOptions())
    assert headline(scores) == pytest.approx(headline(score(snapshot, given(truth))))
    found = scores.find(TASK, "m")
    assert found is not None
    assert found.with_failures.low is not None
    assert "raters" not in found.with_failures.counts
    assert found.ceiling.value is not None


@pytest.mark.slow
def test_a_model_without_traces_is_scored_by_the_mean_alone() -> None:
    snapshot, truth = data()
    rows = [
        {"stimulus": name, "question": "arousal", "value": float(np.mean(course))} for name, course in truth.items()
    ]
    scores = score(snapshot, predictions("mean", rows))
    assert [task.id for task in scores.tasks] == ["arousal"]
    assert mentions(scores.notes, "model", "'arousal (trace)'")
