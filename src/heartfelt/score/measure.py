"""One metric of one sheet, every way it is given: over what was answered, with failures counted, over systems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heartfelt.score.ceilings import Ceilings
from heartfelt.score.metrics import METRICS
from heartfelt.score.options import ScoreOptions
from heartfelt.score.scores import Score
from heartfelt.score.sheet import Flags, Floats, Sheet
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.ratio import ratio
from heartfelt.stats.resample import Interval, bootstrap_metric
from heartfelt.streams import derived_seed

LEAST_SYSTEMS = 5
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
class Bench:
    """What measuring needs to know."""

    options: ScoreOptions
    ceilings: Ceilings

    def number(
        self,
        metric: str,
        x: Floats,
        y: Floats,
        group: Any = None,
        *,
        mean: bool = False,
        interval: Interval = "auto",
    ) -> Estimate:
        """A metric with an interval over rows, or over whole groups."""
        name = "mae" if mean else metric
        data: tuple[Any, Any] = (np.zeros_like(y), y) if mean else _typed(metric, x, y)
        found = bootstrap_metric(
            name,
            *data,
            resamples=self.options.resamples,
            group=group,
            seed=derived_seed(self.options.seed, "score", metric) & 0x7FFFFFFF,
            interval=interval,
            level=self.options.level,
        )
        if found.value is None:
            return Estimate.missing(plainly(found.why_missing), metric, found.counts)
        return replace(found, method=metric, counts=dict(found.counts))

    def score(self, sheet: Sheet, pairing: Pairing) -> Score:
        """The metric every way it is given."""
        answered = sheet.answered & np.isfinite(pairing.y)
        estimate = self._over(sheet, pairing, answered, pairing.y)
        everything = np.ones(answered.size, np.bool_)
        full = estimate if answered.all() else self._over(sheet, pairing, everything, pairing.filled)
        systems = self._over_systems(sheet, pairing, answered)
        ceiling = self.ceilings.of(sheet.task, pairing.metric, pairing.level)
        return Score(
            sheet.model, sheet.task.id, pairing.level, pairing.metric, pairing.at,
            estimate, full, systems, ceiling, of_ceiling(pairing.metric, estimate, ceiling),
        )  # fmt: skip

    def _over(self, sheet: Sheet, pairing: Pairing, rows: Flags, y: Floats) -> Estimate:
        if pairing.why_none:
            return Estimate.missing(pairing.why_none, pairing.metric)
        group = None if sheet.stimulus is None else sheet.stimulus[rows]
        return self.number(pairing.metric, pairing.x[rows], y[rows], group, mean=pairing.mean)

    def _over_systems(self, sheet: Sheet, pairing: Pairing, rows: Flags) -> Estimate:
        rows = rows & (sheet.system >= 0)
        found = np.unique(sheet.system[rows]).size
        name = f"{pairing.metric}, over systems"
        if pairing.why_none:
            return Estimate.missing(pairing.why_none, name)
        if found < LEAST_SYSTEMS:
            why = (
                f"{found} systems; resampling fewer than {LEAST_SYSTEMS} tells little"
                if found
                else "no systems"
            )
            return Estimate.missing(why, name)
        group = sheet.system[rows]
        return self.number(pairing.metric, pairing.x[rows], pairing.y[rows], group, mean=pairing.mean)


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
