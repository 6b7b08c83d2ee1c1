"""From variance components on the scale to a latent normal scale, and back.

A simulated answer is a sum of normal parts (system, intent, cell, stimulus, rater, residual; variance about 1 in all)
that is cut into the points of the scale, so that every answer comes as often as in the pilot. Cutting weakens correlations: if two
latent values correlate with r, the answers correlate with

    g(r) = sum over k of c_k^2 r^k,

c_k being the Hermite coefficients of the cutting function over its standard deviation (Lancaster 1957). So the latent
parts are chosen such that the *answers* have the wanted components: two answers about one stimulus correlate with
g(system + intent + cell + stimulus), two about different stimuli of one cell with g(system + intent + cell), and so on.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

_TERMS = 120
_GRID = np.linspace(0.0, 1.0, 401)
_SPREADS = np.linspace(0.5, 2.0, 301)


@dataclass(frozen=True)
class ScaleUse:
    """How often each answer is given, in the order of the values."""

    values: tuple[float, ...]
    shares: tuple[float, ...]

    @cached_property
    def cuts(self) -> Floats:
        """The latent values between two answers; the last is infinite."""
        from scipy.special import ndtri

        upto = np.clip(np.cumsum(self.shares), 0.0, 1.0)
        cuts = np.asarray(ndtri(upto), np.float64)
        cuts[-1] = np.inf
        return cuts

    @cached_property
    def mean(self) -> float:
        return float(np.dot(self.values, self.shares))

    @cached_property
    def variance(self) -> float:
        return float(np.dot(np.square(np.asarray(self.values) - self.mean), self.shares))

    @cached_property
    def _of_latent(self) -> Floats:
        """Correlations of answers at latent correlations on the grid."""
        cuts = self.cuts[:-1]
        steps = np.diff(np.asarray(self.values))
        density = np.exp(-cuts * cuts / 2.0) / math.sqrt(2.0 * math.pi)
        # Normalised Hermite functions h_k / sqrt(k!); the k-th coefficient of a step at a cut is h_{k-1} density / sqrt(k).
        before, now = np.zeros_like(cuts), np.ones_like(cuts)
        squares = np.zeros(_TERMS + 1)
        for k in range(1, _TERMS + 1):
            squares[k] = float(np.dot(steps, now * density)) ** 2 / k
            before, now = now, (cuts * now - math.sqrt(k - 1.0) * before) / math.sqrt(k)
        powers = _GRID[:, None] ** np.arange(_TERMS + 1)
        out = powers @ squares / self.variance
        # What the finite sum leaves out belongs to correlations near one.
        return np.asarray(out + (1.0 - out[-1]) * _GRID**_TERMS)

    def latent(self, correlation: Floats | float) -> Floats:
        """The latent correlation that gives answers this correlation; 0 for 0 or less."""
        return np.asarray(np.interp(correlation, self._of_latent, _GRID), np.float64)

    @cached_property
    def _of_spread(self) -> Floats:
        """Variances of the answers at latent standard deviations on the grid of spreads."""
        from scipy.special import ndtr

        above = ndtr(-self.cuts[:-1] / _SPREADS[:, None])
        steps, values = np.diff(np.asarray(self.values)), np.asarray(self.values)
        mean = values[0] + above @ steps
        return np.asarray(values[0] ** 2 + above @ np.diff(values**2) - mean**2)

    def spread_for(self, variances: Floats) -> Floats:
        """The latent standard deviations that give answers these variances, between a half and two."""
        rising = np.maximum.accumulate(self._of_spread)
        return np.asarray(np.interp(variances, rising, _SPREADS), np.float64)

    def shifted_means(self, shifts: Floats, variance: float) -> Floats:
        """The mean answer where the latent mean is ``shifts`` and the latent variance ``variance``."""
        from scipy.special import ndtr

        steps = np.diff(np.asarray(self.values))
        above = ndtr((shifts[..., None] - self.cuts[:-1]) / math.sqrt(variance))
        return np.asarray(self.values[0] + above @ steps, np.float64)

    def shift_for(self, difference: Floats, variance: float) -> Floats:
        """The latent shifts that move the mean answer by ``difference`` points; NaN beyond the scale."""
        grid = np.linspace(-5.0, 5.0, 1001)
        means = self.shifted_means(grid, variance)
        wanted = float(self.shifted_means(np.zeros(1), variance)[0]) + difference
        return np.asarray(np.interp(wanted, means, grid, left=np.nan, right=np.nan), np.float64)

    def onto(self, old: tuple[float, float], values: tuple[float, ...]) -> ScaleUse:
        """The same use of another scale: every answer is spread evenly over its step and collected in the new steps."""
        new = np.asarray(values)
        stretch = (new[-1] - new[0]) / (old[1] - old[0])
        positions = new[0] + (np.asarray(self.values) - old[0]) * stretch
        half = np.diff(positions).mean() / 2.0 if positions.size > 1 else 1.0
        edges = np.append(positions - half, positions[-1] + half)
        upto = np.append(0.0, np.cumsum(self.shares))
        limits = (new[1:] + new[:-1]) / 2.0
        inner = np.interp(limits, edges, upto, left=0.0, right=1.0)
        shares = np.diff(np.concatenate([[0.0], inner, [1.0]]))
        shares = np.maximum(shares, 1e-4)
        return ScaleUse(tuple(new.tolist()), tuple((shares / shares.sum()).tolist()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Variances of one rating in squared points of the scale, of raters who pay attention."""

    system: float
    intent: float
    cell: float
    """The interaction of system and intent."""
    stimulus: float
    """Stimuli of the same system and intent."""
    rater: float
    residual: float
    gain: float = 0.0
    """Variance between raters of how strongly they respond to differences between stimuli, 1 being usual; part of the residual."""
    taste: float = 0.0
    """Variance of what raters think of a system beyond what everybody does."""

    @property
    def total(self) -> float:
        return self.system + self.intent + self.cell + self.stimulus + self.rater + self.residual + self.taste

    @property
    def as_array(self) -> Floats:
        return np.array(
            [*(self.system, self.intent, self.cell, self.stimulus, self.rater, self.residual), *(self.gain, self.taste)]
        )

    def scaled(self, factor: float) -> Components:
        """The components in other units; gains have none."""
        return replace(Components(**{name: value * factor for name, value in asdict(self).items()}), gain=self.gain)


