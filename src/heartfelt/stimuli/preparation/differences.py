"""How systems differ in what no system was asked for: loudness, duration, brightness, voices, speech rate.

Each of them drives arousal whatever a system conveys, so every measure of a preparation is tested for differences between systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heartfelt.stats._bounds import t_mean
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference.variance_tables import AnovaRow, anova


@dataclass(frozen=True, slots=True)
class SystemDifference:
    """How a measure differs between systems, before or after preparation."""

    measure: str
    n: int
    test: AnovaRow
    means: Mapping[str, Estimate]


def system_difference(measure: str, rows: Sequence[tuple[str, float]]) -> SystemDifference | None:
    """Test a measure, given as pairs of system and value; None with fewer than two systems."""
    groups = {system: [value for row_system, value in rows if row_system == system] for system, _ in rows}
    if len(groups) < 2:
        return None
    (row,) = anova([value for _, value in rows], {"system": [system for system, _ in rows]}).rows
    means = {system: _mean(group) for system, group in sorted(groups.items())}
    return SystemDifference(measure, len(rows), row, means)


def _mean(values: Sequence[float]) -> Estimate:
    estimate = Estimate(value=float(np.mean(values)), method="mean over stimuli", counts={"stimuli": len(values)})
    ends = t_mean(np.array(values), 0.95)
    return estimate if ends is None else replace(estimate, low=ends[0], high=ends[1], interval="Student's t")
