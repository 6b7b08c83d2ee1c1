"""A text as a pattern can read it, with where each of its characters was: disguises come off, nothing of the original is lost."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_WRITTEN_OUT = re.compile(
    r"(?<=\w)\s*(?:[(\[{<]\s*(?:(?P<at>at|ät|@|골뱅이|艾特)|dot|punkt|punto|点|點|점|닷|\.)\s*[)\]}>]|(?P<other_at>골뱅이))\s*",
    re.IGNORECASE,
)
_JAMO = range(0x1160, 0x1200)
"""Vowels and final consonants that belong to the letter before them."""
_IDEOGRAPHIC_DOT = re.compile(r"(?<=[A-Za-z0-9])\s*[\u3002\uff61\u2024\u30fb]\s*(?=[A-Za-z0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalisedText:
    """The text that is searched, and the span of the original that each of its characters stands for."""

    text: str
    spans: tuple[tuple[int, int], ...]

    def original(self, start: int, stop: int) -> tuple[int, int]:
        """Where a stretch of the normalised text is in the original, with everything in between."""
        return self.spans[start][0], self.spans[stop - 1][1]


def normalise(text: str) -> NormalisedText:
    """NFKC, without characters that have no width, every space a space, and ``(at)`` and ``(dot)`` as ``@`` and a dot."""
    letters: list[str] = []
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        stop = start + 1
        while stop < len(text) and (unicodedata.combining(text[stop]) or ord(text[stop]) in _JAMO):
            stop += 1
        for letter in _normalised_cluster(text[start:stop]):
            letters.append(letter)
            spans.append((start, stop))
        start = stop
    normalised = "".join(letters)
    for pattern in (_WRITTEN_OUT, _IDEOGRAPHIC_DOT):
        normalised, spans = _replaced(pattern, normalised, spans)
    return NormalisedText(text=normalised, spans=tuple(spans))


def _normalised_cluster(cluster: str) -> str:
    if cluster.isascii():
        return " " if cluster in "\t\r\v\f" else cluster
    out = unicodedata.normalize("NFKC", cluster)
    visible = (letter for letter in out if unicodedata.category(letter) not in {"Cf", "Cc"} or letter == "\n")
    return "".join(" " if letter != "\n" and letter.isspace() else letter for letter in visible)


def _replaced(pattern: re.Pattern[str], text: str, spans: list[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """The text with ``@`` or a dot for every match; the sign stands for all that it replaces."""
    parts: list[str] = []
    out: list[tuple[int, int]] = []
    end = 0
    for match in pattern.finditer(text):
        is_at = any(match.groupdict().values())
        parts += [text[end : match.start()], "@" if is_at else "."]
        out += [*spans[end : match.start()], (spans[match.start()][0], spans[match.end() - 1][1])]
        end = match.end()
    return "".join([*parts, text[end:]]), [*out, *spans[end:]]
