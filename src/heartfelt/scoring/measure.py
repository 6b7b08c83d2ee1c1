"""One metric of one sheet, every way it is given: with failures counted, over what was answered, over systems, and its place
between chance and the ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heartfelt.scoring.ceilings import Ceilings
from heartfelt.scoring.chance import Chance, chance_of
from heartfelt.scoring.metrics import METRICS
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.scores import Score
from heartfelt.scoring.sheet import Floats, Sheet
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.jackknife import LEAST_UNITS, Spread
from heartfelt.stats.metric_intervals import spreads_over
from heartfelt.stats.paired_metrics import metric_difference
from heartfelt.stats.ratio import ratio

LEAST_SYSTEMS = LEAST_UNITS
NO_SYSTEMS = "no systems"
_SHARE = "share of the way from chance to the ceiling"
_PLAIN = {
    "the first column does not vary": "the labels do not vary",
    "the second column does not vary": "the predictions do not vary",
    "neither column varies": "neither labels nor predictions vary",
    "no predicted is positive": "nothing was predicted present",
    "no label is positive": "no label is present",
    "no label is negative": "every label is present",
}
_WHOLE = ("accuracy", "balanced_accuracy", "macro_f1", "precision", "recall", "f1")
_SCORED = ("auroc", "average_precision", "brier")


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
    share: bool = False
    """Whether that value is 0 or 1."""
    why_none: str | None = None
    chance: Chance | None = None


@dataclass(frozen=True, slots=True)
class Ways:
    """One metric: over what was answered, with failures counted, over systems, and the spread of the second."""

    estimate: Estimate
    full: Estimate
    systems: Estimate
    spread: Spread | None = None


@dataclass(frozen=True, slots=True)
class AboveChance:
    """How far a score is beyond chance (above 0 is better), and the p-value of its being there by chance."""

    chance: Estimate
    beyond: Estimate
    p: Estimate


@dataclass(frozen=True, slots=True)
class Measure:
    """What measuring needs to know."""

    options: ScoreOptions
    ceilings: Ceilings

    def number(self, metric: str, x: Floats, y: Floats, group: Any = None) -> Estimate:
        """A metric with an interval over rows, or over whole groups."""
        return self.numbers(metric, x, y, [group])[0][0]

    def numbers(
        self, metric: str, x: Floats, y: Floats, groups: Sequence[Any], *, kind: str = ""
    ) -> list[tuple[Estimate, Spread | None]]:
        """A metric with an interval and a spread for each of the groups.

        ``kind`` is "mean" for the mean of values from 0 up in place of a metric, "share" where they are 0 or 1.
        """
        name, data = typed(metric, x, y, kind)
        out: list[tuple[Estimate, Spread | None]] = []
        for plain, spread in spreads_over(name, *data, groups):
            if plain.value is None:
                out.append((Estimate.missing(plainly(plain.why_missing), metric, plain.counts), None))
                continue
            found = plain if spread is None else spread.estimate(plain, self.options.confidence)
            out.append((replace(found, method=metric, counts=dict(found.counts)), spread))
        return out

    def score(self, sheet: Sheet, pairing: Pairing) -> Score:
        """The metric every way it is given."""
        ways = self._ways(sheet, pairing)
        ceiling = self.ceilings.of(sheet.task, pairing.metric, pairing.level)
        above = self.above_chance(pairing, ways, sheet.stimulus)
        return Score(
            sheet.model, sheet.task.id, pairing.level, pairing.metric, pairing.at,
            ways.estimate, ways.full, ways.systems, ceiling, of_ceiling(pairing.metric, ways.full, ceiling, above),
            above.chance, above.beyond, above.p,
        )  # fmt: skip

    def _ways(self, sheet: Sheet, pairing: Pairing) -> Ways:
        """Over what was answered, with failures counted, and over systems (failures counted)."""
        name = f"{pairing.metric}, over systems"
        if pairing.why_none:
            gone = Estimate.missing(pairing.why_none, pairing.metric)
            return Ways(gone, gone, Estimate.missing(pairing.why_none, name))
        kind = "share" if pairing.share else "mean" if pairing.mean else ""
        rows = sheet.answered & np.isfinite(pairing.y)
        known = sheet.system >= 0
        count = np.unique(sheet.system[known]).size
        over = Estimate.missing(why_no_systems(count), name)
        enough = count >= LEAST_SYSTEMS
        together = enough and bool(known.all())
        groups: list[Any] = [sheet.stimulus, *([sheet.system] if together else [])]
        (full, spread), *rest = self.numbers(pairing.metric, pairing.x, pairing.filled, groups, kind=kind)
        if together:
            over = rest[0][0]
        elif enough:
            columns = pairing.x[known], pairing.filled[known], [sheet.system[known]]
            over = self.numbers(pairing.metric, *columns, kind=kind)[0][0]
        if rows.all():
            return Ways(full, full, over, spread)
        own = [None if sheet.stimulus is None else sheet.stimulus[rows]]
        (estimate, _), *_ = self.numbers(pairing.metric, pairing.x[rows], pairing.y[rows], own, kind=kind)
        return Ways(estimate, full, over, spread)

    def above_chance(self, pairing: Pairing, ways: Ways, group: Any = None) -> AboveChance:
        """How far the score with failures counted is beyond chance."""
        metric, sign = pairing.metric, 1 if METRICS[pairing.metric].higher else -1
        chance = pairing.chance or chance_of(metric, pairing.x)
        level, test = chance.estimate(metric), f"p-value of {metric} against chance"
        why = ways.full.why_missing or level.why_missing
        if ways.full.value is None or level.value is None or why:
            gone = Estimate.missing(why or "no chance level is known", f"{metric} beyond chance")
            return AboveChance(level, gone, Estimate.missing(gone.why_missing or "", test))
        if chance.y is not None:
            kind = "share" if pairing.share else "mean" if pairing.mean else ""
            name, (x, first) = typed(metric, pairing.x, pairing.filled, kind)
            _, (_, second) = typed(metric, pairing.x, chance.y, kind)
            found = metric_difference(name, x, first, second, group=group, confidence=self.options.confidence)
            return AboveChance(level, _signed(found.estimate, sign, metric), found.p)
        beyond = _signed(_shifted(ways.full, float(level)), sign, metric)
        p = None if ways.spread is None else ways.spread.p(float(level))
        if p is None:
            why = (ways.spread.why_none if ways.spread else None) or "no spread is known"
            return AboveChance(level, beyond, Estimate.missing(why, test))
        return AboveChance(level, beyond, Estimate(p, method=test, why_no_interval="a p-value"))


def why_no_systems(count: int) -> str:
    """Why there is no interval over so few systems."""
    if not count:
        return NO_SYSTEMS
    return f"{count} system{'' if count == 1 else 's'}; at least {LEAST_SYSTEMS} are needed to speak of other systems"


def _shifted(estimate: Estimate, by: float) -> Estimate:
    value, low, high = (
        None if end is None else end - by for end in (estimate.value, estimate.low, estimate.high)
    )
    return replace(estimate, value=value, low=low, high=high, counts=dict(estimate.counts))


def _signed(estimate: Estimate, sign: int, metric: str) -> Estimate:
    """A difference whose plus means better."""
    name = f"{metric} beyond chance"
    if estimate.value is None:
        return Estimate.missing(estimate.why_missing or "", name, estimate.counts)
    ends = (estimate.low, estimate.high) if sign > 0 else (_minus(estimate.high), _minus(estimate.low))
    value = sign * float(estimate)
    return replace(
        estimate, value=value, low=ends[0], high=ends[1], method=name, counts=dict(estimate.counts)
    )


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def of_ceiling(metric: str, score: Estimate, ceiling: Estimate, above: AboveChance) -> Estimate:
    """``(score - chance) / (ceiling - chance)``: 0 is chance, 1 is as good as can be; errors the other way round."""
    for side in (score, ceiling, above.chance, above.beyond):
        if side.value is None:
            return Estimate.missing(side.why_missing or "one side is missing", _SHARE)
    sign, level = (1 if METRICS[metric].higher else -1), float(above.chance)
    room = _signed(_shifted(ceiling, level), sign, metric)
    if float(room) <= 0:
        return Estimate.missing("the ceiling is no better than chance", _SHARE)
    return ratio(above.beyond, room, _SHARE)


def plainly(why: str | None) -> str:
    """A reason in terms of labels and predictions."""
    return _PLAIN.get(why or "", why or "no reason given")


def typed(metric: str, x: Floats, y: Floats, kind: str = "") -> tuple[str, tuple[Any, Any]]:
    """The metric's name in ``heartfelt.stats`` and its columns: codes as whole numbers where it wants categories."""
    if kind == "share":
        return "accuracy", (np.ones(y.size, np.int64), (y > 0.5).astype(np.int64))
    if kind == "mean":
        return "mae", (np.zeros_like(y), y)
    if metric in _WHOLE:
        return metric, (x.astype(np.int64), y.astype(np.int64))
    return metric, ((x.astype(np.int64), y) if metric in _SCORED else (x, y))
