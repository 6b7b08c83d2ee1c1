"""Figures of a study that is still being collected: reliability so far, system means, verified machine values, and what
excluding a rater would change. The dashboard shows them while ratings come in.

The variance of a system's mean has a part that more ratings reduce and one that they do not:

    V = V(stimuli) + max(V(raters) - V(ratings), 0) = fixed + shrinking,
    fixed = max(V(stimuli) - V(ratings), 0).

``fixed`` is how much the stimuli themselves differ: only more stimuli help there. ``shrinking`` falls as ratings by
further raters come in, in proportion to their number. See ``heartfelt.analysis.systems.two_way`` for the three variances.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from heartfelt.analysis.consistency.attributes import field_agreement, has_fields
from heartfelt.analysis.consistency.categories import category_balance, is_categories
from heartfelt.analysis.consistency.reliability import NO_ORDER, intraclass_correlations, question_alpha
from heartfelt.analysis.consistency.verification import drafted_field
from heartfelt.analysis.data.material import AnalysisData, QuestionData, prepare
from heartfelt.analysis.findings.categories import CategoryBalance, FieldAgreement
from heartfelt.analysis.systems.means import METHODS, stimulus_scores
from heartfelt.analysis.systems.two_way import Changes, error_of, estimate
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.verified import verified_rows
from heartfelt.stats.estimate import Estimate

ANSWER = ("rater", "stimulus", "question")
POINTS = 12
_NEEDED = "further ratings for the wanted half-width, from the parts of the variance"


# --- reliability ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReliabilityStep:
    """Alpha after so many ratings."""

    ratings: int
    alpha: Estimate = field(metadata={"flatten": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveReliability:
    """The reliability of one question, or of all questions on one scale."""

    question: str
    questions: int
    level: str
    alpha: Estimate
    icc: Estimate
    icc_mean: Estimate
    over_time: tuple[ReliabilityStep, ...]


def reliability_so_far(material: AnalysisData) -> list[LiveReliability]:
    """Every question, or every scale where there are many questions: alpha now and over time, and ICCs now."""
    rated, times = material.snapshot.scan_ratings(), None
    if "at" in rated.collect_schema().names():
        times = rated.select(*ANSWER, "at").group_by(ANSWER).agg(pl.min("at")).collect()
    out = []
    for question in material.blocks:
        ratings = question.ratings if times is None else _in_order(question, times)
        now = question_alpha(question, ratings)
        single, averaged = _single_and_averaged(question)
        out.append(
            LiveReliability(
                question=question.id,
                questions=len(question.members) or 1,
                level=question.level,
                alpha=now,
                icc=single,
                icc_mean=averaged,
                over_time=_over_time(question, ratings, now),
            )
        )
    return out


def _in_order(question: QuestionData, times: pl.DataFrame) -> pl.DataFrame:
    """The ratings of a question in the order they were given."""
    ratings = question.ratings
    if "question" not in ratings.columns:
        ratings = ratings.with_columns(pl.lit(question.id).alias("question"))
    ratings = ratings.join(times, on=ANSWER, how="left", maintain_order="left")
    return ratings.sort("at", nulls_last=True, maintain_order=True)


def _single_and_averaged(question: QuestionData) -> tuple[Estimate, Estimate]:
    """The ICC of one rating and that of the mean: two-way where it can be computed, else one-way."""
    reason = question.why_no_raters if question.numbers else NO_ORDER
    if reason is not None:
        return Estimate.missing(reason, "ICC"), Estimate.missing(reason, "ICC of the mean")
    forms = intraclass_correlations(question, 0)
    single = forms["icc1"] if forms["icc2"].is_missing else forms["icc2"]
    return single, forms["icc1k"] if forms["icc2k"].is_missing else forms["icc2k"]


def _over_time(question: QuestionData, ratings: pl.DataFrame, now: Estimate) -> tuple[ReliabilityStep, ...]:
    """Alpha after each of a dozen growing numbers of ratings; the last is now."""
    total = ratings.height
    steps = range(1, POINTS + 1) if total > 1 else ()
    return tuple(
        ReliabilityStep(size, now if size == total else question_alpha(question, ratings.head(size)))
        for size in sorted({max(2, round(total * step / POINTS)) for step in steps})
    )


# --- systems ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MeanVarianceParts:
    """The parts of the variance of a system's mean, and the critical value of its interval."""

    fixed: float
    shrinking: float
    t: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSystemMean:
    """The mean of one system under one question so far."""

    question: str
    system: str
    mean: Estimate
    stimuli: int
    ratings: int
    bounds: tuple[float, float] | None
    parts: MeanVarianceParts | None = field(metadata={"skip": True})


def system_means(material: AnalysisData) -> list[LiveSystemMean]:
    """Every system under every question: mean, interval, and the variance parts for ``ratings_needed``."""
    out = []
    for scores in map(stimulus_scores, material.blocks):
        for name in scores.question.systems:
            chosen = scores.where("system", name)
            changes = scores.changes(chosen, "value")
            size, bounds = int(np.count_nonzero(chosen)), scores.question.bounds
            ratings, parts = 0, None
            if isinstance(changes, Changes):
                ratings, parts = changes.ratings.units, _variance_parts(changes)
            mean = estimate(changes, METHODS["value"])
            out.append(
                LiveSystemMean(
                    question=scores.question.id,
                    system=name,
                    mean=mean,
                    stimuli=size,
                    ratings=ratings,
                    bounds=bounds,
                    parts=parts,
                )
            )
    return out


