"""What bare cell means, and single raters, achieve against mean labels.

A label is the mean of an item's ratings. The cell mean of an item is the mean label of the *other* items of
its cell (leave-one-out), since a mean that contains the item's own label would be rewarded for its noise;
the plain figure is kept beside it as ``in sample``. Leaving one out pushes the other way: within a cell the
items with high labels get low means, so the figure is a lower estimate of what the true cell means would
reach, the plain one an upper. A single rater is compared with the mean of the item's other ratings. Items
alone in their cell, and items with one rating, cannot take part and are left out.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.stats.reliability.design import Design
from heartfelt.stats.triples import Floats, Ints

NumberMetric: TypeAlias = Literal["correlation", "rmse", "mae"]
Keep: TypeAlias = npt.NDArray[np.bool_]


def cell_mean_pairs(d: Design, cells: Ints, keep: Keep, own: bool) -> tuple[Floats, Floats]:
    """Labels and the means of their cells, with (``own``) or without the label itself."""
    counts = np.bincount(d.item[keep], minlength=len(d.items))
    sums = np.bincount(d.item[keep], d.value[keep], minlength=len(d.items))
    here = counts > 0
    label, cell = sums[here] / counts[here], cells[here]
    size = np.bincount(cell)
    total = np.bincount(cell, label)
    enough = size[cell] >= 2
    label, cell = label[enough], cell[enough]
    if own:
        return label, total[cell] / size[cell]
    return label, (total[cell] - label) / (size[cell] - 1)


def single_rater_pairs(d: Design, keep: Keep) -> tuple[Floats, Floats]:
    """The mean of an item's other ratings, and each single rating."""
    item, value = d.item[keep], d.value[keep]
    counts = np.bincount(item, minlength=len(d.items))
    sums = np.bincount(item, value, minlength=len(d.items))
    several = counts[item] >= 2
    item, value = item[several], value[several]
    return (sums[item] - value) / (counts[item] - 1), value


def agreement(label: Floats, prediction: Floats, metric: NumberMetric) -> float | None:
    """The metric of predictions against labels; None where it is undefined."""
    if label.size < 3:
        return None
    if metric == "rmse":
        return float(np.sqrt(np.mean((label - prediction) ** 2)))
    if metric == "mae":
        return float(np.mean(np.abs(label - prediction)))
    a, b = label - label.mean(), prediction - prediction.mean()
    below = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip((a @ b) / below, -1.0, 1.0)) if below > 1e-12 * label.size else None
