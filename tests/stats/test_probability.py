"""Calibration against hand counts and simulation."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.prediction.probability import calibration, expected_calibration_error
from tests.facts import mentions

SOURCE = "hand calculation from the definition in Naeini et al. (2015)"


def test_by_hand() -> None:
    probability = [0.1, 0.2, 0.7, 0.8, 0.9]
    label = [0, 1, 1, 1, 0]
    result = calibration(label, probability, bins=2)
    assert result.error.value == pytest.approx((abs(0.3 - 1) + abs(2.4 - 2)) / 5)
    assert [each.count for each in result.bins] == [2, 3]
    assert result.bins[0].mean_probability == pytest.approx(0.15)
    assert result.bins[1].share_true.value == pytest.approx(2 / 3)
    assert result.brier.value == pytest.approx((0.01 + 0.64 + 0.09 + 0.04 + 0.81) / 5)


def test_edges_belong_to_the_lower_bin() -> None:
    result = calibration([0, 1, 1, 0], [0.0, 0.5, 0.51, 1.0], bins=2)
    assert [each.count for each in result.bins] == [2, 2]


def test_equal_count_bins_hold_equal_counts() -> None:
    rng = np.random.default_rng(1)
    p = rng.beta(8, 2, 1000)
    result = calibration(rng.random(1000) < p, p, bins=5, binning="count")
    assert [each.count for each in result.bins] == [200] * 5


def test_ties_share_a_bin_however_many_bins_are_asked_for() -> None:
    result = calibration([0, 1, 0, 1], [0.3, 0.3, 0.3, 0.3], bins=10, binning="count")
    assert sorted(each.count for each in result.bins)[-1] == 4


@pytest.mark.slow
def test_interval_covers_a_planted_error() -> None:
    # The outcome is true 0.15 less often than said, in every bin: the error is 0.15.
    hits = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.2, 1, 400)
        result = expected_calibration_error(rng.random(400) < p - 0.15, p, bins=5, seed=seed)
        assert result.low is not None
        assert result.high is not None
        hits += result.low <= 0.15 <= result.high
    assert hits / 200 >= 0.9


@pytest.mark.slow
def test_a_calibrated_predictor_is_not_called_miscalibrated() -> None:
    above, rejected = 0, 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        p = rng.uniform(size=200)
        result = calibration(rng.random(200) < p, p, seed=seed)
        assert result.error.low is not None
        assert result.p_calibrated is not None
        above += result.error.low > 0
        rejected += result.p_calibrated <= 0.05
    assert above / 300 <= 0.05
    assert 0.02 <= rejected / 300 <= 0.09


@pytest.mark.slow
def test_error_of_a_calibrated_predictor_is_expected_to_be_above_zero() -> None:
    rng = np.random.default_rng(4)
    p = rng.uniform(size=500)
    mean = np.mean([float(calibration(rng.random(500) < p, p, resamples=32).error) for _ in range(200)])
    expected = calibration(rng.random(500) < p, p, resamples=2000).error_if_calibrated
    assert expected == pytest.approx(mean, rel=0.05)


def test_degenerate_and_misuse() -> None:
    assert calibration([], []).error.is_missing
    assert "at least 2" in (calibration([1], [0.4]).error.why_missing or "")
    with pytest.raises(InputError, match="bins"):
        calibration([0, 1], [0.1, 0.9], bins=0)
    with pytest.raises(InputError, match="between 0 and 1"):
        calibration([0, 1], [0.1, 1.9])


def test_empty_bins_say_so() -> None:
    result = calibration([0, 1, 1], [0.05, 0.95, 0.97])
    assert mentions(result.bins[4].share_true.why_missing, "case")
    assert result.bins[4].mean_probability is None


@pytest.mark.slow
def test_the_public_name_is_the_function_whatever_was_imported_before() -> None:
    code = (
        "from heartfelt import stats; import heartfelt.stats.prediction.association; stats.accuracy; "
        "assert callable(stats.calibration) and callable(stats.confusion)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
