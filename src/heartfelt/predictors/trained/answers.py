"""How the answers of different people to one stimulus spread, and how well a predicted distribution of answers does.

Conventions: a person's answer is a point of the scale; a predicted distribution is that of a normal answer put on the nearest
point, the ends of the scale taking what lies beyond them. The *continuous ranked probability score* (CRPS) of a distribution
``F`` and an answer ``y`` is the sum over the points of ``(F(k) - [y <= k])^2`` times the distance between points, in points of
the scale; smaller is better, 0 is an answer predicted with certainty. The *ceiling* is the score expected of whoever knows
exactly what each stimulus conveys and how people differ, but not who answers: ``F (1 - F)`` summed over the points.

Source: T. Gneiting and A. E. Raftery (2007), *Strictly proper scoring rules, prediction, and estimation*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSpread:
    """Standard deviations of raters' biases, gains and noise; gains turn around ``centre``."""

    centre: float
    bias: float
    gain: float
    noise: float
    error: float = 0.0
    """The standard deviation of the prediction's own error."""

    def sd(self, value: npt.ArrayLike) -> Floats:
        """The standard deviation of single answers to stimuli with these predicted values."""
        from_centre = np.asarray(value, np.float64) - self.centre
        squared_error = self.error**2
        return np.asarray(
            np.sqrt(self.bias**2 + self.gain**2 * (from_centre**2 + squared_error) + self.noise**2 + squared_error),
            np.float64,
        )


def shares(value: npt.ArrayLike, sd: npt.ArrayLike, points: Floats) -> Floats:
    """The probability of every point of the scale, one row per value."""
    return np.asarray(np.diff(_cumulative(value, sd, points), axis=1, prepend=0.0))


def crps(value: npt.ArrayLike, sd: npt.ArrayLike, points: Floats, answer: npt.ArrayLike) -> Floats:
    """The score of each answer under its predicted distribution."""
    return crps_of(_cumulative(value, sd, points), points, answer)


def crps_of(cumulative: Floats, points: Floats, answer: npt.ArrayLike) -> Floats:
    """The same from probabilities of answers up to each point."""
    reached = np.asarray(answer, np.float64)[:, None] <= points[None, :] + 1e-9
    return np.asarray((((cumulative - reached) ** 2)[:, :-1] * np.diff(points)).sum(axis=1))


def crps_expected(value: npt.ArrayLike, sd: npt.ArrayLike, points: Floats) -> Floats:
    """The score a distribution expects of itself: the ceiling where value and sd are the true ones."""
    cumulative = _cumulative(value, sd, points)
    return np.asarray(((cumulative * (1.0 - cumulative))[:, :-1] * np.diff(points)).sum(axis=1))


def _cumulative(value: npt.ArrayLike, sd: npt.ArrayLike, points: Floats) -> npt.NDArray[Any]:
    from scipy.special import ndtr

    edges = (points[:-1] + points[1:]) / 2
    mean, spread = (np.asarray(part, np.float64).reshape(-1, 1) for part in (value, sd))
    below = ndtr((edges[None, :] - mean) / np.maximum(spread, 1e-9))
    return np.concatenate([below, np.ones((len(below), 1))], axis=1)
