"""One metric with several intervals: over rows, over stimuli, over systems.

Each is what ``bootstrap_metric`` gives. Where there are so many rows that all of them come from influence values, those are
computed once.
"""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.stats import _bounds
from heartfelt.stats._metrics import metric_called, rows
from heartfelt.stats._paired import Column, coded, counted
from heartfelt.stats._replicates import Sample, condense, full_value
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.resample import _NAMES, PLAIN_LIMIT, Interval, _cluster_sums, bootstrap_metric
from heartfelt.stats.triples import as_array


def metric_over(
    metric: str,
    x: Column,
    y: Column,
    groups: Sequence[Column | None],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    interval: Interval = "auto",
    level: float = 0.95,
    limit: int = PLAIN_LIMIT,
) -> list[Estimate]:
    """The metric once for each of ``groups`` (None: over rows), each with its own interval.

    Where rows times resamples pass ``limit``, ``auto`` takes influence values; equal pairs that can be folded together are
    drawn whatever their number, since that costs nothing per row.
    """

    def alone(group: Column | None, how: Interval) -> Estimate:
        return bootstrap_metric(
            metric, x, y, group=group, resamples=resamples, seed=seed, interval=how, level=level
        )

    if interval != "auto" or as_array(x).size * resamples <= limit:
        return [alone(group, interval) for group in groups]
    chosen = metric_called(metric)
    data = rows(chosen, x, y)
    if not data.kept.all() or chosen.undefined(data) or condense(data).copies is not None:
        return [alone(group, "auto" if group is None else "delta") for group in groups]
    value = full_value(chosen, Sample(data))
    pull = chosen.influence(data)
    out = []
    for group in groups:
        counts, units, unit = counted(data.n, 0), 0, None
        if group is not None:
            names, unit, _ = coded(group, "group")
            units = len(names)
            counts |= {"clusters": units}
        plain = Estimate(value, method=chosen.name, counts=counts)
        if unit is not None and units < 2:
            out.append(_bounds.bounded(plain, None, "", level, "one cluster: nothing to resample"))
            continue
        error = _bounds.influence_error(_cluster_sums(pull, unit, units))
        bounds = _bounds.delta(value, error, level, chosen.transform)
        label = _NAMES["delta"] + (" over clusters" if unit is not None else "")
        out.append(_bounds.bounded(plain, bounds, label, level, "the influence values do not vary"))
    return out
