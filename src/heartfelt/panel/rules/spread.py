"""Spread: the standard deviation of a rater's answers to one question.

A rater who hardly moves along the scale says little. The logarithm of the spread is held against the panel's norm;
its sampling variance is 1 / (2 (n - 1)). Half a step of rounding is added to the variance (Sheppard), so a rater who
never moves has a small spread rather than none. Unit: scale points. Only a low spread is flagged.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.panel.against_norm import Measure, hold
from heartfelt.panel.norm import Standing
from heartfelt.panel.rule import RULES, Rule, RuleOptions
from heartfelt.panel.view import RatingsView
from heartfelt.panel.words import chance, number

LEAST_ANSWERS = 5


class Spread(Rule):
    """How widely a rater uses the scale."""

    name: ClassVar[str] = "spread"
    about: ClassVar[str] = "the standard deviation of a rater's answers, against the panel's norm"
    statistic: ClassVar[str] = "standard deviation of the answers"

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater and question with an order."""
        measures = [_measure(view, q) for q in range(len(view.questions)) if not view.unordered[q]]
        if not measures:
            return self.cannot("no question has answers in an order")
        return hold(self, view, measures, "low", options.level)


def _measure(view: RatingsView, q: int) -> Measure:
    rows = view.first & (view.question == q)
    rater, value = view.rater[rows], view.value[rows]
    n = np.bincount(rater, minlength=len(view.raters))
    asked = np.flatnonzero(n)
    mean = np.bincount(rater, value, len(view.raters)) / np.maximum(n, 1)
    squares = np.bincount(rater, (value - mean[rater]) ** 2, len(view.raters))
    n, variance = n[asked], squares[asked] / np.maximum(n[asked] - 1, 1)
    levels = np.unique(value)
    step = float(np.diff(levels).min()) if levels.size > 1 else 1.0
    enough = n >= LEAST_ANSWERS
    spread = np.where(enough, 0.5 * np.log(variance + step**2 / 12), np.nan)
    question = view.questions[q]

    def sentence(place: int, stand: Standing) -> str:
        return (
            f"The answers to '{question}' spread by {number(float(np.sqrt(variance[place])))} points, where the raters' median"
            f" is {number(float(np.exp(stand.centre)))} ({chance(float(stand.p[place]))})."
        )

    why = [None if ok else f"fewer than {LEAST_ANSWERS} answers" for ok in enough]
    return Measure(question, asked, spread, 1 / np.sqrt(2 * np.maximum(n - 1, 1)), n, why, sentence, np.exp)


RULES.add(Spread.name, Spread())
