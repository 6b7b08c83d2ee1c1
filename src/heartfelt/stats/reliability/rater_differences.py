"""What ratings show of how far their raters differ in gain and in level.

A rater's gain is the slope of the ratings on the items' means, divided by the share of those means that is no noise.
With R raters the spread S of the gains shows how large their standard deviation may be: at most
sqrt((R - 1) S / chi-square(R - 1)) with 90% confidence. Where that is less than what gains usually differ by, intervals
for raters like these count on no more. Levels are a share of the error of single ratings, known as well as the variance
of R normal levels is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.ratings import Ratings

USUAL_GAIN, SHOWN = 0.35, 0.1
_LEAST_RELIABLE = 0.3
MANY_RATERS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterDifferences:
    """``gain``: the largest standard deviation of gains to count on; ``levels``: their share of the error of a rating;
    ``apart``: the share of their variance by which items' means differ, 0 where everybody rated everything.
    """

    gain: float = USUAL_GAIN
    levels: float = 0.0
    apart: float = 1.0

    def in_agreement(self, log_f: float) -> float:
        """How far the log F of agreement moves per unit of the log of the levels' variance."""
        return self.levels * max(-math.expm1(-log_f), 0.0)

    def in_one_way(self, log_f: float) -> float:
        """The same of the ratio of mean squares between and within items, which holds levels on both sides."""
        return self.levels * abs(1.0 - self.apart * math.exp(-log_f))


USUAL = RaterDifferences()


def slopes(d: Ratings) -> tuple[Floats, Floats, Floats] | None:
    """Each rater's slope on the items' means, sum of squares of these and residual variance; None where a rater shows none."""
    n, count = d.per_rater.astype(np.float64), len(d.raters)
    if count < 2 or n.min() < 4:
        return None
    x, y = d.item_means[d.item], d.value
    x, y = (column - (np.bincount(d.rater, column, minlength=count) / n)[d.rater] for column in (x, y))
    xx: Floats = np.bincount(d.rater, x * x, minlength=count).astype(np.float64)
    if float(xx.min()) <= 0.0:
        return None
    slope = np.bincount(d.rater, x * y, minlength=count) / xx
    residual_variance = np.bincount(d.rater, (y - slope[d.rater] * x) ** 2, minlength=count) / (n - 2.0)
    return slope, xx, residual_variance


def gain_variance(d: Ratings) -> float:
    """The part of the residual variance that is due to raters' different gains.

    The spread of the slopes beyond their standard errors, times the variance of the items' means.
    """
    return gain_variance_with_doubt(d)[0]


def gain_variance_with_doubt(d: Ratings) -> tuple[float, float, float]:
    """The same with the variance of its error for these raters, and by how much it may be too low.

    Labels hold the raters' own noise, which makes slopes alike: that part of each slope is taken off again.
    """
    slopes_of_raters = slopes(d) if len(d.raters) > 2 else None
    if slopes_of_raters is None:
        return 0.0, 0.0, 0.0
    slope, xx, residual_variance = slopes_of_raters
    noise, scale = float(np.mean(residual_variance / xx)), float(xx.sum() / d.size)
    beyond = max(float(slope.var(ddof=1)) - noise, 0.0)
    error = (4.0 * beyond + 2.0 * noise) * noise * scale**2 / (len(d.raters) - 1)
    steep = slope - residual_variance * d.per_rater / xx * (len(d.items) / d.size)
    steeper = max(float(steep.var(ddof=1)) - noise, 0.0) / max(float(steep.mean()), _LEAST_RELIABLE)
    return beyond * scale, error, max(steeper - beyond, 0.0) * scale


def levels_apart(d: Ratings) -> float:
    """The share of the variance of raters' levels by which items' means differ."""
    counts = d.per_rater.astype(np.float64)
    return max(1.0 - d.size / len(d.items) * float(counts @ counts) / d.size**2, 0.0)


def largest_gain(d: Ratings) -> float:
    """The largest standard deviation of gains, up to the usual one, that these ratings allow."""
    from scipy.special import chdtri

    per_item = d.size / len(d.items)
    slopes_of_raters = slopes(d) if len(d.raters) <= MANY_RATERS else None
    if slopes_of_raters is None:
        return USUAL_GAIN
    slope, xx, residual_variance = slopes_of_raters
    free = len(d.raters) - 1
    reliable = 1.0 - float(residual_variance.mean()) / per_item * (d.size - free - 1) / float(xx.sum())
    if reliable <= _LEAST_RELIABLE:
        return USUAL_GAIN
    largest = float(slope.var(ddof=1)) * free / float(chdtri(free, 1.0 - SHOWN))
    return min(USUAL_GAIN, math.sqrt(largest) / reliable)
