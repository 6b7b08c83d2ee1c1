"""Small exact cases of comparisons: closed forms, slopes by differences, and the same result by two ways."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import ncfdtr

from heartfelt.errors import InputError
from heartfelt.stats.comparison import pairs, spread
from heartfelt.stats.comparison.abx import abx, d_prime_of_share, share_of_d_prime
from heartfelt.stats.comparison.judges import consistency
from heartfelt.stats.comparison.judges.consistency import (
    first_choices,
    rater_consistency,
    strengths_without_each,
    transitivity,
)
from heartfelt.stats.comparison.pairs import add_up, as_comparisons, connection
from heartfelt.stats.comparison.predicted import ceilings
from heartfelt.stats.comparison.spread import (
    Covariance,
    crossed_spread,
    ratio_over_raters,
    shared_members,
    without_units,
)
from heartfelt.stats.comparison.strengths import bootstrap, fit
from heartfelt.stats.comparison.strengths.bootstrap import bootstrap_strengths
from heartfelt.stats.comparison.strengths.links import BRADLEY_TERRY, DAVIDSON, GRADED, RAO_KUPPER, THURSTONE, Link
from heartfelt.stats.comparison.strengths.models import Strengths, bradley_terry, cmos, davidson, rao_kupper
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import stream
from tests.facts import mentions

# --- models -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", [BRADLEY_TERRY, THURSTONE, DAVIDSON, RAO_KUPPER, GRADED], ids=lambda each: each.name)
def test_slopes_and_information_are_those_of_the_likelihood(link: Link) -> None:
    d, tie, h = np.array([-1.7, -0.2, 0.0, 0.9]), 0.6, 1e-5
    sums = np.array([[3.0, 1.0, 2.0], [0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [2.0, 5.0, 1.0]])
    here = link.evaluate(d, sums, tie)
    up, down = (link.evaluate(d + step, sums, tie) for step in (h, -h))
    assert here.slope == pytest.approx((up.likelihood - down.likelihood) / (2 * h), abs=1e-8)
    assert here.curvature == pytest.approx((down.slope - up.slope) / (2 * h), abs=1e-8)
    assert (here.tie_slope is not None) == link.ties
    if link.ties:
        more, less = (link.evaluate(d, sums, tie + step) for step in (h, -h))
        assert here.tie_slope == pytest.approx((more.likelihood - less.likelihood) / (2 * h), abs=1e-8)
        assert here.tie_cross == pytest.approx((less.slope - more.slope) / (2 * h), abs=1e-8)
        assert less.tie_slope is not None
        assert more.tie_slope is not None
        assert here.tie_curvature == pytest.approx((less.tie_slope - more.tie_slope) / (2 * h), abs=1e-7)


def test_likelihoods_by_hand() -> None:
    # The first is three times as likely to be chosen: of four answers three are for it.
    d, sums = np.array([math.log(3)]), np.array([[3.0, 0.0, 1.0]])
    own = 3 * math.log(0.75) + math.log(0.25)
    assert BRADLEY_TERRY.evaluate(d, sums, 0.0).likelihood == pytest.approx(own)
    assert THURSTONE.evaluate(np.array([1.0]), sums, 0.0).likelihood == pytest.approx(
        3 * stats.norm.logcdf(1) + stats.norm.logcdf(-1)
    )
    # Davidson with nu = 2: weights sqrt 3, 2 and 1 / sqrt 3. Rao and Kupper with theta = 2: 3/5, 1/7 and the rest.
    with_tie, weights = np.array([[3.0, 2.0, 1.0]]), np.array([math.sqrt(3), 2, 1 / math.sqrt(3)])
    logs = np.log(weights / weights.sum())
    assert DAVIDSON.evaluate(d, with_tie, math.log(2)).likelihood == pytest.approx(with_tie @ logs)
    logs = np.log([3 / 5, 1 - 3 / 5 - 1 / 7, 1 / 7])
    assert RAO_KUPPER.evaluate(d, with_tie, math.log(2)).likelihood == pytest.approx(with_tie @ logs)


def _table(ties: bool = True, graded: bool = False) -> tuple[Any, ...]:
    """Forty answers of six raters about four contestants on five prompts; every pair in both orders."""
    ordered = list(itertools.permutations("abcd", 2))
    rows = [(n % 6, *ordered[n % 12], n * 7 % 5) for n in range(40)]
    rater, first, second, prompt = (np.array(column) for column in zip(*rows, strict=True))
    value = np.array([1.0, 0.0, 1.0, 0.5 if ties else 1.0, 0.0, 1.0, 1.0])[np.arange(40) * 5 % 7]
    return rater, first, second, 4 * value - 1 if graded else value, prompt


MODELS: tuple[Callable[..., Strengths], ...] = (bradley_terry, davidson, rao_kupper, cmos)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("order_effect", [False, True])
def test_many_contestants_and_few_give_the_same_strengths(
    model: Callable[..., Strengths], order_effect: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without square tables of pairs, by conjugate gradients and by first-order moves of raters and stimuli."""
    *columns, prompt = _table(graded=model is cmos)
    plain = model(*columns, stimulus=prompt, order_effect=order_effect)
    monkeypatch.setattr(pairs, "DENSE_AT_MOST", 0)
    monkeypatch.setattr(fit, "DIRECT_AT_MOST", 0)
    other = model(*columns, stimulus=prompt, order_effect=order_effect)
    for one, same in zip(plain.strengths, other.strengths, strict=True):
        assert (same.value, same.low, same.high) == pytest.approx((one.value, one.low, one.high), abs=1e-5)
    assert other.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-8)
    monkeypatch.setattr(spread, "STEPS_AT_MOST", 0)
    rough = model(*columns, stimulus=prompt, order_effect=order_effect)
    assert rough.covariance is not None
    assert plain.covariance is not None
    exact, first_order = plain.covariance.variance({0: 1.0})[0], rough.covariance.variance({0: 1.0})[0]
    assert first_order == pytest.approx(exact, rel=0.6)


