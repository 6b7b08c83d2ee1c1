"""Which systems, intents and quadrants differ: analyses of variance, mixed models, and all pairs.

Analyses of variance are on the stimuli's mean ratings. Conveyance: signed deviation by system + intent, absolute
deviation by quadrant + system, and both by system and quadrant with their interaction. Opinion and presence: the mean
rating by system (and intent, where there are intents). Sums of squares are of type II. They take the raters as fixed and every
stimulus's mean as equally precise; the model of the ratings themselves (``analysis.rating_models``) does neither, and the verdict
rests on it wherever raters are known.

Pairs are compared in four ways. ``Tukey-Kramer, adjusted means`` belongs to the analysis of variance it is reported with: the
model's own error term and degrees of freedom, and means adjusted for the model's other factors and covariates (``model`` names
them all). Tukey-Kramer and Games-Howell work in a one-way layout, where every difference between intents is noise; Tukey-Kramer
pools the variance of the stimuli's scores, as many papers do, and Games-Howell gives every pair its own. All three take the
raters as fixed. The two-way jackknife takes stimuli within their intents and raters as samples, with Holm's correction over the
pairs; it marks ties in the ranking. Differences are ``a`` minus ``b``.

Covariates are numeric columns of the stimuli, or the loudness measured from the media.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import polars as pl

from heartfelt.analysis.data.material import AnalysisData, QuestionData
from heartfelt.analysis.findings.parts import AnovaEffect, Outcome, PairDifference, WithoutCovariates
from heartfelt.analysis.systems.means import JACKKNIFE, Scores, StimulusScores
from heartfelt.analysis.systems.two_way import Changes, difference, estimate, p_value
from heartfelt.errors import HeartfeltError, InputError, suggestion
from heartfelt.failures import Failed, Failures, attempt
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import AnovaResult, Pairwise, anova, games_howell, holm, marginal_means, tukey

MOST_LEVELS = 200
MOST_GROUPS = 60
ONE_WAY = "Tukey-Kramer"
ADJUSTED = "Tukey-Kramer, adjusted means"
COMPARED = ("system", "quadrant")
LOUDNESS = "loudness"

Covariates: TypeAlias = Mapping[str, Mapping[str, float]]
"""A number per stimulus, by the name of the covariate."""


@dataclass(frozen=True, slots=True)
class EffectsModel:
    """One model: an outcome by factors, their interactions, and covariates."""

    outcome: Outcome
    factors: tuple[str, ...]
    crossed: bool = False
    covariates: tuple[str, ...] = ()

    @property
    def formula(self) -> str:
        """The right-hand side, as papers write it."""
        return " + ".join([(" * " if self.crossed else " + ").join(self.factors), *self.covariates])

    def frame(self, question: QuestionData, covariates: Covariates) -> pl.DataFrame:
        """The items the model is fitted to: those that have everything it needs; none where a factor has too many levels."""
        frame = question.items.with_columns(
            pl.col("stimulus").replace_strict(dict(by_stimulus), default=None, return_dtype=pl.Float64).alias(name)
            for name, by_stimulus in covariates.items()
            if name in self.covariates
        )
        frame = frame.drop_nulls([*self.factors, *self.covariates])
        if self.outcome != "value":
            frame = frame.drop_nulls("deviation")
        too_many = any(frame[name].n_unique() > MOST_LEVELS for name in self.factors)
        return frame.clear() if too_many else frame


def outcome_column(frame: pl.DataFrame, outcome: Outcome) -> pl.Series:
    """The scores of an outcome: mean ratings, deviations, or their sizes."""
    if outcome == "value":
        return frame["mean"]
    return frame["deviation"].abs() if outcome == "absolute" else frame["deviation"]


def models(question: QuestionData, covariates: Iterable[str] = ()) -> list[EffectsModel]:
    """The models that suit a question, given what is known of its stimuli."""
    varying = {name for name in ("system", "intent", "quadrant") if question.items[name].n_unique() > 1}
    fitting = [model for model in _wanted_models(question.referenced, varying) if set(model.factors) <= varying]
    extra = tuple(covariates)
    return fitting + [replace(model, covariates=extra) for model in fitting if extra]


def _wanted_models(referenced: bool, varying: Collection[str]) -> list[EffectsModel]:
    if "system" not in varying and "intent" in varying:
        return [EffectsModel("signed" if referenced else "value", ("intent",))]
    if not referenced:
        return [EffectsModel("value", ("system", "intent") if "intent" in varying else ("system",))]
    wanted = [
        EffectsModel("signed", ("system", "intent")),
        EffectsModel("absolute", ("quadrant", "system")),
        EffectsModel("signed", ("system", "quadrant"), True),
        EffectsModel("absolute", ("system", "quadrant"), True),
    ]
    return wanted if "quadrant" in varying else [*wanted, EffectsModel("absolute", ("system", "intent"))]


def variance_tables(material: AnalysisData, covariates: Covariates) -> tuple[AnovaEffect, ...]:
    """Every effect of every model."""
    rows: list[AnovaEffect] = []
    for question in material.questions:
        if not question.numbers or not question.items.height:
            continue
        for model in models(question, covariates):
            effect_rows = attempt(_effects, question, model, covariates)
            if isinstance(effect_rows, Failed):
                gone = Estimate.missing(effect_rows.reason, "partial eta squared")
                effect_rows = [
                    AnovaEffect(
                        outcome=question.id,
                        deviation=model.outcome,
                        model=model.formula,
                        type=2,
                        effect=name,
                        partial_eta_squared=gone,
                        why_missing=effect_rows.reason,
                    )
                    for name in model.factors
                ]
            rows += effect_rows
    return tuple(rows)


def _effects(question: QuestionData, model: EffectsModel, covariates: Covariates) -> list[AnovaEffect]:
    frame = model.frame(question, covariates)
    if not frame.height:
        return []

    def table(names: tuple[str, ...]) -> AnovaResult:
        return anova(
            outcome_column(frame, model.outcome),
            {name: frame[name] for name in model.factors},
            interactions="all" if model.crossed else (),
            covariates={name: frame[name] for name in names},
        )

    variance_table = table(model.covariates)
    unadjusted = table(()) if model.covariates else None
    out = []
    for row in variance_table.rows:
        alone = unadjusted[row.effect] if unadjusted is not None and row.effect not in model.covariates else None
        out.append(
            AnovaEffect(
                outcome=question.id,
                deviation=model.outcome,
                model=model.formula,
                type=2,
                effect=row.effect,
                df=(row.df, variance_table.residual_df),
                f=row.f,
                p=row.p,
                eta_squared=row.eta_squared.value,
                eta_squared_of_total=row.eta_squared_of_total.value,
                partial_eta_squared=row.partial_eta_squared,
                omega_squared=row.omega_squared.value,
                n=frame.height,
                notes=tuple(variance_table.notes),
                why_missing=row.why_missing,
                without_covariates=(
                    None if alone is None else WithoutCovariates(alone.f, alone.p, alone.eta_squared.value)
                ),
                unequal_spread=_unequal_spread(frame, model, row.effect),
            )
        )
    return out


def _unequal_spread(frame: pl.DataFrame, model: EffectsModel, factor: str) -> float | None:
    """The p-value of equal spread between the levels of a factor (Brown and Forsythe 1974); None where it cannot be tested.

    What the other factors explain one by one is taken out first.
    """
    if factor not in COMPARED or factor not in model.factors or model.crossed:
        return None  # pairs of nothing else are compared
    score = frame.select("system", "intent", "quadrant").with_columns(
        outcome_column(frame, model.outcome).alias("score")
    )
    for other_factor in [name for name in model.factors if name != factor]:
        score = score.with_columns(pl.col("score") - pl.col("score").mean().over(other_factor))
    distances = score.with_columns((pl.col("score") - pl.col("score").median().over(factor)).abs())
    distances = distances.filter(pl.len().over(factor) > 1)
    if distances[factor].n_unique() < 2 or distances["score"].n_unique() < 2:
        return None
    return anova(distances["score"], {factor: distances[factor]}).rows[0].p


def pairwise(scores: Scores, covariates: Covariates, failures: Failures) -> tuple[PairDifference, ...]:
    """Every pair of systems and of quadrants, for every question that can be averaged."""
    rows: list[PairDifference] = []
    for name, score in scores.items():
        question = score.question
        if not question.numbers or not question.items.height:
            continue
        for model in models(question, covariates):
            rows += _model_pairs(question, model, covariates, failures)
        wanted: list[tuple[Outcome, str]] = [("value", "system")]
        if question.referenced:
            wanted = [("signed", "system"), ("absolute", "system"), ("absolute", "quadrant")]
        for outcome, factor in wanted:
            where = f"pairs of {factor} in {name} ({outcome})"
            rows += failures.guard(f"one-way {where}", [], _one_way, question, outcome, factor)
            rows += failures.guard(f"jackknife {where}", [], _jackknife, score, outcome, factor)
    return tuple(rows)


def _model_pairs(
    question: QuestionData, model: EffectsModel, covariates: Covariates, failures: Failures
) -> list[PairDifference]:
    """The pairs of a model's factors, each adjusted for its other terms; none where it has no other term."""
    rows: list[PairDifference] = []
    if model.crossed or len(model.factors) + len(model.covariates) < 2:
        return rows
    for factor in model.factors:
        if factor in COMPARED:
            where = f"pairs of {factor} in {question.id} ({model.outcome} ~ {model.formula})"
            rows += failures.guard(where, [], _adjusted, question, model, factor, covariates)
    return rows


