"""The stimuli of a question as the two-way intervals take them, with the scores that are averaged over them.

An absolute deviation holds the noise of the mean rating as well: a stimulus exactly on its reference still lands beside it.
``corrected`` takes that out by simulation extrapolation (Cook and Stefanski 1994): the mean absolute deviation with the
noise variance once and one and a half times as large is known in closed form (folded normal), and a parabola through the
three points is read off at no noise. The noise variance of a stimulus is the variance of ratings within stimuli, pooled,
over its number of ratings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from heartfelt.analysis.material import QuestionData
from heartfelt.analysis.two_way import Bools, Changes, Matrix, Stimuli, mean_changes, stimuli_of
from heartfelt.stats.triples import Floats, Ints

Outcome: TypeAlias = Literal["value", "signed", "absolute", "corrected"]

NO_REFERENCE = "the stimuli have no reference to deviate from"
NO_MEAN = "the answers are categories without an order, which have no mean"
METHODS: dict[str, str] = {
    "value": "mean over stimuli of the mean rating",
    "signed": "mean over stimuli of the mean rating less its reference",
    "absolute": "mean over stimuli of the absolute deviation from the reference",
    "corrected": "mean absolute deviation less the noise of the ratings (simulation extrapolation)",
}
NO_NOISE = "the noise of the means is unknown: no stimulus has two ratings, or a spread and a count"
EXTRAPOLATION = ((0.0, 6.0), (0.5, -8.0), (1.0, 3.0))
"""Extra noise, in variances of the noise there is, and its weight in the parabola's value at -1: none at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A question's stimuli, their references, and where each belongs."""

    question: QuestionData
    data: Stimuli
    reference: Floats
    system: list[str | None]
    intent: list[str | None]
    quadrant: list[str | None]
    noise: Floats
    """Variance of each stimulus's mean from the noise of its ratings; NaN where unknown."""

    def where(self, column: str, name: str) -> Bools:
        """The stimuli of one system, intent or quadrant."""
        return np.array([value == name for value in getattr(self, column)], dtype=np.bool_)

    def changes(self, chosen: Bools, outcome: Outcome) -> Changes | str:
        """The mean of an outcome over the chosen stimuli."""
        if not self.question.numbers:
            return NO_MEAN
        if outcome == "value":
            return mean_changes(self.data, chosen, lambda mean, _: mean[:, 0])
        chosen = chosen & np.isfinite(self.reference)
        if not chosen.any():
            return NO_REFERENCE
        if outcome == "corrected" and not np.isfinite(self.noise[chosen]).all():
            return NO_NOISE

        def deviation(mean: Matrix, at: Ints) -> Floats:
            apart = mean[:, 0] - self.reference[at]
            if outcome == "corrected":
                return without_noise(apart, self.noise[at])
            return np.abs(apart) if outcome == "absolute" else apart

        return mean_changes(self.data, chosen, deviation)


def without_noise(apart: Floats, noise: Floats) -> Floats:
    """Scores whose mean is the mean absolute deviation without the noise; a single one may be negative."""
    from scipy.special import ndtr

    out = np.zeros_like(apart)
    for more, weight in EXTRAPOLATION:
        spread = np.sqrt(more * noise)
        wide = spread > 0
        z = np.divide(apart, spread, out=np.zeros_like(apart), where=wide)
        folded = spread * np.sqrt(2 / np.pi) * np.exp(-z * z / 2) + apart * (1 - 2 * ndtr(-z))
        out += weight * np.where(wide, folded, np.abs(apart))
    return out


def scored(question: QuestionData) -> Scored:
    """Lay out a question's stimuli."""
    items = question.items
    data = stimuli_of(items, [question.ratings], ["mean"], question.why_no_raters)
    reference = items["reference"].fill_null(np.nan).to_numpy().astype(np.float64)
    system, intent, quadrant = (items[name].to_list() for name in ("system", "intent", "quadrant"))
    return Scored(question, data, reference, system, intent, quadrant, _noise(question))


def _noise(question: QuestionData) -> Floats:
    """Variance of every item's mean from its ratings' noise, with one variance within items for all of them."""
    items = question.items
    known = items.select("n", "sd").cast(pl.Float64).fill_null(np.nan).to_numpy()
    n, sd = known[:, 0], known[:, 1]
    usable = np.isfinite(n) & np.isfinite(sd) & (n > 1)
    free = float((n[usable] - 1).sum())
    if not question.numbers or not usable.any() or free <= 0:
        return np.full(items.height, np.nan)
    within = float(((n[usable] - 1) * sd[usable] ** 2).sum()) / free
    return np.where(n >= 1, within / np.maximum(n, 1.0), np.nan)
