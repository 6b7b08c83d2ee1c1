"""Logins that were ended: a cookie that was logged out opens nothing, in any process and after a restart.

A login cookie is signed and needs no table, so what is kept is the ones that were logged out, each until it would have
expired anyway. Other processes learn of a log-out within seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256

from heartfelt.collect import Collection
from heartfelt.errors import HeartfeltError

LOOK_SECONDS = 2.0
_NAME = "logged out "


class Logins:
    """Knows which logins were ended."""

    def __init__(self, collection: Collection, clock: Callable[[], float] = time.time) -> None:
        self._collection = collection
        self._clock = clock
        self._lock = threading.Lock()
        self._ended: dict[str, float] = {}
        self._looked = 0.0
        self._look()

    def end(self, session: str, seconds: int) -> None:
        """End a login for good; ``seconds`` is how long its cookie could live at most."""
        expires = self._clock() + seconds
        self._ended[_key(session)] = expires
        self._collection.set_value(_NAME + _key(session), f"{expires:.0f}")

    def ended(self, session: str) -> bool:
        """Whether a login was ended, as far as is known now. Never waits for the database."""
        if self._clock() - self._looked > LOOK_SECONDS:
            self._looked = self._clock()
            threading.Thread(target=self._look, name="heartfelt-logins", daemon=True).start()
        return _key(session) in self._ended

    def _look(self) -> None:
        """Take in what other processes ended."""
        # A store that is away is told to whoever asks it for something; here the next look comes soon enough.
        with self._lock, suppress(HeartfeltError):
            now = self._clock()
            known = self._collection.values_with_prefix(_NAME)
            found = {name.removeprefix(_NAME): float(value) for name, value in known.items()}
            self._ended |= {name: expires for name, expires in found.items() if expires > now}
            self._looked = now


def _key(session: str) -> str:
    return sha256(session.encode()).hexdigest()[:32]
