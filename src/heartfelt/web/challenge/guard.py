"""Around every request to a challenge: limited bodies, no requests from other sites, security headers, and no tracebacks."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heartfelt.web.challenge.options import HostOptions
from heartfelt.web.errors import RequestRefused, internal_error, problem_response
from heartfelt.web.security.guard import SAFE_METHODS

_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}


class TooLarge(Exception):
    """A body beyond the limit."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size


class ChallengeGuard:
    """Around every request: limited bodies, no requests from other sites, security headers, and no tracebacks."""

    def __init__(self, app: ASGIApp, options: HostOptions, most_bytes: int) -> None:
        self._app, self._most = app, most_bytes
        self._origin = "{0.scheme}://{0.netloc}".format(urlsplit(options.address))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, size = False, 0

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                present = {name for name, _ in message["headers"]}
                added = [(k.encode(), v.encode()) for k, v in _HEADERS.items() if k.encode() not in present]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        async def limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._most:
                raise TooLarge(size)
            return message

        try:
            self._check(scope)
            await self._app(scope, limited, send_with_headers)
        except (ClientDisconnect, TooLarge):
            return
        except RequestRefused as refused:
            response = problem_response(Request(scope), refused.status_code, *refused.words, refused.headers)
            if not begun:
                await response(scope, receive, send_with_headers)
        except Exception as error:  # noqa: BLE001  # the outermost edge: every fault becomes a message
            response = internal_error(Request(scope), error)
            if not begun:
                await response(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 12:
            raise RequestRefused(
                400, "The header Content-Length is not a number.", "Send the size of the body in bytes."
            )
        origin = headers.get(b"origin", b"").decode("latin-1")
        if scope["method"] not in SAFE_METHODS and origin and origin != self._origin:
            raise RequestRefused(403, "The request comes from another site.", "Submit with a program such as curl.")
