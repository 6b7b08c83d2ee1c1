"""A snapshot prepared for analysis: for each question its ratings, labels, references and scale, and the plane of quadrants.

Everything downstream works on first presentations of items that have a label, so that every figure is about the same ratings.
Hidden references and anchors have labels but are left out here: differences from them are there on purpose.
Signed deviation is the mean rating of a stimulus less its intent's reference on the question's axis; absolute deviation is
its size. Both are on the scale of the question. The midpoints of two scales with references divide their plane into quadrants; a
coordinate on a midline belongs to neither side.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import polars as pl

from heartfelt.analysis.findings.parts import Kind, Level
from heartfelt.labels import Labels, first_answers, labels
from heartfelt.labels.labelling import ITEM
from heartfelt.snapshot import Snapshot
from heartfelt.stats.ratings import Ratings, as_ratings
from heartfelt.study import Question, Study

FACTS = ("system", "intent")
MANY_QUESTIONS = 12
ABSENT = re.compile(r"(no|not|none|never|nothing|nobody|absent|absence|missing|false|0)(?![a-z0-9])", re.IGNORECASE)
"""How a lowest category begins that says that something is not there."""

Side = tuple[int, int]


@dataclass(frozen=True, slots=True)
class QuestionPlane:
    """Two questions as axes, their midpoints, and the quadrant of every intent that lies in one.

    ``sides`` gives each quadrant's place: (1, -1) is high on the first axis and low on the second.
    """

    axes: tuple[str, str]
    midpoints: tuple[float, float]
    sides: Mapping[str, Side]
    of_intent: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The quadrants, counterclockwise from high-high."""
        order = [(1, 1), (-1, 1), (-1, -1), (1, -1)]
        return tuple(sorted(self.sides, key=lambda name: order.index(self.sides[name])))


