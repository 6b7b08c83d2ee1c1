"""Heard: the share of trials in which the rater heard too little of the clip.

A rating's ``heard`` is the share of the clip that was played at least once, as far as the time that passed on the server
allows. A trial is short if it is below the setting ``enough``. Players and connections fail now and then, so a rater may
have a share of short trials of up to ``at_most``: the p-value is the binomial chance of as many short trials or more at
that rate, and the level is divided by the number of raters judged. Unit: share of trials. Ratings whose ``heard`` is not
known are left aside; a study that lets raters answer without listening is not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.screening.norm import evidence
from heartfelt.screening.rule import MOST_EVIDENCE, RULES, Rule, RuleOptions, Setting
from heartfelt.screening.view import RatingsView
from heartfelt.screening.words import chance
from heartfelt.stats.triples import Floats

LEAST_TRIALS = 5


class HeardRule(Rule):
    """Whether a rater listened before answering."""

    name: ClassVar[str] = "heard"
    about: ClassVar[str] = "share of trials in which too little of the clip was heard before the answer"
    statistic: ClassVar[str] = "share of trials heard too little"
    settings: ClassVar[Mapping[str, Setting]] = {
        "enough": (0.9, "the share of a clip that must have been heard"),
        "at_most": (0.1, "the share of short trials that failing players and connections may explain"),
    }

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater."""
        if view.heard is None:
            return self.cannot("it was not recorded what was heard")
        if view.study.design.listening == "free":
            return self.cannot("the study lets raters answer without listening")
        short, n = short_trials(view, view.heard, self.number(options, "enough"))
        return self._table(view, short, n, self.number(options, "at_most"), options.alpha)

    def _table(
        self, view: RatingsView, short: Floats, n: Floats, at_most: float, alpha: float
    ) -> pl.DataFrame:
        from scipy.stats import binom

        enough = n >= LEAST_TRIALS
        p = np.where(enough, binom.sf(short - 1, n, at_most), np.nan)
        limit = alpha / max(int(enough.sum()), 1)
        most = np.where(enough, binom.isf(limit, np.maximum(n, 1), at_most) / np.maximum(n, 1), np.nan)
        share = np.where(enough, short / np.maximum(n, 1), np.nan)
        why = [None if ok else f"fewer than {LEAST_TRIALS} trials with a known length" for ok in enough]
        words = [
            f"Heard too little of the clip in {int(k)} of {int(trials)} trials ({chance(float(one))} if every"
            f" {round(1 / at_most)}th trial failed by itself)."
            if reason is None
            else f"Not judged: {reason}."
            for k, trials, one, reason in zip(short, n, p, why, strict=True)
        ]
        return self.rows(
            rater=list(view.raters),
            value=share,
            threshold=most,
            p=p,
            flagged=enough & (p < limit),
            evidence=np.where(enough, evidence(p, MOST_EVIDENCE), np.nan),
            words=words,
            n=n.astype(np.int64),
            why_missing=why,
        )


def short_trials(view: RatingsView, heard: Floats, enough: float) -> tuple[Floats, Floats]:
    """For each rater, the trials in which less than ``enough`` was heard, and the trials where that is known."""
    # All questions of a trial carry the same share: the first row of each trial stands for it.
    _, first = np.unique(view.trial, return_index=True)
    rows = first[np.isfinite(heard[first])]
    n = np.bincount(view.rater[rows], minlength=len(view.raters)).astype(np.float64)
    short = np.bincount(view.rater[rows[heard[rows] < enough]], minlength=len(view.raters))
    return short.astype(np.float64), n


RULES.add(HeardRule.name, HeardRule())
