"""One transaction in the making: facts that are taken into the state at once, and rows to be stored with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from heartfelt.collect.assign import Fact, State
from heartfelt.collect.assign.rater import Rater
from heartfelt.collect.commands import Settings
from heartfelt.collect.errors import UnknownRater
from heartfelt.collect.material import Material
from heartfelt.collect.options import CollectOptions

_LONGEST = 20_000
_LARGEST = 2**31 - 1


@dataclass(slots=True)
class Context:
    """What stays the same from one transaction to the next."""

    material: Material
    options: CollectOptions
    secret: bytes
    version: int
    rng: Random
    persons: dict[str, str]
    """Rater ids by the hash of their recruiter's id."""
    languages: dict[str, str]
    """The language each rater came in, by their id."""
    invitations: set[str]
    """Invitations that are known to exist."""
    new_id: Callable[[], str]
    sessions: dict[str, frozenset[str]] = field(default_factory=dict)
    """Hashes of the recruiter's own sessions of each rater, by the rater's id."""
    turned_down: dict[str, None] = field(default_factory=dict)
    """Random ids of the last people who did not agree, so that a reload shows them the same page. Never stored."""


@dataclass(slots=True)
class Work:
    """What the commands of one transaction have come to so far."""

    context: Context
    state: State
    now: float
    facts: list[Fact] = field(default_factory=list)
    rows: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    """Rows to be stored, each with its table's name."""
    changes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """The few statements that are no insertions, with their values; they come after the rows."""
    first: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Statements that come before the rows."""

    def tell(
        self,
        kind: str,
        rater: int | None = None,
        trial: int | None = None,
        unit: int | None = None,
        number: float | None = None,
        words: str | None = None,
    ) -> int:
        """Let something have happened; answers with its number in the journal."""
        fact = Fact(self.state.seq + 1, self.now, kind, rater, trial, unit, number, words)
        self.state.apply(fact)
        self.facts.append(fact)
        return fact.seq

    def store(self, table: str, *values: Any) -> None:
        """Store a row, its values in the order of the table's columns."""
        self.rows.append((table, values))

    def rater(self, name: str) -> Rater:
        """The rater of that id."""
        rater = self.state.by_id.get(name)
        if rater is None:
            raise UnknownRater(
                "This study does not know you.", "Open the link you were given again, from its beginning."
            )
        return rater

    def settings(self) -> Settings:
        """The settings as they are now."""
        return settings_of(self.state)

    def mark(self) -> tuple[int, int, int, int]:
        """Where the transaction stands, to come back to if a command fails."""
        return len(self.facts), len(self.rows), len(self.changes), len(self.first)

    def back_to(self, mark: tuple[int, int, int, int]) -> None:
        """Forget the facts and rows after ``mark``; the state has to be made again."""
        del self.facts[mark[0] :], self.rows[mark[1] :], self.changes[mark[2] :], self.first[mark[3] :]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to store."""
        return not self.facts and not self.rows and not self.changes


def settings_of(state: State) -> Settings:
    """The settings of a state; what else is kept among them is left out."""
    known = Settings.__dataclass_fields__
    return Settings(**{name: value for name, value in state.settings.items() if name in known})


def clean(text: str | None, longest: int = _LONGEST) -> str | None:
    """Text that every database takes: no zero bytes, no half characters, not endless."""
    if text is None or (type(text) is str and len(text) <= longest and text.isalnum() and text.isascii()):
        return text
    return str(text)[:longest].encode("utf-8", "replace").decode().replace("\x00", "")


def plain_json(content: Any, longest: int = _LONGEST) -> str:
    """Small plain data as JSON text; what is too large or no plain data becomes a note of that."""
    try:
        text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        return json.dumps({"dropped": "not plain data"})
    return text.replace("\\u0000", "") if len(text) <= longest else json.dumps({"dropped": "too long"})


def seconds(value: Any) -> float | None:
    """A duration or a moment that is a finite number, else nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e15 else None


def counted(value: Any) -> int:
    """A count that fits the database."""
    return max(0, min(int(value), _LARGEST)) if isinstance(value, int | float) and abs(value) < 1e15 else 0
