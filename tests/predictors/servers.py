"""A real HTTP server on this machine that answers well, slowly, wrongly or not at all, and counts what it is asked."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from heartfelt.predictors.baselines import similarity


@dataclass(frozen=True)
class Reply:
    """What the server says to one request."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    silent: bool = False
    """Close the connection without a word."""


Behaviour = Callable[[dict[str, Any], int], Reply]
"""Called with a request and how often the same (file, text) was asked, this time included."""


class Served:
    """The server's address and what it was asked."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.requests: list[dict[str, Any]] = []
        self.counts: Counter[tuple[str, str]] = Counter()
        self.lock = threading.Lock()
        self.url = ""
        self.headers: list[dict[str, str]] = []

    def answer(self, request: dict[str, Any]) -> Reply:
        name = request.get("audio_filename") or request.get("audio_stem") or ""
        with self.lock:
            self.requests.append(request)
            self.counts[name, request.get("text", "")] += 1
            count = self.counts[name, request.get("text", "")]
        return self.behaviour(request, count)


def good(request: dict[str, Any], count: int) -> Reply:
    """EmoLia's contract with the sham similarity; knows no batches."""
    stem = request.get("audio_stem") or str(request["audio_filename"]).rpartition(".")[0]
    if "audio_base64" in request:
        base64.b64decode(request["audio_base64"], validate=True)
    return Reply(body=json.dumps({"similarity": similarity(stem, request["text"])}).encode())


def batching(request: dict[str, Any], count: int) -> Reply:
    """Knows heartfelt's batch variant."""
    if "texts" not in request:
        return good(request, count)
    stem = str(request["audio_filename"]).rpartition(".")[0]
    return Reply(body=json.dumps({"similarities": [similarity(stem, text) for text in request["texts"]]}).encode())


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[None]:
    """Serve in a thread until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serving(behaviour: Behaviour = good) -> Iterator[Served]:
    """Serve on a free port until the block ends."""
    served = Served(behaviour)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("content-length", 0)))
            served.headers.append(dict(self.headers.items()))
            reply = served.answer(json.loads(content))
            if reply.wait:
                time.sleep(reply.wait)
            if reply.silent:
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *args: Any) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except (ConnectionError, BrokenPipeError):
                self.close_connection = True

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

        def handle_error(self, *args: Any) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}/similarity"
    with running(server):
        yield served
