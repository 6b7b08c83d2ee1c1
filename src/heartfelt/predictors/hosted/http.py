"""Requests to one server over connections that are kept open, from many threads.

httpcore, which is httpx without its conveniences, on sockets with a deadline: a socket's own timeout starts anew with every
byte that arrives, so a server that sends one byte a second would never be late. Here every operation gets only the time that is
left of the whole request. (Looking up a name in DNS cannot be interrupted and is the one exception.) An answer longer than
``LONGEST_ANSWER`` is not read to its end. Failures that may pass are raised as :class:`TransientError`; whatever else the server
answers, refusals too, is returned. Redirects are not followed: they could send the media and the key elsewhere.
"""

from __future__ import annotations

import json
import logging
import math
import os
import socket
import ssl
import threading
import time
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import httpcore

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.predictors.execution.work import shortened
from heartfelt.predictors.interface.calls import Call
from heartfelt.predictors.interface.predictor import Case, Predictor, TransientError

_log = logging.getLogger(__name__)

LONGEST_ANSWER = 16 * 1024 * 1024
"""Bytes of an answer that are read, before and after decompression; longer ones are a failure."""
_PERMANENT = frozenset({501, 505, 506, 510, 511})
"""Server errors that asking again does not change."""
CUT_OFF = "the server's answer was cut off"
_BLOCK = 65_536
_CONNECTING = threading.Lock()


class UnusableAnswer(HeartfeltError):
    """An answer that cannot be used and would not be better if asked again."""

    def __init__(self, problem: str, fix: str = "Check the server.", call: Call | None = None) -> None:
        super().__init__(problem, fix)
        self.call = call
        """The record of the request, where there is one."""


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered; the key, in case it was repeated, is replaced by stars."""

    status: int
    body: bytes
    location: str | None = None
    """Where a redirect points to."""
    content_type: str = ""

    @property
    def text(self) -> str:
        """The body as text, whatever it holds; of a redirect, where it points to."""
        if 300 <= self.status <= 399:
            return f"redirects are not followed; it points to {self.location or 'nowhere'}"
        return self.body.decode("utf-8-sig", "replace")

    @property
    def refusal(self) -> str:
        return refusal(self.status, self.text)


class Connections:
    """Connections to one server. ``timeout`` is the seconds a request may take from start to end.

    ``key`` is sent as a bearer token, ``headers`` as they are. ``secrets``, the key among them, are replaced by stars in whatever
    the server sends back. An answer longer than ``longest`` bytes is a failure.
    """

    def __init__(
        self,
        url: str,
        timeout: float,
        key: str | None = None,
        *,
        headers: Mapping[str, str] = MappingProxyType({}),
        secrets: Sequence[str] = (),
        longest: int = LONGEST_ANSWER,
    ) -> None:
        self._url = url
        self._timeout = timeout
        self._longest = longest
        self._secrets = [secret_text.encode() for secret_text in (key, *secrets) if secret_text]
        defaults = {"host": urlsplit(url).netloc, "content-type": "application/json", "accept": "application/json"}
        authorization = {"authorization": f"Bearer {key}"} if key else {}
        self._headers = {**defaults, **authorization, **{name.lower(): value for name, value in headers.items()}}
        self._sockets = _DeadlineBackend()
        self._context = ssl.create_default_context()
        self._idle: list[httpcore.HTTPConnection] = []
        """Connections nobody uses; taken and returned by any thread."""
        self._closed = False

    def post(self, content: bytes) -> Response:
        """Send ``content`` and return what comes back; raise where the same request may be answered differently later."""
        return self.request("POST", self._url, content)

    def request(self, method: str, url: str, content: bytes | None = None, timeout: float | None = None) -> Response:
        """Ask for an address of this server, with less time than usual where ``timeout`` is given."""
        seconds = self._timeout if timeout is None else min(timeout, self._timeout)
        self._sockets.deadline.at = time.monotonic() + seconds
        try:
            answer, body = self._exchanged(method, url, content)
        except (httpcore.TimeoutException, TimeoutError) as error:
            late = f"the server did not answer within {round(seconds, 2):g} s"
            raise TransientError(late, begun=not isinstance(error, httpcore.ConnectTimeout)) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError, UnicodeError) as error:
            problem = _broken(error)
            raise TransientError(problem, begun=problem.startswith(CUT_OFF)) from None
        headers = {name.lower(): self._clean(value).decode("latin-1") for name, value in answer.headers}
        body = self._clean(_decompressed(body, headers.get(b"content-encoding", ""), self._longest))
        if answer.status < 300 and _ends_early(body, headers):
            raise TransientError(f"{CUT_OFF}: its JSON has no end", begun=True)
        kind = headers.get(b"content-type", "").partition(";")[0].strip().lower()
        response = Response(answer.status, body, headers.get(b"location"), kind)
        _log.debug("%s answered %d with %d bytes", urlsplit(url).hostname, answer.status, len(body))
        if is_transient(answer.status):
            wait = wait_of(headers.get(b"retry-after"))
            raise TransientError(response.refusal, after=wait, status=answer.status)
        return response

    def _exchanged(self, method: str, address: str, content: bytes | None) -> tuple[httpcore.Response, bytes]:
        url = httpcore.URL(address)
        connection = self._unused() or httpcore.HTTPConnection(url.origin, self._context, network_backend=self._sockets)
        skipped = {"content-type"} if content is None else set()
        headers = [(name, value) for name, value in self._headers.items() if name not in skipped]
        if content is not None:
            headers.append(("content-length", str(len(content))))
        try:
            response = connection.handle_request(httpcore.Request(method, url, headers=headers, content=content))
            body = _body(response, self._longest)
            response.close()
        except BaseException:  # the connection is in an unknown state; raised again
            connection.close()
            raise
        if connection.is_idle() and not self._closed:
            self._idle.append(connection)
        else:
            connection.close()
        return response, body

    def _unused(self) -> httpcore.HTTPConnection | None:
        with suppress(IndexError):
            while (connection := self._idle.pop()).has_expired():
                connection.close()
            return connection
        return None

    def _clean(self, content: bytes) -> bytes:
        for secret in self._secrets:
            content = content.replace(secret, b"***")
        return content

    def close(self) -> None:
        """Close every connection; one that is still in use is closed when it is returned."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


