"""Logging out ends a login wherever its cookie is; limits that a lecture hall does not meet."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.app import create_app
from heartfelt.web.options import WebOptions
from heartfelt.web.security.access import EndedLogins
from heartfelt.web.security.signing import STUDY_COOKIE
from tests.web.conftest import SECRET, log_in
from tests.web.studies import rate

API = "/api/v1"


def log_out(client: TestClient) -> None:
    done = client.post("/study/logout", data={"page": client.headers["x-heartfelt-token"]})
    assert done.status_code == 303


@pytest.mark.slow
def test_a_copy_of_the_cookie_is_worthless_after_logging_out(
    researcher: TestClient, collection: Collection, options: WebOptions, folder: Path
) -> None:
    copied = str(researcher.cookies[STUDY_COOKIE])
    rater, _ = rate(collection, most=1)
    media = next(iter(collection.media_ids().values()))
    log_out(researcher)
    researcher.cookies.clear()
    researcher.cookies.set(STUDY_COOKIE, copied)
    assert researcher.get(f"{API}/study").status_code == 401
    assert researcher.post(f"{API}/raters/{rater}/exclude", json={"reason": "x"}).status_code == 401
    assert researcher.get("/study").status_code == 303
    assert researcher.get("/study/events").status_code == 401
    assert researcher.get(f"/media/{media}").status_code == 401
    with Collection.open(folder, options=CollectOptions(seed=2)) as again:
        app = create_app(again, options)
        with TestClient(app, base_url="http://study.test", follow_redirects=False) as restarted:
            restarted.cookies.set(STUDY_COOKIE, copied)
            assert restarted.get(f"{API}/study").status_code == 401, "a restart brings no login back"
            restarted.cookies.clear()
            log_in(restarted)
            assert restarted.get(f"{API}/study").status_code == 200


def test_another_process_learns_of_it(collection: Collection, folder: Path) -> None:
    now = [1000.0]
    with Collection.open(folder, options=CollectOptions(seed=2)) as other:
        here, there = EndedLogins(collection, lambda: now[0]), EndedLogins(other, lambda: now[0])
        here.end("session", 60)
        assert here.has_ended("session")
        now[0] += 5
        there.has_ended("session")
        there._load()
        assert there.has_ended("session")
        assert not there.has_ended("another")
        now[0] += 100
        assert not EndedLogins(other, lambda: now[0]).has_ended("session"), (
            "it is over by itself, and forgotten"
        )


@pytest.mark.slow
def test_five_hundred_people_behind_one_address(collection: Collection) -> None:
    """A lecture hall: everybody arrives within a minute, fetches the page's files and works on."""
    app = create_app(collection, WebOptions(SECRET, access_log=False))
    client = TestClient(app, base_url="http://study.test", follow_redirects=False)
    refused = 0
    for person in range(500):
        client.cookies.clear()
        arrived = client.get("/")
        refused += arrived.status_code == 429
        if person % 10 == 0:
            for _ in range(220):  # what ten people fetch of styles, scripts and clips
                refused += client.get("/static/rater/icon.svg").status_code == 429
            for _ in range(40):
                refused += client.get("/rate/step").status_code == 429
    assert refused == 0


def test_guessing_tokens_is_slowed_down(collection: Collection) -> None:
    from heartfelt.web.security.access import Tokens

    right = Tokens(collection).make("test").text
    app = create_app(collection, WebOptions(SECRET, wrong_tokens_per_minute=5, access_log=False))
    client = TestClient(app, base_url="http://study.test")
    wrong = [
        client.get(f"{API}/study", headers={"authorization": f"Bearer hf_x_{n}"}).status_code
        for n in range(8)
    ]
    assert wrong == [401] * 5 + [429] * 3
    assert client.get(f"{API}/study", headers={"authorization": f"Bearer {right}"}).status_code == 429


def test_a_damaged_store_is_no_matter_of_a_moment(
    researcher: TestClient, collection: Collection, monkeypatch: object
) -> None:
    from heartfelt.collect.errors import store_damaged

    def broken() -> None:
        raise store_damaged(Path("/srv/secret-place/collected.sqlite"), "database disk image is malformed")

    collection.coverage = broken  # type: ignore[method-assign,assignment]  # a collection whose file is broken
    message = researcher.get(f"{API}/coverage")
    assert message.status_code == 507
    assert "collected.sqlite" in message.json()["problem"]
    assert "secret-place" not in message.text
    assert "backup" in message.json()["fix"]
    assert "retry-after" not in message.headers
