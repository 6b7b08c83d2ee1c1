"""How sure strengths are: their covariance with raters and stimuli as samples.

Leaving a unit (a rater, a stimulus) out moves the estimates by about (I - I_u)^-1 s_u, where I is the information, I_u the unit's
part of it and s_u the unit's score: the step of Newton's method that removes the unit. The sum of squared moves is the jackknife
covariance. With very many units or contestants I_u is left out of the inverse, which matters little then, and the
sum is multiplied by n / (n - 1).
Raters and stimuli are combined as in :mod:`heartfelt.stats.reliability.two_way_jackknife`. A few stimuli that happen to agree would
make intervals too short, so the variance over stimuli is never taken to be below that of independent answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from heartfelt.stats import _bounds
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.two_way_jackknife import TwoWaySpread, effective, jackknife_variance, rater_factor

MANY = 1e12
"""Degrees of freedom that make Student's t a normal distribution."""
ROUNDING = 1e-20
"""A variance below this share of what the information allows is rounding: nothing varies."""
STEPS_AT_MOST = 3e8
"""Floating-point steps that may go into leaving units out one by one."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Covariance:
    """Covariances by what is a sample; None where that is not known.

    ``model`` is what the model itself says of independent answers, on which intervals rest where neither raters nor stimuli
    are known; ``answers`` is its counterpart from the answers' own spread, needed where both are. A contrast is a linear
    combination of parameters: weights by place.
    """

    model: Floats
    df: float
    answers: Floats | None = None
    answer_count: float = 0.0
    raters: Floats | None = None
    rater_count: float = 0.0
    stimuli: Floats | None = None
    stimulus_count: float = 0.0

    @property
    def interval(self) -> str:
        """How intervals are made, in words."""
        sources = [name for name, part in (("raters", self.raters), ("stimuli", self.stimuli)) if part is not None]
        return f"jackknife over {' and '.join(sources)}" if sources else "information of the model"

    def variance(self, contrast: Mapping[int, float]) -> tuple[float, float]:
        """Variance of a contrast, and its degrees of freedom."""
        if self.raters is not None and self.stimuli is not None and self.answers is not None:
            stimuli, raters, alone = (_form(part, contrast) for part in (self.stimuli, self.raters, self.answers))
            # Where stimuli vary less than independent answers would, the answers are what the variance is known from.
            count = self.stimulus_count if stimuli >= alone else max(self.answer_count, self.stimulus_count)
            spread = TwoWaySpread(
                items=max(stimuli, alone), raters=raters, ratings=alone, item_count=count, rater_count=self.rater_count
            )
            return spread.variance, spread.df
        if self.raters is not None:
            return _form(self.raters, contrast), max(self.rater_count - 1.0, 1.0)
        if self.stimuli is not None:
            return _form(self.stimuli, contrast), max(self.stimulus_count - 1.0, 1.0)
        return _form(self.model, contrast), self.df

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the covariance as a whole: of whichever sample is smaller."""
        parts = ((self.raters, self.rater_count), (self.stimuli, self.stimulus_count))
        freedoms = [count - 1.0 for part, count in parts if part is not None]
        return max(min(freedoms, default=self.df), 1.0)

    @property
    def total(self) -> Floats:
        """One covariance matrix for drawing parameters, positive semi-definite."""
        if self.raters is None or self.stimuli is None or self.answers is None:
            one_way = self.raters if self.raters is not None else self.stimuli
            return self.model if one_way is None else one_way
        beyond, missing = (
            _positive(part - inner) for part, inner in ((self.raters, self.answers), (self.answers, self.stimuli))
        )
        return np.asarray(self.stimuli + missing + rater_factor(self.rater_count) * beyond)

    def bounds(self, value: float, contrast: Mapping[int, float], confidence: float) -> tuple[float, float] | None:
        """Student's t interval about a value; None where nothing varies."""
        variance, df = self.variance(contrast)
        if variance <= 0:
            return None
        quantile = _bounds.normal_quantile(confidence) if df >= MANY else _bounds.t_quantile(confidence, df)
        half = quantile * float(np.sqrt(variance))
        return value - half, value + half

    def p_value(self, value: float, contrast: Mapping[int, float]) -> float | None:
        """Two-sided p-value of the hypothesis that the combination is zero."""
        variance, df = self.variance(contrast)
        return None if variance <= 0 else _bounds.p_of_t(value / math.sqrt(variance), df)


def _positive(matrix: Floats) -> Floats:
    """The positive part of a symmetric matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _form(matrix: Floats, contrast: Mapping[int, float]) -> float:
    indices, weights = list(contrast), np.array(list(contrast.values()))
    return float(weights @ matrix[np.ix_(indices, indices)] @ weights)


class Contributions(Protocol):
    """What single answers (comparisons, rankings, choices) add to the slope and the information of a model."""

    @property
    def width(self) -> int:
        """Number of parameters."""

    @property
    def contestants(self) -> int:
        """Parameters that are strengths; they come first."""

    def squares(self) -> Floats:
        """The sum over answers of the outer product of an answer's slope with itself."""

    def by_unit(self, codes: Ints, units: int) -> Floats:
        """The slope of each unit's answers."""

    def part(self, rows: Ints) -> tuple[Floats, Floats]:
        """Slope and information of some answers."""


