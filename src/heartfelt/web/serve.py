"""A study's server: Uvicorn with one or several processes, each with the study's collection open."""

from __future__ import annotations

import gc
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from heartfelt.errors import InputError
from heartfelt.progress import Progress
from heartfelt.web.options import WebOptions

if TYPE_CHECKING:
    from fastapi import FastAPI

    from heartfelt.web.security.keys import Keys

_HANDED = "HEARTFELT_SERVE"


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Where and how to serve; handed to the server's processes, so nothing secret is here."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    prefix: str = ""
    url: str | None = None
    """The public address; gives the prefix and https."""
    proxy: str | None = None
    """Addresses of proxies whose forwarded headers are believed; none if left out."""
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
    """Find out whether the study can be served so, and make the keys it needs; ``progress`` hears of probed media."""
    from heartfelt.collect import Collection
    from heartfelt.web.rater.texts import check_languages
    from heartfelt.web.security.keys import keys_of

    with Collection.open(folder, database=options.database, progress=progress) as collection:
        check_languages(collection.study, collection.folder)
        keys = keys_of(collection)
    web_options(options, keys)
    _free(options)
    return keys


def serve(folder: Path, options: ServeOptions) -> None:
    """Serve a study that was prepared, until stopped."""
    import uvicorn

    os.environ[_HANDED] = json.dumps({"folder": str(folder.resolve()), **asdict(options)})
    uvicorn.run(
        "heartfelt.web.serve:app",
        factory=True,
        host=options.host,
        port=options.port,
        workers=options.workers if options.workers > 1 else None,
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


def app() -> FastAPI:
    """The application of one server process, from what ``serve`` handed over."""
    from heartfelt.collect import Collection
    from heartfelt.web.app import create_app
    from heartfelt.web.security.keys import keys_of
    from heartfelt.web.study.background import BackgroundReader

    handed = json.loads(os.environ[_HANDED])
    folder = Path(handed.pop("folder"))
    options = ServeOptions(**handed)
    collection = Collection.open(folder, database=options.database)
    reader = BackgroundReader(collection, options.database)
    made = create_app(collection, web_options(options, keys_of(collection)), closes=True, reader=reader)
    # What is there now stays: looking through it for garbage again and again held raters up for a tenth of a second.
    gc.collect()
    gc.freeze()
    return made


def _free(options: ServeOptions) -> None:
    """Say in words that the port is taken, rather than let every process find out."""
    import socket

    try:
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        with socket.socket(family) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((options.host, options.port))
    except OSError as error:
        raise InputError(
            f"Cannot listen on {options.host}:{options.port}: {error.strerror or error}.",
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
