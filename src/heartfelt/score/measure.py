"""One metric of one sheet, every way it is given: over what was answered, with failures counted, over systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heartfelt.score.ceilings import Ceilings
from heartfelt.score.metrics import METRICS
from heartfelt.score.options import ScoreOptions
from heartfelt.score.scores import Score
from heartfelt.score.sheet import Floats, Sheet
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.metric_intervals import metric_over
from heartfelt.stats.ratio import ratio
from heartfelt.stats.resample import Interval
from heartfelt.streams import derived_seed

LEAST_SYSTEMS = 5
# Rows times resamples that are drawn for one interval: beyond it, influence values agree to more digits than are printed.
DRAWN_AT_MOST = 100_000_000
_PLAIN = {
    "the first column does not vary": "the labels do not vary",
    "the second column does not vary": "the predictions do not vary",
    "neither column varies": "neither labels nor predictions vary",
    "no predicted is positive": "nothing was predicted present",
    "no label is positive": "no label is present",
    "no label is negative": "every label is present",
}


@dataclass(frozen=True, slots=True)
class Pairing:
    """Labels and predictions of a metric: ``y`` as answered (NaN elsewhere), ``filled`` with failures counted."""

    metric: str
    x: Floats
    y: Floats
    filled: Floats
    level: str = "item"
    at: str = ""
    mean: bool = False
    """Whether ``y`` holds a value from 0 up for each item, whose mean is the metric."""
    why_none: str | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """What measuring needs to know."""

    options: ScoreOptions
    ceilings: Ceilings

    def number(
        self, metric: str, x: Floats, y: Floats, group: Any = None, *, interval: Interval = "auto"
    ) -> Estimate:
        """A metric with an interval over rows, or over whole groups."""
        return self.numbers(metric, x, y, [group], interval=interval)[0]

    def numbers(
        self,
        metric: str,
        x: Floats,
        y: Floats,
        groups: Sequence[Any],
        *,
        mean: bool = False,
        interval: Interval = "auto",
    ) -> list[Estimate]:
        """A metric with an interval for each of the groups; ``mean`` of values from 0 up in place of a metric."""
        data: tuple[Any, Any] = (np.zeros_like(y), y) if mean else _typed(metric, x, y)
        found = metric_over(
            "mae" if mean else metric,
            *data,
            groups,
            resamples=self.options.resamples,
            seed=derived_seed(self.options.seed, "score", metric) & 0x7FFFFFFF,
            interval=interval,
            level=self.options.level,
            limit=DRAWN_AT_MOST,
        )
        return [
            Estimate.missing(plainly(one.why_missing), metric, one.counts)
            if one.value is None
            else replace(one, method=metric, counts=dict(one.counts))
            for one in found
        ]

    def score(self, sheet: Sheet, pairing: Pairing) -> Score:
        """The metric every way it is given."""
        estimate, full, systems = self._ways(sheet, pairing)
        ceiling = self.ceilings.of(sheet.task, pairing.metric, pairing.level)
        return Score(
            sheet.model, sheet.task.id, pairing.level, pairing.metric, pairing.at,
            estimate, full, systems, ceiling, of_ceiling(pairing.metric, estimate, ceiling),
        )  # fmt: skip

    def _ways(self, sheet: Sheet, pairing: Pairing) -> tuple[Estimate, Estimate, Estimate]:
        """Over what was answered, with failures counted, and over systems."""
        name = f"{pairing.metric}, over systems"
        if pairing.why_none:
            gone = Estimate.missing(pairing.why_none, pairing.metric)
            return gone, gone, Estimate.missing(pairing.why_none, name)
        rows = sheet.answered & np.isfinite(pairing.y)
        known = rows & (sheet.system >= 0)
        count = np.unique(sheet.system[known]).size
        why = "no systems"
        if count:
            why = f"{count} systems; resampling fewer than {LEAST_SYSTEMS} tells little"
        over = Estimate.missing(why, name)
        groups: list[Any] = [None if sheet.stimulus is None else sheet.stimulus[rows]]
        together = count >= LEAST_SYSTEMS and bool(np.array_equal(rows, known))
        if together:
            groups.append(sheet.system[rows])
        estimate, *rest = self.numbers(
            pairing.metric, pairing.x[rows], pairing.y[rows], groups, mean=pairing.mean
        )
        if together:
            over = rest[0]
        elif count >= LEAST_SYSTEMS:
            columns = pairing.x[known], pairing.y[known], [sheet.system[known]]
            (over,) = self.numbers(pairing.metric, *columns, mean=pairing.mean)
        full = estimate
        if not rows.all():
            (full,) = self.numbers(
                pairing.metric, pairing.x, pairing.filled, [sheet.stimulus], mean=pairing.mean
            )
        return estimate, full, over


def of_ceiling(metric: str, estimate: Estimate, ceiling: Estimate) -> Estimate:
    """The score over its ceiling; for errors the least possible error over the error. 1 is as good as can be."""
    name = "share of the ceiling"
    if METRICS[metric].higher:
        return ratio(estimate, ceiling, name)
    return ratio(ceiling, estimate, name)


def plainly(why: str | None) -> str:
    """A reason in terms of labels and predictions."""
    return _PLAIN.get(why or "", why or "no reason given")


def _typed(metric: str, x: Floats, y: Floats) -> tuple[Any, Any]:
    """Codes as whole numbers where the metric wants categories."""
    if metric in _WHOLE:
        return x.astype(np.int64), y.astype(np.int64)
    return (x.astype(np.int64), y) if metric in _SCORED else (x, y)


_WHOLE = ("accuracy", "balanced_accuracy", "macro_f1", "precision", "recall", "f1")
_SCORED = ("auroc", "average_precision", "brier")
