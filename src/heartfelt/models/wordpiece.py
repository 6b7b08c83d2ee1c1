"""BERT's way from text to token numbers: clean, lower case, no accents, split at spaces and punctuation, then the longest
pieces the vocabulary has.

Source: J. Devlin et al., BERT (2019), and its ``tokenization.py``; the tests compare with the ``tokenizers`` library.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from heartfelt.errors import DamagedError

_LONGEST_WORD = 100


class WordPieces:
    """A vocabulary, and the cutting of texts by it."""

    def __init__(self, vocabulary: str) -> None:
        self.vocabulary = {piece: number for number, piece in enumerate(vocabulary.split("\n"))}
        try:
            self._unknown, self._first, self._last = (
                self.vocabulary[name] for name in ("[UNK]", "[CLS]", "[SEP]")
            )
        except KeyError as error:
            raise DamagedError(f"The vocabulary has no {error}.", "Pull the model again.") from error

    def tokens(self, text: str, most: int) -> list[int]:
        """The text's token numbers between the two marks, ``most`` of them at most."""
        out = [self._first]
        for word in _words(text):
            out += self._pieces(word)
            if len(out) >= most:
                break
        return [*out[: most - 1], self._last]

    def _pieces(self, word: str) -> list[int]:
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        out: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            end = next(
                (end for end in range(len(word), start, -1) if mark + word[start:end] in self.vocabulary),
                None,
            )
            if end is None:
                return [self._unknown]
            out.append(self.vocabulary[mark + word[start:end]])
            start = end
        return out


def _words(text: str) -> Iterator[str]:
    word = ""
    for character in _normal(text):
        if character.isspace():
            if word:
                yield word
            word = ""
        elif _is_punctuation(character):
            if word:
                yield word
            yield character
            word = ""
        else:
            word += character
    if word:
        yield word


def _normal(text: str) -> str:
    clean = []
    for character in text:
        code = ord(character)
        if code in (0, 0xFFFD) or (character not in "\t\n\r" and unicodedata.category(character)[0] == "C"):
            continue
        clean.append(f" {character} " if _is_chinese(code) else " " if character.isspace() else character)
    parts = unicodedata.normalize("NFD", "".join(clean))
    # Letter by letter: a text's own lower() would end Greek words with another sigma than the vocabulary's.
    return "".join(c.lower() for c in parts if unicodedata.category(c) != "Mn")


def _is_punctuation(character: str) -> bool:
    code = ord(character)
    ascii_sign = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return ascii_sign or unicodedata.category(character)[0] == "P"


_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def _is_chinese(code: int) -> bool:
    return code >= 0x3400 and any(low <= code <= high for low, high in _CHINESE)
