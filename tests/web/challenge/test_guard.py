"""What stands around every request to a challenge."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from heartfelt.web.challenge.guard import ChallengeGuard
from heartfelt.web.challenge.options import HostOptions
from heartfelt.web.requests.errors import RequestRefused

SITE = "https://board.example"


async def inside(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the size of the body, or fails as the path says."""
    body = await Request(scope, receive).body() if scope["method"] == "POST" else b""
    failures: dict[str, Exception] = {
        "/fault": ValueError("secret"), "/left": ClientDisconnect(), "/limit": RequestRefused(429, "Too many.", "Wait."),
    }  # fmt: skip
    if scope["path"] in failures:
        raise failures[scope["path"]]
    await PlainTextResponse(str(len(body)), headers={"cache-control": "max-age=9"})(scope, receive, send)
    if scope["path"] == "/after":
        raise ValueError("secret")
    if scope["path"] == "/refused-after":
        raise RequestRefused(429, "Too many.", "Wait.")


@pytest.fixture
def client() -> TestClient:
    guarded = ChallengeGuard(inside, HostOptions(url=f"{SITE}/under/"), most_bytes=10)
    return TestClient(guarded, base_url=SITE)


def test_addresses() -> None:
    assert HostOptions().address == "http://127.0.0.1:8200"
    assert HostOptions(host="::1", port=9).address == "http://[::1]:9"
    assert HostOptions(url=f"{SITE}/").address == SITE


def test_every_answer_has_the_headers_and_keeps_those_it_has(client: TestClient) -> None:
    answer = client.get("/")
    assert (answer.status_code, answer.text) == (200, "0")
    assert answer.headers.get_list("cache-control") == ["max-age=9"]
    assert answer.headers["x-frame-options"] == "DENY"
    for path in ("/limit", "/fault"):
        assert client.get(path).headers["cache-control"] == "no-store"


def test_bodies_are_limited_as_they_come(client: TestClient) -> None:
    assert client.post("/", content=b"x" * 10).text == "10"
    assert client.post("/", content=iter([b"x" * 5, b"x" * 5])).text == "10"
    # Whoever sends more is not answered: the sender's connection ends.
    for content in (b"x" * 11, iter([b"x" * 5, b"x" * 6])):
        with pytest.raises(AssertionError):
            client.post("/", content=content)


def test_requests_from_other_sites_are_refused_unless_they_only_read(client: TestClient) -> None:
    assert client.post("/", headers={"origin": SITE}).status_code == 200
    for origin in ("https://other.example", f"{SITE}:8443", "null"):
        refused = client.post("/", headers={"origin": origin})
        assert (refused.status_code, refused.json()["problem"]) == (403, "The request comes from another site.")
        assert client.get("/", headers={"origin": origin}).status_code == 200


@pytest.mark.parametrize(("length", "status"), [("1" * 12, 200), ("1" * 13, 400), ("-1", 400), ("ten", 400)])
def test_lengths_are_numbers(client: TestClient, length: str, status: int) -> None:
    assert client.get("/", headers={"content-length": length}).status_code == status


def test_faults_are_messages_without_details(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    limited = client.get("/limit")
    assert (limited.status_code, limited.json()["problem"], limited.json()["fix"]) == (429, "Too many.", "Wait.")
    with caplog.at_level(logging.CRITICAL):
        fault = client.get("/fault")
    assert fault.status_code == 500
    assert "secret" not in fault.text
    # What fails after its answer has begun sends no second one.
    for path in ("/after", "/refused-after"):
        assert client.get(path).text == "0"
