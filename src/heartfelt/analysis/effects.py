"""Which systems, intents and quadrants differ: analyses of variance, mixed models, and all pairs.

Analyses of variance are on the stimuli's mean ratings. Conveyance: signed deviation by system + intent, absolute
deviation by quadrant + system, and both by system and quadrant with their interaction. Opinion and presence: the mean
rating by system (and intent, where there are intents). Sums of squares are of type II. The mixed model is on the
ratings themselves, with raters and stimuli as crossed random effects, so its test of systems also holds for other
raters.

Pairs are compared in four ways. ``Tukey-Kramer, adjusted means`` belongs to the analysis of variance it is reported with: the
model's own error term and degrees of freedom, and means adjusted for the model's other factors and covariates (``model`` names
them all). Tukey-Kramer and Games-Howell work in a one-way layout, where every difference between intents is noise; Tukey-Kramer
pools the variance of the stimuli's scores, as many papers do, and Games-Howell gives every pair its own. All three take the
raters as fixed. The two-way jackknife takes stimuli within their intents and raters as samples, with Holm's correction over the
pairs; it marks ties in the ranking. Differences are ``a`` minus ``b``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TypeAlias

import polars as pl

from heartfelt.analysis.failures import Failed, Failures, attempt
from heartfelt.analysis.material import Material, QuestionData
from heartfelt.analysis.means import JACKKNIFE, Scores, StimulusScores
from heartfelt.analysis.results import Effect, MixedEffect, Outcome, Pair, WithoutCovariates
from heartfelt.analysis.two_way import Changes, difference, error_of, estimate, p_value
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import (
    AnovaResult,
    Pairwise,
    anova,
    games_howell,
    holm,
    marginal_means,
    mixed_model,
    tukey,
)

MOST_LEVELS = 200
MOST_GROUPS = 60
ONE_WAY = "Tukey-Kramer"
ADJUSTED = "Tukey-Kramer, adjusted means"
COMPARED = ("system", "quadrant")

Covariates: TypeAlias = Mapping[str, Mapping[str, float]]
"""A number per stimulus, by the name of the covariate."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model: an outcome by factors, their interactions, and covariates."""

    outcome: Outcome
    factors: tuple[str, ...]
    crossed: bool = False
    covariates: tuple[str, ...] = ()

    @property
    def formula(self) -> str:
        """The right-hand side, as papers write it."""
        return " + ".join([(" * " if self.crossed else " + ").join(self.factors), *self.covariates])

    def column(self, frame: pl.DataFrame) -> pl.Series:
        """The column the model explains."""
        return outcome_column(frame, self.outcome)

    def frame(self, question: QuestionData, covariates: Covariates) -> pl.DataFrame:
        """The items the model is fitted to: those that have everything it needs; none where a factor has too many levels."""
        frame = question.items.with_columns(
            pl.col("stimulus").replace_strict(dict(known), default=None, return_dtype=pl.Float64).alias(name)
            for name, known in covariates.items()
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


def models(question: QuestionData, covariates: Iterable[str] = ()) -> list[Model]:
    """The models that suit a question, given what is known of its stimuli."""
    known = {name for name in ("system", "intent", "quadrant") if question.items[name].n_unique() > 1}
    wanted: list[Model] = []
    if question.referenced:
        wanted = [
            Model("signed", ("system", "intent")),
            Model("absolute", ("quadrant", "system")),
            Model("signed", ("system", "quadrant"), True),
            Model("absolute", ("system", "quadrant"), True),
        ]
        if "quadrant" not in known:
            wanted.append(Model("absolute", ("system", "intent")))
    else:
        wanted.append(Model("value", ("system", "intent") if "intent" in known else ("system",)))
    if "system" not in known and "intent" in known:
        wanted = [Model("signed" if question.referenced else "value", ("intent",))]
    fitting = [model for model in wanted if set(model.factors) <= known]
    extra = tuple(covariates)
    return fitting + [replace(model, covariates=extra) for model in fitting if extra]


def variance_tables(material: Material, covariates: Covariates) -> tuple[Effect, ...]:
    """Every effect of every model."""
    rows: list[Effect] = []
    for question in material.questions:
        if not question.numbers or not question.items.height:
            continue
        for model in models(question, covariates):
            made = attempt(partial(_effects, question, model, covariates))
            if isinstance(made, Failed):
                made = [_no_effect(question.id, model, name, made.why) for name in model.factors]
            rows += made
    return tuple(rows)


def _no_effect(question: str, model: Model, effect: str, why: str) -> Effect:
    """An effect whose model could not be fitted."""
    gone = Estimate.missing(why, "partial eta squared")
    return Effect(question, model.outcome, model.formula, 2, effect, gone, why_missing=why)


def _effects(question: QuestionData, model: Model, covariates: Covariates) -> list[Effect]:
    frame = model.frame(question, covariates)
    if not frame.height:
        return []
    table = _table(model, frame)
    plain = _table(replace(model, covariates=()), frame) if model.covariates else None
    out = []
    for row in table.rows:
        alone = plain[row.effect] if plain is not None and row.effect not in model.covariates else None
        out.append(
            Effect(
                outcome=question.id,
                deviation=model.outcome,
                model=model.formula,
                type=2,
                effect=row.effect,
                df=(row.df, table.residual_df),
                f=row.f,
                p=row.p,
                eta_squared=row.eta_squared.value,
                eta_squared_of_total=row.eta_squared_of_total.value,
                partial_eta_squared=row.partial_eta_squared,
                omega_squared=row.omega_squared.value,
                n=frame.height,
                notes=tuple(table.notes),
                why_missing=row.why_missing,
                without_covariates=(
                    None if alone is None else WithoutCovariates(alone.f, alone.p, alone.eta_squared.value)
                ),
            )
        )
    return out


def _table(model: Model, frame: pl.DataFrame) -> AnovaResult:
    return anova(
        model.column(frame),
        {name: frame[name] for name in model.factors},
        interactions="all" if model.crossed else (),
        covariates={name: frame[name] for name in model.covariates},
    )


def mixed_tables(material: Material) -> tuple[MixedEffect, ...]:
    """The mixed model of every question answered with numbers: system and intent fixed, rater and stimulus random."""
    rows: list[MixedEffect] = []
    for question in material.questions:
        chosen = models(question) if question.level == "interval" and question.items.height else []
        if chosen:
            model = Model("value" if chosen[0].outcome == "value" else "signed", chosen[0].factors)
            made = attempt(partial(_mixed, question, model))
            rows += _no_mixed(question, chosen[0], made.why) if isinstance(made, Failed) else made
    return tuple(rows)


def _mixed_formula(model: Model) -> str:
    return f"{model.formula} + (1 | rater) + (1 | stimulus)"


def _no_mixed(question: QuestionData, model: Model, why: str) -> list[MixedEffect]:
    gone = Estimate.missing(why, "linear mixed model")
    variances = dict.fromkeys(("rater", "stimulus", "residual"), gone)
    head = (question.id, model.outcome, _mixed_formula(model))
    return [MixedEffect(*head, name, variances, why_missing=why) for name in model.factors]


def _mixed(question: QuestionData, model: Model) -> list[MixedEffect]:
    if question.why_no_raters is not None:
        return _no_mixed(question, model, question.why_no_raters)
    references = question.items.select("item", "reference")
    frame = question.ratings.join(references, on="item", how="left", maintain_order="left")
    outcome = frame["value"]
    if model.outcome == "signed":
        frame = frame.drop_nulls("reference")
        outcome = frame["value"] - frame["reference"]
    fixed = {name: frame[name] for name in model.factors}
    if any(column.n_unique() > MOST_LEVELS for column in fixed.values()):
        return _no_mixed(question, model, f"more than {MOST_LEVELS} levels")
    fitted = mixed_model(outcome, fixed, {"rater": frame["rater"], "stimulus": frame["item"]})
    return [
        MixedEffect(
            outcome=question.id,
            deviation=model.outcome,
            model=_mixed_formula(model),
            effect=row.effect,
            df=(row.df, row.df_residual),
            f=row.f,
            p=row.p,
            variances=fitted.variances,
            method=f"{fitted.method}, Satterthwaite degrees of freedom",
            n=frame.height,
            notes=tuple(fitted.notes),
            why_missing=row.why_missing,
        )
        for row in fitted.effects
    ]


def pairwise(scores: Scores, covariates: Covariates, failures: Failures) -> tuple[Pair, ...]:
    """Every pair of systems and of quadrants, for every question that can be averaged."""
    rows: list[Pair] = []
    for name, score in scores.items():
        question = score.question
        if not question.numbers or not question.items.height:
            continue
        wanted: list[tuple[Outcome, str]] = [("value", "system")]
        if question.referenced:
            wanted = [("signed", "system"), ("absolute", "system"), ("absolute", "quadrant")]
        for model in models(question, covariates):
            if model.crossed or len(model.factors) + len(model.covariates) < 2:
                continue
            for factor in [factor for factor in model.factors if factor in COMPARED]:
                where = f"pairs of {factor} in {name} ({model.outcome} ~ {model.formula})"
                rows += failures.guard(where, partial(_adjusted, question, model, factor, covariates), [])
        for outcome, factor in wanted:
            where = f"pairs of {factor} in {name} ({outcome})"
            rows += failures.guard(f"one-way {where}", partial(_one_way, question, outcome, factor), [])
            rows += failures.guard(f"jackknife {where}", partial(_jackknife, score, outcome, factor), [])
    return tuple(rows)


def model_pairs(pairs: Iterable[Pair] | None, effect: Effect) -> list[Pair]:
    """The pairs that belong to an effect of an analysis of variance: same outcome, same model, same error term."""
    key = (effect.outcome, effect.deviation, effect.effect, effect.model)
    return [
        pair
        for pair in pairs or ()
        if (pair.outcome, pair.deviation, pair.factor, pair.model) == key
        and pair.method in (ADJUSTED, ONE_WAY)
    ]


def _groups(items: pl.DataFrame, factor: str) -> list[str]:
    names = items[factor].drop_nulls().unique().sort().to_list()
    return names if 2 <= len(names) <= MOST_GROUPS else []


def _adjusted(question: QuestionData, model: Model, factor: str, covariates: Covariates) -> list[Pair]:
    frame = model.frame(question, covariates)
    if not _groups(frame, factor):
        return []
    adjusted = marginal_means(
        model.column(frame),
        {name: frame[name] for name in model.factors},
        factor,
        covariates={name: frame[name] for name in model.covariates},
    )
    return _pairs(adjusted.pairs, question.id, model.outcome, factor, model.formula)


def _one_way(question: QuestionData, outcome: Outcome, factor: str) -> list[Pair]:
    frame = question.items.drop_nulls([factor] if outcome == "value" else [factor, "deviation"])
    if not _groups(frame, factor):
        return []
    column, group = outcome_column(frame, outcome), frame[factor]
    return [
        pair
        for table in (tukey(column, group), games_howell(column, group))
        for pair in _pairs(table, question.id, outcome, factor, factor)
    ]


def _pairs(table: Pairwise, question: str, outcome: Outcome, factor: str, model: str) -> list[Pair]:
    return [
        Pair(
            *(question, outcome, factor, model, table.method, pair.a, pair.b),
            *(pair.estimate, pair.p, pair.significant, pair.df),
        )
        for pair in table.pairs
    ]


def _jackknife(score: StimulusScores, outcome: Outcome, factor: str) -> list[Pair]:
    """All pairs by the two-way jackknife, with Holm's correction."""
    names = _groups(score.question.items, factor)
    parts = {name: score.changes(score.where(factor, name), outcome) for name in names}
    known = {name: part for name, part in parts.items() if isinstance(part, Changes)}
    rows: list[tuple[str, str, Estimate]] = []
    plain: list[float | None] = []
    for a, b in combinations(known, 2):
        apart = difference(known[a], known[b])
        error = error_of(apart)
        rows.append((a, b, estimate(apart, "difference of means")))
        plain.append(None if isinstance(error, str) else p_value(apart.value, error))
    corrected = holm(plain)
    head = (score.question.id, outcome, factor, None, JACKKNIFE)
    return [
        Pair(*head, *row, p, significant, p_alone=alone)
        for row, p, alone, significant in zip(
            rows, corrected.adjusted, plain, corrected.significant, strict=True
        )
    ]
