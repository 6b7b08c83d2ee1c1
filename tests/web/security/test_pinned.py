"""What stays the same from version to version, and the rare paths of the guard: raw requests, faults half-way, the log."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from hashlib import sha256
from typing import Any

import pytest
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heartfelt.collect import Collection
from heartfelt.web.requests.errors import RequestRefused
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.access import EndedLogins, Tokens
from heartfelt.web.security.guard import Guard
from heartfelt.web.security.signing import STUDY_COOKIE, STUDY_SECONDS, Signer, delete_cookie, load_keys, set_cookie
from tests.web.security.test_cookies import SECRET, Clock

OPTIONS = WebOptions(secret=SECRET)


def send_raw(
    app: ASGIApp, *, method: str = "GET", path: str = "/here", body: tuple[bytes, ...] = (b"",), **scope: Any
) -> list[Message]:
    """The messages an application sends to a raw request, whose body comes in these parts."""
    headers = [(name.encode(), value.encode()) for name, value in scope.pop("headers", {}).items()]
    request = {"type": "http", "method": method, "path": path, "headers": headers, "query_string": b"", **scope}
    parts = [{"type": "http.request", "body": part, "more_body": True} for part in body]
    sent: list[Message] = []

    async def receive() -> Message:
        return parts.pop(0) if parts else {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    async def run() -> None:
        await app(request, receive, send)

    asyncio.run(run())
    return sent


async def reading(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the body and answers with its size and the paths of the request."""
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message["body"]), message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    text = f"{size} {scope['path']} {scope.get('raw_path', b'').decode()}"
    await send({"type": "http.response.body", "body": text.encode()})


def status(sent: list[Message]) -> int:
    return int(sent[0]["status"])


# --- what was given out stays valid -----------------------------------------------------------------------------------


def test_links_and_cookies_of_earlier_versions_are_still_read() -> None:
    signer = Signer(SECRET, Clock())
    signed = "f424a.eA.ntqrfqNhHbbG8AXpzQvYKiUgTjhykzl_5EFoWQVzo-o"
    assert signer.sign("invite", "x", 10) == signed
    assert Signer(SECRET, Clock()).read("invite", signed) == "x"


def test_a_log_out_of_an_earlier_version_still_counts(collection: Collection) -> None:
    clock = Clock()
    name = f"logged out {sha256(b'a session').hexdigest()[:32]}"
    EndedLogins(collection, clock).end("a session", STUDY_SECONDS)
    assert collection.value(name) == f"{clock.now + 12 * 3600:.0f}"


def test_keys_are_not_shown(collection: Collection) -> None:
    keys = load_keys(collection)
    assert keys.secret.decode() not in repr(keys)
    assert keys.password not in repr(keys)


@pytest.mark.parametrize(("prefix", "path"), [("", "/"), ("/studies/a", "/studies/a")])
def test_a_cookie_is_deleted_where_it_was_set(prefix: str, path: str) -> None:
    options = WebOptions(secret=SECRET, prefix=prefix)
    for change in (partial(set_cookie, signed="x", seconds=60), delete_cookie):
        response = Response()
        change(response, options, name=STUDY_COOKIE)
        assert f"; Path={path};" in response.headers["set-cookie"] + ";"


def test_a_token_names_its_id(collection: Collection) -> None:
    new = Tokens(collection).make("program")
    mark, id, secret = new.text.split("_", 2)
    assert (mark, id, len(id)) == ("hf", new.token.id, 8)
    assert new.token.hash == sha256(secret.encode()).hexdigest()
    assert len(secret) == 43


# --- raw requests -----------------------------------------------------------------------------------------------------


def test_requests_without_an_address_share_one_bucket() -> None:
    app = Guard(reading, WebOptions(secret=SECRET, address_per_minute=2, access_log=False))
    assert [status(send_raw(app, client=None)) for _ in range(3)] == [200, 200, 429]
    assert status(send_raw(app, client=("10.0.0.1", 5))) == 200
    assert [status(send_raw(app, client=("10.0.0.2", port))) for port in (1, 2, 3)] == [200, 200, 429]


