"""The metrics of a prediction against a label: one definition each, for values, intervals and resamples.

A ``Metric`` says what its columns hold, when it is undefined, how it is computed for many weighted samples at once
(``kernel``; the plain value gives every row weight 1), and its influence values: how far each row pulls the statistic, mean
zero. Influence gives the delta method's standard error, the acceleration of BCa, and, summed within clusters, both under
clustering. It is the derivative of the weighted statistic with respect to a row's weight (Hampel 1974, Efron 1982); the tests
compare it with numerical derivatives.

Conventions: ``x`` is the label, ``y`` the prediction; pairs that lack either are left out and counted. Correlations lie in
[-1, 1]; shares in [0, 1]; errors are in the unit of the columns (``mse`` in its square). Recall is averaged over the classes
that occur among the labels, F1 over those that occur on either side; a class that is never predicted correctly counts 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, UnknownNameError, suggestion
from heartfelt.stats._bounds import Transform
from heartfelt.stats.columns.paired import (
    Column,
    PairedValues,
    Sorted,
    binary,
    categories,
    is_constant,
    pairs,
    present,
    same_length,
)
from heartfelt.stats.columns.triples import Floats, as_array, as_floats

Kind = Literal["numbers", "categories", "flags", "scores", "probabilities"]
Counts = npt.NDArray[np.floating[Any]]
Kernel = Callable[[Counts | None], Floats]
"""From ``counts[row, lane]`` to the metric of each lane; None counts every row once, in a single lane."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One statistic; ``undefined`` gives the reason it has no value on these rows, or None."""

    name: str
    title: str
    kind: Kind
    transform: Transform
    kernel: Callable[[PairedValues], Kernel]
    influence: Callable[[PairedValues], Floats]
    undefined: Callable[[PairedValues], str | None]

    def value(self, data: PairedValues, weights: Floats | None = None) -> float:
        """The metric of rows on which it is defined."""
        counts = None if weights is None else np.ascontiguousarray(weights[:, None])
        return float(self.kernel(data)(counts)[0])


def rows(metric: Metric, x: Column, y: Column) -> PairedValues:
    """Clean the columns for the kind of metric."""
    if metric.kind == "numbers":
        return pairs(x, y)
    if metric.kind == "categories":
        return categories(x, y)
    first = as_array(x)
    if metric.kind == "flags":
        second = as_array(y)
        same_length({"label": first, "predicted": second})
        used = present(first) & present(second)
        label, predicted = (binary(column[used]).astype(np.int64) for column in (first, second))
        return PairedValues(label, predicted, used, (0, 1))
    score = as_floats(y, "predicted")
    same_length({"label": first, "predicted": score})
    used = present(first) & np.isfinite(score)
    score = score[used]
    if metric.kind == "probabilities" and score.size and not (score.min() >= 0 and score.max() <= 1):
        raise InputError("Probabilities must lie between 0 and 1.", "Pass calibrated probabilities, not raw scores.")
    return PairedValues(binary(first[used]), score, used)


def metric_called(name: str) -> Metric:
    """Look up a metric by name."""
    if name not in METRICS:
        raise UnknownNameError(f"No metric is called '{name}'.", suggestion(name, METRICS, "Known metrics"))
    return METRICS[name]


# When a metric is undefined


def _at_least(least: int) -> Callable[[PairedValues], str | None]:
    def check(data: PairedValues) -> str | None:
        if data.n >= least:
            return None
        return "no pairs" if least == 1 else f"{data.n} pairs; at least {least} are needed"

    return check


def constant_sides(data: PairedValues) -> list[str]:
    """Which columns do not vary."""
    return [name for name, column in (("first", data.x), ("second", data.y)) if is_constant(column)]


def _no_variation(data: PairedValues) -> str | None:
    """Why a correlation of these rows does not exist."""
    few = _at_least(3)(data)
    constant = [] if few else constant_sides(data)
    return f"the {constant[0]} column does not vary" if constant else few


def _both_constant(data: PairedValues) -> str | None:
    few = _at_least(2)(data)
    return few or ("neither column varies" if len(constant_sides(data)) == 2 else None)


def _one_class(data: PairedValues) -> str | None:
    if not data.n:
        return "no pairs"
    positives = int(np.count_nonzero(data.x))
    if positives == 0:
        return "no label is positive"
    return "no label is negative" if positives == data.n else None


def _none_positive(
    side: Callable[[PairedValues], npt.NDArray[Any]], reason: str
) -> Callable[[PairedValues], str | None]:
    return lambda data: None if np.any(side(data)) else reason


# Moments: Pearson's correlation, and Lin's concordance (quadratic kappa is the same)


