"""Calibration of predicted numbers: the line of labels on predictions, and how far predictions lie off on average.

Slope 1 with intercept 0 is perfect: a prediction of 4 then goes with labels of 4 on average. A slope below 1 means that
predictions differ more than labels do (overconfident), above 1 less. ``bias`` is the mean prediction less the mean label. Labels
carry noise, but they are regressed on predictions and not the other way round, so their noise widens the intervals and biases
neither slope nor bias (errors in the outcome of a regression do not attenuate it).

Raters who rate many stimuli shift the labels of all of them, which leaving out stimuli does not show: ``raters`` adds the variance
over raters beyond the noise of their single ratings (:mod:`heartfelt.stats.reliability.two_way_jackknife`).

Errors leave out one row, or one whole cluster (stimulus, system), at a time: the jackknife, which for a line is CR3, with
Student's t (``jackknife.cluster_df``, at most half the clusters). Sums only, so the cost is linear in the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from heartfelt.stats import _bounds
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.jackknife import LEAST_UNITS, cluster_df
from heartfelt.stats.reliability.two_way_jackknife import RaterVariance


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRaters:
    """The variance over raters of each part of a calibration line; None where it is not known."""

    slope: RaterVariance | None = None
    intercept: RaterVariance | None = None
    bias: RaterVariance | None = None


@dataclass(frozen=True, slots=True)
class CalibrationLine:
    """Labels as ``intercept + slope * prediction``, and the ``bias`` of predictions, each with an interval."""

    slope: Estimate
    intercept: Estimate
    bias: Estimate


_METHODS = (
    "least-squares slope of labels on predictions",
    "intercept of labels on predictions",
    "mean prediction less mean label",
)


def calibration_line(
    label: Floats,
    predicted: Floats,
    group: Ints | None = None,
    *,
    confidence: float = 0.95,
    unit: str = "stimuli",
    raters: LineRaters | None = None,
) -> CalibrationLine:
    """The line over rows, or with whole groups as units; ``unit`` is what a unit is called in the counts."""
    codes = np.arange(label.size) if group is None else np.unique(group, return_inverse=True)[1]
    count = int(codes.max()) + 1 if codes.size else 0
    counts, raters = {"items": int(label.size), unit: count}, raters or LineRaters()
    if label.size < 3 or float(np.ptp(predicted)) <= 1e-12 * max(float(np.abs(predicted).max()), 1e-300):
        reason = "fewer than 3 items" if label.size < 3 else "the predictions do not vary"
        slope, intercept = (Estimate.missing(reason, name, counts) for name in _METHODS[:2])
        bias = _bias_alone(label, predicted, codes, counts, confidence, raters.bias)
        return CalibrationLine(slope, intercept, bias)
    # About the means, or sums of squares would lose the digits of values far from 0.
    x, y = predicted - predicted.mean(), label - label.mean()
    rows = np.column_stack([np.ones(x.size), x, y, x * x, x * y])
    sums = np.zeros((count, 5))
    for column in range(5):
        sums[:, column] = np.bincount(codes, rows[:, column], minlength=count)
    total = sums.sum(axis=0)
    values = _read(np.vstack([total, total - sums]), float(predicted.mean()), float(label.mean()))
    df = _df(codes, count, group)
    return CalibrationLine(
        *(
            _bounded(name, float(column[0]), column[1:], df, counts, confidence, over_raters)
            for name, column, over_raters in zip(
                _METHODS, values.T, (raters.slope, raters.intercept, raters.bias), strict=True
            )
        )
    )


def _read(sums: Floats, x_mean: float, y_mean: float) -> Floats:
    """Slope, intercept and bias from sums about the means."""
    with np.errstate(divide="ignore", invalid="ignore"):
        n, x, y = sums[:, 0], sums[:, 1] / sums[:, 0], sums[:, 2] / sums[:, 0]
        spread = sums[:, 3] / n - x * x
        slope = np.where(spread > 1e-300, (sums[:, 4] / n - x * y) / spread, np.nan)
    return np.column_stack([slope, y + y_mean - slope * (x + x_mean), x + x_mean - y - y_mean])


def _bias_alone(
    label: Floats,
    predicted: Floats,
    codes: Ints,
    counts: dict[str, int],
    confidence: float,
    raters: RaterVariance | None,
) -> Estimate:
    if not label.size:
        return Estimate.missing("no items", _METHODS[2], counts)
    gap, n = np.bincount(codes, predicted - label), np.bincount(codes)
    remaining = np.maximum(label.size - n, 1)
    without = (gap.sum() - gap) / remaining
    value, df = float(gap.sum()) / label.size, float(gap.size - 1)
    return _bounded(_METHODS[2], value, without, df, counts, confidence, raters)


def _df(codes: Ints, count: int, group: Ints | None) -> float:
    if group is None or count < LEAST_UNITS:
        return float(max(count - 2, 1))
    return max(min(cluster_df(np.bincount(codes)), count / 2), 1.0)


def _bounded(
    name: str,
    value: float,
    without: Floats,
    df: float,
    counts: dict[str, int],
    confidence: float,
    raters: RaterVariance | None,
) -> Estimate:
    estimate = Estimate(value=value, method=name, counts=counts)
    if without.size < LEAST_UNITS:
        return estimate.without_interval(f"{without.size} units; at least {LEAST_UNITS} are needed")
    if not np.isfinite(without).all():
        return estimate.without_interval("without one of the units the predictions do not vary")
    moved = without - value
    variance, df = (without.size - 1) / without.size * float(moved @ moved), max(df, 1.0)
    how = "jackknife"
    if raters is not None:
        variance, df = raters.added_to(variance, df)
        how = "two-way jackknife, also over raters"
    return _bounds.with_t(estimate, math.sqrt(variance), df, f"{how}, Student t ({df:.3g} df)", confidence)
