"""Coverage: how many ratings every item has, has coming and needs, and when the study will be complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl
from sqlalchemy import Connection

from heartfelt.collect.assign.model import AssignmentUnits
from heartfelt.collect.material import StudyUnits
from heartfelt.collect.session.progress.endings import FINISHED
from heartfelt.collect.session.researcher import StateSummary
from heartfelt.study.parts.design import Arm

_RECENT = 300
_ENOUGH = 10
_SLOWEST = 0.1
"""Trials an hour below which nobody is rating, and there is no forecast."""


@dataclass(frozen=True, slots=True)
class CompletionForecast:
    """When the study will have all its ratings at the pace of the latest ones, or why there is no forecast."""

    finish: float | None
    """Seconds since 1970."""
    per_hour: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmCoverage:
    """How far one arm is: raters who were assigned to it, and its ratings against what it wants."""

    arm: str
    weight: float
    raters: int
    complete: int
    """Raters of it who are complete."""
    active: int
    """Raters of it who hold a trial at this moment."""
    ratings: int
    wanted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCoverage:
    """How far the study is. Counts are of trials: with all questions on one page, a stimulus counts once in each arm."""

    items: pl.DataFrame
    """One row per item: stimulus, question, complete, extra, leased, quota; over all arms that show it."""
    counts: pl.DataFrame
    """One row per stimulus, set or item that is assigned, in every arm that shows it: complete, extra, leased."""
    units: int
    quota: int
    wanted: int
    complete: int
    """Valid ratings that fill a slot."""
    extra: int
    """Valid ratings beyond the quota: late ones, or those of restored raters."""
    leased: int
    histogram: Mapping[int, int]
    """How many units have so many complete ratings."""
    raters: int
    raters_now: int
    """Raters who hold a trial at this moment."""
    raters_complete: int
    raters_excluded: int
    forecast: CompletionForecast
    largest_arm: int
    """Stimuli, sets or items of the arm with the most; of the study if it has no arms."""
    arms: tuple[ArmCoverage, ...] = ()
    screened_out: Mapping[str, int] = field(default_factory=dict)
    """Raters whom each screener of the study screened out."""

    @property
    def share(self) -> float:
        """The share of the wanted ratings that is complete."""
        return self.complete / self.wanted if self.wanted else 1.0


def measure_coverage(connection: Connection, material: StudyUnits, summary: StateSummary, now: float) -> StudyCoverage:
    """Coverage from the counts by unit."""
    layout, raters = material.layout, summary.raters
    arms = layout.arms or {"": layout}
    # What every rater gets is listed after the items; it has no quota, and does not count towards the end.
    shown = [(name, arm.units) for name, arm in arms.items()] + [(name, arm.common) for name, arm in arms.items()]
    valid, leases = (
        np.concatenate([_of_units(summary.counts[name][which], units) for name, units in shown]) for which in (0, 1)
    )
    complete = valid if layout.adaptive else np.minimum(valid, layout.quota)
    counts = pl.DataFrame({"complete": complete, "extra": valid - complete, "leased": leases}).cast(pl.Int64)
    assigned = sum(len(arm.units) for arm in arms.values())
    complete, valid, leases = (counted[:assigned] for counted in (complete, valid, leases))
    levels, units = np.unique(complete, return_counts=True)
    names = material.item_names
    columns = counts[names["unit"]].get_columns()
    quota = pl.lit(layout.quota, pl.Int64).alias("quota")
    items = names.select("stimulus", "question").with_columns(*columns, quota)
    if layout.arms:
        items = items.group_by("stimulus", "question", maintain_order=True).sum()
    wanted = layout.quota * valid.size
    return StudyCoverage(
        items=items,
        counts=counts[:assigned],
        units=valid.size,
        quota=layout.quota,
        wanted=wanted,
        complete=int(complete.sum()),
        extra=int((valid - complete).sum()),
        leased=int(leases.sum()),
        histogram=dict(zip(levels.tolist(), units.tolist(), strict=True)),
        raters=len(raters),
        raters_now=sum(rater.live for rater in raters),
        raters_complete=sum(rater.ended in FINISHED and not rater.excluded for rater in raters),
        raters_excluded=sum(rater.excluded for rater in raters),
        forecast=_forecast(connection, wanted - int(complete.sum()), now),
        largest_arm=max(len(arm.units) for arm in arms.values()),
        arms=tuple(_arm(arm, layout, summary) for arm in material.study.design.arms),
        screened_out=_screened_out(material, summary),
    )


def _screened_out(material: StudyUnits, summary: StateSummary) -> dict[str, int]:
    counts = Counter(rater.screener for rater in summary.raters)
    return {screener.id: counts[screener.id] for screener in material.study.screeners}


def _of_units(counts: Sequence[int], units: Sequence[int]) -> npt.NDArray[np.int64]:
    """Of counts by unit, those of some units."""
    return np.asarray(counts, np.int64)[np.asarray(units, np.int64)]


def _arm(arm: Arm, layout: AssignmentUnits, summary: StateSummary) -> ArmCoverage:
    part = layout.arms[arm.id]
    members = [rater for rater in summary.raters if rater.arm == arm.id and rater.counts]
    valid = _of_units(summary.counts[arm.id][0], part.units)
    return ArmCoverage(
        arm=arm.id,
        weight=arm.weight,
        raters=len(members),
        complete=sum(rater.ended in FINISHED for rater in members),
        active=sum(rater.live for rater in members),
        ratings=int((valid if part.adaptive else np.minimum(valid, part.quota)).sum()),
        wanted=part.quota * len(part.units),
    )


def _forecast(connection: Connection, missing: int, now: float) -> CompletionForecast:
    """When ``missing`` more ratings will be there, at the pace of the latest ones."""
    if missing <= 0:
        return CompletionForecast(now, None, "every item has its ratings")
    recent = connection.exec_driver_sql(
        f"SELECT at FROM answers WHERE kind = 'rating' ORDER BY trial DESC LIMIT {_RECENT}"
    )
    moments = recent.scalars().all()
    if len(moments) < _ENOUGH:
        return CompletionForecast(None, None, f"only {len(moments)} trials have been answered")
    passed = now - min(moments)
    if passed <= 0:
        return CompletionForecast(None, None, "no time has passed")
    pace = len(moments) / passed
    if 3600 * pace < _SLOWEST:
        return CompletionForecast(None, None, "hardly anything has been answered lately")
    return CompletionForecast(now + missing / pace, pace * 3600)
