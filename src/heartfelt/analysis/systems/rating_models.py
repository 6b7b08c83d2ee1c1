"""The model of the ratings behind the verdict on systems: raters, stimuli and raters' tastes for systems are samples.

    rating ~ system + intent + (1 | rater) + (1 | stimulus) + (1 | rater:system)

Every rating counts once, so stimuli with more ratings weigh more, and fixed effects are tested against what the samples leave in
doubt (``stats.inference.mixed``: restricted maximum likelihood, Satterthwaite degrees of freedom, pairs by Tukey). A taste is
what a rater thinks of a system beyond what everybody does. Without it in the model, the preferences of the people who happened
to rate would count as evidence about the systems. Where no rater rated two systems, or none rated two stimuli of one system,
tastes cannot be separated from raters or from the residual, and the row says so; they are then part of that variation, and the test
still takes them into account.

A table too large for the model (``MOST_WORK``) has a Wald F test of the systems' means instead, with the covariance of the
two-way jackknife (``analysis.two_way``), which takes the same samples into account and is linear in the ratings.

Two systems are equivalent within a smallest effect where both one-sided tests of their difference (Schuirmann 1987) are
significant after Holm's correction over the pairs, from the same model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from heartfelt.analysis.data.material import AnalysisData, QuestionData
from heartfelt.analysis.findings.parts import PairDifference, RatingModelEffect, SystemEquivalence
from heartfelt.analysis.systems.effects import MOST_LEVELS, EffectsModel, group_names, models, pair_differences
from heartfelt.analysis.systems.means import Scores, StimulusScores
from heartfelt.analysis.systems.two_way import Changes, joint_test
from heartfelt.failures import Failed, attempt
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import MixedResult, Pairwise, holm, mixed_model
from heartfelt.stats.inference.random_intercepts import TOO_LARGE

TASTE = "rater x system"
RANDOM = " + (1 | rater) + (1 | stimulus)"
RANDOM_TASTES = f"{RANDOM} + (1 | rater:system)"
MOST_WORK = 3e9
"""Multiplications per step of a fit, which takes about fifteen steps."""
ONE_SYSTEM = "no rater rated two systems, so tastes cannot be separated from differences between raters"
ONE_STIMULUS = (
    "no rater rated two stimuli of one system, so tastes cannot be separated from the noise of single ratings"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingModels:
    """The tests of every question's model, and all its pairs of systems."""

    effects: tuple[RatingModelEffect, ...] = ()
    pairs: tuple[PairDifference, ...] = ()
    equivalence: tuple[SystemEquivalence, ...] = ()


def rating_models(material: AnalysisData, scores: Scores, smallest_effect: float | None = None) -> RatingModels:
    """The model of every question answered with numbers: system and intent fixed, the rest samples."""
    effects: list[RatingModelEffect] = []
    pairs: list[PairDifference] = []
    equivalence: list[SystemEquivalence] = []
    for question in material.questions:
        model = rating_model(question)
        if model is None:
            continue
        fitted = (
            attempt(_fitted, question, model, scores.get(question.id), smallest_effect)
            if question.why_no_raters is None
            else Failed(question.why_no_raters)
        )
        if isinstance(fitted, Failed | str):
            reason = fitted if isinstance(fitted, str) else fitted.reason
            effects += [
                RatingModelEffect(
                    outcome=question.id,
                    deviation=model.outcome,
                    model=f"{model.formula}{RANDOM}",
                    effect=name,
                    variances=_no_variances(reason),
                    why_missing=reason,
                )
                for name in model.factors
            ]
            continue
        effects += fitted.effects
        pairs += fitted.pairs
        equivalence += fitted.equivalence
    return RatingModels(effects=tuple(effects), pairs=tuple(pairs), equivalence=tuple(equivalence))


def rating_model(question: QuestionData) -> EffectsModel | None:
    """The model of a question's ratings: its fixed factors and its outcome; None where systems are not compared by numbers."""
    chosen = models(question) if question.level == "interval" and question.items.height else []
    if not chosen:
        return None
    return EffectsModel("value" if chosen[0].outcome == "value" else "signed", chosen[0].factors)


def _no_variances(reason: str) -> dict[str, Estimate]:
    return dict.fromkeys(("rater", "stimulus", "residual"), Estimate.missing(reason, "linear mixed model"))


def rating_frame(question: QuestionData, model: EffectsModel) -> pl.DataFrame:
    """The ratings a model is fitted to, with its ``outcome``."""
    if model.outcome != "signed":
        return question.ratings.with_columns(outcome=pl.col("value"))
    references = question.items.select("item", "reference")
    frame = question.ratings.join(references, on="item", how="left", maintain_order="left")
    return frame.drop_nulls("reference").with_columns(outcome=pl.col("value") - pl.col("reference"))


def tastes(frame: pl.DataFrame) -> pl.Series | str:
    """Which taste each rating falls under, or why tastes cannot be separated from other variation."""
    cells = frame.select(pl.struct("rater", "system").rank("dense")).to_series()
    if cells.n_unique() == frame["rater"].n_unique():
        return ONE_SYSTEM
    if frame.select("rater", "system", "item").n_unique() == cells.n_unique():
        return ONE_STIMULUS
    return cells


