"""Rearranging predictions: every arrangement by hand, and error rates and power in simulated studies."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from heartfelt.stats.inference import permutation_correlation
from heartfelt.stats.inference.no_association import Earnings, no_association, no_association_over_systems
from heartfelt.stats.prediction.jackknife import spread_of
from heartfelt.stats.traces.scores import PredictedCourse, mean_concordance, no_concordance
from heartfelt.streams import stream
from tests.facts import mentions

SOURCE = "all arrangements by hand; permutation_correlation, which scipy checks; simulation under the null hypothesis"
ONE = np.zeros(0, np.int64)


def numbers(x: Any, y: Any, system: Any = None) -> Earnings:
    return Earnings(label=x, predicted=y, system=np.zeros(x.size, np.int64) if system is None else system)


def twice(own: float, values: Any) -> float:
    values = np.asarray(values)
    tail = values >= own - 1e-9 if own > values.mean() else values <= own + 1e-9
    return min(2 * float(tail.mean()), 1.0)


def test_without_systems_it_is_the_permutation_test_of_a_correlation() -> None:
    draw = stream(1, "tests", "no association")
    x = draw.normal(size=6)
    for y in (x + draw.normal(size=6), draw.normal(size=6), -x):
        values = [x @ y[list(order)] for order in permutations(range(6))]
        assert no_association(numbers(x, y)).value == pytest.approx(twice(float(x @ y), values))
    x, y = draw.normal(size=(2, 40))
    y = y + 0.3 * x
    greater = permutation_correlation(x, y, alternative="greater")
    assert no_association(numbers(x, y)).value == pytest.approx(2 * float(greater.p), abs=0.02)


def test_what_is_earned_within_and_between_systems_is_all_that_is_earned() -> None:
    draw = stream(2, "tests", "no association")
    system = np.repeat(np.arange(5), [2, 3, 4, 5, 1])
    x, y = draw.integers(0, 3, (2, system.size))
    weight = np.array([0.5, 1.0, 2.0])
    matches = Earnings(label=x, predicted=y, system=system, weight=weight)
    assert matches.within_rows.sum() + matches.between == pytest.approx(weight[x][x == y].sum())
    mean = [np.mean([weight[a] * (a == b) for a in x[system == s] for b in y[system == s]]) for s in range(5)]
    assert matches.between == pytest.approx(float(np.bincount(system) @ mean))
    products = numbers(x.astype(float), y.astype(float), system)
    assert products.within_rows.sum() + products.between == pytest.approx(float(x @ y))


@pytest.mark.parametrize("categories", [False, True])
def test_over_systems_every_sign_and_every_order_is_taken(categories: bool) -> None:
    draw = stream(3, "tests", "no association", int(categories))
    system = np.repeat(np.arange(4), [3, 5, 2, 4])
    x, y = draw.normal(size=(2, system.size))
    y = y + 0.8 * x
    weight = None
    if categories:
        x, y = (np.digitize(column, [-0.5, 0.5]) for column in (x, y))
        weight = np.array([1.0, 2.0, 3.0])

    def earned(first: Any, second: Any) -> float:
        """The mean of what predictions earn on items, whichever gets which."""
        return float(np.mean([a * b if weight is None else weight[a] * (a == b) for a in first for b in second]))

    parts = [(x[system == s], y[system == s]) for s in range(4)]
    own = [
        sum(a * b if weight is None else weight[a] * (a == b) for a, b in zip(*part, strict=True))
        - part[0].size * earned(*part)
        for part in parts
    ]
    arranged = [
        sum(sign * part for sign, part in zip(signs, own, strict=True))
        + sum(parts[s][0].size * earned(parts[s][0], parts[t][1]) for s, t in enumerate(order))
        for signs in product((1, -1), repeat=4)
        for order in permutations(range(4))
    ]
    given = Earnings(label=x, predicted=y, system=system, weight=weight)
    assert no_association_over_systems(given).value == pytest.approx(twice(arranged[0], arranged))


def test_too_few_to_tell_is_said() -> None:
    x = np.arange(6.0)
    few = no_association_over_systems(numbers(x, x, np.repeat([0, 1], 3)))
    assert mentions(few.why_missing, "2 systems", "8 ways", ".05")
    single = no_association_over_systems(numbers(x[:4], x[:4], np.arange(4)))
    assert mentions(single.why_missing, "4 systems", "24 ways", ".05")
    assert no_association_over_systems(numbers(x[:5], x[:5], np.arange(5))).value == pytest.approx(2 / 120)
    three = no_association(numbers(x[:3], x[:3]))
    assert mentions(three.why_missing, "3 items", "6 ways", ".05")
    same = no_association(numbers(np.arange(9.0), np.ones(9)))
    assert mentions(same.why_missing, "rearranging", "predictions")


def test_one_prediction_for_each_system_is_as_good_as_the_order_of_the_systems() -> None:
    """Nothing varies within systems but rounding errors, which are not evidence."""
    draw = stream(9, "tests", "no association")
    system = np.repeat(np.arange(3), 16)
    x = draw.normal(size=48) + np.array([0.0, 1.0, 2.0])[system]
    for scale in (1.0, 1e-3, 1e3):
        y = scale * np.array([0.1, 0.2, 0.3])[system] / 3
        given = numbers(x - x.mean(), y - y.mean(), system)
        assert float(no_association(given)) > 0.3
        why = no_association_over_systems(given).why_missing or ""
        assert mentions(why, "3 systems", "6 ways")


def test_two_clips_that_carry_a_correlation_do_not_hide_it() -> None:
    """The jackknife's degrees of freedom fall to three or so where two items carry most of the variance."""
    draw = stream(4, "tests", "no association")
    x = draw.normal(size=22)
    y = 0.45 * x + draw.normal(size=22)
    x[:2], y[:2] = (4.5, -5.0), (5.5, -3.5)
    plain, spread = spread_of("pearson", x, y)
    assert spread is not None
    assert spread.df < 3.5
    assert float(spread.p(0.0) or 0) > 0.05
    assert float(plain) > 0.7
    assert float(no_association(numbers(x, y))) < 0.002


