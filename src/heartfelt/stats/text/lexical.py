"""How rich the words of a set of texts are, without any reference.

MTLD (McCarthy and Jarvis 2010) is the mean number of words over which the share of different words stays above 0.72,
reading forwards and backwards; ``distinct`` is the share of n-grams that are different (Li et al. 2016), which falls as
texts get longer, so compare it between sets of one size only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heartfelt.stats.text.corpus import Corpus, Texts, texts
from heartfelt.stats.triples import Floats

THRESHOLD = 0.72
_NO_TEXTS = Texts(np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class Lexical:
    """Figures of one set of texts; None where there are no words."""

    texts: int
    words: int
    kinds: int
    words_per_text: float | None
    type_token_ratio: float | None
    mtld: float | None
    distinct_1: float | None
    distinct_2: float | None


def mtld(sentences: Sequence[str], threshold: float = THRESHOLD) -> Floats:
    """The MTLD of each text; NaN for a text without words, its length where no word comes twice."""
    coded, kinds = texts(sentences)
    return _mtld(coded, kinds, threshold)


def distinct(sentences: Sequence[str], order: int = 1) -> float | None:
    """The share of n-grams over all texts that are different."""
    coded, kinds = texts(sentences)
    whole = Corpus(coded, _NO_TEXTS, coded.size, max(kinds, 1))
    *_, (grams, _) = whole.grams(order)
    total = int(grams.times.sum())
    return grams.kinds / total if total else None


def lexical(sentences: Sequence[str]) -> Lexical:
    """All figures; MTLD is that of the texts read one after the other."""
    coded, kinds = texts(sentences)
    total = int(coded.tokens.size)
    if not total:
        return Lexical(len(sentences), 0, 0, None, None, None, None, None)
    whole = Texts(coded.tokens, np.array([0, total]), np.zeros(1, np.int64))
    return Lexical(
        len(sentences),
        total,
        kinds,
        total / len(sentences),
        kinds / total,
        float(_mtld(whole, kinds, THRESHOLD)[0]),
        distinct(sentences, 1),
        distinct(sentences, 2),
    )


def _mtld(coded: Texts, kinds: int, threshold: float) -> Floats:
    from heartfelt.stats.text._kernels_text import factors

    lengths = coded.lengths.astype(np.float64)
    sides = [factors(coded.tokens, coded.starts, kinds, threshold, back) for back in (False, True)]
    forwards, backwards = (
        np.where(side > 0, lengths / np.where(side > 0, side, 1.0), lengths) for side in sides
    )
    return np.asarray(np.where(lengths > 0, (forwards + backwards) / 2, np.nan))
