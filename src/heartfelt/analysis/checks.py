"""What can make all other figures misleading: constant raters, questions without variation, ratings asked for by answer.

A rater is *constant* who gave one and the same answer to at least five stimuli under a question and varied under none.
Whether the number of ratings of an item depends on its answers is tested per question (``stats.inference.count_dependence``),
with Holm's correction over all tests at 1%: in at most one honest study of a hundred does any of them speak up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import polars as pl

from heartfelt.analysis.failures import Failed, attempt
from heartfelt.analysis.material import Material, QuestionData
from heartfelt.serialization import to_json
from heartfelt.stats.inference import CountDependence, count_dependence, holm

LEAST_ANSWERS = 5
CONFIDENCE = 0.99
KINDS = ("answers", "disagreement")


@dataclass(frozen=True, slots=True)
class Checks:
    """Constant raters, questions whose answers are all equal, and whether counts depend on answers."""

    constant_raters: tuple[str, ...]
    raters_judged: int
    constant_questions: tuple[str, ...]
    ratings_per_item: Mapping[str, Mapping[str, Any]]
    """By question: both tests with their corrected p-value, or why there is none."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "constant_raters": list(self.constant_raters),
            "raters_judged": self.raters_judged,
            "constant_questions": list(self.constant_questions),
            "ratings_per_item": {name: dict(found) for name, found in self.ratings_per_item.items()},
        }


def checks(material: Material) -> Checks:
    """Look for what can mislead."""
    answered = [one for one in material.questions if one.ratings.height]
    constant, judged = _constant_raters(answered)
    flat = [one.id for one in answered if one.ratings.height > 1 and one.ratings["value"].n_unique() == 1]
    return Checks(tuple(constant), judged, tuple(flat), _counts(material))


def _constant_raters(questions: list[QuestionData]) -> tuple[list[str], int]:
    parts = [
        one.ratings.filter("known")
        .group_by("rater")
        .agg(pl.len().alias("n"), pl.col("value").n_unique().alias("answers"))
        for one in questions
    ]
    if not parts:
        return [], 0
    found = pl.concat(parts).group_by("rater").agg(pl.max("n"), pl.max("answers"))
    judged = found.filter(pl.col("n") >= LEAST_ANSWERS)
    return judged.filter(pl.col("answers") == 1)["rater"].sort().to_list(), judged.height


def _counts(material: Material) -> dict[str, dict[str, Any]]:
    facts = pl.concat(
        [one.items.select("stimulus", "system", "intent") for one in material.questions]
        or [pl.DataFrame(schema=dict.fromkeys(("stimulus", "system", "intent"), pl.String))]
    ).unique("stimulus")
    out: dict[str, dict[str, Any]] = {}
    for one in material.questions:
        mine = material.answers.filter(pl.col("question") == one.id)
        if not mine.height:
            continue
        made = attempt(lambda one=one, mine=mine: _tested(one, mine, facts))  # type: ignore[misc]  # bound now
        out[one.id] = (
            {kind: {"p": None, "why_missing": made.why} for kind in KINDS}
            if isinstance(made, Failed)
            else cast("dict[str, Any]", to_json(made))
        )
    _correct(out)
    return out


def _tested(one: QuestionData, mine: pl.DataFrame, facts: pl.DataFrame) -> CountDependence:
    joined = mine.join(facts, on="stimulus", how="left", maintain_order="left")
    cell = joined.select(
        pl.concat_str(pl.col("system").fill_null(""), pl.col("intent").fill_null(""), separator="\x1f")
    ).to_series()
    rater = joined["rater"] if joined["known"].all() else None
    return count_dependence(rater, joined["stimulus"], joined["value"], cell=cell, nominal=not one.numbers)


def _correct(tests: dict[str, dict[str, Any]]) -> None:
    """Holm's correction over all questions and both tests."""
    places = [(name, kind) for name in tests for kind in KINDS]
    held = holm([tests[name][kind]["p"] for name, kind in places], confidence=CONFIDENCE)
    for (name, kind), p, significant in zip(places, held.adjusted, held.significant, strict=True):
        tests[name][kind] |= {"p_corrected": p, "significant": bool(significant)}
