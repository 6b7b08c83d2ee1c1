"""Candidates and references as numbers: every word an integer, every text a stretch of one long array."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.triples import Ints

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")


def words(text: str) -> list[str]:
    """The words of a text: lower case, no punctuation, apostrophes inside words stay."""
    return [word.replace("\u2019", "'") for word in _WORD.findall(text.casefold())]


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Texts in one array; text ``i`` is ``tokens[starts[i]:starts[i + 1]]`` and belongs to item ``item[i]``."""

    tokens: Ints
    starts: Ints
    item: Ints

    @property
    def lengths(self) -> Ints:
        """Words in each text."""
        return np.diff(self.starts)

    @property
    def size(self) -> int:
        """How many texts there are."""
        return int(self.item.size)


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """One candidate and one or more references for each item, in one vocabulary."""

    candidates: Texts
    references: Texts
    items: int
    vocabulary: int

    def grams(self, orders: int) -> Iterator[tuple[Grams, Grams]]:
        """For n-grams of one word up to ``orders``: how often each occurs in each candidate and in each reference."""
        sides = (self.candidates, self.references)
        cut = self.candidates.tokens.size
        tokens = np.concatenate([side.tokens for side in sides])
        text = np.concatenate([np.repeat(np.arange(side.size), side.lengths) for side in sides])
        last = np.concatenate([np.repeat(side.starts[1:], side.lengths) for side in sides])
        last[cut:] += cut
        first, codes = np.arange(tokens.size), tokens
        for order in range(1, orders + 1):
            if order > 1:
                inside = first + order <= last[first]
                first, codes = first[inside], codes[inside]
                # An n-gram is the one before it and one more word.
                codes = np.unique(codes * self.vocabulary + tokens[first + order - 1], return_inverse=True)[1]
            kinds = int(codes.max()) + 1 if codes.size else 0
            own = first < cut
            yield (
                _counted(codes[own], text[first[own]], kinds),
                _counted(codes[~own], text[first[~own]], kinds),
            )


@dataclass(frozen=True, slots=True, eq=False)
class Grams:
    """Counts of n-grams by text, sorted by text and gram: ``times`` of ``gram`` in ``text``; ``kinds`` in all."""

    text: Ints
    gram: Ints
    times: Ints
    kinds: int


def corpus(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Corpus:
    """Number the words of the candidates and of their references."""
    if len(candidates) != len(references):
        raise InputError(
            f"There are {len(candidates)} candidates and references for {len(references)}.",
            "Pass one list of references per candidate.",
        )
    if any(not own for own in references):
        raise InputError("A candidate has no reference.", "Leave out items without a text.")
    known: dict[str, int] = {}
    first = _texts(candidates, np.arange(len(candidates)), known)
    flat = [text for own in references for text in own]
    item = np.repeat(np.arange(len(references)), [len(own) for own in references])
    return Corpus(first, _texts(flat, item, known), len(candidates), max(len(known), 1))


def texts(sentences: Sequence[str]) -> tuple[Texts, int]:
    """Texts without references, and how many words they use."""
    known: dict[str, int] = {}
    coded = _texts(sentences, np.arange(len(sentences)), known)
    return coded, len(known)


def _texts(sentences: Sequence[str], item: Ints, known: dict[str, int]) -> Texts:
    tokens: list[int] = []
    starts = [0]
    for text in sentences:
        tokens += [known.setdefault(word, len(known)) for word in words(text)]
        starts.append(len(tokens))
    return Texts(np.array(tokens, np.int64), np.array(starts, np.int64), np.asarray(item, np.int64))


def _counted(codes: Ints, text: Ints, kinds: int) -> Grams:
    if not codes.size:
        nothing = np.zeros(0, np.int64)
        return Grams(nothing, nothing, nothing, kinds)
    keys, times = np.unique(text * kinds + codes, return_counts=True)
    return Grams(keys // kinds, keys % kinds, times, kinds)
