"""How sure strengths are: their covariance with raters and stimuli as samples.

Leaving a unit (a rater, a stimulus) out moves the estimates by about (I - I_u)^-1 s_u, where I is the information, I_u the unit's
part of it and s_u the unit's score: the step of Newton's method that removes the unit. The sum of squared moves is the jackknife
covariance. With very many units or contestants I_u is left out of the inverse, which matters little then, and the
sum is multiplied by n / (n - 1).
Raters and stimuli are combined as in :mod:`heartfelt.stats.two_way_jackknife`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.stats import _bounds
from heartfelt.stats.comparison.links import Derivatives
from heartfelt.stats.comparison.pairs import Comparisons
from heartfelt.stats.triples import Floats, Ints
from heartfelt.stats.two_way_jackknife import TwoWaySpread, effective

STEPS_AT_MOST = 2e9
"""Floating-point steps that may go into leaving units out one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """Covariances by what is resampled; None where that is not known. ``comparisons`` takes each for itself."""

    comparisons: Floats
    comparison_count: int
    raters: Floats | None = None
    rater_count: float = 0.0
    stimuli: Floats | None = None
    stimulus_count: float = 0.0

    @property
    def units(self) -> str:
        """What the intervals are over, in words."""
        known = [
            name for name, part in (("raters", self.raters), ("stimuli", self.stimuli)) if part is not None
        ]
        return " and ".join(known) or "comparisons"

    def variance(self, contrast: Floats) -> tuple[float, float]:
        """Variance of a linear combination of the parameters, and its degrees of freedom."""
        alone, raters, stimuli = (
            0.0 if part is None else float(contrast @ part @ contrast)
            for part in (self.comparisons, self.raters, self.stimuli)
        )
        if self.raters is not None and self.stimuli is not None:
            spread = TwoWaySpread(stimuli, raters, alone, self.stimulus_count, self.rater_count)
            return spread.variance, spread.df
        if self.raters is not None:
            return raters, max(self.rater_count - 1.0, 1.0)
        if self.stimuli is not None:
            return stimuli, max(self.stimulus_count - 1.0, 1.0)
        return alone, max(self.comparison_count - 1.0, 1.0)

    @property
    def total(self) -> Floats:
        """One covariance matrix for drawing parameters, positive semi-definite."""
        if self.raters is None or self.stimuli is None:
            known = self.raters if self.raters is not None else self.stimuli
            return self.comparisons if known is None else known
        values, vectors = np.linalg.eigh(self.raters - self.comparisons)
        beyond = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return np.asarray(self.stimuli + (1.0 + 4.0 / max(self.rater_count, 1.0)) * beyond)

    def bounds(self, value: float, contrast: Floats, confidence: float) -> tuple[float, float] | None:
        """Student's t interval about a value; None where nothing varies."""
        variance, df = self.variance(contrast)
        if variance <= 0:
            return None
        half = _bounds.t_quantile(confidence, df) * float(np.sqrt(variance))
        return value - half, value + half

    def p_value(self, value: float, contrast: Floats) -> float | None:
        """Two-sided p-value of the hypothesis that the combination is zero."""
        from scipy.special import stdtr

        variance, df = self.variance(contrast)
        return None if variance <= 0 else float(2.0 * stdtr(df, -abs(value) / np.sqrt(variance)))


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What each comparison adds to slope and information: by its difference of strengths, then by each border."""

    data: Comparisons
    size: int
    """Contestants; the borders come after them."""
    parts: Derivatives
    with_order: bool
    with_tie: bool

    def directions(self, rows: Ints | slice = slice(None)) -> tuple[Ints, Floats, Floats]:
        """Columns touched, slopes there and information there, for some comparisons."""
        first, second, parts = self.data.first[rows], self.data.second[rows], self.parts
        columns = [first, second]
        weights = [np.ones(first.size), -np.ones(first.size)]
        if self.with_order:
            columns.append(np.full(first.size, self.size))
            weights.append(np.ones(first.size))
        direction = np.column_stack(weights)
        slopes = parts.slope[rows][:, None] * direction
        information = parts.curvature[rows][:, None, None] * direction[:, :, None] * direction[:, None, :]
        if self.with_tie and parts.tie_slope is not None:
            columns.append(np.full(first.size, self.width - 1))
            slopes = np.column_stack([slopes, parts.tie_slope[rows]])
            cross = parts.tie_cross[rows][:, None] * direction  # type: ignore[index]  # comes with the slope
            own = parts.tie_curvature[rows][:, None]  # type: ignore[index]  # comes with the slope
            information = np.block([[information, cross[:, :, None]], [cross[:, None, :], own[:, :, None]]])
        return np.column_stack(columns), slopes, information

    @property
    def width(self) -> int:
        """Number of parameters."""
        return self.size + int(self.with_order) + int(self.with_tie)


def covariance(scores: Scores, information: Floats) -> Covariance:
    """Covariance of the parameters from what each comparison contributes."""
    inverse = np.linalg.inv(information)
    data = scores.data
    alone = inverse @ _single(scores) @ inverse * (data.size / max(data.size - 1.0, 1.0))
    parts: list[Floats | float | None] = []
    for codes, units in ((data.rater, data.raters), (data.stimulus, data.stimuli)):
        if codes is None or units < 2:
            parts += [None, 0.0]
        else:
            parts += [_by_unit(scores, information, inverse, codes, units), effective(np.bincount(codes))]
    return Covariance(alone, data.size, *parts)  # type: ignore[arg-type]  # matrices and counts in turn


def _single(scores: Scores) -> Floats:
    """The sum of the squared scores of single comparisons, added up by the columns they touch."""
    width = scores.width
    out = np.zeros(width * width)
    for start in range(0, scores.data.size, 100_000):
        columns, slopes, _ = scores.directions(slice(start, start + 100_000))
        for a in range(columns.shape[1]):
            for b in range(columns.shape[1]):
                key = columns[:, a] * width + columns[:, b]
                out += np.bincount(key, slopes[:, a] * slopes[:, b], minlength=width * width)
    return out.reshape(width, width)


def _by_unit(scores: Scores, information: Floats, inverse: Floats, codes: Ints, units: int) -> Floats:
    """Jackknife covariance over units: exact steps where that is affordable, first-order moves otherwise."""
    width = scores.width
    if units * width**3 / 3 > STEPS_AT_MOST:
        summed = _unit_slopes(scores, codes, units)
        return np.asarray(inverse @ (summed.T @ summed) @ inverse * (units / (units - 1.0)))
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(units + 1))
    moves = np.empty((units, width))
    for number in range(units):
        columns, slopes, part = scores.directions(order[starts[number] : starts[number + 1]])
        own, slope = np.zeros((width, width)), np.zeros(width)
        np.add.at(slope, columns, slopes)
        np.add.at(own, (columns[:, :, None], columns[:, None, :]), part)
        try:
            factor = np.linalg.cholesky(information - own)
            moves[number] = np.linalg.solve(factor.T, np.linalg.solve(factor, slope))
        except np.linalg.LinAlgError:
            # Without this unit some contestant is not connected; its own first-order move stands in.
            moves[number] = inverse @ slope
    moves -= moves.mean(axis=0)
    return np.asarray(moves.T @ moves * ((units - 1.0) / units))


def _unit_slopes(scores: Scores, codes: Ints, units: int) -> Floats:
    from scipy.sparse import csr_array

    columns, slopes, _ = scores.directions()
    rows = np.repeat(codes, columns.shape[1])
    shape = (units, scores.width)
    return np.asarray(csr_array((slopes.ravel(), (rows, columns.ravel())), shape=shape).toarray())
