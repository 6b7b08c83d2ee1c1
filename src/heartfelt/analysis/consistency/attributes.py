"""Fields of a stimulus besides its judgement (objects, style, scene …): agreement on each, and which occur with which category.

Answers come from the ratings, and from the table of fields where a source has verified values there. A stimulus has an attribute
if at least half of those who answered the field named it; a text counts as a whole, in lower case. Planted drafts and rejected
ones leave no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

import polars as pl

from heartfelt.analysis.data.material import AnalysisData
from heartfelt.analysis.findings.categories import AttributeTable, CoOccurrence, FieldAgreement
from heartfelt.analysis.findings.parts import Reliability
from heartfelt.errors import InputError
from heartfelt.stats.agreement import alpha
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.groups.contingency import association
from heartfelt.stats.inference import holm
from heartfelt.study import Question, Study
from heartfelt.study.scales.answer import NONE
from heartfelt.study.scales.scale import Tags
from heartfelt.study.scales.similarity import members

LEAST_STIMULI = 5
MOST_ATTRIBUTES = 20
TEXTS = "answers are texts, and no distance between texts is agreed on; compare them with 'heartfelt words'"
KINDS = {"interval": "numbers", "ordinal": "ordered categories", "nominal": "categories", "text": "text"}
_KEYS = ("rater", "stimulus", "question")


def has_fields(study: Study) -> bool:
    """Whether a study asks for tags, or for what a machine fills in first."""
    return any(question.machine_first or isinstance(study.scale_of(question.id), Tags) for question in study.asked)


def field_answers(material: AnalysisData) -> pl.DataFrame:
    """``rater, stimulus, question, value, answer, drafted`` of every answer that was given, first presentations only."""
    snapshot = material.snapshot
    ratings = snapshot.scan_ratings()
    names = ratings.collect_schema().names()
    if "repeat" in names:
        ratings = ratings.filter(pl.col("repeat").fill_null(0) == 0)
    answer = pl.col("answer") if "answer" in names else pl.lit(None, pl.String).alias("answer")
    drafted = pl.col("shown") == "true" if "shown" in names else pl.lit(value=False)
    rated = ratings.select(*_KEYS, "value", answer, drafted.fill_null(value=False).alias("drafted")).collect()
    fields = snapshot.fields
    if fields.height and "final" in fields.columns:
        shown = pl.col("shown") if "shown" in fields.columns else pl.lit(None, pl.String)
        asked_ids = [question.id for question in material.study.asked]
        verified = fields.filter(
            pl.col("final").is_not_null() & pl.col("field").is_in(asked_ids) & (shown.fill_null("true") != "planted")
        )
        rater = pl.col("verified_by") if "verified_by" in fields.columns else pl.lit(None, pl.String)
        verified = verified.select(
            rater.alias("rater"),
            "stimulus",
            pl.col("field").alias("question"),
            pl.lit(None, pl.Float64).alias("value"),
            pl.col("final").alias("answer"),
            (shown.fill_null("true") == "true").alias("drafted"),
        ).unique(_KEYS, keep="first", maintain_order=True)
        rated = pl.concat([rated, verified.join(rated, on=_KEYS, how="anti", nulls_equal=True, maintain_order="left")])
    answered = pl.col("value").is_not_null() | (pl.col("answer").fill_null("") != "")
    rated = rated.filter(answered & ~pl.col("stimulus").is_in(list(material.aside)))
    # Sums of distances between tags end in other digits in another order of the rows.
    rated = rated.sort("question", "stimulus", "rater", "answer", "value")
    unnamed = pl.format("\x1f{}", pl.int_range(pl.len()))
    return rated.with_columns(pl.coalesce("rater", unnamed).alias("rater"))


def field_agreement(
    material: AnalysisData, trust: Mapping[str, Reliability] | None
) -> tuple[FieldAgreement, ...] | None:
    """Agreement on every question about single stimuli; None for a study without tags and drafts."""
    study = material.study
    if not has_fields(study):
        return None
    answers = field_answers(material)
    scaled = [question for question in study.asked if study.scale_of(question.id).level != "comparison"]
    return tuple(
        _agreement(study, question, answers.filter(pl.col("question") == question.id), trust or {})
        for question in scaled
    )


def _agreement(
    study: Study, question: Question, answers: pl.DataFrame, trust: Mapping[str, Reliability]
) -> FieldAgreement:
    scale = study.scale_of(question.id)
    jaccard: Estimate | None = None
    if isinstance(scale, Tags) and answers.height:
        sets = [tuple(sorted(members(scale, text))) for text in answers["answer"].fill_null("")]
        value, jaccard = (alpha(answers["rater"], answers["stimulus"], sets, level) for level in ("masi", "jaccard"))
    else:
        value = _alpha_without_tags(study, question.id, answers, trust.get(question.id))
    return FieldAgreement(
        question=question.id,
        answers="tags" if isinstance(scale, Tags) else KINDS[scale.level],
        n_stimuli=answers["stimulus"].n_unique(),
        n_answers=answers.height,
        alpha=value,
        jaccard=jaccard,
        n_none=answers.filter(pl.col("answer").fill_null("") == NONE).height,
        n_drafted=int(answers["drafted"].sum()),
    )


def _alpha_without_tags(study: Study, name: str, answers: pl.DataFrame, trust: Reliability | None) -> Estimate:
    """Alpha at the level of the scale; from all answers where the reliability of the ratings does not have it."""
    level = study.scale_of(name).level
    if not answers.height:
        return Estimate.missing("nobody answered this question")
    if level == "text":
        return Estimate.missing(TEXTS)
    if trust is None:
        return _numbers(name, study, answers)
    value = _own_level(trust, level)
    return _numbers(name, study, answers) if value.is_missing and answers["value"].null_count() else value


def _own_level(reliability: Reliability, level: str) -> Estimate:
    return {"nominal": reliability.alpha_nominal, "ordinal": reliability.alpha_ordinal}.get(
        level, reliability.alpha_interval
    )


def _numbers(name: str, study: Study, answers: pl.DataFrame) -> Estimate:
    """Alpha of answers that are stored as texts in the table of fields."""
    scale = study.scale_of(name)

    @cache
    def read(text: str) -> float | None:
        try:
            return scale.read(text)[0]
        except InputError:
            return None

    values = [
        value if value is not None else read(text or "")
        for value, text in answers.select("value", "answer").iter_rows()
    ]
    return alpha(answers["rater"], answers["stimulus"], values, scale.level)


def attribute_tables(
    material: AnalysisData, answers: pl.DataFrame, label: pl.DataFrame, categories: tuple[str, ...]
) -> tuple[AttributeTable, ...]:
    """Each field's attributes against the categories; ``label`` has stimulus and category."""
    study = material.study
    tables = []
    for question in study.asked:
        scale = study.scale_of(question.id)
        if scale.level != "text" and not (question.machine_first and scale.codes()):
            continue
        of_question = answers.filter(pl.col("question") == question.id).join(
            label, on="stimulus", maintain_order="left"
        )
        table = _counts(question.id, of_question, _named(study, question, of_question), categories)
        if table is not None:
            tables.append(table)
    corrected = holm([cell.p_alone for table in tables for cell in table.cells])
    tested = iter(zip(corrected.adjusted, corrected.significant, strict=True))
    out = []
    for table in tables:
        cells = (replace(cell, p=p, significant=yes) for cell, (p, yes) in zip(table.cells, tested, strict=False))
        out.append(replace(table, cells=tuple(cells)))
    return tuple(out)


