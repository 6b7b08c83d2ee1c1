"""Longest run: the most equal answers in a row to one question.

A long run is judged against the rater's own habits, so that no style of using the scale can pass for carelessness. For
each of the rater's answers ``v``, the chance of giving ``v`` again right after ``v`` is learnt from the rest of the
sequence, without the longest run. It is a Beta distribution whose prior, worth ``PRIOR`` answers, lies at the rater's rate
over all answers or at the share of ``v``, whichever is higher; this also covers drift, and stimuli in blocks, which make
neighbours alike. The chance of a run of
``L`` or more is at most the sum over ``v`` of (runs of ``v``) times the mean of ``rate^(L - 1)``. The limit is Bonferroni
over raters and questions. A rater who never gives another answer is for the rule ``straight-lining``. Unit: answers.
Presentation order must be known. Source of the statistic: Johnson (2005), "Ascertaining the validity of individual
protocols from web-based personality inventories".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.screening.norm import evidence
from heartfelt.screening.rule import MOST_EVIDENCE, RULES, Rule, RuleOptions
from heartfelt.screening.view import RatingsView
from heartfelt.screening.words import chance
from heartfelt.stats.triples import Floats, Ints

LEAST_ANSWERS = 10
PRIOR = 4.0
ONE_RUN = "all answers are the same; see the rule straight-lining"


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Runs of equal answers in presentation order. ``owner`` is question x raters + rater; ``last`` ends a sequence."""

    owner: Ints
    level: Ints
    length: Floats
    last: np.ndarray[tuple[int], np.dtype[np.bool_]]


def runs_of(view: RatingsView) -> Runs:
    """All runs of first presentations, owner by owner."""
    rows = np.flatnonzero(view.first)
    rows = rows[np.lexsort((view.trial[rows], view.rater[rows], view.question[rows]))]
    owner = view.question[rows] * len(view.raters) + view.rater[rows]
    _, level = np.unique(view.value[rows], return_inverse=True)
    if not rows.size:
        return Runs(owner, level, np.zeros(0), np.zeros(0, dtype=bool))
    new = np.flatnonzero(np.concatenate([[True], (owner[1:] != owner[:-1]) | (level[1:] != level[:-1])]))
    length = np.diff(np.append(new, rows.size)).astype(np.float64)
    last = np.append(owner[new][1:] != owner[new][:-1], True)
    return Runs(owner[new], level[new], length, last)


def longest_runs(view: RatingsView) -> Floats:
    """For each (question, rater), the longest run of equal answers in presentation order."""
    runs = runs_of(view)
    out = np.zeros(len(view.questions) * len(view.raters))
    np.maximum.at(out, runs.owner, runs.length)
    return out.reshape(len(view.questions), len(view.raters))


def run_chances(runs: Runs, owners: int) -> Floats:
    """The chance (at most), for each owner, of a run as long as the longest, by the owner's own habits; 1 without runs."""
    from scipy.special import betaln

    out = np.zeros(owners)
    if not runs.owner.size:
        return out + 1.0
    order = np.lexsort((-runs.length, runs.owner))
    owned, first = np.unique(runs.owner[order], return_index=True)
    longest = np.zeros(owners)
    longest[owned] = runs.length[order[first]]
    spare = np.ones(runs.owner.size)
    spare[order[first]] = 0.0  # the longest run is no evidence about itself
    again, ended = spare * (runs.length - 1), spare * ~runs.last
    width = int(runs.level.max()) + 1
    key, group = np.unique(runs.owner * width + runs.level, return_inverse=True)
    of = key // width
    rate = (np.bincount(runs.owner, again, owners) + 0.5) / (
        np.bincount(runs.owner, again + ended, owners) + 1.0
    )
    answers = np.bincount(runs.owner, spare * runs.length, owners)
    share = (np.bincount(group, spare * runs.length) + 0.5) / (answers[of] + 1.0)
    expected = np.maximum(rate[of], share)
    stay = np.bincount(group, again) + PRIOR * expected
    leave = np.bincount(group, ended) + PRIOR * (1 - expected)
    log_mean = betaln(stay + longest[of] - 1, leave) - betaln(stay, leave)
    np.add.at(out, of, np.bincount(group) * np.exp(log_mean))
    out[np.bincount(runs.owner, minlength=owners) == 0] = 1.0
    return np.minimum(out, 1.0)


class LongestRun(Rule):
    """The most equal answers in a row."""

    name: ClassVar[str] = "longest-run"
    about: ClassVar[str] = "the most equal answers in a row, against the rater's own habits"
    statistic: ClassVar[str] = "longest run of equal answers"

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater and question."""
        shape = (len(view.questions), len(view.raters))
        runs = runs_of(view)
        p = run_chances(runs, shape[0] * shape[1]).reshape(shape)
        longest = longest_runs(view)
        rows = np.flatnonzero(view.first)
        owner = view.question[rows] * shape[1] + view.rater[rows]
        n = np.bincount(owner, minlength=shape[0] * shape[1]).reshape(shape)
        judged = int(((n >= LEAST_ANSWERS) & (longest < n) & view.ordered).sum())
        level = options.alpha / max(judged, 1)
        return pl.concat([self._question(view, q, (n[q], longest[q], p[q]), level) for q in range(shape[0])])

    def _question(
        self, view: RatingsView, q: int, figures: tuple[Ints, Floats, Floats], alpha: float
    ) -> pl.DataFrame:
        asked = np.flatnonzero(figures[0] > 0)
        n, longest, p = figures[0][asked], figures[1][asked], figures[2][asked]
        why = [
            _why(bool(view.ordered[rater]), count, run)
            for rater, count, run in zip(asked.tolist(), n.tolist(), longest.tolist(), strict=True)
        ]
        apply = np.array([reason is None for reason in why], dtype=bool)
        question = view.questions[q]
        words = [
            f"Gives the same answer to '{question}' {int(run)} times in a row of {int(count)}"
            f" ({chance(one)} by this rater's other answers)."
            if reason is None
            else f"Not judged: {reason}."
            for run, count, one, reason in zip(longest.tolist(), n.tolist(), p.tolist(), why, strict=True)
        ]
        return self.rows(
            rater=[view.raters[r] for r in asked.tolist()],
            question=[question] * asked.size,
            value=np.where(apply, longest, np.nan),
            p=np.where(apply, p, np.nan),
            flagged=apply & (p < alpha),
            evidence=np.where(apply, evidence(p, MOST_EVIDENCE), np.nan),
            words=words,
            n=n.astype(np.int64),
            why_missing=why,
        )


def _why(ordered: bool, n: float, longest: float) -> str | None:
    if not ordered:
        return "the order of presentation is not known"
    if n < LEAST_ANSWERS:
        return f"fewer than {LEAST_ANSWERS} answers"
    return ONE_RUN if longest == n else None


RULES.add(LongestRun.name, LongestRun())
