"""Ports for servers that are started as a command and cannot be asked which port they were given."""

from __future__ import annotations

import os
import re
import socket
from itertools import count

_WORKER = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0)
_next = count(20_000 + 400 * (_WORKER % 30) + os.getpid() % 200)


def free_port() -> int:
    """A port below those that the system gives to others meanwhile, and that no other worker of this run tries."""
    for port in _next:
        with socket.socket() as trial:
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")
