"""The one form of a progress callback: long work calls it with what it is doing, the steps done and the steps in all.

Where nobody knows how many steps there are in all, that number is 0. What stands after a colon in the words says more about the
same work: ``analysing: reliability`` and ``analysing: effects`` are one line on a screen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]


def no_progress(_doing: str, _done: int, _total: int) -> None:
    """Shows nothing."""
