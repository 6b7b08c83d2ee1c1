"""The bootstrap: intervals for any statistic of ratings, and fast ones for a prediction against a label.

``bootstrap`` resamples raters, items or both from sparse ratings. A resample is a weight per rating: how
often its rater was drawn times how often its item was drawn (the pigeonhole bootstrap, Owen 2007; no
bootstrap of crossed data is exact, McCullagh 2000, and this one errs on the wide side).
``bootstrap_metric`` resamples pairs, or whole clusters of pairs, for the metrics in ``metric_names()``.

Intervals: ``percentile`` (Efron 1979), ``bca`` (Efron 1987, acceleration from influence values), ``delta``
(normal on a transformed scale from influence values; draws nothing). ``auto`` is BCa, and delta once rows
times resamples pass 500 million, where the two agree to many digits. The interval's name says which was
used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np

from heartfelt.errors import InputError, suggestion
from heartfelt.stats import _bounds
from heartfelt.stats._metrics import METRICS, Metric, Rows, metric_called, rows
from heartfelt.stats._paired import Column, coded, counted
from heartfelt.stats._replicates import Sample, condense, full_value, replicates
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats, Ids, Ints, Values, as_array, triples
from heartfelt.streams import stream

Interval = Literal["auto", "percentile", "bca", "delta"]
Resampled = Literal["both", "items", "raters"]

PLAIN_LIMIT = 500_000_000
_NAMES = {
    "percentile": "percentile bootstrap",
    "bca": "BCa bootstrap",
    "delta": "delta method (influence values)",
}


@dataclass(frozen=True, slots=True)
class Drawn:
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

    def __call__(self, value: Floats, weight: Floats, drawn: Drawn, /) -> float | None:
        """Compute the statistic."""


def weighted_mean(value: Floats, weight: Floats, _drawn: Drawn) -> float | None:
    """The mean rating."""
    total = float(weight.sum())
    return float(value @ weight) / total if total > 0 else None


def mean_of_item_means(value: Floats, weight: Floats, drawn: Drawn) -> float | None:
    """The mean over items of each item's mean rating, an item drawn twice counting twice."""
    per_item = np.bincount(drawn.item, weights=weight, minlength=drawn.item_times.size)
    sums = np.bincount(drawn.item, weights=weight * value, minlength=drawn.item_times.size)
    rated = per_item > 0
    times = drawn.item_times[rated]
    return float(times @ (sums[rated] / per_item[rated])) / float(times.sum()) if rated.any() else None


_STATISTICS: dict[str, Statistic] = {"mean": weighted_mean, "mean_of_item_means": mean_of_item_means}


def metric_names() -> list[str]:
    """The metrics ``bootstrap_metric`` knows."""
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
    once = Drawn(data.rater, data.item, np.ones(sizes["raters"]), np.ones(sizes["items"]))
    observed = _number(chosen(data.value, np.ones(data.value.size), once))
    if observed is None:
        return Estimate.missing(f"{name} is undefined on these ratings", name, data.counts)
    plain = Estimate(observed, method=name, counts=data.counts)
    drawn = [kind for kind in ("raters", "items") if resample in (kind, "both")]
    for kind in drawn:
        if sizes[kind] < 2:
            return _bounds.bounded(plain, None, "", confidence, f"{sizes[kind]} {kind}: nothing to resample")
    found = np.full(resamples, np.nan)
    for index, sample in enumerate(_resampled(once, drawn, resamples, seed)):
        weight = sample.rater_times[sample.rater] * sample.item_times[sample.item]
        replicate = _number(chosen(data.value, weight, sample))
        found[index] = np.nan if replicate is None else replicate
    how = f"percentile bootstrap over {'raters and items' if resample == 'both' else resample}"
    return _from_replicates(
        plain, found, confidence, how, lambda usable: _bounds.percentile(usable, confidence)
    )


def _statistic(statistic: Statistic | str) -> tuple[Statistic, str]:
    if isinstance(statistic, str):
        if statistic not in _STATISTICS:
            raise InputError(
                f"There is no statistic called '{statistic}'.", suggestion(statistic, _STATISTICS)
            )
        return _STATISTICS[statistic], statistic.replace("_", " ")
    return statistic, getattr(statistic, "__name__", "statistic").replace("_", " ")