def test_a_raters_cookie_is_read_wherever_it_stands() -> None:
    signed = Signer(SECRET).sign("rater", "r1", 60)
    app = Guard(reading, WebOptions(secret=SECRET, address_per_minute=1, rater_per_minute=1, access_log=False))
    here = f"heartfelt_rater={signed}"
    cookies = [here, f"a=1; {here}", f"{here}; b=2; c=3", f'heartfelt_rater="{signed}"']
    assert [status(send_raw(app, headers={"cookie": cookie})) for cookie in cookies] == [200, 429, 429, 429]


@pytest.mark.parametrize(
    ("path", "raw", "seen"),
    [
        ("/here", b"/h%65re", "0 /p/here /p/h%65re"),
        ("/here", None, "0 /p/here /p/here"),
        ("/p/here", b"/p/h%65re", "0 /p/here /p/h%65re"),
        ("/p", b"/p", "0 /p /p"),
        ("/pp", b"/pp", "0 /p/pp /p/pp"),
    ],
)
def test_the_prefix_is_put_into_both_paths(path: str, raw: bytes | None, seen: str) -> None:
    app = Guard(reading, WebOptions(secret=SECRET, prefix="/p", access_log=False))
    assert send_raw(app, path=path, raw_path=raw)[1]["body"].decode() == seen


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ({"content-length": "9" * 5000, "content-type": "application/json"}, (b"",), 413),
        ({"content-length": "-1", "content-type": "application/json"}, (b"",), 400),
        ({"content-length": "0"}, (b"",), 200),
        ({}, (b"",), 200),
        ({"transfer-encoding": "chunked"}, (b"x",), 415),
        ({"transfer-encoding": "chunked", "content-type": "application/json"}, (b"12345", b"67890"), 200),
        ({"transfer-encoding": "chunked", "content-type": "application/json"}, (b"12345", b"678901"), 413),
    ],
)
def test_bodies_of_any_length(headers: dict[str, str], body: tuple[bytes, ...], expected: int) -> None:
    app = Guard(reading, WebOptions(secret=SECRET, body_limit=10, access_log=False))
    assert status(send_raw(app, method="POST", headers=headers, body=body)) == expected


def test_what_is_no_request_passes_through() -> None:
    seen: list[str] = []

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["type"])

    async def nothing(*_: Any) -> Any:
        raise AssertionError("nothing is sent or received")

    asyncio.run(Guard(inner, OPTIONS)({"type": "lifespan"}, nothing, nothing))
    assert seen == ["lifespan"]


# --- faults and the log -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize(
    ("error", "answered"), [(RuntimeError("x"), 500), (RequestRefused(413), 413), (ClientDisconnect(), 499)]
)
def test_a_fault_is_answered_once_at_most(
    error: Exception, answered: int, begun: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise error

    with caplog.at_level(logging.INFO, "heartfelt.access"):
        sent = send_raw(Guard(failing, OPTIONS))
    starts = [message["status"] for message in sent if message["type"] == "http.response.start"]
    expected = 200 if begun else answered
    assert starts == ([] if expected == 499 else [expected])
    assert f"GET /here {expected} " in caplog.messages[-1]


def test_the_log_has_method_path_status_and_milliseconds(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0

    def clock() -> float:
        nonlocal now
        now += 0.0125
        return now

    monkeypatch.setattr("heartfelt.web.security.guard.time.perf_counter", clock)
    paths = ["/here", "/i/secret", "/r/secret", "/" + "x" * 300, "/line\nbreak", "/für"]
    with caplog.at_level(logging.INFO, "heartfelt.access"):
        for path in paths:
            send_raw(Guard(reading, OPTIONS), path=path)
    shown = ["/here", "/i/…", "/r/…", "/" + "x" * 199, "'/line\\nbreak'", "/für"]
    logged = [message for message in caplog.messages if message.startswith("GET")]
    assert logged == [f"GET {path} 200 12.5 ms" for path in shown]


def test_static_files_are_checked_again_and_the_rest_is_not_stored() -> None:
    app = Guard(reading, OPTIONS)
    for path, value in (("/static/a.js", b"no-cache"), ("/here", b"no-store")):
        headers = dict(send_raw(app, path=path)[0]["headers"])
        assert headers[b"cache-control"] == value