def covariance(
    answers: Contributions,
    information: Floats,
    count: int,
    rater: tuple[Ints, int] | None,
    stimulus: tuple[Ints, int] | None,
    dispersion: float = 1.0,
    df: float = MANY,
) -> Covariance:
    """Covariance of the parameters from what each of ``count`` answers contributes.

    ``dispersion`` is the variance of an answer where the model leaves it open, estimated with ``df`` degrees of freedom.
    """
    inverse = np.asarray(np.linalg.inv(information), np.float64)
    raters, rater_count = _over(answers, information, inverse, rater)
    stimuli, stimulus_count = _over(answers, information, inverse, stimulus)
    alone = None
    if raters is not None and stimuli is not None:
        alone = inverse @ answers.squares() @ inverse * (count / max(count - 1.0, 1.0))
    model = dispersion * _centred(inverse, answers)
    for part in (model, raters, stimuli, alone):
        # Moves that are rounding would make intervals of no width look like knowledge.
        if part is not None and np.diag(part).max() < ROUNDING * np.diag(inverse).max():
            part[:] = 0.0
    return Covariance(
        model=model,
        df=df,
        answers=alone,
        answer_count=float(count),
        raters=raters,
        rater_count=rater_count,
        stimuli=stimuli,
        stimulus_count=stimulus_count,
    )


def _centred(inverse: Floats, answers: Contributions) -> Floats:
    """The inverse without the constant that made the information invertible: strengths are known relative to their mean."""
    size = answers.contestants
    project = np.eye(answers.width)
    project[:size, :size] -= 1.0 / size
    return np.asarray(project @ inverse @ project)


def _over(
    answers: Contributions, information: Floats, inverse: Floats, unit: tuple[Ints, int] | None
) -> tuple[Floats | None, float]:
    """Jackknife covariance over units: exact steps where that is affordable, first-order moves otherwise."""
    if unit is None or unit[1] < 2:
        return None, 0.0
    from scipy.linalg import cho_factor, cho_solve

    from heartfelt.stats.compiled._kernels_reliability import group

    codes, units = unit
    count = effective(np.bincount(codes))
    width = answers.width
    if units * width**3 / 3 > STEPS_AT_MOST:
        summed = answers.by_unit(codes, units)
        return np.asarray(inverse @ (summed.T @ summed) @ inverse * (units / (units - 1.0))), count
    starts, order = group(codes, units)
    moves = np.empty((units, width))
    for number in range(units):
        slope, unit_information = answers.part(order[starts[number] : starts[number + 1]])
        try:
            moves[number] = cho_solve(cho_factor(information - unit_information, check_finite=False), slope)
        except np.linalg.LinAlgError:
            # Without this unit some contestant is not connected; its own first-order move stands in.
            moves[number] = inverse @ slope
    moves -= moves.mean(axis=0)
    return np.asarray(moves.T @ moves * ((units - 1.0) / units)), count


def without_each(top: Any, bottom: Any) -> Floats:
    """The ratio of two sums without each of their parts, where others remain."""
    remaining = bottom.sum() - bottom
    return np.asarray((top.sum() - top)[remaining > 0] / remaining[remaining > 0])


def ratio_over_raters(
    estimate: Estimate, top: Any, bottom: Any, confidence: float, scale: tuple[float, float]
) -> Estimate | None:
    """A ratio of sums over raters with its jackknife interval, cut to the scale; None where nothing varies between raters."""
    used = bottom > 0
    variance = jackknife_variance(without_each(top[used], bottom[used]))
    if variance <= 0:
        return None
    wide = _bounds.with_t(estimate, math.sqrt(variance), int(used.sum()) - 1, "jackknife over raters", confidence)
    return replace(wide, low=max(float(wide.low or 0.0), scale[0]), high=min(float(wide.high or 0.0), scale[1]))


def sums_by(codes: Ints, part: Any, count: int) -> Floats:
    """The sums of a part by unit; with two rows of codes, a part belongs to both its units."""
    if codes.ndim == 1:
        return np.asarray(np.bincount(codes, part, minlength=count), np.float64)
    return sums_by(codes[0], part, count) + sums_by(codes[1], part, count)


def without_units(top: Any, bottom: Any, codes: Ints, count: int) -> Floats:
    """The ratio of two sums without each unit that is in it, where others remain."""
    above, below = (sums_by(codes, part, count) for part in (top, bottom))
    remaining = bottom.sum() - below
    usable = (below > 0) & (remaining > 1e-9)
    return np.asarray((top.sum() - above)[usable] / remaining[usable])


def shared_members(of_pairs: float, of_members: float) -> float:
    """The variance of a statistic of pairs some of which share a member, from leaving out each pair and each member.

    Leaving out a member removes all its pairs and counts every pair twice, once for each member: less the variance of the
    pairs alone, it has the products of all pairs that share a member, as robust variances of dyads do (Fafchamps and Gubert
    2007; Aronow, Samii and Assenova 2015). Where no pair shares a member it is that of the pairs.
    """
    return max(of_members - of_pairs, of_pairs)


def crossed_spread(top: Any, bottom: Any, item: tuple[Ints, int], rater: tuple[Ints, int]) -> TwoWaySpread:
    """How far the ratio of two sums over answers varies with items, raters and single answers."""
    used, sides = bottom > 0, (item, rater)
    items, raters = (jackknife_variance(without_units(top, bottom, *side)) for side in sides)
    ratings = jackknife_variance(without_each(top[used], bottom[used]))
    item_count, rater_count = (effective(np.bincount(codes[used], minlength=count)) for codes, count in sides)
    return TwoWaySpread(items=items, raters=raters, ratings=ratings, item_count=item_count, rater_count=rater_count)
