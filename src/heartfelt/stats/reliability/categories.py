"""Category labels: what one rating, and the bare cells, reach against the most frequent category.

A label is the category with strictly the most of an item's ratings; tied items have none and are not scored. A
single human is a rating against the label of the item's other ratings. For the ceiling see `vote_ceiling`.

Balanced accuracy averages, over the label categories, the share of each that is met; macro F1 averages the F1 of
each. Range 0 to 1.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.stats.reliability.vote_ceiling import CategoryMetric
from heartfelt.stats.triples import Ints

Counts: TypeAlias = npt.NDArray[np.float64]


def category_counts(item: Ints, category: Ints, items: int, categories: int) -> Counts:
    """Ratings per item and category."""
    key = item * categories + category
    return np.bincount(key, minlength=items * categories).reshape(items, categories).astype(np.float64)


def labels_of(counts: Counts) -> Counts:
    """One for the category that has strictly the most, zero for the rest; all zero where several are tied."""
    top = (counts == counts.max(axis=1, keepdims=True)) & (counts > 0)
    out: Counts = (top & (top.sum(axis=1, keepdims=True) == 1)).astype(np.float64)
    return out


def score(confusion: Counts, metric: CategoryMetric) -> float | None:
    """Accuracy, balanced accuracy or macro F1 from weights of (label, answer)."""
    total = confusion.sum()
    if total <= 0:
        return None
    if metric == "accuracy":
        return float(np.trace(confusion) / total)
    asked = confusion.sum(axis=1)
    if metric == "macro_f1":
        asked = (asked + confusion.sum(axis=0)) / 2.0
    used = asked > 0
    return float(np.mean(np.diag(confusion)[used] / asked[used]))


def human(item: Ints, category: Ints, counts: Counts, metric: CategoryMetric) -> float | None:
    """One rating against the label of the item's other ratings."""
    several = counts.sum(axis=1)[item] >= 2
    item, category = item[several], category[several]
    if item.size == 0:
        return None
    others = counts[item]
    others[np.arange(item.size), category] -= 1
    return score(_by_answer(labels_of(others), category, counts.shape[1]), metric)


def cell_plurality(counts: Counts, cells: Ints, metric: CategoryMetric, own: bool) -> float | None:
    """The most frequent label in the cell (without the item's own unless ``own``) against the label."""
    label = labels_of(counts)
    here = label.sum(axis=1) > 0
    label, cell = label[here], cells[here]
    if label.shape[0] == 0:
        return None
    size = np.bincount(cell)
    total = np.zeros((size.size, counts.shape[1]))
    np.add.at(total, cell, label)
    enough = size[cell] >= 2
    label, cell = label[enough], cell[enough]
    if label.shape[0] == 0:
        return None
    guess = total[cell] - (0.0 if own else label)
    top = (guess == guess.max(axis=1, keepdims=True)).astype(np.float64)
    return score(label.T @ (top / top.sum(axis=1, keepdims=True)), metric)


def _by_answer(label: Counts, answer: Ints, categories: int) -> Counts:
    out = np.zeros((categories, categories))
    for c in range(categories):
        out[:, c] = label[answer == c].sum(axis=0)
    return out
