from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from heartfelt.errors import InputError
from heartfelt.serialization import dumps
from heartfelt.stats.agreement import cohen_kappa, pairwise_accuracy, pairwise_balanced_accuracy
from heartfelt.stats.agreement.interval import leave_out
from tests.facts import mentions
from tests.stats.agreement.designs import Design, matrix

SOURCE_COHEN = "hand calculation: 10 items, 7 agreed, chance .5 * .6 + .5 * .4 = .5, kappa (.7 - .5) / (1 - .5) = .4"
SOURCE_SKLEARN = (
    "scikit-learn cohen_kappa_score, accuracy_score and balanced_accuracy_score on each pair's shared items"
)


def votes(seed: int = 0, design: Design | None = None) -> tuple[Any, Any, Any]:
    rater, item, value = (design or Design(10, 60, 4)).draw(np.random.default_rng(seed))
    return rater, item, np.digitize(value, [-0.8, 0.0, 0.9])


def shared(table: npt.NDArray[np.float64], a: int, b: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    both = np.isfinite(table[a]) & np.isfinite(table[b])
    return table[a][both].astype(int), table[b][both].astype(int)


def test_hand_calculation() -> None:
    a = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    b = [1, 1, 1, 1, 0, 1, 1, 0, 0, 0]
    result = cohen_kappa(["a"] * 10 + ["b"] * 10, list(range(10)) * 2, a + b)
    assert result.mean.value == pytest.approx(0.4, abs=1e-12), SOURCE_COHEN
    assert mentions(result.mean.interval, "jackknife", "items", "2 raters")
    assert result.pairs.rater_a == ["a"]
    assert result.pairs.rater_b == ["b"]


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_equals_scikit_learn(weights: str | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rater, item, value = votes()
    table = matrix(rater, item, value)
    result = cohen_kappa(rater, item, value, weights)
    rows = {(a, b): at for at, (a, b) in enumerate(zip(result.pairs.rater_a, result.pairs.rater_b, strict=True))}
    kappas, sizes = [], []
    for a, b in itertools.combinations(range(10), 2):
        x, y = shared(table, a, b)
        if not x.size:
            assert (a, b) not in rows
            continue
        at = rows[a, b]
        assert result.pairs.n_shared[at] == x.size
        expected = metrics.cohen_kappa_score(x, y, weights=weights, labels=[0, 1, 2, 3])
        if x.size < 2 or np.isnan(expected):
            assert np.isnan(result.pairs.value[at])
            assert result.pairs.why_missing[at]
        else:
            assert result.pairs.value[at] == pytest.approx(expected, abs=1e-12), SOURCE_SKLEARN
            kappas.append(expected)
            sizes.append(x.size)
    assert result.mean.value == pytest.approx(np.mean(kappas), abs=1e-12)
    assert result.weighted.value == pytest.approx(np.average(kappas, weights=sizes), abs=1e-12)
    assert result.mean.counts["pairs"] == len(kappas)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_accuracies_equal_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rater, item, value = votes(1)
    table = matrix(rater, item, value)
    plain, balanced = pairwise_accuracy(rater, item, value), pairwise_balanced_accuracy(rater, item, value)
    truth: list[int] = []
    guess: list[int] = []
    for at, (a, b) in enumerate(zip(plain.pairs.rater_a, plain.pairs.rater_b, strict=True)):
        x, y = shared(table, a, b)
        assert plain.pairs.value[at] == pytest.approx(metrics.accuracy_score(x, y), abs=1e-12)
        both = (metrics.balanced_accuracy_score(x, y) + metrics.balanced_accuracy_score(y, x)) / 2
        assert balanced.pairs.value[at] == pytest.approx(both, abs=1e-12), SOURCE_SKLEARN
        truth += [*x, *y]
        guess += [*y, *x]
    assert plain.mean.value == pytest.approx(plain.pairs.value.mean(), abs=1e-12)
    assert plain.pooled is not None
    assert balanced.pooled is not None
    assert plain.pooled.value == pytest.approx(metrics.accuracy_score(truth, guess), abs=1e-12)
    assert plain.pooled.value == pytest.approx(float(plain.weighted), abs=1e-12)
    assert balanced.pooled.value == pytest.approx(metrics.balanced_accuracy_score(truth, guess), abs=1e-12)


def means_without(statistic: Callable[..., Any], columns: Any, keep: npt.NDArray[np.bool_], **options: Any) -> float:
    result = statistic(*(column[keep] for column in columns), interval=None, **options)
    return float(result.mean)


@pytest.mark.parametrize(
    ("statistic", "options"),
    [
        (cohen_kappa, {}),
        (cohen_kappa, {"weights": "linear"}),
        (cohen_kappa, {"weights": "quadratic"}),
        (cohen_kappa, {"at_least": 6}),
        (pairwise_accuracy, {}),
        (pairwise_balanced_accuracy, {}),
    ],
)
def test_the_jackknife_leaves_out_one_at_a_time(statistic: Callable[..., Any], options: dict[str, Any]) -> None:
    from heartfelt.stats.agreement import pairs

    columns = votes(2, Design(6, 30, 4))
    rater, item, _ = columns
    caught: list[Any] = []

    def watch(*parts: Any) -> Any:
        caught.append(parts)
        return leave_out(*parts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "leave_out", watch)
        value = float(statistic(*columns, **options).mean)
    by_item, by_rater, cells = caught[0][:3]
    expected = [means_without(statistic, columns, item != i, **options) - value for i in range(30)]
    assert by_item == pytest.approx(expected, abs=1e-12)
    expected = [means_without(statistic, columns, rater != r, **options) - value for r in range(6)]
    assert by_rater == pytest.approx(expected, abs=1e-12)
    rows = np.arange(rater.size)
    ones = np.array([means_without(statistic, columns, rows != k, **options) - value for k in rows])
    assert cells == pytest.approx((rows.size, ones.sum(), ones @ ones), abs=1e-12)


def test_pairs_that_share_nothing_are_no_pairs() -> None:
    rater = ["a", "b", "a", "b", "c", "d", "c", "d", "e", "a"]
    item = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    value = ["yes", "yes", "no", "no", "yes", "yes", "yes", "yes", "no", "yes"]
    result = cohen_kappa(rater, item, value)
    rows = {(row["rater_a"], row["rater_b"]): row for row in result.pairs.to_json()}
    assert set(rows) == {("a", "b"), ("c", "d"), ("a", "e")}
    assert rows["a", "b"]["value"] == 1
    assert mentions(rows["c", "d"]["why_missing"], "category", "item")
    assert rows["a", "e"]["why_missing"] == "too few shared items"
    assert result.mean.value == 1
    assert result.mean.counts["pairs_missing"] == 2
    dumps(result)
    dumps(result.pairs)
    # On one shared item kappa could only be 0 or undefined: asking for fewer than two changes nothing.
    loose = cohen_kappa(rater, item, value, at_least=1)
    assert loose.mean.value == 1


def test_no_pair_with_a_value_is_missing() -> None:
    result = cohen_kappa([1, 2, 1, 2], [1, 1, 2, 2], ["a"] * 4)
    assert mentions(result.mean.why_missing, "category", "item")
    result = cohen_kappa([1, 2], [1, 1], ["a", "b"])
    assert mentions(result.mean.why_missing, "raters", "items")
    result = cohen_kappa([1, 2], [1, 2], ["a", "b"])
    assert mentions(result.mean.why_missing, "raters", "item")
    assert result.mean.value is None


def test_misuse() -> None:
    with pytest.raises(InputError, match="no weights"):
        cohen_kappa([1], [1], [1], "cubic")
    with pytest.raises(InputError, match="got 0"):
        cohen_kappa([1], [1], [1], at_least=0)
    with pytest.raises(InputError, match="need an order"):
        cohen_kappa([1, 2], [1, 1], ["a", "b"], "linear")


def test_weights_follow_the_numbers() -> None:
    rater, item, value = votes(3)
    spread = np.array([0.0, 1.0, 2.0, 10.0])[value]
    near, far = cohen_kappa(rater, item, value, "quadratic"), cohen_kappa(rater, item, spread, "quadratic")
    assert near.mean.value != pytest.approx(far.mean.value, abs=1e-3)
    words = np.array(["none", "low", "mid", "high"])[value]
    named = cohen_kappa(rater, item, words, "quadratic", categories=["none", "low", "mid", "high"])
    assert named.mean.value == pytest.approx(near.mean.value, abs=1e-12)


def test_many_raters_who_barely_meet() -> None:
    rng = np.random.default_rng(4)
    rater = np.arange(6_000)
    item = np.repeat(np.arange(3_000), 2)
    result = cohen_kappa(rater, item, rng.integers(0, 2, 6_000))
    assert len(result.pairs) == 3_000
    assert mentions(result.mean.why_missing, "raters", "items")
    agree = pairwise_accuracy(rater, item, rng.integers(0, 2, 6_000))
    assert agree.mean.low < 0.5 < agree.mean.high  # type: ignore[operator] # neither is missing


def test_a_mean_over_pairs_that_share_few_items_has_no_interval() -> None:
    """Kappa of few items leans towards 0, so an interval around its mean would not hold."""
    rng = np.random.default_rng(3)
    for items, bounded in ((9, False), (10, True)):
        rater, item = np.repeat(np.arange(5), items), np.tile(np.arange(items), 5)
        result = cohen_kappa(rater, item, rng.integers(0, 2, rater.size)).mean
        assert (result.low is not None) == bounded
        assert bounded or "share 9 items at the median" in str(result.why_no_interval)
    assert pairwise_accuracy(rater[:18], item[:18], rng.integers(0, 2, 18)).mean.low is not None
