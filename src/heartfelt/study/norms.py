"""Published tables of valence and arousal norms: how each is cited, and on which terms it may be used.

An intent whose reference coordinates come from such a table names it under ``norms``; methods sections and releases then cite it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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


_NRC_TERMS = "free for research with a citation; commercial use needs the authors' consent"
WARRINER = NormsTable(
    name="Warriner et al. (2013)",
    citation="Warriner, A. B., Kuperman, V., & Brysbaert, M. (2013). Norms of valence, arousal, and dominance for 13,915"
    " English lemmas. Behavior Research Methods, 45(4), 1191-1207.",
    licence="those of the article's supplement, from which you have your copy",
)
ANEW = NormsTable(
    name="ANEW (Bradley & Lang, 1999)",
    citation="Bradley, M. M., & Lang, P. J. (1999). Affective norms for English words (ANEW): Instruction manual and"
    " affective ratings. Technical Report C-1, University of Florida.",
    licence="those under which its authors gave you your copy",
)
NRC_VAD_1 = NormsTable(
    name="NRC VAD Lexicon 1 (Mohammad, 2018)",
    citation="Mohammad, S. M. (2018). Obtaining reliable human ratings of valence, arousal, and dominance for 20,000 English"
    " words. Proceedings of ACL 2018, 174-184.",
    licence=_NRC_TERMS,
)
NRC_VAD_2 = NormsTable(
    name="NRC VAD Lexicon 2 (Mohammad, 2025)",
    citation="Mohammad, S. M. (2025). NRC VAD Lexicon v2: Norms for valence, arousal, and dominance for over 55k English"
    " terms. arXiv:2503.23547.",
    licence=_NRC_TERMS,
)
NORMS = {table.name: table for table in (WARRINER, ANEW, NRC_VAD_1, NRC_VAD_2)}


def norms_of(intents: Sequence[Intent]) -> tuple[NormsTable, ...]:
    """The tables that intents take their reference coordinates from, each once; one that is not listed has its name only."""
    names = dict.fromkeys(intent.norms for intent in intents if intent.norms)
    return tuple(NORMS.get(name, NormsTable(name=name)) for name in names)
