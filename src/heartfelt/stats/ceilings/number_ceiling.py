"""The ceiling of mean labels: how well a predictor that knew every item's true value would score against them.

A label is the mean of n_i ratings, each off its item by its rater's level (variance r) and a residual
(variance e). What all labels share does not count, since a constant changes no correlation and can be learnt:
if a_i holds 1/n_i for the raters of item i, levels add r times the spread of the a_i about their mean,
mean(1/n_i) less the squared length of the mean a. With the same raters everywhere that is zero, with raters
of its own for every item it is mean(1/n_i). Within cells the spread is about the cell's own mean. Raters'
gains (how strongly they respond to differences between items) are treated the same way: with the same raters
everywhere they stretch all labels alike and are no noise, although the crossed model counts them as residual.

With v the items' variance and that noise, the expected correlation is at most sqrt(v / (v + noise)), the root mean
square error at least sqrt(noise) and, for normal noise, the mean absolute error at least sqrt(2 / pi) times the mean
standard error. Intervals are for the labels of these items by these raters: only the noise of the ratings is random.

*From published means*: with every item's mean, spread s_i and count, single ratings are not needed; a mean is off by a
variance of s_i^2 / n_i. What raters' levels add to all labels alike cannot be seen in means and is counted as noise, so
this ceiling errs on the low side. Intervals leave out one item at a time and take items as a sample.

Where no two ratings of an item differ the ceiling is 1 and the error 0. The bound is then one-sided, by the
rule of three: if of m ratings that could have differed from the first of their item none did, at most 1 -
alpha^(1/m) (about 3/m) of ratings do, each by no more than the range of the ratings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from heartfelt.stats._bounds import satterthwaite
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.ratings import Ratings
from heartfelt.stats.reliability.crossed import EXACT, CrossedFit, Quantity, fit_crossed
from heartfelt.stats.reliability.rater_differences import gain_variance, gain_variance_with_doubt
from heartfelt.stats.reliability.two_way_jackknife import TOO_FEW, half_width, jackknife_variance

NumberMetric: TypeAlias = Literal["correlation", "rmse", "mae"]
EQUAL = 1e-10
_MAX_LOG_HALF_WIDTH = 600.0
"""Beyond this an interval on the log scale spans more than numbers can."""
FOR_THESE = "chi-square of the noise, log scale, for these items and raters"


def level_noise(d: Ratings, cells: Ints | None) -> float:
    """What a unit of variance between raters' levels adds to the variance of labels about their (cell) mean."""
    cell = np.zeros(len(d.items), np.int64) if cells is None else cells
    size = np.bincount(cell).astype(np.float64)
    part = 1.0 / d.per_item[d.item] / size[cell[d.item]]
    key, level = np.unique(cell[d.item] * len(d.raters) + d.rater, return_inverse=True)
    mean = np.bincount(level, part)
    shared = float((size[key // len(d.raters)] * mean**2).sum()) / len(d.items)
    return max(float(np.mean(1.0 / d.per_item)) - shared, 0.0)


def number_ceiling(d: Ratings, cells: Ints | None, metric: NumberMetric, confidence: float, seed: int) -> Estimate:
    """Best expected correlation or error against mean labels, overall or (``cells``, one per item) within cells."""
    method = f"crossed variance components, REML, {'within cells, ' if cells is not None else ''}{metric}"
    agreed = perfect_agreement(d, confidence)
    if agreed is None:
        fit = fit_crossed(d, None if cells is None else cells[d.item], seed=seed)
        if fit == EXACT and d.complete:
            agreed = _agreed(d.value, d.size - len(d.items) - len(d.raters) + 1, confidence)
    if agreed is not None:
        return _of_agreed(agreed, d, cells, metric, method)
    if isinstance(fit, str):
        return Estimate.missing(fit, method, d.counts)
    noise = float(np.mean(1.0 / d.per_item))
    levels = noise if fit.merged == 1 else level_noise(d, cells)
    quantity = _quantity(d, metric, levels, noise)
    reason = fit.missing_reason(quantity)
    if reason is not None:
        return Estimate.missing(reason, method, d.counts)
    variances = fit.variances
    variances[2] -= min((1.0 - levels / noise) * gain_variance(d), 0.9 * variances[2])
    value = quantity.value(variances)
    point_estimate = Estimate(value=float(np.sqrt(value)), method=method, confidence=confidence, counts=d.counts)
    blocks = 1 if cells is None else int(cells.max(initial=0)) + 1
    if min(len(d.items) - blocks + 1, len(d.raters)) < 3:
        return point_estimate.without_interval(TOO_FEW)
    # A bound beyond e^300 is no bound; larger powers would overflow.
    half = min(_log_reach(d, blocks, fit, levels / noise, value, metric, confidence), 300.0)
    ends = value * np.exp([-half, half])
    if metric == "correlation":
        ends = np.maximum(1.0 - (1.0 - value) * np.exp([half, -half]), 0.0)
    low, high = np.sqrt(ends).tolist()
    bounded = point_estimate.with_interval(low, high, FOR_THESE, confidence)
    return bounded.informative(0.0) if metric == "correlation" else bounded


def _quantity(d: Ratings, metric: NumberMetric, levels: float, noise: float) -> Quantity:
    """The square of the metric, from what levels and residuals add to the noise of labels."""
    if metric == "correlation":
        return Quantity((1.0, 0.0, 0.0), (0.0, levels, noise))
    scale = 1.0 if metric == "rmse" else 2.0 / np.pi * float(np.mean(d.per_item**-0.5)) ** 2 / noise
    return Quantity((0.0, scale * levels, scale * noise))


def _log_reach(
    d: Ratings, blocks: int, fit: CrossedFit, level_share: float, value: float, metric: NumberMetric, confidence: float
) -> float:
    """How far the log of the noise, or of the labels' variance over it, may be off for these items and raters.

    The noise is known as well as a chi-square of the residuals, by their own kurtosis where that is more than the normal's. Of
    the labels' variance only the noise in it is random. The gains taken off the residual may err on the low side.
    """
    free = max(d.size - len(d.items) - (0 if fit.merged == 1 else len(d.raters) - 1), 1)
    residuals = d.value - d.item_means[d.item]
    residuals = residuals - (np.bincount(d.rater, residuals) / d.per_rater)[d.rater] if d.complete else residuals
    squares = residuals * residuals
    kurtosis = float(squares.var() / squares.mean() ** 2)
    residual = max(float(fit.variances[2]), 1e-300)
    shared = 1.0 - level_share
    gains, error, unseen = gain_variance_with_doubt(d)
    other_noise = residual - min(shared * gains, 0.9 * residual)
    in_levels = level_share * float(fit.variances[1])
    in_levels = in_levels / (in_levels + other_noise)
    items = max(len(d.items) - blocks, 1)
    of_noise = max(kurtosis, 2.0) / free + shared**2 * error / other_noise**2 + 2.0 * in_levels**2 / items
    of_labels = 2.0 * (1.0 - value**2) / items if metric == "correlation" else 0.0
    variance = of_noise + of_labels
    df = satterthwaite((of_noise, free), (of_labels, items))
    return math.hypot(half_width(variance, df, confidence), min(shared * unseen / other_noise, 1.0))


@dataclass(frozen=True, slots=True)
class Agreed:
    """Ratings without a difference where there could have been ``chances`` of one.

    ``error`` bounds the variance of one rating about its item.
    """

    chances: int
    error: float
    confidence: float

    @property
    def interval(self) -> str:
        """What the one-sided bound is."""
        return (
            f"one-sided, rule of three over {self.chances} ratings that could have differed by the range of the ratings"
        )

    def ceiling(self, variance: float, shares: float, metric: NumberMetric, point_estimate: Estimate) -> Estimate:
        """``plain`` with its bound, for labels of this variance; ``shares`` is the mean of 1 / n."""
        noise = self.error * shares
        if metric == "correlation":
            low, high = float(np.sqrt(variance / (variance + noise))), 1.0
        else:
            low, high = 0.0, float(np.sqrt(noise if metric == "rmse" else 2.0 / np.pi * noise))
        return point_estimate.with_interval(low, high, self.interval, self.confidence)


def _agreed(values: Floats, chances: int, confidence: float) -> Agreed:
    share = 1.0 - (1.0 - confidence) ** (1.0 / max(chances, 1))
    return Agreed(chances, share * float(np.ptp(values)) ** 2, confidence)


def perfect_agreement(d: Ratings, confidence: float) -> Agreed | None:
    """What can be said where no two ratings of an item differ; None where some do, or no item has two."""
    chances = d.size - len(d.items)
    if chances < 1 or len(d.raters) < 2:
        return None
    size = max(float(np.abs(d.value).max()), 1e-300)
    if float(np.abs(d.value - d.item_means[d.item]).max()) > EQUAL * size:
        return None
    return _agreed(d.value, chances, confidence)


def _of_agreed(agreed: Agreed, d: Ratings, cells: Ints | None, metric: NumberMetric, method: str) -> Estimate:
    """A ceiling of one, or an error of zero, with a bound on the other side."""
    labels = d.item_means
    if cells is not None:
        labels = labels - (np.bincount(cells, labels) / np.maximum(np.bincount(cells), 1))[cells]
    variance = float(labels.var())
    best = 1.0 if metric == "correlation" else 0.0
    point_estimate = Estimate(value=best, method=method, confidence=agreed.confidence, counts=d.counts)
    if metric == "correlation" and variance <= EQUAL * max(float(np.abs(d.value).max()), 1.0) ** 2:
        reason = "all ratings are equal" if cells is None else "items of one cell do not differ"
        return Estimate.missing(reason, method, d.counts)
    if metric != "correlation" and agreed.error == 0.0:
        return point_estimate.without_interval("all ratings are equal, so nothing bounds how far one could be off")
    return agreed.ceiling(variance, float(np.mean(1.0 / d.per_item)), metric, point_estimate)


def ceiling_from_means(
    mean: Floats, sd: Floats, n: Floats, metric: NumberMetric = "correlation", confidence: float = 0.95
) -> Estimate:
    """Best expected correlation or error against published means; items without spread or count are left out."""
    method = f"published means, spreads and counts, {metric}"
    usable = np.isfinite(mean) & np.isfinite(sd) & (n > 1)
    y, s, k = mean[usable], sd[usable], n[usable].astype(np.float64)
    size = y.size
    counts = {"items": size, "ratings": int(k.sum())}
    if size < mean.size:
        counts["left_out"] = int(mean.size - size)
    if size < 2:
        reason = "fewer than two items have a mean, a spread and a count of two or more"
        return Estimate.missing(reason, method, counts)
    best = Estimate(value=float(metric == "correlation"), method=method, confidence=confidence, counts=counts)
    if not (s > 0).any():
        if float(y.var()) <= 0.0:
            return Estimate.missing("all means are equal and all spreads are zero", method, counts)
        agreed = _agreed(y, int((k - 1).sum()), confidence)
        return agreed.ceiling(float(y.var()), float(np.mean(1.0 / k)), metric, best)
    value, without = _from_noise(y, s**2 / k, metric)
    correlation = metric == "correlation"
    shown = float(np.sqrt(max(1.0 - 1.0 / value, 0.0))) if correlation else value
    point_estimate = Estimate(value=shown, method=method, confidence=confidence, counts=counts)
    if size < 5:
        return point_estimate.without_interval("fewer than five items are too few to leave one out")
    half = half_width(jackknife_variance(np.log(without)), size - 1, confidence)
    if half > _MAX_LOG_HALF_WIDTH:
        return point_estimate.without_interval("one item decides the noise or the variance of the means")
    low, high = (value * np.exp([-half, half])).tolist()
    if correlation:
        low, high = (math.sqrt(max(1.0 - 1.0 / end, 0.0)) for end in (low, high))
    bounded = point_estimate.with_interval(low, high, "jackknife over items, log scale", confidence)
    return bounded.informative(0.0) if correlation else bounded


def _from_noise(y: Floats, noise: Floats, metric: NumberMetric) -> tuple[float, Floats]:
    """The variance of the means over the mean noise, or the error that the noise makes: with all items, and without each.

    Those without an item lack a factor that is the same for all, which their logs leave out anyway.
    """
    size = float(y.size)
    item_error = np.sqrt(2.0 / np.pi * noise) if metric == "mae" else noise
    total = float(item_error.sum())
    remaining = np.maximum(total - item_error, 1e-300)
    if metric == "mae":
        return total / size, remaining
    if metric == "rmse":
        return math.sqrt(total / size), np.sqrt(remaining)
    centred = y - y.mean()
    squares = float(centred @ centred)
    # Without item i the sum of squares falls by n / (n - 1) times its squared deviation.
    without = np.maximum(squares - size / (size - 1.0) * centred**2, 1e-300)
    return max(squares / (size - 1.0), 1e-300) / (total / size), without / remaining
