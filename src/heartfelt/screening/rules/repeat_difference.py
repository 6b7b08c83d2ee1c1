"""Repeat difference: how far apart a rater's answers to the same stimulus lie when it is shown again.

Where the study has a repeat probe, its own limit counts: a rater with any difference above ``at_most_apart`` is
flagged, batch by batch where ratings have a ``batch`` (the rule of MusicEval). No p-value belongs to a limit set in
advance. Otherwise the square root of the mean absolute difference is held against the panel's norm. Unit: scale
points; for categories without an order, the share of answers that changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.screening.against_norm import Measure, hold
from heartfelt.screening.norm import Standing
from heartfelt.screening.rule import MOST_EVIDENCE, RULES, Rule, RuleOptions
from heartfelt.screening.view import RatingsView
from heartfelt.screening.words import chance, number
from heartfelt.stats.triples import Floats, Ints
from heartfelt.study.probe import RepeatProbe


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Absolute differences between a first answer and its repeat; ``row`` is the repeat's row."""

    row: Ints
    difference: Floats


def repeats(view: RatingsView) -> Repeats:
    """Every repeated answer with its distance from the first."""
    again = np.flatnonzero(~view.first)
    if not again.size:
        return Repeats(again, np.zeros(0))
    width, height = len(view.stimulus_names), len(view.questions)
    key = (view.rater * width + view.stimulus) * height + view.question
    firsts = np.flatnonzero(view.first)
    firsts = firsts[np.argsort(key[firsts], kind="stable")]
    place = np.minimum(np.searchsorted(key[firsts], key[again]), max(firsts.size - 1, 0))
    found = key[firsts[place]] == key[again] if firsts.size else np.zeros(again.size, dtype=bool)
    again, firsts = again[found], firsts[place[found]] if firsts.size else firsts
    difference = np.abs(view.value[again] - view.value[firsts])
    return Repeats(
        again, np.where(view.unordered[view.question[again]], difference > 0, difference).astype(np.float64)
    )


class RepeatDifference(Rule):
    """The same stimulus, twice."""

    name: ClassVar[str] = "repeat-difference"
    about: ClassVar[str] = "how far apart the answers to a repeated stimulus lie"
    statistic: ClassVar[str] = "difference between repeated answers"

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater (and batch) with repeats."""
        found = repeats(view)
        if not found.row.size:
            return self.cannot("no stimulus was shown to a rater twice")
        limits = [probe.at_most_apart for probe in view.study.probes if isinstance(probe, RepeatProbe)]
        if limits:
            return self._by_limit(view, found, min(limits))
        return hold(self, view, [_measure(view, found)], "high", options.alpha)

    def _by_limit(self, view: RatingsView, found: Repeats, limit: float) -> pl.DataFrame:
        batch = (
            [None] * found.row.size if view.batch is None else [view.batch[row] for row in found.row.tolist()]
        )
        table = (
            pl.DataFrame(
                {
                    "rater": [view.raters[r] for r in view.rater[found.row].tolist()],
                    "batch": pl.Series(batch, dtype=pl.String),
                    "difference": found.difference,
                }
            )
            .group_by("rater", "batch", maintain_order=True)
            .agg(
                pl.max("difference").alias("worst"),
                pl.len().alias("n"),
                (pl.col("difference") > limit).sum().alias("beyond"),
            )
        )
        words = [
            f"{beyond} of {n} repeated answers lie more than {limit:g} apart (the furthest {worst:g})."
            if beyond
            else f"All {n} repeated answers lie within {limit:g}."
            for worst, n, beyond in table.select("worst", "n", "beyond").iter_rows()
        ]
        flagged = (table["beyond"] > 0).to_list()
        return self.rows(
            rater=table["rater"],
            batch=table["batch"],
            value=table["worst"],
            threshold=[limit] * table.height,
            flagged=flagged,
            error_controlled=[False] * table.height,
            evidence=[MOST_EVIDENCE / 2 if one else 0.0 for one in flagged],
            words=words,
            n=table["n"],
        )


def _measure(view: RatingsView, found: Repeats) -> Measure:
    rater = view.rater[found.row]
    n = np.bincount(rater, minlength=len(view.raters))
    asked = np.flatnonzero(n)
    count = n[asked]
    mean = np.bincount(rater, found.difference, len(view.raters))[asked] / count
    # The square root steadies a number whose spread grows with its size; its error by the delta method.
    overall = float(found.difference.mean())
    within = float(np.sqrt(np.mean((found.difference - mean[np.searchsorted(asked, rater)]) ** 2)))
    error = (within / (2 * np.sqrt(overall)) if overall > 0 else 0.0) / np.sqrt(count)

    def sentence(place: int, stand: Standing) -> str:
        return (
            f"{int(count[place])} repeated answers lie {number(float(mean[place]))} apart on average, where the"
            f" raters' median is {number(stand.centre**2)} ({chance(float(stand.p[place]))})."
        )

    return Measure(None, asked, np.sqrt(mean), error, count, [None] * asked.size, sentence, np.square)


RULES.add(RepeatDifference.name, RepeatDifference())
