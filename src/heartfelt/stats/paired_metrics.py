"""Two predictions of the same labels: how much their metric differs, whether the data show it, and how many more would.

Interval and p-value come from one spread (``heartfelt.stats.jackknife``): rows, or whole clusters where ``group`` is given,
are left out one at a time, and the difference has a Student t interval and test with the same standard error and degrees of
freedom. So p < .05 exactly when the 95% interval leaves out 0. For a metric that is a mean this is the paired t test.
``needed`` is how many units would show a difference of the size seen with the given power, if the spread stays as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heartfelt.stats import _bounds
from heartfelt.stats._metrics import Metric, Rows, metric_called, rows
from heartfelt.stats._paired import Column, counted
from heartfelt.stats._replicates import Sample, full_value
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.jackknife import (
    EXACT_LIMIT,
    FEW_UNITS,
    LEAST_UNITS,
    Spread,
    cluster_df,
    cluster_sums,
    leave_out,
    unit_codes,
)
from heartfelt.stats.triples import Ints, as_array

POWER = 0.8


@dataclass(frozen=True, slots=True)
class Difference:
    """The metric of the first less that of the second, its test, and how many units would show it."""

    estimate: Estimate
    p: Estimate
    standard_error: float | None
    units: int
    """Rows, or clusters: what was left out in turn."""
    df: float | None = None
    spread: Spread | None = None
    metric: Metric | None = None

    def at(self, confidence: float, label: str = "") -> Estimate:
        """The difference with an interval at another confidence; ``label`` says what for."""
        if self.spread is None or self.spread.why_none or self.estimate.value is None:
            return self.estimate
        plain = replace(self.estimate, low=None, high=None, counts=dict(self.estimate.counts))
        found = self.spread.estimate(plain, confidence)
        found = found if self.metric is None else _possible(found, self.metric)
        name = found.interval + (f", {label}" if label else "")
        return replace(found, interval=name, counts=dict(found.counts))

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
            "df": self.df,
            "n_units": self.units,
        }


def metric_difference(
    metric: str,
    x: Column,
    first: Column,
    second: Column,
    *,
    group: Column | None = None,
    confidence: float = 0.95,
) -> Difference:
    """Compare two predictions against the same labels ``x``; rows that lack either are left out of both."""
    chosen = metric_called(metric)
    name, test = f"difference of {chosen.name}", f"p-value of the difference of {chosen.name}"
    label, one, two = as_array(x), as_array(first), as_array(second)
    both = rows(chosen, label, one).kept & rows(chosen, label, two).kept
    data, other = rows(chosen, label[both], one[both]), rows(chosen, label[both], two[both])
    unit, units = unit_codes(both.size, both, group)
    counts = counted(data.n, int(both.size - data.n)) | ({"clusters": units} if unit is not None else {})
    why = chosen.undefined(data) or chosen.undefined(other)
    if why:
        return Difference(Estimate.missing(why, name, counts), Estimate.missing(why, test, counts), None, 0)
    value = full_value(chosen, Sample(data)) - full_value(chosen, Sample(other))
    plain = Estimate(value, method=name, counts=counts)
    spread = _spread(chosen, value, (data, other), unit, units)
    found = _possible(spread.estimate(plain, confidence), chosen)
    p = spread.p(0.0)
    if p is None:
        gone = Estimate.missing(spread.why_none or "", test, counts)
        return Difference(found, gone, None, units, spread=spread, metric=chosen)
    tested = Estimate(p, method=f"{test}, {spread.name}", counts=counts, why_no_interval="a p-value")
    return Difference(found, tested, spread.error, units, spread.df, spread, chosen)


def _possible(found: Estimate, metric: Metric) -> Estimate:
    """Bounds no further out than the metric's range allows: 2 for correlations, 1 for shares."""
    most = {"fisher": 2.0, "logit": 1.0}.get(metric.transform)
    if most is None or found.low is None or found.high is None:
        return found
    return found.with_interval(max(found.low, -most), min(found.high, most), found.interval, found.confidence)


def _spread(metric: Metric, value: float, both: tuple[Rows, Rows], unit: Ints | None, units: int) -> Spread:
    data, other = both
    what = "pair" if unit is None else "cluster"
    if units < LEAST_UNITS:
        why = f"{units} {what}{'' if units == 1 else 's'}; at least {LEAST_UNITS} are needed"
        return Spread(value, "identity", units, why_none=why)
    exact = units <= FEW_UNITS or data.n * units <= EXACT_LIMIT
    if exact:
        left = [leave_out(metric, side, unit, units) for side in both]
        moved = left[0] - left[1] - value
        if not np.isfinite(moved).all():
            why = f"without one of the {what}s the metric is undefined"
            return Spread(value, "identity", units, why_none=why)
        error = math.sqrt((units - 1) / units * float(moved @ moved))
    else:
        moved = cluster_sums(metric.influence(data) - metric.influence(other), unit, units)
        error = _bounds.influence_error(moved)
    if not error > 1e-12 * max(1.0, abs(value)):
        why = (
            "the two predictions do not differ"
            if abs(value) < 1e-12
            else f"every {what} shows the same difference"
        )
        return Spread(value, "identity", units, why_none=why)
    df = units - 1.0 if unit is None else cluster_df(np.bincount(unit, minlength=units))
    how = ("jackknife" if exact else "influence values") + (" over clusters" if unit is not None else "")
    return Spread(value, "identity", units, error, df, how=how)
