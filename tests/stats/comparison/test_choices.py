"""Rankings and best-worst choices against choix, Bradley-Terry, hand calculation and simulated truth."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.comparison.strengths.choices import best_worst, best_worst_counts, plackett_luce
from heartfelt.stats.comparison.strengths.models import bradley_terry

SOURCE = "choix 0.4.1 opt_rankings (Plackett-Luce by maximum likelihood) on the rankings below, to its own tolerance"
RANKINGS = ("acbd", "abcd", "bacd", "cab", "dab", "bdc", "cda", "abdc", "dcba", "cb")
CHOIX = {"a": 0.27017774, "b": 0.01022777, "c": 0.05181577, "d": -0.33222128}


def _long(rankings: tuple[str, ...]) -> tuple[list[int], list[int], list[str], list[int]]:
    rows = [(n % 4, n, item, place) for n, order in enumerate(rankings) for place, item in enumerate(order, 1)]
    raters, trials, items, ranks = zip(*rows, strict=True)
    return list(raters), list(trials), list(items), list(ranks)


def test_strengths_are_those_of_choix() -> None:
    result = plackett_luce(*_long(RANKINGS))
    assert {name: float(result.strength(name)) for name in "abcd"} == pytest.approx(CHOIX, abs=1e-5)
    assert sum(float(each) for each in result.strengths) == pytest.approx(0, abs=1e-9)


def test_rankings_of_two_are_bradley_terry() -> None:
    rng = np.random.default_rng(2)
    first = rng.integers(0, 5, 300)
    second = (first + rng.integers(1, 5, 300)) % 5
    value = (rng.random(300) < 1 / (1 + np.exp((second - first) / 2))).astype(float)
    rater, prompt = rng.integers(0, 9, 300), rng.integers(0, 12, 300)
    items, ranks = np.column_stack([first, second]).ravel(), np.column_stack([2 - value, 1 + value]).ravel()
    for stimulus in (None, prompt):
        pairs = bradley_terry(rater, first, second, value, stimulus=stimulus)
        twice = None if stimulus is None else np.repeat(stimulus, 2)
        ranked = plackett_luce(np.repeat(rater, 2), np.repeat(np.arange(300), 2), items, ranks, stimulus=twice)
        for name in range(5):
            expected, strength = pairs.strength(name), ranked.strength(name)
            assert strength.value == pytest.approx(expected.value, abs=1e-7)
            assert strength.low == pytest.approx(expected.low, abs=1e-6)
            assert strength.high == pytest.approx(expected.high, abs=1e-6)
            assert strength.counts.get("stimuli") == (None if stimulus is None else 12)


def test_a_shared_rank_counts_for_each_before_the_rest() -> None:
    # a and b share the first place: each was chosen from {a, b, c}.
    tied = plackett_luce([1, 1, 1, 2, 2, 2], [1, 1, 1, 2, 2, 2], list("abcabc"), [1, 1, 2, 3, 2, 1])
    assert tied.strength("b").value is not None
    assert not tied.strength("a").is_missing


def test_plackett_luce_recovers_simulated_truth() -> None:
    rng = np.random.default_rng(4)
    truth = np.array([-1.0, -0.2, 0.4, 0.8])
    noise = rng.gumbel(size=(4000, 4))
    order = np.argsort(-(truth + noise), axis=1)
    ranks = np.argsort(order, axis=1) + 1
    trials = np.repeat(np.arange(4000), 4)
    result = plackett_luce(trials % 50, trials, np.tile(np.arange(4), 4000), ranks.ravel())
    assert [float(result.strength(i)) for i in range(4)] == pytest.approx(truth, abs=0.06)


def _best_worst(seed: int, trials: int) -> tuple[np.ndarray, list[list[int]]]:
    rng = np.random.default_rng(seed)
    truth = np.array([-1.2, -0.4, 0.0, 0.5, 1.1])
    rows = []
    for trial in range(trials):
        members = rng.choice(5, 4, replace=False)
        best = members[np.argmax(truth[members] + rng.gumbel(size=4))]
        rest = members[members != best]
        worst = rest[np.argmax(-truth[rest] + rng.gumbel(size=3))]
        rows += [[trial % 40, trial, int(m), int(m == best) - int(m == worst)] for m in members]
    return truth, rows


@pytest.mark.slow
def test_best_worst_recovers_simulated_truth() -> None:
    truth, rows = _best_worst(1, 4000)
    result = best_worst(*map(list, zip(*rows, strict=True)))
    assert [float(result.strength(i)) for i in range(5)] == pytest.approx(truth, abs=0.08)


def test_best_worst_counts_by_hand() -> None:
    # a is best twice of two, b worst once of two and best never, c worst once of one.
    counts = best_worst_counts([1, 1, 1, 2, 2], [1, 1, 1, 2, 2], list("abcab"), [1, 0, -1, 1, -1])
    scores = dict(zip(counts.names, counts.scores, strict=True))
    assert {name: score.value for name, score in scores.items()} == {"a": 1.0, "b": -0.5, "c": -1.0}
    assert scores["c"].why_no_interval == "one rater saw it"
    assert scores["b"].counts == {"shown": 2, "raters": 2}


def test_an_item_that_is_always_last_has_no_finite_strength() -> None:
    result = plackett_luce(*_long(("abz", "baz", "ab", "ba")))
    assert "it lost every comparison" in (result.strength("z").why_missing or "")
    assert result.strength("a").value == pytest.approx(0)


def test_a_set_of_one_is_left_out() -> None:
    result = plackett_luce(*_long(("ab", "ba", "a")))
    assert result.counts["left_out"] == 1


def test_an_item_twice_in_a_set_is_refused() -> None:
    with pytest.raises(InputError, match=r"'a'.*trial 7.*'r'"):
        plackett_luce(["r", "r"], [7, 7], ["a", "a"], [1, 2])


def test_no_answers() -> None:
    assert plackett_luce([], [], [], []).strengths == ()


@pytest.mark.slow
def test_intervals_of_rankings_cover() -> None:
    rng = np.random.default_rng(9)
    strengths = np.linspace(-1, 1, 5)

    def study(raters: int, each: int) -> tuple[np.ndarray, ...]:
        tastes = strengths + rng.normal(0, 0.5, (raters, 5))
        rater = np.repeat(np.arange(raters), each)
        ranks = np.argsort(np.argsort(-(tastes[rater] + rng.gumbel(size=(rater.size, 5))), axis=1), axis=1) + 1
        trial = np.repeat(np.arange(rater.size), 5)
        return np.repeat(rater, 5), trial, np.tile(np.arange(5), rater.size), ranks.ravel()

    truth = [float(plackett_luce(*study(3000, 5)).strength(i)) for i in range(5)]
    hits = []
    for _ in range(150):
        result = plackett_luce(*study(15, 6))
        for name, true in enumerate(truth):
            each = result.strength(name)
            hits.append(each.low is not None and each.high is not None and each.low <= true <= each.high)
    assert 0.92 < np.mean(hits) < 0.98
