"""Every arrangement of small tables, and what stands for them where there are too many."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import (
    no_association,
    permutation,
    permutation_correlation,
    permutation_paired,
    permutation_two_sample,
)
from heartfelt.stats.inference.no_association import Earnings, no_association_over_systems, too_few_ways
from tests.facts import mentions


def test_every_division_into_two_groups_is_taken() -> None:
    a, b = [1.0, 4.0, 6.0], [2.0, 3.5, 9.0, 11.0]
    both = np.array(a + b)
    for statistic in ("mean", "welch"):
        own, values = None, []
        for chosen in itertools.combinations(range(7), 3):
            first, second = both[list(chosen)], np.delete(both, chosen)
            error = 1.0 if statistic == "mean" else math.sqrt(first.var(ddof=1) / 3 + second.var(ddof=1) / 4)
            values.append((first.mean() - second.mean()) / error)
            own = values[-1] if chosen == (0, 1, 2) else own
        assert own is not None
        for alternative, share in (
            ("two-sided", np.mean(np.abs(values) >= abs(own) - 1e-9)),
            ("less", np.mean(np.array(values) <= own + 1e-9)),
            ("greater", np.mean(np.array(values) >= own - 1e-9)),
        ):
            how: Any = {"statistic": statistic, "alternative": alternative}
            result = permutation_two_sample(a, b, **how)
            assert result.p.value == pytest.approx(share)
            assert (result.exact, result.p.why_no_interval) == (True, "exact")


def test_more_arrangements_than_can_be_taken_are_drawn() -> None:
    x, y = np.arange(30.0), np.sin(np.arange(30.0))
    drawn = permutation_two_sample(x, y), permutation_paired(x, y), permutation_correlation(x, y)
    assert [(each.arrangements, each.exact) for each in drawn] == [(10_000, False)] * 3


def test_every_sign_of_a_difference_is_taken() -> None:
    a, b = np.array([1.0, 4.0, 6.0, 2.0, 5.0]), np.array([0.0, 5.0, 2.0, 2.0, 1.0])
    gaps = (a - b)[[0, 1, 2, 4]]
    sums = [float(gaps @ np.array(signs)) for signs in itertools.product((1, -1), repeat=4)]
    result = permutation_paired(a, b)
    assert result.p.value == pytest.approx(np.mean(np.abs(sums) >= abs(gaps.sum()) - 1e-9))
    assert permutation_paired(a, b, alternative="greater").p.value == pytest.approx(
        np.mean(np.array(sums) >= gaps.sum())
    )
    assert permutation_paired(a, a).p.why_missing == "no pair differs"
    with pytest.raises(InputError, match="Cannot draw 0 resamples"):
        permutation_paired(a, b, resamples=0)
    assert permutation_paired(a, b, resamples=1).p.value is not None


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_every_order_is_taken(kind: Any) -> None:
    x, y = np.array([1.0, 2.0, 3.5, 5.0]), np.array([2.0, 1.0, 4.0, 9.0])
    measure: Any = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[kind]
    values = np.array([measure(x, y[list(order)]).statistic for order in itertools.permutations(range(4))])
    own = values[0]
    result = permutation_correlation(x, y, kind=kind)
    assert result.p.value == pytest.approx(np.mean(np.abs(values) >= abs(own) - 1e-9))
    less = permutation_correlation(x, y, kind=kind, alternative="less")
    assert less.p.value == pytest.approx(np.mean(values <= own + 1e-9))
    assert result.exact


def test_shuffles_stay_inside_their_blocks() -> None:
    x, y, block = [1.0, 2, 9, 8], [3.0, 4, 7, 6], ["a", "a", "b", "b"]
    # Of the four ways to arrange two blocks of two, one is as high as the own one.
    result = permutation_correlation(x, y, within=block, resamples=400, alternative="greater")
    assert result.p.value == pytest.approx(0.25, abs=0.07)
    assert result.method.endswith("within blocks")
    alone = permutation_correlation(x, y, within=list("abcd"), resamples=9)
    assert mentions(alone.p.why_missing, "shuffling", "blocks")
    for bad, message in ((block[:3], "has 3 rows, not 4"), (["a", "a", None, "b"], "A pair has no block")):
        with pytest.raises(InputError, match=message):
            permutation_correlation(x, y, within=bad)
    with pytest.raises(InputError, match="not shuffled within blocks"):
        permutation_correlation(x, y, within=block, kind="kendall")


def _earnings(size: int, systems: int, weight: Any = None, seed: int = 0) -> Earnings:
    rng = np.random.default_rng(seed)
    system = np.arange(size) % systems
    if weight is not None:
        label, predicted = rng.integers(0, len(weight), (2, size))
        predicted = np.where(rng.random(size) < 0.3, label, predicted)
        return Earnings(label=label, predicted=predicted, system=system, weight=np.array(weight))
    label = rng.normal(size=size)
    return Earnings(label=label, predicted=0.4 * label + rng.normal(size=size), system=system)


@pytest.mark.parametrize("weight", [None, (0.5, 1.0, 3.0)])
def test_many_units_have_the_normal_distribution_of_few(weight: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variance that stands for shuffles is that of the shuffles."""
    earnings = _earnings(60, 12, weight)
    shuffled = earnings.shuffled_within(1500, 1), earnings.shuffled_between(1500, 1)
    monkeypatch.setattr(no_association, "LARGE", 5)
    again = _earnings(60, 12, weight)
    drawn = again.shuffled_within(1500, 1), again.shuffled_between(1500, 1)
    for few, many in zip(shuffled, drawn, strict=True):
        assert float(many.std()) == pytest.approx(float(few.std()), rel=0.08)
        assert float(many.mean()) == pytest.approx(float(few.mean()), abs=0.1 * float(few.std()) + 1e-9)


