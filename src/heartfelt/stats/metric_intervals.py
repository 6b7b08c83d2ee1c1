"""One metric with several intervals: over rows, over stimuli, over systems. Each is what ``jackknife_metric`` gives."""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.stats._metrics import metric_called, rows
from heartfelt.stats._paired import Column, counted
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.jackknife import Basis, Spread, metric_spread, unit_codes


def metric_over(
    metric: str, x: Column, y: Column, groups: Sequence[Column | None], *, confidence: float = 0.95
) -> list[Estimate]:
    """The metric once for each of ``groups`` (None: over rows), each with its own interval."""
    return [
        plain if spread is None else spread.estimate(plain, confidence)
        for plain, spread in spreads_over(metric, x, y, groups)
    ]


def spreads_over(
    metric: str, x: Column, y: Column, groups: Sequence[Column | None]
) -> list[tuple[Estimate, Spread | None]]:
    """The metric and its spread once for each of ``groups``; the rows are cleaned once."""
    chosen = metric_called(metric)
    data = rows(chosen, x, y)
    why = chosen.undefined(data)
    basis = Basis(chosen, data)
    out: list[tuple[Estimate, Spread | None]] = []
    for group in groups:
        unit, units = unit_codes(data.kept.size, data.kept, group)
        counts = counted(data.n, int(data.kept.size - data.n))
        counts |= {"clusters": units} if unit is not None else {}
        if why:
            out.append((Estimate.missing(why, chosen.name, counts), None))
            continue
        spread = metric_spread(basis, unit, units)
        out.append((Estimate(spread.value, method=chosen.name, counts=counts), spread))
    return out