def test_first_order_moves_of_raters_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # One pair, a mean of six grades by three raters: residuals -1 0 | 1 1 | -2 1 about a mean of 2.
    monkeypatch.setattr(spread, "STEPS_AT_MOST", 0)
    result = cmos([0, 0, 1, 1, 2, 2], ["a"] * 6, ["b"] * 6, [1.0, 2.0, 3.0, 3.0, 0.0, 3.0])
    assert result.covariance is not None
    variance, df = result.covariance.variance({0: 1.0, 1: -1.0})
    assert variance == pytest.approx((1 + 4 + 1) / 36 * 3 / 2)
    assert df == 2


def test_leaving_raters_out_by_hand() -> None:
    # The same means without each rater: sums 12 less 3, 6 and 3, of four grades.
    result = cmos([0, 0, 1, 1, 2, 2], ["a"] * 6, ["b"] * 6, [1.0, 2.0, 3.0, 3.0, 0.0, 3.0])
    without = np.array([9, 6, 9]) / 4
    assert result.covariance is not None
    assert result.covariance.variance({0: 1.0, 1: -1.0})[0] == pytest.approx(
        2 / 3 * float(np.sum((without - without.mean()) ** 2))
    )
    assert result.covariance.freedom == pytest.approx(2)
    # Of the model: squares 1 0 1 1 4 1 about the mean, five degrees of freedom, six grades.
    alone = cmos(None, ["a"] * 6, ["b"] * 6, [1.0, 2.0, 3.0, 3.0, 0.0, 3.0]).covariance
    assert alone is not None
    assert alone.variance({0: 1.0, 1: -1.0}) == pytest.approx((8 / 5 / 6, 5))
    assert (alone.freedom, alone.interval) == (5, "information of the model")
    assert alone.variance({0: 1.0})[0] == pytest.approx(8 / 5 / 6 / 4)


def test_a_penalty_is_ties_with_a_contestant_of_strength_zero() -> None:
    rater, first, second, value, _ = _table(ties=False)
    result = bradley_terry(rater, first, second, value, penalty=2.0)
    # At the maximum each contestant's wins are what its chances expect, the ties counted in.
    strengths = dict(zip(result.names, (float(each) for each in result.strengths), strict=True))
    # The ties add up to nothing, which tells how far the strengths were moved to have mean zero.
    moved = float(brentq(lambda c: sum(math.tanh((s + c) / 2) for s in strengths.values()), -5, 5))
    for name in "abcd":
        own = strengths[name] + moved
        won = sum(v for a, v in zip(first, value, strict=True) if a == name)
        won += sum(1 - v for b, v in zip(second, value, strict=True) if b == name)
        expected = sum(
            1 / (1 + math.exp(strengths[b if a == name else a] - strengths[name]))
            for a, b in zip(first, second, strict=True)
            if name in (a, b)
        )
        assert won - expected + 2.0 * (0.5 - 1 / (1 + math.exp(-own))) == pytest.approx(0, abs=1e-6)


