"""How much, how often: buckets that fill again with time, one a key, in bounded memory."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

MOST_KEYS = 50_000


class RateLimit:
    """So many a minute for each key, in bursts of up to a minute's worth. 0 is no limit.

    Each server process counts for itself.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> float:
        """Take one from the key's bucket: 0.0 if there was one, else the seconds until there will be."""
        if not self.per_minute:
            return 0.0
        left, now = self._left(key)
        wait = 0.0 if left >= 1.0 else (1.0 - left) * 60.0 / self.per_minute
        self._put(key, left - 1.0 if not wait else left, now)
        return wait

    def wait(self, key: str) -> float:
        """The seconds until the key's bucket has one again, without taking it; 0.0 if there is one now."""
        if not self.per_minute:
            return 0.0
        left, _ = self._left(key)
        return 0.0 if left >= 1.0 else (1.0 - left) * 60.0 / self.per_minute

    def give_back(self, key: str) -> None:
        """Put back what was taken for something that turned out not to count."""
        if self.per_minute:
            left, now = self._left(key)
            self._put(key, min(float(self.per_minute), left + 1.0), now)

    def _left(self, key: str) -> tuple[float, float]:
        now = self._clock()
        left, since = self._buckets.get(key, (float(self.per_minute), now))
        return min(float(self.per_minute), left + (now - since) * self.per_minute / 60.0), now

    def _put(self, key: str, left: float, now: float) -> None:
        self._buckets[key] = (left, now)
        self._buckets.move_to_end(key)
        while len(self._buckets) > MOST_KEYS:
            self._buckets.popitem(last=False)
