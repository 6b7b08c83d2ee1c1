"""Prediction-powered means and slopes: golden values of another library, planted truth, and what must not happen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as reference

from heartfelt.errors import InputError
from heartfelt.stats import prediction_powered_mean, prediction_powered_slope
from heartfelt.stats.inference import Rated
from heartfelt.streams import stream
from tests.facts import mentions

RATED = [6.2, 3.1, 4.8, 7.0, 2.4, 5.5, 4.1, 6.6, 5.2, 3.8]
PREDICTED = [6.9, 3.9, 5.1, 7.4, 3.5, 6.0, 4.2, 7.5, 5.0, 4.9]
RATED_X = [8.0, 2, 5, 8, 2, 5, 2, 8, 5, 5]
OTHERS = [6.1, 4.4, 5.0, 3.9, 7.2, 6.6, 5.8, 4.1, 5.2, 6.4, 3.7, 5.9, 7.7, 4.8, 3.2]
OTHERS_X = [8.0, 2, 5, 2, 8, 8, 5, 2, 5, 8, 2, 5, 8, 5, 2]
# SOURCE: ppi-python 0.2.3, ppi_mean_pointestimate and ppi_ols_pointestimate(coord=1) on the columns above.
GOLDEN_MEAN = {0.5: 4.81666667, 1.0: 4.76333333}
GOLDEN_SLOPE = {0.5: 0.52833333, 1.0: 0.49}


@pytest.mark.parametrize("tuning", [0.5, 1.0])
def test_means_and_slopes_of_another_library(tuning: float) -> None:
    rated = Rated(RATED, PREDICTED)
    mean = prediction_powered_mean(rated, OTHERS, tuning=tuning)
    slope = prediction_powered_slope(rated, RATED_X, OTHERS, OTHERS_X, tuning=tuning)
    assert mean.estimate.value == pytest.approx(GOLDEN_MEAN[tuning], abs=1e-8)
    assert slope.estimate.value == pytest.approx(GOLDEN_SLOPE[tuning], abs=1e-8)


def test_ratings_alone_are_the_textbook_interval() -> None:
    result = prediction_powered_mean(Rated(RATED, PREDICTED), OTHERS).ratings_alone
    low, high = reference.t.interval(0.95, 9, np.mean(RATED), reference.sem(RATED))
    assert (result.value, result.low, result.high) == pytest.approx((np.mean(RATED), low, high))


def test_no_weight_gives_the_ratings_alone() -> None:
    result = prediction_powered_mean(Rated(RATED, PREDICTED), OTHERS, tuning=0.0)
    assert result.estimate.value == pytest.approx(result.ratings_alone.value)
    assert result.estimate.low == pytest.approx(result.ratings_alone.low)


def _planted(n: int, many: int, share: float, trials: int) -> tuple[np.ndarray, np.ndarray]:
    """Coverage (mean, slope) and width relative to the ratings' own, of a biased predictor with a share of truth."""
    rng = stream(5, "planted", n, many)
    covered, widths = np.zeros(2), []
    for _ in range(trials):
        x = rng.choice([2.0, 4, 6, 8], n + many)
        truth = 5 + 0.5 * (x - 5) + rng.normal(0, 1, n + many)
        rated = truth + rng.normal(0, 0.5, n + many)
        predicted = share * truth + (1 - share) * rng.normal(5, 1, n + many) + 0.7
        rows = Rated(rated[:n], predicted[:n])
        mean = prediction_powered_mean(rows, predicted[n:])
        slope = prediction_powered_slope(rows, x[:n], predicted[n:], x[n:])
        for place, (result, planted) in enumerate(((mean, 5.0), (slope, 0.5))):
            low, high = result.estimate.low, result.estimate.high
            assert low is not None
            assert high is not None
            covered[place] += low <= planted <= high
        assert mean.estimate.high is not None
        assert mean.ratings_alone.high is not None
        widths.append(
            (mean.estimate.high - float(mean.estimate)) / (mean.ratings_alone.high - float(mean.ratings_alone))
        )
    return covered / trials, np.array(widths)


@pytest.mark.slow
def test_good_predictions_cover_the_truth_and_narrow_the_interval() -> None:
    covered, widths = _planted(12, 200, 0.8, 400)
    assert covered.min() > 0.92, covered
    assert widths.mean() < 0.6


@pytest.mark.slow
def test_useless_predictions_cost_almost_nothing() -> None:
    covered, widths = _planted(15, 200, 0.0, 300)
    assert covered.min() > 0.92, covered
    assert 0.9 < widths.mean() < 1.1


@pytest.mark.slow
def test_raters_count_as_a_sample_too() -> None:
    """Few raters with levels of their own: items alone miss the truth, items and raters do not."""
    rng = stream(6, "raters")
    hits = {"items": 0, "both": 0}
    for _ in range(200):
        levels = rng.normal(0, 1.0, 8)
        truth = rng.normal(5, 1, 230)
        predicted = truth + rng.normal(0.4, 0.5, 230)
        item = np.repeat(np.arange(30), 4)
        rater = np.concatenate([rng.choice(8, 4, replace=False) for _ in range(30)])
        value = truth[item] + levels[rater] + rng.normal(0, 0.7, item.size)
        for name, who in (("items", None), ("both", rater)):
            result = prediction_powered_mean(Rated(value, predicted[item], item, who), predicted[30:]).estimate
            assert result.low is not None
            assert result.high is not None
            hits[name] += result.low <= 5 <= result.high
    assert hits["items"] / 200 < 0.8
    assert hits["both"] / 200 > 0.88


def test_items_count_once_whatever_their_ratings() -> None:
    value, predicted, item = [4.0, 6, 5, 5, 5, 2, 2, 8], [5.0, 5, 5, 5, 5, 3, 3, 8], list("aabbbccd")
    result = prediction_powered_mean(Rated(value, predicted, item), OTHERS)
    assert result.ratings_alone.value == pytest.approx((5 + 5 + 2 + 8) / 4)
    assert result.ratings_alone.counts["rated"] == 4


def test_too_little_is_a_reason() -> None:
    assert mentions(prediction_powered_mean(Rated([5.0], [5.0]), OTHERS).estimate.why_missing, "1 rated", "2")
    assert "too few" in str(prediction_powered_mean(Rated(RATED, PREDICTED), [5.0]).estimate.why_missing)
    flat = prediction_powered_slope(Rated(RATED, PREDICTED), [5.0] * 10, OTHERS, OTHERS_X)
    assert mentions(flat.estimate.why_missing, "items", "vary")
    gaps = prediction_powered_mean(Rated([*RATED, None], [*PREDICTED, 5.0]), OTHERS)
    assert gaps.estimate.counts["left_out"] == 1


def test_columns_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="value 10, prediction 9"):
        prediction_powered_mean(Rated(RATED, PREDICTED[:-1]), OTHERS)
    with pytest.raises(InputError, match="cannot be 2"):
        prediction_powered_mean(Rated(RATED, PREDICTED), OTHERS, tuning=2.0)
    with pytest.raises(InputError, match="others_x 14"):
        prediction_powered_slope(Rated(RATED, PREDICTED), RATED_X, OTHERS, OTHERS_X[:-1])
