"""Several intervals of one metric are those of one call each, drawn or from influence values."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.stats.metric_intervals import metric_over
from heartfelt.stats.resample import Interval, bootstrap_metric
from heartfelt.streams import stream

SOURCE = "bootstrap_metric, one call an interval"


@pytest.mark.parametrize("metric", ["pearson", "kendall", "mae", "auroc", "balanced_accuracy"])
@pytest.mark.parametrize("limit", [10**9, 1000])
def test_they_are_what_single_calls_give(metric: str, limit: int) -> None:
    draw = stream(1, "tests", "intervals")
    x = draw.normal(size=300)
    y = x + draw.normal(size=300)
    columns = {
        "auroc": ((x > 0).astype(int), y),
        "balanced_accuracy": ((x > 0).astype(int), (y > 0).astype(int)),
    }.get(metric, (x, y))
    groups = [None, np.repeat(np.arange(30), 10), np.arange(300) % 7, np.zeros(300, int)]
    found = metric_over(metric, *columns, groups, resamples=200, seed=3, limit=limit)
    for group, one in zip(groups, found, strict=True):
        folded = metric == "balanced_accuracy" and group is None
        how: Interval = "auto" if limit > 1000 or folded else "delta"
        alone = bootstrap_metric(metric, *columns, group=group, resamples=200, seed=3, interval=how)
        assert one.to_json() == alone.to_json()


def test_reasons_and_gaps_are_kept() -> None:
    x = np.arange(100.0)
    (flat,) = metric_over("pearson", x, np.ones(100), [None], limit=10)
    assert flat.why_missing == "the second column does not vary"
    gaps = np.where(x > 50, np.nan, x**2)
    (found,) = metric_over("pearson", x, gaps, [None], resamples=100, limit=10)
    assert found.counts["left_out"] == 49
