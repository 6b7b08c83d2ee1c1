"""The door by itself, around a small application: limits, origins, prefix, headers, logs."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from heartfelt.web.requests import errors
from heartfelt.web.requests.errors import RequestRefused
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.guard import CONTENT_POLICY, Guard
from heartfelt.web.security.signing import Signer

SECRET = b"a secret of sixteen bytes or more"
JSON = {"content-type": "application/json"}


async def echo(request: Request) -> Response:
    return PlainTextResponse(f"{len(await request.body())} {request.url.path} {request.scope['root_path']}")


def client(options: WebOptions | None = None) -> TestClient:
    options = options or WebOptions(secret=SECRET, access_log=False)
    inner = Starlette(routes=[Route("/deep", echo, methods=["GET", "POST"])])
    app = Starlette(
        routes=[
            Route("/here", echo, methods=["GET", "POST"]),
            Route("/i/{key}", echo),
            Route("/study/login", echo, methods=["POST"]),
            Mount("/static/x", inner),
        ],
        middleware=[Middleware(Guard, options=options)],
        exception_handlers={RequestRefused: errors.http_problem},
    )
    return TestClient(app, base_url="http://study.test")


def test_every_answer_carries_the_headers() -> None:
    for response in (
        client().get("/here"),
        client().get("/nowhere"),
        client().post("/here", content=b"x" * 10),
        client().get("/static/x/deep"),
    ):
        assert response.headers["content-security-policy"] == CONTENT_POLICY
        assert "unsafe" not in CONTENT_POLICY
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "same-origin"
        assert response.headers["x-frame-options"] == "DENY"
        assert "microphone=()" in response.headers["permissions-policy"]
        assert response.headers["cache-control"] in {"no-store", "no-cache"}
        assert "strict-transport-security" not in response.headers
    secure = client(WebOptions(secret=SECRET, secure_cookies=True, access_log=False))
    assert "max-age" in secure.get("/here").headers["strict-transport-security"]


def test_a_body_may_be_so_large_and_no_larger() -> None:
    door = client(WebOptions(secret=SECRET, body_limit=1000, access_log=False))
    assert door.post("/here", content=b"x" * 1000, headers=JSON).text.startswith("1000 ")
    message = door.post("/here", content=b"x" * 1001, headers=JSON)
    assert message.status_code == 413
    for answer, status in [("0" * 30 + "5000", 413), ("9" * 40, 413), ("-1", 400), ("1e3", 400), ("", 400)]:
        assert door.post("/here", content=b"{}", headers=JSON | {"content-length": answer}).status_code == status
    assert set(message.json()) == {"problem", "fix"}


def test_a_body_of_unknown_length_is_counted() -> None:
    door = client(WebOptions(secret=SECRET, body_limit=1000, access_log=False))

    def pieces(count: int) -> Iterator[bytes]:
        yield from (b"x" * 100 for _ in range(count))

    assert door.post("/here", content=pieces(10), headers=JSON).status_code == 200
    assert door.post("/here", content=pieces(11), headers=JSON).status_code == 413


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", "application/xml", ""])
def test_only_json_is_read(kind: str) -> None:
    assert client().post("/here", content=b"{}", headers={"content-type": kind}).status_code == 415


def test_forms_are_read_where_there_is_a_form() -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client().post("/study/login", content=b"a=b", headers=form).status_code == 200
    assert client().post("/here", content=b"a=b", headers=form).status_code == 415


@pytest.mark.parametrize(
    ("headers", "passes"),
    [
        ({}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
        ({"origin": "http://study.test"}, True),
        ({"origin": "https://evil.test"}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://study.test.evil.test"}, False),
        ({"origin": "https://public.test", "sec-fetch-site": "cross-site"}, True),
        ({"origin": "https://evil.test", "sec-fetch-site": "cross-site", "authorization": "Bearer x"}, True),
    ],
)
def test_changes_come_only_from_the_own_site(headers: dict[str, str], passes: bool) -> None:
    door = client(WebOptions(secret=SECRET, public_url="https://public.test/one", access_log=False))
    assert (door.post("/here", content=b"{}", headers=JSON | headers).status_code == 200) == passes
    assert door.get("/here", headers=headers).status_code == 200


def test_too_many_requests_of_an_address_wait() -> None:
    door = client(WebOptions(secret=SECRET, address_per_minute=3, access_log=False))
    assert [door.get("/here").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
    assert int(door.get("/here").headers["retry-after"]) >= 1


def test_too_many_requests_of_a_rater_wait_and_others_do_not() -> None:
    door = client(WebOptions(secret=SECRET, rater_per_minute=2, access_log=False))
    signed = [Signer(SECRET).sign("rater", name, 60) for name in ("one", "two")]
    each, two = {"cookie": f"a=b; heartfelt_rater={signed[0]}"}, {"cookie": f"heartfelt_rater={signed[1]}"}
    assert [door.get("/here", headers=each).status_code for _ in range(3)] == [200, 200, 429]
    assert door.get("/here", headers=two).status_code == 200
    assert door.get("/static/x/deep", headers=each).status_code == 200


@pytest.mark.parametrize("path", ["/one/study/here", "/here"])
def test_under_a_prefix_with_or_without_the_proxy_taking_it_off(path: str) -> None:
    door = client(WebOptions(secret=SECRET, prefix="/one/study", access_log=False))
    assert door.get(path).text == "0 /one/study/here /one/study"
    assert door.get(path.replace("here", "static/x/deep")).status_code == 200
    assert door.get(path.replace("here", "static/x/deep")).headers["cache-control"] == "no-cache"
    assert door.get(path).headers["cache-control"] == "no-store"
    assert door.get("/one/studyhere").status_code == 404


def test_the_log_has_no_query_and_no_personal_link(caplog: pytest.LogCaptureFixture) -> None:
    door = client(WebOptions(secret=SECRET))
    with caplog.at_level(logging.INFO, "heartfelt.access"):
        door.get("/here?PROLIFIC_PID=5f3a", headers={"cookie": "heartfelt_rater=abc", "authorization": "Bearer t0k"})
        door.get("/i/signed-key")
        door.get("/line%0abreak")
    lines = [record.getMessage() for record in caplog.records if record.name == "heartfelt.access"]
    assert len(lines) == 3
    assert lines[0].startswith("GET /here 200 ")
    assert not any(part in " ".join(lines) for part in ("5f3a", "PROLIFIC", "abc", "t0k", "signed-key", "\n"))


@pytest.mark.parametrize("prefix", ["one", "/one/", "/", "//one"])
def test_a_prefix_that_is_no_path_is_refused(prefix: str) -> None:
    from heartfelt.errors import InputError

    with pytest.raises(InputError, match="prefix"):
        WebOptions(secret=SECRET, prefix=prefix)


def test_a_body_of_exactly_the_limit_is_read() -> None:
    door = client()
    assert door.post("/here", content=b"x" * 1_048_576, headers=JSON).status_code == 200
    assert door.post("/here", content=b"x" * 1_048_577, headers=JSON).status_code == 413


@pytest.mark.parametrize("path", ["/study/login", "/study/logout"])
def test_forms_are_read_at_these_addresses_only(stranger: TestClient, path: str) -> None:
    form = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
    assert stranger.post(path, content=b"page=x", headers=form).status_code in {303, 403}
    assert stranger.post(f"{path}x", content=b"page=x", headers=form).status_code == 415
    assert stranger.post("/rate/consent", content=b"agreed=true", headers=form).status_code == 415
