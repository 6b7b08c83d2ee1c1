"""Strengths from paired comparisons against R, simulated truth, and designs that have no answer."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.comparison.pairs import win_matrix
from heartfelt.stats.comparison.strengths.models import Strengths, bradley_terry, cmos, davidson, rao_kupper, thurstone
from tests.facts import mentions

SOURCE = (
    "R 4.2, BradleyTerry2 1.1-2: BTm(cbind(home.wins, away.wins), home.team, away.team) on `baseball` (Agresti 2002, p. 438),"
    " with and without at.home, and with a probit link; psychotools 0.7-2: btmodel(undecided = TRUE)"
)
BASEBALL = """
Milwaukee Detroit 4 3, Milwaukee Toronto 4 2, Milwaukee NewYork 4 3, Milwaukee Boston 6 1, Milwaukee Cleveland 4 2,
Milwaukee Baltimore 6 0, Detroit Milwaukee 3 3, Detroit Toronto 4 2, Detroit NewYork 4 3, Detroit Boston 6 0,
Detroit Cleveland 6 1, Detroit Baltimore 4 3, Toronto Milwaukee 2 5, Toronto Detroit 4 3, Toronto NewYork 2 4,
Toronto Boston 4 3, Toronto Cleveland 4 2, Toronto Baltimore 6 0, NewYork Milwaukee 3 3, NewYork Detroit 5 1,
NewYork Toronto 2 5, NewYork Boston 4 3, NewYork Cleveland 4 2, NewYork Baltimore 6 1, Boston Milwaukee 5 1,
Boston Detroit 2 5, Boston Toronto 3 3, Boston NewYork 4 2, Boston Cleveland 5 2, Boston Baltimore 6 0,
Cleveland Milwaukee 2 5, Cleveland Detroit 3 3, Cleveland Toronto 3 4, Cleveland NewYork 4 3, Cleveland Boston 4 2,
Cleveland Baltimore 2 4, Baltimore Milwaukee 2 5, Baltimore Detroit 1 5, Baltimore Toronto 1 6, Baltimore NewYork 2 4,
Baltimore Boston 1 6, Baltimore Cleveland 3 4
"""
TEAMS = ("Boston", "Cleveland", "Detroit", "Milwaukee", "NewYork", "Toronto")
WITHOUT_HOME = (1.107697705372, 0.683852769153, 1.436408431806, 1.581355876655, 1.247617845135, 1.294485123905)
ERRORS_WITHOUT_HOME = (0.333877908162, 0.331876399144, 0.339568187482, 0.343255664026, 0.335860615785, 0.336669092693)
WITH_HOME = (1.143802653297, 0.7046944569, 1.475357213586, 1.619554993578, 1.281340403276, 1.327110398072)
ERRORS_WITH_HOME = (0.337842188911, 0.335001403342, 0.344551823286, 0.347365306113, 0.340403358811, 0.340322208808)
HOME, HOME_ERROR = 0.302260655528, 0.130943642532
PROBIT = (0.6812631034, 0.415464998523, 0.876906373169, 0.97043037448, 0.763584578482, 0.797269878269)
# Rows are raters, columns the pairs ab, ac, bc, ad, bd, cd: 1 for the first, -1 for the second, 0 undecided.
UNDECIDED = """
1 1 -1 -1 1 0, 0 0 -1 1 1 1, -1 1 -1 1 0 0, 1 0 0 1 0 1, 1 1 1 1 -1 1, 1 0 -1 1 0 -1, 0 1 -1 1 0 -1, 0 1 -1 0 1 1,
-1 0 1 0 1 1, 1 1 1 1 0 1, 0 1 1 1 0 1, 1 0 1 0 1 0, 1 1 1 -1 -1 1, 0 -1 1 1 1 1, -1 1 -1 1 1 1, 1 1 -1 0 0 0,
1 1 0 1 0 1, 1 -1 -1 1 1 1, 0 0 0 0 1 1, 1 1 -1 1 1 -1, 0 1 -1 1 0 1, -1 1 1 1 1 1, 1 0 0 1 1 1, 0 1 -1 1 1 1,
-1 1 1 0 1 0
"""
Z = 1.959963984540054


def _baseball() -> tuple[list[str], list[str], list[float]]:
    home, away, value = [], [], []
    for line in BASEBALL.replace("\n", " ").split(","):
        first, second, won, lost = line.split()
        for count, outcome in ((int(won), 1.0), (int(lost), 0.0)):
            home += [first] * count
            away += [second] * count
            value += [outcome] * count
    return home, away, value


def _undecided() -> tuple[list[int], list[str], list[str], list[float]]:
    rows = [
        (number, pair[0], pair[1], (int(outcome) + 1) / 2)
        for number, line in enumerate(UNDECIDED.replace("\n", " ").split(","))
        for pair, outcome in zip(("ab", "ac", "bc", "ad", "bd", "cd"), line.split(), strict=True)
    ]
    raters, first, second, value = zip(*rows, strict=True)
    return list(raters), list(first), list(second), list(value)


def _above(result: Strengths, others: tuple[str, ...], reference: str) -> tuple[list[float], list[float]]:
    """Differences from a reference, and their standard errors from the 95% interval."""
    effects = [result.difference(name, reference).estimate for name in others]
    return [float(e) for e in effects], [(e.high - float(e)) / Z for e in effects if e.high is not None]


@pytest.mark.parametrize(
    ("order", "values", "errors"), [(False, WITHOUT_HOME, ERRORS_WITHOUT_HOME), (True, WITH_HOME, ERRORS_WITH_HOME)]
)
def test_strengths_and_errors_are_those_of_bradleyterry2(
    order: bool, values: tuple[float, ...], errors: tuple[float, ...]
) -> None:
    home, away, value = _baseball()
    result = bradley_terry(None, home, away, value, order_effect=order)
    differences, standard_errors = _above(result, TEAMS, "Baltimore")
    assert differences == pytest.approx(values, abs=1e-8)
    assert standard_errors == pytest.approx(errors, rel=2e-6)
    assert sum(float(each) for each in result.strengths) == pytest.approx(0, abs=1e-9)


def test_the_order_effect_is_that_of_bradleyterry2() -> None:
    home, away, value = _baseball()
    effect = bradley_terry(None, home, away, value, order_effect=True).order_effect
    assert effect.estimate.value == pytest.approx(HOME, abs=1e-8)
    assert effect.estimate.high == pytest.approx(HOME + Z * HOME_ERROR, rel=1e-6)
    assert effect.p_value == pytest.approx(math.erfc(HOME / HOME_ERROR / math.sqrt(2)), rel=1e-5)


def test_thurstone_is_the_probit_model() -> None:
    home, away, value = _baseball()
    differences, _ = _above(thurstone(None, home, away, value), TEAMS, "Baltimore")
    assert differences == pytest.approx(PROBIT, abs=1e-6)


def test_davidson_is_that_of_psychotools() -> None:
    _, first, second, value = _undecided()
    result = davidson(None, first, second, value)
    differences, errors = _above(result, ("a", "b", "c"), "d")
    assert differences == pytest.approx((2.605845590743, 1.466655961128, 1.498718287641), abs=1e-8)
    variances = (0.2089085636391, 0.1631588083088, 0.1639963056741)
    assert np.square(errors) == pytest.approx(variances, rel=1e-4)
    assert result.log_likelihood == pytest.approx(-140.403088834, abs=1e-8)
    assert math.log(float(result.tie)) == pytest.approx(-0.115905683253, abs=1e-8)


def _fits() -> list[Callable[..., Strengths]]:
    return [bradley_terry, davidson, rao_kupper, thurstone, cmos]


@pytest.mark.parametrize("model", _fits())
def test_swapping_first_and_second_changes_only_the_order_effect(model: Callable[..., Strengths]) -> None:
    raters, first, second, value = _undecided()
    result = model(raters, first, second, value, order_effect=True)
    other = 0 if model is cmos else 1
    turned = [(-v if model is cmos else other - v) for v in value]
    swapped = model(raters, second, first, turned, order_effect=True)
    for one_way, other_way in zip(result.strengths, swapped.strengths, strict=True):
        assert other_way.value == pytest.approx(one_way.value, abs=1e-7)
        assert other_way.low == pytest.approx(one_way.low, abs=1e-6)
    assert swapped.order_effect.estimate.value == pytest.approx(-float(result.order_effect.estimate), abs=1e-7)
    assert swapped.order_effect.p_value == pytest.approx(result.order_effect.p_value, abs=1e-6)


@pytest.mark.parametrize("model", [davidson, rao_kupper])
def test_without_ties_models_of_ties_are_bradley_terry(model: Callable[..., Strengths]) -> None:
    home, away, value = _baseball()
    plain, tied = bradley_terry(None, home, away, value), model(None, home, away, value)
    assert [float(s) for s in tied.strengths] == pytest.approx([float(s) for s in plain.strengths], abs=1e-7)
    assert tied.tie.value == (0.0 if model is davidson else 1.0)
    assert tied.tie.why_no_interval == "no comparison was a tie"


def _simulated(
    rng: np.random.Generator, strengths: np.ndarray, size: int, nu: float = 0.0, order: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first = rng.integers(0, strengths.size, size)
    second = (first + rng.integers(1, strengths.size, size)) % strengths.size
    d = strengths[first] - strengths[second] + order
    weights = np.stack([np.exp(d / 2), np.full(size, nu), np.exp(-d / 2)])
    draw = rng.random(size) * weights.sum(axis=0)
    value = np.where(draw < weights[0], 1.0, np.where(draw < weights[0] + nu, 0.5, 0.0))
    return first, second, value


def test_davidson_recovers_simulated_truth() -> None:
    strengths = np.array([-1.0, -0.2, 0.3, 0.9])
    first, second, value = _simulated(np.random.default_rng(5), strengths, 200_000, nu=0.7, order=0.25)
    result = davidson(None, first, second, value, order_effect=True)
    assert [float(s) for s in result.strengths] == pytest.approx(strengths, abs=0.03)
    assert float(result.tie) == pytest.approx(0.7, abs=0.02)
    assert float(result.order_effect.estimate) == pytest.approx(0.25, abs=0.02)


def test_rao_kupper_recovers_simulated_truth() -> None:
    rng = np.random.default_rng(6)
    strengths, eta, size = np.array([-0.8, 0.1, 0.7]), 0.4, 200_000
    first = rng.integers(0, 3, size)
    second = (first + rng.integers(1, 3, size)) % 3
    d = strengths[first] - strengths[second]
    win, loss = 1 / (1 + np.exp(eta - d)), 1 / (1 + np.exp(eta + d))
    draw = rng.random(size)
    result = rao_kupper(None, first, second, np.where(draw < win, 1.0, np.where(draw < win + loss, 0.0, 0.5)))
    assert [float(s) for s in result.strengths] == pytest.approx(strengths, abs=0.03)
    assert float(result.tie) == pytest.approx(math.exp(eta), abs=0.02)


def test_graded_comparisons_are_least_squares() -> None:
    # Two systems compared once each way: +2 for a, then -1 from b's side.
    result = cmos(None, ["a", "b", "a"], ["b", "a", "b"], [2.0, -1.0, 0.0])
    assert [float(s) for s in result.strengths] == pytest.approx([0.5, -0.5])
    effect = result.difference("a", "b")
    # Three grades 2, 1, 0 in favour of a: mean 1, standard error 1 / sqrt 3, t with two degrees of freedom.
    assert effect.estimate.high == pytest.approx(1 + 4.302652729911275 / math.sqrt(3))
    assert effect.p_value == pytest.approx(0.22540333075851657)


def test_wins_are_counted_by_pair() -> None:
    table = win_matrix(["a", "b", "a", "c"], ["b", "a", "b", "a"], [1, 1, 0.5, 0])
    assert table.names == ("a", "b", "c")
    assert table.wins.tolist() == [[0, 1.5, 1], [1.5, 0, 0], [0, 0, 0]]  # counted by hand; a tie is half a win each
    assert table.comparisons.tolist() == [[0, 3, 1], [3, 0, 0], [1, 0, 0]]


def test_every_interval_has_its_confidence() -> None:
    raters, first, second, value = _undecided()
    narrow = bradley_terry(raters, first, second, value, confidence=0.5).strengths[0]
    wide = bradley_terry(raters, first, second, value, confidence=0.99).strengths[0]
    assert (narrow.confidence, wide.confidence) == (0.5, 0.99)
    assert narrow.low is not None
    assert wide.low is not None
    # Student's t with 24 degrees of freedom.
    assert (wide.low - float(wide)) / (narrow.low - float(narrow)) == pytest.approx(2.796939 / 0.684850, rel=1e-5)


def test_a_rater_who_answers_twice_as_often_is_one_rater() -> None:
    raters, first, second, value = _undecided()
    clustered = bradley_terry(raters * 2, first * 2, second * 2, value * 2).strengths[0]
    single = bradley_terry(raters, first, second, value).strengths[0]
    assert clustered.low == pytest.approx(single.low, abs=1e-6)
    assert clustered.high == pytest.approx(single.high, abs=1e-6)


# --- designs without an answer ----------------------------------------------------------------------------------------


def test_a_contestant_that_always_wins_has_no_finite_strength() -> None:
    result = bradley_terry(None, list("abcd"), list("bcaa"), [1, 1, 1, 1])
    winner = result.strength("d")
    assert winner.value is None
    assert mentions(winner.why_missing, "comparison", "links", "a, b, c")
    assert not result.strength("a").is_missing


def test_a_loser_is_called_one() -> None:
    result = bradley_terry(None, list("abca"), list("bcad"), [1, 1, 1, 1])
    assert "it lost every comparison" in (result.strength("d").why_missing or "")


def test_a_penalty_gives_a_finite_strength_and_says_so() -> None:
    result = bradley_terry(None, list("abcd"), list("bcaa"), [1, 1, 1, 1], penalty=1.0)
    assert all(not each.is_missing for each in result.strengths)
    assert mentions(result.strengths[0].method, "1 ties", "contestant")
    assert max(result.names, key=lambda name: float(result.strength(name))) == "d"


def test_unconnected_groups_are_explained() -> None:
    result = bradley_terry(None, list("abcx"), list("bcay"), [1, 1, 1, 0])
    assert mentions(result.strength("x").why_missing, "comparisons", "links", "a, b, c")
    assert result.strength("a").value == pytest.approx(0)


def test_two_contestants_of_which_one_always_wins() -> None:
    result = bradley_terry(None, ["a", "a"], ["b", "b"], [1, 1])
    assert all(each.is_missing for each in result.strengths)
    assert "one side always won" in (result.strengths[0].why_missing or "")


@pytest.mark.parametrize("model", [davidson, rao_kupper])
def test_all_ties_say_nothing_about_models_of_ties(model: Callable[..., Strengths]) -> None:
    result = model(None, ["a", "b"], ["b", "a"], [0.5, 0.5])
    assert {each.why_missing for each in result.strengths} == {"every comparison was a tie"}


def test_all_ties_as_half_wins_make_equals_without_an_interval() -> None:
    result = bradley_terry(["r", "s"], ["a", "b"], ["b", "a"], [0.5, 0.5])
    assert [each.value for each in result.strengths] == [0.0, 0.0]
    assert result.strengths[0].why_no_interval == "nothing varies"


def test_ties_among_all_but_a_loser_leave_models_of_ties_without_strengths() -> None:
    result = davidson(None, ["a", "b", "c"] * 3, ["b", "c", "a"] * 3, [1, 0, 0.5] * 3)
    why = [each.why_missing or "" for each in result.strengths]
    assert why[0] == why[2] == "every comparison within its connected group was a tie"
    assert why[1].startswith("it lost every comparison")


@pytest.mark.parametrize("model", [bradley_terry, davidson])
def test_values_alone_are_the_same_values(model: Callable[..., Strengths]) -> None:
    rng = np.random.default_rng(8)
    first = rng.integers(0, 5, 400)
    second = (first + rng.integers(1, 5, 400)) % 5
    value = rng.choice([0.0, 0.5, 1.0], 400)
    names = np.array(["e", "d", "c", "b", "a"])
    given = names[first].tolist(), names[second].tolist()
    full, alone = (model(None, *given, value, intervals=each) for each in (True, False))
    assert full.names == alone.names == ("a", "b", "c", "d", "e")
    assert [float(each) for each in full.strengths] == [float(each) for each in alone.strengths]
    assert alone.strengths[0].low is None
    assert "not asked for" in (alone.strengths[0].why_no_interval or "")
    # Lists, object arrays and numbers take different ways to the same codes.
    objects = model(None, *(np.array(column, object) for column in given), value)
    numbers = model(None, first, second, value)
    assert [float(each) for each in objects.strengths] == [float(each) for each in full.strengths]
    assert [float(each) for each in reversed(numbers.strengths)] == pytest.approx(
        [float(each) for each in full.strengths], abs=1e-9
    )


def test_a_panel_that_always_answers_left_has_no_order_effect() -> None:
    result = bradley_terry(None, list("abab"), list("baba"), [1, 1, 1, 1], order_effect=True)
    assert all(each.is_missing for each in result.strengths)
    assert "the first of two was chosen so consistently" in (result.strengths[0].why_missing or "")


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ((["r"], ["a"], ["a"], [1]), "'a' is compared with itself"),
        ((["r"], ["a"], ["b"], [0.7]), "0.7 is not an outcome"),
        ((["r"], ["a", "b"], ["b", "a"], [1, 0]), "differ in length: rater 1"),
    ],
)
def test_bad_input_is_named(columns: tuple[list[object], ...], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        bradley_terry(*columns)


def test_comparisons_without_a_value_are_counted() -> None:
    result = bradley_terry(["r"] * 3, ["a", "b", "a"], ["b", "a", "b"], [1, 1, None])
    assert result.counts["left_out"] == 1
    assert result.counts["comparisons"] == 2


def test_no_comparisons() -> None:
    result = bradley_terry([], [], [], [])
    assert result.names == ()
    assert result.order_effect.estimate.why_missing == "there are no comparisons"


def test_an_unknown_name_gets_a_suggestion() -> None:
    result = bradley_terry(None, ["musicgen"], ["suno"], [0.5])
    with pytest.raises(InputError, match=r"contestant.*'musicgem'"):
        result.strength("musicgem")


# --- ranks ------------------------------------------------------------------------------------------------------------


def test_rank_probabilities_belong_to_the_contestant() -> None:
    # b beats c beats a, 9 of 10 times each: the ranks of a, b, c are 3, 1, 2, which no sorting order of the three is.
    pairs = [("b", "c"), ("c", "a"), ("b", "a")]
    first, second = zip(*(pair for pair in pairs for _ in range(100)), strict=True)
    result = bradley_terry(None, first, second, [0.0 if n % 10 == 0 else 1.0 for n in range(300)])
    ranks = result.rank_probabilities(draws=500)
    assert dict(zip(result.names, (ranks.argmax(axis=1) + 1).tolist(), strict=True)) == {"a": 3, "b": 1, "c": 2}


def test_rank_probabilities_add_up_and_follow_the_strengths() -> None:
    raters, first, second, value = _undecided()
    result = davidson(raters, first, second, value)
    ranks = result.rank_probabilities(seed=1)
    assert ranks.sum(axis=1) == pytest.approx(np.ones(4))
    assert ranks.sum(axis=0) == pytest.approx(np.ones(4))
    assert ranks[result.names.index("a"), 0] > 0.95
    assert ranks[result.names.index("d"), 3] > 0.95


@pytest.mark.slow
def test_intervals_over_raters_and_stimuli_cover() -> None:
    """150 studies of 20 raters and 30 stimuli that both differ in taste; the truth is the strength in a study of 3,000 each."""
    rng = np.random.default_rng(8)
    strengths = np.linspace(-1, 1, 6)

    def study(raters: int, stimuli: int, each: int) -> tuple[np.ndarray, ...]:
        tastes, pieces = rng.normal(0, 0.5, (raters, 6)), rng.normal(0, 0.5, (stimuli, 6))
        rater, stimulus = np.repeat(np.arange(raters), each), rng.integers(0, stimuli, raters * each)
        first = rng.integers(0, 6, rater.size)
        second = (first + rng.integers(1, 6, rater.size)) % 6
        own = strengths + tastes[rater] + pieces[stimulus]
        rows = np.arange(rater.size)
        chance = 1 / (1 + np.exp(own[rows, second] - own[rows, first]))
        return rater, first, second, (rng.random(rater.size) < chance).astype(float), stimulus

    _, first, second, value, _ = study(3000, 3000, 100)
    truth = [float(s) for s in bradley_terry(None, first, second, value).strengths]
    hits = []
    for _ in range(150):
        rater, first, second, value, stimulus = study(20, 30, 30)
        result = bradley_terry(rater, first, second, value, stimulus=stimulus)
        bounds = [(s.low, s.high) for s in result.strengths]
        hits += [
            low is not None and high is not None and low <= t <= high
            for (low, high), t in zip(bounds, truth, strict=True)
        ]
    assert 0.92 < np.mean(hits) < 0.98


def test_grades_may_be_large_numbers() -> None:
    result = cmos(None, ["a", "b", "a"], ["b", "a", "b"], [80.0, -70.0, 90.0])
    assert [float(s) for s in result.strengths] == pytest.approx([40.0, -40.0])
