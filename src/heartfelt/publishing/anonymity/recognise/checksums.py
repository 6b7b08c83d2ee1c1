"""Checksums and calendars that tell an account or an identity number from any other number."""

from __future__ import annotations

import re
from datetime import date

_CHINESE_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def digits_of(text: str) -> str:
    return re.sub(r"\D", "", text)


def has_luhn_digit(digits: str) -> bool:
    """Whether the last digit is the check digit of Luhn (ISO/IEC 7812)."""
    total = 0
    for index, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if index % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_card(text: str) -> bool:
    """Whether a text is the number of a payment card: 13 to 19 digits with a check digit."""
    digits = digits_of(text)
    return 13 <= len(digits) <= 19 and digits[0] in "23456" and len(set(digits)) > 1 and has_luhn_digit(digits)


def is_iban(text: str) -> bool:
    """Whether a text is an IBAN (ISO 13616)."""
    compact = re.sub(r"[\s-]", "", text).upper()
    if not 15 <= len(compact) <= 34:
        return False
    number = "".join(str(int(letter, 36)) for letter in compact[4:] + compact[:4])
    return int(number) % 97 == 1


def is_chinese_id(text: str) -> bool:
    """Whether 18 characters are a Chinese identity number: a day of birth, and the check digit of GB 11643."""
    total = sum(weight * int(digit) for weight, digit in zip(_CHINESE_WEIGHTS, text[:17], strict=True))
    return is_day(text[6:14]) and "10X98765432"[total % 11] == text[17].upper()


def is_korean_id(text: str) -> bool:
    """Whether 13 digits are a Korean resident number: a day of birth and the digit of sex and century."""
    digits = digits_of(text)
    return digits[6] in "12345678" and is_day(f"{19 if digits[6] in '1256' else 20}{digits[:6]}")


def is_german_tax_id(text: str) -> bool:
    """Whether 11 digits are a German tax id: its check digit (ISO 7064, MOD 11,10), and one digit two or three times."""
    digits = digits_of(text)
    product = 10
    for digit in digits[:10]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    repeated = max(digits[:10].count(digit) for digit in digits[:10])
    return digits[0] != "0" and repeated in (2, 3) and (11 - product) % 10 == int(digits[10])


def is_day(digits: str) -> bool:
    """Whether eight digits are a day of somebody's life."""
    try:
        day = date(int(digits[:4]), int(digits[4:6]), int(digits[6:8]))
    except ValueError:
        return False
    return 1900 <= day.year <= 2100
