"""Middleware around every request: security headers, limited bodies, and a message for every refusal and every fault.

:class:`RequestGuard` is what all servers share; the study's :class:`Guard` adds path prefix, rate limits and the check of where
a request comes from. Plain ASGI, because everything goes through it.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heartfelt.web.requests.errors import RequestRefused, internal_error, problem_response
from heartfelt.web.requests.options import WebOptions
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
        if not self.per_minute:
            return 0.0
        now = self._clock()
        tokens = self._tokens_left(key, now)
        wait = max(0.0, (1.0 - tokens) * 60.0 / self.per_minute)
        self._fill(key, tokens if wait else tokens - 1.0, now)
        return wait

    def wait(self, key: str) -> float:
        """The seconds until the key's bucket has one again, without taking it; 0.0 if there is one now."""
        if not self.per_minute:
            return 0.0
        return max(0.0, (1.0 - self._tokens_left(key, self._clock())) * 60.0 / self.per_minute)

    def give_back(self, key: str) -> None:
        """Put back what was taken for something that turned out not to count."""
        if self.per_minute:
            now = self._clock()
            self._fill(key, self._tokens_left(key, now) + 1.0, now)

    def _tokens_left(self, key: str, now: float) -> float:
        tokens, since = self._buckets.get(key, (float(self.per_minute), now))
        return min(float(self.per_minute), tokens + (now - since) * self.per_minute / 60.0)

    def _fill(self, key: str, tokens: float, now: float) -> None:
        self._buckets[key] = (min(float(self.per_minute), tokens), now)
        # The keys that have been idle longest are forgotten first: their buckets are full again anyway.
        self._buckets.move_to_end(key)
        while len(self._buckets) > MOST_KEYS:
            self._buckets.popitem(last=False)


class TooLarge(Exception):
    """A body beyond the limit."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size


class RequestGuard:
    """Middleware around a whole application; what a server refuses before it looks at a request is up to ``admit``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def route_of(self, scope: Scope) -> str:
        """The path of a request within the application."""
        return str(scope["path"])

    def headers_of(self, route: str) -> Sequence[tuple[bytes, bytes]]:
        """The headers of every response that does not set them itself."""
        raise NotImplementedError

    def admit(self, scope: Scope, route: str, receive: Receive) -> Receive:
        """How the body of a request is received; raises :class:`RequestRefused` where it is refused."""
        raise NotImplementedError

    def log(self, method: str, route: str, status: int, milliseconds: float) -> None:
        """Log a request that was answered with a status; 0 if its connection was dropped."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        route = self.route_of(scope)
        began, status = time.perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                present = {name for name, _ in message["headers"]}
                added = [pair for pair in self.headers_of(route) if pair[0] not in present]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        async def respond(response: Response) -> None:
            # Where a response has begun, nothing can be said any more.
            if not status:
                await response(scope, receive, send_with_headers)

        try:
            await self._app(scope, self.admit(scope, route, receive), send_with_headers)
        except ClientDisconnect:
            status = status or 499
        except TooLarge:
            pass
        except RequestRefused as refused:
            await respond(problem_response(Request(scope), refused.status_code, *refused.words, refused.headers))
        except Exception as error:  # noqa: BLE001 - the outermost edge: every fault becomes a message
            await respond(internal_error(Request(scope), error))
        finally:
            self.log(scope["method"], route, status, 1000 * (time.perf_counter() - began))


def encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI sends them."""
    return [(name.encode(), value.encode()) for name, value in headers.items()]


def limited_body(receive: Receive, limit: int, refusal: Callable[[int], Exception]) -> Receive:
    """Stop reading a body where it exceeds the limit; ``refusal`` is raised with the size so far."""
    size = 0

    async def counting() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > limit:
            raise refusal(size)
        return message

    return counting


class Guard(RequestGuard):
    """Middleware around the application of a study."""

    def __init__(self, app: ASGIApp, options: WebOptions) -> None:
        super().__init__(app)
        self._options = options
        hsts = {"strict-transport-security": "max-age=31536000"} if options.secure_cookies else {}
        self._headers = encoded(_HEADERS | hsts | {"cache-control": "no-store"})
        self._static_headers = encoded(_HEADERS | hsts | {"cache-control": "no-cache"})
        self._addresses = RateLimit(options.address_per_minute)
        self._raters = RateLimit(options.rater_per_minute)
        self._signer = Signer(options.secret)

    def headers_of(self, route: str) -> Sequence[tuple[bytes, bytes]]:
        """Static files may be stored if they are asked for again each time; nothing else may."""
        return self._static_headers if route.startswith("/static/") else self._headers

    def log(self, method: str, route: str, status: int, milliseconds: float) -> None:
        """A line of the access log, if there is one."""
        if self._options.access_log:
            _log.info("%s %s %d %.1f ms", method, _loggable(route), status, milliseconds)

    def route_of(self, scope: Scope) -> str:
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

    def admit(self, scope: Scope, route: str, receive: Receive) -> Receive:
        """Check how often somebody asks, where a change comes from, and what its body is said to be."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        self._check_rate(scope, headers, route)
        if scope["method"] in SAFE_METHODS:
            return receive
        # A browser never adds a bearer token by itself, so such a request cannot be forged by another site.
        if not headers.get(b"authorization", b"").lower().startswith(b"bearer "):
            self._check_origin(headers)
        length = headers.get(b"content-length")
        if length is not None:
            self._check_length(length)
        if length not in {None, b"0"} or b"transfer-encoding" in headers:
            _check_type(headers, route)
        if length is not None:
            return receive
        return limited_body(receive, self._options.body_limit, lambda _: RequestRefused(413))

    def _check_length(self, length: bytes) -> None:
        if not length.isdigit():
            raise RequestRefused(400)
        if len(length) > 18 or int(length) > self._options.body_limit:
            raise RequestRefused(413)

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
        elif not origin:
            same = True
        else:
            # At the public address the whole origin must match below, its scheme included.
            host = headers.get(b"host", b"").decode("latin-1")
            local = host not in {"", _network_location(self._options.origin or "")}
            same = local and _network_location(origin) == host
        if not same and origin != self._options.origin:
            raise RequestRefused(403, "The request comes from another site.", "Reload the page and try again.")


def _check_type(headers: Mapping[bytes, bytes], route: str) -> None:
    """Refuse bodies other than JSON; browsers send forms across sites without asking."""
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    if kind != _JSON and not (kind == _FORM and route in _FORM_PATHS):
        raise RequestRefused(415)


def _network_location(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _loggable(route: str) -> str:
    """The path for the log: personal links are keys and stay out, and so do line breaks."""
    path = f"{route[:3]}…" if route.startswith(("/i/", "/r/", "/a/")) else route[:200]
    return path if path.isprintable() else ascii(path)
