"""A server beside the program that uses it: in a thread, on a free port of this machine, gone when it is left."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from heartfelt.errors import HeartfeltError

if TYPE_CHECKING:
    from fastapi import FastAPI

_PATIENCE = 30.0


@contextmanager
def served(app: FastAPI, port: int = 0) -> Iterator[str]:
    """Serve ``app`` on the loopback address while the block runs, on any free port if it is 0; gives the address."""
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
                raise HeartfeltError("The server did not start.", "See what it printed above.")
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(_PATIENCE)
