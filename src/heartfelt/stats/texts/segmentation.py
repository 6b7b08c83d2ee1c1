"""Texts cut into words, in any language, without a dictionary.

A word is a run of letters, digits and their combining marks, in lower case; an apostrophe or a middle dot between letters
belongs to it, and so do the joiners inside Persian and Indic words. Everything else (spaces, punctuation, hyphens, symbols,
emoji) separates words and is dropped. This is close to the word boundaries of Unicode Standard Annex 29, except that numbers
are cut at their points and commas.

Scripts written without spaces cannot be cut into words without a dictionary: Chinese characters, hiragana, Thai, Lao, Khmer
and Burmese are counted character by character, each with its combining marks; a run of katakana is a word, as in Annex 29.
Counts of characters and of words are not comparable, so ``character_share`` states how many of a text's units are characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

_PLAIN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_SPACES = {code: " " for code in range(128) if not chr(code).isalnum()}
# Code points of scripts without spaces between words, as ranges of a character class.
_ALONE = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\u1780-\u17ff"
)
_JOINERS = "\u200c\u200d"


def words(text: str) -> list[str]:
    """The words of a text: lower case, no punctuation, apostrophes inside words stay."""
    text = text.casefold()
    if text.isascii():
        # The same words, sooner: most captions have no apostrophe.
        return _PLAIN.findall(text) if "'" in text else text.translate(_SPACES).split()
    # Typographic and plain apostrophes are one; a soft hyphen is only a place where a line may break.
    text = unicodedata.normalize("NFC", text).replace("\u2019", "'").replace("\u00ad", "")
    return _any_script().findall(text)


def character_share(texts: Sequence[str]) -> float:
    """The share of all units that are characters of a script without spaces; 0 where there are no units."""
    alone = total = 0
    pattern = re.compile(f"[{_ALONE}]")
    for text in texts:
        units = words(text)
        total += len(units)
        if not text.isascii():
            alone += sum(1 for unit in units if pattern.match(unit))
    return alone / total if total else 0.0


@cache
def _any_script() -> re.Pattern[str]:
    """The pattern of a word in any script; the standard library's patterns have no class of combining marks."""
    marks = _marks() + _JOINERS
    letter = rf"[^\W_{_ALONE}]"
    run = rf"{letter}+(?:[{marks}]+{letter}*)*"
    return re.compile(rf"{run}(?:['\u00b7]{run})*|(?=[{_ALONE}])[^\W_][{marks}]*")


def _marks() -> str:
    """The combining marks as the ranges of a character class."""
    codes = [code for code in range(0x300, 0x20000) if unicodedata.category(chr(code)).startswith("M")]
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(rf"\U{low:08x}-\U{high:08x}" for low, high in ranges)
