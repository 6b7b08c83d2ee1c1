"""Intervals and tests of a metric from leaving out one row, or one whole cluster, at a time.

The same spread gives the interval and the p-value, so that p < .05 exactly when the 95% interval leaves out
the value that is tested. It comes from the jackknife (leave one unit out; for a mean this is the classical
standard error, for regression CR3); where rows times units pass ``EXACT_LIMIT``, from influence values, which
agree with it for that many units.

Scales: correlations on Fisher's z, errors on the logarithm, shares by Wilson's score interval at the
effective sample size ``p (1 - p) / error²`` (Korn and Graubard 1998), differences as they are. Quantiles are
Student's t. Degrees of freedom:
- one less than there are units; fewer where clusters differ in size (Satterthwaite's approximation for the
  variance of a mean of cluster means, Bell and McCaffrey 2002);
- for one metric at most ``units / (kurtosis - 1)`` of the leave-one-out values: where a few units decide,
  their spread is little known itself. Half of Satterthwaite's figure, because the kurtosis of a small sample
  is too low;
- for one metric over clusters at most half the clusters, and for errors at most half of one less than the
  units: few systems rarely show how far off a system can be, and squares are skewed.

MacKinnon, Nielsen and Webb (2023), *Journal of Econometrics* 232, on the cluster jackknife; Miller (1974),
*Biometrika* 61. ``docs/stats/association.md`` has the simulated coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.stats import _bounds
from heartfelt.stats._bounds import SCALES, Transform
from heartfelt.stats.columns.paired import Column, PairedValues, ResampledUnits, units_of
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.metrics import Metric, constant_sides, metric_called, rows

EXACT_LIMIT = 4_000_000
"""Pairs times units up to which every unit is left out in turn."""
FEW_UNITS = 40
"""Units that are left out in turn however many rows there are: here the jackknife and influence values differ."""
LEAST_UNITS = 3
_SCALE_NAMES = {
    "identity": "Student t",
    "fisher": "Student t on Fisher's z scale",
    "log": "Student t on the log scale",
    "logit": "Wilson at the effective sample size, Student t",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JackknifeError:
    """How uncertain a value is: its standard error on ``scale`` with degrees of freedom, or the reason none is known.

    ``effective`` is the effective sample size of a share, whose scale is ``logit``.
    """

    value: float
    scale: Transform
    units: int
    error: float = 0.0
    df: float = 1.0
    effective: float = 0.0
    how: str = "jackknife"
    why_none: str | None = None

    @property
    def name(self) -> str:
        """The method, as an estimate's ``interval`` names it."""
        return f"{self.how}, {_SCALE_NAMES[self.scale]} ({self.df:.3g} df)"

    def bounds(self, confidence: float) -> _bounds.Bounds | None:
        if self.why_none:
            return None
        quantile = _bounds.t_quantile(confidence, self.df)
        if self.scale == "logit":
            return _bounds.score_interval(self.value, self.effective, quantile)
        return SCALES[self.scale].interval(_on_scale(self.scale, self.value), quantile * self.error)

    def p(self, at: float) -> float | None:
        """Two-sided p-value of the hypothesis that the true value is ``at``: below 1 - confidence where
        ``bounds`` leave it out.
        """
        if self.why_none:
            return None
        if self.scale == "logit":
            spread = math.sqrt(max(at * (1 - at), 0.0) / self.effective)
            gap = abs(self.value - at)
        else:
            spread, gap = self.error, abs(_on_scale(self.scale, self.value) - _on_scale(self.scale, at))
        if spread == 0:
            return 0.0 if gap > 0 else 1.0
        return _bounds.p_of_t(gap / spread, self.df)

    def estimate(self, point_estimate: Estimate, confidence: float) -> Estimate:
        """The estimate with this spread's interval, or the reason it has none."""
        return _bounds.bounded(point_estimate, self.bounds(confidence), self.name, confidence, self.why_none or "")


def _on_scale(scale: Transform, value: float) -> float:
    """A value's place on its scale, a hair inside the ends."""
    inside = {"fisher": (-1 + 1e-15, 1 - 1e-15), "log": (1e-300, math.inf)}.get(scale, (-math.inf, math.inf))
    return float(SCALES[scale].to(min(max(value, inside[0]), inside[1])))