def model_pairs(pairs: Iterable[PairDifference] | None, effect: AnovaEffect) -> list[PairDifference]:
    """The pairs that belong to an effect of an analysis of variance: same outcome, same model, same error term."""
    key = (effect.outcome, effect.deviation, effect.effect, effect.model)
    return [
        pair
        for pair in pairs or ()
        if (pair.outcome, pair.deviation, pair.factor, pair.model) == key and pair.method in (ADJUSTED, ONE_WAY)
    ]


def group_names(items: pl.DataFrame, factor: str) -> list[str]:
    """The levels of a factor, sorted; none where there is one or too many to compare."""
    names = items[factor].drop_nulls().unique().sort().to_list()
    return names if 2 <= len(names) <= MOST_GROUPS else []


def _adjusted(question: QuestionData, model: EffectsModel, factor: str, covariates: Covariates) -> list[PairDifference]:
    frame = model.frame(question, covariates)
    if not group_names(frame, factor):
        return []
    adjusted = marginal_means(
        outcome_column(frame, model.outcome),
        {name: frame[name] for name in model.factors},
        factor,
        covariates={name: frame[name] for name in model.covariates},
    )
    return pair_differences(adjusted.pairs, question.id, model.outcome, factor, model.formula)


def _one_way(question: QuestionData, outcome: Outcome, factor: str) -> list[PairDifference]:
    frame = question.items.drop_nulls([factor] if outcome == "value" else [factor, "deviation"])
    if not group_names(frame, factor):
        return []
    column, group = outcome_column(frame, outcome), frame[factor]
    return [
        pair
        for table in (tukey(column, group), games_howell(column, group))
        for pair in pair_differences(table, question.id, outcome, factor, factor)
    ]


