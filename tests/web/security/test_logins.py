"""Logging out ends a login wherever its cookie is; limits that a lecture hall does not meet."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security import access, guard
from heartfelt.web.security.access import EndedLogins, Tokens
from heartfelt.web.security.guard import RateLimit
from heartfelt.web.security.signing import STUDY_COOKIE, STUDY_SECONDS, Signer
from heartfelt.web.serving.app import create_app
from tests.web.conftest import PASSWORD, SECRET, log_in
from tests.web.security.browsers import from_address, try_password
from tests.web.security.test_cookies import Clock
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
        assert not EndedLogins(other, lambda: now[0]).has_ended("session"), "it is over by itself, and forgotten"


@pytest.mark.slow
def test_five_hundred_people_behind_one_address(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lecture hall: everybody arrives in the same moment, fetches the page's files and works on."""
    monkeypatch.setattr(guard, "RateLimit", partial(RateLimit, clock=Clock()))
    every = WebOptions(secret=SECRET).address_per_minute
    parts = 10  # a tenth of the hall, with a tenth of what is allowed
    counted, files = 500 + 50 * 40, 50 * 22
    assert counted <= every < counted + files, "only if files do not count is nobody refused"
    options = WebOptions(secret=SECRET, access_log=False, address_per_minute=every // parts)
    with TestClient(create_app(collection, options), base_url="http://study.test", follow_redirects=False) as client:
        refused = 0
        for person in range(500 // parts):
            client.cookies.clear()
            refused += client.get("/").status_code == 429
            if person % 10 == 0:
                for _ in range(22):  # what ten people fetch of styles, scripts and clips
                    refused += client.get("/static/rater/icon.svg").status_code == 429
                for _ in range(40):
                    refused += client.get("/rate/step").status_code == 429
    assert refused == 0


def test_guessing_tokens_is_slowed_down(collection: Collection) -> None:

    right = Tokens(collection).make("test").text
    app = create_app(collection, WebOptions(secret=SECRET, wrong_tokens_per_minute=5, access_log=False))
    client = TestClient(app, base_url="http://study.test")
    wrong = [client.get(f"{API}/study", headers={"authorization": f"Bearer hf_x_{n}"}).status_code for n in range(8)]
    assert wrong == [401] * 5 + [429] * 3
    assert client.get(f"{API}/study", headers={"authorization": f"Bearer {right}"}).status_code == 429


def test_a_damaged_store_is_no_matter_of_a_moment(
    researcher: TestClient, collection: Collection, monkeypatch: object
) -> None:
    from heartfelt.collect.messages.errors import store_damaged

    def broken() -> None:
        raise store_damaged(Path("/srv/secret-place/collected.sqlite"), "database disk image is malformed")

    collection.coverage = broken  # type: ignore[method-assign,assignment]  # a collection whose file is broken
    message = researcher.get(f"{API}/coverage")
    assert message.status_code == 507
    assert "collected.sqlite" in message.json()["problem"]
    assert "secret-place" not in message.text
    assert "backup" in message.json()["fix"]
    assert "retry-after" not in message.headers


def test_wrong_passwords_are_counted_by_address(
    collection: Collection, options: WebOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WebOptions(secret=SECRET).logins_per_minute == 6
    monkeypatch.setattr(access, "is_password", lambda _, given: given == PASSWORD)
    app = create_app(collection, options)
    assert app.state.login_limit.per_minute == 6
    app.state.login_limit = RateLimit(6, clock := Clock())
    here, there = from_address(app, "192.0.2.1"), from_address(app, "192.0.2.2")
    assert [try_password(here, "no").status_code for _ in range(8)] == [401] * 6 + [429] * 2
    message = try_password(here, PASSWORD)
    assert (message.status_code, message.headers["retry-after"]) == (429, "11")
    assert try_password(there, PASSWORD).status_code == 303
    clock.now += 9.999
    assert try_password(here, PASSWORD).status_code == 429
    clock.now += 0.002
    assert try_password(here, PASSWORD).status_code == 303
    assert try_password(here, "no").status_code == 401, "the right one was given back"
    assert try_password(here, "no").status_code == 429


def test_a_login_lasts_twelve_hours(collection: Collection, options: WebOptions) -> None:
    app = create_app(collection, options)
    clock = Clock()
    app.state.signer = Signer(SECRET, clock)
    door = from_address(app, "192.0.2.1")
    log_in(door)
    clock.now += 12 * 3600 - 1
    assert door.get(f"{API}/study").status_code == 200
    assert door.patch(f"{API}/settings", json={"cap": 3}).status_code == 200
    clock.now += 1
    assert door.get(f"{API}/study").status_code == 401
    assert door.get("/study").headers["location"] == "/study/login"
    log_in(door)
    fresh = door.headers["x-heartfelt-token"]
    clock.now += 6 * 3600
    assert door.patch(f"{API}/settings", json={"cap": 4}, headers={"x-heartfelt-token": fresh}).status_code == 200


def test_a_page_of_one_login_does_not_speak_for_another(collection: Collection, options: WebOptions) -> None:
    app = create_app(collection, options)
    each, two = log_in(from_address(app, "192.0.2.1")), log_in(from_address(app, "192.0.2.2"))
    foreign = {"x-heartfelt-token": each.headers["x-heartfelt-token"]}
    before_login = {"x-heartfelt-token": Signer(SECRET).sign("page", "before login", 60)}
    for headers in (foreign, before_login, {"x-heartfelt-token": str(two.cookies[STUDY_COOKIE])}):
        for method, path in (("PATCH", "settings"), ("POST", "tokens"), ("POST", "invitations")):
            assert two.request(method, f"{API}/{path}", json={}, headers=headers).status_code == 403
        assert two.post("/study/logout", data={"page": headers["x-heartfelt-token"]}).status_code == 403
    assert two.get(f"{API}/study", headers=foreign).status_code == 200, "reading needs no page"


def test_a_login_comes_from_the_login_page(stranger: TestClient) -> None:
    for page in ("", "x", Signer(SECRET).sign("page", "a session", 60)):
        message = stranger.post("/study/login", data={"password": PASSWORD, "page": page})
        assert message.status_code == 403
        assert STUDY_COOKIE not in stranger.cookies


def test_the_login_form_is_open_for_twelve_hours(collection: Collection, options: WebOptions) -> None:
    app = create_app(collection, options)
    clock = Clock()
    app.state.signer = Signer(SECRET, clock)
    door = from_address(app, "192.0.2.1")
    hidden = door.get("/study/login").text.split('name="page" value="')[1].split('"')[0]
    clock.now += 12 * 3600 - 1
    assert door.post("/study/login", data={"password": PASSWORD, "page": hidden}).status_code == 303
    door.cookies.clear()
    clock.now += 1
    assert door.post("/study/login", data={"password": PASSWORD, "page": hidden}).status_code == 403


def test_logged_out_logins_are_remembered_as_long_as_their_cookies(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    logins = EndedLogins(collection, clock)
    looks: list[float] = []
    daemons: list[bool] = []

    def start(thread: threading.Thread) -> None:
        looks.append(clock.now)
        daemons.append(thread.daemon)

    monkeypatch.setattr("threading.Thread.start", start)
    logins.end("session", STUDY_SECONDS)
    assert logins.has_ended("session")
    assert not logins.has_ended("sessio")
    assert "session" not in str(collection.values_with_prefix(""))
    clock.now += 2.0
    logins.has_ended("session")
    assert looks == []
    clock.now += 0.001
    logins.has_ended("session")
    logins.has_ended("session")
    assert looks == [clock.now], "one look at a time"
    assert daemons == [True], "no look holds up the end of the process"
    clock.now = 1_000_000.0 + STUDY_SECONDS - 1
    assert EndedLogins(collection, clock).has_ended("session")
    clock.now += 1
    assert not EndedLogins(collection, clock).has_ended("session")
