"""Numbers and dates that stand for one person: phones, cards, accounts, ids of people and of participants, days of birth."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from heartfelt.publishing.anonymity.recognise.checksums import (
    digits_of,
    is_card,
    is_chinese_id,
    is_german_tax_id,
    is_iban,
    is_korean_id,
)
from heartfelt.publishing.anonymity.recognise.rule import Check, Finding, PatternFile, shown

REGIONS = ("CN", "KR", "JP", "DE", "AT", "CH", "US", "GB", "FR", "IT", "ES", "NL", "IN")
"""Countries whose way to write a number is always tried."""


def _has_digit(match: re.Match[str]) -> bool:
    return any(letter.isdigit() for letter in shown(match))


def _has_four_digits(match: re.Match[str]) -> bool:
    return len(digits_of(shown(match))) >= 4


def _check_text(is_valid: Callable[[str], bool]) -> Check:
    return lambda match: is_valid(match[0])


_PATTERNS = PatternFile(
    "numbers",
    checks={
        "has digit": _has_digit,
        "has four digits": _has_four_digits,
        "iban": _check_text(is_iban),
        "card": _check_text(is_card),
        "chinese id": _check_text(is_chinese_id),
        "korean id": _check_text(is_korean_id),
        "german tax id": _check_text(is_german_tax_id),
    },
)
NUMBERS, BIRTHDAYS = _PATTERNS.rules(), _PATTERNS.rules("birthdays")
_CANDIDATE = _PATTERNS.pattern("candidate")
_PHONE_WORD = _PATTERNS.pattern("phone_word")
_DATE_LIKE = _PATTERNS.pattern("date_like")


def phones(text: str, regions: Sequence[str] = ()) -> Iterator[Finding]:
    """Phone numbers, as written anywhere, and as written in the countries that raters named."""
    if sum(letter.isdigit() for letter in text) < 7:
        return
    for match in _CANDIDATE.finditer(text):
        number = match[0].strip()
        start = match.start() + match[0].index(number)
        introduced = _PHONE_WORD.search(text, max(0, start - 40), start) is not None
        if _is_phone(number, regions, introduced=introduced):
            yield Finding("phone number", start, start + len(number))


def _is_phone(text: str, regions: Sequence[str], *, introduced: bool) -> bool:
    """Seven to fifteen digits in the groups people write; not dates, years, marks, times or sequences."""
    main = re.sub(r"\s?(?:x|ext\.?|dw)\s?\d{1,6}$", "", text)
    digits, groups = digits_of(main), re.findall(r"\d+", main)
    if not 7 <= len(digits) <= 16 or len(set(digits)) < 3 or _DATE_LIKE.fullmatch(main.strip("()")):
        return False
    single_digits = len(groups) > 4 and max(map(len, groups)) == 1
    if single_digits or (len(groups) > 1 and all(int(group) % 100 == 0 for group in groups)):
        return False
    if main.startswith(("+", "00")) or "(" in main or re.fullmatch(r"0\d(?:[ .-]\d\d){4}", main):
        return True
    return _has_usual_groups(main, digits, groups) or _is_valid_somewhere(main, regions, groups, introduced=introduced)


def _has_usual_groups(text: str, digits: str, groups: Sequence[str]) -> bool:
    sizes = [len(group) for group in groups]
    if len(groups) == 1:
        return text[0] == "0" or len(digits) in (10, 11)
    is_decimal = re.fullmatch(r"\d+[.,]\d+", text) is not None
    if is_decimal or (sizes[0] == 1 and len(digits) < 10) or set(groups[1:]) <= {"000", "00"}:
        return False
    if len(digits) < 10 and digits[0] != "0":  # a range, unless it is written as a local number of North America
        return re.fullmatch(r"[2-9]\d{2}-\d{4}", text) is not None
    return max(sizes) >= 3 and min(sizes[1:]) >= 2 and len(sizes) <= 6


def _is_valid_somewhere(text: str, regions: Sequence[str], groups: Sequence[str], *, introduced: bool) -> bool:
    """Whether a country's numbering plan has the number: any country's after a word for it, else a rater's own."""
    import phonenumbers

    values = [int(group) for group in groups]
    if not introduced and (len(groups) == 1 or values == sorted(values) or max(map(len, groups)) < 2):
        return False
    for region in dict.fromkeys((*regions, *(REGIONS if introduced else ()))):
        try:
            if phonenumbers.is_valid_number(phonenumbers.parse(text, region)):
                return True
        except phonenumbers.NumberParseException:
            continue
    return False
