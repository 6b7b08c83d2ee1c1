"""Other name of ``probability``, kept apart so that importing a neighbour never hides
``stats.calibration``.
"""

from heartfelt.stats.probability import (
    Calibration,
    CalibrationBin,
    brier,
    calibration,
    expected_calibration_error,
)

__all__ = ["Calibration", "CalibrationBin", "brier", "calibration", "expected_calibration_error"]
