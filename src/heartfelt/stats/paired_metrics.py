"""Two predictions of the same labels: how much their metric differs, whether that can be told, and what would tell.

The difference has the interval of ``bootstrap_difference``. Its standard error comes from the influence values of both
(each row's, or each cluster's where ``group`` is given), and the test is Student's t on it with one degree of freedom
less than there are rows or clusters. ``needed`` is how many of them would show a difference of the size seen with the
given power, were the spread to stay as it is; it says nothing where the difference is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from heartfelt.stats import _bounds
from heartfelt.stats._metrics import metric_called
from heartfelt.stats._paired import Column
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.resample import _cluster_sums, _common_rows, _grouped, bootstrap_difference

POWER = 0.8


@dataclass(frozen=True, slots=True)
class Difference:
    """The metric of the first less that of the second, its test, and how many units would tell them apart."""

    estimate: Estimate
    p: Estimate
    standard_error: float | None
    units: int
    """Rows, or clusters: what was resampled."""

    def needed(self, alpha: float = 0.05, power: float = POWER) -> Estimate:
        """How many units in all would show a difference of this size, two-sided at ``alpha``."""
        name = f"units for {power:.0%} power at alpha {alpha:g}"
        if self.estimate.value is None or self.standard_error is None:
            return Estimate.missing(self.p.why_missing or "no difference is known", name)
        if self.estimate.value == 0:
            return Estimate.missing("there is no difference to show", name)
        from scipy.special import ndtri

        reach = float(ndtri(1 - alpha / 2) + ndtri(power))
        units = self.units * (reach * self.standard_error / self.estimate.value) ** 2
        counts = {"units": self.units}
        return Estimate(
            math.ceil(units - 1e-9), method=name, counts=counts, why_no_interval="a plan, not an estimate"
        )

    def to_json(self) -> dict[str, Any]:
        """A plain object."""
        return {
            "difference": self.estimate.to_json(),
            "p": self.p.to_json(),
            "standard_error": self.standard_error,
            "n_units": self.units,
        }


def metric_difference(
    metric: str,
    x: Column,
    first: Column,
    second: Column,
    *,
    group: Column | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Difference:
    """Compare two predictions against the same labels ``x``; rows that lack either are left out of both."""
    chosen = metric_called(metric)
    estimate = bootstrap_difference(
        metric, x, first, second, group=group, resamples=resamples, seed=seed, level=level
    )
    name = f"p-value, t test on influence values, {chosen.name}"
    if estimate.value is None:
        gone = Estimate.missing(estimate.why_missing or "", name, estimate.counts)
        return Difference(estimate, gone, None, 0)
    one, two, kept = _common_rows(chosen, x, first, second, group)
    data, unit, units = _grouped(chosen, *one, kept)
    other, _, _ = _grouped(chosen, *two, kept)
    pull = _cluster_sums(chosen.influence(data) - chosen.influence(other), unit, units)
    if pull.size < 3:
        gone = Estimate.missing(f"{pull.size} to resample; at least 3 are needed", name, estimate.counts)
        return Difference(estimate, gone, None, int(pull.size))
    error = _bounds.influence_error(pull)
    if not (math.isfinite(error) and error > 1e-12 * max(1.0, float(np.abs(pull).max()))):
        gone = Estimate.missing("the two predictions do not differ", name, estimate.counts)
        return Difference(estimate, gone, None, int(pull.size))
    from scipy.special import stdtr

    p = 2 * float(stdtr(pull.size - 1, -abs(float(estimate)) / error))
    value = Estimate(p, method=name, counts=estimate.counts, why_no_interval="a p-value")
    return Difference(estimate, value, error, int(pull.size))
