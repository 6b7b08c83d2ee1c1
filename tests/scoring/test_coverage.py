"""Intervals of scores hold the truth about as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.scoring import Truth, truth_of
from heartfelt.scoring.measurement.measure import MetricMeasurer
from heartfelt.scoring.options import ScoreOptions
from heartfelt.streams import stream
from tests.scoring import made

SOURCE = "simulation: many samples of stimuli from a population whose value is known from a very large sample"
RUNS = 250


@pytest.fixture(scope="module")
def measure() -> MetricMeasurer:
    truth: Truth = truth_of(made.numbers(per_cell=1)[0])
    return MetricMeasurer(options=ScoreOptions(), truth=truth)


def sample(draw: np.random.Generator, stimuli: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two items a stimulus, whose errors go together."""
    unit = np.repeat(np.arange(stimuli), 2)
    x = draw.normal(size=stimuli)[unit] + 0.5 * draw.normal(size=2 * stimuli)
    y = x + draw.normal(size=stimuli)[unit] + 0.3 * draw.normal(size=2 * stimuli)
    return x, y, unit


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["pearson", "rmse", "balanced_accuracy"])
def test_whole_stimuli_are_what_varies(measure: MetricMeasurer, metric: str) -> None:
    draw = stream(1, "tests", "coverage", metric)
    binary = metric == "balanced_accuracy"

    def columns(stimuli: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x, y, unit = sample(draw, stimuli)
        return ((x > 0.3).astype(float), (y > 0).astype(float), unit) if binary else (x, y, unit)

    x, y, _ = columns(200_000)
    true = float(measure.numbers(metric, x, y)[0][0])
    hits = {"stimuli": 0, "rows": 0}
    for _ in range(RUNS):
        x, y, unit = columns(80)
        for name, group in (("stimuli", unit), ("rows", None)):
            result = measure.numbers(metric, x, y, [group])[0][0]
            hits[name] += result.low is not None and result.high is not None and result.low <= true <= result.high
    assert 0.93 <= hits["stimuli"] / RUNS <= 0.995
    assert hits["rows"] < hits["stimuli"]
