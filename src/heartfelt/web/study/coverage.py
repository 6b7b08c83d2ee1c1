"""Coverage as the dashboard shows it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl

from heartfelt.collect import Collection
from heartfelt.collect import Coverage as CoverageCounts

REST = 5
"""In a large study, after counting for a second coverage rests for five."""
LARGE = 10_000
"""Stimuli or items from which a study is large; below, coverage is always of the moment."""


class Coverage:
    """Coverage for however many dashboards watch: counted again when something changed, and not all the time."""

    def __init__(self, collection: Collection, clock: Callable[[], float] = time.monotonic) -> None:
        self._collection = collection
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[str, Any] | None = None
        self._until = 0.0

    def json(self) -> dict[str, Any]:
        """How far the study is, now or a moment ago."""
        with self._lock:
            began = self._clock()
            if self._last is None or began >= self._until:
                self._last = coverage_json(self._collection)
                now = self._clock()
                self._until = now + (REST * (now - began) if self._last["units"] >= LARGE else 0.0)
            return self._last


def coverage_json(collection: Collection) -> dict[str, Any]:
    """How far the study is. Counts are of trials: with all questions on one page, a stimulus counts once."""
    change = collection.change()
    found = collection.coverage()
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
            "all": found.raters,
            "active": found.raters_now,
            "complete": found.raters_complete,
            "excluded": found.raters_excluded,
        },
    }


def _whole(collection: Collection) -> bool:
    return collection.study.design.questions_per_page == "all"


def _units(collection: Collection, found: CoverageCounts) -> pl.DataFrame:
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