def _moments(counts: Counts | None, x: Floats, y: Floats) -> Floats:
    """Per lane: total weight, then weighted sums of x, y, x², y² and xy."""
    if counts is None:
        return np.array([[x.size], [x.sum()], [y.sum()], [x @ x], [y @ y], [x @ y]], dtype=np.float64)
    from heartfelt.stats.compiled._kernels_resample import moments

    return moments(counts, x, y)


def _pearson_kernel(data: PairedValues) -> Kernel:
    x, y = (_scaled(column - column.mean()) for column in (data.x, data.y))

    def correlation(counts: Counts | None) -> Floats:
        weight, sx, sy, xx, yy, xy = _moments(counts, x, y)
        weight = np.maximum(weight, 1)
        spread_x, spread_y = xx - sx * sx / weight, yy - sy * sy / weight
        usable = (spread_x > 1e-12 * xx) & (spread_y > 1e-12 * yy)
        below = np.sqrt(np.where(usable, spread_x * spread_y, 1.0))
        return np.where(usable, np.clip((xy - sx * sy / weight) / below, -1, 1), np.nan)

    return correlation


def _scaled(column: Floats) -> Floats:
    return np.asarray(column / np.abs(column).max())


def _pearson_influence(data: PairedValues) -> Floats:
    a, b = (column - column.mean() for column in (data.x, data.y))
    a, b = a / np.sqrt(np.mean(a * a)), b / np.sqrt(np.mean(b * b))
    r = float(np.mean(a * b))
    return np.asarray(a * b - 0.5 * r * (a * a + b * b))


def _ccc_kernel(data: PairedValues) -> Kernel:
    middle = 0.5 * float(data.x.mean() + data.y.mean())
    largest = max(float(np.abs(column - middle).max()) for column in (data.x, data.y))
    x, y = (data.x - middle) / largest, (data.y - middle) / largest

    def concordance(counts: Counts | None) -> Floats:
        weight, sx, sy, xx, yy, xy = _moments(counts, x, y)
        weight = np.maximum(weight, 1)
        denominator = xx + yy - 2 * sx * sy / weight
        usable = denominator > 1e-12 * (xx + yy)
        return np.where(usable, 2 * (xy - sx * sy / weight) / np.where(usable, denominator, 1.0), np.nan)

    return concordance


def _ccc_influence(data: PairedValues) -> Floats:
    a, b, shift = data.x - data.x.mean(), data.y - data.y.mean(), float(data.x.mean() - data.y.mean())
    xx, yy, xy = float(np.mean(a * a)), float(np.mean(b * b)), float(np.mean(a * b))
    scale = xx + yy + shift * shift
    value = 2 * xy / scale
    return np.asarray((2 * (a * b - xy) - value * (a * a - xx + b * b - yy + 2 * shift * (a - b))) / scale)


# Ranks: Spearman's rho and Kendall's tau-b


def _sorted_kernel(name: str, columns: Callable[[PairedValues], tuple[Any, ...]]) -> Callable[[PairedValues], Kernel]:
    """The compiled kernel of that name, on columns that are sorted once."""

    def prepare(data: PairedValues) -> Kernel:
        from heartfelt.stats.compiled import _kernels_resample as kernels

        kernel, sorted_columns = getattr(kernels, name), columns(data)
        return lambda counts: kernel(np.ones((data.n, 1)) if counts is None else counts, *sorted_columns)

    return prepare


def _ranks(data: PairedValues) -> tuple[Any, ...]:
    return data.by_x.order, data.by_x.starts, data.by_y.rank, data.by_y.distinct


def _spearman_influence(data: PairedValues) -> Floats:
    """With mid-ranks, including the ranks' own dependence on the sample."""
    x, y = data.by_x, data.by_y
    u, v = ((np.cumsum(by.sizes) - 0.5 * by.sizes)[by.rank] / data.n - 0.5 for by in (x, y))
    xx, yy, xy = float(np.mean(u * u)), float(np.mean(v * v)), float(np.mean(u * v))
    value = xy / np.sqrt(xx * yy)
    cross = u * v + _mean_above(x, v) + _mean_above(y, u) - 3 * xy
    spread_x = u * u + 2 * _mean_above(x, u) - 3 * xx
    spread_y = v * v + 2 * _mean_above(y, v) - 3 * yy
    return np.asarray(cross / np.sqrt(xx * yy) - 0.5 * value * (spread_x / xx + spread_y / yy))


def _mean_above(column: Sorted, values: Floats) -> Floats:
    """Per row: mean of ``values`` over rows above it in ``column``, ties counting half."""
    per_place = np.bincount(column.rank, weights=values, minlength=column.distinct)
    above = per_place.sum() - np.cumsum(per_place)
    return np.asarray((above + 0.5 * per_place)[column.rank] / values.size)


