"""Figures and exports in a process of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection
from heartfelt.collect.messages.errors import StoreUnavailable, UnknownRater
from heartfelt.web.api.data import ratings_page
from heartfelt.web.api.raters import effect_of
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from heartfelt.web.study.background import BackgroundReader, ReaderFailed
from tests.web.conftest import log_in
from tests.web.studies import fill, rate

API = "/api/v1"


@pytest.fixture
def reader(collection: Collection) -> Iterator[BackgroundReader]:
    made = BackgroundReader(collection)
    yield made
    made.close()


def own_process(collection: Collection) -> int:
    """Which process this is called in."""
    import os

    del collection
    return os.getpid()


@pytest.mark.slow
def test_it_sees_what_is_stored_and_is_another_process(collection: Collection, reader: BackgroundReader) -> None:
    import os

    rate(collection, "a", most=3)
    assert reader.call(ratings_page, 0, 100).total == 6
    rate(collection, "b", most=2)
    assert reader.call(ratings_page, 0, 100).total == 10
    assert reader.call(Collection.coverage).complete == collection.coverage().complete == 5
    assert reader.call(Collection.raters).height == 2
    assert reader.call(own_process) != os.getpid()


@pytest.mark.slow
def test_errors_come_back_as_they_are(reader: BackgroundReader) -> None:
    with pytest.raises(UnknownRater, match="No rater is called"):
        reader.call(effect_of, "nobody")


@pytest.mark.slow
def test_it_is_started_again_after_it_died(reader: BackgroundReader) -> None:
    first = reader.call(own_process)
    assert reader._worker is not None
    reader._worker[0].kill()
    reader._worker[0].join()
    assert reader.call(own_process) != first
    assert reader._worker is not None
    reader._worker[1].close()
    with pytest.raises(StoreUnavailable):
        reader.call(own_process)
    assert reader.call(own_process) != first


@pytest.mark.slow
def test_the_api_is_the_same(collection: Collection, options: WebOptions, folder: Path) -> None:
    fill(collection, ["a", "b", "c"])
    paths = ("raters", "stimuli", "reliability", "systems", "ratings", "machine", "coverage")
    messages = []
    for reader in (None, BackgroundReader(collection)):
        app = create_app(collection, options, reader=reader)
        with TestClient(app, base_url="http://study.test", follow_redirects=False) as client:
            log_in(client)
            messages.append({path: client.get(f"{API}/{path}").json() for path in paths})
            assert client.post(f"{API}/snapshots").status_code == 201
            assert client.get(f"{API}/export/long").content[:2] == b"PK"
            assert client.get(f"{API}/ratings?as=parquet").content[:4] == b"PAR1"
            assert client.get(f"{API}/ratings?as=csv").text.startswith("rater,")
        import time

        time.sleep(1.1)  # snapshots are named by the second
    for path in ("raters", "stimuli", "ratings", "reliability", "systems", "machine"):
        assert messages[0][path] == messages[1][path], path


@pytest.mark.slow
def test_a_bug_is_logged_and_answered_with_500(
    collection: Collection, options: WebOptions, reader: BackgroundReader, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ReaderFailed, match="len: TypeError: object of type 'Collection' has no len"):
        reader.call(len)  # type: ignore[arg-type]  # the bug
    assert reader.call(own_process)

    def broken(*_: object) -> None:
        raise TypeError("injected")

    app = create_app(collection, options, reader=reader)
    with TestClient(app, base_url="http://study.test", follow_redirects=False) as client:
        log_in(client)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BackgroundReader, "call", broken)
            answer = client.get(f"{API}/ratings")
        assert answer.status_code == 500
        assert "heartfelt failed (reference" in answer.json()["problem"]
        assert client.get(f"{API}/ratings").status_code == 200
    logged = [record for record in caplog.records if record.exc_info is not None]
    assert [str(record.exc_info[1]) for record in logged if record.exc_info] == ["injected"]