# --- intervals by drawing anew ----------------------------------------------------------------------------------------

TWO = {
    "rater": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
    "prompt": [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3],
    "first": list("abababababab"),
    "second": list("babababababa"),
    "value": [1.0, 0.0, 1.0, 1.0, 0.0, 0.5, 1.0, 0.0, 0.5, 1.0, 1.0, 0.0],
}


def _drawn(units: str, resamples: int) -> np.ndarray:
    """How often each answer is drawn in each resample, with the same chance."""
    rng = stream(0, "comparison", "bootstrap")
    blocks = []
    for begin in range(0, resamples, bootstrap.LANES):
        size = min(bootstrap.LANES, resamples - begin)
        times = np.ones((size, 12))
        for name, count in (("rater", 6), ("prompt", 4)):
            if name in units:
                draws = rng.integers(0, count, (size, count))
                times *= (draws[:, :, None] == np.array(TWO[name])).sum(axis=1)
        blocks.append(times)
    return np.concatenate(blocks)


@pytest.mark.parametrize("units", ["rater", "prompt", "rater and prompt"])
@pytest.mark.parametrize("model", ["bradley-terry", "davidson"])
def test_a_bootstrap_of_two_contestants_has_a_closed_form(units: str, model: Any) -> None:
    resamples, confidence = 300, 0.6
    result = bootstrap_strengths(
        TWO["rater"] if "rater" in units else None,
        TWO["first"],
        TWO["second"],
        TWO["value"],
        stimulus=TWO["prompt"] if "prompt" in units else None,
        model=model,
        resamples=resamples,
        confidence=confidence,
    )
    times = _drawn(units, resamples)
    value = np.array(TWO["value"], float)
    for_a = np.where(np.array(TWO["first"]) == "a", value, 1 - value)
    ties = 0.5 * (for_a == 0.5) if model == "bradley-terry" else 0.0 * for_a
    won, lost = times @ (1.0 * (for_a == 1) + ties), times @ (1.0 * (for_a == 0) + ties)
    finite = (won > 0) & (lost > 0)
    strengths = np.log(won[finite] / lost[finite]) / 2
    assert result.counts.get("resamples_without_maximum", 0) == int((~finite).sum())
    assert result.counts["resamples"] == resamples
    low, high = np.quantile(strengths, [0.2, 0.8])
    a, b = result.strengths
    assert (a.low, a.high, b.low, b.high) == pytest.approx((low, high, -high, -low), abs=1e-4)
    assert a.interval.startswith(
        "bootstrap over " + {"rater": "raters", "prompt": "stimuli"}.get(units, "raters and stimuli")
    )


def test_a_bootstrap_of_single_answers_and_what_has_no_interval() -> None:
    columns = TWO["first"], TWO["second"], [1.0, 1.0, 0.0, 0.0] * 3
    result = bootstrap_strengths(None, *columns, resamples=400, confidence=0.5)
    assert result.strengths[0].interval == "bootstrap over comparisons, percentiles"
    # Twelve answers, half of them for a: quartiles of a binomial share are 5 and 7 of 12.
    assert (result.strengths[0].low, result.strengths[0].high) == pytest.approx(
        (math.log(5 / 7) / 2, math.log(7 / 5) / 2), abs=1e-4
    )
    rare = bootstrap_strengths(None, ["a"] * 12, ["b"] * 12, [0.0] + [1.0] * 11, resamples=200)
    gone = rare.counts["resamples_without_maximum"] / 200
    assert gone > 0.025
    assert rare.strengths[0].why_no_interval == f"{gone:.0%} of the resamples have no finite strengths"
    lost = bootstrap_strengths(None, ["a", "b", "a", "c"], ["b", "a", "b", "a"], [1, 1, 1, 0], resamples=9)
    assert "resamples" not in lost.counts, "c never won, so that there is nothing to draw anew"


