"""Longest run: the most equal answers in a row to one question.

A long run is judged by how likely it is for a rater who uses the scale as narrowly as is plausible on this panel
(``heartfelt.panel.uniformity``), not by a fixed count. Unit: answers. Presentation order must be known. Source of the
statistic: Johnson (2005), "Ascertaining the validity of individual protocols from web-based personality inventories".
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.panel.norm import TOO_FEW, evidence
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
    about: ClassVar[str] = "the most equal answers in a row, against what a narrow but careful rater would give"
    statistic: ClassVar[str] = "longest run of equal answers"

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater and question."""
        match, n = match_chances(view)
        runs = longest_runs(view)
        judged = int((np.isfinite(match) & view.ordered).sum())
        parts = []
        for q, question in enumerate(view.questions):
            asked = np.flatnonzero(n[q] > 0)
            narrow = narrow_match(match[q], n[q])
            why = np.full(asked.size, None, dtype=object)
            why[n[q][asked] < LEAST_ANSWERS] = f"fewer than {LEAST_ANSWERS} answers"
            why[~view.ordered[asked]] = "the order of presentation is not known"
            p = np.full(asked.size, np.nan)
            limit = np.full(asked.size, np.nan)
            if narrow is None:
                nobody = "nearly every rater gives one answer throughout" if np.isfinite(match[q]).sum() >= 5 else TOO_FEW
                why[np.equal(why, None)] = nobody
            else:
                p = run_chance(runs[q][asked], n[q][asked], narrow)
                room = np.maximum(n[q][asked] * (1 - narrow) * judged / options.level, 1.0)
                limit = 1 + np.log(room) / -np.log(narrow)
            apply = np.equal(why, None)
            flagged = apply & (p * judged < options.level)
            words = [
                f"Gives the same answer to '{question}' {int(run)} times in a row of {int(count)}"
                f" ({chance(one)} for a rater who uses the scale narrowly)." if ok else f"Not judged: {reason}."
                for run, count, one, ok, reason in zip(
                    runs[q][asked], n[q][asked], p, apply, why, strict=True)
            ]
            parts.append(self.rows(
                rater=[view.raters[r] for r in asked], question=[question] * asked.size,
                value=np.where(apply, runs[q][asked], np.nan), threshold=np.where(apply, limit, np.nan),
                p=np.where(apply, p, np.nan), flagged=flagged, evidence=np.where(apply, evidence(p, MOST_EVIDENCE), np.nan),
                words=words, n=n[q][asked].astype(int), why_missing=why.tolist(),
            ))
        return pl.concat(parts) if parts else self.cannot("no question has answers with numbers")


RULES.add(LongestRun.name, LongestRun())
