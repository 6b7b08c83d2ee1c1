"""Published tables of valence and arousal norms: how each is cited, and on which terms it may be used.

An intent whose reference coordinates come from such a table names it under ``norms``; methods sections and releases then cite it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heartfelt.files import packaged_toml

if TYPE_CHECKING:
    from heartfelt.study.content import Intent


@dataclass(frozen=True, slots=True, kw_only=True)
class NormsTable:
    """A table of norms: its name in a sentence, its reference, and its terms; empty where they are not known."""

    name: str
    citation: str = ""
    licence: str = ""

    @property
    def words(self) -> str:
        terms = f"Terms of use: {self.licence}." if self.licence else "Terms of use: not known to heartfelt."
        return f"{self.citation or f'{self.name}.'} {terms}"


NORMS = {name: NormsTable(name=name, **terms) for name, terms in packaged_toml(__package__, "norms.toml").items()}
WARRINER, ANEW, NRC_VAD_1, NRC_VAD_2 = NORMS.values()


def norms_of(intents: Sequence[Intent]) -> tuple[NormsTable, ...]:
    """The tables that intents take their reference coordinates from, each once; one that is not listed has its name only."""
    names = dict.fromkeys(intent.norms for intent in intents if intent.norms)
    return tuple(NORMS.get(name, NormsTable(name=name)) for name in names)
