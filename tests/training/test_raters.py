"""The model of the raters against planted truth, and the predicted distribution of answers by hand."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.predictors.trained.answers import AnswerSpread, crps, crps_expected, shares
from heartfelt.streams import stream
from heartfelt.training.heads.raters import RaterModel, SingleAnswers, can_model, model_raters

RATERS, STIMULI, EACH = 40, 200, 8
POINTS = np.arange(1.0, 10.0)


def planted(
    bias: float = 0.8, gain: float = 0.35, noise: float = 0.4, seed: int = 1
) -> tuple[SingleAnswers, dict[str, np.ndarray]]:
    """Answers of forty raters to two hundred stimuli, eight each, and what they were made from."""
    rng = stream(seed, "planted raters")
    truth = {
        "bias": rng.normal(0, bias, RATERS),
        "gain": np.maximum(rng.normal(1, gain, RATERS), 0.0),
        "noise": np.exp(rng.normal(0.2, noise, RATERS)),
        "perceived": rng.normal(5, 1.4, STIMULI),
    }
    rater = np.concatenate([rng.permutation(RATERS)[:EACH] for _ in range(STIMULI)])
    place = np.repeat(np.arange(STIMULI), EACH)
    value = 5 + truth["bias"][rater] + truth["gain"][rater] * (truth["perceived"][place] - 5)
    return SingleAnswers(rater, place, value + truth["noise"][rater] * rng.normal(0, 1, rater.size)), truth


def means(answers: SingleAnswers) -> np.ndarray:
    return np.asarray(np.bincount(answers.place, answers.value) / np.bincount(answers.place))


def off(label: np.ndarray, truth: np.ndarray) -> float:
    """The mean squared error that a line leaves."""
    return float((1 - np.corrcoef(label, truth)[0, 1] ** 2) * truth.var())


def test_planted_bias_gain_and_noise_are_recovered() -> None:
    answers, truth = planted()
    model = model_raters(answers, STIMULI)
    assert np.corrcoef(model.bias, truth["bias"])[0, 1] > 0.9
    assert np.corrcoef(model.gain, truth["gain"])[0, 1] > 0.85
    assert np.corrcoef(np.log(model.noise), np.log(truth["noise"]))[0, 1] > 0.85
    assert model.spread.bias == pytest.approx(truth["bias"].std(), rel=0.25)
    assert model.spread.gain == pytest.approx(truth["gain"].std(), rel=0.25)
    assert model.spread.noise == pytest.approx(np.sqrt(np.mean(truth["noise"] ** 2)), rel=0.1)
    # A label's variance says how far off it is.
    apart = model.label - truth["perceived"]
    assert np.mean((apart - apart.mean()) ** 2) == pytest.approx(model.variance.mean(), rel=0.35)


@pytest.mark.slow
def test_labels_are_better_than_means_where_raters_differ_and_no_worse_where_they_do_not() -> None:
    answers, truth = planted()
    plain = off(means(answers), truth["perceived"])
    assert off(model_raters(answers, STIMULI).label, truth["perceived"]) < 0.65 * plain
    alike, truth = planted(0.0, 0.0, 0.0, seed=2)
    plain = off(means(alike), truth["perceived"])
    model = model_raters(alike, STIMULI)
    assert off(model.label, truth["perceived"]) < 1.05 * plain
    assert model.spread.bias < 0.2
    assert model.spread.gain < 0.15


def test_a_rater_who_answers_by_chance_hardly_counts() -> None:
    answers, truth = planted(0.3, 0.1, 0.1, seed=3)
    rng = stream(3, "by chance")
    value = np.where(answers.rater < 10, rng.uniform(1, 9, answers.value.size), answers.value)
    model = model_raters(SingleAnswers(answers.rater, answers.place, value), STIMULI)
    weight = (model.gain / model.noise) ** 2
    assert weight[:10].mean() < 0.12 * weight[10:].mean()
    assert model.gain[10:].min() > 0.5
    by_means = off(means(SingleAnswers(answers.rater, answers.place, value)), truth["perceived"])
    assert off(model.label, truth["perceived"]) < 0.6 * by_means


def test_what_was_not_rated_has_no_label_and_answers_are_taken_by_place() -> None:
    answers, _ = planted()
    some = answers.at(np.array([5, 3, 150]))
    assert sorted(set(some.place.tolist())) == [0, 1, 2]
    first = answers.value[answers.place == 5]
    assert sorted(some.value[some.place == 0]) == sorted(first)
    model: RaterModel = model_raters(answers.at(np.arange(100)), 103)
    assert np.isfinite(model.label[:100]).all()
    assert np.isnan(model.label[100:]).all()
    assert np.isnan(model.variance[100:]).all()
    assert can_model(answers)
    few = answers.rater < 4
    assert not can_model(SingleAnswers(answers.rater[few], answers.place[few], answers.value[few]))
    nobody = np.zeros(0, np.int64)
    assert not can_model(SingleAnswers(nobody, nobody, np.zeros(0)))


def test_all_answers_equal_is_no_error() -> None:
    answers, _ = planted()
    model = model_raters(SingleAnswers(answers.rater, answers.place, np.full(answers.value.size, 4.0)), STIMULI)
    assert model.label == pytest.approx(4.0, abs=1e-6)
    assert np.isfinite(model.variance).all()


def test_the_ranked_probability_score_by_hand() -> None:
    """All probability on 4, answered 6: the distribution is off by 1 at points 4 and 5, so the score is 2."""
    assert crps([4.0], [1e-6], POINTS, [6.0]) == pytest.approx([2.0])
    assert crps([4.0], [1e-6], POINTS, [4.0]) == pytest.approx([0.0])
    # Half of the probability on each of 4 and 5: .25 at the point between, whichever is answered.
    assert crps([4.5, 4.5], [1e-6, 1e-6], POINTS, [4.0, 5.0]) == pytest.approx([0.25, 0.25])
    assert crps_expected([4.5], [1e-6], POINTS) == pytest.approx([0.25])
    # A scale of three points, normal with mean 2 and sd 1: 0.3085 on each end.
    end = 0.308537538725987
    assert shares([2.0], [1.0], np.array([1.0, 2.0, 3.0])) == pytest.approx(np.array([[end, 1 - 2 * end, end]]))
    assert crps([2.0], [1.0], np.array([1.0, 2.0, 3.0]), [3.0]) == pytest.approx([end**2 + (1 - end) ** 2])


def test_the_expected_score_is_that_of_answers_drawn_from_the_distribution() -> None:
    rng = stream(4, "drawn answers")
    value, sd = np.full(20_000, 7.2), np.full(20_000, 1.9)
    drawn = np.clip(np.round(rng.normal(value, sd)), 1, 9)
    score = crps(value, sd, POINTS, drawn)
    assert score.mean() == pytest.approx(crps_expected(value[:1], sd[:1], POINTS)[0], abs=0.02)
    assert crps(value, 0.6 * sd, POINTS, drawn).mean() > score.mean()
    assert crps(value - 1, sd, POINTS, drawn).mean() > score.mean()
    assert shares(value[:1], sd[:1], POINTS).sum() == pytest.approx(1.0)


def test_answers_spread_more_away_from_the_centre_and_with_the_error_of_the_prediction() -> None:
    spread = AnswerSpread(centre=5.0, bias=0.6, gain=0.5, noise=1.2)
    assert spread.sd(5.0) == pytest.approx(np.sqrt(0.36 + 1.44))
    assert spread.sd([3.0, 7.0]) == pytest.approx(np.sqrt([0.36 + 1.44 + 1.0] * 2))
    with_error = AnswerSpread(centre=5.0, bias=0.6, gain=0.5, noise=1.2, error=0.8)
    assert with_error.sd(5.0) == pytest.approx(np.sqrt(0.36 + 1.44 + 0.64 * 1.25))
