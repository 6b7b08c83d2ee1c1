"""Texts: how close captions are to what raters wrote, and how rich their words are.

The words of a text are in lower case, without punctuation. BLEU, ROUGE-L and CIDEr-D follow the definitions of the COCO caption
evaluation, on these words. METEOR and SPICE run through their authors' programs: :mod:`heartfelt.scoring.tasks.java_captions`.

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

*MTLD* (McCarthy and Jarvis 2010) is the mean number of words over which the share of different words stays above 0.72, reading
forwards and backwards. *Distinct* is the share of n-grams that are different (Li et al. 2016), which falls as texts get longer,
so compare it between sets of one size only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.texts.segmentation import words
from heartfelt.streams import stream

BETA = 1.2
ORDERS = 4
SIGMA = 6.0
THRESHOLD = 0.72
_BATCH = 200


@dataclass(frozen=True, slots=True, eq=False)
class TokenizedTexts:
    """Texts in one array; text ``i`` is ``tokens[starts[i]:starts[i + 1]]`` and belongs to item ``item[i]``."""

    tokens: Ints
    starts: Ints
    item: Ints

    @property
    def columns(self) -> tuple[Ints, Ints]:
        """As compiled loops take them."""
        return self.tokens, self.starts

    @property
    def lengths(self) -> Ints:
        return np.diff(self.starts)

    @property
    def size(self) -> int:
        return int(self.item.size)


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """One candidate and one or more references for each item, in one vocabulary."""

    candidates: TokenizedTexts
    references: TokenizedTexts
    items: int
    vocabulary: int

    @property
    def reference_starts(self) -> Ints:
        """Where the references of each item start, and the end of the last."""
        return np.searchsorted(self.references.item, np.arange(self.items + 1)).astype(np.int64)

    def grams(self, orders: int) -> Iterator[tuple[Grams, Grams]]:
        """For n-grams of one word up to ``orders``: how often each occurs in each candidate and in each reference."""
        from heartfelt.stats.texts._kernels_text import number_pairs

        sides = (self.candidates, self.references)
        cut = self.candidates.tokens.size
        tokens = np.concatenate([side.tokens for side in sides])
        text = np.repeat(np.arange(sum(side.size for side in sides)), np.concatenate([s.lengths for s in sides]))
        first, codes, kinds = np.arange(tokens.size), tokens, self.vocabulary
        for order in range(1, orders + 1):
            if order > 1:
                inside = np.flatnonzero(text[first] == text[np.minimum(first + order - 1, text.size - 1)])
                inside = inside[first[inside] + order <= tokens.size]
                first, codes = first[inside], codes[inside]
                # An n-gram is the one before it and one more word.
                codes, kinds = number_pairs(codes, tokens[first + order - 1], self.vocabulary)
            candidate_count = int(np.searchsorted(first, cut))
            yield (
                _counted(codes[:candidate_count], self.candidates, order, kinds),
                _counted(codes[candidate_count:], self.references, order, kinds),
            )


@dataclass(frozen=True, slots=True, eq=False)
class Grams:
    """Counts of n-grams: those of text ``i`` are ``gram[starts[i]:starts[i + 1]]``, ``times`` each; ``kinds`` in all."""

    gram: Ints
    times: Ints
    starts: Ints
    kinds: int

    @property
    def columns(self) -> tuple[Ints, Ints, Ints]:
        """As compiled loops take them."""
        return self.gram, self.times, self.starts


def corpus(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Corpus:
    """Number the words of the candidates and of their references."""
    if len(candidates) != len(references):
        raise InputError(
            f"There are {len(candidates)} candidates and references for {len(references)}.",
            "Pass one list of references per candidate.",
        )
    if any(not item_references for item_references in references):
        raise InputError("A candidate has no reference.", "Leave out items without a text.")
    vocabulary = _vocabulary()
    first = _texts(candidates, np.arange(len(candidates)), vocabulary)
    flat = [text for item_references in references for text in item_references]
    item = np.repeat(np.arange(len(references)), [len(item_references) for item_references in references])
    return Corpus(first, _texts(flat, item, vocabulary), len(candidates), max(len(vocabulary), 1))


def texts(sentences: Sequence[str]) -> tuple[TokenizedTexts, int]:
    """Texts without references, and how many words they use."""
    vocabulary = _vocabulary()
    coded = _texts(sentences, np.arange(len(sentences)), vocabulary)
    return coded, len(vocabulary)


def _vocabulary() -> defaultdict[str, int]:
    """Numbers a word when it is first looked up."""
    return defaultdict(count().__next__)


def _texts(sentences: Sequence[str], item: Ints, vocabulary: defaultdict[str, int]) -> TokenizedTexts:
    tokens: list[int] = []
    starts = [0]
    for text in sentences:
        tokens += map(vocabulary.__getitem__, words(text))
        starts.append(len(tokens))
    return TokenizedTexts(np.array(tokens, np.int64), np.array(starts, np.int64), np.asarray(item, np.int64))


def _counted(codes: Ints, side: TokenizedTexts, order: int, kinds: int) -> Grams:
    """The n-grams of the texts on one side, counted; a text has ``order - 1`` fewer of them than words."""
    from heartfelt.stats.texts._kernels_text import count_by_text

    starts = np.append(0, np.cumsum(np.maximum(side.lengths - order + 1, 0)))
    gram, times, ends = count_by_text(codes, starts, kinds)
    return Grams(gram, times, ends, kinds)


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
    point_estimate = Estimate(value=float(bleu_value(table.sum(axis=0)[None])[0]), method=name, counts=counts)
    if table.shape[0] < 2:
        return point_estimate.without_interval("one item: nothing to resample")
    replicates = _resampled(table, resamples, seed)
    point_estimate = replace(point_estimate, counts=counts | {"resamples": resamples})
    bounds = _bounds.percentile(replicates, confidence) if float(np.ptp(replicates)) > 0 else None
    reason = "every resample gives the same value"
    return _bounds.bounded(point_estimate, bounds, "percentile bootstrap over items", confidence, reason)


def _resampled(table: Floats, resamples: int, seed: int) -> Floats:
    draw, n = stream(seed, "bootstrap", "bleu"), table.shape[0]
    out = []
    for start in range(0, resamples, _BATCH):
        times = draw.multinomial(n, np.full(n, 1 / n), size=min(_BATCH, resamples - start))
        out.append(bleu_value(times @ table))
    return np.concatenate(out)


def bleu_counts(texts: Corpus, order: int = 4) -> Floats:
    """For each item: matches by order, n-grams by order, words of the candidate, words of the nearest reference."""
    from heartfelt.stats.texts._kernels_text import clipped_matches

    candidates, references = texts.candidates, texts.references
    matches = clipped_matches(*candidates.columns, *references.columns, texts.reference_starts, texts.vocabulary, order)
    totals = np.maximum(candidates.lengths[:, None] - np.arange(order), 0)
    return np.column_stack([matches, totals, candidates.lengths, _nearest(texts)]).astype(np.float64)


def bleu_value(sums: Floats) -> Floats:
    """BLEU of each row of summed counts."""
    order = (sums.shape[1] - 2) // 2
    matches, totals = sums[:, :order], sums[:, order : 2 * order]
    length, nearest = sums[:, -2], sums[:, -1]
    some = (matches > 0).all(axis=1) & (length > 0)
    shares = np.where(some[:, None], matches / np.maximum(totals, 1), 1.0)
    brevity = np.exp(np.minimum(0.0, 1 - nearest / np.maximum(length, 1)))
    return np.asarray(np.where(some, brevity * np.exp(np.log(shares).mean(axis=1)), 0.0))


def _nearest(texts: Corpus) -> Ints:
    item, length = texts.references.item, texts.references.lengths
    away = np.abs(length - texts.candidates.lengths[item])
    order = np.lexsort((length, away, item))
    first = np.searchsorted(item[order], np.arange(texts.items))
    return np.asarray(length[order][first])


def rouge_l(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """The ROUGE-L of each item; their mean is the corpus's."""
    if not len(candidates):
        return np.zeros(0)
    from heartfelt.stats.texts._kernels_text import common_lengths

    texts = corpus(candidates, references)
    item = texts.references.item
    shared = common_lengths(*texts.candidates.columns, *texts.references.columns, item)
    precision, recall = np.zeros(texts.items), np.zeros(texts.items)
    np.maximum.at(precision, item, shared / np.maximum(texts.candidates.lengths[item], 1))
    np.maximum.at(recall, item, shared / np.maximum(texts.references.lengths, 1))
    below = recall + BETA**2 * precision
    return np.asarray((1 + BETA**2) * precision * recall / np.where(below > 0, below, 1.0))


