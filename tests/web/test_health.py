"""``/health``: whether the server and its store are well, told to anybody, without anything else."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import Arrive
from heartfelt.collect.messages.errors import StoreUnavailable, store_unavailable
from heartfelt.collect.writing import writer as writing


def test_health_says_whether_the_store_can_be_read(
    stranger: TestClient, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = collection.raters().height
    well = stranger.get("/health")
    assert (well.status_code, well.json()) == (200, {"status": "ok"})
    assert well.headers["cache-control"] == "no-store"
    assert "set-cookie" not in well.headers
    assert collection.raters().height == before, "a monitor is no rater"

    def unavailable() -> int:
        raise store_unavailable("connection to db.internal refused")

    monkeypatch.setattr(collection, "change", unavailable)
    ill = stranger.get("/health")
    assert ill.status_code == 503
    assert "db.internal" not in ill.text


def test_health_fails_while_writing_fails(
    stranger: TestClient, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading works all the time, as on a disk that is full."""
    real, full = collection._store.write, False
    tries: list[bool] = []

    def write(*arguments: Any) -> None:
        tries.append(full)
        if full:
            raise OperationalError("INSERT", {}, Exception("database or disk is full"))
        real(*arguments)

    monkeypatch.setattr(collection._store, "write", write)
    assert stranger.get("/health").status_code == 200
    full, tries = True, []
    assert stranger.get("/health").status_code == 200, "the last write went well"
    with pytest.raises(StoreUnavailable):
        collection.do(Arrive())
    assert [stranger.get("/health").status_code for _ in range(3)] == [503] * 3
    assert len(tries) <= 2, "a monitor's questions are no load: one small write in two seconds"
    full = False
    monkeypatch.setattr(writing, "_PROBE_SECONDS", 0.0)
    assert stranger.get("/health").status_code == 200, "without anybody having answered"

    full = True
    monkeypatch.setattr(writing, "_IDLE_SECONDS", 0.0)
    assert stranger.get("/health").status_code == 503, "a study nobody answers is tried too"
