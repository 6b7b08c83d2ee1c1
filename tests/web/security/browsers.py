"""A browser at an address, and a try at the password."""

from __future__ import annotations

from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.types import ASGIApp


def from_address(app: ASGIApp, address: str, **headers: str) -> TestClient:
    """A browser at an address."""
    return TestClient(
        app,
        base_url="http://study.test",
        follow_redirects=False,
        raise_server_exceptions=False,
        client=(address, 50000),
        headers=headers,
    )


def try_password(door: TestClient, password: str, **headers: str) -> Response:
    door.cookies.clear()
    hidden = door.get("/study/login").text.split('name="page" value="')[1].split('"')[0]
    message: Response = door.post("/study/login", data={"password": password, "page": hidden}, headers=headers)  # type: ignore[assignment]  # the test client's own response class
    return message
