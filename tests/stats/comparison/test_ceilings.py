"""Ceilings of choices and of strengths against simulated truth, and where there is none."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.comparison.predicted.ceilings import choice_ceilings, strength_ceiling
from heartfelt.stats.comparison.predicted.prediction import ChoiceScores, choice_scores
from heartfelt.stats.comparison.strengths.models import Strengths, bradley_terry
from tests.facts import mentions

Floats = npt.NDArray[np.float64]
Columns = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]


def _shares(lead: Floats, tie: float) -> Floats:
    """Long-run shares of first, tie and second by Davidson's model."""
    parts = np.column_stack([np.exp(lead / 2), np.full(lead.size, tie), np.exp(-lead / 2)])
    return np.asarray(parts / parts.sum(axis=1, keepdims=True))


def _answers(rng: np.random.Generator, q: Floats, each: int, raters: int) -> Columns:
    """``each`` answers to every pair, half of them with the pair the other way round."""
    who = np.array([rng.permutation(raters)[:each] for _ in range(q.shape[0])]).ravel()
    pair = np.repeat(np.arange(q.shape[0]), each)
    outcome = (rng.random((pair.size, 1)) > q[pair].cumsum(axis=1)[:, :2]).sum(axis=1)
    value = 1 - outcome / 2
    swap = rng.random(pair.size) < 0.5
    first, second = np.where(swap, 2 * pair + 1, 2 * pair), np.where(swap, 2 * pair, 2 * pair + 1)
    return who, first, second, np.where(swap, 1 - value, value)


def _truth(q: Floats, answers: int, draws: int = 400) -> dict[str, float]:
    """The expected scores of somebody who knows the shares, those of the majority by drawing answers."""
    won, tied, lost = q.T
    m = won + tied / 2
    rng = np.random.default_rng(0)
    votes = np.stack([rng.multinomial(answers, q) for _ in range(draws)])
    lead = votes[..., 0] - votes[..., 2]
    right = np.where(won >= lost, lead > 0, lead < 0)
    return {
        "accuracy": float(np.maximum(m, 1 - m).mean()),
        "decided_accuracy": float(np.maximum(won, lost).sum() / (won + lost).sum()),
        "outcome_accuracy": float(q.max(axis=1).mean()),
        "majority_accuracy": float(right.sum() / (lead != 0).sum()),
        "log_loss": float(-(m * np.log(m) + (1 - m) * np.log(1 - m)).mean()),
        "outcome_log_loss": float(-(q * np.log(np.maximum(q, 1e-300))).sum(axis=1).mean()),
        "brier": float((m * (1 - m) - tied / 4).mean()),
        "outcome_brier": float((1 - (q**2).sum(axis=1)).mean() / 2),
    }


@pytest.mark.slow
@pytest.mark.parametrize("tie", [0.0, 0.8])
def test_ceilings_of_choices_meet_the_truth(tie: float) -> None:
    rng = np.random.default_rng(1)
    q = _shares(rng.normal(0, 1.5, 1_500), tie)
    ceilings = choice_ceilings(*_answers(rng, q, 8, 40))
    for name, number in _truth(q, 8).items():
        estimate = getattr(ceilings, name)
        assert float(estimate) == pytest.approx(number, abs=0.025), name
        assert estimate.low < number < estimate.high, name
        assert estimate.counts["pairs"] == 1_500


