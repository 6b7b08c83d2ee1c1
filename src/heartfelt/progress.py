"""The one form of a progress callback: long work calls it with what it is doing, the steps done and the steps in all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]


def no_progress(_doing: str, _done: int, _total: int) -> None:
    """Shows nothing."""