def rates(kind: str, runs: int = 150) -> tuple[float, float]:
    """How often predictions of six systems with eight clips are said to beat chance, for other clips and for other systems."""
    draw = stream(5, "tests", "no association", kind)
    of = np.repeat(np.arange(6), 8)
    said = np.zeros(2)
    for run in range(runs):
        label, error = draw.normal(size=(2, 48))
        system, shared = draw.normal(size=(2, 6))
        if kind == "r = .5":
            x, y = label, 0.5 * label + np.sqrt(0.75) * error
        elif kind == "slopes":
            x, y = label, np.repeat(0.6 * np.sign(shared), 8) * label + error
        else:
            x, y = system[of] + label, 3 * shared[of] + error
        given = numbers(x, y, of)
        tests = no_association(given, seed=run, resamples=999), no_association_over_systems(given, seed=run)
        said += [test.value is not None and test.value <= 0.05 and np.corrcoef(x, y)[0, 1] > 0 for test in tests]
    return float(said[0] / runs), float(said[1] / runs)


@pytest.mark.slow
def test_noise_is_not_ranked_and_a_correlation_of_a_half_is() -> None:
    """Freely shuffled, noise that clips of a system share beats chance in 18% of such studies."""
    shared = rates("shared errors")
    assert max(shared) <= 0.05
    assert rates("slopes", 100)[1] <= 0.05
    half = rates("r = .5")
    assert half[0] > 0.9
    assert half[1] > 0.7


def traces(draw: np.random.Generator, follows: float, count: int = 8) -> list[PredictedCourse]:
    """Slow courses at two samples a second, and predictions of them."""
    out = []
    for _ in range(count):
        course, noise = np.cumsum(draw.normal(size=(2, 60)), axis=1)
        out.append(PredictedCourse(course=course, predicted=follows * course + (1 - follows) * noise, rate=2.0))
    return out


def test_courses_turned_upside_down_by_hand() -> None:
    courses = traces(stream(6, "tests", "no association"), 0.4, 5)
    means = []
    for signs in product((1, -1), repeat=5):
        turned = [
            each
            if sign > 0
            else PredictedCourse(course=each.course, predicted=2 * each.predicted.mean() - each.predicted, rate=2.0)
            for sign, each in zip(signs, courses, strict=True)
            if each.predicted is not None
        ]
        means.append(float(mean_concordance(turned)[0]))
    assert no_concordance(courses, lagged=False).value == pytest.approx(twice(means[0], means))
    pairs = no_concordance(courses, lagged=False, group=np.array([0, 0, 1, 1, 1]))
    together = [means[0], means[31 & 0b00111], means[31 & 0b11000], means[31]]
    assert pairs.value == pytest.approx(twice(together[0], together))


@pytest.mark.slow
def test_a_lag_found_in_noise_is_not_evidence() -> None:
    draw = stream(7, "tests", "no association")
    found = [float(no_concordance(traces(draw, 0.0), lagged=True)) for _ in range(12)]
    assert sum(p <= 0.05 for p in found) <= 2
    assert float(no_concordance(traces(draw, 0.8), lagged=True)) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numbers", "categories", "systems", "stimuli"])
def test_many_items_are_drawn_from_the_distribution_that_shuffling_has(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = stream(8, "tests", "no association", kind)
    count = 60 if kind == "systems" else 4
    system = np.repeat(np.arange(count), 3 if kind == "systems" else 40)
    x, y = draw.normal(size=(2, system.size)) + draw.normal(size=(2, count))[:, system]
    given = numbers(x, y, system)
    if kind in ("categories", "systems"):
        x, y = (np.digitize(column, [-0.5, 0.5]) for column in (x, y))
        given = Earnings(label=x, predicted=y, system=system, weight=np.array([1.0, 0.5, 2.0]))
    if kind == "stimuli":
        given = Earnings(label=x, predicted=y, system=system, stimulus=np.arange(system.size) // 2)
    shuffled = given.shuffled_within(9999, 0), given.shuffled_between(9999, 0)
    monkeypatch.setattr("heartfelt.stats.inference.no_association.LARGE", 50)
    normal = given.shuffled_within(9999, 0), given.shuffled_between(9999, 0)
    for one, other in zip(shuffled, normal, strict=True):
        assert other.mean() == pytest.approx(one.mean(), abs=0.05 * one.std())
        assert other.std() == pytest.approx(one.std(), rel=0.04)
