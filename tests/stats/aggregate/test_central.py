"""Mean, median and mode: against NumPy, all resamples written out, and their tie policies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.errors import InputError
from heartfelt.stats import aggregate
from heartfelt.stats.aggregate.central import Ties
from tests.cases import check_all
from tests.facts import mentions

SOURCE = "NumPy mean, std and median; the bootstrap distribution of the median by enumerating all n^n resamples"


def ratings(groups: dict[str, list[float]]) -> tuple[list[int], list[str], list[float]]:
    rows = [(r, name, v) for name, values in groups.items() for r, v in enumerate(values)]
    return [r for r, _, _ in rows], [name for _, name, _ in rows], [v for _, _, v in rows]


def test_mean_with_sample_standard_error_and_t_interval() -> None:
    result = aggregate.mean(*ratings({"x": [1.0, 2.0, 4.0, 5.0], "y": [7.0]}))
    assert result.values.tolist() == [3.0, 7.0]
    assert result.standard_errors[0] == pytest.approx(np.std([1, 2, 4, 5], ddof=1) / 2)
    assert result.counts.tolist() == [4, 1]
    x = result.estimate("x")
    assert x.high is not None
    assert x.high - 3.0 == pytest.approx(3.182446 * result.standard_errors[0], rel=1e-6)
    y = result.estimate("y")
    assert y.low is None
    assert mentions(y.why_no_interval, "rating", "spread")
    assert result.to_json()["items"][1]["standard_error"] is None
    with pytest.raises(InputError, match=r"item.*ratings.*'z'"):
        result.estimate("z")


def enumerated(values: list[float]) -> float:
    medians = [np.median(draw) for draw in itertools.product(values, repeat=len(values))]
    return float(np.std(medians))


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.0],
        [1.0, 5.0, 2.0],
        [3.0, 1.0, 4.0, 9.0],
        [1.0, 1.0, 2.0, 5.0],
        [2.0, 7.0, 1.0, 8.0, 3.0],
        [1.0, 2.0, 2.0, 6.0, 3.0, 9.0],
    ],
)
def test_median_error_is_the_whole_bootstrap(values: list[float]) -> None:
    result = aggregate.median(*ratings({"x": values, "y": [1.0]}))
    assert result.values[0] == np.median(values)
    assert result.standard_errors[0] == pytest.approx(enumerated(values), rel=1e-10)
    assert np.isnan(result.standard_errors[1])


@pytest.mark.parametrize("n", [60, 61, 900, 901, 1200])
def test_median_error_of_many_ratings_equals_the_normal_limit(n: int) -> None:
    value = np.random.default_rng(n).normal(size=(40, n))
    item, rater = np.indices(value.shape)
    result = aggregate.median(rater.ravel(), item.ravel(), value.ravel())
    assert result.values == pytest.approx(np.median(value, axis=1))
    # Asymptotic standard error of the median of normal values: sqrt(pi / 2n).
    assert result.standard_errors.mean() == pytest.approx(np.sqrt(np.pi / 2 / n), rel=0.12)


@pytest.mark.slow
@given(st.lists(st.integers(1, 5), min_size=2, max_size=12), st.integers(-50, 50))
@settings(deadline=None, max_examples=40)
def test_median_moves_with_its_ratings(values: list[int], by: int) -> None:
    plain = aggregate.median(*ratings({"x": [float(v) for v in values]}))
    moved = aggregate.median(*ratings({"x": [float(2 * v + by) for v in values]}))
    assert moved.values[0] == pytest.approx(2 * plain.values[0] + by)
    assert moved.standard_errors[0] == pytest.approx(2 * plain.standard_errors[0], abs=1e-7)


def test_median_intervals_are_the_sign_test_and_need_six_ratings() -> None:
    # Bin(8, 1/2): P(X < 1) = 1/256 and P(X < 2) = 9/256; only the first is below 2.5%. Bin(9): P(X < 2) = 10/512.
    values = {"five": [1, 2, 3, 4, 5], "six": [4, 1, 2, 6, 3, 5], "eight": [3, 1, 2, 8, 7, 6, 5, 4], "nine": range(9)}
    result = aggregate.median(*ratings({name: [float(v) for v in row] for name, row in values.items()}))
    bounds = {name: (e.low, e.high) for name in values for e in [result.estimate(name)]}
    assert bounds == {"five": (None, None), "six": (1.0, 6.0), "eight": (1.0, 8.0), "nine": (1.0, 7.0)}
    assert "six ratings" in str(result.estimate("five").why_no_interval)
    assert result.estimate("five", 0.9).low == 1.0


def test_median_intervals_cover_on_steps() -> None:
    rng = np.random.default_rng(8)
    for n in (6, 9, 15):
        value = np.clip(np.round(rng.normal(3.2, 1.1, (400, n))), 1, 5)
        item, rater = np.indices(value.shape)
        low, high = aggregate.median(rater.ravel(), item.ravel(), value.ravel()).bounds()
        assert np.mean((low <= 3) & (high >= 3)) > 0.95


@check_all("categories", [2, 3, 6, 9])
@check_all("votes", [3, 5, 15])
@check_all("truth", ["even", "half"])
def test_bounds_of_a_winning_share_cover(categories: int, votes: int, truth: str) -> None:
    rng = np.random.default_rng(categories * votes)
    p = np.full(categories, 1.0 / categories)
    if truth == "half":
        p = np.array([0.5, *[0.5 / (categories - 1)] * (categories - 1)])
    answer = rng.choice(categories, (1500, votes), p=p)
    item, rater = np.indices(answer.shape)
    result = aggregate.mode(rater.ravel(), item.ravel(), answer.ravel(), categories=list(range(categories)))
    low, high = result.share_bounds()
    named = [i for i, value in enumerate(result.values) if value is not None]
    true = np.array([p[int(result.values[i])] for i in named])
    assert np.mean((low[named] <= true) & (true <= high[named])) >= 0.94


ANSWERS = (
    list("abcabcab"),
    ["x", "x", "x", "y", "y", "y", "z", "z"],
    ["sad", "sad", "joy", "joy", "sad", "fear", "joy", "sad"],
)


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("lowest", ["sad", "fear", "joy"]),
        ("highest", ["sad", "sad", "sad"]),
        ("missing", ["sad", None, None]),
        ("split", ["sad", None, None]),
    ],
)
def test_mode_and_ties(ties: Ties, expected: list[str | None]) -> None:
    result = aggregate.mode(*ANSWERS, ties=ties)
    assert list(result.values) == expected
    assert list(result.categories) == ["fear", "joy", "sad"]
    assert result.shares == pytest.approx([2 / 3, 1 / 3, 1 / 2])
    assert result.standard_errors[0] == pytest.approx(np.sqrt(2 / 9 / 3))
    assert result.notes == ("2 of 3 items are tied",)
    totals = result.support.sum(axis=1)
    assert totals == pytest.approx([1, 0, 0] if ties == "missing" else [1, 1, 1])
    if ties == "split":
        assert result.support[1] == pytest.approx([1 / 3, 1 / 3, 1 / 3])
        assert result.support[2] == pytest.approx([0, 1 / 2, 1 / 2])
    if ties == "missing":
        assert mentions(result.to_json()["items"][1]["why_missing"], "categories", "tied")


def test_mode_takes_an_order_of_categories() -> None:
    result = aggregate.mode(*ANSWERS, ties="lowest", categories=["sad", "joy", "fear", "calm"])
    assert list(result.values) == ["sad", "sad", "sad"]
    assert result.support.shape == (3, 4)
    with pytest.raises(InputError, match="'fear' is not among"):
        aggregate.mode(*ANSWERS, categories=["sad", "joy"])


def test_mode_of_numbers_and_mixed_answers() -> None:
    numbers = aggregate.mode([1, 2, 3, 1], ["x", "x", "x", "y"], [2.0, 2.0, 1.0, float("nan")])
    assert list(numbers.values) == [2.0]
    assert numbers.left_out == 1
    mixed = aggregate.mode([1, 2, 3], ["x", "x", "x"], ["yes", 1, "yes"])
    assert list(mixed.values) == ["yes"]
    assert list(mixed.categories) == ["yes", 1]


def test_mode_of_answers_that_never_repeat_keeps_no_table() -> None:
    n = 6000
    result = aggregate.mode(np.zeros(n), np.arange(n), np.random.default_rng(0).normal(size=n))
    assert list(result.values[:3]) != [None, None, None]
    assert result.support.shape[0] == 0
    assert "too many" in result.notes[0]


@pytest.mark.parametrize("name", ["mean", "median", "mode"])
def test_repeats_are_refused_and_nothing_is_nothing(name: str) -> None:
    method = getattr(aggregate, name)
    with pytest.raises(InputError, match=r"'a'.*'x'.*1 repeated"):
        method(["a", "b", "a"], ["x", "x", "x"], [1, 2, 3])
    empty = method([], [], [])
    assert len(empty.items) == 0
    assert empty.to_json()["items"] == []
    with pytest.raises(InputError, match="differ in length"):
        method(["a"], ["x", "y"], [1, 2])
