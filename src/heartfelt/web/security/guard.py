"""The door every request passes: the path prefix, limits, where it comes from, and headers on what leaves.

Plain ASGI, because everything goes through it.
"""

from __future__ import annotations

import logging
import time
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heartfelt.web.errors import Refused, answer, fault
from heartfelt.web.options import WebOptions
from heartfelt.web.security.cookies import RATER_COOKIE, Signer
from heartfelt.web.security.headers import security_headers
from heartfelt.web.security.limits import RateLimit

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_JSON = b"application/json"
_FORM = b"application/x-www-form-urlencoded"
_RATER = f"{RATER_COOKIE}=".encode()
_FORMS = frozenset({"/study/login", "/study/logout"})
_log = logging.getLogger("heartfelt.access")


class Guard:
    """Middleware around the whole application."""

    def __init__(self, app: ASGIApp, options: WebOptions) -> None:
        self._app = app
        self._options = options
        self._headers = security_headers(options)
        self._addresses = RateLimit(options.address_per_minute)
        self._raters = RateLimit(options.rater_per_minute)
        self._signer = Signer(options.secret)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or turn it away."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        route = self._settle(scope)
        began, status = time.perf_counter(), 0

        async def dressed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                have = {name for name, _ in message["headers"]}
                added = [pair for pair in self._headers if pair[0] not in have]
                if b"cache-control" not in have:
                    added.append(
                        (b"cache-control", b"no-cache" if route.startswith("/static/") else b"no-store")
                    )
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        try:
            counted = self._admit(scope, route, receive)
        except Refused as refused:
            response = answer(
                Request(scope), refused.status_code, refused.problem, refused.fix, refused.headers
            )
            await response(scope, receive, dressed)
        else:
            try:
                await self._app(scope, counted, dressed)
            except ClientDisconnect:
                status = status or 499
            except Exception as error:  # noqa: BLE001 - the outermost edge: whatever happens is told in words
                response = fault(Request(scope), error)
                if not status:
                    await response(scope, receive, dressed)
        finally:
            if self._options.access_log:
                took = 1000 * (time.perf_counter() - began)
                _log.info("%s %s %d %.1f ms", scope["method"], _told(route), status, took)

    def _settle(self, scope: Scope) -> str:
        """Put the prefix into the path whether or not the proxy took it off; returns the path without it."""
        prefix, path = self._options.prefix, scope["path"]
        if not prefix:
            return str(path)
        scope["root_path"] = prefix
        if path == prefix or path.startswith(f"{prefix}/"):
            return str(path[len(prefix) :]) or "/"
        scope["path"] = prefix + path
        scope["raw_path"] = prefix.encode() + (scope.get("raw_path") or path.encode())
        return str(path)

    def _admit(self, scope: Scope, route: str, receive: Receive) -> Receive:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        self._limit(scope, headers, route)
        if scope["method"] in _SAFE:
            return receive
        if not headers.get(b"authorization", b"").lower().startswith(b"bearer "):
            self._same_site(headers)
        length = headers.get(b"content-length")
        if length is not None:
            if not length.isdigit():
                raise Refused(400)
            if len(length) > 18 or int(length) > self._options.body_limit:
                raise Refused(413)
        if (length not in {None, b"0"}) or b"transfer-encoding" in headers:
            kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
            if kind != _JSON and not (kind == _FORM and route in _FORMS):
                raise Refused(415)
        return receive if length is not None else self._counted(receive)

    def _limit(self, scope: Scope, headers: dict[bytes, bytes], route: str) -> None:
        if route.startswith(("/media/", "/static/")):
            return
        rater = self._rater(headers)
        if rater is not None:
            wait = self._raters.take(rater)
        else:
            client = scope.get("client")
            wait = self._addresses.take(client[0] if client else "")
        if wait:
            raise Refused(429, headers={"retry-after": str(int(wait) + 1)})

    def _rater(self, headers: dict[bytes, bytes]) -> str | None:
        """The rater whose signed cookie comes along: many of them may share one address, as in a lecture hall."""
        cookie = headers.get(b"cookie", b"")
        place = cookie.find(_RATER)
        if place < 0:
            return None
        signed = cookie[place + len(_RATER) :].split(b";", 1)[0].strip().strip(b'"')
        return self._signer.read("rater", signed.decode("latin-1"))

    def _same_site(self, headers: dict[bytes, bytes]) -> None:
        """A browser says where a request comes from; one that another site set off is turned away."""
        site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin", b"").decode("latin-1")
        if site is not None:
            if site in {b"same-origin", b"none"}:
                return
        elif not origin or urlsplit(origin).netloc == headers.get(b"host", b"").decode("latin-1"):
            return
        if origin and origin == self._options.origin:
            return
        raise Refused(403, "The request comes from another site.", "Reload the page and try again.")

    def _counted(self, receive: Receive) -> Receive:
        """Stop reading a body of unknown length where it becomes too large."""
        got = 0

        async def counting() -> Message:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            if got > self._options.body_limit:
                raise Refused(413)
            return message

        return counting


def _told(route: str) -> str:
    """The path as the log may know it: a personal link is a key, and stays out; so do line breaks."""
    shown = f"{route[:3]}…" if route.startswith(("/i/", "/r/")) else route[:200]
    return shown if shown.isprintable() else ascii(shown)
