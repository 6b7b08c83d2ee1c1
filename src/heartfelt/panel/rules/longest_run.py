"""Longest run: the most equal answers in a row to one question.

A long run is judged by how likely it is for a rater who uses the scale as narrowly as is plausible on this panel
(``heartfelt.panel.uniformity``), not by a fixed count. Unit: answers. Presentation order must be known. Source of the
statistic: Johnson (2005), "Ascertaining the validity of individual protocols from web-based personality inventories".
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.panel.norm import LEAST_RATERS, TOO_FEW, evidence
from heartfelt.panel.rule import MOST_EVIDENCE, RULES, Rule, RuleOptions
from heartfelt.panel.uniformity import LEAST_ANSWERS, match_chances, narrow_match, run_chance
from heartfelt.panel.view import RatingsView
from heartfelt.panel.words import chance
from heartfelt.stats.triples import Floats


def longest_runs(view: RatingsView) -> Floats:
    """For each (question, rater), the longest run of equal answers in presentation order."""
    rows = np.flatnonzero(view.first)
    rows = rows[np.lexsort((view.trial[rows], view.rater[rows], view.question[rows]))]
    owner = view.question[rows] * len(view.raters) + view.rater[rows]
    out = np.zeros(len(view.questions) * len(view.raters))
    if rows.size:
        value = view.value[rows]
        new = np.flatnonzero(np.concatenate([[True], (owner[1:] != owner[:-1]) | (value[1:] != value[:-1])]))
        np.maximum.at(out, owner[new], np.diff(np.append(new, rows.size)))
    return out.reshape(len(view.questions), len(view.raters))


class LongestRun(Rule):
    """The most equal answers in a row."""

    name: ClassVar[str] = "longest-run"
    about: ClassVar[str] = (
        "the most equal answers in a row, against what a narrow but careful rater would give"
    )
    statistic: ClassVar[str] = "longest run of equal answers"

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater and question."""
        match, n = match_chances(view)
        runs = longest_runs(view)
        judged = int((np.isfinite(match) & view.ordered).sum())
        return pl.concat(
            [
                self._question(view, q, (match[q], n[q], runs[q]), options.level / max(judged, 1))
                for q in range(len(view.questions))
            ]
        )

    def _question(
        self, view: RatingsView, q: int, figures: tuple[Floats, Floats, Floats], level: float
    ) -> pl.DataFrame:
        match, n, runs = figures
        asked = np.flatnonzero(n > 0)
        narrow = narrow_match(match, n)
        nobody = None
        if narrow is None:
            many = np.isfinite(match).sum() >= LEAST_RATERS
            nobody = "nearly every rater gives one answer throughout" if many else TOO_FEW
        why = [_why(view, rater, n[rater], nobody) for rater in asked.tolist()]
        apply = np.array([reason is None for reason in why], dtype=bool)
        n, runs = n[asked], runs[asked]
        p, limit = np.ones(asked.size), np.full(asked.size, np.nan)
        if narrow is not None:
            p = run_chance(runs, n, narrow)
            limit = 1 + np.log(np.maximum(n * (1 - narrow) / level, 1.0)) / -np.log(narrow)
        question = view.questions[q]
        words = [
            f"Gives the same answer to '{question}' {int(run)} times in a row of {int(count)}"
            f" ({chance(one)} for a rater who uses the scale narrowly)."
            if reason is None
            else f"Not judged: {reason}."
            for run, count, one, reason in zip(runs.tolist(), n.tolist(), p.tolist(), why, strict=True)
        ]
        return self.rows(
            rater=[view.raters[r] for r in asked.tolist()],
            question=[question] * asked.size,
            value=np.where(apply, runs, np.nan),
            threshold=np.where(apply, limit, np.nan),
            p=np.where(apply, p, np.nan),
            flagged=apply & (p < level),
            evidence=np.where(apply, evidence(p, MOST_EVIDENCE), np.nan),
            words=words,
            n=n.astype(np.int64),
            why_missing=why,
        )


def _why(view: RatingsView, rater: int, n: float, nobody: str | None) -> str | None:
    if not view.ordered[rater]:
        return "the order of presentation is not known"
    return f"fewer than {LEAST_ANSWERS} answers" if n < LEAST_ANSWERS else nobody


RULES.add(LongestRun.name, LongestRun())
