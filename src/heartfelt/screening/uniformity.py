"""How uniform a rater's answers are, and how uniform a careful rater's may be.

The *modal share* is the share of a rater's most frequent answer to one question. Raters use a scale more or less widely,
so the limit is not the average share but that of a plausible narrow rater: the centre, on the logit scale, of the raters
whose answers vary, plus ``NARROW`` standard deviations between them. Raters who (nearly) always give one answer are no
part of that norm, so it holds however many of them there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.screening.view import RatingsView
from heartfelt.stats.triples import Floats

NARROW = 2.33
LEAST_SPREAD = 0.75
"""The least spread between raters, in logits: styles differ at least that much."""
NEARLY_ALL = 0.95
LEAST_ANSWERS = 5


@dataclass(frozen=True, slots=True, eq=False)
class ModalAnswers:
    """For each (question, rater): how often the most frequent answer was given, which it is, and the answers in all."""

    times: Floats
    answer: Floats
    n: Floats

    @property
    def share(self) -> Floats:
        """The modal share; NaN without an answer."""
        share: Floats = np.divide(self.times, self.n, out=np.full(self.n.shape, np.nan), where=self.n > 0)
        return share

    @property
    def constant(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Where (nearly) all answers are the same, of at least ``LEAST_ANSWERS``."""
        # A hair of tolerance: 57 of 60 is 0.95.
        return (self.n >= LEAST_ANSWERS) & (self.times >= NEARLY_ALL * self.n - 1e-9)


def modal_answers(view: RatingsView) -> ModalAnswers:
    """The most frequent answer of every rater to every question, first presentations only."""
    return view.remember(("modal answers",), lambda: _modal_answers(view))


def _modal_answers(view: RatingsView) -> ModalAnswers:
    shape = (len(view.questions), len(view.raters))
    rows = np.flatnonzero(view.first)
    owner = view.question[rows] * shape[1] + view.rater[rows]
    levels, level = np.unique(view.value[rows], return_inverse=True)
    width = max(levels.size, 1)
    key, times = np.unique(owner * width + level, return_counts=True)
    order = np.lexsort((-times, key // width))
    key, times = key[order], times[order]
    owners, first = np.unique(key // width, return_index=True)
    most, answer, n = np.zeros(shape[0] * shape[1]), np.full(shape[0] * shape[1], np.nan), np.zeros(0)
    most[owners], answer[owners] = times[first], levels[key[first] % width]
    n = np.bincount(owner, minlength=shape[0] * shape[1]).astype(np.float64)
    return ModalAnswers(most.reshape(shape), answer.reshape(shape), n.reshape(shape))


def narrow_share(times: Floats, n: Floats) -> float:
    """The modal share of a plausible narrow rater, from raters whose answers vary (at least one)."""
    share = (times + 0.5) / (n + 1.0)
    logit = np.log(share / (1 - share))
    centre = float(np.median(logit))
    spread = 1.4826 * float(np.median(np.abs(logit - centre)))
    return float(1 / (1 + np.exp(-(centre + NARROW * max(spread, LEAST_SPREAD)))))
