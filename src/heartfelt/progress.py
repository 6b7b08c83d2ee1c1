"""The one form of a progress callback: long work calls it with what it is doing, the steps done and the steps in all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
