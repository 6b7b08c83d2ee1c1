"""Empirical influence values: how far each pair pulls a statistic, one number per row, mean zero.

They give the delta method's standard error (root of their mean square over n), the acceleration of BCa,
and, when summed within clusters, both under clustering. Derived by differentiating the statistic of a
weighted sample with respect to one row's weight; the tests hold them to numerical derivatives. Hampel
(1974); Efron (1982).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.stats.triples import Floats, Ints

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sorted:
    """Rows in the order of a column: ``order[starts[g]:starts[g + 1]]`` are the rows of its g-th distinct
    value.

    ``place`` is each row's rank among the distinct values, from 0.
    """

    order: Ints
    starts: Ints
    place: Ints

    @property
    def places(self) -> int:
        """How many distinct values there are."""
        return int(self.starts.size - 1)

    @property
    def sizes(self) -> Ints:
        """How many rows share each distinct value."""
        return np.diff(self.starts)


def sort_rows(column: Floats) -> Sorted:
    """Sort a column once, keeping its ties together."""
    order = np.argsort(column, kind="stable").astype(np.int64, copy=False)
    ordered = column[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if order.size else np.zeros(0, np.bool_)
    starts = np.append(np.flatnonzero(new), order.size).astype(np.int64)
    place = np.empty(order.size, np.int64)
    place[order] = np.cumsum(new) - 1
    return Sorted(order, starts, place)


def pearson(x: Floats, y: Floats) -> Floats:
    """Of the product-moment correlation."""
    a, b = x - x.mean(), y - y.mean()
    a, b = a / np.sqrt(np.mean(a * a)), b / np.sqrt(np.mean(b * b))
    r = float(np.mean(a * b))
    return np.asarray(a * b - 0.5 * r * (a * a + b * b))


def ccc(x: Floats, y: Floats) -> Floats:
    """Of the concordance correlation (and so of quadratic kappa)."""
    a, b, shift = x - x.mean(), y - y.mean(), float(x.mean() - y.mean())
    xx, yy, xy = float(np.mean(a * a)), float(np.mean(b * b)), float(np.mean(a * b))
    scale = xx + yy + shift * shift
    value = 2 * xy / scale
    return np.asarray((2 * (a * b - xy) - value * (a * a - xx + b * b - yy + 2 * shift * (a - b))) / scale)


def _mid_distribution(column: Sorted) -> Floats:
    """Per distinct value: the share below plus half the share at it."""
    sizes = column.sizes
    return np.asarray((np.cumsum(sizes) - 0.5 * sizes) / column.order.size)


def _pull(column: Sorted, values: Floats) -> Floats:
    """Per row: mean of ``values`` over rows above it in ``column``, ties counting half."""
    per_place = np.bincount(column.place, weights=values, minlength=column.places)
    above = per_place.sum() - np.cumsum(per_place)
    return np.asarray((above + 0.5 * per_place)[column.place] / values.size)


def spearman(x: Sorted, y: Sorted) -> Floats:
    """Of the rank correlation with mid-ranks, the ranks' own dependence on the sample included."""
    u = _mid_distribution(x)[x.place] - 0.5
    v = _mid_distribution(y)[y.place] - 0.5
    xx, yy, xy = float(np.mean(u * u)), float(np.mean(v * v)), float(np.mean(u * v))
    value = xy / np.sqrt(xx * yy)
    cross = u * v + _pull(x, v) + _pull(y, u) - 3 * xy
    spread_x = u * u + 2 * _pull(x, u) - 3 * xx
    spread_y = v * v + 2 * _pull(y, v) - 3 * yy
    return np.asarray(cross / np.sqrt(xx * yy) - 0.5 * value * (spread_x / xx + spread_y / yy))


def kendall(x: Sorted, y: Sorted) -> Floats:
    """Of tau-b, by each row's concordant minus discordant partners."""
    from heartfelt.stats._kernels_resample import kendall_scores

    n = x.order.size
    scores = kendall_scores(x.order, x.starts, y.place, y.places) / n
    free_x, free_y = 1 - x.sizes[x.place] / n, 1 - y.sizes[y.place] / n
    net, mean_x, mean_y = float(scores.mean()), float(free_x.mean()), float(free_y.mean())
    root = np.sqrt(mean_x * mean_y)
    value = net / root
    lean = (free_x - mean_x) / mean_x + (free_y - mean_y) / mean_y
    return np.asarray(2 * (scores - net) / root - value * lean)


def balanced_accuracy(label: Ints, predicted: Ints, classes: int) -> Floats:
    """Of the mean recall over the classes that occur among the labels."""
    totals = np.bincount(label, minlength=classes)
    hit = label == predicted
    recall = np.bincount(label, weights=hit, minlength=classes) / np.maximum(totals, 1)
    present = int(np.count_nonzero(totals))
    return np.asarray((hit - recall[label]) * label.size / (totals[label] * present))


def macro_f1(label: Ints, predicted: Ints, classes: int) -> Floats:
    """Of the mean F1 over the classes that occur among labels or predictions."""
    n = label.size
    hit = label == predicted
    both = np.bincount(label, minlength=classes) + np.bincount(predicted, minlength=classes)
    occurring = np.maximum(both, 1)
    f1 = 2 * np.bincount(label, weights=hit, minlength=classes) / occurring
    pull = 2 * hit / occurring[label] - f1[label] / occurring[label] - f1[predicted] / occurring[predicted]
    return np.asarray(pull * n / np.count_nonzero(both))


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Of a ratio of two means."""
    bottom = float(denominator.mean())
    return np.asarray((numerator - float(numerator.mean()) / bottom * denominator) / bottom)


def auroc(predicted: Sorted, positive: Flags) -> Floats:
    """Of the area under the ROC curve: DeLong's placement values."""
    yes = np.bincount(predicted.place, weights=positive, minlength=predicted.places)
    no = predicted.sizes - yes
    positives, negatives = float(yes.sum()), float(no.sum())
    won = (np.cumsum(no) - 0.5 * no) / negatives
    lost_to = (positives - np.cumsum(yes) + 0.5 * yes) / positives
    value = float(np.sum(yes * won)) / positives
    n = positive.size
    up = (won[predicted.place] - value) * n / positives
    down = (lost_to[predicted.place] - value) * n / negatives
    return np.where(positive, up, down)


def delong_error(influence: Floats, positive: Flags) -> float:
    """DeLong's standard error: the placements' variances within each class."""
    n = positive.size
    variance = 0.0
    for side in (positive, ~positive):
        size = int(np.count_nonzero(side))
        if size < 2:
            return 0.0
        variance += float(np.var(influence[side] * size / n, ddof=1)) / size
    return float(np.sqrt(variance))


def average_precision(predicted: Sorted, positive: Flags) -> Floats:
    """Of average precision."""
    yes = np.bincount(predicted.place, weights=positive, minlength=predicted.places)
    no = predicted.sizes - yes
    true = yes[::-1].cumsum()[::-1]
    false = no[::-1].cumsum()[::-1]
    called = true + false
    precision = true / called
    positives = float(yes.sum())
    value = float(np.sum(yes * precision)) / positives
    gained = np.cumsum(yes * false / called**2)[predicted.place]
    lost = np.cumsum(yes * true / called**2)[predicted.place]
    pull = np.where(positive, precision[predicted.place] - value + gained, -lost)
    return np.asarray(pull * positive.size / positives)