def test_a_few_items_of_one_system_are_enumerated() -> None:
    x, y = np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 3.0, 2.0, 9.0])
    single = Earnings(label=x, predicted=y, system=np.zeros(4, np.int64))
    values = np.array([x @ y[list(order)] for order in itertools.permutations(range(4))])
    result = no_association.no_association(single, confidence=0.9)
    assert result.value == pytest.approx(2 * np.mean(values >= x @ y - 1e-9))
    assert result.why_no_interval == "exact"
    apart = Earnings(label=x, predicted=y, system=np.arange(4))
    assert no_association.no_association(apart, confidence=0.9).value == result.value
    one = Earnings(label=x[:1], predicted=y[:1], system=np.zeros(1, np.int64))
    assert no_association.no_association(one).why_missing == "fewer than two predictions"
    assert too_few_ways(4, 40, 0.95) is None
    assert too_few_ways(4, 39, 0.95) is not None
    assert too_few_ways(1, 1, 0.95) == "1 system can be rearranged in only 1 ways, too few for a p-value below .05"


def test_two_systems_are_rearranged_too() -> None:
    """Predictions that say nothing within systems and which of the two is better."""
    rng = np.random.default_rng(0)
    system = np.repeat([0, 1], 10)
    given = Earnings(label=rng.normal(size=20) + system, predicted=system * 1.0, system=system)
    result = no_association.no_association(given)
    assert result.value == pytest.approx(1.0, abs=0.03)
    assert result.counts["systems"] == 2
    assert result.method == no_association.STIMULI
    few = Earnings(label=given.label[7:13], predicted=given.label[7:13] ** 2, system=system[7:13])
    drawn = no_association.no_association(few)
    assert drawn.method == no_association.STIMULI
    assert drawn.why_no_interval != "exact"


def test_signs_of_many_systems_are_drawn() -> None:
    earnings = _earnings(80, 8)
    own = np.bincount(earnings.system, earnings.within_rows)
    signs = np.array(list(itertools.product((1, -1), repeat=8))) @ own
    between = earnings.shuffled_between(9999, 0)
    rng = np.random.default_rng(0)
    values = rng.choice(signs, 40_000) + rng.choice(between, 40_000)
    total = own.sum() + earnings.between
    p = 2 * min(np.mean(values >= total - 1e-9), np.mean(values <= total + 1e-9))
    assert no_association_over_systems(earnings).value == pytest.approx(min(p, 1.0), abs=0.02)


