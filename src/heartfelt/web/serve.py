"""Serving a study: with Uvicorn in one or several processes, in a thread for previews and simulations, or as a preview."""

from __future__ import annotations

import gc
import json
import os
import secrets
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from heartfelt.collect import Collection
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.formats.manifest import open_study
from heartfelt.progress import Progress
from heartfelt.web.options import WebOptions

if TYPE_CHECKING:
    from fastapi import FastAPI

    from heartfelt.web.security.signing import Keys

_OPTIONS = "HEARTFELT_SERVE"
_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Where and how to serve; passed to the server's processes in the environment, so nothing secret is here."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    prefix: str = ""
    url: str | None = None
    """The public address; gives the prefix and https."""
    proxy: str | None = None
    """Addresses of proxies whose forwarded headers are trusted; none if left out."""
    database: str | None = None
    address_per_minute: int = 3000
    rater_per_minute: int = 240
    access_log: bool = True

    @property
    def path(self) -> str:
        """The prefix, from the public address if it is not given."""
        return self.prefix or (urlsplit(self.url).path.rstrip("/") if self.url else "")

    @property
    def address(self) -> str:
        """Where the server is reached, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        shown = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
        return (self.url or f"http://{shown}:{self.port}{self.path}").rstrip("/")


def web_options(options: ServeOptions, keys: Keys) -> WebOptions:
    """The application's options from the server's."""
    return WebOptions(
        secret=keys.secret,
        password=keys.password,
        prefix=options.path,
        public_url=options.url,
        secure_cookies=bool(options.url and urlsplit(options.url).scheme == "https"),
        address_per_minute=options.address_per_minute,
        rater_per_minute=options.rater_per_minute,
        access_log=options.access_log,
    )


def prepare(folder: Path, options: ServeOptions, progress: Progress | None = None) -> Keys:
    """Check that the study can be served, and make the keys it needs; ``progress`` counts probed media."""
    from heartfelt.web.rater.texts import check_languages
    from heartfelt.web.security.signing import load_keys

    with Collection.open(folder, database=options.database, progress=progress) as collection:
        check_languages(collection.study, collection.folder)
        keys = load_keys(collection)
    web_options(options, keys)
    check_port(options.host, options.port)
    return keys


def serve(folder: Path, options: ServeOptions) -> None:
    """Serve a study that was prepared, until stopped."""
    os.environ[_OPTIONS] = json.dumps({"folder": str(folder.resolve()), **asdict(options)})
    run_server(
        "heartfelt.web.serve:app",
        options.workers,
        factory=True,
        host=options.host,
        port=options.port,
        loop="uvloop",
        http="httptools",
        proxy_headers=options.proxy is not None,
        forwarded_allow_ips=options.proxy,
        access_log=False,
        server_header=False,
        log_config=_logging(),
        timeout_graceful_shutdown=3,
        backlog=4096,
    )


def run_server(app: FastAPI | str, workers: int = 1, **settings: Any) -> None:
    """Serve until stopped. Ctrl-C is raised as in any other command; ``uvicorn.run`` swallows it."""
    import uvicorn

    if workers == 1:
        server = uvicorn.Server(uvicorn.Config(app, **settings))
        server.run()
        if not server.started:
            raise HeartfeltError("The server did not start.", "See its messages above.")
        return
    received, sent = os.pipe()
    os.set_blocking(received, False)
    os.set_blocking(sent, False)
    before = signal.set_wakeup_fd(sent)  # the only trace of a signal that uvicorn's supervisor handles itself
    try:
        os.write(sent, b"\0")  # so that there is something to read
        uvicorn.run(app, workers=workers, **settings)
        if signal.SIGINT in os.read(received, 4096):
            raise KeyboardInterrupt
    finally:
        signal.set_wakeup_fd(before)
        os.close(received)
        os.close(sent)


def app() -> FastAPI:
    """The application of one server process, from the options that ``serve`` passed."""
    from heartfelt.web.app import create_app
    from heartfelt.web.security.signing import load_keys
    from heartfelt.web.study.background import BackgroundReader

    passed = json.loads(os.environ[_OPTIONS])
    folder = Path(passed.pop("folder"))
    options = ServeOptions(**passed)
    collection = Collection.open(folder, database=options.database)
    reader = BackgroundReader(collection, options.database)
    made = create_app(collection, web_options(options, load_keys(collection)), closes=True, reader=reader)
    # What is loaded now stays: collecting it as garbage again and again held raters up for a tenth of a second.
    gc.collect()
    gc.freeze()
    # A thousand requests in flight look like garbage that survives: the defaults search them through dozens of times a second.
    gc.set_threshold(50_000, 20, 100)
    return made


def check_port(host: str, port: int) -> None:
    """Report a port that is in use here, rather than in every process."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((host, port))
    except OSError as error:
        raise InputError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}.",
            "Stop what is using it, or give another --port or --host.",
        ) from error


def _logging() -> dict[str, object]:
    """Plain lines on standard error. The access log has no query strings: recruiters put people's ids there."""
    loggers = {name: {"handlers": ["err"], "level": "INFO"} for name in ("uvicorn", "heartfelt")}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
        "handlers": {
            "err": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}
        },
        "loggers": loggers,
    }


@contextmanager
def serve_in_thread(app: FastAPI, port: int = 0) -> Iterator[str]:
    """Serve ``app`` on the loopback address while the block runs, on any free port if it is 0; yields the address."""
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(
            app, host="127.0.0.1", port=port, log_level="warning", access_log=False, loop="asyncio"
        )
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + _PATIENCE
        while not server.started:
            if not thread.is_alive() or time.monotonic() > deadline:
                raise HeartfeltError("The server did not start.", "See its messages above.")
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(_PATIENCE)


@contextmanager
def preview(folder: Path, port: int = 0, progress: Progress | None = None) -> Iterator[str]:
    """Serve the study's pages on this machine while the block runs; yields the address. Nobody can log in.

    The store is temporary, and the study folder is not changed.
    """
    from heartfelt.web.app import create_app
    from heartfelt.web.study.preview import open_preview, preview_options

    opened = open_study(folder, progress)
    options = preview_options(secrets.token_bytes(32))
    with (
        tempfile.TemporaryDirectory(prefix="heartfelt-preview-", ignore_cleanup_errors=True) as temporary,
        open_preview(opened, Path(temporary)) as collection,
        serve_in_thread(create_app(collection, options), port) as address,
    ):
        yield address
