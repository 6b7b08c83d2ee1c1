"""Where somebody can be reached: e-mail, web and postal addresses, names in messengers, addresses of machines."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from heartfelt.publishing.anonymity.recognise.rule import PatternFile, shown


def _is_address(match: re.Match[str]) -> bool:
    for kind in (IPv4Address, IPv6Address):
        try:
            kind(match[0])
        except AddressValueError:
            continue
        return True
    return False


def _is_postal_code(match: re.Match[str]) -> bool:
    """Whether five digits are in the range of postal codes, and not a round number of something."""
    code = match["code"]
    return not code.endswith("00") and "01000" < code < "99999"


def _is_not_ordinary(match: re.Match[str]) -> bool:
    return shown(match).casefold() not in _ORDINARY


def _looks_made_up(match: re.Match[str]) -> bool:
    """Whether a word is one that a person chose for an account: with digits, signs or a long run of letters."""
    text = shown(match)
    if not _is_not_ordinary(match):
        return False
    return bool(re.search(r"[\d_@#]|\w\.\w", text)) and not re.fullmatch(r"[\d.,:-]+", text)


_CONTACTS = PatternFile(
    "contacts", checks={"address": _is_address, "not ordinary": _is_not_ordinary, "looks made up": _looks_made_up}
)
_ADDRESSES = PatternFile("addresses", checks={"postal code": _is_postal_code})
_ORDINARY = _CONTACTS.word_set("ordinary")
CONTACTS = _CONTACTS.rules()
ADDRESSES, EASTERN_ADDRESSES = _ADDRESSES.rules(), _ADDRESSES.rules("eastern_rules")
