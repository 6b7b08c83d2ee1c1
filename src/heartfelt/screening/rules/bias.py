"""Bias: how much higher or lower a rater answers than the others do about the same stimuli.

A biased rater is not a careless one: their answers order the stimuli as well as anybody's, and labels that model
raters take the bias out. The rule reports the mean difference to the leave-one-out means, held against the panel's
norm on both sides; it adds nothing to the carelessness ranking and no policy here drops raters for it. Unit: scale
points, positive when the rater answers higher.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.screening.against_norm import Measure, hold
from heartfelt.screening.norm import Standing
from heartfelt.screening.rule import RULES, Rule, RuleOptions
from heartfelt.screening.view import RatingsView
from heartfelt.screening.words import chance, number

LEAST_ANSWERS = 5


class Bias(Rule):
    """Higher or lower than the others."""

    name: ClassVar[str] = "bias"
    about: ClassVar[str] = (
        "mean difference to the other raters, against the panel's norm; a report, not a fault"
    )
    statistic: ClassVar[str] = "mean difference to the leave-one-out means"
    careless: ClassVar[bool] = False
    error_controlled: ClassVar[bool] = False

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater and question with an order."""
        measures = [_measure(view, q) for q in range(len(view.questions)) if not view.unordered[q]]
        if not measures:
            return self.cannot("no question has answers in an order")
        return hold(self, view, measures, "both", options.alpha)


def _measure(view: RatingsView, q: int) -> Measure:
    mine = view.channels
    of_q = mine.question[mine.channel] == q
    rows = np.flatnonzero(of_q & (view.consensus.count > 0))
    asked = np.unique(mine.rater[of_q])
    rater, off = mine.rater[rows], mine.value[rows] - view.consensus.others[rows]
    n = np.bincount(rater, minlength=len(view.raters))
    mean = np.bincount(rater, off, len(view.raters)) / np.maximum(n, 1)
    squares = np.bincount(rater, (off - mean[rater]) ** 2, len(view.raters))
    error = np.sqrt(squares / np.maximum(n - 1, 1) / np.maximum(n, 1))[asked]
    n, mean = n[asked], mean[asked]
    enough = n >= LEAST_ANSWERS
    question = view.questions[q]

    def sentence(place: int, stand: Standing) -> str:
        side = "higher" if mean[place] >= 0 else "lower"
        return (
            f"Answers '{question}' {number(abs(float(mean[place])))} points {side} than the others do about the same stimuli"
            f" ({chance(float(stand.p[place]))})."
        )

    why = [
        None if ok else f"fewer than {LEAST_ANSWERS} answers to stimuli that others rated" for ok in enough
    ]
    return Measure(question, asked, np.where(enough, mean, np.nan), error, n, why, sentence)


RULES.add(Bias.name, Bias())
