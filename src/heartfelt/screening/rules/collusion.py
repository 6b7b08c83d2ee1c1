"""Collusion: raters whose answers run in parallel, position by position, about different stimuli.

The method is in ``heartfelt.screening.copies``. The chance that any two independent raters are joined is at most the
level (family-wise over all pairs). Raters joined by a pair, directly or through others, share a group. Whether
answers were copied, entered twice or logged under the wrong stimuli, the numbers cannot tell. Unit: nats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.screening.copies import AlignmentOptions, Copies, parallel_pairs
from heartfelt.screening.norm import evidence
from heartfelt.screening.rule import MOST_EVIDENCE, RULES, Rule, RuleOptions, Setting
from heartfelt.screening.sequences import LEAST_TRIALS
from heartfelt.screening.view import RatingsView
from heartfelt.screening.words import chance, listed, number

NEARLY_IDENTICAL = 0.9
"""The share of equal answers from which two sequences are called nearly identical."""


class Collusion(Rule):
    """Answer sequences that run in parallel."""

    name: ClassVar[str] = "collusion"
    about: ClassVar[str] = (
        "answer sequences that match another rater's, position by position, about different stimuli"
    )
    statistic: ClassVar[str] = "best alignment score with another rater"
    settings: ClassVar[Mapping[str, Setting]] = {
        "band": (6, "largest offset, in trials, between two sequences"),
        "gap": (3.0, "price of a trial lost from one sequence, in nats"),
        "rho": (0.7, "correlation of a copy's answers"),
        "block": (5, "trials in a block of the surrogates"),
        "draws": (299, "surrogates of each sequence of a pair"),
    }

    def options(self, options: RuleOptions) -> AlignmentOptions:
        """The options of the alignment."""
        return AlignmentOptions(
            int(self.number(options, "band")),
            self.number(options, "gap"),
            self.number(options, "rho"),
            int(self.number(options, "block")),
            int(self.number(options, "draws")),
            options.alpha,
            options.seed,
        )

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater."""
        found = parallel_pairs(view, self.options(options))
        return self.cannot(found) if isinstance(found, str) else self._table(view, found)

    def _table(self, view: RatingsView, found: Copies) -> pl.DataFrame:
        index = {rater: place for place, rater in enumerate(found.rater.tolist())}
        group = {name: members for members in found.groups for name in members}
        both = [
            found.table,
            found.table.rename({"rater": "other", "other": "rater"}).select(found.table.columns),
        ]
        nearest = {
            row["rater"]: row
            for row in pl.concat(both).sort("p_adjusted", descending=True).iter_rows(named=True)
        }
        columns: dict[str, list[object]] = {
            name: [] for name in ("value", "threshold", "p", "flagged", "words", "n", "group", "why_missing")
        }
        for rater, name in enumerate(view.raters):
            place, members, pair = index.get(rater), group.get(name), nearest.get(name)
            others = [] if members is None else [other for other in members if other != name]
            why = None if place is not None else _why_not(view, rater)
            needed = found.floor if pair is None else pair["needed"]
            columns["value"].append(
                None if place is None else float(found.best[place]) if pair is None else pair["score"]
            )
            columns["threshold"].append(None if place is None else needed)
            columns["p"].append(None if pair is None else pair["p_adjusted"])
            columns["flagged"].append(members is not None)
            columns["words"].append(
                f"Not judged: {why}."
                if why
                else _sentence(others, pair, len(view.questions))
                if pair is not None and members
                else "No other rater's answers run in parallel with these."
            )
            columns["n"].append(0 if place is None else int(found.trials[place]))
            columns["group"].append(None if members is None else f"copies-{found.groups.index(members) + 1}")
            columns["why_missing"].append(why)
        p = np.array([np.nan if one is None else one for one in columns["p"]], dtype=np.float64)
        known = np.array([one is None for one in columns["why_missing"]], dtype=bool)
        weight = np.where(np.array(columns["flagged"], dtype=bool), evidence(p, MOST_EVIDENCE), 0.0)
        return self.rows(rater=list(view.raters), evidence=np.where(known, weight, np.nan), **columns)


def _why_not(view: RatingsView, rater: int) -> str:
    if not view.ordered[rater]:
        return "the order of presentation is not known"
    trials = np.unique(
        view.trial[view.edges[rater] : view.edges[rater + 1]][
            view.first[view.edges[rater] : view.edges[rater + 1]]
        ]
    )
    return f"fewer than {LEAST_TRIALS} trials" if trials.size < LEAST_TRIALS else "the answers do not vary"


def _sentence(others: list[str], pair: Mapping[str, object], questions: int) -> str:
    moved = "" if pair["first_offset"] == pair["last_offset"] == 0 else ", with small shifts"
    what = "the answers" if questions > 1 else "the answer"
    near = " (nearly identical)" if float(str(pair["equal"])) >= NEARLY_IDENTICAL else ""
    return (
        f"The answers run in parallel with those of {listed(others)}{near}, about different stimuli: with {pair['other']} they"
        f" correlate {number(float(str(pair['correlation'])))} over {pair['trials']} positions{moved}, and {what} are equal in"
        f" {100 * float(str(pair['equal'])):.0f}%, where {100 * float(str(pair['expected_equal'])):.0f}% are expected by chance"
        f" ({chance(float(str(pair['p_adjusted'])))} over all pairs)."
    )


RULES.add(Collusion.name, Collusion())
