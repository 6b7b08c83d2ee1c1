"""Jackknife intervals: the classical formulas where there are such, p and interval agree, and they cover with few units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.stats.columns.paired import ResampledUnits
from heartfelt.stats.prediction import association
from heartfelt.stats.prediction.association import metric_difference
from heartfelt.stats.prediction.jackknife import (
    Basis,
    JackknifeError,
    cluster_df,
    jackknife_metric,
    leave_out,
    metric_spread,
    spread_of,
)
from heartfelt.stats.prediction.metrics import METRICS, rows
from heartfelt.streams import stream
from tests.cases import check_all
from tests.facts import mentions

SOURCE = (
    "scipy.stats.ttest_rel and the Wilson interval of scipy.stats.binomtest; a loop that leaves out one row or cluster; the"
    " matrix form of Satterthwaite's degrees of freedom; simulation with known truth"
)


def columns(metric: str, n: int, draw: np.random.Generator) -> tuple[Any, Any, Any]:
    x = draw.normal(size=n)
    y, z = (0.8 * x + 0.6 * draw.normal(size=n) for _ in range(2))
    kind = METRICS[metric].kind
    if kind in ("categories", "flags"):
        return (x > 0).astype(int), (y > 0).astype(int), (z > 0).astype(int)
    if kind == "probabilities":
        return (x > 0).astype(int), 1 / (1 + np.exp(-y)), 1 / (1 + np.exp(-z))
    return ((x > 0).astype(int), y, z) if kind == "scores" else (x, y, z)


@pytest.mark.slow
@check_all("metric", sorted(METRICS))
def test_p_and_interval_of_a_difference_always_agree(metric: str) -> None:
    draw = stream(1, "tests", "agree", metric)
    tested = 0
    for k in range(60):
        group = None if k % 2 else np.arange(30) % 6
        result = metric_difference(metric, *columns(metric, 30, draw), group=group)
        if result.p.value is None:
            continue
        tested += 1
        low, high = result.estimate.low, result.estimate.high
        assert low is not None
        assert high is not None
        assert (result.p.value < 0.05) == (not low <= 0 <= high)
        for confidence in (0.8, 0.99):
            wider = result.at(confidence)
            assert wider.low is not None
            assert wider.high is not None
            assert (result.p.value < 1 - confidence) == (not wider.low <= 0 <= wider.high)
    assert tested > 40


@pytest.mark.parametrize("scale", ["identity", "fisher", "log", "logit"])
def test_the_interval_holds_what_the_test_does_not_reject(scale: Any) -> None:
    spread = JackknifeError(value=0.6, scale=scale, units=20, error=0.2, df=11.5, effective=18.0)
    bounds = spread.bounds(0.95)
    assert bounds is not None
    for at in np.linspace(0.02, 0.98, 97):
        p = spread.p(float(at))
        assert p is not None
        if min(abs(at - bounds[0]), abs(at - bounds[1])) > 1e-6:
            assert (p > 0.05) == (bounds[0] < at < bounds[1])


def test_for_a_mean_it_is_the_paired_t_interval() -> None:
    draw = stream(2, "tests", "jackknife")
    x, first, second = columns("mae", 40, draw)
    result = metric_difference("mae", x, first, second)
    theirs = stats.ttest_rel(np.abs(first - x), np.abs(second - x)).confidence_interval()
    assert (result.estimate.low, result.estimate.high) == pytest.approx((theirs.low, theirs.high))


@pytest.mark.parametrize("metric", ["pearson", "kendall", "ccc", "rmse"])
@pytest.mark.parametrize("clustered", [False, True])
def test_the_error_is_that_of_leaving_out_one_at_a_time(metric: str, clustered: bool) -> None:
    draw = stream(3, "tests", "jackknife", metric)
    x, y, _ = columns(metric, 45, draw)
    unit = np.sort(draw.integers(0, 7, 45)) if clustered else np.arange(45)
    compute = getattr(association, metric)
    scale = np.log if metric == "rmse" else np.arctanh
    left = np.array([scale(float(compute(x[unit != u], y[unit != u]))) for u in np.unique(unit)])
    size = left.size
    expected = np.sqrt((size - 1) / size * np.sum((left - scale(float(compute(x, y)))) ** 2))
    _, spread = spread_of(metric, x, y, group=unit if clustered else None)
    assert spread is not None
    assert spread.error == pytest.approx(expected, rel=1e-9)
    assert spread.units == size


def test_many_units_take_influence_values_that_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = stream(4, "tests", "jackknife")
    for metric in ("pearson", "spearman", "rmse", "auroc", "balanced_accuracy"):
        x, y, z = columns(metric, 1500, draw)
        exact, gap = jackknife_metric(metric, x, y), metric_difference(metric, x, y, z)
        monkeypatch.setattr("heartfelt.stats.prediction.jackknife.EXACT_LIMIT", 100)
        quick, fast = jackknife_metric(metric, x, y), metric_difference(metric, x, y, z)
        monkeypatch.undo()
        assert exact.interval.startswith("jackknife")
        assert quick.interval.startswith("influence values")
        assert exact.low is not None
        assert exact.high is not None
        width = exact.high - exact.low
        assert (quick.low, quick.high) == pytest.approx((exact.low, exact.high), abs=0.03 * width)
        assert fast.p.value == pytest.approx(gap.p.value, abs=0.01)


def test_degrees_of_freedom_of_clusters() -> None:
    for sizes in ([5, 5, 5, 5], [1, 3, 9, 27, 2], [40, 2, 2, 2, 2, 2]):
        w = np.array(sizes) / np.sum(sizes)
        away = np.eye(w.size) - np.ones((w.size, 1)) * w
        form = away.T @ np.diag((w / (1 - w)) ** 2) @ away
        expected = np.trace(form) ** 2 / np.trace(form @ form)
        assert cluster_df(np.array(sizes)) == pytest.approx(expected)
    assert cluster_df(np.full(9, 4)) == pytest.approx(8)
    assert cluster_df(np.array([90, 5, 5])) < 1.5


def test_a_share_is_wilsons_interval_with_students_t() -> None:
    label = np.r_[np.ones(20), np.zeros(40)].astype(int)
    answer = label.copy()
    answer[:14] = 1 - answer[:14]
    result = jackknife_metric("accuracy", label, answer)
    theirs = stats.binomtest(46, 60).proportion_ci(method="wilson")
    assert result.low is not None
    assert result.high is not None
    # Student's t and n - 1 make it a little wider than Wilson's own.
    assert theirs.low - 0.02 < result.low < theirs.low
    assert theirs.high < result.high < theirs.high + 0.02


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "macro_f1", "recall", "precision", "f1", "auroc"])
def test_a_perfect_share_still_has_an_interval(metric: str) -> None:
    label = np.arange(20) % 2
    result = jackknife_metric(metric, label, label.astype(float) if metric == "auroc" else label)
    assert (result.value, result.high) == (1.0, 1.0)
    assert result.low is not None
    assert 0.6 < result.low < 0.9


def test_no_interval_has_a_reason() -> None:
    x = np.arange(12.0)
    assert mentions(jackknife_metric("pearson", x, x).why_no_interval, "correlation", "scale")
    assert mentions(jackknife_metric("rmse", x, x).why_no_interval, "there", "uncertain")
    two = jackknife_metric("mae", x, x**1.1, group=x > 5)
    assert mentions(two.why_no_interval, "2 clusters", "3")
    rare = jackknife_metric("balanced_accuracy", [1] + [0] * 30, [1] * 3 + [0] * 28)
    assert rare.why_no_interval is not None
    assert "one pair only" in rare.why_no_interval
    alone = jackknife_metric("auroc", [1] + [0] * 30, np.arange(31.0) % 5)
    assert alone.why_no_interval is not None
    assert "undefined" in alone.why_no_interval
    assert mentions(jackknife_metric("pearson", [1, 1, 1, 1], x[:4]).why_missing, "column", "vary")
    with pytest.raises(InputError, match="group"):
        jackknife_metric("mae", x, x**2, group=[1, 2])


def test_left_out_rows_of_big_tables_come_in_batches() -> None:
    draw = stream(5, "tests", "jackknife")
    x = draw.normal(size=60_000)
    y = x + draw.normal(size=60_000)
    unit = np.arange(60_000) % 40
    metric = METRICS["pearson"]
    data = rows(metric, x, y)
    left = leave_out(metric, data, ResampledUnits(40, unit))
    for u in (0, 31, 32, 39):
        assert left[u] == pytest.approx(float(association.pearson(x[unit != u], y[unit != u])), abs=1e-9)
    assert metric_spread(Basis(metric, data), ResampledUnits(40, unit)).units == 40


def coverage(metric: str, runs: int, make: Any, true: float, name: str) -> float:
    draw = stream(6, "tests", "jackknife", metric, name)
    hits = 0
    for _ in range(runs):
        x, y, unit = make(draw)
        result = jackknife_metric(metric, x, y, group=unit)
        assert result.low is not None
        assert result.high is not None
        hits += result.low <= true <= result.high
    return hits / runs


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "true"), [("rmse", 0.6325), ("mse", 0.4), ("mae", 0.5046), ("ccc", 0.7805)])
def test_they_cover_with_25_items(metric: str, true: float) -> None:
    # Errors 0.6 N - 0.2 x: variance .36 + .04. Concordance 2 * .8 / (1 + 1 + 0.05), by hand.
    def make(draw: np.random.Generator) -> tuple[Any, Any, None]:
        x = draw.normal(size=25)
        return x, 0.8 * x + 0.6 * draw.normal(size=25), None

    if metric == "ccc":
        true = 2 * 0.8 / (1 + 1.0)
    assert coverage(metric, 500, make, true, "rows") >= 0.93


def _systems(draw: np.random.Generator, count: int, models: int) -> tuple[Any, list[Any], Any]:
    unit = np.repeat(np.arange(count), 8)
    x = draw.normal(size=unit.size)
    return (x, [x + draw.normal(size=count)[unit] + 0.5 * draw.normal(size=unit.size) for _ in range(models)], unit)


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, 6, 12])
def test_they_cover_with_few_systems(count: int) -> None:
    def make(draw: np.random.Generator) -> tuple[Any, Any, Any]:
        x, ys, unit = _systems(draw, count, 1)
        return x, ys[0], unit

    assert coverage("mse", 400, make, 1.25, str(count)) >= 0.93
    assert coverage("pearson", 400, make, 1 / np.sqrt(2.25), str(count)) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, 6, 12])
@pytest.mark.parametrize("metric", ["pearson", "mae"])
def test_equal_models_are_seldom_told_apart_over_few_systems(metric: str, count: int) -> None:
    draw = stream(7, "tests", "jackknife", metric, count)
    wrong = {"systems": 0, "rows": 0}
    for _ in range(300):
        x, ys, unit = _systems(draw, count, 2)
        for name, group in (("systems", unit), ("rows", None)):
            p = metric_difference(metric, x, *ys, group=group).p.value
            wrong[name] += p is not None and p < 0.05
    assert wrong["systems"] / 300 <= 0.06
    assert wrong["rows"] / 300 > 0.15
