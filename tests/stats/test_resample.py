"""The bootstrap against plain loops, SciPy, other statistics of the package, and simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartfelt import stats as heartfelt_stats
from heartfelt.errors import InputError, UnknownNameError
from heartfelt.stats.columns.paired import ResampledUnits
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.prediction import association, resample
from heartfelt.stats.prediction.jackknife import full_value
from heartfelt.stats.prediction.metrics import METRICS, rows
from heartfelt.stats.prediction.resample import (
    Resample,
    SamplingUnits,
    bootstrap,
    bootstrap_difference,
    bootstrap_metric,
    condense,
    replicates,
    weight_batches,
)
from tests.cases import check_all
from tests.facts import mentions

SOURCE = "scipy.stats.bootstrap 1.17 and per-resample loops over SciPy and scikit-learn functions"


def _pairs(n: int, seed: int = 0, tied: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = x + rng.normal(size=n)
    return (np.round(x), np.round(y)) if tied else (x, y)


def _columns(name: str, n: int, seed: int = 0) -> tuple[Any, Any]:
    x, y = _pairs(n, seed)
    return {
        "numbers": (x, y),
        "categories": (np.clip(np.round(x), -1, 1).astype(int), np.clip(np.round(y), -1, 1).astype(int)),
        "flags": (x > 0, y > 0),
        "scores": (x > 0, y),
        "probabilities": (x > 0, 1 / (1 + np.exp(-y))),
    }[METRICS[name].kind]


@check_all("name", sorted(METRICS))
def test_value_equals_the_plain_statistic(name: str) -> None:
    columns = _columns(name, 90)
    plain = getattr(heartfelt_stats, name)
    assert bootstrap_metric(name, *columns, resamples=50).value == pytest.approx(plain(*columns).value, abs=1e-12)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall", "ccc", "mae"])
def test_every_replicate_equals_the_statistic_of_its_resample(name: str, tied: bool) -> None:
    x, y = _pairs(61, 3, tied)
    sample = SamplingUnits(rows(METRICS[name], x, y))
    result = replicates(METRICS[name], sample, 64, seed=5)
    drawn = np.hstack([batch.copy() for batch in weight_batches(sample, 2, seed=5)])
    assert np.all(drawn.sum(axis=0) == 61)
    for lane in range(64):
        chosen = np.repeat(np.arange(61), drawn[:, lane].astype(int))
        expected = getattr(association, name)(x[chosen], y[chosen]).value
        assert result[lane] == pytest.approx(expected, abs=1e-12)


@pytest.mark.peer
@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("balanced_accuracy", "balanced_accuracy_score"),
        ("auroc", "roc_auc_score"),
        ("average_precision", "average_precision_score"),
        ("f1", "f1_score"),
        ("accuracy", "accuracy_score"),
    ],
)
def test_classification_replicates_equal_scikit_learn(name: str, theirs: str) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    x, y = _columns(name, 80)
    sample = SamplingUnits(rows(METRICS[name], x, y))
    result = replicates(METRICS[name], sample, 32, seed=2)
    drawn = next(weight_batches(sample, 1, seed=2))
    for lane in range(32):
        chosen = np.repeat(np.arange(80), drawn[:, lane].astype(int))
        assert result[lane] == pytest.approx(getattr(metrics, theirs)(x[chosen], y[chosen]), abs=1e-12)


def test_draws_are_multinomial() -> None:
    sample = SamplingUnits(rows(METRICS["pearson"], *_pairs(40)))
    drawn = np.hstack([batch.copy() for batch in weight_batches(sample, 400, seed=1)])
    assert drawn.mean(axis=1) == pytest.approx(np.ones(40), abs=0.05)
    assert drawn.var(axis=1) == pytest.approx(np.full(40, 1 - 1 / 40), abs=0.08)
    off = np.corrcoef(drawn)[np.triu_indices(40, 1)]
    assert off.mean() == pytest.approx(-1 / 39, abs=0.003)
    share_of_threes = np.mean(drawn == 3)
    assert share_of_threes == pytest.approx(stats.binom.pmf(3, 40, 1 / 40), abs=0.004)


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_interval_agrees_with_scipy(interval: str) -> None:
    x, y = _pairs(60, 8)
    ours = bootstrap_metric("pearson", x, y, interval=interval, resamples=20_000)  # type: ignore[arg-type]  # parametrized

    def statistic(a: Floats, b: Floats, axis: int) -> Any:
        return stats.pearsonr(a, b, axis=axis).statistic

    theirs = stats.bootstrap(
        (x, y), statistic, paired=True, vectorized=True, n_resamples=20_000,
        method="BCa" if interval == "bca" else "percentile", rng=np.random.default_rng(1), batch=2000,
    ).confidence_interval  # fmt: skip
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.008)


@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall", "balanced_accuracy", "auroc", "rmse"])
def test_delta_method_agrees_with_the_plain_bootstrap(name: str) -> None:
    columns = _columns(name, 4000, 4)
    plain = bootstrap_metric(name, *columns, interval="percentile", resamples=3000)
    quick = bootstrap_metric(name, *columns, interval="delta")
    assert plain.low is not None
    assert plain.high is not None
    assert (quick.low, quick.high) == pytest.approx((plain.low, plain.high), abs=0.06 * (plain.high - plain.low))
    assert quick.interval == "delta method (influence values)"
    assert "resamples" not in quick.counts


def test_auto_switches_to_the_delta_method_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = _pairs(3000)
    assert bootstrap_metric("pearson", x, y, resamples=200).interval == "BCa bootstrap"
    monkeypatch.setattr(resample, "PLAIN_LIMIT", 500_000)
    assert bootstrap_metric("pearson", x, y, resamples=200).interval.startswith("delta method")


@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall", "balanced_accuracy", "mae"])
def test_folding_equal_pairs_keeps_the_distribution(name: str) -> None:
    x, y = _pairs(6000, 2, tied=True)
    data = rows(METRICS[name], x.astype(int), y.astype(int))
    folded = condense(data)
    assert folded.copies is not None
    assert folded.copies.sum() == 6000
    assert full_value(METRICS[name], folded.rows, folded.copies) == pytest.approx(
        full_value(METRICS[name], data), abs=1e-12
    )
    each = replicates(METRICS[name], folded, 2000, seed=1)
    two = replicates(METRICS[name], SamplingUnits(data), 2000, seed=1)
    assert stats.ks_2samp(each, two).pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall", "balanced_accuracy"])
def test_intervals_cover(name: str) -> None:
    truth = bootstrap_metric(name, *_columns(name, 300_000, 99), interval="delta").value
    assert truth is not None
    hits = 0
    for seed in range(300):
        result = bootstrap_metric(name, *_columns(name, 60, seed), resamples=500, seed=seed)
        assert result.low is not None
        assert result.high is not None
        hits += result.low <= truth <= result.high
    assert 0.90 <= hits / 300 <= 0.985


@pytest.mark.slow
def test_clusters_widen_the_interval_and_cover() -> None:
    # Clips of one system share an error: rows are not independent, clusters are.
    plain_hits = cluster_hits = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        system = np.repeat(np.arange(30), 10)
        gap = rng.normal(size=30)[system] + 0.5 * rng.normal(size=300)
        x = rng.normal(size=300)
        plain = bootstrap_metric("mse", x, x + gap, resamples=300, seed=seed, interval="percentile")
        by_system = bootstrap_metric("mse", x, x + gap, resamples=300, seed=seed, group=system)
        delta = bootstrap_metric("mse", x, x + gap, group=system, interval="delta")
        assert None not in (plain.low, plain.high, by_system.low, by_system.high, delta.low, delta.high)
        plain_hits += plain.low <= 1.25 <= plain.high  # type: ignore[operator]  # checked above
        cluster_hits += by_system.low <= 1.25 <= by_system.high  # type: ignore[operator]  # checked above
        assert by_system.counts["clusters"] == 30
        assert by_system.interval.endswith("over clusters")
    assert plain_hits / 200 < 0.75
    assert cluster_hits / 200 > 0.87


def test_whole_clusters_are_drawn() -> None:
    data = rows(METRICS["mae"], *_pairs(12))
    unit = np.repeat(np.arange(4), 3)
    drawn = next(weight_batches(SamplingUnits(data, ResampledUnits(4, unit)), 1, seed=3))
    assert np.all(drawn.reshape(4, 3, -1) == drawn.reshape(4, 3, -1)[:, :1])
    assert np.all(drawn[::3].sum(axis=0) == 4)


def test_difference_is_paired() -> None:
    x, y = _pairs(400, 6)
    better = 0.5 * (x + y)
    paired = bootstrap_difference("pearson", x, better, y, resamples=4000)
    assert paired.value == pytest.approx(
        float(association.pearson(x, better)) - float(association.pearson(x, y)), abs=1e-12
    )
    assert paired.low is not None
    assert paired.high is not None
    assert paired.low > 0
    alone = bootstrap_metric("pearson", x, y, resamples=4000)
    assert alone.low is not None
    assert alone.high is not None
    assert paired.high - paired.low < alone.high - alone.low


def test_difference_of_equal_predictions_has_no_interval() -> None:
    x, y = _pairs(50)
    result = bootstrap_difference("spearman", x, y, y, resamples=200)
    assert result.value == 0
    assert mentions(result.why_no_interval, "resample", "value")


def test_difference_leaves_out_rows_either_lacks() -> None:
    x, y = _pairs(30)
    each, two = y.copy(), y + 0.1
    each[3], two[7] = np.nan, np.nan
    result = bootstrap_difference("mae", x, each, two, resamples=100, group=np.arange(30) // 3)
    assert result.counts["pairs"] == 28
    assert result.counts["left_out"] == 2


def test_same_seed_same_numbers() -> None:
    x, y = _pairs(50)
    a, b = (bootstrap_metric("kendall", x, y, resamples=500, seed=7) for _ in range(2))
    other = bootstrap_metric("kendall", x, y, resamples=500, seed=8)
    assert (a.low, a.high) == (b.low, b.high)
    assert (a.low, a.high) != (other.low, other.high)


def test_golden_draws() -> None:
    """The same seed gives the same resamples on every machine and in every version."""
    sample = SamplingUnits(rows(METRICS["pearson"], *_pairs(8)))
    drawn = next(weight_batches(sample, 1, seed=0))
    assert drawn[:, 0].astype(int).tolist() == GOLDEN_DRAW


GOLDEN_DRAW = [0, 0, 1, 1, 1, 4, 1, 0]


@pytest.mark.parametrize(
    ("name", "x", "y", "why"),
    [
        ("pearson", [1, 1, 1, 1], [1, 2, 3, 4], "does not vary"),
        ("kendall", [1, 2], [1, 2], "2 pairs"),
        ("auroc", [True, True], [0.1, 0.3], "no label is negative"),
        ("precision", [1, 0], [0, 0], "nothing was predicted positive"),
        ("accuracy", [], [], "no pairs"),
        ("mse", [np.nan], [1.0], "0 pairs"),
    ],
)
def test_degenerate_input_gives_a_reason(name: str, x: list[Any], y: list[Any], why: str) -> None:
    result = bootstrap_metric(name, x, y, resamples=50)
    assert result.is_missing
    assert why in (result.why_missing or "")


def test_undefined_resamples_are_counted_or_end_the_interval() -> None:
    rare = bootstrap_metric("auroc", [1] + [0] * 30, np.arange(31.0), resamples=1000)
    assert rare.why_no_interval is not None
    assert "undefined in" in rare.why_no_interval
    some = bootstrap_metric("auroc", [1] * 4 + [0] * 30, np.arange(34.0) % 7, resamples=1000)
    assert 0 < some.counts["undefined_resamples"] < 100
    assert some.low is not None


def test_one_cluster_cannot_be_resampled() -> None:
    x, y = _pairs(20)
    assert mentions(bootstrap_metric("mse", x, y, group=["a"] * 20).why_no_interval, "cluster", "resample")


def test_misuse_is_refused() -> None:
    x, y = _pairs(20)
    with pytest.raises(UnknownNameError, match="spearmann"):
        bootstrap_metric("spearmann", x, y)
    with pytest.raises(InputError, match="interval"):
        bootstrap_metric("pearson", x, y, interval="exact")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InputError, match="resamples"):
        bootstrap_metric("pearson", x, y, resamples=0)
    with pytest.raises(InputError, match="group"):
        bootstrap_metric("pearson", x, y, group=[1, 2])
    with pytest.raises(InputError, match="resample"):
        bootstrap("mean", [1, 2], [1, 2], [1, 2], resample="rows")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InputError, match="statistic"):
        bootstrap("median", [1, 2], [1, 2], [1, 2])


def _ratings(seed: int, raters: int = 20, items: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rater, item = (codes.ravel() for codes in np.meshgrid(np.arange(raters), np.arange(items)))
    keep = rng.random(rater.size) < 0.4
    rater, item = rater[keep], item[keep]
    value = rng.normal(size=raters)[rater] + rng.normal(size=items)[item] + rng.normal(size=rater.size)
    return rater, item, value


@pytest.mark.slow
@pytest.mark.parametrize(("which", "least", "most"), [("both", 0.91, 1.0), ("raters", 0.0, 0.93), ("items", 0.0, 0.9)])
def test_resampling_both_raters_and_items_is_what_covers(which: Any, least: float, most: float) -> None:
    hits = 0
    for seed in range(200):
        result = bootstrap("mean", *_ratings(seed), resample=which, resamples=200, seed=seed)
        assert result.low is not None
        assert result.high is not None
        hits += result.low <= 0 <= result.high
    assert least <= hits / 200 <= most


def test_a_statistic_of_ones_own() -> None:
    rater, item, value = _ratings(1)

    def share_high(value: Floats, weight: Floats, _drawn: Resample) -> float | None:
        total = float(weight.sum())
        return float(weight @ (value > 0)) / total if total else None

    result = bootstrap(share_high, rater, item, value, resamples=300)
    assert result.value == pytest.approx(np.mean(value > 0))
    assert result.method == "share high"
    assert mentions(result.interval, "bootstrap", "raters", "items")
    assert result.low is not None
    assert result.low < np.mean(value > 0)


def test_item_means_count_an_item_as_often_as_it_was_drawn() -> None:
    item = np.array([0, 0, 1])
    drawn = Resample(np.array([0, 1, 0]), item, np.array([1.0, 1.0]), np.array([1.0, 3.0]))
    weight = drawn.rater_times[drawn.rater] * drawn.item_times[item]
    result = resample.mean_of_item_means(np.array([1.0, 3.0, 6.0]), weight, drawn)
    assert result == pytest.approx((1 * 2 + 3 * 6) / 4)


def test_ratings_without_variation_in_raters_or_items() -> None:
    assert bootstrap("mean", [], [], []).is_missing
    one_rater = bootstrap("mean", ["r"] * 5, range(5), [1, 2, 3, 4, 5])
    assert one_rater.value == 3
    assert one_rater.why_no_interval == "1 raters: nothing to resample"
    assert bootstrap("mean", ["r"] * 5, range(5), [1, 2, 3, 4, 5], resample="items").low is not None
    same = bootstrap("mean", range(5), range(5), [2.0] * 5, resample="items")
    assert same.value == 2
    assert mentions(same.why_no_interval, "resample", "value")
