"""``/health``: whether the server and its store are well, told to anybody, without anything else."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection
from heartfelt.collect.errors import store_unavailable


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
