"""Heavy reading away from the raters: figures, tables and exports in a separate process, at low priority.

The process opens the same store, follows its journal and never takes the lock that raters' answers wait for. It is
started with the first call, handles one at a time, and ends with the server. Without it (in tests) the same functions run
in the server's own threads.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from heartfelt.collect import Collection
from heartfelt.collect.messages.errors import StoreUnavailable
from heartfelt.errors import HeartfeltError
from heartfelt.failures import error_summary
from heartfelt.logs import configure_logging

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

P = ParamSpec("P")
R = TypeVar("R")
_NICE = 10
IDLE_SHARE = 5
"""After computing for a second figures rest for five, so that raters never wait for them."""
_log = logging.getLogger(__name__)


class ReaderFailed(Exception):
    """A bug in a figure or an export, which is in the log of the process that makes them."""


class Reader:
    """Calls functions with the collection, here and now."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def call(self, function: Callable[Concatenate[Collection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The result of ``function`` for the collection."""
        return function(self._collection, *args, **kwargs)

    def close(self) -> None:
        """Nothing is held."""


class BackgroundReader(Reader):
    """Calls functions of importable modules in another process, which opens the collection for itself."""

    def __init__(self, collection: Collection, database: str | None = None) -> None:
        super().__init__(collection)
        self._database = database
        self._lock = threading.Lock()
        self._worker: tuple[SpawnProcess, Connection[Any, Any]] | None = None

    def call(self, function: Callable[Concatenate[Collection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The result of ``function`` for the collection; an error of heartfelt's is raised as the same error."""
        with self._lock:
            try:
                pipe = self._started()
                pipe.send((function, args, kwargs))
                succeeded, answer = pipe.recv()
            except (OSError, EOFError, pickle.PickleError) as error:
                self._stop()
                raise StoreUnavailable(
                    f"The process for figures and exports has ended ({type(error).__name__}).",
                    "It is restarted with the next request; try again in a moment.",
                ) from error
        if succeeded:
            result: R = answer
            return result
        kind, words = answer
        raise kind(*words)

    def _started(self) -> Connection[Any, Any]:
        if self._worker is None or not self._worker[0].is_alive():
            self._stop()
            context = multiprocessing.get_context("spawn")
            pipe, theirs = context.Pipe()
            arguments = (theirs, self._collection.folder, self._database)
            process = context.Process(target=_serve, args=arguments, name="heartfelt-reader", daemon=True)
            process.start()
            theirs.close()
            self._worker = process, pipe
        return self._worker[1]

    def _stop(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            process, pipe = worker
            pipe.close()
            process.kill()
            process.join()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._stop()


def _serve(calls: Connection[Any, Any], folder: Path, database: str | None) -> None:
    """Handle calls until the pipe is closed."""
    configure_logging()
    with suppress(OSError):
        os.nice(_NICE)
    collection: Collection | None = None
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            function, args, kwargs = calls.recv()
            answer: tuple[bool, Any]
            try:
                if collection is None:
                    collection = Collection.watch(folder, database=database)
                answer = (True, function(collection, *args, **kwargs))
            except HeartfeltError as error:
                answer = (False, (type(error), (error.problem, error.fix)))
            except Exception as error:  # noqa: BLE001 - the edge of a process: the caller must get a reply
                _log.exception("heartfelt failed in %s", function.__name__)
                answer = (False, (ReaderFailed, (f"{function.__name__}: {error_summary(error)}",)))
            calls.send(answer)


def reader_of(request: HTTPConnection) -> Reader:
    """What computes figures and exports for the application that handles a request."""
    return cast(Reader, request.app.state.reader)
