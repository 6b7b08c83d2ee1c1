"""Agreement: the correlation of a rater's answers with the mean of everybody else's, question by question.

The mean leaves the rater out. Correlations are compared on Fisher's scale, where their sampling error is
1 / sqrt(n - 3), and held against the panel's norm: a rater is flagged who agrees much less with the others than is
usual here, which includes one who runs against them (a scale read upside down). It is a test of being unlike the
panel, not of carrying no information; see ``informativeness`` for that. Range -1 to 1.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.screening.against_norm import Measure, hold
from heartfelt.screening.norm import Standing
from heartfelt.screening.rule import RULES, Rule, RuleOptions
from heartfelt.screening.view import Bools, RatingsView
from heartfelt.screening.words import chance, number
from heartfelt.stats.triples import Floats, Ints

LEAST_ANSWERS = 6


class Agreement(Rule):
    """How a rater goes with the others."""

    name: ClassVar[str] = "agreement"
    about: ClassVar[str] = "correlation with the mean of the other raters, against the panel's norm"
    statistic: ClassVar[str] = "correlation with the leave-one-out mean"

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater and question with an order."""
        measures = [_measure(view, q) for q in range(len(view.questions)) if not view.unordered[q]]
        if not measures:
            return self.cannot("no question has answers in an order")
        return hold(self, view, measures, "low", options.alpha)


def _measure(view: RatingsView, q: int) -> Measure:
    mine = view.channels
    rows = np.flatnonzero((mine.question[mine.channel] == q) & (view.consensus.count > 0))
    asked = np.unique(mine.rater[mine.question[mine.channel] == q])
    r, n, flat_own, flat_others = correlations(
        mine.rater[rows], mine.value[rows], view.consensus.others[rows], len(view.raters)
    )
    r, n, flat_own, flat_others = r[asked], n[asked], flat_own[asked], flat_others[asked]
    why: list[str | None] = []
    for count, own, others in zip(n.tolist(), flat_own.tolist(), flat_others.tolist(), strict=True):
        if count < LEAST_ANSWERS:
            why.append(f"fewer than {LEAST_ANSWERS} answers to stimuli that others rated")
        elif own:
            why.append("all answers are the same, so they correlate with nothing")
        elif others:
            why.append("the others' means do not differ between the stimuli")
        else:
            why.append(None)
    known = np.array([reason is None for reason in why], dtype=bool)
    value = np.where(known, np.arctanh(np.clip(np.where(known, r, 0.0), -0.999, 0.999)), np.nan)
    question = view.questions[q]

    def sentence(place: int, stand: Standing) -> str:
        against = (
            " The answers run against the others', as they would on a scale read the other way round."
            if value[place] * np.sqrt(max(n[place] - 3, 1)) < -3.5
            else ""
        )
        return (
            f"The answers to '{question}' correlate {number(float(r[place]))} with the others' means, where the raters' median"
            f" is {number(float(np.tanh(stand.centre)))} ({chance(float(stand.p[place]))}).{against}"
        )

    return Measure(question, asked, value, 1 / np.sqrt(np.maximum(n - 3, 1)), n, why, sentence, np.tanh)


def correlations(rater: Ints, x: Floats, y: Floats, raters: int) -> tuple[Floats, Ints, Bools, Bools]:
    """Pearson correlation per rater (0 where a side does not vary), n, and whether each side is flat."""
    n = np.bincount(rater, minlength=raters)
    dx = x - (np.bincount(rater, x, raters) / np.maximum(n, 1))[rater]
    dy = y - (np.bincount(rater, y, raters) / np.maximum(n, 1))[rater]
    xx, yy = np.bincount(rater, dx * dx, raters), np.bincount(rater, dy * dy, raters)
    xy = np.bincount(rater, dx * dy, raters)
    flat_x, flat_y = xx < 1e-12 * np.maximum(n, 1), yy < 1e-12 * np.maximum(n, 1)
    scale = np.sqrt(xx * yy)
    r = np.divide(xy, scale, out=np.zeros(raters), where=~(flat_x | flat_y))
    return np.clip(r, -1.0, 1.0), n, flat_x, flat_y


RULES.add(Agreement.name, Agreement())
