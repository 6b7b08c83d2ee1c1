"""ROUGE-L: the longest sequence of words that candidate and reference share, gaps allowed (Lin 2004).

Precision is its length over the candidate's, recall over the reference's; each takes its best reference, and the two
make an F with recall counting 1.2 times, as the COCO caption evaluation does. Range 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heartfelt.stats.text.corpus import corpus
from heartfelt.stats.triples import Floats

BETA = 1.2


def rouge_l(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """The ROUGE-L of each item; their mean is the corpus's."""
    if not len(candidates):
        return np.zeros(0)
    from heartfelt.stats.text._kernels_text import common_lengths

    texts = corpus(candidates, references)
    said, heard = texts.candidates, texts.references
    shared = common_lengths(said.tokens, said.starts, heard.tokens, heard.starts, heard.item).astype(
        np.float64
    )
    precision, recall = np.zeros(texts.items), np.zeros(texts.items)
    np.maximum.at(precision, heard.item, shared / np.maximum(said.lengths[heard.item], 1))
    np.maximum.at(recall, heard.item, shared / np.maximum(heard.lengths, 1))
    below = recall + BETA**2 * precision
    return np.asarray(
        np.where(below > 0, (1 + BETA**2) * precision * recall / np.where(below > 0, below, 1.0), 0.0)
    )