def test_drawn_arrangements_have_the_bounds_of_a_share() -> None:
    estimate = Estimate(value=0.3, method="r", counts={"pairs": 9})
    values = np.array([0.0, -1.0, 1.0, 2.0, 2.0 - 1e-11, 1.99, -2.5, 0.5, 3.0, -0.2])
    for alternative, hits in (("greater", 3), ("less", 9), ("two-sided", 4)):
        result = permutation._result(estimate, 2.0, values, alternative, False, "test")  # type: ignore[arg-type]  # a literal
        ends = stats.beta.ppf(0.025, hits, 11 - hits), stats.beta.ppf(0.975, hits + 1, 10 - hits)
        assert result.p.value == pytest.approx((hits + 1) / 11)
        assert (result.p.low, result.p.high) == pytest.approx(ends)
        assert (result.arrangements, dict(result.p.counts)) == (11, {"pairs": 9, "resamples": 10})
        every = permutation._result(estimate, 2.0, values, alternative, True, "test")  # type: ignore[arg-type]  # a literal
        assert every.p.value == pytest.approx(hits / 10)
        assert every.arrangements == 10
    # Large values have a large rounding.
    near = permutation._result(estimate, 1.0, np.array([1.0 - 1e-6, 1e6]), "greater", True, "test")
    assert near.p.value == 1.0


def test_an_observed_sum_in_the_middle_has_no_direction() -> None:
    label, predicted = np.array([5.0, -1, -1, -1, -1, -1]), np.array([0.0, 4, -1, -1, -1, -1])
    single = Earnings(label=label, predicted=predicted, system=np.zeros(6, np.int64))
    # Of the six sums two reach 0 from above and five from below.
    assert no_association.no_association(single).value == 1.0
    values = np.array([-3.0, 1.0, 2.0, 2.0 - 1e-12, 5.0, -1.0, 0.0, 0.0])
    for upper, hits in ((True, 3), (False, 7), (None, 3)):
        p = no_association._p_value(2.0, values, "test", {"pairs": 8}, upper=upper)
        assert p.value == pytest.approx(min(2 * (hits + 1) / 9, 1.0))
        assert dict(p.counts) == {"pairs": 8, "resamples": 8}
        exact = no_association._p_value(2.0, values, "test", {}, upper=upper, exact=True)
        assert exact.value == pytest.approx(min(2 * hits / 8, 1.0))
    assert no_association._p_value(-1.5, values, "test", {}, exact=True).value == pytest.approx(2 / 8)
    same = no_association._p_value(2.0, np.full(5, 2.0) + 1e-10 * np.arange(5), "test", {})
    assert mentions(same.why_missing, "rearranging", "predictions")


@pytest.mark.parametrize(("asked", "drawn"), [(10, 999), (1200, 1200), (20_000, 9999)])
def test_how_many_shuffles_are_drawn(asked: int, drawn: int) -> None:
    for systems in (1, 3):
        found = no_association.no_association(_earnings(12, systems), resamples=asked)
        assert found.counts["resamples"] == drawn
        assert found.counts.get("systems", 1) == systems


def test_rows_of_one_stimulus_change_their_sign_together() -> None:
    label, predicted = np.array([1.0, 2, -1, -2, 3, -3, 1, -1]), np.array([2.0, 1, 1, -3, 1, -2, 1, -1])
    stimulus = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    given = Earnings(label=label, predicted=predicted, system=np.zeros(8, np.int64), stimulus=stimulus)
    sums = np.bincount(stimulus, given.within_rows)
    every = {round(float(np.dot(signs, sums)), 9) for signs in itertools.product((1, -1), repeat=4)}
    drawn = given.shuffled_within(400, 0)
    assert {round(value, 9) for value in drawn.tolist()} == every


@pytest.mark.parametrize("swapped", [False, True])
def test_a_column_that_is_the_same_inside_blocks_cannot_be_shuffled(swapped: bool) -> None:
    x, y = [1.0, 2.0, 3.0, 5.0], [1.0, 1.0, 2.0, 2.0]
    columns = (y, x) if swapped else (x, y)
    result = permutation_correlation(*columns, within=list("aabb"), resamples=9)
    assert mentions(result.p.why_missing, "shuffling", "blocks")


def test_a_few_rows_of_shared_stimuli_are_not_enumerated() -> None:
    label, predicted = np.array([1.0, 2, -1, -2, 3, -3]), np.array([2.0, 1, 1, -3, 1, -2])
    given = Earnings(label=label, predicted=predicted, system=np.zeros(6, np.int64), stimulus=np.arange(6) // 2)
    assert no_association.no_association(given).counts["resamples"] == 9999
