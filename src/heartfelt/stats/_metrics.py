"""The statistics of a prediction against a label that resampling knows by name.

Each metric says what its columns hold, when it is undefined, how to compute 32 weighted samples at once,
and its influence values. The plain, single-sample forms with their own intervals are in ``association`` and
``classify``; the tests hold the two to each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, UnknownNameError, suggestion
from heartfelt.stats import _influence
from heartfelt.stats._bounds import Transform
from heartfelt.stats._paired import Column, binary, categories, pairs, present, same_length
from heartfelt.stats.triples import Floats, as_array, as_floats

Kind = Literal["numbers", "categories", "flags", "scores", "probabilities"]
Lanes = Callable[[Any], Floats]


@dataclass(frozen=True, slots=True)
class Rows:
    """Cleaned columns of a metric: numbers as floats, categories as codes, two-class labels as 0 and 1."""

    x: npt.NDArray[Any]
    y: npt.NDArray[Any]
    kept: npt.NDArray[np.bool_]
    classes: int = 0

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return int(self.x.size)


@dataclass(frozen=True, slots=True)
class Metric:
    """One statistic; ``undefined`` gives the reason it has no value on these rows, or None."""

    name: str
    kind: Kind
    lanes: Callable[[Rows], Lanes]
    influence: Callable[[Rows], Floats]
    undefined: Callable[[Rows], str | None]
    transform: Transform = "identity"


def rows(metric: Metric, x: Column, y: Column) -> Rows:
    """Clean the columns the way the metric wants them."""
    if metric.kind == "numbers":
        both = pairs(x, y)
        return Rows(both.x, both.y, both.kept)
    if metric.kind == "categories":
        coded = categories(x, y)
        return Rows(coded.label, coded.predicted, coded.kept, len(coded.names))
    first = as_array(x)
    if metric.kind == "flags":
        second = as_array(y)
        same_length({"label": first, "predicted": second})
        kept = present(first) & present(second)
        said = binary(second[kept]).astype(np.int64)
        return Rows(binary(first[kept]).astype(np.int64), said, kept, 2)
    score = as_floats(y, "predicted")
    same_length({"label": first, "predicted": score})
    kept = present(first) & np.isfinite(score)
    score = score[kept]
    if metric.kind == "probabilities" and score.size and not (score.min() >= 0 and score.max() <= 1):
        raise InputError(
            "Probabilities must lie between 0 and 1.", "Pass calibrated probabilities, not raw scores."
        )
    return Rows(binary(first[kept]), score, kept)


def _too_few(least: int) -> Callable[[Rows], str | None]:
    def check(data: Rows) -> str | None:
        return f"{data.n} pairs; at least {least} are needed" if data.n < least else None

    return check


def no_variation(data: Rows) -> str | None:
    """Why a correlation of these rows does not exist."""
    few = _too_few(3)(data)
    if few:
        return few
    for name, column in (("first", data.x), ("second", data.y)):
        if is_constant(column):
            return f"the {name} column does not vary"
    return None


def is_constant(column: Floats) -> bool:
    """Whether a column is one value, up to rounding."""
    span = float(column.max() - column.min())
    return span <= 1e-13 * float(np.abs(column).max())


def _both_constant(data: Rows) -> str | None:
    few = _too_few(2)(data)
    if few:
        return few
    if is_constant(data.x) and is_constant(data.y):
        return "neither column varies"
    return None


def _one_class(data: Rows) -> str | None:
    positives = int(np.count_nonzero(data.x))
    if positives == 0:
        return "no label is positive"
    return "no label is negative" if positives == data.n else None


def _no_positive(side: Literal["label", "predicted", "either"]) -> Callable[[Rows], str | None]:
    def check(data: Rows) -> str | None:
        column = {"label": data.x, "predicted": data.y, "either": data.x | data.y}[side]
        if np.any(column):
            return None
        return "nothing is positive" if side == "either" else f"no {side} is positive"

    return check


def _scaled(column: Floats) -> Floats:
    centred = column - column.mean()
    return np.asarray(centred / np.abs(centred).max())


def _moment_lanes(finish: Callable[[Floats], Floats], scale_apart: bool) -> Callable[[Rows], Lanes]:
    def prepare(data: Rows) -> Lanes:
        from heartfelt.stats._kernels_resample import moments

        if scale_apart:
            x, y = _scaled(data.x), _scaled(data.y)
        else:
            middle = 0.5 * float(data.x.mean() + data.y.mean())
            largest = max(float(np.abs(data.x - middle).max()), float(np.abs(data.y - middle).max()))
            x, y = (data.x - middle) / largest, (data.y - middle) / largest
        return lambda counts: finish(moments(counts, x, y))

    return prepare


def _finish_pearson(sums: Floats) -> Floats:
    weight, x, y, xx, yy, xy = sums
    weight = np.maximum(weight, 1)
    spread_x, spread_y = xx - x * x / weight, yy - y * y / weight
    usable = (spread_x > 1e-12 * xx) & (spread_y > 1e-12 * yy)
    below = np.sqrt(np.where(usable, spread_x * spread_y, 1.0))
    return np.where(usable, np.clip((xy - x * y / weight) / below, -1, 1), np.nan)


def _finish_ccc(sums: Floats) -> Floats:
    weight, x, y, xx, yy, xy = sums
    weight = np.maximum(weight, 1)
    apart = xx + yy - 2 * x * y / weight
    usable = apart > 1e-12 * (xx + yy)
    return np.where(usable, 2 * (xy - x * y / weight) / np.where(usable, apart, 1.0), np.nan)


def _rank_lanes(name: Literal["spearman", "kendall"]) -> Callable[[Rows], Lanes]:
    def prepare(data: Rows) -> Lanes:
        from heartfelt.stats import _kernels_resample as kernels

        kernel = kernels.spearman if name == "spearman" else kernels.kendall
        x, y = _influence.sort_rows(data.x), _influence.sort_rows(data.y)
        return lambda counts: kernel(counts, x.order, x.starts, y.place, y.places)

    return prepare


def _loss_lanes(loss: Callable[[Rows], Floats], root: bool = False) -> Callable[[Rows], Lanes]:
    def prepare(data: Rows) -> Lanes:
        from heartfelt.stats._kernels_resample import mean

        values = loss(data)
        return lambda counts: np.sqrt(mean(counts, values)) if root else mean(counts, values)

    return prepare


def _class_lanes(finish: Callable[[Floats], Floats]) -> Callable[[Rows], Lanes]:
    def prepare(data: Rows) -> Lanes:
        from heartfelt.stats._kernels_resample import class_totals

        return lambda counts: finish(class_totals(counts, data.x, data.y, data.classes))

    return prepare


def _share(top: Floats, bottom: Floats) -> Floats:
    return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), np.nan)


def _mean_of_classes(values: Floats, counted: npt.NDArray[np.bool_]) -> Floats:
    return _share(np.where(counted, values, 0.0).sum(axis=0), counted.sum(axis=0).astype(np.float64))


def _finish_balanced(totals: Floats) -> Floats:
    return _mean_of_classes(_share(totals[2], totals[0]), totals[0] > 0)


def _finish_macro_f1(totals: Floats) -> Floats:
    both = totals[0] + totals[1]
    return _mean_of_classes(_share(2 * totals[2], both), both > 0)


def _score_lanes(name: Literal["auroc", "average_precision"]) -> Callable[[Rows], Lanes]:
    def prepare(data: Rows) -> Lanes:
        from heartfelt.stats import _kernels_resample as kernels

        kernel = kernels.auroc if name == "auroc" else kernels.average_precision
        by = _influence.sort_rows(data.y)
        return lambda counts: kernel(counts, by.order, by.starts, data.x)

    return prepare


def _squared(data: Rows) -> Floats:
    return np.asarray((data.y - data.x.astype(np.float64)) ** 2)


def _absolute(data: Rows) -> Floats:
    return np.asarray(np.abs(data.y - data.x))


def _hit(data: Rows) -> Floats:
    return np.asarray(data.x == data.y, dtype=np.float64)


def _centred(values: Floats) -> Floats:
    return np.asarray(values - values.mean())


def _rmse_influence(data: Rows) -> Floats:
    squared = _squared(data)
    root = float(np.sqrt(squared.mean()))
    return _centred(squared) / (2 * root) if root > 0 else np.zeros_like(squared)


def _ratio_influence(bottom: Callable[[Rows], Floats], weight: float = 1.0) -> Callable[[Rows], Floats]:
    return lambda data: _influence.ratio(weight * (data.x & data.y).astype(np.float64), bottom(data))


def _ranked(influence: Callable[..., Floats]) -> Callable[[Rows], Floats]:
    return lambda data: influence(_influence.sort_rows(data.x), _influence.sort_rows(data.y))


def _of_classes(influence: Callable[..., Floats]) -> Callable[[Rows], Floats]:
    return lambda data: influence(data.x, data.y, data.classes)


def _of_scores(influence: Callable[..., Floats]) -> Callable[[Rows], Floats]:
    return lambda data: influence(_influence.sort_rows(data.y), data.x)


_CCC = (_moment_lanes(_finish_ccc, False), lambda data: _influence.ccc(data.x, data.y), _both_constant)
_PEARSON = (
    _moment_lanes(_finish_pearson, True),
    lambda data: _influence.pearson(data.x, data.y),
    no_variation,
)
_SPEARMAN = (_rank_lanes("spearman"), _ranked(_influence.spearman), no_variation)
_KENDALL = (_rank_lanes("kendall"), _ranked(_influence.kendall), no_variation)
_MSE = (_loss_lanes(_squared), lambda data: _centred(_squared(data)), _too_few(2))
_RMSE = (_loss_lanes(_squared, root=True), _rmse_influence, _too_few(2))
_MAE = (_loss_lanes(_absolute), lambda data: _centred(_absolute(data)), _too_few(2))
_ACCURACY = (_loss_lanes(_hit), lambda data: _centred(_hit(data)), _too_few(1))
_BALANCED = (_class_lanes(_finish_balanced), _of_classes(_influence.balanced_accuracy), _too_few(1))
_MACRO_F1 = (_class_lanes(_finish_macro_f1), _of_classes(_influence.macro_f1), _too_few(1))
_PRECISION = (
    _class_lanes(lambda totals: _share(totals[2, 1], totals[1, 1])),
    _ratio_influence(lambda data: data.y.astype(np.float64)),
    _no_positive("predicted"),
)
_RECALL = (
    _class_lanes(lambda totals: _share(totals[2, 1], totals[0, 1])),
    _ratio_influence(lambda data: data.x.astype(np.float64)),
    _no_positive("label"),
)
_F1 = (
    _class_lanes(lambda totals: _share(2 * totals[2, 1], totals[0, 1] + totals[1, 1])),
    _ratio_influence(lambda data: (data.x + data.y).astype(np.float64), 2.0),
    _no_positive("either"),
)
_AUROC = (_score_lanes("auroc"), _of_scores(_influence.auroc), _one_class)
_PRECISION_AREA = (_score_lanes("average_precision"), _of_scores(_influence.average_precision), _one_class)

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("pearson", "numbers", *_PEARSON, "fisher"),
        Metric("spearman", "numbers", *_SPEARMAN, "fisher"),
        Metric("kendall", "numbers", *_KENDALL, "fisher"),
        Metric("ccc", "numbers", *_CCC, "fisher"),
        Metric("quadratic_kappa", "numbers", *_CCC, "fisher"),
        Metric("mse", "numbers", *_MSE, "log"),
        Metric("rmse", "numbers", *_RMSE, "log"),
        Metric("mae", "numbers", *_MAE, "log"),
        Metric("accuracy", "categories", *_ACCURACY, "logit"),
        Metric("balanced_accuracy", "categories", *_BALANCED, "logit"),
        Metric("macro_f1", "categories", *_MACRO_F1, "logit"),
        Metric("precision", "flags", *_PRECISION, "logit"),
        Metric("recall", "flags", *_RECALL, "logit"),
        Metric("f1", "flags", *_F1, "logit"),
        Metric("auroc", "scores", *_AUROC, "logit"),
        Metric("average_precision", "scores", *_PRECISION_AREA, "logit"),
        Metric("brier", "probabilities", *_MSE, "log"),
    )
}


def metric_called(name: str) -> Metric:
    """Look a metric up by name."""
    if name not in METRICS:
        raise UnknownNameError(
            f"There is no metric called '{name}'.", suggestion(name, METRICS, "Known metrics")
        )
    return METRICS[name]