# --- consistency ------------------------------------------------------------------------------------------------------


def test_the_deviance_of_a_circle_by_hand() -> None:
    # Each of three pairs is 3 to 1 the way round: a line of strengths expects 2 to 2.
    columns = list("abc") * 4, list("bca") * 4, [1.0] * 9 + [0.0] * 3
    result = transitivity(*columns, draws=99)
    assert result.deviance == pytest.approx(3 * 2 * (3 * math.log(1.5) + math.log(0.5)))
    assert (result.pairs, result.df) == (3, 1)
    # By enumeration: of the 5^3 outcomes of even pairs those as far from every line have a chance of .146.
    assert result.p_value == pytest.approx(0.146, abs=0.06)
    tie = transitivity(list("abc") * 4, list("bca") * 4, [1.0] * 6 + [0.5] * 6, draws=9)
    assert tie.deviance == pytest.approx(result.deviance)
    ended = transitivity(list("abc"), list("bcd"), [1, 1, 1])
    assert mentions(ended.why_missing, "strengths", "exactly")
    never = transitivity(list("abcaa"), list("bcadd"), [1, 1, 0, 1, 1])
    assert (never.pairs, never.df, never.why_missing) == (4, 1, "some strengths have no finite estimate")


def test_answers_given_twice_weigh_once() -> None:
    columns = list("abc") * 4, list("bca") * 4, [1.0] * 9 + [0.0] * 3
    once = transitivity(*columns, rater=range(12), draws=9)
    twice = transitivity(*(list(column) * 2 for column in columns), rater=list(range(12)) * 2, draws=9)
    assert once.p_value == transitivity(*columns, draws=9).p_value
    assert twice.deviance == pytest.approx(2 * (once.deviance or 0))
    # Every share is that of 4 people, whose two answers agree: the design effect is 2 times 4 / 3.
    thrice = transitivity(*(list(column) * 3 for column in columns), rater=list(range(12)) * 3, draws=9)
    assert thrice.deviance == pytest.approx(3 * (once.deviance or 0))
    for times in (1, 2, 3):
        data = as_comparisons(list(range(12)) * times, *(list(column) * times for column in columns))
        assert consistency._design_effect(data) == pytest.approx(1.0 if times == 1 else times * 4 / 3)
    alone = as_comparisons(["r"] * 4, ["a"] * 4, ["b"] * 4, [1.0, 0.0, 1.0, 1.0])
    assert consistency._design_effect(alone) == 1.0


def test_a_rater_against_the_others_by_hand() -> None:
    # Three others say a over b over c; the fourth agrees about a and b only, in six answers, and always says first.
    rater = ["x"] * 3 + ["y"] * 3 + ["z"] * 3 + ["w"] * 6
    first, second = list("abaabaaba") + list("abaacb"), list("bccbccbcc") + list("bccbbc")
    value = [1.0] * 9 + [1.0, 0.0, 0.0, 1.0, 1.0, 0.5]
    result = rater_consistency(rater, first, second, value)[0]
    assert result.rater == "w"
    assert (result.comparisons, result.ties, result.zeta) == (6, 1, None)
    assert result.agreement == pytest.approx(2 / 5)
    assert result.p_chance == pytest.approx(stats.binom.sf(1, 5, 0.5))
    assert result.first_share == pytest.approx(3 / 5)
    assert result.p_side == pytest.approx(stats.fisher_exact(np.array([[3, 2], [9, 0]])).pvalue)
    (alone,) = rater_consistency(["x"] * 3, list("aba"), list("bcc"), [1, 1, 1], ordered=False)
    assert (alone.agreement, alone.p_chance, alone.p_side, alone.first_share) == (None, None, None, None)
    opposite = rater_consistency(["x", "x", "y"], list("aba"), list("bab"), [1, 0, 0])[1]
    assert (opposite.agreement, opposite.p_chance) == (0.0, 1.0)


