"""CIDEr-D: how far a caption uses the words that people used for this item and not for others (Vedantam et al. 2015).

N-grams of one to four words are weighted by how few items' references hold them; candidate and reference are compared by
the cosine of their weighted counts, the candidate's counts clipped at the reference's, with a Gaussian penalty (sigma
6 words) for a difference in length; the mean over references and orders is multiplied by 10. A value belongs to its
corpus: the same caption scores otherwise among other items. With one item there is nothing to be particular about.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heartfelt.stats.text.corpus import Corpus, Grams, corpus
from heartfelt.stats.triples import Floats, Ints

ORDERS = 4
SIGMA = 6.0


def cider(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """The CIDEr-D of each item; their mean is the corpus's. Zeros throughout for a single item."""
    if not len(candidates):
        return np.zeros(0)
    texts = corpus(candidates, references)
    item = texts.references.item
    gap = texts.candidates.lengths[item] - texts.references.lengths
    penalty = np.exp(-(gap.astype(np.float64) ** 2) / (2 * SIGMA**2))
    total = np.zeros(texts.references.size)
    for candidate, reference in texts.grams(ORDERS):
        total += _similarity(candidate, reference, texts) * penalty
    per_item = np.bincount(item, weights=total, minlength=texts.items)
    return np.asarray(per_item / np.bincount(item, minlength=texts.items) / ORDERS * 10.0)


def _similarity(candidate: Grams, reference: Grams, texts: Corpus) -> Floats:
    """The clipped cosine of each reference with its item's candidate."""
    item = texts.references.item
    kinds = max(candidate.kinds, 1)
    seen = np.unique(item[reference.text] * kinds + reference.gram) % kinds
    rarity = np.log(float(texts.items)) - np.log(np.maximum(np.bincount(seen, minlength=kinds), 1.0))
    said, heard = candidate.times * rarity[candidate.gram], reference.times * rarity[reference.gram]
    long_said = np.sqrt(np.bincount(candidate.text, weights=said**2, minlength=texts.items))
    long_heard = np.sqrt(np.bincount(reference.text, weights=heard**2, minlength=item.size))
    place, there = _places(
        candidate.text * kinds + candidate.gram, item[reference.text] * kinds + reference.gram
    )
    shared = np.minimum(said[place[there]], heard[there]) * heard[there]
    dot = np.bincount(reference.text[there], weights=shared, minlength=item.size)
    below = long_said[item] * long_heard
    return np.asarray(np.where(below > 0, dot / np.where(below > 0, below, 1.0), 0.0))


def _places(sorted_keys: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Where each wanted key stands among the sorted ones, and which are there."""
    if not sorted_keys.size:
        return np.zeros(wanted.size, np.int64), np.zeros(0, np.int64)
    place = np.minimum(np.searchsorted(sorted_keys, wanted), sorted_keys.size - 1)
    return place, np.flatnonzero(sorted_keys[place] == wanted)
