"""How alike two answers on a scale are, as texts: 1 for the same, 0 for nothing in common.

Numbers by their distance as a share of the scale's range, or of the larger of the two where it has none; ordered categories
by their codes likewise; other categories are the same or not; tags and words by the Jaccard index of the two sets. "None"
is an empty set, and like no number and no category.
"""

from __future__ import annotations

import re
import unicodedata

from heartfelt.errors import InputError
from heartfelt.study.scales.answer import NONE, Scale
from heartfelt.study.scales.scale import HAN, Tags

_WORD = re.compile(rf"[{HAN}]|[^\W_{HAN}]+")
DIFFERENT_NUMBERS = 0.8
DIFFERENT_SETS = 0.5
"""Two answers are clearly different where they are at most this similar."""


def similarity(scale: Scale, answer: str, compared: str) -> float:
    """From 0 to 1. An answer that is not on the scale is alike only to itself."""
    if answer == compared:
        return 1.0
    if scale.level == "text":
        ours, theirs = (members(scale, text) for text in (answer, compared))
        together = len(ours | theirs)
        return len(ours & theirs) / together if together else 1.0
    try:
        (first, _), (second, _) = scale.read(answer), scale.read(compared)
    except InputError:
        return 0.0
    return _closeness(scale, first, second)


def _closeness(scale: Scale, first: float | None, second: float | None) -> float:
    if first is None or second is None or scale.level == "nominal":
        return float(first is not None and first == second)
    bounds = scale.bounds()
    span = bounds[1] - bounds[0] if bounds is not None else max(abs(first), abs(second))
    return max(0.0, 1.0 - abs(first - second) / span) if span > 0 else 1.0


def clearly_different(scale: Scale, answer: str, compared: str) -> bool:
    """Whether nobody who looks could take one answer for the other; words that mean the same cannot be recognised."""
    limit = DIFFERENT_NUMBERS if scale.level in {"interval", "ordinal"} else DIFFERENT_SETS
    return similarity(scale, answer, compared) <= limit


def members(scale: Scale, text: str) -> set[str]:
    """The tags, or the words of a text, that an answer names; none for "none"."""
    if text == NONE:
        return set()
    folded = unicodedata.normalize("NFKC", text).casefold()
    if isinstance(scale, Tags):
        return {part.strip() for part in folded.split(scale.separator) if part.strip()}
    return set(_WORD.findall(folded))
