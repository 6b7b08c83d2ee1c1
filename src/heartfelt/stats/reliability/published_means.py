"""The ceiling of published means: with every item's mean, spread and count, single ratings are not needed.

A mean of n_i ratings with standard deviation s_i is off its item's long-run mean by a variance of s_i^2 / n_i. With
their average as noise, the variance of the means less the noise is that of the items, and the ceiling of
correlation is the square root of its share; the root of the noise is that of the error. Items may differ in
spread as well as in count. Where raters rated several items, what their levels add to all labels alike cannot be
told from means and is counted as noise, so the ceiling errs on the low side. Intervals leave out one item at a
time (jackknife), on the log of the ratio of variances, and take items as a sample.

Where every spread is zero the ceiling is 1 with a one-sided bound, as in `number_ceiling`.
"""

from __future__ import annotations

import numpy as np

from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.jackknife import half_width, spread
from heartfelt.stats.reliability.labels import NumberMetric
from heartfelt.stats.reliability.number_ceiling import RULE_OF_THREE
from heartfelt.stats.triples import Floats

METHOD = "published means, spreads and counts"
INTERVAL = "jackknife over items, log scale"
NOT_ENOUGH = "fewer than two items have a mean, a spread and a count of two or more"


def ceiling_from_means(
    mean: Floats, sd: Floats, n: Floats, metric: NumberMetric = "correlation", confidence: float = 0.95
) -> Estimate:
    """Best expected correlation or error against published means; items without spread or count are left out."""
    method = f"{METHOD}, {metric}"
    usable = np.isfinite(mean) & np.isfinite(sd) & (n > 1)
    y, s, k = mean[usable], sd[usable], n[usable].astype(np.float64)
    counts = {"items": int(y.size), "ratings": int(k.sum())}
    if y.size < mean.size:
        counts["left_out"] = int(mean.size - y.size)
    if y.size < 2:
        return Estimate.missing(NOT_ENOUGH, method, counts)
    if not (s > 0).any():
        return _agreed(y, k, metric, confidence, counts)
    noise = s**2 / k
    if metric != "correlation":
        each = noise if metric == "rmse" else np.sqrt(2.0 / np.pi * noise)
        return _error(each, metric, confidence, counts)
    ratio = _ratios(y, noise, left_out=False)[0]
    value = float(np.sqrt(max(1.0 - 1.0 / ratio, 0.0)))
    if y.size < 5:
        why = "fewer than five items are too few to leave one out"
        return Estimate(value, method=method, confidence=confidence, counts=counts, why_no_interval=why)
    half = half_width(spread(np.log(_ratios(y, noise, left_out=True))), y.size, confidence)
    low, high = (float(np.sqrt(max(1.0 - np.exp(-by) / ratio, 0.0))) for by in (-half, half))
    return Estimate(value, low, high, method, INTERVAL, confidence, counts)


def _ratios(y: Floats, noise: Floats, left_out: bool) -> Floats:
    """Variance of the means over the mean noise: of all items, or without each in turn."""
    size = float(y.size)
    centred = y - y.mean()
    total, squares = float(noise.sum()), float(centred @ centred)
    if not left_out:
        return np.array([max(squares / (size - 1.0), 1e-300) / (total / size)])
    # Without item i the sum of squares falls by n / (n - 1) times its squared deviation.
    without = np.maximum(squares - size / (size - 1.0) * centred**2, 1e-300) / (size - 2.0)
    out: Floats = without / np.maximum((total - noise) / (size - 1.0), 1e-300)
    return out


def _error(each: Floats, metric: NumberMetric, confidence: float, counts: dict[str, int]) -> Estimate:
    """Root mean square or mean absolute error from each label's own."""
    method = f"{METHOD}, {metric}"
    size = each.size
    total = float(each.sum())
    root = np.sqrt if metric == "rmse" else lambda x: x
    value = float(root(total / size))
    if size < 5:
        why = "fewer than five items are too few to leave one out"
        return Estimate(value, method=method, confidence=confidence, counts=counts, why_no_interval=why)
    half = half_width(spread(np.log(root(np.maximum((total - each) / (size - 1), 1e-300)))), size, confidence)
    return Estimate(
        value, value * float(np.exp(-half)), value * float(np.exp(half)), method, INTERVAL, confidence, counts
    )


def _agreed(
    y: Floats, k: Floats, metric: NumberMetric, confidence: float, counts: dict[str, int]
) -> Estimate:
    """All spreads are zero."""
    method = f"{METHOD}, {metric}"
    chances = int((k - 1).sum())
    error = (1.0 - (1.0 - confidence) ** (1.0 / chances)) * float(np.ptp(y)) ** 2
    noise = error * float(np.mean(1.0 / k))
    variance = float(y.var())
    if variance <= 0.0:
        return Estimate.missing("all means are equal and all spreads are zero", method, counts)
    name = RULE_OF_THREE.format(chances)
    if metric == "correlation":
        return Estimate(
            1.0, float(np.sqrt(variance / (variance + noise))), 1.0, method, name, confidence, counts
        )
    high = float(np.sqrt(noise if metric == "rmse" else 2.0 / np.pi * noise))
    return Estimate(0.0, 0.0, high, method, name, confidence, counts)