def cider(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """The CIDEr-D of each item; their mean is the corpus's. Zeros throughout for a single item."""
    if not len(candidates):
        return np.zeros(0)
    from heartfelt.stats.texts._kernels_text import weighted_cosines

    texts = corpus(candidates, references)
    item = texts.references.item
    gap = texts.candidates.lengths[item] - texts.references.lengths
    penalty = np.exp(-(gap.astype(np.float64) ** 2) / (2 * SIGMA**2))
    total = np.zeros(texts.references.size)
    for candidate_grams, reference_grams in texts.grams(ORDERS):
        total += penalty * weighted_cosines(
            *candidate_grams.columns, *reference_grams.columns, texts.reference_starts, candidate_grams.kinds
        )
    per_item = np.bincount(item, weights=total, minlength=texts.items)
    return np.asarray(per_item / np.bincount(item, minlength=texts.items) / ORDERS * 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexical:
    """Figures of one set of texts; None where there are no words."""

    texts: int
    words: int = 0
    kinds: int = 0
    words_per_text: float | None = None
    type_token_ratio: float | None = None
    mtld: float | None = None
    distinct_1: float | None = None
    distinct_2: float | None = None


def mtld(sentences: Sequence[str], threshold: float = THRESHOLD) -> Floats:
    """The MTLD of each text; NaN for a text without words, its length where no word comes twice."""
    coded, kinds = texts(sentences)
    return mtld_of(coded, kinds, threshold)


def distinct(sentences: Sequence[str], order: int = 1) -> float | None:
    """The share of n-grams over all texts that are different."""
    coded, kinds = texts(sentences)
    none = TokenizedTexts(np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64))
    one_corpus = Corpus(coded, none, coded.size, max(kinds, 1))
    *_, (grams, _) = one_corpus.grams(order)
    total = int(grams.times.sum())
    return grams.kinds / total if total else None


def lexical(sentences: Sequence[str]) -> Lexical:
    """All figures; MTLD is that of the texts read one after the other."""
    coded, kinds = texts(sentences)
    total = int(coded.tokens.size)
    if not total:
        return Lexical(texts=len(sentences))
    one_text = TokenizedTexts(coded.tokens, np.array([0, total]), np.zeros(1, np.int64))
    return Lexical(
        texts=len(sentences),
        words=total,
        kinds=kinds,
        words_per_text=total / len(sentences),
        type_token_ratio=kinds / total,
        mtld=float(mtld_of(one_text, kinds, THRESHOLD)[0]),
        distinct_1=distinct(sentences, 1),
        distinct_2=distinct(sentences, 2),
    )


def mtld_of(coded: TokenizedTexts, kinds: int, threshold: float) -> Floats:
    """The same of numbered words, ``kinds`` of them different."""
    from heartfelt.stats.texts._kernels_text import factors

    lengths = coded.lengths.astype(np.float64)
    sides = [factors(coded.tokens, coded.starts, kinds, threshold, back) for back in (False, True)]
    forwards, backwards = (np.where(side > 0, lengths / np.where(side > 0, side, 1.0), lengths) for side in sides)
    return np.asarray(np.where(lengths > 0, (forwards + backwards) / 2, np.nan))
