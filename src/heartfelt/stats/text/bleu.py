"""BLEU: how many n-grams of the candidates stand in a reference, over the whole corpus (Papineni et al. 2002).

Matches are clipped at the most often the n-gram stands in one reference; the reference nearest in length (the shorter of
two equally near) decides the penalty for brevity. The value is a property of the corpus, not a mean over items, and
has no smoothing: it is 0 where no n-gram of the longest order matches. Range 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from heartfelt.stats import _bounds
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.text.corpus import Corpus, Grams, corpus
from heartfelt.stats.triples import Floats, Ints
from heartfelt.streams import stream

Table = npt.NDArray[np.float64]
_BATCH = 200


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
    found = resampled(table, resamples, seed)
    counts["resamples"] = resamples
    plain = Estimate(plain.value, method=name, counts=counts)
    if float(np.ptp(found)) == 0:
        return _bounds.bounded(plain, None, "", confidence, "every resample gives the same value")
    return _bounds.bounded(
        plain, _bounds.percentile(found, confidence), "percentile bootstrap over items", confidence, ""
    )


def resampled(table: Table, resamples: int, seed: int, unit: Ints | None = None) -> Floats:
    """BLEU of resampled items (or of whole ``unit`` clusters), from their counts."""
    if unit is not None:
        table = np.column_stack([np.bincount(unit, weights=column) for column in table.T])
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
    said, due = sums[:, -2], sums[:, -1]
    there = (matches > 0).all(axis=1) & (said > 0)
    shares = np.where(there[:, None], matches / np.maximum(totals, 1), 1.0)
    brevity = np.exp(np.minimum(0.0, 1 - due / np.maximum(said, 1)))
    return np.asarray(np.where(there, brevity * np.exp(np.log(shares).mean(axis=1)), 0.0))


def _clipped(candidate: Grams, reference: Grams, texts: Corpus) -> Ints:
    """Matches of each candidate, each n-gram at most as often as in the reference that has it most."""
    item = texts.references.item[reference.text]
    keys = item * max(reference.kinds, 1) + reference.gram
    order = np.lexsort((reference.times, keys))
    keys, times = keys[order], reference.times[order]
    last = np.flatnonzero(np.append(keys[1:] != keys[:-1], True)) if keys.size else np.zeros(0, np.int64)
    keys, most = keys[last], times[last]
    own = candidate.text * max(candidate.kinds, 1) + candidate.gram
    place = np.searchsorted(keys, own)
    there = np.zeros(own.size, np.bool_)
    inside = place < keys.size
    there[inside] = keys[place[inside]] == own[inside]
    hits = np.minimum(candidate.times[there], most[place[there]])
    return np.bincount(candidate.text[there], weights=hits, minlength=texts.items).astype(np.int64)


def _nearest(texts: Corpus) -> Ints:
    """The length of each item's nearest reference."""
    item, length = texts.references.item, texts.references.lengths
    away = np.abs(length - texts.candidates.lengths[item])
    order = np.lexsort((length, away, item))
    first = np.searchsorted(item[order], np.arange(texts.items))
    return np.asarray(length[order][first])
