"""Influence values against numerical derivatives of the weighted statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from heartfelt.stats._bounds import influence_error
from heartfelt.stats.prediction.metrics import METRICS, rows
from tests.cases import check_all

SOURCE = "central differences of each statistic in one row's weight"


def _columns(kind: str, tied: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=50)
    y = x + rng.normal(size=50)
    if tied:
        x, y = np.round(x * 2), np.round(y * 2)
    return {
        "numbers": (x, y),
        "categories": (np.clip(np.round(x), -1, 1).astype(int), np.clip(np.round(y), -1, 1).astype(int)),
        "flags": (x > 0, y > 0),
        "scores": (x > 0, y),
        "probabilities": (x > 0, 1 / (1 + np.exp(-y))),
    }[kind]


@pytest.mark.slow
@check_all("tied", [False, True])
@check_all("name", sorted(METRICS))
def test_influence_is_the_derivative_in_a_weight(name: str, tied: bool) -> None:
    metric = METRICS[name]
    data = rows(metric, *_columns(metric.kind, tied))
    compute, n = metric.kernel(data), data.n
    # Many copies of every row, so that a row's chance partners are themselves copies (Kendall counts pairs).
    many, step = 1e7, 1e-3
    weights = np.full((n, 2 * n), many)
    weights[np.arange(n), np.arange(n)] *= 1 + step
    weights[np.arange(n), n + np.arange(n)] *= 1 - step
    values = compute(weights)
    slopes = (values[:n] - values[n:]) / (2 * step) * n
    assert metric.influence(data) == pytest.approx(slopes, abs=2e-5)


@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall", "auroc", "macro_f1", "ccc"])
def test_influence_gives_the_standard_error_of_repeated_sampling(name: str) -> None:
    metric = METRICS[name]
    values, errors = [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=120)
        y = x + rng.normal(size=120)
        columns = {"numbers": (x, y), "scores": (x > 0, y), "categories": (np.sign(x), np.sign(y))}[metric.kind]
        data = rows(metric, *columns)
        values.append(metric.value(data))
        errors.append(influence_error(metric.influence(data)))
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.12)