class _Deadline(threading.local):
    """When the request of this thread must be over, by the monotonic clock."""

    at = math.inf

    def remaining(self) -> float:
        seconds = self.at - time.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout
        return seconds


class _DeadlineBackend(httpcore.NetworkBackend):
    """Connects within the time left, and gives every later operation only what is left then."""

    def __init__(self) -> None:
        self.deadline = _Deadline()
        self._plain = httpcore.SyncBackend()

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
        stream = self._plain.connect_tcp(host, port, self.deadline.remaining(), local_address, options)
        return _DeadlineStream(stream, self.deadline)


class _DeadlineStream(httpcore.NetworkStream):
    """A stream on which each operation gets the time left. A small request leaves in one packet, head and body."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: _Deadline) -> None:
        self._plain = stream
        self._deadline = deadline
        self._held = b""
        self._begins = False
        """Whether what is read next is the beginning of an answer."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        del timeout
        with suppress(httpcore.WriteError):  # a server may refuse before everything was sent
            self._send()
        content = self._plain.read(max_bytes, self._deadline.remaining())
        if self._begins and content[:5] != b"HTTP/"[: len(content)]:
            first = content[:80].decode("latin-1").splitlines()[0]
            raise httpcore.RemoteProtocolError(f"its answer begins with '{first}'")
        self._begins = False
        return content

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        del timeout
        self._held += buffer
        self._begins = True
        if len(self._held) > _BLOCK:
            self._send()

    def _send(self) -> None:
        unsent, self._held = memoryview(self._held), b""
        while unsent:
            self._plain.write(bytes(unsent[:_BLOCK]), self._deadline.remaining())
            unsent = unsent[_BLOCK:]

    def close(self) -> None:
        self._plain.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        del timeout
        secure = self._plain.start_tls(ssl_context, server_hostname, self._deadline.remaining())
        return _DeadlineStream(secure, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._plain.get_extra_info(info)


def _body(response: httpcore.Response, longest: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    for part in response.iter_stream():
        size += len(part)
        if size > longest:
            raise _too_long(longest)
        parts.append(part)
    return b"".join(parts)


def _decompressed(body: bytes, encoding: str, longest: int) -> bytes:
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
        out = unpacker.decompress(body, longest + 1)
    except zlib.error as error:
        raise UnusableAnswer(f"the server's answer says it is compressed with {name} and is not: {error}") from error
    if len(out) > longest:
        raise _too_long(longest)
    if not unpacker.eof:
        raise TransientError(f"{CUT_OFF}: it is compressed with {name} and has no end", begun=True)
    return out


def _too_long(longest: int) -> UnusableAnswer:
    return UnusableAnswer(
        f"the server's answer is longer than {longest / 1024**2:g} MiB and was not read to its end",
        "Check that the address is that of the model.",
    )


def _broken(error: Exception) -> str:
    """What became of a request that got no complete answer: was the server reached, and had it begun to answer?"""
    text = str(error)
    if isinstance(error, httpcore.RemoteProtocolError):
        if "Server disconnected" in text:
            return "the server closed the connection without an answer"
        if "without sending complete" in text:
            return f"{CUT_OFF}: the connection ended before the answer did"
        return f"the server does not speak HTTP ({shortened(text)})"
    root = error.__cause__ or error.__context__ if isinstance(error, httpcore.NetworkError) else error
    cause = root.strerror if isinstance(root, OSError) and root.strerror else text or type(error).__name__
    if isinstance(error, httpcore.ReadError | httpcore.WriteError):
        return f"the connection to the server broke: {cause}"
    return f"the server cannot be reached: {cause}"


def _ends_early(body: bytes, headers: Mapping[bytes, str]) -> bool:
    """Whether JSON whose length the server did not state ends before it is complete."""
    framed = b"content-length" in headers or "chunked" in headers.get(b"transfer-encoding", "").lower()
    return not framed and ends_early(body.decode("utf-8-sig", "replace"))


def ends_early(text: str) -> bool:
    text = text.strip()
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(text) or error.msg.startswith("Unterminated string")
    except RecursionError:
        return False
    return False


def is_transient(status: int) -> bool:
    """Whether the same request may be answered differently later: 408, 425, 429 and server errors that may pass."""
    return status in {408, 425, 429} or (500 <= status <= 599 and status not in _PERMANENT)


def refusal(status: int, answer: object) -> str:
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


def checked_address(url: str, wrong: InputError, secret_fix: str) -> str:
    """The address of a server; ``wrong`` is raised where it is none. One with a password in it is refused."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise wrong
    if "@" in parts.netloc:
        raise InputError(
            "The address of the server holds a password, which would be written into every result.", secret_fix
        )
    return url


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
        with _CONNECTING:
            if self._connections is None:
                self._connections = self._connect()
            return self._connections

    def expect(self, cases: Sequence[Case]) -> None:
        del cases
        _ = self.connections

    def close(self) -> None:
        if self._connections is not None:
            self._connections.close()
            self._connections = None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_connections": None}


def secret(variable: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise InputError(f"The environment variable {variable} is empty.", "Set it to the token the server expects.")
    return value
