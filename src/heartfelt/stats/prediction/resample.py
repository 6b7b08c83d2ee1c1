"""The bootstrap: intervals for any statistic of ratings, and fast ones for a prediction against a label.

``bootstrap`` resamples raters, items or both from sparse ratings. A resample is a weight per rating: how often its rater was
drawn times how often its item was drawn (the pigeonhole bootstrap, Owen 2007; no bootstrap of crossed data is exact, McCullagh
2000, and this one errs on the wide side). ``bootstrap_metric`` resamples pairs, or whole clusters of pairs, for the metrics in
``metric_names()``, 32 resamples at a time, in memory proportional to the number of rows.

Intervals: ``percentile`` (Efron 1979), ``bca`` (Efron 1987, acceleration from influence values), ``delta`` (normal on a
transformed scale from influence values; draws nothing). ``auto`` is BCa, and delta once rows times resamples exceed 500 million,
where the two agree to many digits. The interval's name says which was used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, suggestion
from heartfelt.stats import _bounds
from heartfelt.stats.columns.paired import Column, PairedValues, ResampledUnits, units_of
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values, code
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.association import common_rows
from heartfelt.stats.prediction.jackknife import full_value
from heartfelt.stats.prediction.metrics import METRICS, Metric, metric_called, rows
from heartfelt.stats.ratings import triples
from heartfelt.streams import derived_seed, stream

Interval = Literal["auto", "percentile", "bca", "delta"]
Resampled = Literal["both", "items", "raters"]

PLAIN_LIMIT = 500_000_000
# A multinomial draw costs about as much per cell as this many rows drawn one by one.
_ROWS_PER_CELL = 40
_ROWS = ResampledUnits(0)
# Sums of counts stay exact in single precision below 2**24; clusters can draw more rows than there are.
_EXACT_ROWS = 2_000_000
_NAMES = {"percentile": "percentile bootstrap", "bca": "BCa bootstrap", "delta": "delta method (influence values)"}


@dataclass(frozen=True, slots=True)
class Resample:
    """A resample: whose and of what each rating is, and how often each rater and item was drawn."""

    rater: Ints
    item: Ints
    rater_times: Floats
    item_times: Floats


class Statistic(Protocol):
    """A statistic of weighted ratings.

    ``value`` and ``weight`` are parallel, one entry per rating. A weight is how often the rating is in the
    sample (0 included): its rater's times its item's draws. ``drawn`` holds integer codes of rater and item
    and the draws behind the weights. Return None or NaN where the statistic is undefined.
    """

    def __call__(self, value: Floats, weight: Floats, drawn: Resample, /) -> float | None:
        """Compute the statistic."""


def weighted_mean(value: Floats, weight: Floats, _resample: Resample) -> float | None:
    """The mean rating."""
    total = float(weight.sum())
    return float(value @ weight) / total if total > 0 else None


def mean_of_item_means(value: Floats, weight: Floats, resample: Resample) -> float | None:
    """The mean over items of each item's mean rating, an item drawn twice counting twice."""
    per_item = np.bincount(resample.item, weights=weight, minlength=resample.item_times.size)
    sums = np.bincount(resample.item, weights=weight * value, minlength=resample.item_times.size)
    rated = per_item > 0
    times = resample.item_times[rated]
    return float(times @ (sums[rated] / per_item[rated])) / float(times.sum()) if rated.any() else None


_STATISTICS: dict[str, Statistic] = {"mean": weighted_mean, "mean_of_item_means": mean_of_item_means}


def metric_names() -> list[str]:
    return sorted(METRICS)


