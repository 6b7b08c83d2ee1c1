"""Whether generated clips convey what they were meant to, predicted: deviations, slopes and quadrants by system.

The predictor's own error is part of every interval.
"""

from __future__ import annotations

from heartfelt.moved import with_former_names
from heartfelt.scoring.conveyance.clips import Conveyed, clips_of, convey
from heartfelt.scoring.conveyance.predicted import (
    CellDeviation,
    Evidence,
    KnownError,
    PredictedConveyance,
    PredictedQuadrants,
    SystemDeviation,
    SystemSlope,
    predicted_conveyance,
)

__all__ = [
    "CellDeviation",
    "Conveyed",
    "Evidence",
    "KnownError",
    "PredictedConveyance",
    "PredictedQuadrants",
    "SystemDeviation",
    "SystemSlope",
    "clips_of",
    "convey",
    "predicted_conveyance",
]

__getattr__ = with_former_names(__name__)