def _fitted(
    question: QuestionData, model: EffectsModel, score: StimulusScores | None, smallest_effect: float | None
) -> RatingModels | str:
    """The effects and pairs, or why there are none."""
    frame = rating_frame(question, model)
    fixed = {name: frame[name] for name in model.factors}
    if any(column.n_unique() > MOST_LEVELS for column in fixed.values()):
        return f"more than {MOST_LEVELS} levels"
    fitted, why_no_tastes = _with_tastes(frame, fixed)
    if _too_large(fitted) and score is not None and "system" in fixed:
        return _by_jackknife(question, model, score, fitted)
    formula = f"{model.formula}{RANDOM_TASTES if TASTE in fitted.variances else RANDOM}"
    template = RatingModelEffect(
        outcome=question.id,
        deviation=model.outcome,
        model=formula,
        effect="",
        variances=fitted.variances,
        method=f"{fitted.method}, Satterthwaite degrees of freedom",
        n=frame.height,
        notes=tuple(fitted.notes),
    )
    effects = tuple(_effects(template, fitted, why_no_tastes))
    if fitted.pairs is None:
        return RatingModels(effects=effects)
    equivalence = () if smallest_effect is None else _equivalence(question.id, fitted.pairs, smallest_effect)
    pairs = pair_differences(fitted.pairs, question.id, model.outcome, "system", formula)
    return RatingModels(effects=effects, pairs=tuple(pairs), equivalence=equivalence)


def _effects(
    template: RatingModelEffect, fitted: MixedResult, why_no_tastes: str | None
) -> Iterator[RatingModelEffect]:
    """The test of every effect; means of systems, and why there are no tastes, go with that of systems."""
    for row in fitted.effects:
        of_systems = row.effect == "system"
        yield replace(
            template,
            effect=row.effect,
            df=(row.df, row.df_residual),
            f=row.f,
            p=row.p,
            why_missing=row.why_missing,
            why_no_tastes=why_no_tastes if of_systems else None,
            means=fitted.means if of_systems else None,
        )


def _with_tastes(frame: pl.DataFrame, fixed: Mapping[str, pl.Series]) -> tuple[MixedResult, str | None]:
    """The model with tastes where they can be told apart; else the model without them, and why."""
    random = {"rater": frame["rater"], "stimulus": frame["item"]}
    of = "system" if "system" in fixed else None
    reason = None
    if of is not None:
        taste = tastes(frame)
        reason = taste if isinstance(taste, str) else None
        if isinstance(taste, pl.Series):
            fitted = mixed_model(frame["outcome"], fixed, {**random, TASTE: taste}, means_of=of, most_work=MOST_WORK)
            if not fitted.why_missing or _too_large(fitted):
                return fitted, None
            reason = fitted.why_missing
    return mixed_model(frame["outcome"], fixed, random, means_of=of, most_work=MOST_WORK), reason


def _too_large(fitted: MixedResult) -> bool:
    return (fitted.why_missing or "").startswith(TOO_LARGE)


def _by_jackknife(
    question: QuestionData, model: EffectsModel, score: StimulusScores, fitted: MixedResult
) -> RatingModels | str:
    """The test of systems from their means and the covariance of the two-way jackknife."""
    names = group_names(question.items, "system")
    parts = {name: score.changes(score.where("system", name), model.outcome) for name in names}
    usable = {name: part for name, part in parts.items() if isinstance(part, Changes)}
    tested = joint_test(list(usable.values()))
    if isinstance(tested, str):
        return tested
    row = RatingModelEffect(
        outcome=question.id,
        deviation=model.outcome,
        model="system",
        effect="system",
        df=(tested.contrasts, tested.df),
        f=tested.f,
        p=tested.p,
        variances=_no_variances(fitted.why_missing or ""),
        method="Wald F test, two-way jackknife over stimuli and raters",
        n=question.ratings.height,
        means={name: score.estimate(score.where("system", name), model.outcome) for name in usable},
    )
    return RatingModels(effects=(row,))


def _equivalence(outcome: str, pairs: Pairwise, margin: float) -> tuple[SystemEquivalence, ...]:
    """Both one-sided tests of every pair, each corrected over the pairs."""
    from scipy.special import stdtr, stdtrit

    estimated = [
        (pair, float(pair.estimate), pair.standard_error, pair.df)
        for pair in pairs.pairs
        if pair.standard_error is not None and pair.df is not None
    ]
    above = [float(stdtr(df, -(margin + value) / error)) for _, value, error, df in estimated]
    below = [float(stdtr(df, -(margin - value) / error)) for _, value, error, df in estimated]
    p_values_a, p_values_b, p_values = map(_corrected, (above, below, list(map(max, above, below))))
    out = []
    for index, (pair, value, error, df) in enumerate(estimated):
        reach = float(stdtrit(df, 0.95)) * error
        without_interval = Estimate(value=value, method=pair.estimate.method, counts=dict(pair.estimate.counts))
        out.append(
            SystemEquivalence(
                outcome=outcome,
                a=pair.a,
                b=pair.b,
                margin=margin,
                difference=without_interval.with_interval(value - reach, value + reach, "Satterthwaite t", 0.9),
                p=p_values[index],
                p_a_not_inferior=p_values_a[index],
                p_b_not_inferior=p_values_b[index],
                method="two one-sided tests in the model of the ratings, Holm",
            )
        )
    return tuple(out)


def _corrected(p_values: Sequence[float]) -> list[float]:
    return [float(p or 0.0) for p in holm(p_values).adjusted]