def cluster_df(sizes: npt.NDArray[Any]) -> float:
    """Degrees of freedom of the jackknife variance of a mean of clusters of these sizes, were cluster means
    equally uncertain.

    One less than the number of clusters where all are of one size.
    """
    # The trace of the variance's quadratic form, squared, over that of its square (Bell and McCaffrey 2002).
    w = np.asarray(sizes, np.float64) / float(np.sum(sizes))
    c = (w / (1 - w)) ** 2
    ww, cw, s = float(w @ w), float(c @ w), float(c.sum())
    trace = s - 2 * cw + s * ww
    square = (
        float(c @ c) + 2 * (cw * cw + float(c @ c) * ww) + (s * ww) ** 2
        - 4 * float((c * c) @ w) + 2 * s * float(c @ (w * w)) - 4 * s * cw * ww
    )  # fmt: skip
    return trace * trace / square


def leave_out(metric: Metric, data: PairedValues, units: ResampledUnits) -> Floats:
    """The metric without each unit in turn; NaN where it is then undefined."""
    kernel = metric.kernel(data)
    unit = np.arange(data.n) if units.codes is None else units.codes
    # Counts of 0 and 1 are exact in single precision, and twice as many fit into the cache.
    kind = np.float32 if data.n < 2_000_000 else np.float64
    step = min(units.count, 32 if data.n > 50_000 else 512)
    out = np.empty(units.count)
    for start in range(0, units.count, step):
        stop = min(start + step, units.count)
        counts = np.ones((data.n, stop - start), kind)
        in_batch = (unit >= start) & (unit < stop)
        counts[np.flatnonzero(in_batch), unit[in_batch] - start] = 0
        out[start:stop] = kernel(counts)
    return out


def full_value(metric: Metric, data: PairedValues, copies: Ints | None = None) -> float:
    """The metric of all rows, summed in the same order as without a unit, so that rounding cancels in their difference."""
    return metric.value(data, np.ones(data.n) if copies is None else copies.astype(np.float64))


def movement(
    units: ResampledUnits, rows: int, left_out: Callable[[], Floats], influence: Callable[[], Floats]
) -> tuple[Floats, float, str]:
    """How far a statistic moves without each unit (or each unit's influence), its standard error, and the method.

    The standard error is not finite where the statistic is undefined without some unit.
    """
    if units.count <= FEW_UNITS or rows * units.count <= EXACT_LIMIT:
        moved = left_out()
        error = math.sqrt((units.count - 1) / units.count * float(moved @ moved))
        return moved, error, "jackknife" + units.over
    moved = units.sums(influence())
    return moved, _bounds.influence_error(moved), "influence values" + units.over


def too_few(units: ResampledUnits) -> str | None:
    """Why there are too few units for a spread, or None."""
    if units.count >= LEAST_UNITS:
        return None
    return f"{units.count} {units.name}{'' if units.count == 1 else 's'}; at least {LEAST_UNITS} are needed"


def degrees(units: ResampledUnits) -> float:
    """Degrees of freedom of the units' spread, were they equally uncertain."""
    return units.count - 1.0 if units.codes is None else cluster_df(np.bincount(units.codes))


class Basis:
    """A metric on some rows, with what several spreads of it share, computed once."""

    def __init__(self, metric: Metric, data: PairedValues) -> None:
        self.metric, self.data = metric, data

    @cached_property
    def value(self) -> float:
        """The metric itself; correlations within their range, which rounding can leave."""
        value = full_value(self.metric, self.data)
        return min(max(value, -1.0), 1.0) if self.metric.transform == "fisher" else value

    @cached_property
    def influence(self) -> Floats:
        """Each row's influence value."""
        return self.metric.influence(self.data)


def metric_spread(basis: Basis, units: ResampledUnits) -> JackknifeError:
    """The spread of a metric that is defined on these rows, over rows or over clusters."""
    metric, data, value = basis.metric, basis.data, basis.value
    scale, count = metric.transform, units.count
    # A share is left as it is and has its score interval at the end.
    on = SCALES["identity" if scale == "logit" else scale]
    end = scale == "logit" and not 0 < value < 1
    reason = _why_no_spread(metric, data, units) or _at_its_end(scale, value)
    spread = JackknifeError(value=value, scale=scale, units=count, why_none=reason)
    if reason:
        return spread
    moved, error, how = movement(
        units,
        data.n,
        lambda: on.to(leave_out(metric, data, units)) - on.to(value),
        lambda: basis.influence * on.slope(value),
    )
    if not math.isfinite(error):
        return replace(spread, why_none=f"without one of the {units.name}s it is perfect or undefined")
    if not end and not error > 1e-13 * max(abs(value), 1e-300):
        return replace(spread, why_none=f"leaving out any one {units.name} changes nothing")
    df = degrees(units) if units.codes is None else min(degrees(units), count / 2)
    df = max(min(df, df_of_spread(moved), max((count - 1) / 2, 1.5) if scale == "log" else math.inf), 1.0)
    spread = replace(spread, error=error, df=df, how=how)
    if scale != "logit":
        return spread
    if end:
        return replace(spread, df=count - 1.0, effective=_size_at_the_end(metric, data) * count / data.n)
    return replace(spread, effective=value * (1 - value) / error**2)


