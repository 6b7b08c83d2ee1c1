"""A pattern that says where a kind of personal data is in a text, and the files that patterns are written in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from heartfelt.files import packaged_toml

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
Check: TypeAlias = Callable[[re.Match[str]], bool]
HAN = "\u4e00-\u9fff"
HANGUL = "\uac00-\ud7a3"
KANA = "\u3040-\u30ff"
_BOUNDS = {"before": "(?<![A-Za-z0-9])", "after": "(?![A-Za-z0-9])"}
"""No letter or digit next to it: unlike ``\\b`` that also ends a word of Chinese or Korean, written without spaces."""
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Finding:
    """Personal data in a text."""

    kind: Kind
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognitionRule:
    """Where a pattern fits and its check holds, its group ``who``, or all of it, is of this kind."""

    kind: Kind
    pattern: re.Pattern[str]
    is_valid: Check | None = None

    def findings(self, text: str) -> Iterator[Finding]:
        """Every place in a normalised text."""
        group = "who" if "who" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text):
            if match.span(group) != (-1, -1) and (self.is_valid is None or self.is_valid(match)):
                yield Finding(self.kind, *match.span(group))


class PatternFile:
    """A TOML file of ``patterns``: ``words`` (alternatives), ``sets``, ``fragments`` of patterns, and lists of rules.

    ``lists`` are further fragments, of another file. A rule names its check by a word of ``checks``.
    """

    def __init__(
        self, name: str, lists: Mapping[str, str] | None = None, checks: Mapping[str, Check] | None = None
    ) -> None:
        self._data = packaged_toml(__package__, f"patterns/{name}.toml")
        self._checks = checks or {}
        self.fragments = {"han": HAN, "hangul": HANGUL, "kana": KANA, **_BOUNDS, **(lists or {})}
        self.fragments |= {key: words(text) for key, text in self._data.get("words", {}).items()}
        for key, text in self._data["fragments"].items():
            self.fragments[key] = self._filled(text)

    def _filled(self, text: str) -> str:
        return _PLACEHOLDER.sub(lambda match: self.fragments[match[1]], text.replace("\n", ""))

    def pattern(self, fragment: str) -> re.Pattern[str]:
        return re.compile(self.fragments[fragment])

    def word_set(self, name: str) -> frozenset[str]:
        return frozenset(self._data["sets"][name].split())

    def rules(self, section: str = "rules") -> tuple[RecognitionRule, ...]:
        """The rules of a list, in its order: of findings that overlap the first counts."""
        return tuple(
            RecognitionRule(
                kind=rule["kind"],
                pattern=re.compile(self._filled(rule["pattern"])),
                is_valid=self._checks[rule["check"]] if "check" in rule else None,
            )
            for rule in self._data[section]
        )


def shown(match: re.Match[str]) -> str:
    """What a match is about: its group ``who``, or all of it."""
    return match["who"] if "who" in match.re.groupindex else match[0]


def words(text: str) -> str:
    """The alternatives of a pattern from words between spaces, the longest first."""
    return "|".join(map(re.escape, sorted(text.split(), key=len, reverse=True)))
