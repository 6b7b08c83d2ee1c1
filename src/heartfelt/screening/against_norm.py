"""Rules that hold a rater's number against the panel's norm share this one way of doing so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from heartfelt.screening.norm import LEAST_RATERS, TOO_FEW, Side, Standing, evidence, standing
from heartfelt.screening.rule import MOST_EVIDENCE, Cells, Rule
from heartfelt.screening.view import RatingsView
from heartfelt.stats.triples import Floats, Ints

Sentence: TypeAlias = Callable[[int, Standing], str]
"""The words for the rater at a place of a measure."""


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """One number a rater, on a scale where careful raters scatter normally, with its sampling error.

    ``why`` says where the number is missing. ``shown`` turns numbers back into the unit a person reads.
    """

    question: str | None
    rater: Ints
    value: Floats
    error: Floats
    n: Ints
    why: Sequence[str | None]
    sentence: Sentence
    shown: Callable[[Floats], Floats] = lambda numbers: numbers


def hold(
    rule: Rule, view: RatingsView, measures: Sequence[Measure], side: Side, alpha: float
) -> pl.DataFrame:
    """The rule's table: one row per rater and measure, Bonferroni over all that could be judged."""
    judged = sum(int(np.isfinite(measure.value).sum()) for measure in measures)
    tables = [
        _table(rule, view, measure, side, alpha / max(judged, 1))
        for measure in measures
        if measure.rater.size
    ]
    return pl.concat(tables) if tables else rule.cannot("nobody gave an answer it could look at")


def _table(rule: Rule, view: RatingsView, measure: Measure, side: Side, chance: float) -> pl.DataFrame:
    known = np.isfinite(measure.value)
    why: list[str | None] = list(measure.why)
    base: dict[str, Cells] = {
        "rater": [view.raters[r] for r in measure.rater.tolist()],
        "question": [measure.question] * measure.rater.size,
        "n": measure.n,
    }
    if int(known.sum()) < LEAST_RATERS:
        why = [reason or TOO_FEW for reason in why]
        return rule.rows(**base, words=[f"Not judged: {reason}." for reason in why], why_missing=why)
    stand = standing(measure.value, measure.error, side, chance)
    p = np.where(known, stand.p, np.nan)
    words = [
        measure.sentence(place, stand) if reason is None else f"Not judged: {reason}."
        for place, reason in enumerate(why)
    ]
    return rule.rows(
        **base,
        value=measure.shown(measure.value),
        threshold=np.where(known, measure.shown(stand.limit), np.nan),
        p=p,
        flagged=known & (np.where(known, p, 1.0) < chance),
        evidence=np.where(known, evidence(p, MOST_EVIDENCE), np.nan),
        words=words,
        why_missing=why,
    )
