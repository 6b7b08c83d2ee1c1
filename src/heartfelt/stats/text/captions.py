"""Captions against references: BLEU, ROUGE-L and CIDEr-D, as the COCO caption evaluation defines them.

*BLEU* (Papineni et al. 2002): how many n-grams of the candidates occur in a reference, over the whole corpus. Matches are
clipped at the most often the n-gram occurs in one reference; the reference nearest in length (the shorter of two equally near)
decides the penalty for brevity. The value is a property of the corpus, not a mean over items, and has no smoothing: it is 0
where no n-gram of the longest order matches. Range 0 to 1. It is our own rather than sacrebleu's because its interval needs the
counts of every item and its words are those of the other metrics here.

*ROUGE-L* (Lin 2004): the longest sequence of words that candidate and reference share, gaps allowed. Precision is its length
over the candidate's, recall over the reference's; each takes its best reference, and the two make an F with recall counting 1.2
times. Range 0 to 1.

*CIDEr-D* (Vedantam et al. 2015): how far a caption uses the words that raters used for this item and not for others. N-grams of
one to four words are weighted by how few items' references contain them; candidate and reference are compared by the cosine of
their weighted counts, the candidate's counts clipped at the reference's, with a Gaussian penalty (sigma 6 words) for a
difference in length; the mean over references and orders is multiplied by 10. A value belongs to its corpus: the same caption
scores differently among other items. With a single item nothing tells its words from others, and all values are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from heartfelt.stats import _bounds
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.text.corpus import Corpus, Grams, corpus
from heartfelt.stats.triples import Floats, Ints
from heartfelt.streams import stream

Table = npt.NDArray[np.float64]
_BATCH = 200
BETA = 1.2
ORDERS = 4
SIGMA = 6.0


def bleu(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    order: int = 4,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """BLEU of a corpus up to n-grams of ``order``, with a percentile interval over items."""
    name = f"BLEU-{order}"
    if not len(candidates):
        return Estimate.missing("no texts", name, {"items": 0})
    table = bleu_counts(corpus(candidates, references), order)
    counts = {"items": table.shape[0]}
    plain = Estimate(float(bleu_value(table.sum(axis=0)[None])[0]), method=name, counts=counts)
    if table.shape[0] < 2:
        return _bounds.bounded(plain, None, "", confidence, "one item: nothing to resample")
    drawn = _resampled(table, resamples, seed)
    plain = replace(plain, counts=counts | {"resamples": resamples})
    bounds = _bounds.percentile(drawn, confidence) if float(np.ptp(drawn)) > 0 else None
    why = "every resample gives the same value"
    return _bounds.bounded(plain, bounds, "percentile bootstrap over items", confidence, why)


def _resampled(table: Table, resamples: int, seed: int) -> Floats:
    """BLEU of resampled items, from their counts."""
    draw, n = stream(seed, "bootstrap", "bleu"), table.shape[0]
    out = []
    for start in range(0, resamples, _BATCH):
        times = draw.multinomial(n, np.full(n, 1 / n), size=min(_BATCH, resamples - start))
        out.append(bleu_value(times @ table))
    return np.concatenate(out)


def bleu_counts(texts: Corpus, order: int = 4) -> Table:
    """For each item: matches by order, n-grams by order, words of the candidate, words of the nearest reference."""
    own = texts.candidates.lengths
    matches, totals = [], []
    for n, (candidate, reference) in enumerate(texts.grams(order), start=1):
        matches.append(_clipped(candidate, reference, texts))
        totals.append(np.maximum(own - n + 1, 0))
    return np.column_stack([*matches, *totals, own, _nearest(texts)]).astype(np.float64)


def bleu_value(sums: Table) -> Floats:
    """BLEU of each row of summed counts."""
    order = (sums.shape[1] - 2) // 2
    matches, totals = sums[:, :order], sums[:, order : 2 * order]
    length, nearest = sums[:, -2], sums[:, -1]
    some = (matches > 0).all(axis=1) & (length > 0)
    shares = np.where(some[:, None], matches / np.maximum(totals, 1), 1.0)
    brevity = np.exp(np.minimum(0.0, 1 - nearest / np.maximum(length, 1)))
    return np.asarray(np.where(some, brevity * np.exp(np.log(shares).mean(axis=1)), 0.0))


def _clipped(candidate: Grams, reference: Grams, texts: Corpus) -> Ints:
    """Matches of each candidate, each n-gram at most as often as in the reference that has it most."""
    item = texts.references.item[reference.text]
    keys = item * max(reference.kinds, 1) + reference.gram
    order = np.lexsort((reference.times, keys))
    keys, times = keys[order], reference.times[order]
    last = np.flatnonzero(np.append(keys[1:] != keys[:-1], True)) if keys.size else np.zeros(0, np.int64)
    keys, most = keys[last], times[last]
    place, shared = _places(keys, candidate.text * max(candidate.kinds, 1) + candidate.gram)
    hits = np.minimum(candidate.times[shared], most[place[shared]])
    return np.bincount(candidate.text[shared], weights=hits, minlength=texts.items).astype(np.int64)


def _nearest(texts: Corpus) -> Ints:
    """The length of each item's nearest reference."""
    item, length = texts.references.item, texts.references.lengths
    away = np.abs(length - texts.candidates.lengths[item])
    order = np.lexsort((length, away, item))
    first = np.searchsorted(item[order], np.arange(texts.items))
    return np.asarray(length[order][first])


def rouge_l(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """The ROUGE-L of each item; their mean is the corpus's."""
    if not len(candidates):
        return np.zeros(0)
    from heartfelt.stats.text._kernels_text import common_lengths

    texts = corpus(candidates, references)
    own, other = texts.candidates, texts.references
    shared = common_lengths(own.tokens, own.starts, other.tokens, other.starts, other.item)
    precision, recall = np.zeros(texts.items), np.zeros(texts.items)
    np.maximum.at(precision, other.item, shared / np.maximum(own.lengths[other.item], 1))
    np.maximum.at(recall, other.item, shared / np.maximum(other.lengths, 1))
    below = recall + BETA**2 * precision
    return np.asarray((1 + BETA**2) * precision * recall / np.where(below > 0, below, 1.0))


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
    own, other = candidate.times * rarity[candidate.gram], reference.times * rarity[reference.gram]
    own_norm = np.sqrt(np.bincount(candidate.text, weights=own**2, minlength=texts.items))
    other_norm = np.sqrt(np.bincount(reference.text, weights=other**2, minlength=item.size))
    place, there = _places(
        candidate.text * kinds + candidate.gram, item[reference.text] * kinds + reference.gram
    )
    shared = np.minimum(own[place[there]], other[there]) * other[there]
    dot = np.bincount(reference.text[there], weights=shared, minlength=item.size)
    below = own_norm[item] * other_norm
    return np.asarray(np.where(below > 0, dot / np.where(below > 0, below, 1.0), 0.0))


def _places(sorted_keys: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """The place of each wanted key among the sorted ones, and which of them are present."""
    if not sorted_keys.size:
        return np.zeros(wanted.size, np.int64), np.zeros(0, np.int64)
    place = np.minimum(np.searchsorted(sorted_keys, wanted), sorted_keys.size - 1)
    return place, np.flatnonzero(sorted_keys[place] == wanted)
