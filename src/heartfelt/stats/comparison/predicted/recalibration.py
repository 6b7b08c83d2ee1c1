"""Calibration of predicted choices: whether probabilities mean what they say.

After Cox (1958), among decided comparisons the log odds of the first are intercept + slope * logit(p / (1 - t)), with p the
predicted probability of the first and t that of a tie. A slope below 1 means overconfidence, above 1 timidity; an intercept
above 0 means that the first was chosen more often than predicted. Intervals are over raters and pairs, as those of
:mod:`heartfelt.stats.comparison.predicted.prediction`; units are left out by one Newton step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values
from heartfelt.stats.comparison.predicted.prediction import predicted_spread, predictions, with_spread
from heartfelt.stats.comparison.spread import sums_by
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.probability import Calibration, calibration

STEPS = 60


@dataclass(frozen=True, slots=True)
class ChoiceCalibration:
    """Whether probabilities mean what they say, among decided comparisons."""

    slope: Estimate
    """1 where probabilities are neither too sure nor too timid."""
    intercept: Estimate
    """0 where the first is chosen as often as predicted."""
    table: Calibration | None
    """Bins, expected calibration error and its test; the interval there is over single comparisons."""


def choice_calibration(
    rater: Ids | None,
    first: Ids,
    second: Ids,
    value: Values,
    probability: Values,
    *,
    tie: Values = None,
    stimulus: Ids | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> ChoiceCalibration:
    """Compare probabilities with decided comparisons; columns as in :func:`choice_scores`."""
    predicted = predictions(rater, first, second, value, None, probability, tie, stimulus, confidence)
    chance = predicted.first if predicted.tie is None else predicted.first / np.maximum(1.0 - predicted.tie, 1e-300)
    inside = (chance > 0) & (chance < 1)
    decided = predicted.data.value != 0.5
    counts = predicted.counts | {"decided": int(decided.sum())}
    table = None
    if decided.any():
        labels = predicted.data.value[decided].astype(np.int64)
        table = calibration(labels, np.clip(chance[decided], 0.0, 1.0), seed=seed, confidence=confidence)
    names = "calibration slope", "calibration intercept"
    reason = None
    if not decided.any():
        reason = "no comparison was decided"
    elif not inside[decided].all():
        reason = f"{int((~inside[decided]).sum())} predictions are certain (0 or 1) and have no log odds"
    elif np.ptp(chance[decided]) <= 1e-12:
        reason = "all predictions are the same"
    result = None
    if reason is None:
        result = _recalibrated(np.log(chance / (1 - chance)), predicted.data.value, decided)
        reason = None if result is not None else "a threshold on the predictions separates all choices"
    if result is None:
        slope, intercept = (Estimate.missing(reason or "", name, counts) for name in names)
        return ChoiceCalibration(slope, intercept, table)
    intercept, slope = (
        with_spread(
            Estimate(value=float(result.at[k]), method=names[1 - k], counts=counts),
            predicted_spread(predicted, partial(result.without_of, k), decided),
            "identity",
            predicted,
        )
        for k in (0, 1)
    )
    return ChoiceCalibration(slope, intercept, table)


@dataclass(frozen=True, slots=True, eq=False)
class _Recalibrated:
    """Intercept and slope of a logistic regression, with each row's part of the slope of the likelihood and the information."""

    at: Floats
    scores: Floats
    information: Floats

    def without(self, codes: Ints, count: int) -> Floats:
        """Intercept and slope without each unit, by one Newton step."""
        score, unit_information = (
            np.column_stack([sums_by(codes, column, count) for column in part.T])
            for part in (self.scores, self.information)
        )
        a, b, c = (self.information.sum(axis=0) - unit_information).T
        determinant = np.maximum(a * c - b * b, 1e-300)
        moves = np.column_stack([c * score[:, 0] - b * score[:, 1], a * score[:, 1] - b * score[:, 0]])
        return np.asarray(self.at - moves / determinant[:, None])

    def without_of(self, parameter: int, codes: Ints, count: int) -> Floats:
        return self.without(codes, count)[:, parameter]


def _recalibrated(odds: Floats, value: Floats, used: Any) -> _Recalibrated | None:
    """Fit the value to log odds where ``used``; None where no finite maximum exists."""
    from scipy.special import expit

    at, rows = np.zeros(2), used * 1.0
    spread = float(odds[used].std())
    for _ in range(STEPS):
        chance = expit(at[0] + at[1] * odds)
        residual, weight = rows * (value - chance), rows * chance * (1 - chance)
        scores = np.column_stack([residual, residual * odds])
        information = np.column_stack([weight, weight * odds, weight * odds * odds])
        a, b, c = information.sum(axis=0)
        if a * c - b * b <= 1e-12 * a * c or abs(at[1]) * spread > 50:
            return None
        step = np.linalg.solve(np.array([[a, b], [b, c]]), scores.sum(axis=0))
        if np.abs(step).max() < 1e-10:
            return _Recalibrated(at, scores, information)
        at = at + step * min(1.0, 5.0 / max(float(np.abs(step * [1.0, spread]).max()), 1e-300))
    return None
