"""The concordance of predicted courses: by hand, at its bounds, and with intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.stats.traces.scores import PredictedCourse, course_lag, mean_concordance
from heartfelt.stats.traces.traces import concordance
from tests.facts import mentions

RNG = np.random.default_rng(3)
COURSES = [np.cumsum(RNG.normal(0, 1, 50)) for _ in range(6)]


def test_by_hand() -> None:
    given = [course + RNG.normal(0, 1, 50) for course in COURSES]
    items = [
        PredictedCourse(course=course, predicted=each, rate=10.0) for course, each in zip(COURSES, given, strict=True)
    ]
    mean, spread = mean_concordance(items)
    values = np.array([concordance(course, each) for course, each in zip(COURSES, given, strict=True)], np.float64)
    assert mean.value == pytest.approx(values.mean())
    assert spread is not None
    assert spread.error == pytest.approx(values.std(ddof=1) / np.sqrt(6) / (1 - values.mean() ** 2))
    assert spread.df <= 5


@pytest.mark.parametrize("lag", [-1.5, 0.0, 0.7, 2.0])
def test_the_lag_is_recovered(lag: float) -> None:
    steps = round(10 * lag)
    items = []
    for _ in range(5):
        long = np.convolve(RNG.normal(0, 1, 260), np.ones(9) / 9, mode="same")
        items.append(PredictedCourse(course=long[30 - steps : 230 - steps], predicted=long[30:230], rate=10.0))
    assert course_lag(items) == pytest.approx(lag)
    after, _ = mean_concordance(items, lag)
    assert after.value == pytest.approx(1.0)


def test_moments_without_a_prediction_are_left_out() -> None:
    given = COURSES[0].copy()
    given[:20] = np.nan
    item = PredictedCourse(course=COURSES[0], predicted=given, rate=10.0)
    assert item.concordance() == pytest.approx(1.0)


def test_no_prediction_and_a_constant_one_score_nothing() -> None:
    for given in (None, np.full(50, 0.3), np.full(50, np.nan)):
        item = PredictedCourse(course=COURSES[0], predicted=given, rate=10.0)
        assert item.concordance() == 0.0
        assert course_lag([item]) is None
    mean, spread = mean_concordance([PredictedCourse(course=course, predicted=None, rate=10.0) for course in COURSES])
    assert (mean.value, spread) == (0.0, None)
    assert mentions(mean.why_no_interval, "stimuli", "value")
    assert mean_concordance([])[0].why_missing == "there are no stimuli"


def test_few_stimuli_have_no_interval() -> None:
    items = [PredictedCourse(course=course, predicted=course + 1, rate=10.0) for course in COURSES[:2]]
    mean, _ = mean_concordance(items)
    assert mentions(mean.why_no_interval, "2 stimuli", "3")


def test_samples_that_are_not_timed_have_no_lag() -> None:
    items = [PredictedCourse(course=course[5:], predicted=course[:-5], rate=None) for course in COURSES]
    assert course_lag(items) is None


def _study(rng: np.random.Generator, stimuli: int, raters: int) -> list[PredictedCourse]:
    """Raters who differ in level and gain, and clips that are predicted more or less well."""
    level, gain = rng.normal(0, 0.4, raters), np.exp(rng.normal(0, 0.3, raters))
    items = []
    for _ in range(stimuli):
        course = np.sin(rng.uniform(0, 6) + np.linspace(0, rng.uniform(3, 9), 40))
        noise = np.cumsum(rng.normal(0, 0.15, (raters, 40)), axis=1)
        traces = gain[:, None] * course + level[:, None] + noise
        predicted = course + np.cumsum(rng.normal(0, rng.uniform(0.02, 0.25), 40))
        items.append(
            PredictedCourse(
                course=traces.mean(axis=0), predicted=predicted, rate=2.0, raters=tuple(range(raters)), traces=traces
            )
        )
    return items


@pytest.mark.slow
@pytest.mark.parametrize(("stimuli", "raters"), [(12, 8), (30, 5)])
def test_intervals_cover(stimuli: int, raters: int) -> None:
    rng = np.random.default_rng(4)
    results = [mean_concordance(_study(rng, stimuli, raters))[0] for _ in range(250)]
    true = np.mean([float(result) for result in results])
    covered = np.mean([float(each.low or -1) <= true <= float(each.high or 1) for each in results])
    assert 0.92 <= covered <= 0.99
    assert results[0].counts["raters"] == raters
