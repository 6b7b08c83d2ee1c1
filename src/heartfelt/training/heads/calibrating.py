"""Prediction intervals that grow with the distance from what was trained on, calibrated on stimuli that were left out.

The half-width of a stimulus at distance ``d`` is ``q exp(b d)`` beyond an ordinary distance of 0, and ``q`` up to it. ``b``
is the slope of the log absolute error on the distance among left-out stimuli, never below 0: where errors do not grow with
the distance, intervals do not either. ``q`` is the conformal quantile of the errors divided by ``exp(b d)``, so that the
share of new labels inside stays what it should be whatever ``b``. Foreign stimuli (see
``heartfelt.predictors.trained.domain``) have no part in it: their interval is the whole scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.trained.domain import Domain
from heartfelt.predictors.trained.heads.head import growth
from heartfelt.training.heads.fitting import Floats, Ints

_STEEPEST = 1.5
_LEAST = 20


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """A calibrated domain, and where the stimuli it was calibrated on lay while they were left out."""

    domain: Domain
    distance: Floats
    foreign: npt.NDArray[np.bool_]


def foreign_to(domain: Domain, distance: Floats, outside: Floats) -> npt.NDArray[np.bool_]:
    """Which stimuli are unlike those a domain was made from."""
    return (distance > domain.distance_limit) | (outside > domain.outside_limit)


class Domains:
    """Domains of parts of the stimuli; the same part under the same plan is worked out once, however many questions ask."""

    def __init__(self, rows: npt.NDArray[np.float32], blocks: tuple[int, ...]) -> None:
        self.rows = rows
        self._blocks = blocks
        self._known: dict[tuple[bytes, bytes], Places] = {}

    def of(self, at: Ints, plan: Ints) -> Places:
        """The domain of the stimuli at these places, calibrated by leaving out each fold of the plan in turn."""
        names, folds = np.unique(plan, return_inverse=True)
        key = (at.tobytes(), folds.tobytes())
        if key not in self._known:
            rows = self.rows[at]
            near, outside = np.empty((len(rows), len(self._blocks))), np.empty(len(rows))
            for fold in range(names.size):
                out = folds == fold
                near[out], outside[out] = Domain.of(rows[~out], self._blocks).parts(rows[out])
            domain = Domain.of(rows, self._blocks).calibrated(near, outside)
            distance = domain.distance_from(near)
            self._known[key] = Places(domain, distance, foreign_to(domain, distance, outside))
        return self._known[key]


@dataclass(frozen=True, slots=True)
class Width:
    """How wide intervals are: ``half`` at distance 0, growing with ``slope``."""

    half: float
    slope: float

    def at(self, distance: Floats) -> Floats:
        return np.asarray(self.half * growth(self.slope, distance))


def width_of(gaps: Floats, positions: Places, confidence: float) -> Width:
    """The width from the absolute errors of left-out stimuli; NaN where a stimulus has no label."""
    used = np.isfinite(gaps) & ~positions.foreign
    # With too few familiar stimuli to calibrate by, the foreign ones count too.
    if used.sum() < _LEAST:
        used = np.isfinite(gaps)
    errors, distance = gaps[used], positions.distance[used]
    slope = _slope(errors, distance)
    return Width(conformal(errors / growth(slope, distance), confidence), slope)


def _slope(errors: Floats, distance: Floats) -> float:
    deviation = distance - distance.mean()
    spread = float(deviation @ deviation)
    if errors.size < _LEAST or spread < 1e-9:
        return 0.0
    # A twentieth of a typical error keeps an exact hit from deciding the slope.
    logs = np.log(errors + 0.05 * float(np.median(errors)) + 1e-9)
    return float(np.clip(deviation @ logs / spread, 0.0, _STEEPEST))


def conformal(errors: Floats, confidence: float) -> float:
    """The error that a share ``confidence`` of new ones stays under, with the finite-sample correction."""
    rank = int(np.ceil((errors.size + 1) * confidence))
    return float(np.sort(errors)[min(rank, errors.size) - 1])