def test_the_others_are_fitted_with_one_tie_each() -> None:
    # Two contestants, 4 to 1 by the others: at the maximum 4 - 5 p = tanh(s / 2) / 2 with p of 2 s.
    data = as_comparisons([0] * 5 + [1], list("ababaa"), list("bababb"), [1, 0, 1, 0, 0, 1])
    own = list(strengths_without_each(data))
    strength = float(own[1][0])  # type: ignore[index]  # there are others
    chance = 1 / (1 + math.exp(-2 * strength))
    assert 4 - 5 * chance - math.tanh(strength / 2) / 2 == pytest.approx(0, abs=1e-5)
    first = float(own[0][0])  # type: ignore[index]  # there is another
    assert 1 - 1 / (1 + math.exp(-2 * first)) - math.tanh(first / 2) / 2 == pytest.approx(0, abs=1e-5)


def test_the_share_of_first_choices_has_wilsons_interval() -> None:
    share = first_choices([1] * 7 + [0] * 3 + [0.5, None], confidence=0.9)
    bounds = stats.binomtest(7, 10).proportion_ci(0.9, "wilson")
    assert (share.low, share.high) == pytest.approx((bounds.low, bounds.high))
    assert share.counts == {"comparisons": 12, "decided": 10}


# --- variances --------------------------------------------------------------------------------------------------------


def test_ratios_without_units_by_hand() -> None:
    top, bottom, codes = (np.array([1.0, 0.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0, 0.0]), np.array([0, 0, 1, 2]))
    # Unit 2 has no weight, so that it is not left out; unit 3 has no part at all.
    assert without_units(top, bottom, codes, 4).tolist() == [5 / 2, 4 / 2]
    members = np.array([[0, 0, 1, 1], [1, 2, 2, 2]])
    assert without_units(top, bottom, members, 3) == pytest.approx([5 / 2, 0 / 1, 1 / 1])
    assert without_units(np.ones(2), np.ones(2), np.zeros(2, int), 1).size == 0
    assert (shared_members(2.0, 5.0), shared_members(2.0, 3.0), shared_members(0.0, 1.0)) == (3.0, 2.0, 1.0)


def test_a_ratio_over_raters_by_hand() -> None:
    plain = Estimate(value=0.5, method="share")
    top, bottom = np.array([2.0, 1.0, 0.0, 0.0]), np.array([2.0, 2.0, 2.0, 0.0])
    # Without each of three raters: 1/4, 2/4, 3/4; the fourth saw nothing.
    variance = 2 / 3 * (2 / 16)
    half = 4.302652729911275 * math.sqrt(variance)
    wide = ratio_over_raters(plain, top, bottom, 0.95, (-9.0, 9.0))
    assert wide is not None
    assert (wide.low, wide.high) == pytest.approx((0.5 - half, 0.5 + half))
    cut = ratio_over_raters(plain, top, bottom, 0.95, (0.0, 1.0))
    assert cut is not None
    assert (cut.low, cut.high) == (0.0, 1.0)
    assert ratio_over_raters(plain, np.ones(3), 2 * np.ones(3), 0.95, (0.0, 1.0)) is None


def test_crossed_parts_by_hand() -> None:
    # Two items by three raters, one cell empty: the mean without each item, rater and grade.
    item, rater = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1])
    top, answers = np.array([1.0, 2.0, 6.0, 3.0, 4.0]), np.ones(5)
    found = crossed_spread(top, answers, (item, 2), (rater, 3))

    def variance(without: list[float]) -> float:
        n = len(without)
        return (n - 1) * float(np.var(without))

    assert found.items == pytest.approx(variance([7 / 2, 9 / 3]))
    assert found.raters == pytest.approx(variance([12 / 3, 10 / 3, 10 / 4]))
    assert found.ratings == pytest.approx(variance([15 / 4, 14 / 4, 10 / 4, 13 / 4, 12 / 4]))
    assert (found.item_count, found.rater_count) == pytest.approx((25 / 13, 25 / 9))


