"""Odd requests to every address a stranger, a rater or a researcher can reach: refused in words, never a fault."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection
from heartfelt.web.security.signing import RATER_COOKIE, Signer
from tests.web.conftest import SECRET
from tests.web.studies import rate

ODD = [
    "%00",
    "%ff",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e/",
    "a" * 5000,
    "%F0%9F%8E%B5",
    "'%20OR%201=1--",
    "{}",
    "%0d%0aSet-Cookie:x=y",
]
ROOTS = ["/", "/i/", "/media/", "/static/rater/", "/static/study/", "/rate/", "/study/", "/api/v1/", "/api/v1/raters/",
         "/api/v1/snapshots/", "/api/v1/export/"]  # fmt: skip
BODIES = [b"", b"null", b"[]", b"1", b'"x"', b"{}", b"{", b"\xff", b'{"trial": {}}', b'{"values": []}', b"[" * 50_000,
          b'{"trial": "1", "key": "k", "values": {"valence": 1e999}, "heard": {}}',
          b'{"trial": "1\\u0000", "key": "k", "values": {"valence": "\\ud800"}, "heard": {"plays": -1}}',
          b'{"agreed": "yes", "answers": {"\\u0000": "\\u0000"}, "reason": 5}']  # fmt: skip
RATING = ["consent", "demographics", "headphones", "ready", "answer", "beat", "flag", "media-problem", "leave"]


@pytest.fixture
def rater(stranger: TestClient, collection: Collection) -> TestClient:
    """Somebody in the middle of rating."""
    name, _ = rate(collection, "odd", most=2)
    stranger.cookies.set(RATER_COOKIE, Signer(SECRET).sign("rater", name, 60))
    return stranger


@pytest.mark.slow
@pytest.mark.parametrize("who", ["stranger", "rater", "researcher"])
def test_odd_addresses(who: str, request: pytest.FixtureRequest) -> None:
    client: TestClient = request.getfixturevalue(who)
    for root in ROOTS:
        for odd in ODD:
            message = client.get(root + odd, headers={"accept": "text/html"})
            assert message.status_code < 500, (root, odd)
            assert "x=y" not in message.headers.get("set-cookie", "")
    for odd in ODD:
        for query in (f"/?PROLIFIC_PID={odd}&STUDY_ID={odd}", f"/?workerId={odd}&assignmentId={odd}", f"/?lang={odd}"):
            assert client.get(query).status_code < 500, query


def test_odd_bodies_to_the_rating_pages(rater: TestClient, collection: Collection) -> None:
    before = collection.ratings().height
    for name in RATING[:-1]:
        for body in BODIES:
            message = rater.post(f"/rate/{name}", content=body, headers={"content-type": "application/json"})
            assert message.status_code < 500, (name, body[:60], message.text)
            if message.status_code >= 400:
                assert set(message.json()) == {"problem", "fix"}, (name, body[:60])
    assert collection.ratings().height == before


@pytest.mark.slow
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "WEIRD"])
def test_odd_methods(researcher: TestClient, method: str) -> None:
    for path in ("/", "/rate", "/rate/answer", "/study", "/study/login", "/study/events", "/media/x", "/api/v1/study"):
        assert researcher.request(method, path).status_code < 500, (method, path)


def test_odd_cookies(stranger: TestClient) -> None:
    for cookie in (
        "heartfelt_rater=\x7f\xff",
        "heartfelt_rater=" + "a." * 3000,
        "heartfelt_study=é; heartfelt_rater=;;;",
    ):
        headers = [(b"cookie", cookie.encode("latin-1"))]
        assert stranger.get("/rate/step", headers=headers).status_code == 401
        assert stranger.get("/api/v1/study", headers=headers).status_code == 401