def _resampled(once: Drawn, drawn: list[str], resamples: int, seed: int) -> Iterator[Drawn]:
    generators = {kind: stream(seed, "bootstrap", kind) for kind in drawn}
    for _ in range(resamples):
        times = {"raters": once.rater_times, "items": once.item_times}
        for kind in drawn:
            size = times[kind].size
            picks = generators[kind].integers(0, size, size)
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
    data, unit, units = _grouped(chosen, x, y, group)
    counts = counted(data.n, int(data.kept.size - data.n)) | ({"clusters": units} if unit is not None else {})
    why = chosen.undefined(data)
    if why:
        return Estimate.missing(why, chosen.name, counts)
    sample = condense(data) if unit is None else Sample(data, unit, units)
    plain = Estimate(full_value(chosen, sample), method=chosen.name, counts=counts)
    if unit is not None and units < 2:
        return _bounds.bounded(plain, None, "", confidence, "one cluster: nothing to resample")
    how = _choose(interval, sample, resamples)
    pull = _cluster_sums(chosen.influence(data), unit, units) if how != "percentile" else np.zeros(0)
    label = _NAMES[how] + (" over clusters" if unit is not None else "")
    value = float(plain)
    if how == "delta":
        bounds = _bounds.delta(value, _bounds.influence_error(pull), confidence, chosen.transform)
        return _bounds.bounded(plain, bounds, label, confidence, "the influence values do not vary")
    found = replicates(chosen, sample, resamples, seed)
    return _from_replicates(
        plain, found, confidence, label, lambda usable: _inside(value, usable, pull, how, confidence)
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
    one, two, group_kept = _common_rows(chosen, x, first, second, group)
    data, unit, units = _grouped(chosen, *one, group_kept)
    other, _, _ = _grouped(chosen, *two, group_kept)
    dropped = int(as_array(x).size - data.n)
    counts = counted(data.n, dropped) | ({"clusters": units} if unit is not None else {})
    why = chosen.undefined(data) or chosen.undefined(other)
    if why:
        return Estimate.missing(why, name, counts)
    samples = Sample(data, unit, units), Sample(other, unit, units)
    value = full_value(chosen, samples[0]) - full_value(chosen, samples[1])
    plain = Estimate(value, method=name, counts=counts)
    if unit is not None and units < 2:
        return _bounds.bounded(plain, None, "", confidence, "one cluster: nothing to resample")
    how = _choose("auto", samples[0], resamples)
    pull = _cluster_sums(chosen.influence(data) - chosen.influence(other), unit, units)
    label = _NAMES[how] + (" over clusters" if unit is not None else "")
    if how == "delta":
        bounds = _bounds.delta(value, _bounds.influence_error(pull), confidence)
        return _bounds.bounded(plain, bounds, label, confidence, "the two predictions do not differ")
    drawn = [replicates(chosen, sample, resamples, seed) for sample in samples]
    found = drawn[0] - drawn[1]
    return _from_replicates(
        plain, found, confidence, label, lambda usable: _inside(value, usable, pull, how, confidence)
    )


def _common_rows(
    metric: Metric, x: Column, first: Column, second: Column, group: Column | None
) -> tuple[tuple[Any, Any], tuple[Any, Any], Any]:
    label, one, two = as_array(x), as_array(first), as_array(second)
    both = rows(metric, label, one).kept & rows(metric, label, two).kept
    return (
        (label[both], one[both]),
        (label[both], two[both]),
        None if group is None else as_array(group)[both],
    )


def _grouped(metric: Metric, x: Column, y: Column, group: Column | None) -> tuple[Rows, Ints | None, int]:
    data = rows(metric, x, y)
    if group is None:
        return data, None, 0
    ids = as_array(group)
    if ids.size != data.kept.size:
        raise InputError(
            f"The column of clusters has {ids.size} rows, the others {data.kept.size}.",
            "Pass one cluster id per pair.",
        )
    names, codes, there = coded(ids[data.kept], "group")
    if not there.all():
        raise InputError("A pair has no cluster id.", "Give every pair an id, or leave out those without.")
    return data, codes, len(names)


def _cluster_sums(influence: Floats, unit: Ints | None, units: int) -> Floats:
    """Influence per independent unit, scaled so that the mean over units moves the statistic."""
    if unit is None:
        return influence
    return np.asarray(np.bincount(unit, weights=influence, minlength=units) * (units / influence.size))


def _choose(interval: str, sample: Sample, resamples: int) -> str:
    _check_resamples(resamples)
    if interval not in ("auto", *_NAMES):
        raise InputError(
            f"There is no interval called '{interval}'.", suggestion(interval, ("auto", *_NAMES))
        )
    if interval != "auto":
        return interval
    return "delta" if sample.size * resamples > PLAIN_LIMIT else "bca"


def _check_resamples(resamples: int) -> None:
    if resamples < 1:
        raise InputError(f"Cannot draw {resamples} resamples.", "Ask for 1,000 or more.")


def _inside(value: float, usable: Floats, pull: Floats, how: str, confidence: float) -> _bounds.Bounds | None:
    if how == "percentile":
        return _bounds.percentile(usable, confidence)
    return _bounds.bca(value, usable, pull, confidence)


def _from_replicates(
    plain: Estimate,
    found: Floats,
    confidence: float,
    how: str,
    bounds: Callable[[Floats], _bounds.Bounds | None],
) -> Estimate:
    usable = found[np.isfinite(found)]
    lost = int(found.size - usable.size)
    counts = {**plain.counts, "resamples": int(found.size), **({"undefined_resamples": lost} if lost else {})}
    plain = Estimate(plain.value, method=plain.method, counts=counts)
    if usable.size < 0.9 * found.size:
        return _bounds.bounded(plain, None, how, confidence, f"undefined in {lost} of {found.size} resamples")
    if float(usable.max() - usable.min()) <= 1e-14 * float(np.abs(usable).max()):
        return _bounds.bounded(plain, None, how, confidence, "every resample gives the same value")
    return _bounds.bounded(
        plain, bounds(usable), how, confidence, "all resamples fall on one side of the value"
    )


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
