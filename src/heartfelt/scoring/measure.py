"""One metric of one sheet in every form: with failures counted, over answered items, over systems, and its place between
chance and the ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from heartfelt.scoring.ceilings import Ceilings
from heartfelt.scoring.metrics import METRICS, Chance, chance_of
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.scores import Score
from heartfelt.scoring.sheet import Sheet
from heartfelt.stats._bounds import ratio
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.jackknife import LEAST_UNITS, Spread, spreads_over
from heartfelt.stats.paired_metrics import metric_difference
from heartfelt.stats.triples import Floats

LEAST_SYSTEMS = LEAST_UNITS
NO_SYSTEMS = "no systems"
_SHARE = "share of the way from chance to the ceiling"
_IN_LABELS_AND_PREDICTIONS = {
    "the first column does not vary": "the labels do not vary",
    "the second column does not vary": "the predictions do not vary",
    "neither column varies": "neither labels nor predictions vary",
    "nothing was predicted positive": "nothing was predicted present",
    "no label is positive": "no label is present",
    "no label is negative": "every label is present",
}
_CATEGORIES = ("accuracy", "balanced_accuracy", "macro_f1", "precision", "recall", "f1")
_SCORES = ("auroc", "average_precision", "brier")

Values = Literal["", "mean", "share"]
"""What ``y`` holds: predictions, values from 0 up whose mean is the metric, or such values that are 0 or 1."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Labels and predictions of a metric: ``y`` as answered (NaN elsewhere), ``filled`` with failures counted."""

    metric: str
    x: Floats
    y: Floats
    filled: Floats
    aggregation: str = "item"
    at: str = ""
    values: Values = ""
    why_none: str | None = None
    chance: Chance | None = None


def mean_of(
    metric: str, values: Floats, filled: Floats, why: str | None = None, chance: Chance | None = None,
    *, share: bool = False,
) -> Pairing:  # fmt: skip
    """A metric that is the mean of a value per item."""
    kind: Values = "share" if share else "mean"
    return Pairing(metric, np.zeros(values.size), values, filled, values=kind, why_none=why, chance=chance)


@dataclass(frozen=True, slots=True)
class Forms:
    """A metric over answered items, with failures counted, and over systems; ``spread`` is that of the second."""

    answered: Estimate
    with_failures: Estimate
    over_systems: Estimate
    spread: Spread | None = None


@dataclass(frozen=True, slots=True)
class AboveChance:
    """How far a score is beyond chance (above 0 is better), and the p-value of that distance."""

    chance: Estimate
    beyond: Estimate
    p: Estimate


