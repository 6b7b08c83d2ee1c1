"""The mean error of a part less that of the rest, where errors are skewed, unequally noisy and alike within groups.

Were part and rest alike, the moments of the difference of their means would follow from those of all values: its variance, and
its skewness, which Pearson's type III distribution takes into account (Mielke and Berry 2007, *Permutation Methods*). Squared
errors are skewed, and a small part with a large mean is then less surprising than Student's t says. For independent values of
equal spread these are the moments of dealing them to part and rest at random.

Two things make values harder to compare. *Unequal noise*: labels by few raters make errors vary more, though not larger on
average once their noise is taken off. ``spread`` gives every value's standard deviation, up to a factor; values over it are pooled.
*Groups*: the errors on stimuli of one prompt go together. Pairs of one group have a covariance, estimated from all groups (an
analysis of variance, never below 0), so a part of whole groups is as uncertain as so many groups, and a part that cuts through
every group gains from the comparison within groups.

The p-value takes part and rest to be alike. The interval holds every difference that the same test does not reject; where the
part is taken to be worse, its errors also spread more. Interval and p-value agree. ``docs/stats/coverage.md`` has how often.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.stats.columns.triples import Floats, Ints

LEAST_SKEW = 1e-3
_LEAST_ERROR = 1e-3
"""The least mean error that is considered, as a share of the mean absolute value."""
_NO_VARIANCE = 1e-24
"""The variance, as a share of the largest square, up to which values are equal but for rounding."""
_NO_PAIRS = 1e-9
"""The weight of pairs, as a share of that of single values, up to which they say nothing of a covariance."""
_WIDEST = 40
"""How often the search for a bound widens its step before there is none."""
Flags: TypeAlias = npt.NDArray[np.bool_]
Spread: TypeAlias = Callable[[Floats], Floats]
"""Standard deviations of values, up to a factor, from what each is on average."""


def squared_error_spread(noise: Floats, n: Floats) -> Spread:
    """Of squared errors less their noise: ``noise`` is the squared standard error of labels, each of ``n`` ratings."""
    of_noise = np.where(n > 1, 2 * noise**2 / np.maximum(n - 1, 1), 0.0)
    return lambda mean: np.sqrt(2 * (mean + noise) ** 2 + of_noise)


def share_spread(noise: Floats, scale: Floats) -> Spread:
    """Of wrong answers (1 or 0) less the chance ``noise`` of a wrong label, over ``scale``."""

    def spread(mean: Floats) -> Floats:
        wrong = np.clip(noise + scale * mean, 0.01, 0.99)
        return np.asarray(np.sqrt(wrong * (1 - wrong)) / scale)

    return spread


def part_and_rest(
    values: Floats,
    inside: Flags,
    *,
    confidence: float,
    group: Ints | None = None,
    spread: Spread | None = None,
    at_least: bool = False,
) -> tuple[float, float, float] | None:
    """Interval and p-value of the mean of ``values`` inside the part less that of the others.

    With ``at_least``, values vary by no less than ``spread``: few wrong answers show too little of how much they do.
    None where all values are equal. A bound that no difference reaches is infinite, as both are where values vary neither in the
    part nor in the rest.
    """
    least = _NO_VARIANCE * max(float(np.abs(values).max(initial=0.0)) ** 2, 1e-300)
    if float(np.var(values)) <= least:
        return None
    codes = np.arange(values.size) if group is None else np.unique(group, return_inverse=True)[1]
    compared = _Compared(values=values, inside=inside, group=codes, spread=spread or np.ones_like, at_least=at_least)
    above = compared.above(0.0)
    p = min(2 * min(above, 1 - above), 1.0)
    if not at_least and max(float(np.var(values[side])) for side in (inside, ~inside)) <= least:
        return -math.inf, math.inf, p
    tail = (1 - confidence) / 2
    return compared.bound(tail, -1), compared.bound(1 - tail, 1), p


@dataclass(frozen=True, eq=False, kw_only=True)
class _Compared:
    values: Floats
    inside: Flags
    group: Ints
    spread: Spread
    at_least: bool

    @cached_property
    def weight(self) -> Floats:
        """What each value counts in the difference."""
        k = int(self.inside.sum())
        return np.where(self.inside, 1 / k, -1 / (self.inside.size - k))

    @cached_property
    def difference(self) -> float:
        return float(self.weight @ self.values)

    @cached_property
    def _floor(self) -> float:
        return _LEAST_ERROR * float(np.abs(self.values).mean())

    @cached_property
    def _sizes(self) -> Floats:
        return np.bincount(self.group).astype(np.float64)

    def above(self, true: float) -> float:
        """How likely a difference at least as large as this one is, were the true one ``true``."""
        error, skew = self.moments(true)
        return _type_three_above((self.difference - true) / error, skew)

    def bound(self, share: float, side: int) -> float:
        """The true difference of which a larger one than this has the probability ``share``."""
        from scipy.optimize import brentq

        def beyond(true: float) -> float:
            return self.above(true) - share

        start, step = self.difference, self.moments(self.difference)[0]
        for _ in range(_WIDEST):
            end = start + side * step
            if side * beyond(end) > 0:
                return float(brentq(beyond, start, end, xtol=1e-5 * step, rtol=1e-8))
            start, step = end, 1.7 * step
        return side * math.inf

    def moments(self, true: float) -> tuple[float, float]:
        """Standard error and skewness of the difference, were the true one ``true``."""
        of_part = np.where(self.inside, true, 0.0)
        rest_mean = float(np.mean(self.values - of_part))
        # Weights depend on the mean and the mean on the weights; two rounds settle them to far below the error.
        for _ in range(2):
            mean = np.maximum(rest_mean + of_part, self._floor)
            spread = self.spread(mean)
            precision = 1 / spread**2
            rest_mean = float(precision @ (self.values - of_part) / precision.sum())
        # Part and rest share what their groups do in proportion to their errors.
        shared = _of_unit_size(np.maximum(rest_mean + of_part, self._floor))
        least = float(np.mean(spread**2)) if self.at_least else 0.0
        spread = _of_unit_size(spread)
        residual = (self.values - of_part - rest_mean) / spread
        variance, covariance = self._components(residual, shared / spread)
        variance, of_group = max(variance, least), covariance * shared**2
        alone = np.maximum(variance * spread**2 - of_group, 0.0)
        total = float(self.weight**2 @ alone)
        third = float((self.weight * self.weight * self.weight) @ _three_halves(alone))
        if covariance > 0:
            sums = np.bincount(self.group, self.weight * shared)
            total += covariance * float(sums @ sums)
            third += covariance**1.5 * float(np.sum(sums * sums * sums))
        parts = (_three_halves(alone) + _three_halves(of_group)) / np.maximum(_three_halves(alone + of_group), 1e-300)
        skew = _skewness(residual) / float(parts.mean())
        return math.sqrt(total), skew * third / total**1.5

    def _components(self, residual: Floats, shared: Floats) -> tuple[float, float]:
        """The variance of residuals, and the covariance within groups of what they share (``shared`` is its size in each)."""
        n, sizes = residual.size, self._sizes
        square = float(residual @ residual) / n
        pairs = float(sizes @ (sizes - 1))
        of_shared = np.bincount(self.group, shared)
        below = float(of_shared @ of_shared - shared @ shared)
        if pairs > 0 and below > _NO_PAIRS * float(shared @ shared):
            sums = np.bincount(self.group, residual)
            product = (float(sums @ sums) - n * square) / below
            # Residuals are from a mean that was estimated from them, which lowers both moments.
            pair_share = float(sizes @ (sizes - 1) ** 2) / pairs
            moments = [[1 - 1 / n, -pairs / n**2], [-1 / n, 1 - 2 * pair_share / n + pairs / n**2]]
            variance, covariance = np.linalg.solve(np.array(moments), [square, product])
            if covariance > 0 and variance > 0:
                # Something is left to every value, or groups that are cut through would seem to compare without error.
                most = 0.99 * float(np.min(variance / np.maximum(shared**2, 1e-300)))
                return float(variance), min(float(covariance), most)
        return square / (1 - 1 / n), 0.0


def _of_unit_size(values: Floats) -> Floats:
    return np.asarray(values / math.sqrt(float(values @ values) / values.size))


def _three_halves(values: Floats) -> Floats:
    """To the power of 1.5, without the slow general power."""
    return np.asarray(values * np.sqrt(values))


def _skewness(values: Floats) -> float:
    n, centred = values.size, values - values.mean()
    second = float(np.mean(centred**2))
    if second <= 1e-200:
        return 0.0
    ratio = float(np.mean(centred * centred * centred)) / second**1.5
    return float(ratio * math.sqrt(n * (n - 1)) / (n - 2))


def _type_three_above(z: float, skew: float) -> float:
    """The share of a standardised Pearson type III distribution that lies above ``z``."""
    from scipy.special import gammaincc, ndtr

    if abs(skew) < LEAST_SKEW:
        return float(ndtr(-z))
    shape = 4 / skew**2
    above = float(gammaincc(shape, max(shape + math.copysign(z, z * skew) * math.sqrt(shape), 0.0)))
    return above if skew > 0 else 1 - above
