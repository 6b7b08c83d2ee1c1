"""Requests to one server over connections that are kept open, from many threads.

httpcore, which is httpx without its conveniences, on sockets with a deadline: a socket's own timeout starts anew with every
byte that arrives, so a server that sends one byte a second would never be late. Here every operation gets only the time that is
left of the whole request. (Looking up a name in DNS cannot be interrupted and is the one exception.) An answer longer than
``LONGEST_ANSWER`` is not read to its end. Failures that may pass are raised as :class:`TransientError`; whatever the server
answers, refusals too, is returned. Redirects are not followed: they could send the media and the key elsewhere.
"""

from __future__ import annotations

import math
import os
import socket
import ssl
import threading
import time
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import httpcore

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.predictors.asking import shortened
from heartfelt.predictors.predictor import Case, Predictor, TransientError

LONGEST_ANSWER = 16 * 1024 * 1024
"""Bytes of an answer that are read, before and after decompression; longer ones are a failure."""
_PERMANENT = frozenset({501, 505, 506, 510, 511})
"""Server errors that asking again does not change."""
_BLOCK = 65_536
_CONNECTING = threading.Lock()


class UnusableAnswer(HeartfeltError):
    """An answer that cannot be used and would not be better if asked again."""


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered."""

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


class Connections:
    """Connections to one address that is posted to. ``timeout`` is the seconds a request may take from start to end."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self._url = url
        self._headers = {"content-type": "application/json", "accept": "application/json", **headers}
        self._timeout = timeout
        self._sockets = _DeadlineBackend()
        self._pool = httpcore.ConnectionPool(
            ssl.create_default_context(), max_connections=None, network_backend=self._sockets
        )

    def post(self, content: bytes) -> Response:
        """Send ``content`` and return what comes back."""
        self._sockets.start(self._timeout)
        headers = {**self._headers, "content-length": str(len(content))}
        try:
            with self._pool.stream(
                "POST", self._url, headers=list(headers.items()), content=content
            ) as response:
                body = _body(response)
        except (httpcore.TimeoutException, TimeoutError):
            raise TransientError(f"the server did not answer within {self._timeout:g} s") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError, UnicodeError) as error:
            raise TransientError(f"the server cannot be reached: {_cause(error)}") from None
        answered = {name.decode("latin-1").lower(): value for name, value in response.headers}
        return Response(
            response.status,
            _decompressed(body, _text(answered.get("content-encoding")) or ""),
            _text(answered.get("retry-after")),
            _text(answered.get("location")),
        )

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


class _Deadline(threading.local):
    """When the request of this thread must be over, by the monotonic clock."""

    at = math.inf

    def left(self) -> float:
        """Seconds left; raises where there are none."""
        seconds = self.at - time.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout
        return seconds


class _DeadlineBackend(httpcore.NetworkBackend):
    """Connects within the time left, and gives every later operation only what is left then."""

    def __init__(self) -> None:
        self._deadline = _Deadline()
        self._plain = httpcore.SyncBackend()

    def start(self, seconds: float) -> None:
        """Begin a request of this thread."""
        self._deadline.at = time.monotonic() + seconds

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the first of the host's addresses that answers."""
        del timeout
        options = [*(socket_options or ()), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
        stream = self._plain.connect_tcp(host, port, self._deadline.left(), local_address, options)
        return _DeadlineStream(stream, self._deadline)


class _DeadlineStream(httpcore.NetworkStream):
    """A stream on which each operation gets the time left."""

    def __init__(self, plain: httpcore.NetworkStream, deadline: _Deadline) -> None:
        self._plain = plain
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        del timeout
        return self._plain.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        del timeout
        rest = memoryview(buffer)
        while rest:
            self._plain.write(bytes(rest[:_BLOCK]), self._deadline.left())
            rest = rest[_BLOCK:]

    def close(self) -> None:
        self._plain.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        del timeout
        secure = self._plain.start_tls(ssl_context, server_hostname, self._deadline.left())
        return _DeadlineStream(secure, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._plain.get_extra_info(info)


def _body(response: httpcore.Response) -> bytes:
    """The whole body; too long a body is an error."""
    parts: list[bytes] = []
    size = 0
    for part in response.iter_stream():
        size += len(part)
        if size > LONGEST_ANSWER:
            raise _too_long()
        parts.append(part)
    return b"".join(parts)


def _decompressed(body: bytes, encoding: str) -> bytes:
    """The body without the compression a server used although none was asked for; httpx itself sets no limit."""
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


def _cause(error: Exception) -> str:
    text = str(error)
    if isinstance(error, httpcore.RemoteProtocolError):
        if "Server disconnected" in text:
            return "it closed the connection without an answer"
        if "without sending complete" in text:
            return "the connection ended before the answer did"
        return f"it does not speak HTTP ({shortened(text)})"
    root = error.__cause__ or error.__context__ if isinstance(error, httpcore.NetworkError) else error
    if isinstance(root, OSError) and root.strerror:
        return root.strerror
    return text or type(error).__name__


def _text(header: bytes | None) -> str | None:
    return None if header is None else header.decode("latin-1")


def is_transient(status: int) -> bool:
    """Whether the same request may be answered differently later: 408, 425, 429 and server errors that may pass."""
    return status in {408, 425, 429} or (500 <= status <= 599 and status not in _PERMANENT)


def refusal(status: int, answer: object) -> str:
    """A server's refusal in one line."""
    try:
        words = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        words = str(status)
    text = shortened(str(answer))
    return f"the server answered {words}" + (f": {text}" if text else "")


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
    try:
        moment = parsedate_to_datetime(header)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def number_option(options: Mapping[str, str], name: str, usual: float, low: float, high: float) -> float:
    """A number given as an option, within its limits."""
    given = options.get(name, str(usual))
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise InputError(f"'{given}' is not a valid {name}.", f"Give a number from {low:g} to {high:g}.")
    return value


def timeout_of(text: str) -> float:
    """The seconds of a timeout given as an option."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise InputError(
            f"The timeout '{text}' is not a number above 0.", "Give seconds above 0, such as 60."
        )
    return seconds


def secret(variable: str) -> str:
    """The token or key in an environment variable."""
    value = os.environ.get(variable)
    if not value:
        raise InputError(
            f"The environment variable {variable} is empty.", "Set it to the token the server expects."
        )
    return value


class RemotePredictor(Predictor):
    """A predictor behind a server: its connections are made when first needed, kept open, and not sent to other machines."""

    reach = "network"
    at_once = 8
    _connections: Connections | None = None

    @abstractmethod
    def _connect(self) -> Connections:
        """New connections; raises with a fix where the key or token they need is missing."""

    @property
    def connections(self) -> Connections:
        """The connections, kept open between requests."""
        with _CONNECTING:
            if self._connections is None:
                self._connections = self._connect()
            return self._connections

    def expect(self, cases: Sequence[Case]) -> None:
        """Connect, so that a missing key or token is reported before anything is asked."""
        del cases
        _ = self.connections

    def close(self) -> None:
        """Close the connections."""
        if self._connections is not None:
            self._connections.close()
            self._connections = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_connections": None}
