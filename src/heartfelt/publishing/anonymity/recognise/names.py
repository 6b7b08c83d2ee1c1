"""Names of people: where somebody introduces themselves or another person, and common names in the middle of a sentence.

A name is told from a word by what stands around it, by lists of very common names, and by capital letters. Names that no list has
and nothing introduces are not found; :mod:`heartfelt.publishing.anonymity.recognise.entities` asks a model.
The lists are written from general knowledge; none covers everybody, which docs/publishing.md says with figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from heartfelt.files import packaged_toml
from heartfelt.publishing.anonymity.recognise.rule import Finding, PatternFile, shown, words

_LISTS: dict[str, str] = packaged_toml(__package__, "patterns/common_names.toml")
_GIVEN_NAMES = frozenset(_LISTS["given_names"].split())
_WORDS_TOO = frozenset(_LISTS["words_too"].split())
"""Given names that are also words or months: somebody's only before a family name that is common."""
_AMBIGUOUS = _WORDS_TOO | frozenset(_LISTS["ambiguous"].split())
"""Given names that are also places, works or artists besides: alone they are nobody's, with a family name they are."""
_FAMILY = frozenset(_LISTS["family"].split())
_PUBLIC = frozenset(_LISTS["public"].split(", "))
"""Artists and figures that people compare with: such a name says nothing about who wrote the comment."""
_NOT_CHINESE_NAMES = frozenset(_LISTS["not_chinese_names"].split())
_NOT_KOREAN_NAMES = frozenset(_LISTS["not_korean_names"].split())
_KOREAN_TITLES = frozenset({"선생", "손님", "고객", "주인", "하나", "부모", "기사", "원장", "사장"})


def _is_name(match: re.Match[str]) -> bool:
    parts = shown(match).split()
    return parts[0] not in _NOT_NAMES and shown(match) not in _PUBLIC


def _is_given(match: re.Match[str]) -> bool:
    return all(part.title() in _GIVEN_NAMES or part.title() in _FAMILY for part in shown(match).split()[:1])


def _is_person(match: re.Match[str]) -> bool:
    return _is_name(match) and shown(match).split()[-1] not in _NOT_NAMES


def _is_chinese(match: re.Match[str]) -> bool:
    return not {shown(match), shown(match)[:2]} & _NOT_CHINESE_NAMES and not re.match(
        r"[大小]?(?:[的了吗])", shown(match)[1:]
    )


def _is_usual_chinese(match: re.Match[str]) -> bool:
    return _is_chinese(match) and shown(match)[1:] not in _NOT_CHINESE_NAMES


def _is_korean(match: re.Match[str]) -> bool:
    return shown(match) not in _NOT_KOREAN_NAMES


def _is_korean_alone(match: re.Match[str]) -> bool:
    """Not a verb: many are three syllables and ``하는`` or ``해`` at the end."""
    return _is_korean(match) and shown(match)[-1] not in "하해한되된"


_PATTERNS = PatternFile(
    "names",
    lists={**_LISTS, "japanese_family_words": words(_LISTS["japanese_family"])},
    checks={
        "name": _is_name,
        "person": _is_person,
        "given": _is_given,
        "given, and nothing else": lambda match: _is_given(match) and shown(match).title() not in _AMBIGUOUS,
        "person with a common or a full name": lambda match: (
            _is_person(match) and (_is_given(match) or " " in shown(match))
        ),
        "chinese": _is_chinese,
        "usual chinese": _is_usual_chinese,
        "korean": _is_korean,
        "korean alone": _is_korean_alone,
        "korean of three syllables": lambda match: _is_korean(match) and len(match["who"]) == 3,
        "korean, and no title": lambda match: _is_korean(match) and match["who"] not in _KOREAN_TITLES,
    },
)
NAMES, EASTERN_NAMES = _PATTERNS.rules(), _PATTERNS.rules("eastern_rules")
_NOT_NAMES, _NOT_BEFORE, _NOT_AFTER = map(_PATTERNS.word_set, ("not_names", "not_before", "not_after"))
_NAME = _PATTERNS.pattern("name")
_PARTS = _PATTERNS.pattern("parts")
# Titles, bands and things with a given name in them.
_WORKS = re.compile(rf"\b(?:{'|'.join(map(re.escape, dict.fromkeys(_LISTS['works'].split(', '))))})\b")


def listed_names(text: str) -> Iterator[Finding]:
    """Common given names with what follows, and common family names after a capital; not those of artists and figures."""
    works = [match.span() for match in _WORKS.finditer(text)]
    for match in _NAME.finditer(text):
        if any(start < match.end() and match.start() < stop for start, stop in works):
            continue
        words = list(_PARTS.finditer(match[0]))
        parts = [_without_genitive(word[0]) for word in words]
        public = _public_parts(parts)
        for first in (first for first in range(len(parts)) if first not in public):
            if length := _length(parts, first, match.start()):
                stop = words[first + length - 1].end() if length > 1 else words[first].start() + len(parts[first])
                yield Finding("name", match.start() + words[first].start(), match.start() + stop)
                break


def _public_parts(parts: Sequence[str]) -> set[int]:
    """Which words belong to the name, of two words or more, of an artist or figure."""
    spans = [(start, stop) for start in range(len(parts)) for stop in range(start + 2, len(parts) + 1)]
    return {at for start, stop in spans if " ".join(parts[start:stop]) in _PUBLIC for at in range(start, stop)}


def _without_genitive(word: str) -> str:
    """Without an English genitive, and ``Robert`` for ``ROBERT``."""
    word = re.sub(r"['’]s?$", "", word)
    return word.title() if word.isupper() and len(word) > 3 else word


def _length(parts: Sequence[str], first: int, start: int) -> int:
    """How many words from a place on are a person's name; none if it is not the beginning of one."""
    word, following = parts[first], parts[first + 1 :]
    if word in _NOT_NAMES or set(parts[first - 1 : first]) & _NOT_BEFORE or set(following[:1]) & _NOT_AFTER:
        return 0
    family = [part for part in following if part not in _NOT_NAMES]
    if word in _GIVEN_NAMES or ("-" in word and word.split("-")[0] in _GIVEN_NAMES):
        if family and (word not in _WORDS_TOO or family[0] in _FAMILY):
            return 1 + len(following)
        if word not in _AMBIGUOUS:
            return 1
    # A single common family name: something else stands before it, and it is not the first word of the text.
    is_family = len(following) == 1 and family == [following[0]] and following[0] in _FAMILY
    return 2 if is_family and len(word) > 2 and start + first > 0 else 0
