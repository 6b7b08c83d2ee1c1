"""Spread: the standard deviation of a rater's answers to one question.

A rater who hardly moves along the scale says little. The logarithm of the spread is held against the panel's norm;
its sampling variance is 1 / (2 (n - 1)). Half a step of rounding is added to the variance (Sheppard), so a rater who
never moves has a small spread rather than none. Unit: scale points. Only a low spread is flagged.

A narrow use of the scale is a common style. So a low spread is flagged only where the answers are also likely to say
nothing: the posterior chance of no information (rule ``informativeness``) is at least ``LIKELY``, or the rater gives one
answer throughout (rule ``straight-lining``). Where neither can be known, a rater with a low spread is not judged.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.screening.against_norm import Measure, hold
from heartfelt.screening.norm import Standing
from heartfelt.screening.rule import RULES, Rule, RuleOptions
from heartfelt.screening.rules.informativeness import Informativeness
from heartfelt.screening.rules.straight_lining import straight_lines
from heartfelt.screening.view import RatingsView
from heartfelt.screening.words import chance, number

LEAST_ANSWERS = 5
LIKELY = 0.5
STYLE = " The answers follow the stimuli: a narrow use of the scale."
UNKNOWN = "the spread is low, which may be a style, and whether the answers follow the stimuli is not known: "


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
        table = hold(self, view, measures, "low", options.alpha)
        return self._without_styles(view, table, RuleOptions(options.alpha, options.seed))

    def _without_styles(self, view: RatingsView, table: pl.DataFrame, options: RuleOptions) -> pl.DataFrame:
        """Keep the flags of raters whose answers are likely to say nothing; the others use the scale narrowly."""
        if not table["flagged"].any():
            return table
        rule = RULES[Informativeness.name]
        assert isinstance(rule, Informativeness)
        posterior, why = rule.no_information(view, options)
        constant = straight_lines(view, options).flagged
        facts = pl.DataFrame(
            {
                "rater": list(view.raters),
                "_empty": constant | (np.nan_to_num(posterior) >= LIKELY),
                "_unknown": [
                    None if one else reason for one, reason in zip(constant.tolist(), why, strict=True)
                ],
            },
            schema={"rater": pl.String, "_empty": pl.Boolean, "_unknown": pl.String},
        )
        low, unknown = pl.col("flagged"), pl.col("_unknown").is_not_null()
        missing = pl.concat_str(pl.lit(UNKNOWN), pl.col("_unknown"))
        joined = table.join(facts, on="rater", how="left", maintain_order="left")
        joined = joined.with_columns(
            pl.when(low & unknown).then(missing).otherwise("why_missing").alias("why_missing"),
            pl.when(low & unknown)
            .then(pl.concat_str(pl.lit("Not judged: "), missing, pl.lit(".")))
            .when(low & ~pl.col("_empty"))
            .then(pl.concat_str("words", pl.lit(STYLE)))
            .otherwise("words")
            .alias("words"),
            pl.when(low & ~pl.col("_empty")).then(0.0).otherwise("evidence").alias("evidence"),
            (low & pl.col("_empty") & ~unknown).alias("flagged"),
        )
        # A row without a judgement holds no figures.
        gone = joined["why_missing"].is_not_null()
        figures = [
            pl.when(gone).then(None).otherwise(name).alias(name)
            for name in ("value", "threshold", "p", "evidence")
        ]
        return joined.with_columns(figures).select(table.columns)


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
