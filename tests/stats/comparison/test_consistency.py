"""Consistency of raters and of a set of comparisons."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from heartfelt.stats.comparison.judges.consistency import first_choices, rater_consistency, transitivity
from tests.facts import mentions

SOURCE = "Kendall and Babington Smith (1940): zeta by hand; scipy.stats.fisher_exact for the side"


def _complete(outcomes: dict[str, float], rater: str = "r") -> tuple[list[str], list[str], list[str], list[float]]:
    rows = [(rater, pair[0], pair[1], value) for pair, value in outcomes.items()]
    raters, first, second, value = zip(*rows, strict=True)
    return list(raters), list(first), list(second), list(value)


def test_a_circular_triad_is_counted() -> None:
    circle = rater_consistency(*_complete({"ab": 1, "bc": 1, "ca": 1}))[0]
    assert (circle.triads, circle.circular, circle.zeta) == (1, 1, 0.0)
    line = rater_consistency(*_complete({"ab": 1, "bc": 1, "ac": 1}))[0]
    assert (line.triads, line.circular, line.zeta) == (1, 0, 1.0)


def test_zeta_of_five_by_hand() -> None:
    # Everything as in a > b > c > d > e but for e over a, which closes three circles; five objects have at most five.
    outcomes = {a + b: 1.0 for a, b in itertools.combinations("abcde", 2)} | {"ae": 0.0}
    result = rater_consistency(*_complete(outcomes))[0]
    assert (result.triads, result.circular) == (10, 3)
    assert result.zeta == pytest.approx(1 - 3 / 5)


def test_zeta_of_four_by_hand() -> None:
    # Four objects have at most two circular triads: a > b > c > d but for d over a closes both.
    outcomes = {a + b: 1.0 for a, b in itertools.combinations("abcd", 2)}
    assert rater_consistency(*_complete(outcomes))[0].zeta == 1.0
    two = rater_consistency(*_complete(outcomes | {"ad": 0.0}))[0]
    assert (two.circular, two.zeta) == (2, 0.0)
    one = rater_consistency(*_complete(outcomes | {"bd": 0.0}))[0]
    assert (one.circular, one.zeta) == (1, 0.5)


def test_guessing_is_as_likely_as_the_share_of_answers_with_as_few_circles() -> None:
    # One triad: guessing gives no circle in six of eight cases, and at most one circle always.
    line, circle = (rater_consistency(*_complete({"ab": 1, "bc": 1, "ac": last}))[0].p_guessing for last in (1.0, 0.0))
    assert line == pytest.approx(0.75, abs=0.04)
    assert circle == 1.0


def test_ties_make_no_triad() -> None:
    result = rater_consistency(*_complete({"ab": 1, "bc": 0.5, "ac": 1}))[0]
    assert (result.triads, result.ties, result.zeta, result.p_guessing) == (0, 1, None, None)


def _panel(seed: int) -> tuple[list[int], list[int], list[int], list[float]]:
    """Ten careful raters, one who always answers left and one who guesses."""
    rng = np.random.default_rng(seed)
    strengths = np.linspace(-2, 2, 7)
    rows = []
    for rater in range(12):
        for a, b in itertools.combinations(range(7), 2):
            first, second = (a, b) if rng.random() < 0.5 else (b, a)
            chance = 1 / (1 + np.exp(strengths[second] - strengths[first]))
            value = 1.0 if rater == 10 else float(rng.random() < (0.5 if rater == 11 else chance))
            rows.append((rater, first, second, value))
    raters, firsts, seconds, values = zip(*rows, strict=True)
    return list(raters), list(firsts), list(seconds), list(values)


@pytest.mark.slow
def test_a_rater_who_always_answers_left_and_one_who_guesses_stand_out() -> None:
    result = rater_consistency(*_panel(0))
    left, guesser, careful = result[10], result[11], result[:10]
    assert left.first_share == 1.0
    assert left.p_side is not None
    assert left.p_side < 1e-4
    assert all(each.p_side is not None and each.p_side > 0.01 for each in careful)
    assert all(each.agreement is not None and each.agreement > 0.6 for each in careful)
    assert guesser.p_chance is not None
    assert guesser.p_chance > 0.05


@pytest.mark.slow
def test_transitive_comparisons_pass_and_a_circle_does_not() -> None:
    _, first, second, value = _panel(3)
    good = transitivity(first, second, value, draws=199)
    assert good.df == 21 - 7 + 1
    assert good.p_value is not None
    assert good.p_value > 0.05
    # The same answers of thirty raters, four times each: no more evidence than once.
    raters = np.arange(len(first)) % 30
    again = transitivity(first * 4, second * 4, value * 4, rater=np.tile(raters, 4), draws=199)
    assert again.deviance == pytest.approx(4 * (good.deviance or 0))
    assert again.p_value == pytest.approx(good.p_value or 0, abs=0.25)
    circle = transitivity(list("abc") * 30, list("bca") * 30, ([1.0] * 9 + [0.0]) * 9, draws=199)
    assert circle.p_value == pytest.approx(1 / 200)


def test_no_more_pairs_than_strengths_fit() -> None:
    result = transitivity(["a", "b"], ["b", "c"], [1, 0])
    assert mentions(result.why_missing, "strengths", "exactly")


def test_the_share_of_first_choices() -> None:
    share = first_choices([1, 1, 0.5, 0, 1])
    assert share.value == 0.75
    assert share.counts == {"comparisons": 5, "decided": 4}
    assert first_choices([0.5]).why_missing == "no comparison was decided"


def test_raters_keep_their_names_where_comparisons_are_left_out() -> None:
    raters, first, second = ["gone", "bea", "bea", "ann"], list("abca"), list("bcab")
    result = rater_consistency(raters, first, second, [None, 1, 1, 0])
    assert {each.rater: each.comparisons for each in result} == {"bea": 2, "ann": 1}
