"""Waiting for another thread so that Ctrl-C is heard.

Some libraries handle the signal in a way that lets an endless wait go on; waiting in short turns does not depend on them.
"""

from __future__ import annotations

import queue
import time
from typing import TypeVar

T = TypeVar("T")
_TURN = 0.2


def waited(box: queue.SimpleQueue[T], seconds: float | None = None) -> T:
    """The next thing from ``box``; ``queue.Empty`` if nothing came within so many seconds."""
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        turn = _TURN if end is None else min(_TURN, end - time.monotonic())
        try:
            return box.get(timeout=max(0.0, turn))
        except queue.Empty:
            if end is not None and time.monotonic() >= end:
                raise
