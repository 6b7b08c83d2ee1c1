"""The last few thousand answers of something slow, by what it was asked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """Makes a thing when it is first asked for; the one that was not asked for longest goes when there are too many."""

    def __init__(self, most: int = 4_096) -> None:
        self._most = most
        self._things: OrderedDict[str, T] = OrderedDict()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """The thing under ``key``, made now if it is not there."""
        if key not in self._things:
            made = make()
            self._things[key] = made
            if len(self._things) > self._most:
                self._things.popitem(last=False)
            return made
        self._things.move_to_end(key)
        return self._things[key]
