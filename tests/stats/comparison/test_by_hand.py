"""Predicted choices, rankings, MUSHRA and pairing: every interval again from what is left without each unit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from heartfelt.errors import InputError
from heartfelt.stats.comparison.judges.position import position_bias
from heartfelt.stats.comparison.mushra import crossed_mean, mushra
from heartfelt.stats.comparison.predicted.hits import mean_hits
from heartfelt.stats.comparison.predicted.prediction import choice_scores
from heartfelt.stats.comparison.predicted.recalibration import choice_calibration
from heartfelt.stats.comparison.strengths import pairing as pairing_module
from heartfelt.stats.comparison.strengths.choices import best_worst, best_worst_counts, plackett_luce
from heartfelt.stats.comparison.strengths.models import bradley_terry, cmos, davidson
from heartfelt.stats.comparison.strengths.pairing import PairSchedule
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.jackknife import JackknifeError
from heartfelt.stats.reliability.two_way_jackknife import TwoWaySpread
from tests.facts import mentions

# --- predicted choices ------------------------------------------------------------------------------------------------

PAIRS = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("f", "d"), ("g", "h"), ("h", "a")]
RATERS = "rstuv"
FIRST, SECOND, WHO, VALUE, CHANCE, TIE = (
    np.array(column)
    for column in zip(
        *(
            (
                a,
                b,
                who,
                [1.0, 0.0, 0.5, 1.0, 0.0, 1.0][(3 * n + 2 * m) % 6],
                0.15 + 0.1 * ((2 * n + m) % 7),
                0.05 + 0.02 * n,
            )
            for n, (a, b) in enumerate(PAIRS)
            for m, who in enumerate(RATERS)
            if (n + 2 * m) % 4
        ),
        strict=True,
    )
)


def _variance(without: Any) -> float:
    values = np.array(without, float)
    return (values.size - 1) * float(values.var())


def _effective(column: Any) -> float:
    sizes = np.unique(column, return_counts=True)[1]
    return float(sizes.sum()) ** 2 / float((sizes**2).sum())


def _spread(statistic: Callable[[Any], float], used: Any, raters: bool = True, every: bool = False) -> TwoWaySpread:
    """Leave out each pair, each member with all its pairs, each rater and each answer: those with a row that is used, or every
    rater and answer.
    """
    rows = np.arange(VALUE.size)
    pair = np.array([a + b for a, b in zip(FIRST, SECOND, strict=True)])

    def over(member: Callable[[Any], Any], units: Any, every: bool = False) -> float:
        leave = [rows[~member(unit)] for unit in units if every or used[member(unit)].any()]
        return _variance([statistic(keep) for keep in leave if used[keep].any()])

    of_pairs = over(lambda unit: pair == unit, np.unique(pair))
    members = over(lambda unit: (unit == FIRST) | (unit == SECOND), np.unique(np.append(FIRST, SECOND)))
    units = min(_effective(pair[used]), _effective(np.append(FIRST[used], SECOND[used])))
    both = max(members - of_pairs, of_pairs)
    if not raters:
        return TwoWaySpread(items=both, raters=0.0, ratings=0.0, item_count=units, rater_count=1.0)
    return TwoWaySpread(
        items=both,
        raters=over(lambda unit: unit == WHO, np.unique(WHO), every),
        ratings=over(lambda unit: rows == unit, rows, every),
        item_count=units,
        rater_count=_effective(WHO[used]),
    )


def _share_bounds(value: float, found: TwoWaySpread, raters: bool, confidence: float) -> tuple[Any, Any]:
    error = math.sqrt(found.variance)
    units = min(found.item_count, found.rater_count) if raters else found.item_count
    size = value * (1 - value) / error**2
    wide = JackknifeError(
        value=value, scale="logit", units=int(units), error=error, df=found.df, effective=size, how=""
    ).estimate(Estimate(value=value), confidence)
    return wide.low, wide.high


@pytest.mark.parametrize("raters", [True, False])
def test_intervals_of_scores_are_those_of_leaving_out(raters: bool) -> None:
    who = WHO if raters else None
    scores = choice_scores(who, FIRST, SECOND, VALUE, probability=CHANCE, tie=TIE, confidence=0.9)
    everything = np.ones(VALUE.size, bool)
    lean = CHANCE - (1 - CHANCE - TIE)
    right = np.where(lean > 0, VALUE, np.where(lean < 0, 1 - VALUE, 0.5))
    m = CHANCE + TIE / 2
    loss = -VALUE * np.log(m) - (1 - VALUE) * np.log(1 - m)
    for name, part, used in (
        ("accuracy", right, everything),
        ("decided_accuracy", right, VALUE != 0.5),
        ("log_loss", loss, everything),
        ("brier", (m - VALUE) ** 2, everything),
    ):
        found = _spread(lambda keep, part=part, used=used: float(part[keep][used[keep]].mean()), used, raters)  # type: ignore[misc]  # bound as it goes
        estimate, value = getattr(scores, name), float(part[used].mean())
        assert estimate.value == pytest.approx(value), name
        if name.endswith("accuracy"):
            assert (estimate.low, estimate.high) == pytest.approx(_share_bounds(value, found, raters, 0.9)), name
        else:
            half = stats.t.ppf(0.95, found.df) * math.sqrt(found.variance) / value
            assert (estimate.low, estimate.high) == pytest.approx(
                (value * math.exp(-half), value * math.exp(half)), rel=1e-6
            ), name
        assert estimate.counts["comparisons"] == VALUE.size
        assert estimate.counts["pairs"] == 7
        assert estimate.counts.get("raters") == (5 if raters else None)


def test_the_majority_is_formed_again_without_each_unit() -> None:
    pair = np.array([a + b for a, b in zip(FIRST, SECOND, strict=True)])
    lean = CHANCE - 0.452
    estimate = choice_scores(WHO, FIRST, SECOND, VALUE, difference=lean).majority_accuracy

    def share(keep: Any) -> float:
        hits = []
        for each in np.unique(pair[keep]):
            rows = keep[pair[keep] == each]
            lead = float((VALUE[rows] - 0.5).sum())
            # Leaving out a rater takes away answers, not what is predicted for the pair.
            of = lean[pair == each].sum()
            if lead:
                hits.append(1.0 if of * lead > 0 else 0.0)
        return float(np.mean(hits))

    leads = {each: float((VALUE[pair == each] - 0.5).sum()) for each in np.unique(pair)}
    used = np.array([bool(leads[each]) for each in pair])
    assert estimate.value == pytest.approx(share(np.arange(VALUE.size)))
    assert estimate.counts["labels"] == sum(bool(lead) for lead in leads.values())
    # An answer to an evenly split pair gives it a majority when it is left out.
    found = _spread(share, used, every=True)
    assert (estimate.low, estimate.high) == pytest.approx(_share_bounds(float(estimate), found, True, 0.95))


def test_outcomes_that_are_equally_likely_share_what_happens() -> None:
    scores = choice_scores(None, list("ac"), list("bd"), [1.0, 0.5], probability=[0.4, 1 / 3], tie=[0.2, 1 / 3])
    # Of first and second, as likely as each other, the first happened; of all three the tie did.
    assert float(scores.outcome_accuracy) == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert float(scores.accuracy) == 0.5
    certain = choice_scores(None, list("ac"), list("bd"), [1.0, 0.0], probability=[1.0, 0.0])
    assert float(certain.log_loss) == 0.0
    assert certain.log_loss.why_no_interval == "nothing varies"
    assert float(certain.brier) == 0.0
    one = choice_scores(None, list("aa"), list("bb"), [1.0, 0.0], difference=[1.0, 1.0])
    assert one.accuracy.why_no_interval == "fewer than two pairs"


def test_perfect_predictions_have_the_bound_of_their_units() -> None:
    first, second = [f"a{n}" for n in range(6)], [f"b{n}" for n in range(6)]
    perfect = choice_scores(None, first, second, [1.0] * 6, difference=[1.0] * 6).accuracy
    wide = JackknifeError(value=1.0, scale="logit", units=6, error=0.0, df=5.0, effective=6.0, how="").estimate(
        Estimate(value=1.0), 0.95
    )
    assert (perfect.low, perfect.high) == pytest.approx((wide.low, 1.0))
    # With three raters there are no more than three units.
    with_raters = choice_scores(list("rst") * 2, first, second, [1.0] * 6, difference=[1.0] * 6).accuracy
    few = JackknifeError(value=1.0, scale="logit", units=3, error=0.0, df=2.0, effective=3.0, how="").estimate(
        Estimate(value=1.0), 0.95
    )
    assert (with_raters.low, with_raters.high) == pytest.approx((few.low, 1.0))


def test_the_same_contestants_on_two_prompts_share_no_member() -> None:
    # Two systems on six prompts, one answer each: every prompt is its own pair of its own members.
    value = [1.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    columns = ["a"] * 6, ["b"] * 6, value
    by_prompt = choice_scores(None, *columns, difference=[1.0] * 6, stimulus=range(6)).accuracy
    apart = choice_scores(
        None, [f"a{n}" for n in range(6)], [f"b{n}" for n in range(6)], value, difference=[1.0] * 6
    ).accuracy
    assert (by_prompt.low, by_prompt.high) == pytest.approx((apart.low, apart.high))
    assert by_prompt.counts["pairs"] == 6


def test_the_difference_of_two_predictions_is_tested_by_leaving_out() -> None:
    score, other = np.cos(np.arange(VALUE.size) * 1.3) > 0.1, np.sin(np.arange(VALUE.size) * 2.1) > 0.3
    moved = score * 1.0 - other
    for raters in (True, False):
        result = mean_hits(WHO if raters else None, FIRST, SECOND, score * 1.0, other * 1.0, confidence=0.9)
        found = _spread(lambda keep: float(moved[keep].mean()), np.ones(moved.size, bool), raters)
        assert result.standard_error == pytest.approx(math.sqrt(found.variance))
        assert result.df == pytest.approx(found.df)
        value = float(moved.mean())
        assert result.p.value == pytest.approx(2 * stats.t.sf(abs(value) / math.sqrt(found.variance), found.df))
        half = stats.t.ppf(0.95, found.df) * math.sqrt(found.variance)
        assert (result.estimate.low, result.estimate.high) == pytest.approx((value - half, value + half))
        assert result.p.why_no_interval == "a p-value"
        assert result.estimate.interval.startswith("jackknife over pairs" + (" and raters" if raters else ""))
    constant = mean_hits(None, list("abcd"), list("efgh"), np.ones(4), np.zeros(4))
    assert mentions(constant.p.why_missing, "difference", "vary")
    three = mean_hits(None, list("abc"), list("def"), np.array([1.0, 0.0, 1.0]), np.zeros(3))
    assert three.p.value is not None


def test_calibration_without_each_unit_is_one_newton_step() -> None:
    rng = np.random.default_rng(2)
    n = 24
    odds, who = rng.normal(0, 1.5, n), np.arange(n) % 6
    value = (rng.random(n) < 1 / (1 + np.exp(-odds))) * 1.0
    value[5] = 0.5
    first, second = [f"a{i}" for i in range(n)], [f"b{i}" for i in range(n)]
    tie = np.full(n, 0.2)
    result = choice_calibration(who, first, second, value, 0.8 / (1 + np.exp(-odds)), tie=tie, confidence=0.8)
    used = value != 0.5
    design = np.column_stack([np.ones(n), odds])

    def loss(at: Any) -> float:
        line = design[used] @ at
        return float(np.sum(np.logaddexp(0, line) - value[used] * line))

    at = minimize(loss, [0.0, 1.0], tol=1e-12).x
    assert (float(result.intercept), float(result.slope)) == pytest.approx(tuple(at), abs=1e-5)
    chance = 1 / (1 + np.exp(-design @ at))

    def without(keep: Any) -> Any:
        keep = keep & used
        weight = chance[keep] * (1 - chance[keep])
        information = design[keep].T @ (design[keep] * weight[:, None])
        return at + np.linalg.solve(information, design[keep].T @ (value[keep] - chance[keep]))

    moved = np.array([without(np.arange(n) != row) for row in range(n)])
    of_raters = np.array([without(who != rater) for rater in range(6)])
    for place, estimate in enumerate((result.intercept, result.slope)):
        of_pairs, raters = _variance(moved[:, place]), _variance(of_raters[:, place])
        members = _variance(np.repeat(moved[:, place], 2))
        pairs = max(members - of_pairs, of_pairs)
        found = TwoWaySpread(
            items=pairs, raters=raters, ratings=of_pairs, item_count=23.0, rater_count=_effective(who[used])
        )
        half = stats.t.ppf(0.9, found.df) * math.sqrt(found.variance)
        assert (estimate.low, estimate.high) == pytest.approx((at[place] - half, at[place] + half), rel=1e-4)
        assert estimate.counts["decided"] == 23
    assert result.slope.method == "calibration slope"
    assert result.table is not None
    assert result.table.error.confidence == 0.8


def test_position_bias_of_both_kinds_by_hand() -> None:
    # Three pairs favour the first, one the second, one is judged alike; the answers to one order are averaged.
    first = list("ab") + list("cd") + list("ef") + list("gh") + list("ij") + ["i"]
    second = list("ba") + list("dc") + list("fe") + list("hg") + list("ji") + ["j"]
    value = [1, 1, 1, 0.5, 0.5, 1, 0, 0, 1, 0, 1]
    bias = position_bias(first, second, value, confidence=0.9)
    assert (float(bias.inconsistent), float(bias.favours_first)) == (0.8, 0.75)
    bounds = stats.binomtest(4, 5).proportion_ci(0.9)
    assert (bias.inconsistent.low, bias.inconsistent.high) == pytest.approx((bounds.low, bounds.high))
    bounds = stats.binomtest(3, 4).proportion_ci(0.9)
    assert (bias.favours_first.low, bias.favours_first.high) == pytest.approx((bounds.low, bounds.high))
    assert bias.p_value == pytest.approx(2 * 5 / 16)
    assert bias.favours_first.counts == {"pairs": 5, "inconsistent": 4}


# --- rankings ---------------------------------------------------------------------------------------------------------


def test_rankings_by_the_likelihood_written_out() -> None:
    rankings = {0: "abc", 1: "bca", 2: "cab", 3: "acb", 4: "ba"}
    ranks = {(n, name): place + 1.0 for n, order in rankings.items() for place, name in enumerate(order)}
    # Shared ranks: first place of a and b in the sixth, last place of b and c in the seventh.
    ranks |= {(5, "a"): 1.0, (5, "b"): 1.0, (5, "c"): 2.0, (6, "a"): 1.0, (6, "b"): 2.0, (6, "c"): 2.0}
    rows = [(n % 3, n, name, rank) for (n, name), rank in ranks.items()]
    rows += [(0, 7, "a", 1.0), (1, 8, "a", math.nan)]
    result = plackett_luce(*zip(*rows, strict=True))
    choices = [(order[k], order[k:], 1.0) for order in rankings.values() for k in range(len(order) - 1)]
    choices += [("a", "abc", 1.0), ("b", "abc", 1.0), ("a", "abc", 1.0), ("b", "bc", 0.5), ("c", "bc", 0.5)]

    def loss(at: Any) -> float:
        s = dict(zip("abc", [*at, -sum(at)], strict=True))
        return -math.fsum(
            weight * (s[best] - math.log(sum(math.exp(s[name]) for name in of))) for best, of, weight in choices
        )

    best = minimize(loss, [0.0, 0.0], tol=1e-12)
    assert [float(each) for each in result.strengths] == pytest.approx([*best.x, -best.x.sum()], abs=1e-5)
    assert result.log_likelihood == pytest.approx(-best.fun, abs=1e-8)
    assert result.counts["left_out"] == 2
    assert (result.counts["raters"], result.counts["contestants"]) == (3, 3)


def test_best_and_worst_by_the_likelihood_written_out() -> None:
    answers = [("abcd", "a", "d"), ("abcd", "b", "a"), ("bcd", "c", "b"), ("acd", "d", "c"), ("ab", "b", "a"), ("abd", "a", "b"),
               ("abcd", "d", "c"), ("bcd", "c", "d")]  # fmt: skip
    rows = [
        (n % 4, n, name, 1.0 if name == best else -1.0 if name == worst else 0.0)
        for n, (names, best, worst) in enumerate(answers)
        for name in names
    ]
    incomplete = [(0, 90, "a", 1.0), (0, 90, "b", 0.0), (0, 91, "a", 1.0), (0, 91, "b", 1.0), (0, 91, "c", -1.0)]
    result = best_worst(*zip(*rows, *incomplete, strict=True))

    def loss(at: Any) -> float:
        s = dict(zip("abcd", [*at, -sum(at)], strict=True))
        total = 0.0
        for names, best, worst in answers:
            total += s[best] - math.log(sum(math.exp(s[name]) for name in names))
            rest = names.replace(best, "")
            total += -s[worst] - math.log(sum(math.exp(-s[name]) for name in rest))
        return -total

    best = minimize(loss, [0.0, 0.0, 0.0], tol=1e-12)
    assert [float(each) for each in result.strengths] == pytest.approx([*best.x, -best.x.sum()], abs=1e-5)
    assert result.log_likelihood == pytest.approx(-best.fun, abs=1e-8)
    assert result.counts["left_out"] == 2


@pytest.mark.parametrize(("place", "outcome"), [(-1, "lost"), (0, "won")])
def test_choices_of_an_item_without_a_strength_are_left_out(place: int, outcome: str) -> None:
    # z is always last, or always first: the others are ranked as if it had not been there.
    rows, plain = [], []
    for n, order in enumerate(("ab", "bac", "cab", "acb", "bca")):
        whole = order if n in (1, 2) else f"{order}z" if place else f"z{order}"
        rows += [(n % 3, n, name, rank) for rank, name in enumerate(whole)]
        plain += [(n % 3, n, name, rank) for rank, name in enumerate(order)]
    with_last, without = (plackett_luce(*zip(*each, strict=True)) for each in (rows, plain))
    for name in "abc":
        one, same = without.strength(name), with_last.strength(name)
        assert (same.value, same.low, same.high) == pytest.approx((one.value, one.low, one.high), abs=1e-6)
    assert with_last.strength("z").why_missing == (
        f"it {outcome} every comparison that links it with a, b, c; the strength has no finite estimate"
    )
    penalised = plackett_luce(*zip(*rows, strict=True), penalty=1.0)
    beyond = min if place else max
    assert float(penalised.strength("z")) == beyond(float(each) for each in penalised.strengths)
    assert sum(float(each) for each in penalised.strengths) == pytest.approx(0, abs=1e-9)


def test_best_worst_counts_have_jackknife_intervals() -> None:
    rater, trial = np.repeat(np.arange(4), 2), np.repeat(np.arange(4), 2)
    choice = [1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0]
    score = best_worst_counts(rater, trial, list("ab" * 4), choice, confidence=0.8).scores[0]
    without = [(2 - own) / 3 for own in (1, 1, -1, 1)]
    half = stats.t.ppf(0.9, 3) * math.sqrt(_variance(without))
    assert (score.value, score.low, score.high) == pytest.approx((0.5, 0.5 - half, min(0.5 + half, 1.0)))
    same = best_worst_counts([0, 0, 1, 1], [0, 0, 1, 1], list("abab"), [1, -1, 1, -1]).scores[0]
    assert same.why_no_interval == "nothing varies"


def test_strengths_of_a_penalised_fit_have_mean_zero() -> None:
    result = bradley_terry(None, list("aaabbc"), list("bcdcdd"), [1.0, 1, 1, 1, 0, 1], penalty=0.5)
    assert sum(float(each) for each in result.strengths) == pytest.approx(0, abs=1e-9)
    with pytest.raises(InputError, match=r"penalty.*0"):
        bradley_terry(None, ["a"], ["b"], [1], penalty=-0.1)


def test_what_stands_for_a_difference_without_an_interval() -> None:
    result = davidson(None, list("abab") * 2, list("baba") * 2, [1, 0, 0.5, 1, 1, 0, 0, 0.5])
    # Of eight answers a won four and lost two: log odds log(4 / 2), and nu = 2 / sqrt(4 * 2).
    difference = result.difference("a", "b")
    assert difference.estimate.value == pytest.approx(math.log(4 / 2), abs=1e-6)
    assert difference.estimate.method == "Davidson, difference of strengths"
    assert float(result.tie) == pytest.approx(2 / math.sqrt(8), abs=1e-6)
    assert result.tie.low is not None
    assert result.tie.high is not None
    assert math.log(float(result.tie) / result.tie.low) == pytest.approx(math.log(result.tie.high / float(result.tie)))
    alone = bradley_terry(None, ["a", "b"], ["b", "a"], [1, 1], intervals=False).difference("a", "b")
    assert "not asked for" in (alone.estimate.why_no_interval or "")
    gone = bradley_terry(None, list("abca"), list("bcad"), [1, 1, 1, 1]).difference("a", "d")
    assert (gone.estimate.why_missing or "").startswith("d: it lost")
    flat = bradley_terry(["r", "s"], ["a", "b"], ["b", "a"], [0.5, 0.5]).difference("a", "b")
    assert flat.estimate.why_no_interval == "nothing varies"


def test_ranks_of_a_known_covariance() -> None:
    # Two systems with a mean grade of 1 between them and a standard error of 1 / sqrt 3: the better one is first with Phi(sqrt 3).
    result = cmos(None, ["a"] * 3 + ["c"], ["b"] * 3 + ["b"], [2.0, 1.0, 0.0, 9.0])
    ranks = result.rank_probabilities(draws=4000)
    assert result.covariance is not None
    error = math.sqrt(result.covariance.variance({0: 1.0, 1: -1.0})[0])
    above = float(result.difference("a", "b").estimate)
    assert ranks[0, :2].sum() == pytest.approx(stats.norm.cdf(above / error), abs=0.03)
    assert ranks[2, 0] > 0.99
    lost = bradley_terry(None, list("abca"), list("bcad"), [1, 1, 1, 1]).rank_probabilities(draws=20)
    assert np.isnan(lost[3]).all()
    assert lost[:3, :3].sum() == pytest.approx(3)
    assert not lost[:3, 3].any()


# --- MUSHRA -----------------------------------------------------------------------------------------------------------


def test_a_mean_grade_by_leaving_out() -> None:
    rater, item = (axis.ravel() for axis in np.indices((3, 4)))
    grade = 50 + 9 * np.sin(rater * 2.0) + 7 * np.cos(item * 3.0) + 4 * np.sin(rater * 5 + item * 7.0)
    rater, item, grade = rater[:-1], item[:-1], grade[:-1]
    rows = np.arange(11)
    of_items, of_raters, single = (
        _variance([grade[column != unit].mean() for unit in np.unique(column)]) for column in (item, rater, rows)
    )
    found = TwoWaySpread(
        items=of_items, raters=of_raters, ratings=single, item_count=_effective(item), rater_count=_effective(rater)
    )
    half = stats.t.ppf(0.95, found.df) * math.sqrt(found.variance)
    mean = crossed_mean(rater, item, grade, confidence=0.9)
    assert (mean.value, mean.low, mean.high) == pytest.approx((grade.mean(), grade.mean() - half, grade.mean() + half))
    assert mean.counts == {"ratings": 11, "raters": 3, "items": 4}
    cut = crossed_mean(rater, item, grade, scale=(49.0, 51.0))
    assert (cut.low, cut.high) == (49.0, 51.0)
    assert mentions(crossed_mean([0, 0], [0, 1], [1.0, 2.0]).why_no_interval, "raters", "items")
    assert mentions(crossed_mean([0, 1], [0, 0], [1.0, 2.0]).why_no_interval, "raters", "items")
    assert crossed_mean([0, 0, 1, 1], [0, 1, 0, 1], [3.0] * 4).why_no_interval == "nothing varies"
    assert crossed_mean([], [], []).why_missing == "there are no ratings"


def test_the_ends_of_the_scale_are_grades() -> None:
    rows = [(r, i, c, g) for r in "ab" for i in (1, "two") for c, g in (("ref", 100.0), ("x", 0.0))]
    result = mushra(*zip(*rows, strict=True), reference="ref")
    assert [condition.mean.value for condition in result.conditions] == [100.0, 0.0]
    for grade in (-0.001, 100.001):
        with pytest.raises(InputError, match="not on the scale"):
            mushra(["a"], [1], ["ref"], [grade], reference="ref")
    # Items of two kinds, both without a reference: they are named all the same.
    bare = mushra(*zip(*rows, ("c", 3, "x", 5.0), ("c", "four", "x", 5.0), strict=True), reference="ref")
    assert bare.without_reference == (3, "four")
    assert bare.conditions[1].below_reference.value == pytest.approx(100.0)
    assert bare.conditions[1].below_reference.counts["ratings"] == 4
    none = mushra(["a", "b"], [1, 2], ["ref", "x"], [100, 50], reference="ref")
    missing = none.conditions[1].below_reference.why_missing
    assert mentions(missing, "graded", "reference", "item")
    with pytest.raises(InputError, match="differ in length"):
        mushra(["a"], [1, 2], ["ref"], [100], reference="ref")


# --- pairing ----------------------------------------------------------------------------------------------------------


def _mode(won: Any, variance: float) -> tuple[Any, Any]:
    """The posterior mode under a normal prior, and its covariance about the mean."""
    size = won.shape[0]
    s = np.zeros(size)
    for _ in range(12):
        p = 1 / (1 + np.exp(s[None, :] - s[:, None]))
        weights = (won + won.T) * p * (1 - p)
        inverse = np.linalg.inv(np.diag(weights.sum(axis=1)) - weights + np.eye(size) / variance)
        s = s + inverse @ ((won * (1 - p)).sum(axis=1) - (won.T * p).sum(axis=1) - s / variance)
    centre = np.eye(size) - 1 / size
    return s - s.mean(), centre @ inverse @ centre


def test_pairings_estimates_are_those_of_a_posterior_with_estimated_variance() -> None:
    pairing = PairSchedule(4)
    for n, (a, b) in enumerate(itertools.permutations(range(4), 2)):
        pairing.add(a, b, [0.0, 1.0][a < b] if n % 4 else 0.5, times=1 + n % 3)
    won = pairing.won
    strengths, _ = _mode(won, pairing_module.PRIOR_VARIANCE)
    assert pairing.strengths == pytest.approx(strengths, abs=1e-4)
    variance = 1.0
    for _ in range(60):
        strengths, covariance = _mode(won, variance)
        variance = max(float(strengths @ strengths + np.trace(covariance)) / 3, 1e-3)
    estimates = pairing.estimates(0.9)
    half = stats.t.ppf(0.95, 3) * np.sqrt(np.diag(covariance))
    for estimate, value, wide in zip(estimates, strengths, half, strict=True):
        found = (estimate.value, estimate.low, estimate.high)
        assert found == pytest.approx((value, value - wide, value + wide), rel=0.02, abs=2e-3)
    assert estimates[0].counts == {"comparisons": round(float(won.sum())), "contestants": 4}


def test_pairs_under_way_gain_less_and_everybody_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing_module, "EXPLORED", 0.0)
    pairing, rng = PairSchedule(4), np.random.default_rng(0)
    candidates = np.array([(0, 1), (1, 2), (2, 3)])
    # All pairs gain the same, so that those under way decide: two of 0 and 1, one of 2.
    under_way = np.array([2.0, 2.0, 1.0, 0.0])
    assert pairing.order(candidates, rng, under_way).tolist() == [2, 1, 0]
    for _ in range(30):
        pairing.add(2, 3, 0.5)
    assert pairing.order(candidates, rng)[-1] == 2, "the pair that was compared thirty times comes last"
    monkeypatch.setattr(pairing_module, "EXPLORED", 25 / 4)
    # Chance decides only once everybody was compared: 0 and 1 never were.
    assert all(pairing.order(candidates, np.random.default_rng(seed))[0] == 0 for seed in range(5))
    for pair in ((0, 1), (1, 2)):
        pairing.add(*pair, 1.0)
    drawn = {int(pairing.order(candidates, np.random.default_rng(seed))[0]) for seed in range(20)}
    assert drawn == {0, 1, 2}
    with pytest.raises(InputError):
        pairing.add(-1, 2, 1.0)
    with pytest.raises(InputError):
        pairing.add(0, 1, -0.01)
