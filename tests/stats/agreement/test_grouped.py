from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.agreement import (
    alpha,
    cohen_kappa,
    exact_agreement,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    leave_one_out,
    pairwise_accuracy,
    pairwise_balanced_accuracy,
)
from tests.stats.agreement.designs import Design, headline

ALL: list[Callable[..., Any]] = [
    alpha,
    cohen_kappa,
    exact_agreement,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    leave_one_out,
    pairwise_accuracy,
    pairwise_balanced_accuracy,
]


def votes(seed: int = 0) -> tuple[Any, Any, Any]:
    rater, item, value = Design(8, 40, 4).draw(np.random.default_rng(seed))
    return rater, item, np.digitize(value, [-0.5, 0.7])


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ALL, ids=lambda f: f.__name__)
def test_every_kind_of_column_gives_the_same(statistic: Callable[..., Any]) -> None:
    pandas = pytest.importorskip("pandas")
    rater, item, value = votes()
    plain = headline(statistic(rater, item, value))
    words = [f"rater {r}" for r in rater]
    tuples = [("clip", int(i)) for i in item]
    columns: list[tuple[Any, Any, Any]] = [
        (rater.tolist(), item.tolist(), value.tolist()),
        (rater.astype(np.int16), item.astype(np.uint32), value.astype(np.float32)),
        (rater[::-1], item[::-1], value[::-1]),
        (words, tuples, value),
        (np.array(words, dtype=object), item + 0.5, value),
        (pl.Series(words), pl.Series(item), pl.Series(value)),
        (pl.Series(words, dtype=pl.Categorical), pl.Series(item), pl.Series(value, dtype=pl.Int8)),
        (pandas.Series(words), pandas.Series(item), pandas.Series(value, dtype="Int64")),
        (pandas.Categorical(words), pandas.Series(item), pandas.Series(value)),
        (rater - 5, item * 1000, value),
    ]
    for given in columns:
        result = headline(statistic(*given))
        assert result.value == pytest.approx(plain.value, abs=1e-12)
        assert result.low == pytest.approx(plain.low, abs=1e-9)
        assert result.high == pytest.approx(plain.high, abs=1e-9)


@pytest.mark.parametrize("statistic", ALL, ids=lambda f: f.__name__)
def test_order_of_rows_does_not_matter(statistic: Callable[..., Any]) -> None:
    rater, item, value = votes(1)
    order = np.random.default_rng(2).permutation(rater.size)
    there = headline(statistic(rater, item, value))
    back = headline(statistic(rater[order], item[order], value[order]))
    assert there.value == pytest.approx(back.value, abs=1e-12)
    assert there.low == pytest.approx(back.low, abs=1e-12)


@pytest.mark.parametrize("statistic", ALL, ids=lambda f: f.__name__)
def test_a_second_rating_of_the_same_item_is_an_error(statistic: Callable[..., Any]) -> None:
    rater, item, value = (np.append(column, column[17]) for column in votes(3))
    with pytest.raises(InputError) as error:
        statistic(rater, item, value)
    assert f"Rater {rater[17]} rated item {item[17]} more than once" in error.value.problem


@pytest.mark.parametrize("each", [3, 40])
def test_a_second_rating_is_found_on_the_short_road(each: int) -> None:
    rater, item, value = Design(50, 300, each).draw(np.random.default_rng(4))
    value = np.round(value).astype(np.int64)
    assert alpha(rater, item, value, interval=None).counts["raters"] == 50
    for at in (0, 11, rater.size - 1):
        who, what, vote = (np.append(column, column[at]) for column in (rater, item, value))
        with pytest.raises(InputError, match=f"Rater {rater[at]} rated item {item[at]} more"):
            alpha(who, what, vote, interval=None)


