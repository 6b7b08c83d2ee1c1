"""Tokens for programs: shown once, kept as hashes, revocable, expiring."""

from __future__ import annotations

import hmac
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import sha256

from heartfelt.collect import Collection
from heartfelt.errors import InputError, UnknownNameError

DAYS = 365
_LIST = "tokens"
_REVOKED = ""


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token."""

    id: str
    name: str
    hash: str
    made: float
    expires: float


@dataclass(frozen=True, slots=True)
class MadeToken:
    """A new token; its text is nowhere else."""

    kept: Token
    token: str


class Tokens:
    """The tokens of a study. One opens something while it is listed and its own entry is not revoked.

    Two processes that write the list at once can lose a new token, which then opens nothing; they can never bring back
    a revoked one.
    """

    def __init__(self, collection: Collection, clock: Callable[[], float] = time.time) -> None:
        self._collection = collection
        self._clock = clock

    def make(self, name: str, days: int = DAYS) -> MadeToken:
        """A new token under a name a person will know it by."""
        if not name.strip() or len(name) > 100:
            raise InputError(
                "A token needs a name of 1 to 100 characters.", "Name the program that will use it."
            )
        plain, now = secrets.token_urlsafe(32), self._clock()
        kept = Token(secrets.token_hex(4), name.strip(), _hash(plain), now, now + days * 86400)
        self._collection.set_value(_entry(kept.id), json.dumps(asdict(kept)))
        self._collection.set_value(_LIST, json.dumps([*(one.id for one in self.all()), kept.id]))
        return MadeToken(kept, f"hf_{kept.id}_{plain}")

    def all(self) -> list[Token]:
        """Every token that works, oldest first."""
        found = [self._one(id) for id in self._ids()]
        return [one for one in found if one is not None and one.expires > self._clock()]

    def revoke(self, id: str) -> None:
        """Make a token worthless."""
        if id not in {one.id for one in self.all()}:
            raise UnknownNameError("There is no such token.", "See the list of tokens for their ids.")
        self._collection.set_value(_entry(id), _REVOKED)

    def holder(self, text: str) -> Token | None:
        """The token a text is, if it is one and still works."""
        mark, _, rest = text.partition("_")
        id, _, plain = rest.partition("_")
        if mark != "hf" or not plain or len(text) > 200 or id not in self._ids():
            return None
        found = self._one(id)
        if found is None or found.expires <= self._clock():
            return None
        return found if hmac.compare_digest(found.hash, _hash(plain)) else None

    def _ids(self) -> list[str]:
        return [str(id) for id in json.loads(self._collection.value(_LIST) or "[]")]

    def _one(self, id: str) -> Token | None:
        text = self._collection.value(_entry(id))
        return Token(**json.loads(text)) if text else None


def _entry(id: str) -> str:
    return f"token {id}"


def _hash(plain: str) -> str:
    return sha256(plain.encode()).hexdigest()