def jackknife_metric(
    metric: str, x: Column, y: Column, *, group: Column | None = None, confidence: float = 0.95
) -> Estimate:
    """A named metric of labels ``x`` and predictions ``y`` with a jackknife interval over rows, or over
    clusters (``group``).
    """
    point_estimate, spread = spread_of(metric, x, y, group=group)
    return point_estimate if spread is None else spread.estimate(point_estimate, confidence)


def spread_of(
    metric: str, x: Column, y: Column, *, group: Column | None = None
) -> tuple[Estimate, JackknifeError | None]:
    """The metric without an interval, and its spread where it has a value."""
    return spreads_over(metric, x, y, [group])[0]


def spreads_over(
    metric: str, x: Column, y: Column, groups: Sequence[Column | None]
) -> list[tuple[Estimate, JackknifeError | None]]:
    """The metric and its spread for each of ``groups`` (None: over rows); the rows are cleaned once."""
    chosen = metric_called(metric)
    data = rows(chosen, x, y)
    reason = chosen.undefined(data)
    basis = Basis(chosen, data)
    out: list[tuple[Estimate, JackknifeError | None]] = []
    for group in groups:
        units = units_of(data.used, group)
        counts = data.counts | units.counts
        if reason:
            out.append((Estimate.missing(reason, chosen.name, counts), None))
        else:
            spread = metric_spread(basis, units)
            out.append((Estimate(value=spread.value, method=chosen.name, counts=counts), spread))
    return out


def _why_no_spread(metric: Metric, data: PairedValues, units: ResampledUnits) -> str | None:
    few = too_few(units)
    if few:
        return f"{few} for an interval"
    if metric.name in ("ccc", "quadratic_kappa") and constant_sides(data):
        return f"the {constant_sides(data)[0]} column does not vary, which makes it 0 whatever the other holds"
    if metric.name in ("balanced_accuracy", "macro_f1"):
        times = np.bincount(
            data.x if units.codes is None else np.unique(data.x * units.count + units.codes) // units.count
        )
        if int(times[times > 0].min()) < 2:
            return f"a category occurs in one {units.name} only, so its share of hits has no known spread"
    return None


def _at_its_end(scale: Transform, value: float) -> str | None:
    if scale == "fisher" and abs(value) >= 1 - 1e-14:
        return "perfect correlation: its scale is unbounded"
    return "there is no error to be uncertain about" if scale == "log" and value <= 0 else None


def df_of_spread(moved: Floats) -> float:
    """Degrees of freedom that the heaviness of the tails leaves."""
    squares = (moved - moved.mean()) ** 2
    variance = float(squares.mean())
    kurtosis = float(squares @ squares) / moved.size / variance**2 if variance > 0 else 1.0
    return moved.size / (kurtosis - 1) if kurtosis > 1 + 1e-9 else math.inf


def group_error(value: float, values_without: Floats, sizes: Ints) -> float:
    """The standard error of a value from the values without each group of units; groups may differ in size (Busing et al. 1999)."""
    share = sizes.sum() / sizes
    pseudo = share * value - (share - 1) * values_without
    centre = float(np.sum(value - values_without) + np.sum(values_without / share))
    return math.sqrt(float(np.mean((pseudo - centre) ** 2 / (share - 1))))


def _size_at_the_end(metric: Metric, data: PairedValues) -> float:
    """How many rows decide a share of 0 or 1."""
    if metric.name == "accuracy":
        return float(data.n)
    if metric.name in ("precision", "recall", "f1"):
        side = {"precision": data.y, "recall": data.x, "f1": data.x | data.y}[metric.name]
        return float(np.count_nonzero(side))
    # The variance of a mean of k shares at the same value, each of its own number of rows.
    sizes = np.unique(data.x, return_counts=True)[1]
    return float(sizes.size**2 / np.sum(1 / sizes))
