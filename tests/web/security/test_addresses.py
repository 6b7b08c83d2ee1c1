"""How many requests an address and a rater may send, behind a proxy or not."""

from __future__ import annotations

from typing import Any, cast

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.signing import RATER_COOKIE, Signer
from tests.web.conftest import SECRET
from tests.web.security.browsers import from_address
from tests.web.security.test_cookies import Clock
from tests.web.security.test_guard import client


def guarded(**limits: int) -> tuple[ASGIApp, Clock]:
    """A small guarded application whose limits go by a fake clock."""
    options = WebOptions(secret=SECRET, access_log=False, **limits)  # type: ignore[arg-type]  # limits by name
    app = client(options).app
    clock = Clock()
    assert isinstance(app, Starlette)
    app.middleware_stack = app.build_middleware_stack()
    guard: Any = app.middleware_stack
    while not hasattr(guard, "_addresses"):
        guard = guard.app
    guard._addresses._clock = guard._raters._clock = clock
    return app, clock


def test_every_address_has_a_bucket_of_its_own() -> None:
    app, clock = guarded(address_per_minute=3)
    here, there = from_address(app, "192.0.2.1"), from_address(app, "192.0.2.2")
    assert [here.get("/here").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert [there.get("/here").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert here.get("/here").headers["retry-after"] == "21"
    assert from_address(app, "2001:db8::1").get("/here").status_code == 200
    clock.now += 19.999
    assert here.get("/here").status_code == 429
    clock.now += 0.002
    assert [here.get("/here").status_code for _ in range(2)] == [200, 429]
    assert there.get("/here").status_code == 200
    clock.now += 600
    assert [here.get("/here").status_code for _ in range(4)] == [200, 200, 200, 429], "no more than a minute's"


def test_raters_are_counted_by_themselves_and_strangers_by_address() -> None:
    app, _ = guarded(address_per_minute=2, rater_per_minute=3)
    door = from_address(app, "192.0.2.1")
    each, two = ({"cookie": f"{RATER_COOKIE}={Signer(SECRET).sign('rater', name, 60)}"} for name in "ab")
    assert [door.get("/here", headers=each).status_code for _ in range(4)] == [200, 200, 200, 429]
    elsewhere = from_address(app, "192.0.2.2")
    assert elsewhere.get("/here", headers=each).status_code == 429, "a rater has one bucket, wherever they are"
    assert [door.get("/here", headers=two).status_code for _ in range(4)] == [200, 200, 200, 429]
    assert [door.get("/here").status_code for _ in range(3)] == [200, 200, 429]
    forged = {"cookie": f"{RATER_COOKIE}={Signer(b'some other secret').sign('rater', 'c', 60)}"}
    expired = {"cookie": f"{RATER_COOKIE}={Signer(SECRET, lambda: 0.0).sign('rater', 'c', 60)}"}
    login_cookie = {"cookie": f"{RATER_COOKIE}={Signer(SECRET).sign('study', 'c', 60)}"}
    for headers in (forged, expired, login_cookie):
        assert door.get("/here", headers=headers).status_code == 429, "no rater: counted with the address"
    quoted = {"cookie": f'a=b; {RATER_COOKIE}="{Signer(SECRET).sign("rater", "d", 60)}"; c=d'}
    assert door.get("/here", headers=quoted).status_code == 200


@pytest.mark.parametrize("path", ["/static/x/deep", "/media/x"])
def test_files_and_media_are_not_counted(path: str) -> None:
    app, _ = guarded(address_per_minute=1)
    door = from_address(app, "192.0.2.1")
    assert {door.get(path).status_code for _ in range(5)} & {429} == set()
    assert [door.get("/here").status_code for _ in range(2)] == [200, 429]
    assert door.get("/mediax").status_code == 429


def test_forwarded_addresses_count_only_behind_a_proxy_that_is_trusted() -> None:
    app, _ = guarded(address_per_minute=2)

    def statuses(door: TestClient, forwarded: str, count: int) -> list[int]:
        return [door.get("/here", headers={"x-forwarded-for": forwarded}).status_code for _ in range(count)]

    plain = from_address(app, "192.0.2.1")
    assert [statuses(plain, f"198.51.100.{n}", 1)[0] for n in range(3)] == [200, 200, 429]
    behind: Any = ProxyHeadersMiddleware(
        cast("Any", app), trusted_hosts="10.0.0.1"
    )  # uvicorn has ASGI types of its own
    stranger = from_address(behind, "192.0.2.9")
    assert [statuses(stranger, f"198.51.100.{n}", 1)[0] for n in range(3)] == [200, 200, 429]
    proxy = from_address(behind, "10.0.0.1")
    assert statuses(proxy, "203.0.113.1", 3) == [200, 200, 429]
    assert statuses(proxy, "203.0.113.2", 3) == [200, 200, 429]
    assert statuses(proxy, "203.0.113.3, 203.0.113.1", 1) == [429], "what came before the proxy is not believed"
