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
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from heartfelt.collect import Collection
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.formats.study_folder.manifest import open_study, require_media
from heartfelt.logs import LOG_VARIABLE, configure_logging
from heartfelt.progress import Progress
from heartfelt.web.requests.options import ServeOptions, WebOptions

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

    from heartfelt.web.security.signing import SigningKeys

_OPTIONS = "HEARTFELT_SERVE"
_PATIENCE = 30.0
_BACKLOG = 4096


def web_options(options: ServeOptions, keys: SigningKeys) -> WebOptions:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedServer:
    """A study that can be served: the port is taken, and one process serves the collection that was opened to check it."""

    folder: Path
    options: ServeOptions
    keys: SigningKeys
    listener: socket.socket
    collection: Collection | None
    """Open where one process serves; several open it for themselves."""
    missing_media: Sequence[str] = ()
    """Stimuli that are not assigned because their files are missing or unreadable."""
    accepted_media: Sequence[str] = ()
    """Rated stimuli whose new files were accepted as versions just now."""


def prepare(
    folder: Path, options: ServeOptions, progress: Progress | None = None, *, checks_media: bool = True
) -> PreparedServer:
    """Take the port, check that the study can be served, and make its keys; ``progress`` counts probed media."""
    from heartfelt.web.rater.texts import check_languages
    from heartfelt.web.security.signing import load_keys

    with ExitStack() as undone:
        listener = undone.enter_context(bind_port(options.host, options.port))
        with _no_garbage_collection():
            collection = undone.enter_context(Collection.open(folder, database=options.database, progress=progress))
        check_languages(collection.study, collection.folder)
        if checks_media:
            require_media(collection.opened)
        accepted = collection.check_media(accept=options.accept_media)
        keys = load_keys(collection)
        web_options(options, keys)
        undone.pop_all()
    if options.workers > 1:
        collection.close()
    return PreparedServer(
        folder=folder,
        options=options,
        keys=keys,
        listener=listener,
        collection=collection if options.workers == 1 else None,
        missing_media=tuple(name for name, _ in collection.missing_media),
        accepted_media=tuple(accepted),
    )


def serve(
    folder: Path, options: ServeOptions, prepared: PreparedServer | None = None, ready: Callable[[], None] | None = None
) -> None:
    """Serve a study until stopped; ``ready`` is called as soon as requests are answered.

    A study that was not prepared may be without media, as in simulations.
    """
    prepared = prepared or prepare(folder, options, checks_media=False)
    collection = prepared.collection
    served: FastAPI | str = "heartfelt.web.serving.serve:app"
    if collection is None:
        os.environ[_OPTIONS] = json.dumps({"folder": str(folder.resolve()), **asdict(options)})
    else:
        served = _study_app(collection, options, prepared.keys)
    run_server(
        served,
        options.workers,
        listener=prepared.listener,
        ready=ready,
        factory=collection is None,
        loop="uvloop",
        proxy_headers=options.proxy is not None,
        forwarded_allow_ips=options.proxy,
        access_log=False,
        server_header=False,
        log_config=_logging(),
        timeout_graceful_shutdown=3,
    )


def run_server(
    app: FastAPI | str,
    workers: int = 1,
    *,
    listener: socket.socket,
    ready: Callable[[], None] | None = None,
    **settings: Any,
) -> None:
    """Serve on a bound socket until stopped. Ctrl-C is raised as in any other command; ``uvicorn.run`` swallows it.

    ``ready`` is called as soon as the server answers.
    """
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from heartfelt.web.requests.connections import GuardedProtocol, raise_file_limit

    raise_file_limit()
    host, port = listener.getsockname()[:2]
    try:
        listener.listen(_BACKLOG)
    except OSError as error:  # somebody else began to listen while the study was opened
        raise port_taken(host, port, error) from error
    config = uvicorn.Config(app, workers=workers, http=GuardedProtocol, backlog=_BACKLOG, **settings)
    if workers == 1:
        server = _announcing(uvicorn.Server(config), ready)
        server.run(sockets=[listener])
        if not server.started:
            raise HeartfeltError("The server did not start.", "See its messages above.")
        return
    if ready is not None:
        threading.Thread(target=_call_when_answering, args=(host, port, ready), daemon=True).start()
    received, sent = os.pipe()
    os.set_blocking(received, False)
    os.set_blocking(sent, False)
    before = signal.set_wakeup_fd(sent)  # the only trace of a signal that uvicorn's supervisor handles itself
    try:
        os.write(sent, b"\0")  # so that there is something to read
        Multiprocess(config, [listener]).run()
        if signal.SIGINT in os.read(received, 4096):
            raise KeyboardInterrupt
    finally:
        signal.set_wakeup_fd(before)
        os.close(received)
        os.close(sent)
        listener.close()


