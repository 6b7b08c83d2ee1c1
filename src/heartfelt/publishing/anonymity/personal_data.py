"""Personal data in what people typed: where in a text, and of which kind.

Patterns with checksums where the data have them (cards: Luhn; IBAN: ISO 13616), so that a long number in a caption is not taken for
an account. Names are recognised only where a person introduces themselves; nothing else can tell a name from a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal[
    "e-mail",
    "web address",
    "handle",
    "card number",
    "IBAN",
    "IP address",
    "phone number",
    "participant id",
    "postal address",
    "name",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """Personal data in a text."""

    kind: Kind
    start: int
    stop: int


def _luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _is_card(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    return 13 <= len(digits) <= 19 and digits[0] in "23456" and len(set(digits)) > 1 and _luhn(digits)


def _is_iban(text: str) -> bool:
    plain = re.sub(r"[\s-]", "", text).upper()
    if not 15 <= len(plain) <= 34:
        return False
    number = "".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])
    return int(number) % 97 == 1


def _is_address(text: str) -> bool:
    for kind in (IPv4Address, IPv6Address):
        try:
            kind(text)
        except AddressValueError:
            continue
        return True
    return False


def _is_phone(text: str) -> bool:
    """Seven to fifteen digits in the groups people write, or fewer after a plus; not dates, years, lists of marks or times."""
    digits = re.sub(r"\D", "", text)
    if not 7 <= len(digits) <= 15 or len(set(digits)) < 3:
        return False
    if re.fullmatch(
        r"(?:19|20)\d\d[-/. ]\d{1,2}[-/. ]\d{1,2}|\d{1,2}[-/. ]\d{1,2}[-/. ](?:19|20)\d\d", text.strip()
    ):
        return False
    if re.fullmatch(r"(?:19|20)\d\d\s?[-–—/]\s?(?:19|20)\d\d", text.strip()):
        return False
    groups = re.findall(r"\d+", text)
    if text.startswith(("+", "00")) or "(" in text or re.fullmatch(r"0\d(?:[ .-]\d\d){4}", text):
        return True
    if len(groups) == 1:
        return text[0] == "0" or len(digits) in (10, 11)
    if (len(groups[0]) == 1 and len(digits) < 10) or re.fullmatch(r"\d+[.,]\d+", text):
        return False
    return max(map(len, groups)) >= 3 and min(map(len, groups[1:])) >= 2 and len(groups) <= 6


def _always(_text: str) -> bool:
    return True


def _has_digit(text: str) -> bool:
    return any(letter.isdigit() for letter in text)


_CAPITAL = "A-ZÀ-ÖØ-ÞĀ-ŽА-ЯЁΑ-Ω"
_BETWEEN = "van|von|de|del|della|di|da|dos|bin|al|el|la|le|ter|der"
_NAME = rf"[{_CAPITAL}][\w'’-]+(?:\s+(?:(?:{_BETWEEN})\s+)*[{_CAPITAL}][\w'’-]+){{0,3}}"
_INTRODUCED = (
    r"\b(?i:my (?:full |first |last |real )?name(?:'s|’s|:| is)|name:|the name's|call me|people call me|they call me|signed,?|"
    r"(?:kind |best |warm )?regards,?|yours sincerely,?|ich heiße|ich heisse|mein name ist|je m['’]appelle|mon nom est|"
    r"me llamo|mi nombre es|mi chiamo|il mio nome è|meu nome é|me chamo|chamo-me|mijn naam is|ik heet|jag heter|mitt namn är|"
    r"jeg heter|jeg hedder|mit navn er|nimeni on|nazywam się|mam na imię|меня зовут|моё имя|мое имя|benim adım|adım)\s+"
)
_I_AM = r"\b(?:I am|I['’]m|[Ii]ch bin|[Jj]e suis|[Ss]oy|[Ss]ono|[Ss]ou|[Ii]k ben|[Jj]ag är|Я)\s+"
_THEN = r"(?=\s*(?:[,.!;]|$|(?:and|from|und|aus|et|de|y|e)\b))"
_NOT_NAMES = frozenset(
    re.split(
        " ",
        "I It The This That A An And But So Very Not Sad Happy Angry Calm Tired Bored Afraid Relaxed Excited Neutral German French"
        " Spanish English American British Italian Korean Chinese Japanese Indian Christian Catholic Muslim Jewish Buddhist Hindu"
        " None Sorry Sure Still Just Really Too Also Here Now Music Male Female",
    )
)
_DOMAINS = "com|org|net|edu|gov|io|me|co\\.uk|de|fr|kr|jp|cn|ru|it|es|nl|ch|tv|gg"
_MAIL_DOMAINS = "com|org|net|edu|de|uk|fr|it|es|nl|kr|jp|cn|ru|io|ch|at|se|no|dk|fi|pl|br|in|ac"
_SERVICES = "insta(?:gram)?|snap(?:chat)?|telegram|discord|whatsapp|tik ?tok|twitter|wechat|kakao ?(?:talk)?|line id|skype"
_ROADS = "street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|court|square|terrace"
_ROADS_AFTER = "straße|strasse|str\\.|weg|gasse|platz|allee"
_ROADS_BEFORE = "rue|avenue|via|viale|calle|avenida|plaza|rua|ul\\.|ulica|улица|ул\\."
_ASIAN_NAME = r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3A-Za-z]{2,6}"


def _is_name(text: str) -> bool:
    return text.split()[0] not in _NOT_NAMES


class _Pattern(NamedTuple):
    kind: Kind
    pattern: re.Pattern[str]
    is_valid: Callable[[str], bool] = _always
    needs: str = ""
    """Characters of which a text must have one, which saves the search in most texts."""


_DIGITS = "0123456789"
_PATTERNS = (
    _Pattern(
        "e-mail", re.compile(r"[\w.+%-]+\s?[@＠]\s?[\w-]+(?:\s?\.\s?[\w-]+)*\s?\.\s?[^\W\d]{2,}"), needs="@＠"
    ),
    _Pattern(
        "e-mail",
        re.compile(
            r"(?i)\b[\w.+-]+\s*(?:[(\[{]at[)\]}]\s*[\w-]+\s*(?:[(\[{]dot[)\]}]|\sdot\s|\.)|\sat\s[\w-]+\s*(?:[(\[{]dot[)\]}]|\sdot\s))\s*"
            rf"(?:{_MAIL_DOMAINS})\b"
        ),
    ),
    _Pattern("web address", re.compile(r"(?i)\b(?:https?://|www\.)[^\s<>\"']+"), needs="./"),
    _Pattern(
        "web address", re.compile(rf"(?i)\b(?:[a-z0-9-]+\.)+(?:{_DOMAINS})(?:/[^\s<>\"']*)?\b"), needs="."
    ),
    _Pattern("IBAN", re.compile(r"(?i)\b[A-Z]{2}\d{2}[A-Z0-9]{11,30}\b"), _is_iban, _DIGITS),
    _Pattern(
        "IBAN",
        re.compile(r"\b[A-Z]{2}\d{2}(?:[ -][A-Z0-9]{4}){2,7}(?:[ -][A-Z0-9]{1,3})?\b"),
        _is_iban,
        _DIGITS,
    ),
    _Pattern("card number", re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])"), _is_card, _DIGITS),
    _Pattern(
        "IP address", re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]*\d)"), _is_address, _DIGITS
    ),
    _Pattern(
        "IP address",
        re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{0,4}(?![\w:])"),
        _is_address,
        ":",
    ),
    _Pattern("participant id", re.compile(r"\b[0-9a-f]{24}\b"), _has_digit, _DIGITS),
    _Pattern("participant id", re.compile(r"\bA[0-9A-Z]{11,13}\b"), _has_digit, _DIGITS),
    _Pattern(
        "phone number",
        re.compile(r"(?<![\w.,+])(?:\+|00)?\(?\d(?:[\d\s()./–-]{5,20})\d(?![\w%]|[.,]\d)"),
        _is_phone,
        _DIGITS,
    ),
    _Pattern("handle", re.compile(r"(?<![\w@/])[@＠][A-Za-z_][\w.]{2,29}\b"), needs="@＠"),
    _Pattern(
        "handle",
        re.compile(
            rf"(?i)\b(?:{_SERVICES})\s*(?:id|handle|name|user|account)?\s*(?:is|:|=|-)\s*(?P<who>[\w.#@-]{{3,40}})"
        ),
    ),
    _Pattern(
        "postal address",
        re.compile(rf"(?i)\b\d{{1,5}}[a-z]?,?\s+(?:[\w'’.-]+\s+){{1,4}}(?:{_ROADS})\b\.?"),
        needs=_DIGITS,
    ),
    _Pattern(
        "postal address",
        re.compile(
            rf"(?i)\b(?:[\w'’.-]+\s?(?:{_ROADS_AFTER})|(?:{_ROADS_BEFORE})\s+(?:[\w'’.-]+\s+){{0,3}}[\w'’.-]+),?\s+\d{{1,4}}\s?[a-z]?\b"
        ),
        needs=_DIGITS,
    ),
    _Pattern(
        "postal address",
        re.compile(
            r"(?i)\b\d{1,4},?\s+(?:rue|avenue|boulevard|place|chemin)\s+(?:de\s+|du\s+|des\s+|la\s+)*[\w'’-]+"
        ),
        needs=_DIGITS,
    ),
    _Pattern("name", re.compile(rf"{_INTRODUCED}(?P<who>{_NAME})"), _is_name),
    _Pattern("name", re.compile(rf"{_I_AM}(?P<who>{_NAME}){_THEN}"), _is_name),
    _Pattern(
        "name",
        re.compile(
            rf"(?:我叫|我的名字是|我名叫|私の名前は|名前は|제 ?이름은|이름은)\s*(?P<who>{_ASIAN_NAME})"
        ),
    ),
)


def personal_data(text: str, known: Sequence[str] = ()) -> list[Finding]:
    """Where a text holds personal data, from left to right; what overlaps is reported once, as the first kind that fits.

    ``known`` are ids of participants that the source knows.
    """
    out: list[Finding] = []
    for finding in _all(text, known):
        if not any(finding.start < other.stop and other.start < finding.stop for other in out):
            out.append(finding)
    return sorted(out, key=lambda each: each.start)


def _all(text: str, known: Sequence[str]) -> Iterator[Finding]:
    for name in sorted(known, key=len, reverse=True):
        yield from (Finding("participant id", *match.span()) for match in whole_word(name).finditer(text))
    for each in _PATTERNS:
        if each.needs and not any(letter in text for letter in each.needs):
            continue
        group = "who" if "who" in each.pattern.groupindex else 0
        for match in each.pattern.finditer(text):
            if each.is_valid(match[group]):
                yield Finding(each.kind, *match.span(group))


def whole_word(name: str) -> re.Pattern[str]:
    """A pattern for an id that is not part of a longer word."""
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def redacted(text: str, findings: Iterable[Finding]) -> str:
    """The text with the kind of every finding in its place, as in ``[e-mail]``."""
    for each in sorted(findings, key=lambda each: -each.start):
        text = f"{text[: each.start]}[{each.kind}]{text[each.stop :]}"
    return text


def is_telling(name: str) -> bool:
    """Whether an id is unlikely to occur by chance: eight characters, or five with letters and digits."""
    mixed = _has_digit(name) and any(letter.isalpha() for letter in name)
    return len(name) >= (5 if mixed else 8)