def _kendall_influence(data: PairedValues) -> Floats:
    from heartfelt.stats.compiled._kernels_resample import kendall_scores

    x, y = data.by_x, data.by_y
    scores = kendall_scores(x.order, x.starts, y.rank, y.distinct) / data.n
    free_x, free_y = 1 - x.sizes[x.rank] / data.n, 1 - y.sizes[y.rank] / data.n
    net, mean_x, mean_y = float(scores.mean()), float(free_x.mean()), float(free_y.mean())
    root = np.sqrt(mean_x * mean_y)
    lean = (free_x - mean_x) / mean_x + (free_y - mean_y) / mean_y
    return np.asarray(2 * (scores - net) / root - net / root * lean)


# Means of a loss per row


def _loss_kernel(loss: Callable[[PairedValues], Floats], root: bool = False) -> Callable[[PairedValues], Kernel]:
    def prepare(data: PairedValues) -> Kernel:
        values = loss(data)
        return lambda counts: np.sqrt(_mean(counts, values)) if root else _mean(counts, values)

    return prepare


def _mean(counts: Counts | None, values: Floats) -> Floats:
    if counts is None:
        return np.asarray(values.mean(keepdims=True))
    from heartfelt.stats.compiled._kernels_resample import mean

    return mean(counts, values)


def _loss_influence(loss: Callable[[PairedValues], Floats]) -> Callable[[PairedValues], Floats]:
    return lambda data: loss(data) - loss(data).mean()


def squared_error(data: PairedValues) -> Floats:
    return np.asarray((data.y - data.x.astype(np.float64)) ** 2)


def _absolute(data: PairedValues) -> Floats:
    return np.asarray(np.abs(data.y - data.x))


def _hit(data: PairedValues) -> Floats:
    return np.asarray(data.x == data.y, dtype=np.float64)


def _rmse_influence(data: PairedValues) -> Floats:
    squared = squared_error(data)
    root = float(np.sqrt(squared.mean()))
    return (squared - squared.mean()) / (2 * root) if root > 0 else np.zeros_like(squared)


# Counts per class: totals[0] labels, totals[1] predictions, totals[2] both; by class and lane


def _class_kernel(finish: Callable[[Floats], Floats]) -> Callable[[PairedValues], Kernel]:
    def prepare(data: PairedValues) -> Kernel:
        return lambda counts: finish(_class_totals(counts, data))

    return prepare


def _class_totals(counts: Counts | None, data: PairedValues) -> Floats:
    if counts is None:
        hits = data.x[data.x == data.y]
        sides = [np.bincount(side, minlength=len(data.names)) for side in (data.x, data.y, hits)]
        return np.array(sides, dtype=np.float64)[:, :, None]
    from heartfelt.stats.compiled._kernels_resample import class_totals

    return class_totals(counts, data.x, data.y, len(data.names))


def _share(top: Floats, bottom: Floats) -> Floats:
    return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), np.nan)


def _mean_share(top: Floats, bottom: Floats) -> Floats:
    """The mean over the classes that occur of each class's share."""
    occurs = bottom > 0
    return _share(np.where(occurs, _share(top, bottom), 0.0).sum(axis=0), occurs.sum(axis=0).astype(np.float64))


def _balanced_influence(data: PairedValues) -> Floats:
    totals = np.bincount(data.x, minlength=len(data.names))
    hit = _hit(data)
    recall = np.bincount(data.x, weights=hit, minlength=len(data.names)) / np.maximum(totals, 1)
    return np.asarray((hit - recall[data.x]) * data.n / (totals[data.x] * np.count_nonzero(totals)))


def _macro_f1_influence(data: PairedValues) -> Floats:
    hit = _hit(data)
    both = np.bincount(data.x, minlength=len(data.names)) + np.bincount(data.y, minlength=len(data.names))
    occurring = np.maximum(both, 1)
    f1 = 2 * np.bincount(data.x, weights=hit, minlength=len(data.names)) / occurring
    pull = 2 * hit / occurring[data.x] - f1[data.x] / occurring[data.x] - f1[data.y] / occurring[data.y]
    return np.asarray(pull * data.n / np.count_nonzero(both))


def _ratio_influence(
    bottom: Callable[[PairedValues], npt.NDArray[Any]], factor: float
) -> Callable[[PairedValues], Floats]:
    def influence(data: PairedValues) -> Floats:
        hits, below = factor * (data.x & data.y).astype(np.float64), bottom(data).astype(np.float64)
        mean = float(below.mean())
        return np.asarray((hits - float(hits.mean()) / mean * below) / mean)

    return influence


# Scores against two classes: the area under the ROC curve and average precision


def _scores(data: PairedValues) -> tuple[Any, ...]:
    return data.by_y.order, data.by_y.starts, data.x