@dataclass(frozen=True, eq=False, kw_only=True)
class QuestionData:
    """The ratings and labels of one question, or of all questions on one scale (its ``members``).

    ``ratings`` has rater, item, value, system and intent; ``items`` one row per item with ``mean`` (the mean rating),
    n, sd, system, intent, quadrant, reference and deviation. An item is a stimulus, or a stimulus under a question
    when pooled.
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
    def numbers(self) -> bool:
        """Whether answers can be averaged: all but categories without an order; the mean of two categories is a share."""
        return self.level != "nominal" or len(self.categories) == 2

    @property
    def categorical(self) -> bool:
        """Whether answers are categories."""
        return bool(self.categories)

    @property
    def asks_presence(self) -> bool:
        """Whether answers say that something is present: above a lowest category that says it is not."""
        if not self.categories or (self.level == "nominal" and len(self.categories) > 2):
            return False
        return bool(ABSENT.match(self.categories[min(self.categories)].strip()))

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
        """The systems among the items, by name."""
        return self.items["system"].drop_nulls().unique().sort().to_list()

    @property
    def triples(self) -> tuple[pl.Series, pl.Series, pl.Series]:
        """Rater, item and value of every rating."""
        return self.ratings["rater"], self.ratings["item"], self.ratings["value"]

    @cached_property
    def coded(self) -> Ratings:
        """The same, coded once for every figure that is computed from them."""
        return as_ratings(*self.triples)

    @property
    def triples_if_known(self) -> tuple[pl.Series | None, pl.Series, pl.Series]:
        """The same, without raters where it is not known who gave which rating."""
        rater, item, value = self.triples
        return (rater if self.why_no_raters is None else None), item, value


@dataclass(frozen=True, eq=False, kw_only=True)
class AnalysisData:
    """A snapshot prepared for analysis."""

    snapshot: Snapshot
    kind: Kind
    answers: pl.DataFrame
    labels: Labels
    questions: tuple[QuestionData, ...]
    pools: tuple[QuestionData, ...]
    plane: QuestionPlane | str
    """The plane of quadrants, or why there is none."""
    aside: tuple[str, ...] = ()
    """Hidden references and anchors."""

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


def prepare(snapshot: Snapshot) -> AnalysisData:
    """Prepare a snapshot for analysis; probes are left out."""
    snapshot = snapshot.without_probes
    study = snapshot.study
    answers = first_answers(snapshot)
    item_labels = labels(snapshot, answers=answers)
    aside = _references_and_anchors(snapshot)
    answers = answers.filter(~pl.col("stimulus").is_in(aside)) if aside else answers
    plane = find_plane(study)
    facts = _facts(snapshot.stimuli, plane)
    # One row per item that has a label or a tie, with its mean rating.
    computed = answers.group_by(ITEM).agg(pl.mean("value").alias("mean"))
    means = item_labels.table.select(*ITEM, "value", "n", "sd", "method")
    means = means.filter(~pl.col("stimulus").is_in(aside)) if aside else means
    means = means.join(computed, on=ITEM, how="left", maintain_order="left")
    means = means.with_columns(pl.coalesce("mean", "value").alias("mean"))
    means = means.join(facts, on="stimulus", how="left", maintain_order="left")
    labelled = answers.join(means.select(ITEM), on=ITEM, how="semi", maintain_order="left")
    labelled = labelled.join(facts.select("stimulus", *FACTS), on="stimulus", how="left", maintain_order="left")
    questions = _questions(study, labelled, means, set(answers["question"].unique()))
    return AnalysisData(
        snapshot=snapshot,
        kind=kind_of(study),
        answers=answers,
        labels=item_labels,
        questions=questions,
        pools=_pools(study, questions, labelled, means),
        plane=plane,
        aside=tuple(aside),
    )


def _facts(stimuli: pl.DataFrame, plane: QuestionPlane | str) -> pl.DataFrame:
    """The system, intent and quadrant of every stimulus, null where it has none."""
    columns = [
        pl.col(name).cast(pl.String) if name in stimuli.columns else pl.lit(None, pl.String).alias(name)
        for name in FACTS
    ]
    of_intent = {} if isinstance(plane, str) else dict(plane.of_intent)
    quadrant = pl.col("intent").replace_strict(of_intent, default=None, return_dtype=pl.String)
    return stimuli.select("stimulus", *columns).with_columns(quadrant.alias("quadrant"))


def _questions(
    study: Study, labelled: pl.DataFrame, means: pl.DataFrame, answered: Collection[str]
) -> tuple[QuestionData, ...]:
    """Every question with values; one that was answered but has no label says that it has too few ratings."""
    ratings = {str(k[0]): v for k, v in labelled.partition_by("question", as_dict=True).items()}
    items = {str(k[0]): v for k, v in means.partition_by("question", as_dict=True).items()}
    questions = []
    for name in (q.id for q in study.asked if study.scale_of(q.id).has_values):
        data = _question(study, name, ratings.get(name, labelled.clear()), items.get(name, means.clear()))
        if name in answered and not data.items.height:
            reason = f"no item has the {study.design.minimum_ratings} ratings yet that minimum_ratings asks for"
            data = replace(data, why_no_raters=reason, too_few=reason)
        questions.append(data)
    return tuple(questions)


def _references_and_anchors(snapshot: Snapshot) -> list[str]:
    """Stimuli that were only judged as a hidden reference or an anchor: they say how the scale was used, not what systems do."""
    ratings = snapshot.scan_ratings()
    if "role" not in ratings.collect_schema():
        return []
    aside = pl.col("role").is_in(["hidden-reference", "anchor"]).fill_null(False).all()
    return ratings.group_by("stimulus").agg(aside.alias("aside")).filter("aside").collect()["stimulus"].sort().to_list()


def _referenced(study: Study) -> Iterator[tuple[str, Question]]:
    """The axes with references, each with the questions on it that are answered with numbers."""
    for question in study.asked:
        interval = study.scale_of(question.id).level == "interval"
        if question.axis and interval and study.reference(question.axis):
            yield question.axis, question


def kind_of(study: Study) -> Kind:
    """Which kind of study this is: two axes with references, numbers without, or categories."""
    levels = {study.scale_of(question.id).level for question in study.asked}
    if len({axis for axis, _ in _referenced(study)}) >= 2:
        return "conveyance"
    return "opinion" if "interval" in levels or not levels & {"ordinal", "nominal"} else "presence"


def find_plane(study: Study) -> QuestionPlane | str:
    """The plane of a study's first two axes with references, or why there is none."""
    chosen: dict[str, tuple[str, float]] = {}
    for axis, question in _referenced(study):
        limits = study.scale_of(question.id).bounds()
        if limits is None and axis not in chosen:
            return f"the scale of '{question.id}' has no ends, so no midpoint to divide it at"
        if limits is not None:
            chosen.setdefault(axis, (question.id, sum(limits) / 2))
    if len(chosen) < 2:
        return "quadrants need two questions whose axes the intents have coordinates on"
    (across, (first, middle)), (up, (second, level)) = list(chosen.items())[:2]
    side_of = _sides(study, (across, middle), (up, level))
    names = _quadrant_names(study, side_of, (across, up))
    return QuestionPlane(
        (first, second),
        (middle, level),
        {name: side for side, name in names.items()},
        {intent: names[side] for intent, side in side_of.items()},
    )