def latent_parts(use: ScaleUse, components: Floats) -> Floats:
    """Latent variances for each row of components: system, intent, cell, stimulus, rater and residual, the variance of raters'
    gains, whose part of the residual is taken out of it, and that of tastes. The sum is what gives answers the components'
    total variance: about 1 where that is the variance of the scale's use.
    """
    total = components[:, :6].sum(axis=1) + components[:, 7]
    share = components / np.where(total > 0, total, 1.0)[:, None]
    taste = use.latent(share[:, 4] + share[:, 7]) - use.latent(share[:, 4])
    system, intent, rater = (use.latent(share[:, k]) for k in (0, 1, 4))
    # Cutting weakens sums and parts differently, so each part is what its sum has beyond the smaller sum.
    in_cell = use.latent(share[:, :3].sum(axis=1))
    in_stimulus = use.latent(share[:, :4].sum(axis=1))
    cell = np.maximum(in_cell - system - intent, 0.0)
    stimulus = np.maximum(in_stimulus - system - intent - cell, 0.0)
    parts = np.column_stack([system, intent, cell, stimulus, rater, taste])
    explained = parts.sum(axis=1)
    parts *= np.where(explained > 0.999, 0.999 / np.maximum(explained, 1e-12), 1.0)[:, None]
    residual, conveyed = 1.0 - parts.sum(axis=1), parts[:, :4].sum(axis=1)
    # Gains are part of the residual, at most nine tenths of it.
    gain = np.minimum(components[:, 6], 0.9 * residual / np.maximum(conveyed, 1e-9))
    spread = use.spread_for(total)[:, None] ** 2
    with_residual = np.column_stack([parts[:, :5], residual - gain * conveyed])
    return np.column_stack([spread * with_residual, gain, spread[:, 0] * parts[:, 5]])


def latent_total(parts: Floats) -> Floats:
    """The latent variance of one answer, for each row of ``latent_parts``."""
    return np.asarray(parts[:, :6].sum(axis=1) + parts[:, 7] + parts[:, 6] * parts[:, :4].sum(axis=1))
