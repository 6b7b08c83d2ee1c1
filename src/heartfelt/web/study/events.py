"""Server-sent events: a number whenever something in the study has changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from heartfelt.collect import Collection
from heartfelt.collect.errors import StoreUnavailable
from heartfelt.web.errors import Refused
from heartfelt.web.security.login import session_of

LOOK_SECONDS = 0.5
QUIET_SECONDS = 15.0


class Pulse:
    """The number of the study's last change, looked up at most twice a second however many watch."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._lock = asyncio.Lock()
        self._number = 0
        self._looked = float("-inf")

    async def number(self) -> int:
        """The number now, or half a second ago."""
        async with self._lock:
            if time.monotonic() - self._looked >= LOOK_SECONDS:
                self._number = await run_in_threadpool(self._collection.change)
                self._looked = time.monotonic()
            return self._number


async def events(request: Request) -> Response:
    """Tell a dashboard of every change until it goes away or its login ends."""
    if session_of(request) is None:
        raise Refused(401)
    pulse: Pulse = request.app.state.pulse
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    if request.method == "HEAD":
        return Response(media_type="text/event-stream", headers=headers)
    return StreamingResponse(_stream(request, pulse), media_type="text/event-stream", headers=headers)


async def _stream(request: Request, pulse: Pulse) -> AsyncIterator[str]:
    last: int | None = -1
    spoken = time.monotonic()
    yield "retry: 2000\n\n"
    while session_of(request) is not None and not await request.is_disconnected():
        try:
            now: int | None = await pulse.number()
        except StoreUnavailable:
            now = None
        if now != last:
            yield "event: away\ndata: \n\n" if now is None else f"event: change\ndata: {now}\n\n"
            last, spoken = now, time.monotonic()
        elif time.monotonic() - spoken > QUIET_SECONDS:
            yield ": still here\n\n"
            spoken = time.monotonic()
        await asyncio.sleep(LOOK_SECONDS)
