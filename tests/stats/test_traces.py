"""Continuous ratings: lags, agreement, consensus and ceiling against hand calculation and simulated truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction import association
from heartfelt.stats.reliability.two_way_jackknife import half_width, jackknife_variance
from heartfelt.stats.traces.traces import (
    agreement_over_time,
    best_lag,
    concordance,
    consensus,
    rater_lags,
    shifted,
    trace_agreement,
    traces,
)
from tests.facts import mentions


def test_concordance_by_hand() -> None:
    # Means 1 and 2, variances 2/3 each, covariance 2/3: 2 * 2/3 / (2/3 + 2/3 + 1).
    assert concordance(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(4 / 7)
    assert concordance(np.ones(3), np.ones(3)) is None


def test_concordance_is_the_metric_of_predictions() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(4, 50)).cumsum(axis=1)
    pairs = [association.ccc(rows[a], rows[b]).value for a in range(4) for b in range(a)]
    assert concordance(rows[1], rows[0]) == pytest.approx(pairs[0])
    assert trace_agreement(traces("abcd", list(rows), 1.0)).pairwise.value == pytest.approx(
        np.mean(np.array(pairs, float))
    )


def test_traces_of_different_length_share_their_moments() -> None:
    data = traces("ab", [[1, 2, 3, 4], [1, 2, 3]], rate=2.0)
    assert data.values.shape == (2, 3)
    assert data.seconds.tolist() == [0.0, 0.5, 1.0]


def test_short_gaps_are_bridged_and_long_ones_cut() -> None:
    whole = [float(i) for i in range(20)]
    short = [*whole[:5], math.nan, *whole[6:]]
    bridged = traces("ab", [whole, short], rate=2.0)
    assert bridged.values[1, 5] == 5.0
    long = [*whole[:4], *[None] * 4, *whole[8:]]
    cut = traces("ab", [whole, long], rate=2.0)
    assert (cut.start, cut.values.shape[1]) == (4.0, 12)


def test_a_rater_who_was_away_for_most_of_the_clip_is_left_out_and_named() -> None:
    data = traces("abc", [[1] * 10, [2] * 10, [3] * 4], rate=1.0)
    assert data.raters == ("a", "b")
    assert data.left_out == {"c": "covers 40% of the longest trace, less than half"}
    assert data.counts == {"raters": 2, "moments": 10, "left_out": 1}


def test_lags_are_found_and_taken_out() -> None:
    course = np.sin(np.arange(200) / 9)
    data = traces("abc", [np.roll(course, shift)[20:180] for shift in (0, 4, 8)], rate=4.0)
    lags = rater_lags(data)
    assert lags["b"] == 0.0
    assert lags["a"] == pytest.approx(-1.5, abs=0.26)
    assert lags["c"] == pytest.approx(1.5, abs=0.26)
    aligned = shifted(data, {"a": 0.0, "b": 1.0, "c": 2.0})
    assert trace_agreement(aligned).pairwise.value == pytest.approx(1.0)
    assert aligned.seconds[0] == 0.0


def test_people_follow_a_prediction_with_their_delay() -> None:
    course = np.cumsum(np.random.default_rng(1).normal(size=300))
    assert best_lag(np.roll(course, 12)[30:], course[30:], rate=4.0) == 3.0
    assert best_lag(np.ones(50), course[:50], rate=4.0) is None


def test_constant_traces_have_no_agreement_but_a_consensus() -> None:
    data = traces("abc", [[1.0] * 10, [2.0] * 10, [3.0] * 10], rate=1.0)
    assert trace_agreement(data).ceiling.why_missing == "no trace varies"
    assert consensus(data).value.tolist() == [2.0] * 10


def test_one_rater_and_one_moment_say_why() -> None:
    assert trace_agreement(traces("a", [[1, 2, 3]], 1.0)).pairwise.why_missing == "fewer than two raters"
    short = trace_agreement(traces("ab", [[1], [2]], 1.0))
    assert mentions(short.pairwise.why_missing, "raters", "moments")
    assert consensus(traces("ab", [[1, 2], [2, 3]], 1.0)).why_no_band == "fewer than three raters"


def test_the_weights_of_evaluators_follow_their_agreement() -> None:
    rng = np.random.default_rng(2)
    course = np.cumsum(rng.normal(size=100))
    rows = [course + rng.normal(0, 0.5, 100) for _ in range(4)] + [rng.normal(size=100), -course]
    result = consensus(traces("abcdef", rows, 2.0), "evaluator-weighted")
    assert sum(result.weights.values()) == pytest.approx(1.0)
    assert result.weights["f"] == 0.0
    assert result.weights["e"] < 0.1 < result.weights["a"]


@pytest.mark.slow
def test_the_ceiling_is_what_the_true_course_reaches() -> None:
    rng = np.random.default_rng(4)
    reached: list[float] = []
    expected: list[float] = []
    for _ in range(60):
        course = np.cumsum(rng.normal(0, 0.3, 400))
        course -= course.mean()
        rows = course + rng.normal(0, 0.6, 8)[:, None] + rng.normal(0, 1.0, (8, 400))
        reached.append(concordance(course, rows.mean(axis=0)) or 0.0)
        expected.append(float(trace_agreement(traces(range(8), list(rows), 10.0)).ceiling))
    assert np.mean(reached) == pytest.approx(np.mean(expected), abs=0.01)


def test_agreement_over_time_shows_where_raters_part() -> None:
    together = np.tile(np.linspace(0, 1, 40), (4, 1))
    apart = together + np.arange(4)[:, None]
    data = traces("abcd", list(np.hstack([together, apart])), rate=4.0)
    seconds, spread = agreement_over_time(data, window=2.0)
    assert spread[0] == pytest.approx(0.0, abs=1e-12)
    assert spread[-1] == pytest.approx(np.std(np.arange(4), ddof=1))
    assert seconds[0] == pytest.approx(7 / 8)


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="rate must be above 0"):
        traces("a", [[1]], 0.0)
    with pytest.raises(InputError, match="A rater has two traces"):
        traces("aa", [[1], [2]], 1.0)


@pytest.mark.slow
def test_the_band_holds_over_the_whole_course() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(200):
        course = np.cumsum(rng.normal(0, 0.1, 120))
        noise = [np.convolve(rng.normal(0, 0.3, 129), np.ones(10) / np.sqrt(10), "valid") for _ in range(12)]
        rows = course + rng.normal(0, 0.2, 12)[:, None] + np.array(noise)
        result = consensus(traces(range(12), rows, 2.0), seed=seed)
        hits += bool(((result.low <= course) & (course <= result.high)).all())
    assert hits / 200 > 0.9


def test_agreement_does_not_depend_on_where_zero_is() -> None:
    """Small movements far from zero are not lost to rounding."""
    rng = np.random.default_rng(6)
    rows = np.cumsum(rng.normal(size=(5, 80)), axis=1)
    near, far = (trace_agreement(traces("abcde", list(each), 5.0)) for each in (rows, 1e3 + 1e-5 * rows))
    for name in ("pairwise", "leave_one_out", "ceiling", "one_rater"):
        expected = getattr(near, name)
        assert interval(getattr(far, name)) == pytest.approx(interval(expected), abs=1e-6)


def test_intervals_come_from_leaving_out_each_rater() -> None:
    rng = np.random.default_rng(8)
    rows = np.cumsum(rng.normal(size=60)) + rng.normal(0, 2.0, (6, 60))
    rows[3] = 1.0
    every = trace_agreement(traces(range(6), list(rows), 5.0))
    without = [trace_agreement(traces(range(5), list(np.delete(rows, r, axis=0)), 5.0)) for r in range(6)]
    for name in ("pairwise", "leave_one_out", "ceiling", "one_rater"):
        z = np.arctanh([float(getattr(each, name)) for each in without])
        half = half_width(jackknife_variance(z), 5, 0.95)
        value, low, high = interval(getattr(every, name))
        assert (low, high) == pytest.approx(tuple(np.tanh([np.arctanh(value) - half, np.arctanh(value) + half])))


def interval(estimate: Estimate) -> tuple[float, float, float]:
    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.value, estimate.low, estimate.high
