"""What the server is started with: proxies it trusts, limits, addresses, the secret."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from heartfelt.errors import InputError
from heartfelt.web.requests.options import ServeOptions, WebOptions
from heartfelt.web.serving import serve as serving
from heartfelt.web.serving.serve import web_options
from tests.ports import free_port
from tests.web.conftest import SECRET


@pytest.mark.parametrize("proxy", [None, "10.0.0.1", "10.0.0.1,10.0.0.2"])
def test_the_server_trusts_the_proxies_it_was_told_of(
    folder: Path, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[dict[str, object]] = []
    monkeypatch.setattr(serving, "run_server", lambda *_, **options: started.append(options))
    monkeypatch.delenv("HEARTFELT_SERVE", raising=False)
    monkeypatch.setenv("HEARTFELT_SERVE", "")
    serving.serve(folder, ServeOptions(proxy=proxy, port=(port := free_port()), workers=2))
    options = started[0]
    assert options["proxy_headers"] is (proxy is not None)
    assert options["forwarded_allow_ips"] == proxy
    assert options["server_header"] is False
    listener = options["listener"]
    assert isinstance(listener, socket.socket)
    assert listener.getsockname() == ("127.0.0.1", port)
    listener.close()


def test_the_limits_that_are_served() -> None:
    keys = type("Keys", (), {"secret": SECRET, "password": "hash"})()

    def made(options: ServeOptions) -> WebOptions:
        return web_options(options, keys)

    plain = made(ServeOptions())
    assert (plain.address_per_minute, plain.rater_per_minute, plain.body_limit) == (3000, 240, 1_048_576)
    assert (plain.secure_cookies, plain.prefix, plain.origin) == (False, "", None)
    public = made(ServeOptions(url="https://public.example:8443/one/", rater_per_minute=9, address_per_minute=8))
    assert (public.address_per_minute, public.rater_per_minute) == (8, 9)
    assert (public.secure_cookies, public.prefix) == (True, "/one")
    assert public.origin == "https://public.example:8443"
    assert not made(ServeOptions(url="http://public.example")).secure_cookies


@pytest.mark.parametrize(("size", "works"), [(15, False), (16, True)])
def test_the_secret_has_sixteen_bytes(size: int, works: bool) -> None:
    if works:
        assert WebOptions(secret=b"x" * size).secret
        return
    with pytest.raises(InputError, match="too short"):
        WebOptions(secret=b"x" * size)


@pytest.mark.parametrize("address", ["public.example", "ftp://public.example", "//public.example", ""])
def test_a_public_address_is_a_web_address(address: str) -> None:
    with pytest.raises(InputError, match="web address"):
        WebOptions(secret=SECRET, public_url=address)


@pytest.mark.parametrize("prefix", ["one", "/one/", "//one", "/one//two", "/"])
def test_a_prefix_is_a_path(prefix: str) -> None:
    with pytest.raises(InputError, match="not a path"):
        WebOptions(secret=SECRET, prefix=prefix)