@pytest.mark.parametrize("statistic", ALL, ids=lambda f: f.__name__)
def test_empty_and_lonely_data_have_a_reason(statistic: Callable[..., Any]) -> None:
    for given in (([], [], []), ([1], [1], [1]), (list(range(6)), list(range(6)), [0, 1] * 3)):
        result = headline(statistic(*given))
        assert result.value is None
        assert result.low is None
        assert result.why_missing


@pytest.mark.parametrize("statistic", ALL, ids=lambda f: f.__name__)
def test_everyone_agrees(statistic: Callable[..., Any]) -> None:
    rater = np.tile(np.arange(4), 6)
    item = np.repeat(np.arange(6), 4)
    result = headline(statistic(rater, item, item % 2))
    assert result.value == pytest.approx(1.0, abs=1e-12)
    if result.low is not None:
        assert 0.5 < result.low < 1
        assert result.high == 1


def test_columns_must_fit_together() -> None:
    with pytest.raises(InputError, match="differ in length"):
        alpha([1, 2], [1, 2], [1])
    with pytest.raises(InputError, match="differ in length"):
        fleiss_kappa([1], [1, 2], [1, 2])
    with pytest.raises(InputError, match="one dimension"):
        alpha(np.ones((2, 2)), [1, 2], [1, 2])
    with pytest.raises(InputError, match="no rater"):
        alpha(["a", None], [1, 1], [1, 2])
    with pytest.raises(InputError, match="no item"):
        alpha(["a", "b"], [1, None], [1, 2])
    with pytest.raises(InputError, match="not a number"):
        alpha(["a", "b"], [1, 1], ["x", "y"])
    with pytest.raises(InputError, match="need rater ids"):
        cohen_kappa(None, [1, 1], ["x", "y"])


def test_words_are_categories_and_gaps_are_counted() -> None:
    rater, item, value = votes(5)
    words = np.array(["no", "weak", "strong"], dtype=object)[value]
    for gap in (None, math.nan):
        holes = words.copy()
        holes[[2, 3]] = gap
        result = alpha(rater, item, holes, "nominal")
        retained = np.ones(rater.size, dtype=bool)
        retained[[2, 3]] = False
        assert result.value == pytest.approx(
            float(alpha(rater[retained], item[retained], value[retained], "nominal")), abs=1e-12
        )
        assert result.counts["left_out"] == 2
    yes = fleiss_kappa(rater, item, value > 0)
    assert yes.value == pytest.approx(float(fleiss_kappa(rater, item, (value > 0).astype(float))), abs=1e-12)


def test_a_prior_must_name_each_item_once() -> None:
    rater, item, value = votes(6)
    with pytest.raises(InputError, match="item 3 more than once"):
        fleiss_kappa(rater, item, value, prior=([1, 3, 3], [0, 1, 1]))
    with pytest.raises(InputError, match="2 items but 1 values"):
        fleiss_kappa(rater, item, value, prior=([1, 3], [0]))
    with pytest.raises(InputError, match="cannot be read"):
        fleiss_kappa(rater, item, value, prior=7)  # type: ignore[arg-type] # the mistake under test


@pytest.mark.parametrize("statistic", ALL, ids=lambda f: f.__name__)
def test_a_prior_joins_as_one_more_rater(statistic: Callable[..., Any]) -> None:
    rater, item, value = votes(7)
    machine = {i: (i * 7) % 3 for i in range(40)}
    joined = headline(statistic(rater, item, value, prior=machine))
    added = headline(
        statistic(
            np.concatenate([rater, np.full(40, 99)]),
            np.concatenate([item, np.arange(40)]),
            np.concatenate([value, [machine[i] for i in range(40)]]),
        )
    )
    assert joined.value == pytest.approx(added.value, abs=1e-12)
    # The prior is given, not drawn: what it might have been instead adds no doubt.
    assert (joined.low is None) == (added.low is None)
    if joined.low is not None:
        assert None not in (joined.high, added.low, added.high)
        assert joined.high - joined.low < 1.05 * (added.high - added.low)  # type: ignore[operator]  # none is missing
