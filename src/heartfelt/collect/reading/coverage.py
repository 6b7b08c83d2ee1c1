"""Coverage: how many ratings every item has, has coming and wants, and when the study will be full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from heartfelt.collect.material import Material
from heartfelt.collect.session.researching import Standing

if TYPE_CHECKING:
    from sqlalchemy import Connection

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
    forecast: Forecast

    @property
    def share(self) -> float:
        """The share of wanted ratings that is there."""
        return self.complete / self.wanted if self.wanted else 1.0


def coverage(material: Material, standing: Standing, forecast: Forecast) -> Coverage:
    """Coverage from the counts by unit."""
    layout = material.layout
    valid, leases = standing.valid, standing.leases
    rows: list[tuple[str, str, int, int, int, int]] = []
    histogram: dict[int, int] = {}
    complete = extra = leased = 0
    for number in layout.units:
        unit = material.units[number]
        most = valid[number] if layout.adaptive else min(valid[number], layout.quota)
        over = valid[number] - most
        complete, extra, leased = complete + most, extra + over, leased + leases[number]
        histogram[most] = histogram.get(most, 0) + 1
        rows += [(unit.stimulus, q, most, over, leases[number], layout.quota) for q in unit.questions]
    names = ("stimulus", "question", "complete", "extra", "leased", "quota")
    schema = {name: pl.String if place < 2 else pl.Int64 for place, name in enumerate(names)}
    return Coverage(
        items=pl.DataFrame(rows, schema=schema, orient="row"),
        units=len(layout.units),
        quota=layout.quota,
        wanted=layout.quota * len(layout.units),
        complete=complete,
        extra=extra,
        leased=leased,
        histogram=dict(sorted(histogram.items())),
        raters=len(standing.raters),
        raters_now=sum(1 for rater in standing.raters if rater.live),
        forecast=forecast,
    )


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
