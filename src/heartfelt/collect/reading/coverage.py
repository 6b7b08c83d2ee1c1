"""Coverage: how many ratings every item has, has coming and wants, and when the study will be full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.collect.material import Material
from heartfelt.collect.session.researching import Standing

if TYPE_CHECKING:
    from sqlalchemy import Connection

Ints: TypeAlias = npt.NDArray[np.int64]
_RECENT = 300
_ENOUGH = 10


@dataclass(frozen=True, slots=True)
class Forecast:
    """When the study will have all its ratings at the pace of the last hours, or why that cannot be told."""

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
    """Valid ratings beyond the quota: late ones, or of raters who were taken back in."""
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
        """The share of wanted ratings that is there."""
        return self.complete / self.wanted if self.wanted else 1.0


def coverage(material: Material, standing: Standing, forecast: Forecast) -> Coverage:
    """Coverage from the counts by unit."""
    layout = material.layout
    numbers = np.asarray(layout.units, dtype=np.int64)
    valid = np.asarray(standing.valid, dtype=np.int64)[numbers]
    leases = np.asarray(standing.leases, dtype=np.int64)[numbers]
    most = valid if layout.adaptive else np.minimum(valid, layout.quota)
    levels, units = np.unique(most, return_counts=True)
    return Coverage(
        items=_items(material, most, valid - most, leases),
        units=len(layout.units),
        quota=layout.quota,
        wanted=layout.quota * len(layout.units),
        complete=int(most.sum()),
        extra=int((valid - most).sum()),
        leased=int(leases.sum()),
        histogram=dict(zip(levels.tolist(), units.tolist(), strict=True)),
        raters=len(standing.raters),
        raters_now=sum(1 for rater in standing.raters if rater.live),
        raters_complete=sum(1 for r in standing.raters if r.ended == "complete" and not r.excluded),
        raters_excluded=sum(1 for rater in standing.raters if rater.excluded),
        forecast=forecast,
    )


def _items(material: Material, most: Ints, over: Ints, leases: Ints) -> pl.DataFrame:
    """One row per item. The names are laid out once, since a study may have half a million items."""
    names = material.item_names()
    counts = pl.DataFrame({"complete": most, "extra": over, "leased": leases}, schema=_COUNTS)
    return names.select("stimulus", "question").with_columns(
        *counts[names["unit"]].get_columns(), pl.lit(material.layout.quota, pl.Int64).alias("quota")
    )


_COUNTS = dict.fromkeys(("complete", "extra", "leased"), pl.Int64)


def forecast(connection: Connection, missing: int, now: float) -> Forecast:
    """When ``missing`` more ratings will be there, at the pace of the most recent ones."""
    if missing <= 0:
        return Forecast(now, None, "every item has its ratings")
    recent = (
        connection.exec_driver_sql(
            f"SELECT at FROM answers WHERE kind = 'rating' ORDER BY trial DESC LIMIT {_RECENT}"
        )
        .scalars()
        .all()
    )
    if len(recent) < _ENOUGH:
        return Forecast(None, None, f"only {len(recent)} trials have been answered")
    spent = now - min(recent)
    if spent <= 0:
        return Forecast(None, None, "no time has passed")
    pace = len(recent) / spent
    return Forecast(now + missing / pace, pace * 3600)
