"""Several intervals of one metric are those of one call each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.jackknife import jackknife_metric, spreads_over
from heartfelt.streams import stream
from tests.facts import mentions

SOURCE = "jackknife_metric, one call per interval"


def metric_over(metric: str, x: Any, y: Any, groups: list[Any]) -> list[Estimate]:
    """The metric with an interval for each of the groups."""
    return [
        plain if spread is None else spread.estimate(plain, 0.95)
        for plain, spread in spreads_over(metric, x, y, groups)
    ]


@pytest.mark.parametrize("metric", ["pearson", "kendall", "mae", "auroc", "balanced_accuracy"])
@pytest.mark.parametrize("limit", [10**9, 1000])
def test_they_are_what_single_calls_give(metric: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heartfelt.stats.prediction.jackknife.EXACT_LIMIT", limit)
    draw = stream(1, "tests", "intervals")
    x = draw.normal(size=300)
    y = x + draw.normal(size=300)
    columns = {"auroc": ((x > 0).astype(int), y), "balanced_accuracy": ((x > 0).astype(int), (y > 0).astype(int))}.get(
        metric, (x, y)
    )
    groups = [None, np.repeat(np.arange(75), 4), np.arange(300) % 7, np.zeros(300, int)]
    result = metric_over(metric, *columns, groups)
    for group, each in zip(groups, result, strict=True):
        assert each.to_json() == jackknife_metric(metric, *columns, group=group).to_json()
    quick = [entry.interval.startswith("influence values") for entry in result[:3]]
    # Seven clusters are left out one by one however many rows there are.
    assert quick == ([True, True, False] if limit == 1000 else [False] * 3)


def test_reasons_and_gaps_are_kept() -> None:
    x = np.arange(100.0)
    (flat,) = metric_over("pearson", x, np.ones(100), [None])
    assert mentions(flat.why_missing, "column", "vary")
    gaps = np.where(x > 50, np.nan, x**2)
    (result,) = metric_over("pearson", x, gaps, [None])
    assert result.counts["left_out"] == 49
