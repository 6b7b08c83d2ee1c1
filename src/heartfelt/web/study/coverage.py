"""How far a study is, for the dashboards: ratings against the quota, arms, and when it will be complete."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal, cast

import polars as pl
from pydantic import BaseModel, Field

from heartfelt.collect import Collection
from heartfelt.web.study.background import IDLE_SHARE

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

LARGE = 10_000
"""Stimuli or items from which a study is large: there coverage rests too; below, it is always current."""
_LAST_MOMENT = 253_370_764_800
Count = Annotated[int, Field(ge=0)]


class CoverageBin(BaseModel):
    """How many have so many complete ratings, now and once all leased trials are answered."""

    ratings: Count
    units: Count
    units_with_leases: Count


class ArmInfo(BaseModel):
    """One arm: raters assigned to it (those who count), complete and at work, and its ratings against what it wants."""

    arm: str
    weight: float
    raters: Count
    complete: Count
    active: Count
    ratings: Count
    wanted: Count


class CoverageInfo(BaseModel):
    """Ratings against the quota, counted in trials: of stimuli with all their questions, or of single items."""

    change: int
    of: Literal["stimuli", "sets", "items"]
    adaptive: bool
    """Whether the study chooses what is rated more often: the quota then holds on average."""
    quota: Count
    units: Count
    full: Count
    wanted: Count
    complete: Count
    extra: Count
    leased: Count
    histogram: list[CoverageBin]
    per_hour: float | None
    finish: datetime | None
    why_no_finish: str | None
    raters: dict[Literal["all", "active", "complete", "excluded"], Count]
    arms: list[ArmInfo]
    screened_out: dict[str, Count]
    """Raters whom each screener screened out."""
    automated: Count
    """Fetches by robots and link previews, which are not raters."""


class CoverageView:
    """Coverage for any number of dashboards: counted again when something changed, and not all the time."""

    def __init__(self, collection: Collection, clock: Callable[[], float] = time.monotonic) -> None:
        self._collection = collection
        self._clock = clock
        self._lock = threading.Lock()
        self._last: CoverageInfo | None = None
        self._until = 0.0

    def current(self) -> CoverageInfo:
        """How far the study is, now or a moment ago."""
        with self._lock:
            began = self._clock()
            if self._last is None or began >= self._until:
                self._last = coverage_info(self._collection)
                # In a large study counting rests in proportion to the time it took, and never takes all of a processor.
                now = self._clock()
                self._until = now + (IDLE_SHARE * (now - began) if self._last.units >= LARGE else 0.0)
            return self._last


def coverage_info(collection: Collection) -> CoverageInfo:
    """How far the study is. Counts are of trials: with all questions on one page, a stimulus or a set counts once in each arm."""
    change, coverage = collection.change(), collection.coverage()
    whole = collection.study.design.questions_per_page == "all"
    waiting = coverage.complete < coverage.wanted
    finish = coverage.forecast.finish if waiting else None
    return CoverageInfo(
        change=change,
        of=("stimuli" if collection.study.sets is None else "sets") if whole else "items",
        adaptive=collection.study.design.adaptive,
        **{name: getattr(coverage, name) for name in ("quota", "units", "wanted", "complete", "extra", "leased")},
        full=int((coverage.counts["complete"] >= coverage.quota).sum()),
        histogram=_histogram(coverage.counts, coverage.quota),
        per_hour=coverage.forecast.per_hour,
        finish=None if finish is None else datetime.fromtimestamp(min(finish, _LAST_MOMENT), UTC),
        why_no_finish=coverage.forecast.reason if waiting else "every item has its ratings",
        raters={
            "all": coverage.raters,
            "active": coverage.raters_now,
            "complete": coverage.raters_complete,
            "excluded": coverage.raters_excluded,
        },
        arms=[ArmInfo(**asdict(arm)) for arm in coverage.arms],
        screened_out=dict(coverage.screened_out),
        automated=collection.automated_fetches(),
    )


def _histogram(units: pl.DataFrame, quota: int) -> list[CoverageBin]:
    """How many units have so many ratings, from none to the quota and beyond; with and without those coming."""
    now: dict[int, int] = dict(units["complete"].value_counts().iter_rows())
    then: dict[int, int] = dict((units["complete"] + units["leased"]).value_counts().iter_rows())
    return [
        CoverageBin(ratings=n, units=now.get(n, 0), units_with_leases=then.get(n, 0))
        for n in range(max(quota, *now, *then) + 1 if now else quota + 1)
    ]


def coverage_of(request: HTTPConnection) -> CoverageView:
    """What the application that handles a request says of coverage."""
    return cast(CoverageView, request.app.state.coverage)
