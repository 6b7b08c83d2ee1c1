"""Heavy reading away from the raters: figures, tables and exports in a separate process, at low priority.

The process opens the same store, follows its journal and never takes the lock that raters' answers wait for. It is
started with the first call, handles one at a time, and ends with the server. Without it (in tests) the same functions run
in the server's own threads.
"""

from __future__ import annotations

import logging
import os
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Concatenate, ParamSpec, TypeVar

from heartfelt.collect import Collection
from heartfelt.collect.errors import StoreUnavailable
from heartfelt.errors import HeartfeltError

P = ParamSpec("P")
R = TypeVar("R")
_NICE = 10
_LENGTH = struct.Struct(">Q")
_log = logging.getLogger("heartfelt.web")


class Reader:
    """Calls functions with the collection, here and now."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def call(self, function: Callable[Concatenate[Collection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What ``function`` gives for the collection."""
        return function(self._collection, *args, **kwargs)

    def close(self) -> None:
        """Nothing is held."""


class BackgroundReader(Reader):
    """Calls functions of importable modules in another process, which has the collection open for itself."""

    def __init__(self, collection: Collection, database: str | None = None) -> None:
        super().__init__(collection)
        self._database = database
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def call(self, function: Callable[Concatenate[Collection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What ``function`` gives for the collection; an error of heartfelt's comes back as the same error."""
        with self._lock:
            try:
                succeeded, answer = self._ask((function, args, kwargs))
            except (OSError, EOFError, ValueError, pickle.PickleError) as error:
                self._stop()
                raise StoreUnavailable(
                    f"The process for figures and exports has ended ({type(error).__name__}).",
                    "It is started again with the next request; try again in a moment.",
                ) from error
        if succeeded:
            result: R = answer
            return result
        kind, problem, fix = answer
        raise kind(problem, fix)

    def _ask(self, call: object) -> tuple[bool, Any]:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        send(process.stdin, call)
        succeeded, answer = receive(process.stdout)
        return succeeded, answer

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._stop()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "heartfelt.web.study.background"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
            assert self._process.stdin is not None
            # Over the pipe, since an address may hold a password.
            send(self._process.stdin, (str(self._collection.folder), self._database))
        return self._process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError):
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._stop()


def send(pipe: IO[bytes], content: object) -> None:
    """Write one message."""
    data = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """Read one message that :func:`send` wrote at the other end of the pipe."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (size,) = _LENGTH.unpack(head)
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


def main() -> None:
    """Handle calls until the pipe is closed."""
    calls, replies = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with suppress(OSError):
        os.nice(_NICE)
    folder, database = receive(calls)
    collection: Collection | None = None
    while True:
        try:
            function, args, kwargs = receive(calls)
        except (EOFError, KeyboardInterrupt):
            break
        answer: tuple[bool, Any]
        try:
            if collection is None:
                collection = Collection.watch(Path(folder), database=database)
            answer = (True, function(collection, *args, **kwargs))
        except HeartfeltError as error:
            answer = (False, (type(error), error.problem, error.fix))
        except Exception as error:  # noqa: BLE001 - the edge of a process: the caller must get a reply
            _log.exception("a figure or an export failed")
            words = f"{type(error).__name__}: {error}"
            answer = (
                False,
                (HeartfeltError, f"A figure or an export failed: {words}.", "See the server's log."),
            )
        send(replies, answer)


if __name__ == "__main__":
    main()
