"""Two predictions of the same labels: the test keeps its level, finds what is there, and plans rightly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_rel

from heartfelt.stats.prediction.association import metric_difference
from heartfelt.stats.prediction.resample import bootstrap_metric
from heartfelt.streams import stream
from tests.facts import mentions

SOURCE = "scipy.stats.ttest_rel for metrics that are means; simulation under the null hypothesis for the others"


def test_for_a_mean_it_is_the_paired_t_test() -> None:
    draw = stream(1, "tests", "paired")
    x = draw.normal(size=60)
    first, second = x + draw.normal(0, 0.5, 60), x + draw.normal(0.2, 0.6, 60)
    result = metric_difference("mae", x, first, second)
    expected = ttest_rel(np.abs(first - x), np.abs(second - x))
    assert result.p.value == pytest.approx(float(expected.pvalue), rel=1e-9)
    assert result.standard_error == pytest.approx(abs(float(result.estimate) / float(expected.statistic)))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["pearson", "spearman", "balanced_accuracy"])
def test_the_level_is_kept_where_two_models_are_equally_good(metric: str) -> None:
    draw = stream(2, "tests", "paired", metric)
    hits, runs = 0, 400
    for _ in range(runs):
        x = draw.normal(size=120)
        columns = [x + draw.normal(0, 1, 120) for _ in range(2)]
        if metric == "balanced_accuracy":
            x, columns = (x > 0.4).astype(int), [(c > 0.2).astype(int) for c in columns]
        p = metric_difference(metric, x, *columns).p
        hits += p.value is not None and p.value <= 0.05
    assert 0.02 <= hits / runs <= 0.085


@pytest.mark.slow
def test_clusters_make_it_careful() -> None:
    draw = stream(3, "tests", "paired", "clusters")
    hits = {"rows": 0, "clusters": 0}
    group = np.repeat(np.arange(30), 8)
    for _ in range(150):
        x = draw.normal(size=240)
        first, second = (x + draw.normal(0, 1, 30)[group] for _ in range(2))
        for name, unit in (("rows", None), ("clusters", group)):
            result = metric_difference("mse", x, first, second, group=unit)
            hits[name] += float(result.p) <= 0.05
    assert hits["clusters"] / 150 <= 0.11 < hits["rows"] / 150


@pytest.mark.slow
def test_the_plan_gives_its_power() -> None:
    draw = stream(4, "tests", "paired", "plan")
    n = 200_000
    x = draw.normal(size=n)
    first, second = x + draw.normal(0, 1.0, n), x + draw.normal(0, 1.15, n)
    planned = int(float(metric_difference("pearson", x, first, second).needed()))
    hits = 0
    for _ in range(300):
        y = draw.normal(size=planned)
        pair = y + draw.normal(0, 1.0, planned), y + draw.normal(0, 1.15, planned)
        hits += float(metric_difference("pearson", y, *pair).p) <= 0.05
    assert 0.72 <= hits / 300 <= 0.88


def test_the_difference_is_that_of_the_two_metrics() -> None:
    draw = stream(5, "tests", "paired", "value")
    x = draw.normal(size=80)
    first, second = x + draw.normal(size=80), x + draw.normal(0, 2, 80)
    result = metric_difference("kendall", x, first, second)
    apart = [float(bootstrap_metric("kendall", x, y, interval="delta")) for y in (first, second)]
    assert result.estimate.value == pytest.approx(apart[0] - apart[1])


def test_reasons_take_the_place_of_numbers() -> None:
    x = np.arange(10.0)
    same = metric_difference("pearson", x, x**2, x**2)
    assert mentions(same.p.why_missing, "predictions", "differ")
    assert mentions(same.needed().why_missing, "predictions", "differ")
    flat = metric_difference("pearson", x, np.ones(10), x)
    assert "does not vary" in str(flat.p.why_missing)
    few = metric_difference("mae", x, x + 1, x - 2, group=np.repeat([0, 1], 5))
    assert mentions(few.p.why_missing, "2 clusters", "3")
