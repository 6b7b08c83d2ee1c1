"""A metric averaged over repeats: the same labels predicted several times, as with several seeds.

The value is the mean over repeats of the metric of each (not the metric of averaged predictions, which are better than any
single one). Its interval resamples rows, or whole clusters of rows, the same ones in every repeat, so that differences between
two sets of repeats are paired. It covers the choice of stimuli; what seeds add is the spread of the repeats' own values.
With one repeat, value and interval are those of ``bootstrap_metric`` and ``bootstrap_difference``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats._bounds import Transform
from heartfelt.stats.columns.paired import Column, ResampledUnits, units_of
from heartfelt.stats.columns.triples import Floats, as_array
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.jackknife import full_value
from heartfelt.stats.prediction.metrics import Metric, metric_called, rows
from heartfelt.stats.prediction.resample import SamplingUnits, bounded_metric, chosen_interval, replicates

RESAMPLES = 2_000


class Repeats:
    """Labels ``x`` and several predictions of them, on the rows that have all of them.

    ``others`` are further predictions that a row must have, for a comparison on the same rows.
    """

    def __init__(
        self,
        metric: str,
        x: Column,
        predictions: Sequence[Column],
        *,
        group: Column | None = None,
        other_columns: Sequence[Column] = (),
    ) -> None:
        if not predictions:
            raise InputError("There are no repeats to average.", "Give at least one prediction of the labels.")
        self.metric: Metric = metric_called(metric)
        label, columns = as_array(x), [as_array(column) for column in predictions]
        used = np.logical_and.reduce(
            [rows(self.metric, label, column).used for column in [*columns, *map(as_array, other_columns)]]
        )
        self._sides = [rows(self.metric, label[used], column[used]) for column in columns]
        self.units: ResampledUnits = units_of(used, group)
        self.counts: dict[str, int] = {
            "pairs": int(used.sum()),
            **({"left_out": int((~used).sum())} if not used.all() else {}),
            **self.units.counts,
            **({"repeats": len(columns)} if len(columns) > 1 else {}),
        }
        self.why_undefined: str = next(filter(None, map(self.metric.undefined, self._sides)), "") or ""

    @property
    def values(self) -> list[float]:
        """The metric of every repeat."""
        return [full_value(self.metric, side) for side in self._sides]

    @property
    def sample(self) -> SamplingUnits:
        """What is resampled, with the rows of the first repeat."""
        return SamplingUnits(self._sides[0], self.units)

    def draws(self, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
        """The mean over repeats in each resample; two sets of repeats on the same rows get the same resamples."""
        # The same seed draws the same rows for every repeat, which pairs them.
        parts = [replicates(self.metric, SamplingUnits(side, self.units), resamples, seed) for side in self._sides]
        return np.asarray(np.mean(parts, axis=0))

    @property
    def pull(self) -> Floats:
        """How much each unit moves the mean."""
        return np.asarray(np.mean([self.units.sums(self.metric.influence(side)) for side in self._sides], axis=0))


def bootstrap_repeats(
    metric: str,
    x: Column,
    predictions: Sequence[Column],
    *,
    group: Column | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """The mean over repeats of a metric of labels ``x`` and each of the ``predictions``."""
    repeats = Repeats(metric, x, predictions, group=group)
    if repeats.why_undefined:
        return Estimate.missing(repeats.why_undefined, repeats.metric.name, repeats.counts)
    value = float(np.mean(repeats.values))
    return _bounded(
        value, repeats, repeats.metric.name, repeats.metric.transform, repeats.pull, confidence, resamples, seed
    )


def bootstrap_repeats_difference(
    metric: str,
    x: Column,
    first: Sequence[Column],
    second: Sequence[Column],
    *,
    group: Column | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """The mean over the repeats ``first`` minus that over ``second``, on the rows that all of them have, resampled together."""
    one_side = Repeats(metric, x, first, group=group, other_columns=second)
    other_side = Repeats(metric, x, second, group=group, other_columns=first)
    name = f"difference of {one_side.metric.name}"
    if reason := one_side.why_undefined or other_side.why_undefined:
        return Estimate.missing(reason, name, one_side.counts)
    value = float(np.mean(one_side.values) - np.mean(other_side.values))
    pull = one_side.pull - other_side.pull
    return _bounded(value, one_side, name, "identity", pull, confidence, resamples, seed, other_side)


def _bounded(
    value: float,
    repeats: Repeats,
    name: str,
    transform: Transform,
    pull: Floats,
    confidence: float,
    resamples: int,
    seed: int,
    other_repeats: Repeats | None = None,
) -> Estimate:
    def replicated() -> Floats:
        draws = repeats.draws(resamples, seed)
        return draws if other_repeats is None else np.asarray(draws - other_repeats.draws(resamples, seed))

    point_estimate = Estimate(value=value, method=name, counts=repeats.counts)
    how = chosen_interval("auto", repeats.sample, resamples)
    return bounded_metric(point_estimate, repeats.sample, how, pull, confidence, transform, replicated)
