"""Coverage as the dashboard shows it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl

from heartfelt.collect import Collection, Coverage


def coverage_json(collection: Collection) -> dict[str, Any]:
    """How far the study is. Counts are of trials: with all questions on one page, a stimulus counts once."""
    change = collection.change()
    found, people = collection.coverage(), collection.raters()
    units = _units(collection, found)
    forecast = found.forecast
    full = int((units["complete"] >= found.quota).sum())
    waiting = found.complete < found.wanted
    return {
        "change": change,
        "of": "stimuli" if _whole(collection) else "items",
        "quota": found.quota,
        "units": found.units,
        "full": full,
        "wanted": found.wanted,
        "complete": found.complete,
        "extra": found.extra,
        "leased": found.leased,
        "histogram": _histogram(units, found.quota),
        "per_hour": forecast.per_hour,
        "finish": _moment(forecast.finish) if waiting and forecast.finish is not None else None,
        "why_no_finish": forecast.reason if waiting else "every item has its ratings",
        "raters": {
            "all": people.height,
            "active": found.raters_now,
            "complete": int((people["state"] == "complete").sum()),
            "excluded": int(people["excluded"].sum()),
        },
    }


def _whole(collection: Collection) -> bool:
    return collection.study.design.questions_per_page == "all"


def _units(collection: Collection, found: Coverage) -> pl.DataFrame:
    return found.items.unique("stimulus", maintain_order=True) if _whole(collection) else found.items


def _histogram(units: pl.DataFrame, quota: int) -> list[dict[str, int]]:
    """How many units have so many ratings, from none to the quota and beyond; with and without those coming."""
    now = dict(units["complete"].value_counts().iter_rows())
    then = dict((units["complete"] + units["leased"]).alias("soon").value_counts().iter_rows())
    last = max(quota, *now, *then) if now else quota
    return [
        {"ratings": n, "units": now.get(n, 0), "units_with_leases": then.get(n, 0)} for n in range(last + 1)
    ]


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(min(seconds, 253_370_764_800), UTC)
