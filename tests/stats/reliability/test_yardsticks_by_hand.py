"""What single raters and means of cells score, with plain loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from heartfelt.stats.ceilings import yardsticks
from heartfelt.stats.ratings import as_ratings
from tests.stats.reliability.ratings import CATEGORY, ITEM, RATER, VALUE, winner_of


def _scores(labels: Any, answers: Any, weights: Any) -> dict[str, float]:
    confusion = np.zeros((3, 3))
    for label, answer, weight in zip(labels, answers, weights, strict=True):
        confusion[label, answer] += weight
    hit, asked, said = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    there, either = asked > 0, asked + said > 0
    return {
        "accuracy": hit.sum() / confusion.sum(),
        "balanced_accuracy": float(np.mean(hit[there] / asked[there])),
        "macro_f1": float(np.mean(2 * hit[either] / (asked + said)[either])),
    }


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "macro_f1"])
def test_category_yardsticks_by_hand(metric: Any) -> None:
    d = as_ratings(RATER, ITEM, CATEGORY.astype(float))
    counts = np.array([np.bincount(CATEGORY[i == ITEM], minlength=3) for i in range(7)])
    assert yardsticks.category_counts(d).tolist() == counts.tolist()
    keep = np.ones(17, bool)
    rows = []
    for row in range(17):
        others = counts[ITEM[row]].copy()
        others[CATEGORY[row]] -= 1
        label = winner_of(others)
        if label is not None:
            rows.append((label, CATEGORY[row], 1.0))
    single = yardsticks.of_single_rater(d, metric)(keep)
    assert single == pytest.approx(_scores(*zip(*rows, strict=True))[metric])
    cells = np.array([0, 0, 0, 1, 1, 1, 2])
    labels = {i: label for i, row in enumerate(counts) if (label := winner_of(row)) is not None}
    for own in (False, True):
        rows = []
        for i, label in labels.items():
            together = [j for j in labels if cells[j] == cells[i]]
            if len(together) < 2:
                continue
            guess = np.bincount([labels[j] for j in together if own or j != i], minlength=3)
            top = np.flatnonzero(guess == guess.max())
            rows += [(label, int(answer), 1 / top.size) for answer in top]
        found = yardsticks.of_cell_means(d, cells, metric, own)(keep)
        assert found == pytest.approx(_scores(*zip(*rows, strict=True))[metric])


@pytest.mark.parametrize("metric", ["correlation", "rmse", "mae"])
def test_number_yardsticks_by_hand(metric: Any) -> None:
    d = as_ratings(RATER, ITEM, VALUE)
    keep = np.arange(17) != 4
    labels = {i: VALUE[(i == ITEM) & keep].mean() for i in range(7)}
    cells = np.array([0, 0, 0, 1, 1, 1, 2])

    def score(pairs: Any) -> float:
        a, b = np.array(pairs, float).T
        if metric == "correlation":
            return float(np.corrcoef(a, b)[0, 1])
        return math.sqrt(np.mean((a - b) ** 2)) if metric == "rmse" else float(np.mean(np.abs(a - b)))

    for own in (False, True):
        pairs = [
            (labels[i], np.mean([labels[j] for j in range(7) if cells[j] == cells[i] and (own or j != i)]))
            for i in range(6)
        ]
        assert yardsticks.of_cell_means(d, cells, metric, own)(keep) == pytest.approx(score(pairs))
    pairs = [
        (VALUE[(ITEM[row] == ITEM) & keep & (np.arange(17) != row)].mean(), VALUE[row])
        for row in range(17)
        if keep[row] and np.sum((ITEM[row] == ITEM) & keep) > 1
    ]
    assert yardsticks.of_single_rater(d, metric)(keep) == pytest.approx(score(pairs))
    assert yardsticks._agreement(np.ones(2), np.ones(2), metric) is None
    assert yardsticks._agreement(np.ones(3), np.arange(3.0), "correlation") is None