def _announcing(server: uvicorn.Server, ready: Callable[[], None] | None) -> uvicorn.Server:
    """The server, which calls ``ready`` when it has started."""
    started = server.startup

    async def startup(sockets: list[socket.socket] | None = None) -> None:
        await started(sockets)
        if ready is not None and server.started:
            ready()

    server.startup = startup  # type: ignore[method-assign]  # uvicorn has no hook for it
    return server


def _call_when_answering(host: str, port: int, ready: Callable[[], None]) -> None:
    """Call ``ready`` as soon as one of several server processes answers a request."""
    local_host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    while True:
        connection = HTTPConnection(local_host, port, timeout=_PATIENCE)
        with suppress(OSError, HTTPException):
            connection.request("GET", "/health")
            connection.getresponse().close()
            ready()
            return
        time.sleep(0.2)


def app() -> FastAPI:
    """The application of one of several server processes, from the options that ``serve`` passed."""
    from heartfelt.web.security.signing import load_keys

    configure_logging()
    passed = json.loads(os.environ[_OPTIONS])
    folder = Path(passed.pop("folder"))
    options = ServeOptions(**passed)
    with _no_garbage_collection():
        collection = Collection.open(folder, database=options.database)
    return _study_app(collection, options, load_keys(collection))


def _study_app(collection: Collection, options: ServeOptions, keys: SigningKeys) -> FastAPI:
    from heartfelt.web.serving.app import create_app
    from heartfelt.web.study.background import BackgroundReader

    reader = BackgroundReader(collection, options.database)
    return create_app(collection, web_options(options, keys), closes=True, reader=reader)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Nothing is collected while millions of objects are made, and what was loaded is never looked through again.

    Looking through it while the study is opened took a fifth of the time, and later held raters up for a tenth of a second.
    """
    gc.collect()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        # A thousand requests in flight look like garbage that survives: the defaults search them through dozens of times a second.
        gc.set_threshold(50_000, 20, 100)
        gc.enable()


def bind_port(host: str, port: int) -> socket.socket:
    """A socket that is bound to a port but does not listen yet; an error in words where the port is in use."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise port_taken(host, port, error) from error
    return listener


def port_taken(host: str, port: int, error: OSError) -> InputError:
    """The error for a port that cannot be listened on."""
    return InputError(
        f"Cannot listen on {host}:{port}: {error.strerror or error}.",
        "Stop what is using it, or give another --port or --host.",
    )


def _logging() -> dict[str, object]:
    """Plain lines on standard error, where HEARTFELT_LOG says nothing else.

    The access log has no query strings: recruiters put people's ids there.
    """
    ours = () if os.environ.get(LOG_VARIABLE) else ("heartfelt",)
    loggers = {name: {"handlers": ["err"], "level": "INFO"} for name in ("uvicorn", *ours)}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
        "handlers": {"err": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}},
        "loggers": loggers,
    }


@contextmanager
def serve_in_thread(app: FastAPI, port: int = 0) -> Iterator[str]:
    """Serve ``app`` on the loopback address while the block runs, on any free port if it is 0; yields the address."""
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", access_log=False, loop="asyncio")
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
    from heartfelt.web.serving.app import create_app
    from heartfelt.web.study.preview import open_preview, preview_options

    opened = open_study(folder, progress)
    require_media(opened)
    options = preview_options(secrets.token_bytes(32))
    with (
        tempfile.TemporaryDirectory(prefix="heartfelt-preview-", ignore_cleanup_errors=True) as temporary,
        open_preview(opened, Path(temporary)) as collection,
        serve_in_thread(create_app(collection, options), port) as address,
    ):
        yield address