@pytest.mark.slow
def test_the_scores_of_the_true_shares_reach_the_ceilings() -> None:
    """One definition of each score: somebody who knows the shares scores what the ceiling says."""
    rng = np.random.default_rng(2)
    q = _shares(rng.normal(0, 1.5, 3_000), 0.8)
    rater, first, second, value = _answers(rng, q, 6, 40)
    own = q[first // 2]
    forward = first < second
    chance = np.where(forward, own[:, 0], own[:, 2])
    scores = choice_scores(rater, first, second, value, probability=chance, tie=own[:, 1])
    for name, number in _truth(q, 6).items():
        assert float(getattr(scores, name)) == pytest.approx(number, abs=0.012), name


@pytest.mark.slow
def test_without_raters_every_answer_is_another_persons() -> None:
    rng = np.random.default_rng(3)
    rater, *rest = _answers(rng, _shares(rng.normal(0, 1, 100), 0.0), 5, 10)
    known, unknown = choice_ceilings(rater, *rest), choice_ceilings(None, *rest)
    assert float(known.accuracy) == float(unknown.accuracy)
    assert unknown.accuracy.low is not None
    assert "raters" not in unknown.accuracy.counts


@pytest.mark.slow
def test_a_larger_majority_is_easier_to_predict() -> None:
    rng = np.random.default_rng(3)
    columns = _answers(rng, _shares(rng.normal(0, 1, 400), 0.0), 7, 30)
    few, many = (choice_ceilings(*columns, answers=k) for k in (1, 15))
    assert float(few.majority_accuracy) == pytest.approx(float(few.accuracy), abs=1e-9)
    assert float(many.majority_accuracy) > float(few.majority_accuracy) + 0.1
    assert float(many.log_loss) == float(few.log_loss)


def test_full_agreement_has_a_ceiling_of_one_with_a_lower_bound() -> None:
    pair, rater = np.repeat(np.arange(50), 4), np.tile(np.arange(4), 50)
    ceilings = choice_ceilings(rater, 2 * pair, 2 * pair + 1, np.ones(200))
    assert float(ceilings.accuracy) == pytest.approx(1.0, abs=1e-3)
    assert ceilings.accuracy.low is not None
    assert 0.9 < ceilings.accuracy.low < 1.0
    assert float(ceilings.log_loss) == pytest.approx(0.0, abs=1e-3)


def test_all_ties_leave_nothing_to_decide() -> None:
    pair, rater = np.repeat(np.arange(50), 4), np.tile(np.arange(4), 50)
    ceilings = choice_ceilings(rater, 2 * pair, 2 * pair + 1, np.full(200, 0.5))
    assert ceilings.decided_accuracy.why_missing == "every comparison was a tie"
    assert ceilings.majority_accuracy.is_missing
    assert float(ceilings.accuracy) == pytest.approx(0.5, abs=1e-3)
    assert float(ceilings.outcome_accuracy) == pytest.approx(1.0, abs=1e-3)


def test_pairs_judged_once_say_nothing_about_agreement() -> None:
    ceilings = choice_ceilings(["r", "s"], ["a", "c"], ["b", "d"], [1, 0])
    assert mentions(ceilings.accuracy.why_missing, "judged", "twice")
    assert choice_ceilings([], [], [], []).accuracy.why_missing == "there are no comparisons"
    with pytest.raises(InputError, match=r"answers.*1"):
        choice_ceilings(["r", "s"], ["a", "a"], ["b", "b"], [1, 0], answers=0)


@pytest.mark.slow
def test_the_same_systems_on_different_prompts_are_different_pairs() -> None:
    rng = np.random.default_rng(4)
    rater, first, _, value = _answers(rng, _shares(rng.normal(0, 2, 100), 0.0), 5, 20)
    forward = np.where(first % 2 == 0, value, 1 - value)
    by_prompt = choice_ceilings(rater, ["a"] * value.size, ["b"] * value.size, forward, stimulus=first // 2)
    together = choice_ceilings(rater, ["a"] * value.size, ["b"] * value.size, forward)
    assert by_prompt.accuracy.counts["pairs"] == 100
    assert together.accuracy.counts["pairs"] == 1
    assert float(by_prompt.accuracy) > float(together.accuracy) + 0.05


def _arena(rng: np.random.Generator, strengths: Floats, raters: int, each: int, taste: float = 0.3) -> Strengths:
    n = strengths.size
    own = strengths + rng.normal(0, taste, (raters, n))
    rater = np.repeat(np.arange(raters), each)
    first = rng.integers(0, n, rater.size)
    second = (first + rng.integers(1, n, rater.size)) % n
    chance = 1 / (1 + np.exp(own[rater, second] - own[rater, first]))
    return bradley_terry(rater, first, second, (rng.random(rater.size) < chance) * 1.0)


def _correlations(values: Floats, truth: Floats) -> dict[str, float]:
    from scipy.stats import kendalltau, spearmanr

    return {
        "pearson": float(np.corrcoef(values, truth)[0, 1]),
        "spearman": float(spearmanr(values, truth).statistic),
        "kendall": float(kendalltau(values, truth).statistic),
    }


def _values(result: Strengths) -> Floats:
    return np.array([float(each) for each in result.strengths])


@pytest.mark.slow
def test_ceilings_of_strengths_meet_the_truth() -> None:
    rng = np.random.default_rng(5)
    strengths = rng.normal(0, 0.5, 20)
    reached = [_correlations(_values(_arena(rng, strengths, 40, 40)), strengths) for _ in range(6)]
    result = _arena(rng, strengths, 40, 40)
    for metric in ("pearson", "spearman", "kendall"):
        number = float(np.mean([each[metric] for each in reached]))
        estimate = strength_ceiling(result, metric)
        assert float(estimate) == pytest.approx(number, abs=0.08), metric
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low < number < estimate.high <= 1


def test_strengths_that_are_known_almost_exactly_have_a_ceiling_of_one() -> None:
    # Thousands of votes on four contestants: SciPy's noncentral F is not a number that far out.
    wins = {"ab": (730, 33), "ac": (498, 320), "ad": (221, 284), "bc": (68, 813), "bd": (17, 276), "cd": (142, 325)}
    rows = [
        (pair[0], pair[1], value)
        for pair, n in wins.items()
        for value, times in zip((1.0, 0.0), n, strict=True)
        for _ in range(times)
    ]
    first, second, value = zip(*rows, strict=True)
    ceiling = strength_ceiling(bradley_terry(None, first, second, value))
    assert (ceiling.low or 0) > 0.99
    assert float(ceiling) <= (ceiling.high or 0) <= 1.0


def test_equal_strengths_have_a_ceiling_near_zero() -> None:
    estimate = strength_ceiling(_arena(np.random.default_rng(6), np.zeros(10), 20, 20, 0.0))
    assert estimate.low == 0.0
    assert float(estimate) < 0.75


def test_where_strengths_have_no_ceiling() -> None:
    few = bradley_terry(None, ["a", "b", "a"], ["b", "a", "b"], [1, 1, 0])
    assert mentions(strength_ceiling(few).why_missing, "contestants", "strength")
    with pytest.raises(InputError, match=r"ceiling.*'rmse'"):
        strength_ceiling(few, "rmse")  # type: ignore[arg-type]  # refused at run time


@pytest.mark.slow
def test_bounds_of_ceilings_cover() -> None:
    """Of choices for pairs drawn anew, of strengths for the contestants as they are."""
    repeats = 12
    names = list(ChoiceScores.__slots__)
    truth = _truth(_shares(np.random.default_rng(0).normal(0, 1.2, 20_000), 0.6), 5, draws=40)
    covered = dict.fromkeys([*names, "pearson", "spearman", "kendall"], 0)
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        ceilings = choice_ceilings(*_answers(rng, _shares(rng.normal(0, 1.2, 200), 0.6), 5, 20))
        for name in names:
            estimate = getattr(ceilings, name)
            covered[name] += estimate.low <= truth[name] <= estimate.high
        strengths = rng.normal(0, 0.6, 8)
        reached = [_correlations(_values(_arena(rng, strengths, 20, 25)), strengths) for _ in range(15)]
        result = _arena(rng, strengths, 20, 25)
        for metric in ("pearson", "spearman", "kendall"):
            number = float(np.mean([each[metric] for each in reached]))
            estimate = strength_ceiling(result, metric)
            assert estimate.low is not None
            assert estimate.high is not None
            covered[metric] += estimate.low <= number <= estimate.high
    assert all(hits / repeats >= 0.9 for hits in covered.values()), covered
    assert math.isfinite(truth["log_loss"])
