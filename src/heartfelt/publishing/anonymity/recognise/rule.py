"""A pattern that says where a kind of personal data is in a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "e-mail",
    "web address",
    "handle",
    "card number",
    "IBAN",
    "IP address",
    "phone number",
    "participant id",
    "id number",
    "date of birth",
    "postal address",
    "name",
]
HAN = "\u4e00-\u9fff"
HANGUL = "\uac00-\ud7a3"
KANA = "\u3040-\u30ff"
BEFORE = "(?<![A-Za-z0-9])"
"""No letter or digit before: unlike ``\\b`` it also ends a word of Chinese or Korean, which are written without spaces."""
AFTER = "(?![A-Za-z0-9])"


@dataclass(frozen=True, slots=True)
class Finding:
    """Personal data in a text."""

    kind: Kind
    start: int
    stop: int


def _always(_match: re.Match[str]) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognitionRule:
    """Where a pattern fits and its check holds, its group ``who``, or all of it, is of this kind."""

    kind: Kind
    pattern: re.Pattern[str]
    is_valid: Callable[[re.Match[str]], bool] = _always

    def findings(self, text: str) -> Iterator[Finding]:
        """Every place in a normalised text."""
        group = "who" if "who" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text):
            if match.span(group) != (-1, -1) and self.is_valid(match):
                yield Finding(self.kind, *match.span(group))


def rule(kind: Kind, pattern: str, is_valid: Callable[[re.Match[str]], bool] = _always) -> RecognitionRule:
    """A rule from the text of its pattern."""
    return RecognitionRule(kind=kind, pattern=re.compile(pattern), is_valid=is_valid)


def shown(match: re.Match[str]) -> str:
    """What a match is about: its group ``who``, or all of it."""
    return match["who"] if "who" in match.re.groupindex else match[0]


def words(text: str) -> str:
    """The alternatives of a pattern from words between spaces, the longest first."""
    return "|".join(map(re.escape, sorted(text.split(), key=len, reverse=True)))


def word_set(text: str, between: str = " ") -> frozenset[str]:
    """The words between spaces, or the names between commas."""
    return frozenset(text.split(between))