def test_degrees_of_freedom_are_those_of_the_smaller_sample() -> None:
    part = np.array([[1.0, 0.5], [0.5, 2.0]])
    both = Covariance(
        model=part,
        df=1e12,
        answers=part,
        answer_count=100.0,
        raters=3 * part,
        rater_count=8.0,
        stimuli=2 * part,
        stimulus_count=5.0,
    )
    assert both.freedom == 4.0
    assert Covariance(model=part, df=1e12, answers=None, answer_count=100.0, raters=3 * part, rater_count=8.0).variance(
        {1: 1.0}
    ) == (6.0, 7.0)
    assert Covariance(
        model=part,
        df=1e12,
        answers=None,
        answer_count=100.0,
        raters=None,
        rater_count=0.0,
        stimuli=3 * part,
        stimulus_count=5.0,
    ).variance({0: 1.0, 1: -1.0}) == (6.0, 4.0)
    assert (
        Covariance(model=part, df=1e12, answers=None, answer_count=100.0, raters=3 * part, rater_count=1.5).variance(
            {0: 1.0}
        )[1]
        == 1.0
    )
    assert both.total == pytest.approx(2 * part + (1 + 4 / 8) * 2 * part)
    assert (
        Covariance(model=part, df=1e12, answers=None, answer_count=100.0, raters=3 * part, rater_count=8.0).total
        is not part
    )
    bounds = Covariance(model=part, df=1e12).bounds(1.0, {1: 1.0}, 0.9)
    assert bounds == pytest.approx((1 - 1.6448536269514722 * math.sqrt(2), 1 + 1.6448536269514722 * math.sqrt(2)))
    tested = Covariance(model=part, df=1e12, answers=None, answer_count=9.0, raters=part, rater_count=8.0).p_value(
        -2.0, {0: 1.0}
    )
    assert tested == pytest.approx(2 * stats.t.sf(2, 7))
    assert Covariance(model=0 * part, df=3.0).p_value(1.0, {0: 1.0}) is None
    assert Covariance(model=0 * part, df=3.0).bounds(1.0, {0: 1.0}, 0.9) is None


# --- what the comparisons connect -------------------------------------------------------------------------------------


def test_comparisons_count_what_they_have() -> None:
    bare = pairs.Comparisons(first=np.array([0]), second=np.array([1]), value=np.array([1.0]), names=["a", "b"])
    assert (bare.counts, bare.stimuli, bare.raters) == ({"comparisons": 1, "contestants": 2}, 0, 0)


