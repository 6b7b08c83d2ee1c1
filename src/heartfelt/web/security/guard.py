"""Middleware around every request: path prefix, rate limits, origin check, body limits, and security headers.

Plain ASGI, because everything goes through it.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heartfelt.web.errors import RequestRefused, internal_error, problem_response
from heartfelt.web.options import WebOptions
from heartfelt.web.security.signing import RATER_COOKIE, RATER_IN_SCOPE, Signer

CONTENT_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:;"
    " connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
MOST_KEYS = 50_000
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_JSON = b"application/json"
_FORM = b"application/x-www-form-urlencoded"
_FORM_PATHS = frozenset({"/study/login", "/study/logout"})
_RATER = f"{RATER_COOKIE}=".encode()
_log = logging.getLogger("heartfelt.access")


class RateLimit:
    """So many per minute for each key, in bursts of up to a minute's worth (token buckets). 0 is no limit.

    Each server process counts for itself; memory is bounded.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> float:
        """Take one from the key's bucket: 0.0 if there was one, else the seconds until there will be."""
        wait = self.wait(key)
        if self.per_minute:
            self._add(key, 0.0 if wait else -1.0)
        return wait

    def wait(self, key: str) -> float:
        """The seconds until the key's bucket has one again, without taking it; 0.0 if there is one now."""
        if not self.per_minute:
            return 0.0
        return max(0.0, (1.0 - self._tokens_left(key, self._clock())) * 60.0 / self.per_minute)

    def give_back(self, key: str) -> None:
        """Put back what was taken for something that turned out not to count."""
        if self.per_minute:
            self._add(key, 1.0)

    def _tokens_left(self, key: str, now: float) -> float:
        tokens, since = self._buckets.get(key, (float(self.per_minute), now))
        return min(float(self.per_minute), tokens + (now - since) * self.per_minute / 60.0)

    def _add(self, key: str, change: float) -> None:
        now = self._clock()
        self._buckets[key] = (min(float(self.per_minute), self._tokens_left(key, now) + change), now)
        self._buckets.move_to_end(key)
        while len(self._buckets) > MOST_KEYS:
            self._buckets.popitem(last=False)


class Guard:
    """Middleware around the whole application."""

    def __init__(self, app: ASGIApp, options: WebOptions) -> None:
        self._app = app
        self._options = options
        headers = dict(_HEADERS)
        if options.secure_cookies:
            headers["strict-transport-security"] = "max-age=31536000"
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._addresses = RateLimit(options.address_per_minute)
        self._raters = RateLimit(options.rater_per_minute)
        self._signer = Signer(options.secret)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        route = self._apply_prefix(scope)
        began, status = time.perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                present = {name for name, _ in message["headers"]}
                added = [pair for pair in self._headers if pair[0] not in present]
                if b"cache-control" not in present:
                    value = b"no-cache" if route.startswith("/static/") else b"no-store"
                    added.append((b"cache-control", value))
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        try:
            await self._app(scope, self._admit(scope, route, receive), send_with_headers)
        except ClientDisconnect:
            status = status or 499
        except RequestRefused as refused:
            response = problem_response(Request(scope), refused.status_code, *refused.words, refused.headers)
            if not status:
                await response(scope, receive, send_with_headers)
        except Exception as error:  # noqa: BLE001 - the outermost edge: every fault becomes a message
            response = internal_error(Request(scope), error)
            if not status:
                await response(scope, receive, send_with_headers)
        finally:
            if self._options.access_log:
                took = 1000 * (time.perf_counter() - began)
                _log.info("%s %s %d %.1f ms", scope["method"], _loggable(route), status, took)

    def _apply_prefix(self, scope: Scope) -> str:
        """Put the prefix into the path whether or not the proxy removed it; returns the path without it."""
        prefix, path = self._options.prefix, str(scope["path"])
        if not prefix:
            return path
        scope["root_path"] = prefix
        if path == prefix or path.startswith(f"{prefix}/"):
            return path[len(prefix) :] or "/"
        scope["path"] = prefix + path
        scope["raw_path"] = prefix.encode() + (scope.get("raw_path") or path.encode())
        return path

    def _admit(self, scope: Scope, route: str, receive: Receive) -> Receive:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        self._check_rate(scope, headers, route)
        if scope["method"] in SAFE_METHODS:
            return receive
        if not headers.get(b"authorization", b"").lower().startswith(b"bearer "):
            self._check_origin(headers)
        length = headers.get(b"content-length")
        if length is not None:
            if not length.isdigit():
                raise RequestRefused(400)
            if len(length) > 18 or int(length) > self._options.body_limit:
                raise RequestRefused(413)
        if (length not in {None, b"0"}) or b"transfer-encoding" in headers:
            kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
            if kind != _JSON and not (kind == _FORM and route in _FORM_PATHS):
                raise RequestRefused(415)
        return receive if length is not None else self._limited(receive)

    def _check_rate(self, scope: Scope, headers: dict[bytes, bytes], route: str) -> None:
        if route.startswith(("/media/", "/static/")):
            return
        rater = self._rater(headers)
        if rater is not None:
            scope[RATER_IN_SCOPE] = rater
            wait = self._raters.take(rater)
        else:
            client = scope.get("client")
            wait = self._addresses.take(client[0] if client else "")
        if wait:
            raise RequestRefused(429, headers={"retry-after": str(int(wait) + 1)})

    def _rater(self, headers: dict[bytes, bytes]) -> str | None:
        """The rater of the signed cookie: many of them may share one address, as in a lecture hall."""
        cookie = headers.get(b"cookie", b"")
        start = cookie.find(_RATER)
        if start < 0:
            return None
        signed = cookie[start + len(_RATER) :].split(b";", 1)[0].strip().strip(b'"')
        return self._signer.read("rater", signed.decode("latin-1"))

    def _check_origin(self, headers: dict[bytes, bytes]) -> None:
        """Refuse a change that another site initiated: browsers say where a request comes from."""
        site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin", b"").decode("latin-1")
        if site is not None:
            same = site in {b"same-origin", b"none"}
        else:
            # At the public address the whole origin must match below, its scheme included.
            host = headers.get(b"host", b"").decode("latin-1")
            local = host not in {"", _network_location(self._options.origin or "")}
            same = not origin or (local and _network_location(origin) == host)
        if not same and origin != self._options.origin:
            raise RequestRefused(403, "The request comes from another site.", "Reload the page and try again.")

    def _limited(self, receive: Receive) -> Receive:
        """Stop reading a body of unknown length where it exceeds the limit."""
        size = 0

        async def counting() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._options.body_limit:
                raise RequestRefused(413)
            return message

        return counting


def _network_location(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _loggable(route: str) -> str:
    """The path for the log: personal links are keys and stay out, and so do line breaks."""
    path = f"{route[:3]}…" if route.startswith(("/i/", "/r/", "/a/")) else route[:200]
    return path if path.isprintable() else ascii(path)
