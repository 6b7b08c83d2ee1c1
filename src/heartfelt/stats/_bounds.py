"""Interval forms shared by association, classification and resampling.

Each returns ``(low, high)`` at a two-sided confidence. Sources: Wilson (1927) for a proportion;
Fisher's z with the variance named by the caller; Zou and Donner (2008) for sums of independent proportions
(MOVER); the delta method on a transformed scale; Efron (1987) for BCa.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate

Bounds = tuple[float, float]
Transform = Literal["identity", "fisher", "logit", "log"]

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class UnboundedScale:
    """A scale on which a statistic is nearly normal; values at the end of their range lie at infinity, those beyond at NaN."""

    transform: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    slope: Callable[[float], float]
    """How fast the place on the scale moves with the value."""

    def to(self, values: Any) -> Any:
        """Places on the scale."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.transform(values)

    def interval(self, centre: float, half: float) -> Bounds:
        """The values half a width to either side of a place on the scale."""
        return float(self.inverse(centre - half)), float(self.inverse(centre + half))


SCALES: dict[Transform, UnboundedScale] = {
    "identity": UnboundedScale(lambda value: value, lambda transformed: transformed, lambda _: 1.0),
    "fisher": UnboundedScale(np.arctanh, np.tanh, lambda value: 1 / (1 - value * value)),
    "log": UnboundedScale(np.log, lambda transformed: np.exp(np.minimum(transformed, 700.0)), lambda value: 1 / value),
    "logit": UnboundedScale(
        lambda value: np.log(np.divide(value, 1 - value)),
        lambda transformed: 0.5 + 0.5 * np.tanh(transformed / 2),
        lambda value: 1 / (value * (1 - value)),
    ),
}


def check_confidence(confidence: float) -> float:
    """Refuse a confidence that is not inside (0, 1)."""
    if not 0.0 < confidence < 1.0:
        raise InputError(f"The confidence must lie between 0 and 1; got {confidence}.", "Use 0.95.")
    return confidence


def normal_quantile(confidence: float) -> float:
    """The two-sided normal quantile: 1.96 for 0.95."""
    return _NORMAL.inv_cdf(0.5 + check_confidence(confidence) / 2)


def t_quantile(confidence: float, df: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df, 0.5 + check_confidence(confidence) / 2))


def satterthwaite(*parts: tuple[float, float]) -> float:
    """Degrees of freedom of a sum of independent variances, each with its own (Satterthwaite 1946)."""
    return sum(variance for variance, _ in parts) ** 2 / sum(variance**2 / df for variance, df in parts)


def p_of_t(ratio: float, df: float) -> float:
    """Two-sided p-value of a ratio with Student's t distribution."""
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(ratio)))


def with_t(point_estimate: Estimate, error: float, df: float, interval: str, confidence: float) -> Estimate:
    """The estimate with Student's t interval about its value."""
    value, half = float(point_estimate), t_quantile(confidence, df) * error
    return point_estimate.with_interval(value - half, value + half, interval, confidence)


def clopper_pearson(hits: Floats | float, trials: Floats | float, tail: float) -> tuple[Floats, Floats]:
    """Exact bounds of shares, with a chance of ``tail`` beyond each, also for sizes that are no whole numbers."""
    from scipy.special import betaincinv

    # What lies this near the end is there but for rounding; the least number only keeps the function defined.
    missed, least = np.subtract(trials, hits), 1e-9
    low = np.where(np.greater(hits, least), betaincinv(np.maximum(hits, least), missed + 1, tail), 0.0)
    high = np.where(missed > least, betaincinv(np.add(hits, 1), np.maximum(missed, least), 1 - tail), 1.0)
    return low, high


def wilson(successes: float, trials: float, confidence: float) -> Bounds:
    """Wilson's score interval of a proportion."""
    return score_interval(successes / trials, trials, normal_quantile(confidence))


def score_interval(share: float, n: float, quantile: float) -> Bounds:
    """The score interval of a share known from ``n`` cases, at a quantile of its test."""
    square = quantile * quantile
    centre = share + square / (2 * n)
    half = quantile * math.sqrt(max(share * (1 - share), 0.0) / n + square / (4 * n * n))
    low, high = (centre - half) / (1 + square / n), (centre + half) / (1 + square / n)
    return (0.0 if share <= 0 else max(low, 0.0)), (1.0 if share >= 1 else min(high, 1.0))


def mover_mean(shares: Floats, lows: Floats, highs: Floats) -> Bounds:
    """Interval of the mean of independent proportions from their own intervals."""
    mean, k = float(shares.mean()), shares.size
    low = mean - math.sqrt(float(np.sum((shares - lows) ** 2))) / k
    high = mean + math.sqrt(float(np.sum((highs - shares) ** 2))) / k
    return max(low, 0.0), min(high, 1.0)


def fisher(value: float, error: float, confidence: float) -> Bounds:
    """Interval of a correlation whose z transform has standard error ``error``."""
    return SCALES["fisher"].interval(math.atanh(value), normal_quantile(confidence) * error)