def _auroc_influence(data: PairedValues) -> Floats:
    """DeLong's placement values."""
    by = data.by_y
    yes = np.bincount(by.rank, weights=data.x, minlength=by.distinct)
    no = by.sizes - yes
    positives, negatives = float(yes.sum()), float(no.sum())
    won = (np.cumsum(no) - 0.5 * no) / negatives
    lost_to = (positives - np.cumsum(yes) + 0.5 * yes) / positives
    value = float(np.sum(yes * won)) / positives
    up = (won[by.rank] - value) * data.n / positives
    down = (lost_to[by.rank] - value) * data.n / negatives
    return np.where(data.x, up, down)


def _average_precision_influence(data: PairedValues) -> Floats:
    by = data.by_y
    yes = np.bincount(by.rank, weights=data.x, minlength=by.distinct)
    no = by.sizes - yes
    true, false = (side[::-1].cumsum()[::-1] for side in (yes, no))
    called = true + false
    precision = true / called
    positives = float(yes.sum())
    value = float(np.sum(yes * precision)) / positives
    gained = np.cumsum(yes * false / called**2)[by.rank]
    lost = np.cumsum(yes * true / called**2)[by.rank]
    pull = np.where(data.x, precision[by.rank] - value + gained, -lost)
    return np.asarray(pull * data.n / positives)


_Definition = tuple[
    str, str, Callable[[PairedValues], Kernel], Callable[[PairedValues], Floats], Callable[[PairedValues], str | None]
]
"""Name, title, kernel, influence, and why it is undefined."""
_few = _at_least(2)
_DEFINITIONS: dict[tuple[Kind, Transform], tuple[_Definition, ...]] = {
    ("numbers", "fisher"): (
        ("pearson", "Pearson r", _pearson_kernel, _pearson_influence, _no_variation),
        ("spearman", "Spearman rho", _sorted_kernel("spearman", _ranks), _spearman_influence, _no_variation),
        ("kendall", "Kendall tau-b", _sorted_kernel("kendall", _ranks), _kendall_influence, _no_variation),
        ("ccc", "Lin's concordance correlation", _ccc_kernel, _ccc_influence, _both_constant),
        ("quadratic_kappa", "quadratic-weighted kappa", _ccc_kernel, _ccc_influence, _both_constant),
    ),
    ("numbers", "log"): (
        ("mse", "mean squared error", _loss_kernel(squared_error), _loss_influence(squared_error), _few),
        ("rmse", "root mean squared error", _loss_kernel(squared_error, root=True), _rmse_influence, _few),
        ("mae", "mean absolute error", _loss_kernel(_absolute), _loss_influence(_absolute), _few),
    ),
    ("categories", "logit"): (
        ("accuracy", "accuracy", _loss_kernel(_hit), _loss_influence(_hit), _at_least(1)),
        (
            "balanced_accuracy",
            "balanced accuracy",
            _class_kernel(lambda totals: _mean_share(totals[2], totals[0])),
            _balanced_influence,
            _at_least(1),
        ),
        (
            "macro_f1",
            "macro F1",
            _class_kernel(lambda totals: _mean_share(2 * totals[2], totals[0] + totals[1])),
            _macro_f1_influence,
            _at_least(1),
        ),
    ),
    ("flags", "logit"): (
        (
            "precision",
            "precision",
            _class_kernel(lambda totals: _share(totals[2, 1], totals[1, 1])),
            _ratio_influence(lambda data: data.y, 1.0),
            _none_positive(lambda data: data.y, "nothing was predicted positive"),
        ),
        (
            "recall",
            "recall",
            _class_kernel(lambda totals: _share(totals[2, 1], totals[0, 1])),
            _ratio_influence(lambda data: data.x, 1.0),
            _none_positive(lambda data: data.x, "no label is positive"),
        ),
        (
            "f1",
            "F1",
            _class_kernel(lambda totals: _share(2 * totals[2, 1], totals[0, 1] + totals[1, 1])),
            _ratio_influence(lambda data: data.x + data.y, 2.0),
            _none_positive(lambda data: data.x | data.y, "nothing is positive"),
        ),
    ),
    ("scores", "logit"): (
        ("auroc", "area under the ROC curve", _sorted_kernel("auroc", _scores), _auroc_influence, _one_class),
        (
            "average_precision",
            "average precision",
            _sorted_kernel("average_precision", _scores),
            _average_precision_influence,
            _one_class,
        ),
    ),
    ("probabilities", "log"): (
        ("brier", "Brier score", _loss_kernel(squared_error), _loss_influence(squared_error), _few),
    ),
}
METRICS: dict[str, Metric] = {
    name: Metric(
        name=name, title=title, kind=kind, transform=transform, kernel=kernel, influence=influence, undefined=undefined
    )
    for (kind, transform), definitions in _DEFINITIONS.items()
    for name, title, kernel, influence, undefined in definitions
}