def _named(study: Study, question: Question, answers: pl.DataFrame) -> pl.DataFrame:
    """Everything that answers name (tags, a category, or a whole text), with its stimulus, a row each time."""
    scale = study.scale_of(question.id)
    labels = scale.labels()

    def names(value: float | None, text: str | None) -> Iterable[str]:
        if value is not None and labels:
            return [labels[value]] if value in labels else []
        if text is None or text == NONE:
            return []
        if isinstance(scale, Tags):
            return members(scale, text)
        return [" ".join(text.casefold().split()).rstrip(".")]

    different = answers.select("value", "answer").unique(maintain_order=True)
    rows = [(value, text, name) for value, text in different.iter_rows() for name in names(value, text)]
    schema = {"value": pl.Float64, "answer": pl.String, "names": pl.String}
    named = pl.DataFrame(rows, schema=schema, orient="row")
    return answers.join(named, on=["value", "answer"], nulls_equal=True, maintain_order="left").select(
        "stimulus", "names"
    )


def _counts(
    question: str, answers: pl.DataFrame, named_answers: pl.DataFrame, categories: tuple[str, ...]
) -> AttributeTable | None:
    """The attributes of one field with the number of stimuli of each category that have them."""
    by_stimulus = answers.group_by("stimulus").agg(pl.len().alias("answers"), pl.first("category"))
    named = named_answers.group_by("stimulus", "names").agg(pl.len())
    named = named.join(by_stimulus, on="stimulus", maintain_order="left").filter(2 * pl.col("len") >= pl.col("answers"))
    totals = named.group_by("names").len("stimuli").sort(["stimuli", "names"], descending=[True, False])
    # What every stimulus has goes with no category more than with another.
    telling = pl.col("stimuli").is_between(LEAST_STIMULI, by_stimulus.height - 1)
    frequent = totals.filter(telling).head(MOST_ATTRIBUTES)
    if not frequent.height:
        return None
    attributes = dict(frequent.iter_rows())
    size = dict(by_stimulus.group_by("category").len().iter_rows())
    both = {(name, category): n for name, category, n in named.group_by("names", "category").len().iter_rows()}
    cells = []
    for name, count in attributes.items():
        for category in categories:
            cell = association(both.get((name, category), 0), count, size.get(category, 0), by_stimulus.height)
            cells.append(
                CoOccurrence(
                    attribute=name,
                    category=category,
                    n_both=cell.both,
                    expected=cell.expected,
                    lift=cell.lift,
                    residual=cell.residual,
                    p_alone=cell.p,
                    p=None,
                    significant=None,
                )
            )
    return AttributeTable(
        question=question,
        n_stimuli=by_stimulus.height,
        least=LEAST_STIMULI,
        attributes=attributes,
        n_others=totals.height - frequent.height,
        by_category={category: size.get(category, 0) for category in categories},
        cells=tuple(cells),
    )
