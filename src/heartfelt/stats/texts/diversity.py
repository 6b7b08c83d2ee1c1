"""How many words a set of texts uses and how varied they are, with intervals over texts.

Texts are read one after the other in the order given; words are those of :mod:`heartfelt.stats.texts.segmentation`.

*Vocabulary*: how many different words. *Type-token ratio*: vocabulary over words. *Entropy*: of the words' shares, in bits.
All three depend on how much was written: vocabulary and entropy grow with it, the type-token ratio falls. So each is a figure
of this many texts, and sets of different size are compared by ``vocabulary_at``, the vocabulary expected in a number of words
drawn from the set without replacement.

*MATTR* (Covington and McFall 2010): the mean type-token ratio over all windows of 100 consecutive words. *MTLD* (McCarthy and
Jarvis 2010): the mean number of words over which the type-token ratio stays above 0.72. *HD-D* (McCarthy and Jarvis 2007): the
type-token ratio expected in 42 words drawn without replacement. These three hardly depend on size. MATTR and MTLD depend on
the order of texts.

Intervals say where the figure of as many other texts of the same source would lie on average. Resampling texts with
replacement repeats texts, so it sees too few different words, and a bootstrap interval of the vocabulary can miss even the
value it belongs to. Here groups of consecutive texts are left out instead, each text on its own where there are at most 50
(the jackknife for groups of unequal size; Busing, Meijer and van der Leeden 1999, *Statistics and Computing* 9), with Student's
t. Its variance is on average not too small (Efron and Stein 1981, *Annals of Statistics* 9). Consecutive texts often share a
stimulus or a writer, and stay together. Leaving out a text shifts all later counts of MTLD, which would make its interval up to
four times too wide, so where there are enough words its groups are read each on their own, and the interval is that of the
ratio of their words to their counts. ``benchmarks/text_coverage.py`` measures how often these intervals cover.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from heartfelt.errors import require
from heartfelt.stats import _bounds
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.jackknife import group_error
from heartfelt.stats.texts.segmentation import character_share
from heartfelt.stats.texts.text import THRESHOLD, TokenizedTexts, mtld_of, texts

WINDOW = 100
DRAWS = 42
GROUPS = 50
LEAST_TEXTS = 20
"""With fewer texts the intervals of some figures cover too rarely."""
LEAST_FACTORS, LEAST_GROUPS = 10, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversity:
    """The figures of one set of texts; ``size`` is the number of words of ``vocabulary_at``."""

    texts: int
    without_words: int
    characters: float
    """The share of units that are characters of a script without spaces."""
    size: int
    words: Estimate
    words_per_text: Estimate
    vocabulary: Estimate
    vocabulary_at: Estimate
    entropy: Estimate
    type_token_ratio: Estimate
    mattr: Estimate
    mtld: Estimate
    hdd: Estimate

    @property
    def unit(self) -> str:
        """What was counted: words, characters, or both."""
        if self.characters == 0:
            return "words"
        return "characters" if self.characters == 1 else "words and characters"


MEASURES: dict[str, str] = {
    "words": "words",
    "words_per_text": "words per text",
    "vocabulary": "vocabulary",
    "vocabulary_at": "vocabulary at equal size",
    "entropy": "entropy (bits)",
    "type_token_ratio": "type-token ratio",
    "mattr": "MATTR",
    "mtld": "MTLD",
    "hdd": "HD-D",
}
"""The measures and what tables call them."""
_SHARES = {"type_token_ratio", "mattr", "hdd"}


def diversity(
    sentences: Sequence[str],
    *,
    window: int = WINDOW,
    draws: int = DRAWS,
    size: int | None = None,
    confidence: float = 0.95,
) -> Diversity:
    """All figures of a set of texts; ``size`` words for ``vocabulary_at``, by default all of them."""
    require(window >= 1, f"A window of {window} words is empty.", "Use a window of 100 words.")
    require(draws >= 1, f"HD-D cannot draw {draws} words.", "Draw 42 words.")
    coded, kinds = texts(sentences)
    total = int(coded.tokens.size)
    size = total if size is None else size
    sheet = _Figures(kinds, window, draws, size)
    values = sheet.values(coded.tokens, coded.size)
    groups = _groups(coded)
    values_without = np.array([sheet.values(*_without(coded, *ends)) for ends in groups])
    counts = {"texts": coded.size, "words": total}
    estimates = {}
    for index, name in enumerate(MEASURES):
        if (reason := _why_missing(name, values[index], coded.size, total, sheet)) is not None:
            estimates[name] = Estimate.missing(reason, MEASURES[name], counts)
            continue
        value = total if name == "words" else float(values[index])
        point_estimate = Estimate(value=value, method=MEASURES[name], counts=counts)
        estimates[name] = _with_interval(
            point_estimate, name, values[index], values_without[:, index], groups, confidence
        )
    estimates["mtld"] = _mtld_interval(estimates["mtld"], coded, kinds, confidence)
    empty = int(np.count_nonzero(coded.lengths == 0))
    return Diversity(
        texts=coded.size, without_words=empty, characters=character_share(sentences), size=size, **estimates
    )


def expected_types(counts: Ints, sample_size: int) -> float:
    """How many different words are expected among ``drawn`` words without replacement; ``counts`` is how often each occurs."""
    from scipy.special import gammaln

    total = int(counts.sum())
    often, words = np.unique(counts[counts > 0], return_counts=True)
    other_words = total - often
    with np.errstate(invalid="ignore"):
        # The chance that a word is not drawn is hypergeometric; on the log scale no factorial overflows.
        none = gammaln(other_words + 1.0) - gammaln(other_words - sample_size + 1.0)
    none = none - (math.lgamma(total + 1.0) - math.lgamma(total - sample_size + 1.0))
    return float(
        words @ np.where(other_words >= sample_size, 1.0 - np.exp(np.where(other_words >= sample_size, none, 0.0)), 1.0)
    )


@dataclass(frozen=True, slots=True)
class _Figures:
    kinds: int
    window: int
    draws: int
    size: int

    def values(self, tokens: Ints, number: int) -> Floats:
        """The measures of ``number`` texts in the order of ``MEASURES``, the words as words per text; NaN where there is none."""
        from heartfelt.stats.texts._kernels_text import window_ratios

        total = tokens.size
        if not total or not number:
            return np.full(len(MEASURES), np.nan)
        counts = np.bincount(tokens, minlength=self.kinds)
        some = counts[counts > 0].astype(np.float64)
        one_text = TokenizedTexts(tokens, np.array([0, total]), np.zeros(1, np.int64))
        return np.array([
            total / number,
            total / number,
            some.size,
            expected_types(counts, min(self.size, total)),
            abs(math.log2(total) - float(some @ np.log2(some)) / total),
            some.size / total,
            window_ratios(tokens, self.kinds, self.window) if total >= self.window else np.nan,
            mtld_of(one_text, self.kinds, THRESHOLD)[0],
            expected_types(counts, self.draws) / self.draws if total >= self.draws else np.nan,
        ])  # fmt: skip


def _groups(coded: TokenizedTexts, most: int = GROUPS) -> list[tuple[int, int]]:
    """The first and last text of each group that is left out in turn."""
    return list(pairwise(np.linspace(0, coded.size, min(coded.size, most) + 1).round().astype(int).tolist()))


def _without(coded: TokenizedTexts, first: int, last: int) -> tuple[Ints, int]:
    tokens = np.concatenate([coded.tokens[: coded.starts[first]], coded.tokens[coded.starts[last] :]])
    return tokens, coded.size - (last - first)


def _why_missing(name: str, value: float, number: int, total: int, sheet: _Figures) -> str | None:
    if not total:
        return "no texts" if not number else "the texts have no words"
    if name == "vocabulary_at" and total < sheet.size:
        return f"{total:,} words, fewer than the {sheet.size:,} asked for"
    if math.isfinite(value):
        return None
    needed = sheet.window if name == "mattr" else sheet.draws
    return f"{total:,} words, fewer than the {needed:,} it is computed over"


def _with_interval(
    point_estimate: Estimate,
    name: str,
    value: float,
    values_without: Floats,
    groups: Sequence[tuple[int, int]],
    confidence: float,
) -> Estimate:
    number = point_estimate.counts["texts"]
    if number < LEAST_TEXTS:
        return point_estimate.without_interval(f"fewer than {LEAST_TEXTS} texts")
    if not np.isfinite(values_without).all():
        return point_estimate.without_interval("too few words once some texts are left out")
    error = group_error(value, values_without, np.array([last - first for first, last in groups]))
    if error <= 1e-9 * abs(value):
        return point_estimate.without_interval("leaving out texts does not change it")
    half = _bounds.t_quantile(confidence, len(groups) - 1) * error
    times = number if name == "words" else 1
    low, high = max(value - half, 0.0) * times, (value + half) * times
    how = "texts" if len(groups) == number else f"{len(groups)} groups of consecutive texts"
    high = min(high, 1.0) if name in _SHARES else high
    return point_estimate.with_interval(low, high, f"jackknife over {how}, Student's t", confidence)


def _mtld_interval(jackknifed: Estimate, coded: TokenizedTexts, kinds: int, confidence: float) -> Estimate:
    """The interval of MTLD from groups of texts that are each read on their own; as it is where they would be too short."""
    number, value = coded.size, jackknifed.value
    most = 0 if value is None else int(coded.tokens.size / value / LEAST_FACTORS)
    if value is None or number < LEAST_TEXTS or min(most, number) < LEAST_GROUPS:
        return jackknifed
    groups = _groups(coded, min(most, GROUPS))
    starts = coded.starts[[0, *(last for _, last in groups)]]
    parts = TokenizedTexts(coded.tokens, starts, np.arange(len(groups)))
    lengths = parts.lengths.astype(np.float64)
    factors = lengths / np.maximum(mtld_of(parts, kinds, THRESHOLD), 1.0) if lengths.all() else np.zeros(1)
    if not factors.all():
        return jackknifed
    residuals = lengths - lengths.sum() / factors.sum() * factors
    error = math.sqrt(len(groups) / (len(groups) - 1) * float(residuals @ residuals)) / float(factors.sum())
    half = _bounds.t_quantile(confidence, len(groups) - 1) * error
    how = f"ratio over {len(groups)} groups of consecutive texts, Student's t"
    return jackknifed.with_interval(max(value - half, 0.0), value + half, how, confidence)


def compared(
    corpora: Mapping[str, Sequence[str]], *, window: int = WINDOW, draws: int = DRAWS, confidence: float = 0.95
) -> dict[str, Diversity]:
    """The figures of several sets of texts, their vocabulary also at the size of the smallest that has words."""
    sizes = {name: int(texts(corpus)[0].tokens.size) for name, corpus in corpora.items()}
    size = min((size for size in sizes.values() if size), default=0)
    return {
        name: diversity(corpus, window=window, draws=draws, size=size, confidence=confidence)
        for name, corpus in corpora.items()
    }