def _sides(study: Study, across: tuple[str, float], up: tuple[str, float]) -> dict[str, Side]:
    """The side of both midpoints that each intent is on; without those that have no reference or are on a midline."""
    side_of: dict[str, Side] = {}
    for intent in study.intents:
        if across[0] in intent.reference and up[0] in intent.reference:
            x, y = intent.reference[across[0]] - across[1], intent.reference[up[0]] - up[1]
            if x and y:
                side_of[intent.id] = (1 if x > 0 else -1, 1 if y > 0 else -1)
    return side_of


def _quadrant_names(study: Study, side_of: Mapping[str, Side], axes: tuple[str, str]) -> dict[Side, str]:
    """A name for each of the four quadrants: the study's group of intents where groups and quadrants are the same thing."""
    words = {1: "high", -1: "low"}
    default_names = {(x, y): f"{words[x]} {axes[0]}, {words[y]} {axes[1]}" for x, y in product(words, repeat=2)}
    groups: dict[Side, set[str]] = {}
    for intent in study.intents:
        if intent.id in side_of:
            groups.setdefault(side_of[intent.id], set()).add(intent.group or "")
    names = {side: next(iter(group)) for side, group in groups.items() if len(group) == 1}
    if len(set(names.values()) - {""}) < len(groups):
        return default_names
    return default_names | names


def _question(study: Study, name: str, ratings: pl.DataFrame, items: pl.DataFrame) -> QuestionData:
    question, scale = study.question(name), study.scale_of(name)
    reference = study.reference(question.axis) if question.axis else {}
    if scale.level == "nominal" and len(scale.labels()) > 2:
        reference = {}
    of_intent = pl.col("intent").replace_strict(reference, default=None, return_dtype=pl.Float64)
    items = items.with_columns(of_intent.alias("reference"), pl.col("stimulus").alias("item"))
    return QuestionData(
        id=name,
        level="nominal" if scale.level == "nominal" else "ordinal" if scale.level == "ordinal" else "interval",
        categories=scale.labels(),
        bounds=scale.bounds(),
        ratings=ratings.select("rater", pl.col("stimulus").alias("item"), "stimulus", "value", "known", *FACTS),
        items=items.with_columns((pl.col("mean") - pl.col("reference")).alias("deviation")),
        why_no_raters=_why_no_raters(ratings, items),
    )


def _why_no_raters(ratings: pl.DataFrame, items: pl.DataFrame) -> str | None:
    if not ratings.height:
        return "the source gives means, not single ratings" if items.height else "nobody answered this question"
    unknown = int((~ratings["known"]).sum())
    if unknown == ratings.height:
        return "the source does not say who gave which rating"
    return f"{unknown:,} ratings do not say who gave them" if unknown else None


def _pools(
    study: Study, questions: Sequence[QuestionData], labelled: pl.DataFrame, means: pl.DataFrame
) -> tuple[QuestionData, ...]:
    """All questions on one scale of categories together; where there are many questions, on any scale."""
    by_scale: dict[str, list[QuestionData]] = {}
    for question in questions:
        by_scale.setdefault(study.question(question.id).scale, []).append(question)
    out = []
    for scale, members in by_scale.items():
        first = members[0]
        if len(members) < 2 or not (first.categorical or len(questions) > MANY_QUESTIONS):
            continue
        names = [question.id for question in members]
        item = pl.concat_str("stimulus", "question", separator="\x1f").alias("item")
        ratings = labelled.filter(pl.col("question").is_in(names)).with_columns(item)
        none = pl.lit(None, pl.Float64)
        items = means.filter(pl.col("question").is_in(names)).with_columns(
            item, none.alias("reference"), none.alias("deviation")
        )
        reason = _why_no_raters(ratings, items)
        ratings = ratings.select("rater", "item", "stimulus", "value", "known", *FACTS, "question")
        pool = replace(first, id=scale, ratings=ratings, items=items, why_no_raters=reason)
        out.append(replace(pool, members=tuple(names), too_few=""))
    return tuple(out)
