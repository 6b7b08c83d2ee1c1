"""Connections that do not send a request: a deadline, and a limit on how many may wait at a time.

Uvicorn waits for ever for the rest of a request. Whoever opens connections and sends half a request would hold all of the
process's file descriptors, and nobody else could connect. Here a connection has so many seconds for the headers of its next
request and for its body, and of those that have not sent headers yet, the oldest are closed when there are too many.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import ClassVar, Literal

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 10.0
BODY_SECONDS = 60.0
_MAX_FILES = 65_536
_FALLBACK_FILES = 1024


def raise_file_limit() -> None:
    """Allow this process as many open files as the system lets it have, up to a bound."""
    with suppress(ImportError, OSError, ValueError):  # not on Windows
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        allowed = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
        if soft != resource.RLIM_INFINITY and soft < allowed:
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def max_waiting() -> int:
    """How many connections without a request one process holds: half of the files it may open."""
    with suppress(ImportError, OSError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY:
            return max(16, soft // 2)
        return _MAX_FILES // 2
    return _FALLBACK_FILES // 2


class GuardedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with a deadline for headers and bodies."""

    _waiting: ClassVar[dict[GuardedProtocol, None]] = {}
    """Connections that have not sent the headers of a request, the oldest first."""
    _max_waiting: ClassVar[int] = 0
    _expected: Literal["headers", "body", "nothing"] = "headers"
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin to wait for the first request."""
        super().connection_made(transport)
        waiting = GuardedProtocol._waiting
        GuardedProtocol._max_waiting = GuardedProtocol._max_waiting or max_waiting()
        waiting[self] = None
        self._restart_timer(HEADER_SECONDS)
        while len(waiting) > GuardedProtocol._max_waiting:
            next(iter(waiting))._give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in a part of a request; most come whole, and no timer is started for those."""
        before = self._expected
        super().data_received(data)
        if self._expected == "nothing":
            self._stop_waiting()
        elif self._expected == "body":
            GuardedProtocol._waiting.pop(self, None)
            if before != "body" or self._timer is None:
                self._restart_timer(BODY_SECONDS)
        elif self._timer is None:
            GuardedProtocol._waiting[self] = None
            self._restart_timer(HEADER_SECONDS)

    def on_message_begin(self) -> None:
        """A request begins."""
        self._expected = "headers"
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._expected = "body"
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """All of it is there."""
        self._expected = "nothing"
        super().on_message_complete()

    def _restart_timer(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self._give_up)

    def _stop_waiting(self) -> None:
        GuardedProtocol._waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._stop_waiting()
        self.transport.abort()
