"""Identical answers: how often one trial's questions all get the same answer.

Only questions on scales with the same ends are compared, and only trials on which at least two of them were
answered. A careful rater's share depends on the questions, so it is held against the panel's norm on the logit
scale, with the binomial sampling error. Unit: share of trials. Only a high share is flagged.

A halo between questions and a coarse use of the scale are styles that raise the share. So a rater is flagged only if
beyond the norm and at ``NEARLY_ALL`` of the trials or more, where the questions are no longer told apart. A rater whose
own answers to each question would make them equal on ``BY_ITSELF`` of the trials, however they were paired, is not judged.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.screening.against_norm import Measure, hold
from heartfelt.screening.norm import Standing
from heartfelt.screening.rule import RULES, Rule, RuleOptions
from heartfelt.screening.view import RatingsView
from heartfelt.screening.words import chance, listed
from heartfelt.stats.triples import Floats

LEAST_TRIALS = 8
NEARLY_ALL = 0.9
BY_ITSELF = 0.75


class IdenticalAnswers(Rule):
    """The same answer to every question of a trial."""

    name: ClassVar[str] = "identical-answers"
    about: ClassVar[str] = "how often all questions of a trial get the same answer, against the panel's norm"
    statistic: ClassVar[str] = "share of trials with identical answers"

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater and set of questions that share a scale."""
        sets: dict[tuple[float, float], list[int]] = {}
        for q, question in enumerate(view.questions):
            ends = view.study.scale_of(question).bounds()
            if ends is not None and not view.unordered[q] and ends != (0.0, 1.0):
                sets.setdefault(ends, []).append(q)
        measures = [_measure(view, members) for members in sets.values() if len(members) > 1]
        measures = [measure for measure in measures if measure.rater.size]
        if not measures:
            return self.cannot("no two questions of a trial share a scale of more than two points")
        table = hold(self, view, measures, "high", options.alpha)
        # The shown value has half a trial added on each side; the share itself is what must be high.
        share = (pl.col("value") * (pl.col("n") + 1) - 0.5) / pl.col("n")
        return table.with_columns(pl.col("flagged") & (share >= NEARLY_ALL - 1e-9).fill_null(False))


def _measure(view: RatingsView, members: list[int]) -> Measure:
    rows = np.flatnonzero(view.first & np.isin(view.question, members))
    trial = view.trial[rows]
    new = (
        np.flatnonzero(np.concatenate([[True], trial[1:] != trial[:-1]]))
        if rows.size
        else np.zeros(0, dtype=np.int64)
    )
    value = view.value[rows]
    several = np.diff(np.append(new, rows.size)) > 1
    same = np.zeros(0, dtype=bool)
    if new.size:
        same = np.maximum.reduceat(value, new) == np.minimum.reduceat(value, new)
    owner = view.rater[rows[new]][several]
    n = np.bincount(owner, minlength=len(view.raters))
    hits = np.bincount(owner, same[several], len(view.raters))
    asked = np.flatnonzero(n)
    n, hits = n[asked], hits[asked]
    share = (hits + 0.5) / (n + 1.0)
    enough, pointless = n >= LEAST_TRIALS, _by_itself(view, members)[asked] >= BY_ITSELF
    logit = np.where(enough & ~pointless, np.log(share / (1 - share)), np.nan)
    names = listed([f"'{view.questions[q]}'" for q in members])

    def back(numbers: Floats) -> Floats:
        return 1 / (1 + np.exp(-numbers))

    def sentence(place: int, stand: Standing) -> str:
        return (
            f"Gives {names} the same answer on {int(hits[place])} of {int(n[place])} trials, where the raters' median is"
            f" {100 * float(back(np.array([stand.centre]))[0]):.0f}% ({chance(float(stand.p[place]))})."
        )

    why = [
        f"fewer than {LEAST_TRIALS} trials with several answers"
        if not ok
        else "nearly all answers to these questions are one value"
        if alone
        else None
        for ok, alone in zip(enough.tolist(), pointless.tolist(), strict=True)
    ]
    error = 1 / np.sqrt((n + 1.0) * share * (1 - share))
    return Measure(None, asked, logit, error, n, why, sentence, back)


def _by_itself(view: RatingsView, members: list[int]) -> Floats:
    """The share of trials on which each rater's answers would be equal if the questions had nothing to do with each other."""
    rows = np.flatnonzero(view.first & np.isin(view.question, members))
    levels, level = np.unique(view.value[rows], return_inverse=True)
    width, raters = max(levels.size, 1), len(view.raters)
    together = np.ones(raters * width)
    for q in members:
        mine = view.question[rows] == q
        n = np.bincount(view.rater[rows][mine], minlength=raters)
        times = np.bincount(view.rater[rows][mine] * width + level[mine], minlength=raters * width)
        # A question the rater was not asked says nothing about the others.
        together *= np.where(np.repeat(n, width) > 0, times / np.maximum(np.repeat(n, width), 1), 1.0)
    expected: Floats = together.reshape(raters, width).sum(axis=1)
    return expected


RULES.add(IdenticalAnswers.name, IdenticalAnswers())