def delta(value: float, error: float, confidence: float, transform: Transform = "identity") -> Bounds | None:
    """Normal interval on a transformed scale; None where the transform or the error is degenerate."""
    scale = SCALES[transform]
    transformed = scale.to(value)
    if not (math.isfinite(error) and error > 0 and math.isfinite(transformed)):
        return None
    return scale.interval(transformed, normal_quantile(confidence) * error * scale.slope(value))


def influence_error(influence: Floats) -> float:
    """Standard error of a statistic from its influence values, one per independent unit."""
    n = influence.size
    centred = influence - influence.mean()
    return math.sqrt(float(np.sum(centred * centred)) / (n * max(n - 1, 1)))


def t_mean(values: Floats, confidence: float) -> Bounds | None:
    n = values.size
    if n < 2:
        return None
    half = t_quantile(confidence, n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
    mean = float(values.mean())
    return mean - half, mean + half


def percentile(replicates: Floats, confidence: float) -> Bounds:
    tail = (1 - check_confidence(confidence)) / 2
    low, high = np.quantile(replicates, [tail, 1 - tail])
    return float(low), float(high)


def basic(value: float, replicates: Floats, confidence: float) -> Bounds:
    """The reversed percentile interval, which corrects the bootstrap's own bias."""
    low, high = percentile(replicates, confidence)
    return 2 * value - high, 2 * value - low


def bca(value: float, replicates: Floats, influence: Floats, confidence: float) -> Bounds | None:
    """Bias-corrected and accelerated interval; the acceleration is a sixth of the influence values' skewness."""
    below = float(np.count_nonzero(replicates < value)) + 0.5 * float(np.count_nonzero(replicates == value))
    share = below / replicates.size
    squares = influence * influence
    spread = float(np.sum(squares))
    # All replicates on one side of the value leave its bias without an estimate.
    if not 0 < share < 1 or spread <= 0:
        return None
    bias = _NORMAL.inv_cdf(share)
    acceleration = float(influence @ squares) / (6 * spread**1.5)
    tail = (1 - check_confidence(confidence)) / 2
    points = []
    for quantile in (_NORMAL.inv_cdf(tail), _NORMAL.inv_cdf(1 - tail)):
        shifted = bias + quantile
        # Beyond this point the corrected quantile would turn back.
        if 1 - acceleration * shifted <= 0:
            return None
        points.append(_NORMAL.cdf(bias + shifted / (1 - acceleration * shifted)))
    low, high = np.quantile(replicates, points)
    return float(low), float(high)


def bounded(estimate: Estimate, bounds: Bounds | None, interval: str, confidence: float, why_not: str) -> Estimate:
    """Give an estimate its interval, or the reason it has none."""
    if bounds is None:
        return replace(estimate, why_no_interval=why_not)
    return estimate.with_interval(bounds[0], bounds[1], interval, confidence)


# A bound this small a share of the value is indistinguishable from 0.
NEGLIGIBLE = 1e-3


def ratio(top: Estimate, bottom: Estimate, method: str = "ratio") -> Estimate:
    """``top / bottom`` of two independent estimates with an interval from theirs, or the reason there is none.

    Both intervals are used as they are, symmetric or not (MOVER; Donner and Zou 2012, *Statistical Methods in Medical Research*
    21). The denominator's interval must stay above 0.
    """
    counts = dict(top.counts)
    missing = [side.why_missing or "one side is missing" for side in (top, bottom) if side.value is None]
    if missing:
        return Estimate.missing(missing[0], method, counts)
    a, b = float(top), float(bottom)
    if b <= 0:
        return Estimate.missing("the denominator is not above 0", method, counts)
    point_estimate = Estimate(value=a / b, method=method, counts=counts)
    if top.low is None or top.high is None or bottom.low is None or bottom.high is None:
        reason = top.why_no_interval or bottom.why_no_interval or "one side has no interval"
        return point_estimate.without_interval(reason)
    if top.confidence != bottom.confidence:
        return point_estimate.without_interval("the two intervals have different confidences")
    low = _end(a, b, top.low, bottom.high, -1)
    high = _end(a, b, top.high, bottom.low, 1)
    if low is None or high is None:
        return point_estimate.without_interval("the denominator may be 0")
    return point_estimate.with_interval(
        min(low, a / b), max(high, a / b), "MOVER from the two intervals", top.confidence
    )


def _end(a: float, b: float, top: float, bottom: float, sign: int) -> float | None:
    """One bound: the end of ``a``'s interval against the opposite end of ``b``'s."""
    below = bottom * (2 * b - bottom)
    if bottom <= NEGLIGIBLE * b or below <= 0:
        return None
    # (a b)² - top (2a - top) * below, written as a sum of squares: it cannot be negative but for rounding.
    radicand = (a * b) ** 2 - top * (2 * a - top) * below
    return (a * b + sign * math.sqrt(max(radicand, 0.0))) / below