def _variance_parts(changes: Changes) -> MeanVarianceParts | None:
    error = error_of(changes)
    if isinstance(error, str):
        return None
    from scipy.special import stdtrit

    fixed = max(changes.stimuli.variance - changes.ratings.variance, 0.0)
    return MeanVarianceParts(fixed, error.value**2 - fixed, float(stdtrit(error.df, 0.975)))


def ratings_needed(row: LiveSystemMean, precision: float) -> Estimate:
    """How many more ratings of the system's stimuli bring the half-width of its interval down to ``precision``."""
    mean, parts = row.mean, row.parts
    counts = {"ratings": row.ratings, "stimuli": row.stimuli}
    if parts is None:
        reason = mean.why_missing or (mean.why_no_interval if mean.low is None else None)
        return Estimate.missing(reason or "there is no interval yet", _NEEDED, counts)
    if mean.low is not None and mean.high is not None and (mean.high - mean.low) / 2 <= precision:
        return Estimate(value=0.0, method=_NEEDED, counts=counts)
    variance_left = (precision / parts.t) ** 2 - parts.fixed
    if variance_left <= 0:
        stimuli = math.ceil(row.stimuli * parts.fixed / (precision / parts.t) ** 2) + 1
        half_width = parts.t * math.sqrt(parts.fixed)
        return Estimate.missing(
            f"the stimuli differ too much: any number of ratings leaves at least ±{half_width:.2f};"
            f" at least {stimuli} stimuli are needed",
            _NEEDED,
            counts,
        )
    more = math.ceil(max(row.ratings * (parts.shrinking / variance_left - 1.0), 1.0))
    return Estimate(value=float(more), method=_NEEDED, counts=counts)


# --- answers without a mean -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCategories:
    """How the labels under a question answered with categories spread so far."""

    question: str
    balance: CategoryBalance = field(metadata={"flatten": True})


def category_shares(material: AnalysisData) -> list[LiveCategories]:
    """Every question answered with one of three or more categories without an order."""
    return [
        LiveCategories(question=question.id, balance=category_balance(question))
        for question in material.questions
        if is_categories(material.study, question) and question.items.height
    ]


def field_agreements(material: AnalysisData) -> list[FieldAgreement]:
    """Agreement on the questions that have no reliability of values: tags and texts."""
    if not has_fields(material.study):
        return []
    rows = field_agreement(material, None) or ()
    return [row for row in rows if row.answers in {"tags", "text"}]


# --- the effect of excluding a rater ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EstimateChange:
    """An estimate as it is and as it would be."""

    question: str
    system: str | None
    before: Estimate | None
    after: Estimate | None


@dataclass(frozen=True, slots=True)
class ExclusionEffect:
    """What excluding or restoring a rater would do to the result."""

    ratings: dict[str, int]
    alpha: tuple[EstimateChange, ...]
    systems: tuple[EstimateChange, ...]
    strengths: tuple[EstimateChange, ...] = ()


def exclusion_effect(snapshot: Snapshot, before: pl.DataFrame, after: pl.DataFrame) -> ExclusionEffect:
    """Alpha of every question, and the mean and strength of every system, under the ratings ``before`` and ``after``."""
    alphas, means, strengths = [], [], []
    for ratings in (before, after):
        material = prepare(Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=ratings))
        alphas.append({block.id: question_alpha(block, block.ratings) for block in material.blocks})
        means.append({(row.question, row.system): row.mean for row in system_means(material)})
        strengths.append(material.labels.system_strengths)
    return ExclusionEffect(
        {"before": before.height, "after": after.height},
        tuple(EstimateChange(name, None, alphas[0][name], alphas[1][name]) for name in alphas[0]),
        _changes(*means),
        _changes(*strengths),
    )


def _changes(
    before: Mapping[tuple[str, str], Estimate], after: Mapping[tuple[str, str], Estimate]
) -> tuple[EstimateChange, ...]:
    return tuple(EstimateChange(*key, before.get(key), after.get(key)) for key in sorted({*before, *after}))


# --- machine values ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineField:
    """The verdicts on one question that a machine filled in first. Shares are over verifications."""

    question: str
    verified: int
    """Verifications of the machine's own value."""
    hidden: int
    """Answers given without seeing the machine's value."""
    accepted: Estimate
    fixed: Estimate
    rejected: Estimate
    planted_accepted: Estimate
    """Values that were wrong on purpose and were accepted all the same."""
    accuracy: Estimate
    """Mean similarity of the machine's values to what people answer without seeing them."""
    anchoring: Estimate
    """How much nearer to the machine's value answers are that were given in sight of it."""
    time: Estimate
    """Time with the machine's value in sight as a multiple of that without."""


def machine_fields(snapshot: Snapshot, questions: Sequence[str], left_out: Sequence[str] = ()) -> list[MachineField]:
    """Every question of ``questions``, without the raters ``left_out``: the figures of the report's section on drafts."""
    rows = verified_rows(snapshot).filter(~pl.col("verified_by").is_in(list(left_out)))
    out = []
    for question in questions:
        field = drafted_field(rows.filter(pl.col("field") == question), question)
        verdicts = field.verdicts
        out.append(
            MachineField(
                question=question,
                verified=verdicts.verified,
                hidden=field.hidden,
                accepted=verdicts.accepted,
                fixed=verdicts.fixed,
                rejected=verdicts.rejected,
                planted_accepted=field.missed,
                accuracy=field.accuracy,
                anchoring=field.anchoring.difference,
                time=field.seconds.difference,
            )
        )
    return out
