"""What more data would buy: a power law through the scores reached with growing amounts of data.

The score is taken to be ``y(n) = a - b n^-c``: it rises towards a limit ``a``, ever more slowly. Power laws of this form
describe the learning curves of many learners (Hestness et al. 2017, "Deep learning scaling is predictable, empirically"; Viering
and Loog 2022, "The shape of learning curves: a review", IEEE TPAMI). Restrictions: ``b >= 0``, ``0 < c <= 2`` and, for scores
that cannot exceed 1, ``a <= 1``. Fitted by weighted least squares, exactly in ``a`` and ``b`` and on a fine grid in ``c``.

Conventions: ``x`` is the amount of data, above 0; ``y`` has a row per resample and a column per amount, its first row being the
data themselves. Intervals are percentiles over the resamples, each of which gets its own curve: they cover the choice of stimuli
and the curve's parameters, not that the law itself may be wrong beyond the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate

SOURCE = "Hestness et al. 2017; Viering and Loog 2022"
LEAST_POINTS = 4
"""Amounts of data that a curve with three parameters needs."""
_POWERS = np.arange(0.02, 2.0001, 0.02)
_INTERVAL = "percentiles over resampled stimuli, each with its own power law"


@dataclass(frozen=True, slots=True, eq=False)
class PowerLaw:
    """Curves ``a - b n^-c``, one for each row fitted; the first is that of the data themselves."""

    limit: Floats
    scale: Floats
    power: Floats

    def at(self, n: float) -> Floats:
        """The height of every curve at an amount of data."""
        return np.asarray(self.limit - self.scale * n ** (-self.power))

    def estimate(self, n: float, confidence: float = 0.95) -> Estimate:
        return _ranged(self.at(n), "power law", confidence)

    def gain(self, start: float, end: float, confidence: float = 0.95) -> Estimate:
        """How much higher the curve is at ``end`` than at ``start``."""
        return _ranged(self.at(end) - self.at(start), "rise of a power law", confidence)

    def limits(self, confidence: float = 0.95) -> Estimate:
        """What the curve approaches."""
        return _ranged(self.limit, "limit of a power law", confidence)


def fit_power_law(
    x: Sequence[float], y: Floats, weight: Sequence[float] | None = None, *, most: float | None = 1.0
) -> PowerLaw:
    """A power law for every row of ``y``; ``most`` is what no score can exceed, None where there is no such bound."""
    n, scores = np.asarray(x, np.float64), np.atleast_2d(np.asarray(y, np.float64))
    if n.size < LEAST_POINTS:
        raise InputError(
            f"A learning curve of {n.size} points cannot be fitted.", f"Try {LEAST_POINTS} or more amounts of data."
        )
    if (n <= 0).any() or np.unique(n).size < n.size or scores.shape[1] != n.size:
        raise InputError("The amounts of data of a learning curve must be above 0 and differ.", "Check the amounts.")
    share = np.full(n.size, 1.0) if weight is None else np.asarray(weight, np.float64)
    share = share / share.sum()
    centre = scores @ share
    best = np.full(len(scores), np.inf)
    limit, scale, power = centre.copy(), np.zeros(len(scores)), np.ones(len(scores))
    # Given c the curve is linear in a and b, so all rows are solved together at every c of the grid.
    for c in _POWERS:
        t = n**-c
        middle = float(t @ share)
        centred = t - middle
        slope = np.maximum(-(scores @ (share * centred)) / float(share @ centred**2), 0.0)
        a = centre + slope * middle
        if most is not None:
            over = a > most
            bound = np.maximum(((most - scores) @ (share * t)) / float(share @ t**2), 0.0)
            a, slope = np.where(over, most, a), np.where(over, bound, slope)
        error = (a[:, None] - slope[:, None] * t[None, :] - scores) ** 2 @ share
        better = error < best - 1e-15
        best = np.where(better, error, best)
        limit, scale = np.where(better, a, limit), np.where(better, slope, scale)
        power = np.where(better, c, power)
    return PowerLaw(limit, scale, power)


def _ranged(values: Floats, method: str, confidence: float) -> Estimate:
    point_estimate = Estimate(value=float(values[0]), method=method, counts={"resamples": max(values.size - 1, 0)})
    replicates = values[1:][np.isfinite(values[1:])]
    if replicates.size < 20:
        return point_estimate.without_interval("too few resamples")
    tail = 50.0 * (1.0 - confidence)
    low, high = np.percentile(replicates, [tail, 100.0 - tail])
    return point_estimate.with_interval(float(low), float(high), _INTERVAL, confidence)
