"""A web service on this machine that answers as a test says, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.predictors.servers import Reply, running


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    body: bytes
    headers: dict[str, str]


@dataclass
class Service:
    """The service's address and its requests."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)


@contextmanager
def service(behaviour: Callable[[Asked, Service], Reply]) -> Iterator[Service]:
    """Serve on a free port until the block ends."""
    served, lock = Service(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, body, headers)
            with lock:
                served.asked.append(asked)
                reply = behaviour(asked, served)
            self.send_response(reply.status)
            for name, value in {"content-length": str(len(reply.body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST = _answer

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_port}"
    with running(server):
        yield served
