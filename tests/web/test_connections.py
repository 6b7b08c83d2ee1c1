"""Connections that do not send a request hold nobody up, and are closed."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVER = """
import resource, sys
FILES, SECONDS = int(sys.argv[1]), float(sys.argv[2])
from heartfelt.web.requests import connections
from heartfelt.web.serving.serve import bind_port, run_server
connections.HEADER_SECONDS = connections.BODY_SECONDS = SECONDS

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        return
    body = (await receive()).get("body", b"")
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})

with bind_port("127.0.0.1", 0) as listener:
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    ready = lambda: print(listener.getsockname()[1], flush=True)
    run_server(app, listener=listener, ready=ready, loop="uvloop", lifespan="off", log_level="warning")
"""
HALF = b"POST / HTTP/1.1\r\nhost: study.test\r\ncontent-le"


class Served:
    """A server with few file descriptors in a process of its own."""

    def __init__(self, files: int, seconds: float) -> None:
        command = [sys.executable, "-c", textwrap.dedent(SERVER), str(files), str(seconds)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.open: list[socket.socket] = []

    def connect(self, sent: bytes = b"") -> socket.socket:
        self.open.append(socket.create_connection(("127.0.0.1", self.port), timeout=20))
        self.open[-1].sendall(sent)
        return self.open[-1]

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self.open:
            connection.close()
        self.process.kill()
        self.process.communicate()


def is_answered(connection: socket.socket) -> bool:
    answer = b""
    with suppress(ConnectionError):
        while not answer.endswith(b"ok") and (chunk := connection.recv(1000)):
            answer += chunk
    return answer.startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_an_honest_request_is_answered_among_half_open_ones() -> None:
    with Served(files=128, seconds=3600) as server:
        for number in range(160):
            server.connect(HALF if number % 2 else b"")
        assert is_answered(server.connect(b"GET / HTTP/1.1\r\nhost: study.test\r\n\r\n"))


@pytest.mark.slow
def test_a_request_that_never_ends_is_closed_and_others_stay_open() -> None:
    requests = {
        "nothing": b"",
        "half of the headers": HALF,
        "half of the body": b"POST / HTTP/1.1\r\nhost: study.test\r\ncontent-length: 9\r\n\r\nhalf",
        "half of the second request": b"GET / HTTP/1.1\r\nhost: study.test\r\n\r\n" + HALF,
    }
    with Served(files=128, seconds=0.5) as server:
        for name, sent in requests.items():
            connection = server.connect(sent)
            answers = b""
            with suppress(ConnectionError):
                while chunk := connection.recv(1000):
                    answers += chunk
            assert answers.count(b"HTTP/1.1 200") <= 1, name
        connection = server.connect()
        for _ in range(4):
            connection.sendall(b"POST / HTTP/1.1\r\nhost: study.test\r\ncontent-length: 4\r\n\r\nbody")
            assert is_answered(connection)
            time.sleep(0.2)