def bootstrap(
    statistic: Statistic | str,
    rater: Ids,
    item: Ids,
    value: Values,
    *,
    resample: Resampled = "both",
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """A statistic of ratings with a percentile interval over raters, items or both."""
    chosen, name = _statistic(statistic)
    _check_resamples(resamples)
    if resample not in ("both", "items", "raters"):
        raise InputError(f"Cannot resample '{resample}'.", "Choose 'both', 'items' or 'raters'.")
    data = triples(rater, item, value)
    if data.value.size == 0:
        return Estimate.missing("no ratings", name, data.counts)
    sizes = {"raters": len(data.raters), "items": len(data.items)}
    once = Resample(data.rater, data.item, np.ones(sizes["raters"]), np.ones(sizes["items"]))
    observed = _number(chosen(data.value, np.ones(data.value.size), once))
    if math.isnan(observed):
        return Estimate.missing(f"{name} is undefined on these ratings", name, data.counts)
    point_estimate = Estimate(value=observed, method=name, counts=data.counts)
    resampled_kinds = [kind for kind in ("raters", "items") if resample in (kind, "both")]
    for kind in resampled_kinds:
        if sizes[kind] < 2:
            return point_estimate.without_interval(f"{sizes[kind]} {kind}: nothing to resample")
    values = np.full(resamples, np.nan)
    for index, sample in enumerate(_draws(once, resampled_kinds, resamples, seed)):
        weight = sample.rater_times[sample.rater] * sample.item_times[sample.item]
        values[index] = _number(chosen(data.value, weight, sample))
    how = f"percentile bootstrap over {'raters and items' if resample == 'both' else resample}"
    return _from_replicates(point_estimate, values, confidence, how, _bounds.percentile)


def _statistic(statistic: Statistic | str) -> tuple[Statistic, str]:
    if not isinstance(statistic, str):
        return statistic, getattr(statistic, "__name__", "statistic").replace("_", " ")
    if statistic not in _STATISTICS:
        raise InputError(f"No statistic is called '{statistic}'.", suggestion(statistic, _STATISTICS))
    return _STATISTICS[statistic], statistic.replace("_", " ")


def _number(value: float | None) -> float:
    return float(value) if value is not None and math.isfinite(value) else math.nan


def _draws(once: Resample, resampled_kinds: list[str], resamples: int, seed: int) -> Iterator[Resample]:
    generators = {kind: stream(seed, "bootstrap", kind) for kind in resampled_kinds}
    for _ in range(resamples):
        times = {"raters": once.rater_times, "items": once.item_times}
        for kind in resampled_kinds:
            size = times[kind].size
            picks = generators[kind].integers(0, size, size)
            # A resample is a weight for each level, so memory does not grow with how often one is drawn.
            times[kind] = np.bincount(picks, minlength=size).astype(np.float64)
        yield replace(once, rater_times=times["raters"], item_times=times["items"])


def bootstrap_metric(
    metric: str,
    x: Column,
    y: Column,
    *,
    resamples: int = 10_000,
    group: Column | None = None,
    seed: int = 0,
    interval: Interval = "auto",
    confidence: float = 0.95,
) -> Estimate:
    """A named metric of labels ``x`` and predictions ``y`` with an interval.

    ``group`` gives cluster ids (a system, a prompt): whole clusters are then resampled. The counts tell how
    many resamples left the metric undefined.
    """
    chosen = metric_called(metric)
    data = rows(chosen, x, y)
    units = units_of(data.used, group)
    counts = data.counts | units.counts
    reason = chosen.undefined(data)
    if reason:
        return Estimate.missing(reason, chosen.name, counts)
    sample = condense(data) if group is None else SamplingUnits(data, units)
    how = chosen_interval(interval, sample, resamples)
    value = full_value(chosen, sample.rows, sample.copies)
    point_estimate = Estimate(value=value, method=chosen.name, counts=counts)
    pull = units.sums(chosen.influence(data)) if how != "percentile" else np.zeros(0)
    return bounded_metric(
        point_estimate,
        sample,
        how,
        pull,
        confidence,
        chosen.transform,
        lambda: replicates(chosen, sample, resamples, seed),
    )


def bootstrap_difference(
    metric: str,
    x: Column,
    first: Column,
    second: Column,
    *,
    resamples: int = 10_000,
    group: Column | None = None,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """The metric of ``first`` minus that of ``second`` against the same labels ``x``, resampled together.

    Rows where either prediction is missing are left out of both. The interval is BCa, or delta on the plain
    scale for very many rows.
    """
    chosen = metric_called(metric)
    name = f"difference of {chosen.name}"
    data, second_data, units, counts = common_rows(chosen, x, first, second, group)
    reason = chosen.undefined(data) or chosen.undefined(second_data)
    if reason:
        return Estimate.missing(reason, name, counts)
    samples = [SamplingUnits(side, units) for side in (data, second_data)]
    value = full_value(chosen, data) - full_value(chosen, second_data)
    point_estimate = Estimate(value=value, method=name, counts=counts)
    how = chosen_interval("auto", samples[0], resamples)
    pull = units.sums(chosen.influence(data) - chosen.influence(second_data))

    def replicated() -> Floats:
        first_values, right = (replicates(chosen, sample, resamples, seed) for sample in samples)
        return np.asarray(first_values - right)

    return bounded_metric(point_estimate, samples[0], how, pull, confidence, "identity", replicated)


def bounded_metric(
    point_estimate: Estimate,
    sample: SamplingUnits,
    how: str,
    pull: Floats,
    confidence: float,
    transform: _bounds.Transform,
    replicate: Callable[[], Floats],
) -> Estimate:
    """Bounds by the delta method from influence values, or from replicates."""
    value, units = float(point_estimate), sample.units
    if units.codes is not None and units.count < 2:
        return point_estimate.without_interval("one cluster: nothing to resample")
    label = _NAMES[how] + units.over
    if how == "delta":
        bounds = _bounds.delta(value, _bounds.influence_error(pull), confidence, transform)
        return _bounds.bounded(point_estimate, bounds, label, confidence, "the influence values do not vary")
    if how == "percentile":
        return _from_replicates(point_estimate, replicate(), confidence, label, _bounds.percentile)
    return _from_replicates(
        point_estimate, replicate(), confidence, label, lambda usable, level: _bounds.bca(value, usable, pull, level)
    )


def chosen_interval(interval: str, sample: SamplingUnits, resamples: int) -> str:
    """The kind of interval that is meant, where ``auto`` leaves it open."""
    _check_resamples(resamples)
    if interval not in ("auto", *_NAMES):
        raise InputError(f"No interval is called '{interval}'.", suggestion(interval, ("auto", *_NAMES)))
    if interval != "auto":
        return interval
    return "delta" if sample.size * resamples > PLAIN_LIMIT else "bca"


def _check_resamples(resamples: int) -> None:
    if resamples < 1:
        raise InputError(f"resamples must be at least 1; got {resamples}.", "Use 1,000 or more.")


def _from_replicates(
    point_estimate: Estimate,
    values: Floats,
    confidence: float,
    how: str,
    bounds: Callable[[Floats, float], _bounds.Bounds | None],
) -> Estimate:
    usable = values[np.isfinite(values)]
    lost = int(values.size - usable.size)
    counts = {**point_estimate.counts, "resamples": int(values.size), **({"undefined_resamples": lost} if lost else {})}
    point_estimate = replace(point_estimate, counts=counts)
    if usable.size < 0.9 * values.size:
        return point_estimate.without_interval(f"undefined in {lost} of {values.size} resamples")
    if float(usable.max() - usable.min()) <= 1e-14 * float(np.abs(usable).max()):
        return point_estimate.without_interval("every resample gives the same value")
    reason = "all resamples fall on one side of the value"
    return _bounds.bounded(point_estimate, bounds(usable, confidence), how, confidence, reason)


@dataclass(frozen=True, slots=True)
class SamplingUnits:
    """Rows with what is resampled: rows themselves, clusters (``units``) or cells (``copies`` of each row).

    Clusters are drawn whole, every row taking its cluster's count. Where few distinct pairs hold many rows, a resample is one
    multinomial draw over the distinct pairs (cells), which has exactly the distribution of drawing rows and costs nothing per
    row.
    """

    rows: PairedValues
    units: ResampledUnits = _ROWS
    copies: Ints | None = None

    @property
    def size(self) -> int:
        return self.rows.n if self.copies is None else int(self.copies.size)


def condense(data: PairedValues) -> SamplingUnits:
    """Fold equal pairs together when that makes resampling cheaper."""
    most = data.n // _ROWS_PER_CELL
    # Many distinct values among the first rows spare sorting them all.
    if most < 2 or np.unique(data.x[: 2 * most]).size > most:
        return SamplingUnits(data)
    (x, first), (y, second) = (_distinct(column) for column in (data.x, data.y))
    if first.size * second.size > most:
        return SamplingUnits(data)
    copies = np.bincount(x * second.size + y, minlength=first.size * second.size)
    cells = np.flatnonzero(copies)
    folded = replace(data, x=first[cells // second.size], y=second[cells % second.size])
    return SamplingUnits(folded, copies=copies[cells].astype(np.int64))


def _distinct(column: npt.NDArray[Any]) -> tuple[Ints, npt.NDArray[Any]]:
    """Codes of a column, and its distinct values in order."""
    ids = code(column)
    return ids.codes, np.asarray(ids.names)


def weight_batches(sample: SamplingUnits, batches: int, seed: int) -> Iterator[npt.NDArray[np.floating[Any]]]:
    """Yield ``counts[row, lane]`` for each batch; the array is reused from one batch to the next."""
    from heartfelt.stats.compiled._kernels_resample import LANES, draw

    if sample.copies is not None:
        generator, total = stream(seed, "bootstrap", "cells"), int(sample.copies.sum())
        share = sample.copies / total
        for _ in range(batches):
            yield np.ascontiguousarray(generator.multinomial(total, share, size=LANES).T, dtype=np.float64)
        return
    state = np.uint64(derived_seed(seed, "bootstrap", "rows"))
    kind = np.float32 if sample.rows.n < _EXACT_ROWS else np.float64
    counts = np.empty((sample.rows.n, LANES), kind)
    units = sample.units
    unit_counts = counts if units.codes is None else np.empty((units.count, LANES), kind)
    for _ in range(batches):
        state = np.uint64(draw(state, unit_counts))
        if units.codes is not None:
            np.take(unit_counts, units.codes, axis=0, out=counts, mode="clip")
        yield counts


def replicates(metric: Metric, sample: SamplingUnits, resamples: int, seed: int) -> Floats:
    """The metric of each resample; NaN where it is undefined."""
    from heartfelt.stats.compiled._kernels_resample import LANES

    kernel, batches = metric.kernel(sample.rows), -(-resamples // LANES)
    return np.concatenate([kernel(counts) for counts in weight_batches(sample, batches, seed)])[:resamples]
