"""Requests to one server over connections that are kept open, from many threads.

The standard library's client with a pool: a fifth of the work of the larger clients, which at hundreds of requests a second is
what a run waits for. A connection the other side has closed is noticed before it is used. Bad weather is raised as
:class:`Transient`; whatever the server says, refusals too, is returned.
"""

from __future__ import annotations

import http.client
import math
import select
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from heartfelt.errors import InputError
from heartfelt.predict.predictor import Transient

PASSING = frozenset({429, 500, 502, 503, 504})
"""Answers that may be others when asked again."""
_Connection = http.client.HTTPConnection


@dataclass(frozen=True, slots=True)
class Said:
    """What a server said."""

    status: int
    body: bytes
    retry_after: str | None = None

    @property
    def text(self) -> str:
        """The body as text, whatever it holds."""
        return self.body.decode("utf-8", "replace")


class Exchange:
    """One address that is posted to."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = dict(headers)
        self._timeout = timeout
        self._secure = ssl.create_default_context() if parts.scheme == "https" else None
        self._idle: list[_Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    def post(self, content: bytes) -> Said:
        """Send ``content`` and return what comes back."""
        connection = self._taken()
        try:
            connection.request("POST", self._path, content, self._headers)
            response = connection.getresponse()
            said = Said(response.status, response.read(), response.headers.get("retry-after"))
        except BaseException as error:  # the connection is closed whatever happened; raised again below
            connection.close()
            if isinstance(error, TimeoutError):
                raise Transient(f"the server did not answer within {self._timeout:g} s") from None
            if isinstance(error, OSError | http.client.HTTPException):
                raise Transient(f"the server cannot be reached: {_why(error)}") from None
            raise
        self._give_back(connection, keep=not response.will_close)
        return said

    def close(self) -> None:
        """Close every connection that is not in use; those in use are closed when they are given back."""
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            connection.close()

    def _taken(self) -> _Connection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._new()
            if not _gone(connection):
                return connection
            connection.close()

    def _new(self) -> _Connection:
        if self._secure is not None:
            return http.client.HTTPSConnection(
                self._host, self._port, timeout=self._timeout, context=self._secure
            )
        return _Connection(self._host, self._port, timeout=self._timeout)

    def _give_back(self, connection: _Connection, *, keep: bool) -> None:
        with self._lock:
            if keep and not self._closed:
                self._idle.append(connection)
                return
        connection.close()


def _gone(connection: _Connection) -> bool:
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
    """Seconds in a Retry-After header, which may be a number or a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def timeout_of(text: str) -> float:
    """The seconds of a timeout given as an option."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise InputError(f"A timeout of '{text}' seconds cannot be.", "Give a number above 0, such as 60.")
    return seconds
