"""Coverage: how many ratings every item has, has coming and needs, and when the study will be complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from sqlalchemy import Connection

from heartfelt.collect.material import Material
from heartfelt.collect.session.endings import FINISHED
from heartfelt.collect.session.researcher import StateSummary

_RECENT = 300
_ENOUGH = 10


@dataclass(frozen=True, slots=True)
class Forecast:
    """When the study will have all its ratings at the pace of the latest ones, or why there is no forecast."""

    finish: float | None
    """Seconds since 1970."""
    per_hour: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far the study is. Counts are of trials: with all questions on one page, a stimulus counts once."""

    items: pl.DataFrame
    """One row per item: stimulus, question, complete, extra, leased, quota."""
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
    forecast: Forecast

    @property
    def share(self) -> float:
        """The share of the wanted ratings that is complete."""
        return self.complete / self.wanted if self.wanted else 1.0


def measure_coverage(
    connection: Connection, material: Material, summary: StateSummary, now: float
) -> Coverage:
    """Coverage from the counts by unit."""
    layout, raters = material.layout, summary.raters
    numbers = np.asarray(layout.counted, dtype=np.int64)
    valid = np.asarray(summary.valid, dtype=np.int64)[numbers]
    leases = np.asarray(summary.leases, dtype=np.int64)[numbers]
    complete = valid if layout.adaptive else np.minimum(valid, layout.quota)
    counts = pl.DataFrame({"complete": complete, "extra": valid - complete, "leased": leases})
    # What every rater gets is listed with the items; it has no quota, and does not count towards the end.
    complete, valid, leases = (counted[: len(layout.units)] for counted in (complete, valid, leases))
    levels, units = np.unique(complete, return_counts=True)
    names = material.item_names
    columns = counts.cast(pl.Int64)[names["unit"]].get_columns()
    quota = pl.lit(layout.quota, pl.Int64).alias("quota")
    wanted = layout.quota * len(layout.units)
    return Coverage(
        items=names.select("stimulus", "question").with_columns(*columns, quota),
        units=len(layout.units),
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
    )


def _forecast(connection: Connection, missing: int, now: float) -> Forecast:
    """When ``missing`` more ratings will be there, at the pace of the latest ones."""
    if missing <= 0:
        return Forecast(now, None, "every item has its ratings")
    recent = connection.exec_driver_sql(
        f"SELECT at FROM answers WHERE kind = 'rating' ORDER BY trial DESC LIMIT {_RECENT}"
    )
    moments = recent.scalars().all()
    if len(moments) < _ENOUGH:
        return Forecast(None, None, f"only {len(moments)} trials have been answered")
    passed = now - min(moments)
    if passed <= 0:
        return Forecast(None, None, "no time has passed")
    pace = len(moments) / passed
    return Forecast(now + missing / pace, pace * 3600)