def test_sums_by_pair_by_hand() -> None:
    data = as_comparisons(None, list("abcab"), list("babbc"), [1.0, 1.0, 0.5, 0.5, 0.0])
    cells = add_up(data)
    assert cells.first.tolist() == [0, 1]
    assert cells.second.tolist() == [1, 2]
    assert cells.sums.tolist() == [[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    ordered = add_up(data, ordered=True)
    assert list(zip(ordered.first.tolist(), ordered.second.tolist(), ordered.sums.tolist(), strict=True)) == [
        (0, 1, [1.0, 1.0, 0.0]),
        (1, 0, [1.0, 0.0, 0.0]),
        (1, 2, [0.0, 0.0, 1.0]),
        (2, 1, [0.0, 1.0, 0.0]),
    ]
    graded = add_up(as_comparisons(None, list("ab"), list("ba"), [3.0, 1.0]), graded=True)
    assert graded.sums.tolist() == [[2.0, 2.0, 10.0]]


@pytest.mark.parametrize("dense", [True, False])
def test_the_core_and_the_reasons_by_hand(dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not dense:
        monkeypatch.setattr(pairs, "DENSE_AT_MOST", 0)
    names = list("abcdefg")
    # a, b, c in a circle; d beat a; a beat e; f and g are apart.
    first, second = np.array([0, 1, 2, 3, 0, 5]), np.array([1, 2, 0, 0, 4, 6])
    found = connection(first, second, np.ones(6), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), names)
    assert found.core.tolist() == [True, True, True, False, False, False, False]
    assert not found.complete
    assert [None if why is None else why.split(" every")[0].split(" of ")[0] for why in found.why] == [
        None, None, None, "it won", "it lost", "no chain", "no chain"
    ]  # fmt: skip
    assert (found.why[5] or "").endswith("links it with a, b, c, d, e")
    circle = connection(first[:3], second[:3], np.ones(3), np.zeros(3), names[:3])
    assert circle.complete
    line = connection(first[:2], second[:2], np.ones(2), np.zeros(2), names[:3])
    assert not line.core.any()
    assert "one side always won" in (line.why[0] or "")


def test_names_that_cannot_be_sorted_and_long_lists() -> None:
    names, first, second = pairs.code_together([1, "b"], ["b", (2,)])
    assert [names[code] for code in first] == [1, "b"]
    assert [names[code] for code in second] == ["b", (2,)]
    numbers, first, second = pairs.code_together([3, 1], [2, 3])
    assert (numbers, first.tolist(), second.tolist()) == ([1, 2, 3], [2, 0], [1, 2])
    assert pairs.listed(list("abcde")) == "a, b, c, d, e"
    assert pairs.listed(list("abcdefg")) == "a, b, c, d, e and 2 more"
    with pytest.raises(InputError, match=r"2 such comparisons"):
        as_comparisons(None, ["a", "b"], ["a", "b"], [1, 1])
    with pytest.raises(InputError, match=r"1 such comparison\)"):
        as_comparisons(None, ["a", "b"], ["a", "c"], [1, 1])


# --- ABX --------------------------------------------------------------------------------------------------------------


def test_d_prime_carries_the_bounds_of_the_share() -> None:
    result = abx(None, [1] * 14 + [0] * 6, confidence=0.9)
    low, high = result.share.low, result.share.high
    assert low is not None
    assert high is not None
    assert share_of_d_prime(float(result.d_prime)) == pytest.approx(0.7, abs=1e-9)
    assert (result.d_prime.low, result.d_prime.high) == pytest.approx((0.0, d_prime_of_share(high)))
    assert share_of_d_prime(result.d_prime.high or 0) == pytest.approx(high, abs=1e-9)
    assert low < 0.5
    assert d_prime_of_share(0.5) == 0.0
    assert (d_prime_of_share(0.5001) or 0) > 0
    assert d_prime_of_share(1.0) is None
    assert (d_prime_of_share(0.995) or 0) > 3
    # Macmillan and Creelman's formula at d' = 2, from tables of the normal distribution.
    assert share_of_d_prime(2.0) == pytest.approx(0.9213504 * 0.7928919 + 0.0786496 * 0.2071081, abs=1e-6)


def test_one_rater_is_no_sample_and_guesses_are_counted() -> None:
    one = abx(["r"] * 4, [1, 1, 0, 1])
    assert mentions(one.share.why_no_interval, "rater", "answers", "sample")
    assert one.d_prime.why_no_interval == one.share.why_no_interval
    assert one.p_value == pytest.approx(5 / 16)
    assert one.equivalence_p_value == pytest.approx(1 - 0.6**4)
    none = abx(None, [0, 0, None])
    assert (none.p_value, none.share.counts) == (1.0, {"answers": 2, "left_out": 1})
    assert none.equivalence_p_value == pytest.approx(0.4**2)
    same = abx(["r", "r", "s", "s"], [1, 0, 0, 1])
    assert same.share.interval == "Clopper-Pearson", "raters who do not differ leave the exact interval"
    for margin in (0.0, 0.5):
        with pytest.raises(InputError, match="margin"):
            abx(None, [1], margin=margin)
    with pytest.raises(InputError, match=r"rater 1.*2"):
        abx(["r"], [1, 0])


# --- ceilings ---------------------------------------------------------------------------------------------------------


def test_expected_scores_by_enumeration() -> None:
    q = np.array([[0.5, 0.2, 0.3], [0.1, 0.0, 0.9], [0.3, 0.4, 0.3], [0.0, 1.0, 0.0]])
    sizes = np.array([2, 3, 3])
    ahead, behind = np.zeros(4), np.zeros(4)
    for size, share in ((2, 1 / 3), (3, 2 / 3)):
        for answers in itertools.product(range(3), repeat=size):
            chance = share * np.prod(q[:, list(answers)], axis=1)
            lead = answers.count(0) - answers.count(2)
            ahead += chance * (lead > 0)
            behind += chance * (lead < 0)
    found = ceilings._majorities(q, sizes)
    assert found[0] == pytest.approx(ahead)
    assert found[1] == pytest.approx(behind)
    m = np.array([0.6, 0.1, 0.5, 0.5])
    tops = [
        [0.6, 0.9, 0.5, 0.5],
        [0.5, 0.9, 0.3, 0.0],
        [0.5, 0.9, 0.4, 1.0],
        [ahead[0], behind[1], ahead[2], 0.0],
        -m * np.log(m) - (1 - m) * np.log(1 - m),
        [stats.entropy(row) for row in q],
        m * (1 - m) - q[:, 1] / 4,
        (1 - (q**2).sum(axis=1)) / 2,
    ]
    bottoms = [np.ones(4)] * 8
    bottoms[1], bottoms[3] = 1 - q[:, 1], ahead + behind
    found_sums = ceilings._expected(q, sizes).values()
    for (top, bottom), expected, under in zip(found_sums, tops, bottoms, strict=True):
        assert top == pytest.approx(np.array(expected))
        assert bottom == pytest.approx(under)


def test_ratios_of_variances_have_the_confidence_they_are_named_by() -> None:
    f, free, known = 6.0, 4.3, 17.0
    ratios = ceilings._ratios(f, free, known)
    assert ratios.size == ceilings.DRAWS
    assert (np.diff(ratios) >= 0).all()
    for place in (0, 30, 119):
        confidence = (place + 0.5) / ceilings.DRAWS
        assert 1 - ncfdtr(free, known, ratios[place] * free, f) == pytest.approx(confidence, abs=0.01)
    assert ceilings._ratios(0.2, free, known)[0] == 0.0


def test_the_approximation_of_noncentral_f_is_close(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = [ceilings._noncentral_f(f, 4.0, 20.0, at) for f, at in ((2.0, 3.0), (6.0, 12.0), (1.0, 0.0))]
    central = stats.f.cdf(1.0, 4, 20)
    assert exact == pytest.approx([stats.ncf.cdf(2.0, 4, 20, 3.0), stats.ncf.cdf(6.0, 4, 20, 12.0), central], abs=1e-9)
    monkeypatch.setattr("scipy.special.ncfdtr", lambda *_: math.nan)
    close = [ceilings._noncentral_f(f, 4.0, 20.0, at) for f, at in ((2.0, 3.0), (6.0, 12.0), (1.0, 0.0))]
    assert close == pytest.approx(exact, abs=0.006)


def test_the_ceiling_of_strengths_is_what_draws_reach() -> None:
    """Equal errors of independent contestants: the mean correlation of a truth with itself and noise, by drawing here."""
    result = bradley_terry(*_table(ties=False)[:4])
    assert result.covariance is not None
    values = np.array([float(each) for each in result.strengths])
    errors = result.covariance.total[:4, :4]
    centre = np.eye(4) - 0.25
    errors = centre @ errors @ centre
    noise, own = float(np.trace(errors)) / 3, float(values @ values) / 3
    ceiling = ceilings.strength_ceiling(result, confidence=0.9)
    if own <= noise:
        assert float(ceiling) == 0.0
    rng = np.random.default_rng(0)
    truth = values * math.sqrt(max(own - noise, 0.0) / own)
    drawn = rng.multivariate_normal(np.zeros(4), errors, 1500)
    reached = [float(np.corrcoef(truth, truth + each)[0, 1]) for each in drawn] if own > noise else [0.0]
    assert float(ceiling) == pytest.approx(np.mean(reached), abs=0.05)
    free = float(np.trace(errors)) ** 2 / float((errors**2).sum())
    assert ceiling.interval.endswith(f"({free:.3g} and {result.covariance.freedom:.3g} df)")
    assert ceiling.confidence == 0.9
    assert ceiling.counts["contestants"] == 4


def test_few_raters_who_differ_widen_the_ceiling_of_choices() -> None:
    """Twenty pairs, four answers each: two raters always choose the first, two the second of their own."""
    pair, rater = np.repeat(np.arange(20), 4), np.tile(np.arange(4), 20)
    value = np.where(rater < 2, 1.0, (pair + rater) % 3 > 0) * 1.0
    columns = 2 * pair, 2 * pair + 1, value
    known, unknown = (ceilings.choice_ceilings(who, *columns) for who in (rater, None))
    for name in ("accuracy", "log_loss", "brier"):
        few, many = getattr(known, name), getattr(unknown, name)
        assert few.value == pytest.approx(many.value)
        assert few.low < few.value < few.high
        assert many.low < many.value < many.high
        assert few.high - few.low > many.high - many.low
    assert known.accuracy.counts == {"comparisons": 80, "contestants": 40, "raters": 4, "pairs": 20}