@dataclass(frozen=True, slots=True)
class Measure:
    """Measures metrics with the same options and ceilings."""

    options: ScoreOptions
    ceilings: Ceilings

    def numbers(
        self, metric: str, x: Floats, y: Floats, groups: Sequence[Any] = (None,), *, values: Values = ""
    ) -> list[tuple[Estimate, Spread | None]]:
        """A metric with an interval and its spread, over rows (None) or whole groups, for each of ``groups``."""
        name, data = typed(metric, x, y, values)
        out: list[tuple[Estimate, Spread | None]] = []
        for plain, spread in spreads_over(name, *data, groups):
            if plain.value is None:
                out.append((Estimate.missing(plainly(plain.why_missing), metric, plain.counts), None))
            else:
                bounded = plain if spread is None else spread.estimate(plain, self.options.confidence)
                out.append((replace(bounded, method=metric), spread))
        return out

    def score(self, sheet: Sheet, pairing: Pairing, forms: Forms | None = None, group: Any = None) -> Score:
        """The metric in every form; ``forms`` where they are known, over ``group``."""
        metric = pairing.metric
        if forms is None:
            forms, group = self._forms(sheet, pairing), sheet.stimulus
        ceiling = self.ceilings.of(sheet.task, metric, pairing.aggregation)
        above = self.above_chance(pairing, forms, group)
        return Score(
            sheet.model, sheet.task.id, pairing.aggregation, metric, pairing.at,
            forms.answered, forms.with_failures, forms.over_systems,
            ceiling, of_ceiling(metric, forms.with_failures, ceiling, above),
            above.chance, above.beyond, above.p,
        )  # fmt: skip

    def _forms(self, sheet: Sheet, pairing: Pairing) -> Forms:
        metric, name = pairing.metric, f"{pairing.metric}, over systems"
        if pairing.why_none:
            missing = Estimate.missing(pairing.why_none, metric)
            return Forms(missing, missing, Estimate.missing(pairing.why_none, name))
        known = sheet.system >= 0
        count = np.unique(sheet.system[known]).size
        over = Estimate.missing(why_no_systems(count), name)
        enough = count >= LEAST_SYSTEMS
        together = enough and bool(known.all())
        groups = [sheet.stimulus, *([sheet.system] if together else [])]
        (full, spread), *rest = self.numbers(metric, pairing.x, pairing.filled, groups, values=pairing.values)
        if together:
            over = rest[0][0]
        elif enough:
            columns = pairing.x[known], pairing.filled[known], [sheet.system[known]]
            over = self.numbers(metric, *columns, values=pairing.values)[0][0]
        rows = sheet.answered & np.isfinite(pairing.y)
        if rows.all():
            return Forms(full, full, over, spread)
        own = [None if sheet.stimulus is None else sheet.stimulus[rows]]
        answered = self.numbers(metric, pairing.x[rows], pairing.y[rows], own, values=pairing.values)
        return Forms(answered[0][0], full, over, spread)

    def above_chance(self, pairing: Pairing, forms: Forms, group: Any = None) -> AboveChance:
        """How far the score with failures counted is beyond chance."""
        metric, score = pairing.metric, forms.with_failures
        sign, test = METRICS[metric].sign, f"p-value of {metric} against chance"
        chance = pairing.chance or chance_of(metric, pairing.x)
        level = chance.estimate(metric)
        if score.value is None or level.value is None:
            why = score.why_missing or level.why_missing or "no chance level is known"
            return AboveChance(
                level, Estimate.missing(why, f"{metric} beyond chance"), Estimate.missing(why, test)
            )
        if chance.y is not None:
            name, (x, first) = typed(metric, pairing.x, pairing.filled, pairing.values)
            _, (_, second) = typed(metric, pairing.x, chance.y, pairing.values)
            difference = metric_difference(
                name, x, first, second, group=group, confidence=self.options.confidence
            )
            return AboveChance(level, _from_chance(difference.estimate, 0.0, sign, metric), difference.p)
        beyond = _from_chance(score, level.value, sign, metric)
        p = None if forms.spread is None else forms.spread.p(level.value)
        if p is None:
            why = (forms.spread.why_none if forms.spread else None) or "no spread is known"
            return AboveChance(level, beyond, Estimate.missing(why, test))
        return AboveChance(level, beyond, Estimate(p, method=test, why_no_interval="a p-value"))


def why_no_systems(count: int) -> str:
    """Why there is no interval over so few systems."""
    if not count:
        return NO_SYSTEMS
    systems = "1 system" if count == 1 else f"{count} systems"
    return f"{systems}; at least {LEAST_SYSTEMS} are needed to generalise to other systems"


def _from_chance(estimate: Estimate, level: float, sign: int, metric: str) -> Estimate:
    """The distance from ``level``, where above 0 is better."""
    name = f"{metric} beyond chance"
    if estimate.value is None:
        return Estimate.missing(estimate.why_missing or "", name, estimate.counts)
    low, high = (
        None if end is None else sign * (end - level)
        for end in ((estimate.low, estimate.high) if sign > 0 else (estimate.high, estimate.low))
    )
    return replace(estimate, value=sign * (estimate.value - level), low=low, high=high, method=name)


def of_ceiling(metric: str, score: Estimate, ceiling: Estimate, above: AboveChance) -> Estimate:
    """``(score - chance) / (ceiling - chance)``: 0 is chance, 1 the ceiling; for errors the signs are reversed."""
    for side in (score, ceiling, above.chance, above.beyond):
        if side.value is None:
            return Estimate.missing(side.why_missing or "one side is missing", _SHARE)
    reach = _from_chance(ceiling, float(above.chance), METRICS[metric].sign, metric)
    if float(reach) <= 0:
        return Estimate.missing("the ceiling is no better than chance", _SHARE)
    return ratio(above.beyond, reach, _SHARE)


def plainly(why: str | None) -> str:
    """A reason in terms of labels and predictions."""
    return _IN_LABELS_AND_PREDICTIONS.get(why or "", why or "no reason given")


def typed(metric: str, x: Floats, y: Floats, values: Values = "") -> tuple[str, tuple[Any, Any]]:
    """The metric's name in ``heartfelt.stats`` and its columns, with whole numbers where it wants categories."""
    if values == "share":
        return "accuracy", (np.ones(y.size, np.int64), (y > 0.5).astype(np.int64))
    if values == "mean":
        return "mae", (np.zeros_like(y), y)
    if metric in _CATEGORIES:
        return metric, (x.astype(np.int64), y.astype(np.int64))
    return metric, ((x.astype(np.int64), y) if metric in _SCORES else (x, y))
