"""The real application on a real port, in a thread."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.rater.presentation import Blinding
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from tests.web.rater.studies import small_study

SECRET = b"a secret for the tests of the pages"


class Clock:
    """The server's clock, which a test can put forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@dataclass
class Served:
    """A study that is being served; it can be stopped and started again on the same port."""

    folder: Path
    prefix: str = ""
    port: int = 0
    clock: Clock = field(default_factory=Clock)
    options: CollectOptions = field(default_factory=lambda: CollectOptions(seed=7, durable=False, hidden=0, planted=0))
    collection: Collection = field(init=False)
    blinding: Blinding = field(init=False)
    _server: uvicorn.Server = field(init=False)
    _thread: threading.Thread = field(init=False)

    @classmethod
    def start(cls, recipe: str, folder: Path, **given: Any) -> Served:
        """Make the study and serve it."""
        own = {name: given.pop(name) for name in ("prefix", "options") if name in given}
        small_study(recipe, folder, **given)
        served = cls(folder, **own)
        served.begin()
        return served

    def begin(self) -> None:
        """Serve, on the port of before if there was one."""
        self.collection = Collection.open(self.folder, clock=self.clock, options=self.options)
        web = WebOptions(secret=SECRET, prefix=self.prefix, address_per_minute=0, rater_per_minute=0, access_log=False)
        app = create_app(self.collection, web)
        self.blinding = app.state.blinding
        config = uvicorn.Config(app, host="127.0.0.1", port=self.port, log_level="error", lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        limit = time.monotonic() + 60
        while not self._server.started:
            assert self._thread.is_alive(), "the server did not start"
            assert time.monotonic() < limit, "the server did not start in time"
            time.sleep(0.02)
        self.port = self._server.servers[0].sockets[0].getsockname()[1]

    def halt(self) -> None:
        """Stop serving; what is stored stays."""
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(30)
        self.collection.close()

    def close(self) -> None:
        """Stop for good."""
        if self._thread.is_alive():
            self.halt()

    @property
    def url(self) -> str:
        """Where it is served, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}{self.prefix}"
