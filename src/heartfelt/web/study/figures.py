"""The dashboard's figures and coverage, computed once for any number of dashboards.

The heavier figures are computed once per state of the study, and at most every few seconds. Requests that come while they
are being computed get the previous ones, with the number of the state they describe.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import polars as pl
from anyio import CapacityLimiter
from starlette.requests import HTTPConnection

from heartfelt.analysis.compared_sets.strengths import comparison_results
from heartfelt.analysis.compared_sets.traces import trace_results
from heartfelt.analysis.consistency.live import (
    LiveCategories,
    LiveReliability,
    LiveSystemMean,
    MachineField,
    category_shares,
    field_agreements,
    machine_fields,
    reliability_so_far,
    system_means,
)
from heartfelt.analysis.data.material import prepare
from heartfelt.analysis.findings.categories import FieldAgreement
from heartfelt.analysis.findings.comparisons import ComparisonQuestion, TraceQuestion
from heartfelt.collect import Collection
from heartfelt.screening import screen
from heartfelt.snapshot import Snapshot
from heartfelt.study import Study
from heartfelt.web.study.background import IDLE_SHARE, Reader


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DashboardState:
    """Everything computed from one state of the study."""

    change: int
    at: float = 0.0
    took: float = 0.0
    reliability: list[LiveReliability]
    fields: list[FieldAgreement]
    systems: list[LiveSystemMean]
    categories: list[LiveCategories]
    comparisons: tuple[ComparisonQuestion, ...]
    traces: tuple[TraceQuestion, ...]
    machine: list[MachineField]
    ranking: pl.DataFrame
    flagged: dict[str, list[str]]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FiguresState:
    """Of when the latest figures are, and since when others are being computed, in seconds since 1970."""

    change: int | None
    computed: float | None
    computing_since: float | None


class DashboardCache:
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
        self._last: DashboardState | None = None
        self._computing_since: float | None = None
        self.waiting = CapacityLimiter(1)

    @property
    def state(self) -> FiguresState:
        """Of when the latest figures are, and since when others are being computed; never waits."""
        last = self._last
        return FiguresState(
            change=None if last is None else last.change,
            computed=None if last is None else last.at,
            computing_since=self._computing_since,
        )

    def ready(self) -> DashboardState | None:
        """The latest figures, unless there are none or it is this caller's turn to have them computed; never waits."""
        last = self._last
        return last if last is not None and (self._lock.locked() or not self._due(last)) else None

    def board(self) -> DashboardState:
        """The figures of now, or of a moment ago."""
        last = self._last
        if last is not None and not self._due(last):
            return last
        # Whoever finds others computing gets the previous figures, and waits only if there are none.
        if not self._lock.acquire(blocking=last is None):
            assert last is not None
            return last
        try:
            if self._last is None or self._due(self._last):
                self._computing_since = self._clock()
                board = self._reader.call(make_board)
                # The first time includes loading the libraries, which says nothing about the next.
                took = 0.0 if self._last is None else board.took
                self._last = replace(board, at=self._clock(), took=took)
            return self._last
        finally:
            self._computing_since = None
            self._lock.release()

    def _due(self, last: DashboardState) -> bool:
        pause = max(self._seconds, IDLE_SHARE * last.took)
        return self._clock() - last.at >= pause and self._collection.change() != last.change


def make_board(collection: Collection) -> DashboardState:
    """All figures of the study as it is now."""
    began, change = time.monotonic(), collection.change()
    retained, everybody = snapshots(collection)
    material = prepare(_from_first_rating(retained))
    panel = screen(everybody)
    board = DashboardState(
        change=change,
        reliability=reliability_so_far(material),
        fields=field_agreements(material),
        systems=system_means(material),
        categories=category_shares(material),
        comparisons=comparison_results(material.snapshot, material.labels.contests, brief=True),
        traces=trace_results(material.snapshot),
        machine=_machine(collection, everybody),
        ranking=panel.ranking,
        flagged=panel.reasons(),
        notes=panel.notes,
    )
    return replace(board, took=time.monotonic() - began)


def _from_first_rating(snapshot: Snapshot) -> Snapshot:
    """The same with labels from the first rating on: a study that is half collected has figures too."""
    study = snapshot.study
    if study.design.minimum_ratings <= 1:
        return snapshot
    early = study.changed(design=study.design.model_copy(update={"minimum_ratings": 1}))
    return _with_all_tables(snapshot, early)


def _with_all_tables(snapshot: Snapshot, study: Study, left_out: Sequence[str] = ()) -> Snapshot:
    """The snapshot under another study, without what the raters ``left_out`` gave."""
    retained = ~pl.col("rater").is_in(list(left_out))
    return Snapshot.build(
        study,
        stimuli=snapshot.stimuli,
        ratings=snapshot.ratings.filter(retained),
        raters=snapshot.raters.filter(retained),
        items=snapshot.table("items"),
        traces=snapshot.traces.filter(retained),
        fields=snapshot.fields.filter(~pl.col("verified_by").is_in(list(left_out)))
        if "verified_by" in snapshot.fields.columns
        else snapshot.fields,
        means=snapshot.means,
        adjudications=snapshot.adjudications,
        source=snapshot.source,
    )


def _machine(collection: Collection, everybody: Snapshot) -> list[MachineField]:
    drafted = [question.id for question in collection.study.asked if question.machine_first]
    if not drafted:
        return []
    return machine_fields(everybody, drafted, _excluded(everybody))


def _excluded(snapshot: Snapshot) -> list[str]:
    return snapshot.raters.filter("excluded")["rater"].to_list() if snapshot.raters.height else []


def snapshots(collection: Collection) -> tuple[Snapshot, Snapshot]:
    """The ratings of raters who count, to be measured, and those of everybody, to be ranked."""
    everybody = collection.snapshot()
    excluded = _excluded(everybody)
    if not excluded:
        return everybody, everybody
    return _with_all_tables(everybody, everybody.study, excluded), everybody


def figures_of(request: HTTPConnection) -> DashboardCache:
    """The figures of the application that handles a request."""
    return cast(DashboardCache, request.app.state.figures)
