"""The heavier figures: of one state of the study, made once, and never while they rest."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest

from heartfelt.analysis.data.material import prepare
from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import Exclude
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.signing import STUDY_COOKIE
from heartfelt.web.serving.app import create_app
from heartfelt.web.study import figures as module
from heartfelt.web.study.figures import DashboardCache, DashboardState, FiguresState, snapshots
from heartfelt.web.study.routes import ChangeCounter
from tests.web.studies import fill, rate


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.slow
def test_figures_are_made_anew_only_after_a_change_and_a_rest(collection: Collection) -> None:
    clock = Clock()
    figures = DashboardCache(collection, 3.0, clock)
    first = figures.board()
    clock.now += 100
    assert figures.board() is first
    rate(collection, "a", most=2)
    second = figures.board()
    assert second is not first
    assert second.change > first.change
    rate(collection, "b", most=2)
    clock.now += 2.9
    assert figures.board() is second
    clock.now += 0.1 + 5 * second.took
    assert figures.board().change == collection.change()


def test_they_rest_five_times_as_long_as_they_took(collection: Collection) -> None:
    clock = Clock()
    figures = DashboardCache(collection, 1.0, clock)
    slow = replace(figures.board(), took=5.0)
    figures._last = slow
    rate(collection, "a", most=1)
    clock.now += 24.0
    assert figures.board() is slow
    clock.now += 1.0
    assert figures.board() is not slow


def test_whoever_asks_meanwhile_gets_the_last_ones(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = DashboardCache(collection, 0.0, Clock())
    first = figures.board()
    rate(collection, "a", most=2)
    begun, go_on = threading.Event(), threading.Event()
    real = prepare

    def slow(snapshot: object) -> object:
        begun.set()
        assert go_on.wait(60)
        return real(snapshot)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(module, "prepare", slow)
    got: list[DashboardState] = []
    thread = threading.Thread(target=lambda: got.append(figures.board()))
    thread.start()
    assert begun.wait(60)
    assert figures.board() is first
    assert figures.state.computing_since == 1000.0
    assert figures.state.change == first.change
    go_on.set()
    thread.join(60)
    assert got[0].change > first.change
    assert figures.state == FiguresState(change=got[0].change, computed=1000.0, computing_since=None)


def test_the_rest_is_as_long_as_everything_took(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock, time=clock))

    def slow(material: object) -> list[object]:
        clock.now += 7.0
        return []

    monkeypatch.setattr(module, "system_means", slow)
    assert module.make_board(collection).took == 7.0


def test_whoever_waits_for_figures_keeps_no_rater_waiting(
    collection: Collection, options: WebOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More dashboards than the server has threads, all without figures; other requests are answered all the same."""
    go_on = threading.Event()
    real = prepare

    def slow(snapshot: object) -> object:
        assert go_on.wait(60)
        return real(snapshot)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(module, "prepare", slow)
    app = create_app(collection, options)

    async def visit() -> tuple[int, dict[str, str | None]]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://study.test") as client:
            signed = app.state.signer.sign("study", "researcher", 60)
            client.cookies.set(STUDY_COOKIE, signed)
            try:
                waiting = [asyncio.create_task(client.get("/api/v1/reliability")) for _ in range(45)]
                await asyncio.sleep(0.2)
                health = await asyncio.wait_for(client.get("/health"), 20)
                state = await asyncio.wait_for(client.get("/api/v1/figures"), 20)
            finally:
                go_on.set()
            assert {reply.status_code for reply in await asyncio.gather(*waiting)} == {200}
            return health.status_code, state.json()

    status, state = asyncio.run(visit())
    assert status == 200
    assert state["computed"] is None
    assert state["computing_since"] is not None


def test_excluded_raters_are_ranked_but_not_measured(collection: Collection) -> None:
    raters = fill(collection, ["a", "b", "c"])
    collection.do(Exclude(raters[0], "by hand"))
    retained, everybody = snapshots(collection)
    assert sorted(set(retained.ratings["rater"])) == sorted(raters[1:])
    assert sorted(set(everybody.ratings["rater"])) == sorted(raters)
    board = DashboardCache(collection, 0.0).board()
    assert sorted(board.ranking["rater"]) == sorted(raters)
    assert board.reliability[0].alpha.counts["raters"] == 2


def test_one_look_serves_all_who_watch(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    real = collection.change

    def look() -> int:
        looks.append(1)
        return real()

    monkeypatch.setattr(collection, "change", look)

    async def watch() -> list[int]:
        pulse = ChangeCounter(collection)
        return list(await asyncio.gather(*(pulse.number() for _ in range(50))))

    numbers = asyncio.run(watch())
    assert len(set(numbers)) == 1
    assert len(looks) == 1
