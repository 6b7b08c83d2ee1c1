"""The dashboard's figures and coverage, computed once for any number of dashboards.

The heavier figures are computed once per state of the study, and at most every few seconds. Requests that come while they
are being computed get the previous ones, with the number of the state they describe.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import polars as pl

from heartfelt.analysis.live import (
    LiveReliability,
    LiveSystemMean,
    MachineField,
    machine_fields,
    reliability_so_far,
    system_means,
)
from heartfelt.analysis.material import prepare
from heartfelt.collect import Collection
from heartfelt.screening import screen
from heartfelt.snapshot import Snapshot
from heartfelt.web.api.models import CoverageBin, CoverageInfo
from heartfelt.web.study.background import Reader

IDLE_SHARE = 5
"""After computing for a second the figures rest for five, so that raters never wait for them."""
LARGE = 10_000
"""Stimuli or items from which a study is large: there coverage rests too; below, it is always current."""
_LAST_MOMENT = 253_370_764_800


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """Everything computed from one state of the study."""

    change: int
    at: float
    took: float
    reliability: list[LiveReliability]
    systems: list[LiveSystemMean]
    machine: list[MachineField]
    ranking: pl.DataFrame
    flagged: dict[str, list[str]]
    notes: tuple[str, ...]


class Figures:
    """Keeps the latest board and computes the next one when it is due."""

    def __init__(
        self,
        collection: Collection,
        seconds: float,
        clock: Callable[[], float] = time.time,
        reader: Reader | None = None,
    ) -> None:
        self._collection = collection
        self._reader = reader or Reader(collection)
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._last: Board | None = None

    def board(self) -> Board:
        """The figures of now, or of a moment ago."""
        last = self._last
        if last is not None and not self._due(last):
            return last
        if not self._lock.acquire(blocking=last is None):
            assert last is not None
            return last
        try:
            if self._last is None or self._due(self._last):
                board = self._reader.call(make_board)
                # The first time includes loading the libraries, which says nothing about the next.
                took = 0.0 if self._last is None else board.took
                self._last = replace(board, at=self._clock(), took=took)
            return self._last
        finally:
            self._lock.release()

    def _due(self, last: Board) -> bool:
        rest = max(self._seconds, IDLE_SHARE * last.took)
        return self._clock() - last.at >= rest and self._collection.change() != last.change


def make_board(collection: Collection) -> Board:
    """All figures of the study as it is now."""
    began, change = time.monotonic(), collection.change()
    retained, everybody = snapshots(collection)
    material = prepare(_from_first_rating(retained))
    panel = screen(everybody)
    return Board(
        change,
        0.0,
        time.monotonic() - began,
        reliability_so_far(material),
        system_means(material),
        _machine(collection, everybody),
        panel.ranking,
        panel.reasons(),
        panel.notes,
    )


def _from_first_rating(snapshot: Snapshot) -> Snapshot:
    """The same with labels from the first rating on: a study that is half collected has figures too."""
    study = snapshot.study
    if study.design.minimum_ratings <= 1:
        return snapshot
    early = study.changed(design=study.design.model_copy(update={"minimum_ratings": 1}))
    return Snapshot.build(early, stimuli=snapshot.stimuli, ratings=snapshot.ratings, raters=snapshot.raters)


def _machine(collection: Collection, everybody: Snapshot) -> list[MachineField]:
    asked = [question.id for question in collection.study.asked if question.machine_first]
    if not asked:
        return []
    return machine_fields(everybody, asked, _excluded(everybody))


def _excluded(snapshot: Snapshot) -> list[str]:
    return snapshot.raters.filter("excluded")["rater"].to_list() if snapshot.raters.height else []


def snapshots(collection: Collection) -> tuple[Snapshot, Snapshot]:
    """The ratings of raters who count, to be measured, and those of everybody, to be ranked."""
    everybody = collection.snapshot()
    excluded = _excluded(everybody)
    if not excluded:
        return everybody, everybody
    ratings = everybody.ratings.filter(~pl.col("rater").is_in(excluded))
    return Snapshot.build(everybody.study, stimuli=everybody.stimuli, ratings=ratings), everybody


# --- coverage ----------------------------------------------------------------------------------------------------------


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
                now = self._clock()
                self._until = now + (IDLE_SHARE * (now - began) if self._last.units >= LARGE else 0.0)
            return self._last


def coverage_info(collection: Collection) -> CoverageInfo:
    """How far the study is. Counts are of trials: with all questions on one page, a stimulus or a set counts once."""
    change, coverage = collection.change(), collection.coverage()
    whole = collection.study.design.questions_per_page == "all"
    units = coverage.items.unique("stimulus", maintain_order=True) if whole else coverage.items
    waiting = coverage.complete < coverage.wanted
    finish = coverage.forecast.finish if waiting else None
    return CoverageInfo(
        change=change,
        of=("stimuli" if collection.study.sets is None else "sets") if whole else "items",
        **{
            name: getattr(coverage, name)
            for name in ("quota", "units", "wanted", "complete", "extra", "leased")
        },
        full=int((units["complete"] >= coverage.quota).sum()),
        histogram=_histogram(units, coverage.quota),
        per_hour=coverage.forecast.per_hour,
        finish=None if finish is None else datetime.fromtimestamp(min(finish, _LAST_MOMENT), UTC),
        why_no_finish=coverage.forecast.reason if waiting else "every item has its ratings",
        raters={
            "all": coverage.raters,
            "active": coverage.raters_now,
            "complete": coverage.raters_complete,
            "excluded": coverage.raters_excluded,
        },
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
