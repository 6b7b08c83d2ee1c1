"""What bare cell means, and single raters, achieve against labels: two yardsticks to compare a predictor and
the ceiling with.

A label is the mean of an item's ratings or, of categories, the one with strictly the most of them (tied items
have none and are not scored). The cell mean of an item is the mean label of the *other* items of its cell
(leave-one-out), since a mean that contains the item's own label would be rewarded for its noise; with ``own``
the plain figure is given. Leaving one out pushes the other way: within a cell the items with high labels get
low means, so the figure is a lower estimate of what the true cell means would reach, the plain one an upper.
Of categories it is the most frequent label of the cell. A single rater is compared with the label made of the
item's other ratings. Items alone in their cell, and items with one rating, are left out.

Balanced accuracy averages, over the label categories, the share of each that is met; macro F1 averages the F1
of each. Range 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from heartfelt.stats.ceilings.number_ceiling import NumberMetric
from heartfelt.stats.columns.paired import correlation
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.ratings import Ratings

CategoryMetric: TypeAlias = Literal["accuracy", "balanced_accuracy", "macro_f1"]
Metric: TypeAlias = Literal["correlation", "rmse", "mae", "accuracy", "balanced_accuracy", "macro_f1"]
Keep: TypeAlias = npt.NDArray[np.bool_]
Statistic: TypeAlias = Callable[[Keep], float | None]
"""A figure of the ratings to keep; None where it is undefined."""
CATEGORY_METRICS: tuple[str, ...] = get_args(CategoryMetric)


def of_cell_means(d: Ratings, cells: Ints, metric: Metric, in_sample: bool) -> Statistic:
    """Cell means, with (``own``) or without the label itself, against the labels."""
    if metric in CATEGORY_METRICS:
        return lambda keep: _cell_plurality(category_counts(d, keep), cells, metric, in_sample)
    return lambda keep: _agreement(*_cell_mean_pairs(d, cells, keep, in_sample), metric)


def of_single_rater(d: Ratings, metric: Metric) -> Statistic:
    """One rating against the label of the item's other ratings."""
    if metric in CATEGORY_METRICS:
        return lambda keep: one_rating(d.item[keep], d.value[keep].astype(np.int64), category_counts(d, keep), metric)
    return lambda keep: _agreement(*_single_rater_pairs(d, keep), metric)


def _cell_mean_pairs(d: Ratings, cells: Ints, keep: Keep, in_sample: bool) -> tuple[Floats, Floats]:
    """Labels and the means of their cells."""
    counts = np.bincount(d.item[keep], minlength=len(d.items))
    sums = np.bincount(d.item[keep], d.value[keep], minlength=len(d.items))
    rated = counts > 0
    label, cell = sums[rated] / counts[rated], cells[rated]
    size, total = np.bincount(cell), np.bincount(cell, label)
    enough = size[cell] >= 2
    label, cell = label[enough], cell[enough]
    if in_sample:
        return label, total[cell] / size[cell]
    return label, (total[cell] - label) / (size[cell] - 1)


def _single_rater_pairs(d: Ratings, keep: Keep) -> tuple[Floats, Floats]:
    """The mean of an item's other ratings, and each single rating."""
    item, value = d.item[keep], d.value[keep]
    counts = np.bincount(item, minlength=len(d.items))
    sums = np.bincount(item, value, minlength=len(d.items))
    several = counts[item] >= 2
    item, value = item[several], value[several]
    return (sums[item] - value) / (counts[item] - 1), value


def _agreement(label: Floats, prediction: Floats, metric: Metric | NumberMetric) -> float | None:
    if label.size < 3:
        return None
    if metric == "rmse":
        return float(np.sqrt(np.mean((label - prediction) ** 2)))
    if metric == "mae":
        return float(np.mean(np.abs(label - prediction)))
    return correlation(label, prediction)


def category_counts(d: Ratings, keep: Keep | None = None) -> Floats:
    """Ratings per item and category; values are category codes."""
    categories = int(d.value.max()) + 1
    key = d.item * categories + d.value.astype(np.int64)
    key = key if keep is None else key[keep]
    return np.bincount(key, minlength=len(d.items) * categories).reshape(-1, categories).astype(np.float64)


def winners(counts: npt.NDArray[Any]) -> Ints:
    """The category of each row that has strictly the most; -1 where several are tied, or none has any."""
    # Column by column: NumPy is slow along a short last axis.
    first, *later_columns = np.ascontiguousarray(counts.T)
    most, winner, tied = first.copy(), np.zeros(first.size, np.int64), np.zeros(first.size, np.bool_)
    for category, column in enumerate(later_columns, 1):
        more = column > most
        tied = (tied & ~more) | (column == most)
        winner[more] = category
        np.maximum(most, column, out=most)
    winner[tied | (most <= 0)] = -1
    return winner


def category_score(confusion: Floats, metric: Metric | CategoryMetric) -> float | None:
    """Accuracy, balanced accuracy or macro F1 from weights of (label, answer)."""
    total = confusion.sum()
    if total <= 0:
        return None
    if metric == "accuracy":
        return float(np.trace(confusion) / total)
    per_category = confusion.sum(axis=1)
    if metric == "macro_f1":
        per_category = (per_category + confusion.sum(axis=0)) / 2.0
    used = per_category > 0
    return float(np.mean(np.diag(confusion)[used] / per_category[used]))


def one_rating(item: Ints, category: Ints, counts: Floats, metric: Metric | CategoryMetric) -> float | None:
    """One rating against the label of the item's other ratings."""
    several = counts.sum(axis=1)[item] >= 2
    item, category = item[several], category[several]
    other_counts = counts[item]
    other_counts[np.arange(item.size), category] -= 1
    return category_score(confusion_of(winners(other_counts), category, counts.shape[1]), metric)


def confusion_of(label: Ints, answer: Ints, categories: int) -> Floats:
    """Labels against answers; rows without a label (-1) are left out."""
    labelled = label >= 0
    pair = label[labelled] * categories + answer[labelled]
    return np.bincount(pair, minlength=categories**2).reshape(categories, -1).astype(np.float64)


def _cell_plurality(counts: Floats, cells: Ints, metric: Metric, in_sample: bool) -> float | None:
    label, categories = winners(counts), counts.shape[1]
    labelled = label >= 0
    if not labelled.any():
        return None
    total = np.bincount(cells[labelled] * categories + label[labelled], minlength=(int(cells.max()) + 1) * categories)
    total = total.reshape(-1, categories)
    # Items of one cell with the same label have the same guess.
    cell, label = np.nonzero(total * (total.sum(axis=1, keepdims=True) >= 2))
    if cell.size == 0:
        return None
    guess = total[cell]
    if not in_sample:
        guess[np.arange(cell.size), label] -= 1
    top = (guess == guess.max(axis=1, keepdims=True)).astype(np.float64)
    shares = top / top.sum(axis=1, keepdims=True) * total[cell, label][:, None]
    confusion = np.zeros((categories, categories))
    np.add.at(confusion, label, shares)
    return category_score(confusion, metric)
