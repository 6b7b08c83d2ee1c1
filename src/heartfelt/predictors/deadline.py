"""A connection on which a whole request, from looking up the address to the last byte of the answer, has one deadline.

A socket's own timeout starts anew with every byte that arrives: a server that sends one byte a second would never be late.
Here every operation gets only the time that is left. Looking up a name in DNS cannot be interrupted and is the one exception.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any


class DeadlineConnection(http.client.HTTPConnection):
    """An HTTP connection, with TLS where a context is given; ``deadline`` is set anew before each request."""

    def __init__(self, host: str, port: int | None, context: ssl.SSLContext | None) -> None:
        usual = http.client.HTTPS_PORT if context is not None else http.client.HTTP_PORT
        super().__init__(host, port if port is not None else usual)
        self._context = context
        self.deadline = float("inf")

    def left(self) -> float:
        """Seconds left; raises TimeoutError when there are none."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds

    def connect(self) -> None:
        """Connect to the first of the host's addresses that answers, within the time left."""
        problem: OSError | None = None
        for family, kind, protocol, _, address in socket.getaddrinfo(
            self.host, self.port, type=socket.SOCK_STREAM
        ):
            plain = socket.socket(family, kind, protocol)
            try:
                plain.settimeout(self.left())
                plain.connect(address)
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._context is not None:
                    plain.settimeout(self.left())
                    plain = self._context.wrap_socket(plain, server_hostname=self.host)
            except OSError as error:
                plain.close()
                problem = error
                continue
            # http.client only sends, makes a file to read from, and closes: what the wrapper offers.
            self.sock: Any = _DeadlineSocket(plain, self)
            return
        raise problem if problem is not None else OSError(f"no address for {self.host}")


class _DeadlineSocket:
    """The part of a socket http.client uses, each operation within the time left."""

    def __init__(self, plain: socket.socket, connection: DeadlineConnection) -> None:
        self._plain = plain
        self._connection = connection
        self._files = 0
        self._closed = False

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._plain.settimeout(self._connection.left())
            rest = rest[self._plain.send(rest[:1_048_576]) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        del mode
        self._files += 1
        return io.BufferedReader(_Arriving(self._plain, self._connection, self._file_closed))

    def fileno(self) -> int:
        return self._plain.fileno()

    def close(self) -> None:
        """Close once nothing is read any more: an answer may be read after its connection was given up."""
        self._closed = True
        if not self._files:
            self._plain.close()

    def _file_closed(self) -> None:
        self._files -= 1
        if self._closed:
            self.close()


class _Arriving(io.RawIOBase):
    """What arrives on a socket."""

    def __init__(
        self, plain: socket.socket, connection: DeadlineConnection, on_close: Callable[[], None]
    ) -> None:
        self._plain = plain
        self._connection = connection
        self._on_close = on_close

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._on_close()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._plain.settimeout(self._connection.left())
        return self._plain.recv_into(buffer)
