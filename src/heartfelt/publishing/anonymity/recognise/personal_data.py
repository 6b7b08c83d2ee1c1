"""Personal data in what people typed: where in a text, and of which kind.

A text is normalised first (:mod:`.recognise.normalised`), so that a disguise hides nothing; what is found is given back as a
place in the original. Patterns have checks where the data have them, so that a long number in a caption is not taken for an
account.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import polars as pl

from heartfelt.publishing.anonymity.recognise.contacts import ADDRESSES, CONTACTS, EASTERN_ADDRESSES
from heartfelt.publishing.anonymity.recognise.names import EASTERN_NAMES, NAMES, listed_names
from heartfelt.publishing.anonymity.recognise.normalised import normalise
from heartfelt.publishing.anonymity.recognise.numbers import BIRTHDAYS, NUMBERS, phones
from heartfelt.publishing.anonymity.recognise.rule import HAN, HANGUL, KANA, Finding

_CJK = HAN + HANGUL + KANA
_UNSPACED = re.compile(f"[{_CJK}]")
_DIGIT = re.compile(r"\d")
_JOINED = re.compile(r"[\s,;.·/-]{0,3}")
"""What may stand between two parts of one address or name."""


def personal_data(text: str, names: Sequence[str] = (), regions: Sequence[str] = ()) -> list[Finding]:
    """Where a text holds personal data, from left to right; what overlaps is one finding, of the first kind that fits.

    ``names`` are ids of participants that the source knows, ``regions`` codes of the countries that raters named.
    """
    normalised = normalise(text)
    ids = (
        Finding("participant id", *match.span())
        for name in names
        for match in whole_word(name).finditer(normalised.text)
    )
    several = [*ids, *_all(normalised.text, regions)]
    return merged(
        text, (Finding(finding.kind, *normalised.original(finding.start, finding.stop)) for finding in several)
    )


def _all(text: str, regions: Sequence[str]) -> Iterator[Finding]:
    """What every rule finds; rules that need a digit or a Chinese, Korean or Japanese letter are tried only where there is one."""
    numbered, unspaced = _DIGIT.search(text) is not None, _UNSPACED.search(text) is not None
    tables = [CONTACTS, NUMBERS if numbered else (), BIRTHDAYS]
    later = [
        ADDRESSES if numbered else (), EASTERN_ADDRESSES if unspaced or numbered else (),
        NAMES, EASTERN_NAMES if unspaced else (),
    ]  # fmt: skip
    for recogniser in chain(*tables):
        yield from recogniser.findings(text)
    yield from phones(text, regions)
    for recogniser in chain(*later):
        yield from recogniser.findings(text)
    yield from listed_names(text)


def merged(text: str, findings: Iterable[Finding]) -> list[Finding]:
    """Findings that overlap, and parts of one address or name next to each other, as one of the kind that came first."""
    out: list[Finding] = []
    for finding in findings:
        touching = [earlier for earlier in out if _touch(text, earlier, finding)]
        first = touching[0] if touching else finding
        several = [finding, *touching]
        union = Finding(first.kind, min(part.start for part in several), max(part.stop for part in several))
        out = [*(earlier for earlier in out if earlier not in touching), union]
    return sorted(out, key=lambda result: result.start)


def _touch(text: str, first: Finding, second: Finding) -> bool:
    if first.start < second.stop and second.start < first.stop:
        return True
    between = text[min(first.stop, second.stop) : max(first.start, second.start)]
    return first.kind == second.kind == "postal address" and _JOINED.fullmatch(between) is not None


def whole_word(name: str) -> re.Pattern[str]:
    """A pattern for a text that is not part of a longer word, whatever its capitals; Chinese and Korean have no such bounds."""
    before = "" if _UNSPACED.match(name) else rf"(?<![^\W_{_CJK}])"
    after = "" if _UNSPACED.match(name[-1:]) else rf"(?![^\W_{_CJK}])"
    return re.compile(before + re.escape(name) + after, re.IGNORECASE)


def folded(text: str) -> str:
    """A text as it is compared: NFKC, in small letters, without characters that have no width."""
    return re.sub(r"[\u00ad\u200b-\u200f\u2060\ufeff]", "", unicodedata.normalize("NFKC", text)).lower()


def folded_texts(texts: pl.Series) -> pl.Series:
    """Every text of a column, :func:`folded`."""
    return texts.str.normalize("NFKC").str.replace_all(r"\p{Cf}", "").str.to_lowercase()


def redacted(text: str, findings: Iterable[Finding]) -> str:
    """The text with the kind of every finding in its place, as in ``[e-mail]``."""
    for finding in sorted(findings, key=lambda finding: -finding.start):
        text = f"{text[: finding.start]}[{finding.kind}]{text[finding.stop :]}"
    return text


def is_telling(name: str) -> bool:
    """Whether an id is unlikely to occur by chance: eight characters, or five with letters and digits."""
    mixed = any(letter.isdigit() for letter in name) and any(letter.isalpha() for letter in name)
    return len(name) >= (5 if mixed else 8)


def is_too_short(text: str) -> bool:
    """Whether a text could be anywhere by chance: fewer than five characters, or three where each is a syllable or a word."""
    return len(text) < (3 if all(map(_UNSPACED.match, text)) else 5)
