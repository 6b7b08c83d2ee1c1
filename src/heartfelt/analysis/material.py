"""A snapshot laid out for analysis: for each question its ratings, labels, references and scale, found once.

Everything downstream works on first presentations of items that have a label, so that every figure speaks of the
same ratings. Signed deviation is the mean rating of a stimulus less its intent's reference on the question's axis;
absolute deviation is its size. Both are on the scale of the question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import polars as pl

from heartfelt.analysis.quadrant_names import Quadrants, find_quadrants
from heartfelt.labels import Labels, first_answers, labels
from heartfelt.snapshot import Snapshot
from heartfelt.study import Study

Kind: TypeAlias = Literal["conveyance", "opinion", "presence"]
Level: TypeAlias = Literal["interval", "ordinal", "nominal"]

FACTS = ("system", "intent")
MANY_QUESTIONS = 12
ABSENT = re.compile(
    r"(no|not|none|never|nothing|nobody|absent|absence|missing|false|0)(?![a-z0-9])", re.IGNORECASE
)
"""How a lowest category begins that says that something is not there."""


@dataclass(frozen=True, eq=False)
class QuestionData:
    """The ratings and labels of one question, or of all questions on one scale (its ``members``).

    ``ratings`` has rater, item, value, system, intent, cell; ``items`` one row per item with ``mean`` (the mean rating),
    n, sd, system, intent, quadrant, reference and deviation. An item is a stimulus, or a stimulus under a question when
    pooled. ``binary`` scales have two categories, whose mean is a share.
    """

    id: str
    level: Level
    categories: Mapping[float, str]
    bounds: tuple[float, float] | None
    ratings: pl.DataFrame
    items: pl.DataFrame
    why_no_raters: str | None
    members: tuple[str, ...] = ()
    too_few: str = ""
    """Where people answered but no item has enough ratings: what is missing."""

    @property
    def pooled(self) -> int:
        """How many questions were taken together; 0 for a single question."""
        return len(self.members)

    @property
    def numbers(self) -> bool:
        """Whether answers can be averaged: all but categories without an order."""
        return self.level != "nominal" or len(self.categories) == 2

    @property
    def categorical(self) -> bool:
        """Whether answers are categories."""
        return bool(self.categories)

    @property
    def asks_presence(self) -> bool:
        """Whether answers say that something is present: above a lowest category that says it is not."""
        if self.level == "nominal" and len(self.categories) > 2:
            return False
        return bool(self.categories) and bool(ABSENT.match(self.categories[min(self.categories)].strip()))

    @property
    def referenced(self) -> bool:
        """Whether stimuli have a reference to deviate from."""
        return bool(self.items["reference"].is_not_null().any())

    @property
    def why_empty(self) -> str:
        """Why there is nothing, where there is nothing."""
        return self.too_few or ("nobody answered this question" if not self.items.height else "")

    @cached_property
    def systems(self) -> list[str]:
        """The systems among the items, in the study's order."""
        return self.items["system"].drop_nulls().unique(maintain_order=True).sort().to_list()


@dataclass(frozen=True, eq=False)
class Material:
    """A snapshot laid out for analysis."""

    snapshot: Snapshot
    kind: Kind
    answers: pl.DataFrame
    labels: Labels
    questions: tuple[QuestionData, ...]
    pools: tuple[QuestionData, ...]
    quadrants: Quadrants | str
    """The quadrants, or why there are none."""

    @property
    def study(self) -> Study:
        """The study."""
        return self.snapshot.study

    @property
    def many(self) -> bool:
        """Whether there are so many questions that each gets a short treatment and the pools the long one."""
        return len(self.questions) > MANY_QUESTIONS

    @property
    def blocks(self) -> tuple[QuestionData, ...]:
        """What the long treatment is given to: the questions, or the pools where there are many questions."""
        return self.pools if self.many else self.questions


def lay_out(snapshot: Snapshot) -> Material:
    """Lay a snapshot out for analysis; probes are no part of it."""
    snapshot = snapshot.without_probes
    study = snapshot.study
    answers = first_answers(snapshot)
    made = labels(snapshot, answers=answers)
    quadrants = find_quadrants(study)
    facts = _facts(snapshot, quadrants)
    means = _means(answers, made, facts)
    kept = answers.join(means.select("stimulus", "question"), on=["stimulus", "question"], how="semi")
    kept = kept.join(facts.select("stimulus", *FACTS), on="stimulus", how="left", maintain_order="left")
    asked = [q.id for q in study.asked if study.scale_of(q.id).level != "text"]
    ratings = {str(k[0]): v for k, v in kept.partition_by("question", as_dict=True).items()}
    items = {str(k[0]): v for k, v in means.partition_by("question", as_dict=True).items()}
    questions = tuple(
        _question(study, name, ratings.get(name, kept.clear()), items.get(name, means.clear()))
        for name in asked
    )
    questions = _say_what_is_too_few(questions, answers, study.design.minimum_ratings)
    return Material(
        snapshot, kind_of(study), answers, made, questions, _pools(study, questions, kept, means), quadrants
    )


