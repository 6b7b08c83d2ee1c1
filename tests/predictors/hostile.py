"""A loopback server that writes whatever bytes it is told to, as slowly as it is told to."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Script = Callable[[socket.socket], None]
"""Called with the connection once the request was read."""

OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def answer(body: bytes, *headers: bytes, length: int | None = None, status: bytes = b"200 OK") -> Script:
    """Answer with a body, whose stated length may be a lie."""
    size = len(body) if length is None else length
    head = b"HTTP/1.1 %s\r\n%scontent-length: %d\r\n\r\n" % (status, b"".join(line + b"\r\n" for line in headers), size)
    return lambda to: to.sendall(head + body)


def drip(content: bytes, every: float) -> Script:
    """Send one byte at a time."""

    def script(to: socket.socket) -> None:
        for at in range(len(content)):
            to.sendall(content[at : at + 1])
            time.sleep(every)

    return script


def endless(head: bytes, block: bytes) -> Script:
    """Send ``block`` for ever after ``head``."""

    def script(to: socket.socket) -> None:
        to.sendall(head)
        while True:
            to.sendall(block)

    return script


@contextmanager
def hostile(script: Script) -> Iterator[tuple[str, list[int]]]:
    """Serve on a free port until the block ends; the list holds the bytes written for each request."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)
    done = threading.Event()
    asked: list[int] = []

    def talk(to: socket.socket) -> None:
        to.settimeout(5.0)
        with to, suppress(OSError):
            request = b""
            while b"\r\n\r\n" not in request:
                request += to.recv(65_536)
            head, _, body = request.partition(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
            )
            while len(body) < length:
                body += to.recv(65_536)
            asked.append(length)
            script(to)

    def serve() -> None:
        while not done.is_set():
            with suppress(TimeoutError):
                threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1", asked
    finally:
        done.set()
        thread.join()
        listener.close()
