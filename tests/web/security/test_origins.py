"""Only pages of the study's own address may change anything."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.signing import STUDY_COOKIE
from tests.cases import check_all
from tests.web.conftest import PASSWORD, SECRET
from tests.web.security.browsers import try_password
from tests.web.security.test_guard import JSON, client

HOSTILE = [
    "https://public.example.evil",
    "https://public.example.evil:443",
    "https://evilpublic.example",
    "https://evil.public.example",
    "https://public.exampl",
    "http://public.example",
    "https://public.example:8443",
    "https://public.example@evil.example",
    "https://public.example:x@evil.example",
    "https://evil.example/https://public.example",
    "https://evil.example#https://public.example",
    "https://evil.example?https://public.example",
    "https://PUBLIC.example.evil",
    "ftp://public.example",
    "//public.example.evil",
    "public.example.evil",
    "file://",
    "null",
    "NULL",
    " ",
]


@check_all("site", [None, "cross-site", "same-site", "", "Same-Origin?"])
@check_all("origin", HOSTILE)
def test_another_origin_is_turned_away(origin: str, site: str | None) -> None:
    door = client(WebOptions(secret=SECRET, public_url="https://public.example/one", access_log=False))
    headers = JSON | {"origin": origin} | ({} if site is None else {"sec-fetch-site": site})
    assert door.post("/here", content=b"{}", headers=headers).status_code == 403


@check_all("origin", [*HOSTILE, "https://public.example", "http://study.test.evil", "http://study.test:81"])
def test_without_a_public_address_only_the_host_itself_is_home(origin: str) -> None:
    door = client(WebOptions(secret=SECRET, access_log=False))
    assert door.post("/here", content=b"{}", headers=JSON | {"origin": origin}).status_code == 403


@pytest.mark.parametrize(
    ("host", "origin", "passes"),
    [
        ("study.test:8000", "http://study.test:8000", True),
        ("study.test:8000", "http://study.test", False),
        ("study.test", "http://study.test:8000", False),
        ("[::1]:8000", "http://[::1]:8000", True),
        ("study.test", "http://study.test", True),
        ("public.example", "https://public.example", True),
        ("public.example", "http://public.example", False),
        ("", "null", False),
    ],
)
def test_the_port_is_part_of_the_origin(host: str, origin: str, passes: bool) -> None:
    door = client(WebOptions(secret=SECRET, public_url="https://public.example", access_log=False))
    message = door.post("/here", content=b"{}", headers=JSON | {"origin": origin, "host": host})
    assert (message.status_code == 200) == passes


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_every_method_that_changes_something_is_held_to_its_origin(method: str) -> None:
    door = client()
    assert door.request(method, "/here", headers={"origin": "https://evil.example"}).status_code == 403
    assert door.request(method, "/here", headers={"origin": "http://study.test"}).status_code in {200, 405}


@pytest.mark.parametrize("said", ["Basic x", "Bearer", "bearerx y", " Bearer x", "Token Bearer x"])
def test_only_a_bearer_token_stands_for_an_origin(said: str) -> None:
    headers = {"origin": "https://evil.example", "authorization": said}
    assert client().post("/here", content=b"{}", headers=JSON | headers).status_code == 403


def test_forms_are_held_to_their_origin_too(stranger: TestClient) -> None:
    assert try_password(stranger, PASSWORD, origin="https://study.test.evil").status_code == 403
    assert STUDY_COOKIE not in stranger.cookies
