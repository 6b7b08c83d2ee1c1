"""The commands of senior raters and about them; see :mod:`heartfelt.collect.messages.commands`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from heartfelt.collect.messages.commands import Command

R = TypeVar("R", covariant=True)


@dataclass(frozen=True, slots=True)
class AddAdjudicator(Command[str]):
    """Admit a senior rater; the result is their id, to be signed into a link. The note is for the researcher."""

    note: str | None = None


@dataclass(frozen=True, slots=True)
class AdjudicatorCommand(Command[R]):
    """A command that concerns one senior rater, by itself: whether they are admitted now."""

    adjudicator: str


class CheckAdjudicator(AdjudicatorCommand[None]):
    """Raise if the senior rater is unknown or was revoked."""


class RevokeAdjudicator(AdjudicatorCommand[None]):
    """Make a senior rater's link invalid; their decisions stay."""


class EraseAdjudicator(AdjudicatorCommand[None]):
    """Delete a senior rater and their decisions; the items wait again."""


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A decision as it was stored: its number is that of its event in the journal."""

    seq: int
    status: Literal["stored", "already"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjudicate(AdjudicatorCommand[StoredDecision]):
    """A senior rater decides an item. An earlier decision stays in the history; the latest one is final."""

    stimulus: str
    question: str
    value: Any
    key: str
    """Made by the client: the same key is the same decision, sent again."""
    seen: int
    """The number of the latest change when the item was shown: a decision made since then is not overwritten."""
    rule: str
    """The rules that selected the item, separated by commas."""
    trials: tuple[int, ...] = ()
    """The trials whose answers were shown."""
    draft: str | None = None
    """The machine's draft that was shown among them."""
    comment: str | None = None
