"""Intervals over raters and stimuli stay in keeping with the number of answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heartfelt.stats.comparison.spread import Covariance

ONE = {0: 1.0}


def spread(stimuli: float, raters: float, answers: float, counts: tuple[float, float, float]) -> Covariance:
    """A single parameter with these variances; counts of answers, raters and stimuli."""
    parts = [np.array([[part]]) for part in (answers, raters, stimuli)]
    return Covariance(
        model=parts[0],
        df=1e12,
        answers=parts[0],
        answer_count=counts[0],
        raters=parts[1],
        rater_count=counts[1],
        stimuli=parts[2],
        stimulus_count=counts[2],
    )


def test_stimuli_that_happen_to_agree_do_not_shorten_an_interval() -> None:
    variance, df = spread(0.01, 0.09, 0.09, (240, 20, 4)).variance(ONE)
    assert variance == pytest.approx(0.09)
    assert df == pytest.approx(0.09**2 / (0.09**2 / 239 + 0.09**2 / 19))
    assert spread(0.01, 0.09, 0.09, (240, 20, 4)).total[0, 0] == pytest.approx(0.09)


def test_stimuli_that_differ_count_with_their_own_freedom() -> None:
    variance, df = spread(0.25, 0.09, 0.09, (240, 20, 4)).variance(ONE)
    assert variance == pytest.approx(0.25)
    assert df < 4
    low, high = spread(0.25, 0.09, 0.09, (240, 20, 4)).bounds(0.0, ONE, 0.95) or (0.0, 0.0)
    assert high == -low
    assert high > 3 * math.sqrt(0.25)


def test_raters_who_differ_add_to_both() -> None:
    for stimuli in (0.01, 0.25):
        variance, _ = spread(stimuli, 0.19, 0.09, (240, 20, 4)).variance(ONE)
        assert variance == pytest.approx(max(stimuli, 0.09) + (1 + 4 / 20) * 0.1)
        drawn_from = spread(stimuli, 0.19, 0.09, (240, 20, 4)).total[0, 0]
        assert drawn_from == pytest.approx(variance), "ranks are drawn with the variance of the intervals"