def _say_what_is_too_few(
    questions: tuple[QuestionData, ...], answers: pl.DataFrame, least: int
) -> tuple[QuestionData, ...]:
    """Tell questions nobody answered from those where no item has as many ratings as the study wants."""
    some = set(answers["question"].unique().to_list())
    why = f"no item has the {least} ratings yet that minimum_ratings asks for"
    return tuple(
        replace(one, why_no_raters=why, too_few=why) if one.id in some and not one.items.height else one
        for one in questions
    )


def kind_of(study: Study) -> Kind:
    """Which kind of study this is: two axes with references, numbers without, or categories."""
    levels = [study.scale_of(question.id).level for question in study.asked]
    axes = {
        q.axis
        for q in study.asked
        if q.axis and study.scale_of(q.id).level == "interval" and study.reference(q.axis)
    }
    if len(axes) >= 2:
        return "conveyance"
    if "interval" in levels or not set(levels) & {"ordinal", "nominal"}:
        return "opinion"
    return "presence"


def _facts(snapshot: Snapshot, quadrants: Quadrants | str) -> pl.DataFrame:
    """System, intent and quadrant of every stimulus; empty where unknown."""
    stimuli = snapshot.stimuli
    columns = [
        pl.col(name).cast(pl.String) if name in stimuli.columns else pl.lit(None, pl.String).alias(name)
        for name in FACTS
    ]
    facts = stimuli.select("stimulus", *columns)
    of_intent = {} if isinstance(quadrants, str) else dict(quadrants.of_intent)
    return facts.with_columns(
        pl.col("intent").replace_strict(of_intent, default=None, return_dtype=pl.String).alias("quadrant")
    )


def _means(answers: pl.DataFrame, made: Labels, facts: pl.DataFrame) -> pl.DataFrame:
    """One row per item that has a label or a tie, with its mean rating."""
    computed = answers.group_by("stimulus", "question").agg(pl.mean("value").alias("mean"))
    listed = made.table.select("stimulus", "question", "value", "n", "sd", "method")
    joined = listed.join(computed, on=["stimulus", "question"], how="left", maintain_order="left")
    joined = joined.with_columns(pl.coalesce("mean", "value").alias("mean"))
    return joined.join(facts, on="stimulus", how="left", maintain_order="left")


def _question(study: Study, name: str, ratings: pl.DataFrame, items: pl.DataFrame) -> QuestionData:
    question, scale = study.question(name), study.scale_of(name)
    reference = study.reference(question.axis) if question.axis else {}
    if scale.level == "nominal" and len(scale.labels()) > 2:
        reference = {}
    items = items.with_columns(
        pl.col("intent").replace_strict(reference, default=None, return_dtype=pl.Float64).alias("reference")
    )
    items = items.with_columns((pl.col("mean") - pl.col("reference")).alias("deviation"))
    level: Level = (
        "nominal" if scale.level == "nominal" else "ordinal" if scale.level == "ordinal" else "interval"
    )
    return QuestionData(
        name,
        level,
        scale.labels(),
        scale.bounds(),
        ratings.select("rater", pl.col("stimulus").alias("item"), "stimulus", "value", "known", *FACTS),
        items.rename({"stimulus": "item"}).with_columns(pl.col("item").alias("stimulus")),
        _why_no_raters(ratings, items),
    )


def _why_no_raters(ratings: pl.DataFrame, items: pl.DataFrame) -> str | None:
    if not ratings.height:
        return (
            "the source gives means, not single ratings" if items.height else "nobody answered this question"
        )
    if not ratings["known"].any():
        return "the source does not say who gave which rating"
    if not ratings["known"].all():
        return f"{int((~ratings['known']).sum()):,} ratings do not say who gave them"
    return None


def _pools(
    study: Study, questions: tuple[QuestionData, ...], kept: pl.DataFrame, means: pl.DataFrame
) -> tuple[QuestionData, ...]:
    """All questions on one scale of categories together; where there are many questions, on any scale."""
    by_scale: dict[str, list[QuestionData]] = {}
    for one in questions:
        by_scale.setdefault(study.question(one.id).scale, []).append(one)
    out = []
    for scale, members in by_scale.items():
        if len(members) < 2 or not (members[0].categorical or len(questions) > MANY_QUESTIONS):
            continue
        names = [one.id for one in members]
        item = pl.concat_str("stimulus", "question", separator="\x1f").alias("item")
        ratings = kept.filter(pl.col("question").is_in(names)).with_columns(item)
        items = means.filter(pl.col("question").is_in(names)).with_columns(item)
        nothing = pl.lit(None, pl.Float64)
        out.append(
            QuestionData(
                scale,
                members[0].level,
                members[0].categories,
                members[0].bounds,
                ratings.select("rater", "item", "stimulus", "value", "known", *FACTS, "question"),
                items.with_columns(nothing.alias("reference"), nothing.alias("deviation")),
                _why_no_raters(ratings, items),
                tuple(names),
            )
        )
    return tuple(out)
