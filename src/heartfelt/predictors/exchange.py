"""Requests to one server over connections that are kept open, from many threads.

The standard library's client with a pool: a fifth of the work of the larger clients, which at hundreds of requests a second is
what a run waits for. A connection the other side has closed is noticed before it is used. ``timeout`` is a deadline for the
whole request, and an answer longer than ``LONGEST_ANSWER`` is not read to its end. Failures that may pass are raised as
:class:`Transient`; whatever the server says, refusals too, is returned. Redirects are not followed: they could send the media
and the key elsewhere.
"""

from __future__ import annotations

import http.client
import math
import select
import ssl
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.predictors.deadline import DeadlineConnection
from heartfelt.predictors.predictor import Transient

LONGEST_ANSWER = 16 * 1024 * 1024
"""Bytes of an answer that are read, before and after decompression; longer ones are a failure."""
_PERMANENT = frozenset({501, 505, 506, 510, 511})
"""Server errors that asking again does not change."""
_BLOCK = 65_536


def is_transient(status: int) -> bool:
    """Whether the same request may be answered differently later: 408, 425, 429 and server errors that may pass."""
    return status in {408, 425, 429} or (500 <= status <= 599 and status not in _PERMANENT)


class UnusableAnswer(HeartfeltError):
    """An answer that cannot be used and would not be better if asked again."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a server said."""

    status: int
    body: bytes
    retry_after: str | None = None
    location: str | None = None
    """Where a redirect points to."""

    @property
    def text(self) -> str:
        """The body as text, whatever it holds; of a redirect, where it points to."""
        if 300 <= self.status <= 399:
            return f"redirects are not followed; it points to {self.location or 'nowhere'}"
        return self.body.decode("utf-8", "replace")


class Exchange:
    """One address that is posted to. ``timeout`` is the seconds a request may take from start to end."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = dict(headers)
        self._timeout = timeout
        self._secure = ssl.create_default_context() if parts.scheme == "https" else None
        self._idle: list[DeadlineConnection] = []
        self._lock = threading.Lock()
        self._closed = False

    def post(self, content: bytes) -> Said:
        """Send ``content`` and return what comes back."""
        connection = self._taken()
        connection.deadline = time.monotonic() + self._timeout
        response: http.client.HTTPResponse | None = None
        try:
            connection.request("POST", self._path, content, self._headers)
            response = connection.getresponse()
            body = _body(response)
        except BaseException as error:  # the connection is closed whatever happened; raised again below
            connection.close()
            if response is not None:
                response.close()
            if isinstance(error, TimeoutError):
                raise Transient(f"the server did not answer within {self._timeout:g} s") from None
            if isinstance(error, OSError | http.client.HTTPException | UnicodeError):
                raise Transient(f"the server cannot be reached: {_why(error)}") from None
            raise
        self._give_back(connection, keep=not response.will_close)
        headers = response.headers
        return Said(response.status, body, headers.get("retry-after"), headers.get("location"))

    def close(self) -> None:
        """Close every connection that is not in use; those in use are closed when they are given back."""
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            connection.close()

    def _taken(self) -> DeadlineConnection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return DeadlineConnection(self._host, self._port, self._secure)
            if not _gone(connection):
                return connection
            connection.close()

    def _give_back(self, connection: DeadlineConnection, *, keep: bool) -> None:
        with self._lock:
            if keep and not self._closed:
                self._idle.append(connection)
                return
        connection.close()


def _body(response: http.client.HTTPResponse) -> bytes:
    """The whole body, unpacked; too long a one is an error."""
    parts: list[bytes] = []
    size = 0
    while part := response.read(_BLOCK):
        size += len(part)
        if size > LONGEST_ANSWER:
            raise _too_long()
        parts.append(part)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return _unpacked(b"".join(parts), response.headers.get("content-encoding", ""))


def _unpacked(body: bytes, encoding: str) -> bytes:
    """The body without the compression a server used although none was asked for."""
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return body
    if name not in {"gzip", "x-gzip", "deflate"}:
        raise UnusableAnswer(
            f"the server's answer is compressed with '{shortened(name)}', which was not asked for",
            "Turn compression off at the server.",
        )
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32 if name != "deflate" else zlib.MAX_WBITS)
    try:
        out = unpacker.decompress(body, LONGEST_ANSWER + 1)
    except zlib.error as error:
        raise UnusableAnswer(
            f"the server's answer says it is compressed with {name} and is not: {error}", "Check the server."
        ) from error
    if len(out) > LONGEST_ANSWER:
        raise _too_long()
    if not unpacker.eof:
        raise UnusableAnswer(
            f"the server's answer is compressed with {name} and cut off", "Check the server."
        )
    return out


def _too_long() -> UnusableAnswer:
    return UnusableAnswer(
        f"the server's answer is longer than {LONGEST_ANSWER // 1024**2} MiB and was not read to its end",
        "Check that the address is that of the model.",
    )


def _gone(connection: DeadlineConnection) -> bool:
    """Whether the other side has closed an idle connection: only then is there something to read."""
    if connection.sock is None:
        return True
    if not hasattr(select, "poll"):
        return bool(select.select([connection.sock], [], [], 0)[0])
    poller = select.poll()
    poller.register(connection.sock, select.POLLIN)
    return bool(poller.poll(0))


def _why(error: Exception) -> str:
    if isinstance(error, http.client.RemoteDisconnected):
        return "it closed the connection without an answer"
    if isinstance(error, http.client.IncompleteRead):
        return "the connection ended before the answer did"
    if isinstance(error, http.client.HTTPException):
        return f"it does not speak HTTP ({type(error).__name__})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def refusal(status: int, answer: object) -> str:
    """What a server refused with, in a line."""
    from http import HTTPStatus

    try:
        words = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        words = str(status)
    text = " ".join(str(answer).split())
    return f"the server answered {words}" + (f": {shortened(text)}" if text else "")


def shortened(text: str) -> str:
    """A text that may be long, fit for a line."""
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:79] + "…"


def wait_of(header: str | None) -> float | None:
    """Seconds in a Retry-After header, which may be a number or a date; None where it is neither."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        seconds = math.nan
    if math.isfinite(seconds):
        return max(0.0, seconds)
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(header)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def timeout_of(text: str) -> float:
    """The seconds of a timeout given as an option."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise InputError(f"A timeout of '{text}' seconds cannot be.", "Give a number above 0, such as 60.")
    return seconds
