"""The ceiling of mean labels: how well the items' true values correlate with them, or how far they are off.

A label is the mean of n_i ratings, each off its item by its rater's level (variance r) and a residual (variance
e). What all labels share does not count, since a constant changes no correlation and can be learnt: if a_i holds
1/n_i for the raters of item i, levels add r times the spread of the a_i about their mean, mean(1/n_i) less the
squared length of the mean a. With the same raters everywhere that is zero, with raters of its own for every item
it is mean(1/n_i). Within cells the spread is about the cell's own mean. Raters' gains (how strongly they respond
to differences between items) are treated the same way: with the same raters everywhere they stretch all labels
alike and are no noise, although the crossed model counts them as residual.

Where no two ratings of an item differ the ceiling is 1 and the error 0. The bound is then one-sided, by the rule
of three: if of m ratings that could have differed from the first of their item none did, at most 1 - alpha^(1/m)
(about 3/m) of ratings do, each by no more than the range of the ratings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.bounds import Quantity
from heartfelt.stats.reliability.crossed import EXACT, fit_crossed
from heartfelt.stats.reliability.design import Design
from heartfelt.stats.reliability.jackknife import NAME, MomentJackknife, Rows, half_width
from heartfelt.stats.reliability.labels import NumberMetric
from heartfelt.stats.triples import Floats, Ints

RULE_OF_THREE = (
    "one-sided, rule of three over {} ratings that could have differed by the range of the ratings"
)
EQUAL = 1e-10


def level_noise(d: Design, cells: Ints | None) -> float:
    """What a unit of variance between raters' levels adds to the variance of labels about their (cell) mean."""
    cell = np.zeros(len(d.items), np.int64) if cells is None else cells
    size = np.bincount(cell).astype(np.float64)
    part = 1.0 / d.per_item[d.item] / size[cell[d.item]]
    key, place = np.unique(cell[d.item] * len(d.raters) + d.rater, return_inverse=True)
    mean = np.bincount(place, part)
    shared = float((size[key // len(d.raters)] * mean**2).sum()) / len(d.items)
    return max(float(np.mean(1.0 / d.per_item)) - shared, 0.0)


def gain_variance(d: Design) -> float:
    """The part of the residual variance that is due to raters' different gains.

    Each rater's ratings are regressed on the items' means; the spread of the slopes beyond their standard errors,
    times the variance of the means.
    """
    means = np.bincount(d.item, d.value, minlength=len(d.items)) / d.per_item
    x = means[d.item]
    n = d.per_rater.astype(np.float64)
    if len(d.raters) < 3 or n.min() < 4:
        return 0.0
    count = len(d.raters)
    x = x - (np.bincount(d.rater, x, minlength=count) / n)[d.rater]
    y = d.value - (np.bincount(d.rater, d.value, minlength=count) / n)[d.rater]
    xx = np.bincount(d.rater, x * x, minlength=count)
    if float(xx.min()) <= 0.0:
        return 0.0
    slope = np.bincount(d.rater, x * y, minlength=count) / xx
    left = np.bincount(d.rater, (y - slope[d.rater] * x) ** 2, minlength=count) / (n - 2.0)
    beyond = float(slope.var(ddof=1)) - float(np.mean(left / xx))
    return max(beyond, 0.0) * float(xx.sum() / n.sum())


def number_ceiling(
    d: Design, cells: Ints | None, metric: NumberMetric, confidence: float, seed: int
) -> Estimate:
    """Best expected correlation or error against mean labels, overall or (``cells``) within cells."""
    method = f"crossed variance components, REML, {'within cells, ' if cells is not None else ''}{metric}"
    agreed = perfect_agreement(d, confidence)
    if agreed is not None:
        return agreed.ceiling(d, cells, metric, method)
    fit = fit_crossed(d, None if cells is None else cells[d.item], seed=seed)
    if isinstance(fit, str):
        if fit == EXACT and d.complete:
            return _exact(d, confidence).ceiling(d, cells, metric, method)
        return Estimate.missing(fit, method, d.counts)
    noise = float(np.mean(1.0 / d.per_item))
    levels = noise if fit.merged == 1 else level_noise(d, cells)
    if metric == "correlation":
        quantity = Quantity((1.0, 0.0, 0.0), (0.0, levels, noise))
    else:
        scale = 1.0 if metric == "rmse" else 2.0 / np.pi * float(np.mean(d.per_item**-0.5)) ** 2 / noise
        quantity = Quantity((0.0, scale * levels, scale * noise))
    why = fit.missing_reason(quantity)
    if why is not None:
        return Estimate.missing(why, method, d.counts)
    variances = fit.variances.copy()
    variances[2] -= min((1.0 - levels / noise) * gain_variance(d), 0.9 * variances[2])
    value = quantity.value(variances)
    jackknife = MomentJackknife(d, cells)
    root = float(np.sqrt(value))
    if jackknife.units < 3:
        why = "fewer than three items or raters are too few to leave one out"
        return Estimate(root, method=method, confidence=confidence, counts=d.counts, why_no_interval=why)
    statistic = _statistic(metric, levels / noise, cells is None)
    (variance,) = jackknife.variances(statistic)
    # Beyond e^300 a bound says no more than that there is none; larger powers would overflow.
    half = min(half_width(variance, jackknife.units, confidence), 300.0)
    if metric == "correlation":
        low, high = (1.0 - (1.0 - value) * float(np.exp(-by)) for by in (-half, half))
    else:
        low, high = value * float(np.exp(-half)), value * float(np.exp(half))
    bounds = [float(np.sqrt(max(b, 0.0))) for b in (low, high)]
    return Estimate(root, bounds[0], bounds[1], method, f"{NAME}, log scale", confidence, d.counts)


def _statistic(metric: NumberMetric, share: float, overall: bool) -> Callable[[Rows], Floats]:
    """Log noise of labels, or log ratio of the labels' mean square to it; ``share`` of raters' levels is noise."""

    def noise(sums: Rows) -> Floats:
        ratings, items = sums[:, 0], sums[:, 1]
        within_items = (sums[:, 3] - sums[:, 4]) / np.maximum(ratings - items, 1.0)
        if share > 0.999:
            return np.maximum(within_items, 1e-300)
        grand = sums[:, 5] if overall else 0.0
        within_raters = (sums[:, 3] - sums[:, 7]) / np.maximum(ratings - sums[:, 6], 1.0)
        a, b = ratings - sums[:, 8] / ratings, ratings - sums[:, 9] / ratings
        residual = (within_raters * a + within_items * b - (sums[:, 3] - grand)) / (a + b - ratings + 1.0)
        residual = np.clip(residual, 1e-3 * within_items, within_items)
        return np.maximum(residual + share * (within_items - residual), 1e-300)

    def log_noise(sums: Rows) -> Floats:
        return np.log(noise(sums))

    def log_ratio(sums: Rows) -> Floats:
        between = (sums[:, 4] - sums[:, 5]) / np.maximum(sums[:, 1] - sums[:, 2], 1.0)
        below = noise(sums)
        return np.log(np.maximum(between, 1e-12 * below) / below)

    return log_ratio if metric == "correlation" else log_noise


@dataclass(frozen=True, slots=True)
class Agreed:
    """Ratings without a difference where there could have been ``chances`` of one.

    ``error`` bounds the variance of one rating about its item.
    """

    chances: int
    share: float
    error: float
    confidence: float

    @property
    def interval(self) -> str:
        """What the one-sided bound is."""
        return RULE_OF_THREE.format(self.chances)

    def ceiling(self, d: Design, cells: Ints | None, metric: NumberMetric, method: str) -> Estimate:
        """A ceiling of one, or an error of zero, with a bound on the other side."""
        noise = self.error * float(np.mean(1.0 / d.per_item))
        if metric == "correlation":
            labels = np.bincount(d.item, d.value, minlength=len(d.items)) / d.per_item
            if cells is not None:
                labels = labels - (np.bincount(cells, labels) / np.maximum(np.bincount(cells), 1))[cells]
            variance = float(labels.var())
            if variance <= EQUAL * max(float(np.abs(d.value).max()), 1.0) ** 2:
                why = "all ratings are equal" if cells is None else "items of one cell do not differ"
                return Estimate.missing(why, method, d.counts)
            low = float(np.sqrt(variance / (variance + noise)))
            return Estimate(1.0, low, 1.0, method, self.interval, self.confidence, d.counts)
        if self.error == 0.0:
            why = "all ratings are equal, so nothing bounds how far one could be off"
            return Estimate(
                0.0, method=method, confidence=self.confidence, counts=d.counts, why_no_interval=why
            )
        high = float(np.sqrt(noise)) if metric == "rmse" else float(np.sqrt(2.0 / np.pi * noise))
        return Estimate(0.0, 0.0, high, method, self.interval, self.confidence, d.counts)


def perfect_agreement(d: Design, confidence: float) -> Agreed | None:
    """What can be said where no two ratings of an item differ; None where some do, or no item has two."""
    chances = d.size - len(d.items)
    if chances < 1 or len(d.raters) < 2:
        return None
    labels = np.bincount(d.item, d.value, minlength=len(d.items)) / d.per_item
    size = max(float(np.abs(d.value).max()), 1e-300)
    if float(np.abs(d.value - labels[d.item]).max()) > EQUAL * size:
        return None
    return _agreed(d, chances, confidence)


def _exact(d: Design, confidence: float) -> Agreed:
    """The same for ratings that are sums of item and rater effects."""
    return _agreed(d, d.size - len(d.items) - len(d.raters) + 1, confidence)


def _agreed(d: Design, chances: int, confidence: float) -> Agreed:
    share = 1.0 - (1.0 - confidence) ** (1.0 / max(chances, 1))
    return Agreed(chances, share, share * float(np.ptp(d.value)) ** 2, confidence)
