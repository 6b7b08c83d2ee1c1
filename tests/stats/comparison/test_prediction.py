"""Scores of predicted choices against sums by hand, statsmodels, brute force and simulated truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.comparison.judges.position import position_bias
from heartfelt.stats.comparison.predicted.prediction import ChoiceScores, choice_scores
from heartfelt.stats.comparison.predicted.recalibration import choice_calibration
from tests.facts import mentions

SOURCE = "statsmodels 0.15.0: GLM(y, add_constant(z), family=Binomial()).fit().params"
ODDS = """
-1.2 -1.99 -0.37 0.63 1.7 0.16 -0.83 -1.18 1.12 2.45 0.41 -1.85 -1.44 2.4 0.3 -2.6 -0.13 -1.74 -0.94 -0.73 -1.07 0.83 -0.09
-0.88 0.61 1.24 -2.46 -0.39 -1.47 -0.26 -1.93 0.03 -0.06 -0.46 -1.57 -0.59 -1.64 -2.03 0.34 -1.66
"""
CHOICES = "0011010110100010010001101101010010000001"
INTERCEPT, SLOPE = -0.18117006603145555, 0.5279540282507615

Columns = tuple[list[str], list[str], list[str], list[float]]


def _four() -> Columns:
    """Two raters on two pairs, one comparison presented the other way round, one tie."""
    return ["r", "s", "r", "s"], ["a", "b", "c", "c"], ["b", "a", "d", "d"], [1.0, 1.0, 0.5, 0.0]


def _expit(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-x)))


def test_scores_by_hand() -> None:
    p, t = [0.7, 0.2, 0.5, 0.3], [0.1, 0.2, 0.3, 0.1]
    scores = choice_scores(*_four(), probability=p, tie=t)
    # The sides lean to first, second (0.2 < 0.6), first (0.5 > 0.2), second (0.3 < 0.6).
    assert float(scores.accuracy) == pytest.approx((1 + 0 + 0.5 + 1) / 4)
    assert float(scores.decided_accuracy) == pytest.approx(2 / 3)
    assert float(scores.outcome_accuracy) == pytest.approx((1 + 0 + 0 + 1) / 4)
    m = [0.75, 0.3, 0.65, 0.35]
    log_loss = -(math.log(m[0]) + math.log(m[1]) + (math.log(m[2]) + math.log(1 - m[2])) / 2 + math.log(1 - m[3]))
    assert float(scores.log_loss) == pytest.approx(log_loss / 4)
    assert float(scores.outcome_log_loss) == pytest.approx(-math.log(0.7 * 0.2 * 0.3 * 0.6) / 4)
    brier = 0.25**2 + 0.7**2 + 0.15**2 + 0.35**2
    assert float(scores.brier) == pytest.approx(brier / 4)
    outcome = (
        (0.3**2 + 0.2**2 + 0.1**2)
        + (0.8**2 + 0.6**2 + 0.2**2)
        + (0.5**2 + 0.2**2 + 0.7**2)
        + (0.3**2 + 0.4**2 + 0.1**2)
    )
    assert float(scores.outcome_brier) == pytest.approx(outcome / 8)
    # The two answers to a and b disagree (each was chosen once), so only the pair of c and d has a majority, which is d. The
    # predictions of that pair lean to c by 0.3 and to d by 0.3.
    assert float(scores.majority_accuracy) == pytest.approx(0.5)
    assert scores.majority_accuracy.counts["labels"] == 1


def test_a_difference_is_scored_by_its_sign() -> None:
    scores = choice_scores(*_four(), difference=[0.1, 3.0, 0.0, 9.0])
    assert float(scores.accuracy) == pytest.approx((1 + 1 + 0.5 + 0) / 4)
    assert mentions(scores.log_loss.why_missing, "prediction", "probabilities")
    assert scores.outcome_accuracy.is_missing
    assert scores.brier.is_missing


def test_ties_are_an_outcome_only_with_their_probability() -> None:
    scores = choice_scores(*_four(), probability=[0.7, 0.2, 0.5, 0.3])
    assert not scores.log_loss.is_missing
    assert mentions(scores.outcome_log_loss.why_missing, "prediction", "probability", "tie")


def _simulated(seed: int, raters: int = 20, pairs: int = 60, each: int = 30) -> tuple[npt.NDArray[Any], ...]:
    rng = np.random.default_rng(seed)
    rater = np.repeat(np.arange(raters), each)
    pair = np.concatenate([rng.permutation(pairs)[:each] for _ in range(raters)])
    lead = rng.normal(0, 1.2, pairs)
    taste = rng.normal(0, 0.8, (raters, pairs)) + 0.3 * rng.normal(0, 1, (raters, 1))
    value = (rng.random(rater.size) < _expit(lead[pair] + taste[rater, pair])) * 1.0
    return rater, 2.0 * pair, 2.0 * pair + 1, value, lead[pair]


def test_presenting_pairs_the_other_way_round_changes_nothing() -> None:
    rater, first, second, value, lead = _simulated(0)
    value[::7] = 0.5
    p, t = 0.9 * _expit(lead), np.full(value.size, 0.1)
    swap = np.random.default_rng(1).random(value.size) < 0.5
    plain = choice_scores(rater, first, second, value, probability=p, tie=t)
    swapped = choice_scores(
        rater,
        np.where(swap, second, first),
        np.where(swap, first, second),
        np.where(swap, 1 - value, value),
        probability=np.where(swap, 1 - p - t, p),
        tie=t,
    )
    for name in ChoiceScores.__slots__:
        a, b = getattr(plain, name), getattr(swapped, name)
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), abs=1e-12), name


@pytest.mark.slow
def test_the_majority_without_each_rater_is_the_majority_of_the_others() -> None:
    rater, first, second, value, lead = _simulated(2, raters=6, pairs=20, each=12)
    scores = choice_scores(rater, first, second, value, difference=lead)
    parts = []
    for unit in (rater, first):
        without = [
            float(
                choice_scores(
                    *(column[unit != u] for column in (rater, first, second, value)), difference=lead[unit != u]
                ).majority_accuracy
            )
            for u in np.unique(unit)
        ]
        n = len(without)
        parts.append((n - 1) / n * float(np.sum((np.array(without) - np.mean(without)) ** 2)))
    rows = np.arange(value.size)
    single = [
        float(
            choice_scores(
                *(column[rows != u] for column in (rater, first, second, value)), difference=lead[rows != u]
            ).majority_accuracy
        )
        for u in rows
    ]
    alone = (rows.size - 1) / rows.size * float(np.sum((np.array(single) - np.mean(single)) ** 2))
    estimate = scores.majority_accuracy
    assert estimate.low is not None
    assert estimate.high is not None
    share = float(estimate)
    variance = parts[1] + (1 + 4 / 6) * max(parts[0] - alone, 0)
    # Wilson's interval at the effective size has the half-width of its variance, with Student's t between normal and 2 df.
    half = (estimate.high - estimate.low) / 2
    assert 1.5 * math.sqrt(variance) < half < 4.4 * math.sqrt(variance)
    assert estimate.low < share < estimate.high


def test_calibration_matches_a_logistic_regression() -> None:
    z = np.array(ODDS.split(), float)
    y = np.array(list(CHOICES), float)
    result = choice_calibration(
        np.arange(40) % 8, [f"a{i}" for i in range(40)], [f"b{i}" for i in range(40)], y, _expit(z)
    )
    assert float(result.slope) == pytest.approx(SLOPE, abs=1e-9)
    assert float(result.intercept) == pytest.approx(INTERCEPT, abs=1e-9)
    assert result.table is not None
    assert result.table.p_calibrated is not None


def test_an_overconfident_prediction_has_a_slope_below_one() -> None:
    rater, first, second, value, lead = _simulated(3)
    value[::9] = 0.5
    result = choice_calibration(rater, first, second, value, _expit(3 * lead))
    assert result.slope.high is not None
    assert result.slope.high < 1
    assert result.slope.counts["decided"] == int((value != 0.5).sum())


def test_certain_constant_and_separating_predictions_say_why_they_have_no_slope() -> None:
    rater, first, second, value, lead = _simulated(4)
    certain = choice_calibration(rater, first, second, value, (lead > 0) * 1.0)
    assert "certain" in (certain.slope.why_missing or "")
    constant = choice_calibration(rater, first, second, value, np.full(value.size, 0.4))
    assert mentions(constant.slope.why_missing, "predictions", "same")
    knows = choice_calibration(rater, first, second, value, 0.2 + 0.6 * value)
    assert "separates" in (knows.slope.why_missing or "")
    ties = choice_calibration(rater, first, second, np.full(value.size, 0.5), _expit(lead))
    assert ties.slope.why_missing == "no comparison was decided"
    assert ties.table is None


def test_what_was_ruled_out_and_happened_is_explained() -> None:
    scores = choice_scores(*_four(), probability=[0.0, 0.5, 0.5, 0.5])
    assert mentions(scores.log_loss.why_missing or "", "1 comparisons", "prediction")
    assert float(scores.brier) == pytest.approx((1 + 0.25 + 0 + 0.25) / 4)


def test_missing_predictions_are_left_out_and_counted() -> None:
    scores = choice_scores(*_four(), difference=[1.0, None, math.nan, -1.0])
    assert scores.accuracy.counts["left_out"] == 2
    assert float(scores.accuracy) == 1.0
    none = choice_scores(*_four(), difference=[math.nan] * 4)
    assert none.accuracy.why_missing == "there are no comparisons"


def test_all_ties_have_no_decided_accuracy_and_no_majority() -> None:
    rater, first, second, value = _four()
    scores = choice_scores(rater, first, second, [0.5] * 4, difference=[1, -1, 1, -1])
    assert float(scores.accuracy) == 0.5
    assert scores.decided_accuracy.why_missing == "no comparison was decided"
    assert scores.majority_accuracy.why_missing == "no pair has a majority"
    assert value


def test_one_rater_has_no_interval_and_no_raters_have_one_over_pairs() -> None:
    _, first, second, value, lead = _simulated(5)
    alone = choice_scores(np.zeros(value.size), first, second, value, difference=lead).accuracy
    assert alone.low is None
    assert "one rater" in (alone.why_no_interval or "")
    without = choice_scores(None, first, second, value, difference=lead).accuracy
    assert without.low is not None
    assert "over pairs" in without.interval


def test_perfect_accuracy_has_a_lower_bound() -> None:
    rater, first, second, value, _ = _simulated(6)
    perfect = choice_scores(rater, first, second, value, difference=value - 0.5).accuracy
    assert (perfect.value, perfect.high) == (1.0, 1.0)
    assert perfect.low is not None
    assert 0.7 < perfect.low < 0.95


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ({}, "either differences or probabilities"),
        ({"difference": [0] * 4, "probability": [0.5] * 4}, "either differences or probabilities"),
        ({"difference": [0] * 4, "tie": [0.1] * 4}, "needs that of the first"),
        ({"probability": [0.5] * 3}, "probability 3, value 4"),
        ({"probability": [0.5, 0.5, 0.5, 1.2]}, "between 0 and 1"),
        ({"probability": [0.8] * 4, "tie": [0.3] * 4}, "must not exceed 1 together"),
    ],
)
def test_predictions_that_cannot_be_scored_are_refused(predictions: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        choice_scores(*_four(), **predictions)


@pytest.mark.slow
def test_intervals_cover_the_scores_of_the_population() -> None:
    """Accuracy, log loss, Brier score and calibration slope of a prediction that knows the leads, over raters and pairs."""
    rng = np.random.default_rng(7)
    lead = rng.normal(0, 1.2, 200_000)
    spread = math.sqrt(0.8**2 + 0.3**2)
    chance = np.mean([_expit(lead + spread * z) for z in rng.normal(0, 1, 200)], axis=0)
    p = _expit(lead)
    truth = {
        "accuracy": float(np.where(lead > 0, chance, 1 - chance).mean()),
        "log_loss": float(-(chance * np.log(p) + (1 - chance) * np.log(1 - p)).mean()),
        "brier": float((chance * (1 - p) ** 2 + (1 - chance) * p**2).mean()),
    }
    covered = dict.fromkeys(truth, 0)
    for seed in range(200):
        rater, first, second, value, own = _simulated(seed + 100)
        scores = choice_scores(rater, first, second, value, probability=_expit(own))
        for name, number in truth.items():
            estimate = getattr(scores, name)
            covered[name] += estimate.low <= number <= estimate.high
    assert all(0.92 <= hits / 200 <= 1.0 for hits in covered.values()), covered


def test_position_bias_by_hand() -> None:
    first = ["a", "b", "c", "d", "e", "f", "g", "h", "x"]
    second = ["b", "a", "d", "c", "f", "e", "h", "g", "y"]
    # a twice, first twice, first and a tie, a tie twice, and a pair in one order only.
    value = [1, 0, 1, 1, 1, 0.5, 0.5, 0.5, 1]
    bias = position_bias(first, second, value)
    assert float(bias.inconsistent) == pytest.approx(2 / 4)
    assert float(bias.favours_first) == 1.0
    assert bias.p_value == pytest.approx(0.5)
    assert bias.single_order == 1


def test_a_judge_that_always_says_first_is_biased() -> None:
    a, b = [f"a{i}" for i in range(12)], [f"b{i}" for i in range(12)]
    bias = position_bias(a + b, b + a, [1.0] * 24)
    assert float(bias.inconsistent) == 1.0
    assert bias.p_value == pytest.approx(2 * 0.5**12)
    consistent = position_bias(a + b, b + a, [1.0] * 12 + [0.0] * 12)
    assert float(consistent.inconsistent) == 0.0
    assert mentions(consistent.favours_first.why_missing, "answer", "changed", "order")
    assert consistent.p_value is None


def test_the_same_systems_on_different_prompts_are_different_pairs() -> None:
    bias = position_bias(["a", "b", "a"], ["b", "a", "b"], [1, 1, 0], stimulus=["p", "p", "q"])
    assert bias.inconsistent.counts["pairs"] == 1
    assert bias.single_order == 1
    none = position_bias(["a"], ["b"], [1])
    assert mentions(none.inconsistent.why_missing, "judged", "orders")