def pair_differences(table: Pairwise, question: str, outcome: Outcome, factor: str, model: str) -> list[PairDifference]:
    """All pairs of a table of tests, with what was compared."""
    return [
        PairDifference(
            outcome=question,
            deviation=outcome,
            factor=factor,
            model=model,
            method=table.method,
            a=pair.a,
            b=pair.b,
            difference=pair.estimate,
            p=pair.p,
            significant=pair.significant,
            df=pair.df,
        )
        for pair in table.pairs
    ]


def _jackknife(score: StimulusScores, outcome: Outcome, factor: str) -> list[PairDifference]:
    """All pairs by the two-way jackknife, with Holm's correction."""
    names = group_names(score.question.items, factor)
    parts = {name: score.changes(score.where(factor, name), outcome) for name in names}
    usable = {name: part for name, part in parts.items() if isinstance(part, Changes)}
    pairs = [(a, b, difference(usable[a], usable[b])) for a, b in combinations(usable, 2)]
    uncorrected = [p_value(change) for _, _, change in pairs]
    corrected = holm(uncorrected)
    return [
        PairDifference(
            outcome=score.question.id,
            deviation=outcome,
            factor=factor,
            model=None,
            method=JACKKNIFE,
            a=a,
            b=b,
            difference=estimate(change, "difference of means"),
            p=p,
            significant=significant,
            p_alone=alone,
        )
        for (a, b, change), p, alone, significant in zip(
            pairs, corrected.adjusted, uncorrected, corrected.significant, strict=True
        )
    ]


def covariate_columns(
    snapshot: Snapshot, names: tuple[str, ...], progress: Progress | None = None
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Each covariate's number for the stimuli that have one, and notes on what is missing."""
    out: dict[str, dict[str, float]] = {}
    stimuli, notes = snapshot.stimuli, []
    for name in names:
        if name in stimuli.columns:
            if not stimuli[name].dtype.is_numeric():
                raise InputError(f"The column '{name}' of the stimuli is not a number.", "Name a numeric column.")
            column = stimuli.select("stimulus", pl.col(name).cast(pl.Float64))
            out[name] = dict(column.filter(pl.col(name).is_finite()).iter_rows())
        elif name == LOUDNESS and snapshot.source.media_root is not None:
            out[name] = loudness_of(snapshot, progress)
        else:
            raise InputError(
                f"The stimuli have no column '{name}'.", suggestion(name, [*stimuli.columns, LOUDNESS], "They have")
            )
        lost = stimuli.height - len(out[name])
        if lost:
            notes.append(f"{lost:,} of {stimuli.height:,} stimuli have no {name}; models with it leave them out.")
    return out, notes


def loudness_of(
    snapshot: Snapshot, progress: Progress | None = None, *, among: Collection[str] | None = None
) -> dict[str, float]:
    """Integrated loudness (LUFS) of every stimulus (``among`` the named ones) whose audio is available and not silent."""
    root = snapshot.source.media_root
    if root is None or "path" not in snapshot.stimuli.columns:
        return {}
    table = snapshot.stimuli.select("stimulus", "path").drop_nulls()
    rows = (table if among is None else table.filter(pl.col("stimulus").is_in(list(among)))).rows()
    measured: dict[str, float] = {}
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        values = pool.map(_loudness, [root / path for _, path in rows])
        for done, ((name, _), value) in enumerate(zip(rows, values, strict=True), 1):
            if progress is not None and done % 20 == 0:
                progress("measuring loudness", done, len(rows))
            if value is not None:
                measured[name] = value
    return measured


def _loudness(path: Path) -> float | None:
    from heartfelt.media.audio import loudness, read_audio

    try:
        audio = read_audio(path)
        return loudness(audio.samples, audio.rate).value
    except HeartfeltError:
        return None
