"""Around every request to a challenge: limited bodies, no requests from other sites, and security headers."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope

from heartfelt.web.challenge.options import HostOptions
from heartfelt.web.requests.errors import RequestRefused
from heartfelt.web.security.guard import SAFE_METHODS, RequestGuard, TooLarge, encoded, limited_body

_HEADERS = encoded(
    {
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    }
)


class ChallengeGuard(RequestGuard):
    """Around every request: limited bodies, no requests from other sites, security headers, and no tracebacks."""

    def __init__(self, app: ASGIApp, options: HostOptions, most_bytes: int) -> None:
        super().__init__(app)
        self._most = most_bytes
        self._origin = "{0.scheme}://{0.netloc}".format(urlsplit(options.address))

    def headers_of(self, route: str) -> Sequence[tuple[bytes, bytes]]:  # noqa: ARG002 - as of every guard
        """The same at every address."""
        return _HEADERS

    def admit(self, scope: Scope, route: str, receive: Receive) -> Receive:  # noqa: ARG002 - as of every guard
        """Check the announced size and where a change comes from; a body that is too large drops the connection."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 12:
            raise RequestRefused(
                400, "The header Content-Length is not a number.", "Send the size of the body in bytes."
            )
        origin = headers.get(b"origin", b"").decode("latin-1")
        if scope["method"] not in SAFE_METHODS and origin and origin != self._origin:
            raise RequestRefused(403, "The request comes from another site.", "Submit with a program such as curl.")
        return limited_body(receive, self._most, TooLarge)
