"""Calibration lines against NumPy and brute force, and under noisy labels."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.stats.prediction.calibration_line import calibration_line
from heartfelt.stats.prediction.regression import shrinkage_slope
from tests.facts import mentions


def test_the_line_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 9, 40)
    y = 2 + 0.6 * x + rng.normal(size=40)
    line = calibration_line(y, x)
    slope, intercept = np.polyfit(x, y, 1)
    assert line.slope.value == pytest.approx(slope)
    assert line.intercept.value == pytest.approx(intercept)
    assert line.bias.value == pytest.approx(float(np.mean(x - y)))
    # HC3 is the jackknife up to a factor near 1; the degrees of freedom are the same.
    other = shrinkage_slope(y, x).slope
    assert line.slope.low == pytest.approx(other.low, rel=0.02)
    assert line.slope.high == pytest.approx(other.high, rel=0.02)


@pytest.mark.parametrize("clusters", [None, 7])
def test_errors_are_those_of_leaving_units_out(clusters: int | None) -> None:
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=35), rng.normal(size=35)
    y, codes = x + noise, np.arange(35) % (clusters or 35)
    line = calibration_line(y, x, None if clusters is None else codes)
    without = np.array([np.polyfit(x[codes != c], y[codes != c], 1)[0] for c in np.unique(codes)])
    full = np.polyfit(x, y, 1)[0]
    n = without.size
    error = np.sqrt((n - 1) / n * np.sum((without - full) ** 2))
    assert line.slope.high is not None
    assert line.slope.low is not None
    half = (line.slope.high - line.slope.low) / 2
    assert 1.9 * error < half < 3.3 * error


def test_noise_of_labels_does_not_flatten_the_line() -> None:
    rng = np.random.default_rng(2)
    slopes = []
    for _ in range(200):
        x = rng.normal(size=60)
        true = 0.7 * x + 0.5 * rng.normal(size=60)
        slopes.append(float(calibration_line(true + 1.5 * rng.normal(size=60), x).slope))
    assert np.mean(slopes) == pytest.approx(0.7, abs=0.05)


def test_what_cannot_be_calibrated_says_why() -> None:
    flat = calibration_line(np.array([1.0, 2, 3, 4]), np.full(4, 2.0))
    assert mentions(flat.slope.why_missing, "predictions", "vary")
    assert flat.bias.value == pytest.approx(-0.5)
    assert calibration_line(np.zeros(0), np.zeros(0)).bias.why_missing == "no items"
    two = calibration_line(np.arange(8.0), np.arange(8.0) ** 2, np.arange(8) % 2)
    assert two.slope.value is not None
    assert mentions(two.slope.why_no_interval, "2 units", "3")
