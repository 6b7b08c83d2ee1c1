"""Do the conclusions about systems depend on equal steps between the points of a scale?

The model of the ratings takes them for numbers. A rating scale only promises an order. The check fits a cumulative logit model
(``stats.inference.cumulative_link``) with the same fixed factors and random effects to the same ratings, and compares the test of
systems and every pair of systems, both at .05 with the same correction (Tukey).

A question is checked where it has at most eleven different values and the model of the ratings tests its systems. In
conveyance the outcome is the rating itself, not its deviation from the reference: where references belong to intents, which are
in the model, both have the same differences between systems. Beyond ``MOST_RATINGS`` ratings over all questions, or
``MOST_WORK``, the check is left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from heartfelt.analysis.data.material import AnalysisData, QuestionData
from heartfelt.analysis.findings.ordinal import OrdinalCheck
from heartfelt.analysis.findings.parts import PairDifference, RatingModelEffect
from heartfelt.analysis.systems.rating_models import TASTE, rating_frame, rating_model, tastes
from heartfelt.failures import Failed, attempt
from heartfelt.stats.inference import CumulativeLinkResult, Pairwise, cumulative_link_model
from heartfelt.wording import listed, p_value, plural

MOST_VALUES = 11
MOST_RATINGS = 50_000
MOST_WORK = 1e8
"""Multiplications per step of a fit; this many take about two seconds in all."""
MODEL = "ordinal model (cumulative logit)"


def ordinal_checks(
    material: AnalysisData, mixed: Iterable[RatingModelEffect], pairs: Iterable[PairDifference]
) -> tuple[OrdinalCheck, ...]:
    """The check of every question whose systems are tested in the model of the ratings."""
    questions = {question.id: question for question in material.questions}
    compared = list(pairs)
    checks, used = [], 0
    for row in mixed:
        question = questions.get(row.outcome)
        if row.effect != "system" or row.p is None or question is None:
            continue
        values = question.ratings["value"].n_unique()
        reason = _why_left_out(question, row, values, used)
        if reason is not None:
            checks.append(_not_checked(row, question.ratings.height, values, reason))
            continue
        used += question.ratings.height
        model_pairs = [pair for pair in compared if (pair.outcome, pair.model) == (row.outcome, row.model)]
        check = attempt(_check, question, row, values, model_pairs)
        checks.append(
            _not_checked(row, question.ratings.height, values, check.reason) if isinstance(check, Failed) else check
        )
    return tuple(checks)


def _not_checked(row: RatingModelEffect, n: int, values: int, reason: str) -> OrdinalCheck:
    return OrdinalCheck(
        outcome=row.outcome, model=row.model, n=n, categories=values, p_interval=row.p, why_missing=reason
    )


def _why_left_out(question: QuestionData, row: RatingModelEffect, values: int, used: int) -> str | None:
    if values > MOST_VALUES:
        return f"{values:,} different values; up to {MOST_VALUES} are taken for ordered categories"
    if used + question.ratings.height > MOST_RATINGS:
        return f"more than {MOST_RATINGS:,} ratings"
    if any(estimate.is_missing for estimate in row.variances.values()):
        return "the model of the ratings is too large to fit"
    # A deviation from one reference is the rating moved by a constant; from several, it is another order.
    factors = _factors_with_several_references(question) if row.deviation == "signed" else []
    return f"references differ within {listed(factors)}" if factors else None


def _factors_with_several_references(question: QuestionData) -> list[str]:
    """The factors beside systems whose stimuli have different references; none where each level has one."""
    model = rating_model(question)
    factors = [name for name in model.factors if name != "system"] if model else []
    return factors if factors and _references_vary(question.items, factors) else []


def _references_vary(items: pl.DataFrame, factors: list[str]) -> bool:
    """Whether stimuli that share their factors have different references."""
    with_reference = items.drop_nulls("reference")
    return with_reference.select(*factors, "reference").n_unique() > with_reference.select(factors).n_unique()


def _check(question: QuestionData, row: RatingModelEffect, values: int, pairs: list[PairDifference]) -> OrdinalCheck:
    model = rating_model(question)
    assert model is not None, "the model of the ratings tests its systems"
    frame = rating_frame(question, model)
    random: dict[str, pl.Series] = {"rater": frame["rater"], "stimulus": frame["item"]}
    taste = tastes(frame) if TASTE in row.variances else None
    if isinstance(taste, pl.Series):
        random[TASTE] = taste
    fitted = cumulative_link_model(
        frame["value"], {name: frame[name] for name in model.factors}, random, most_work=MOST_WORK, information="mode"
    )
    effect = fitted.effect("system")
    missing = fitted.why_missing or effect.why_missing
    if missing or effect.chi_square is None:
        return _not_checked(row, frame.height, values, missing or "systems have no test")
    return _compared(row, fitted, values, frame.height, pairs)


def _compared(
    row: RatingModelEffect, fitted: CumulativeLinkResult, values: int, n: int, pairs: list[PairDifference]
) -> OrdinalCheck:
    effect = fitted.effect("system")
    differences = _by_pair(fitted.differences("system"))
    changed, turned, count = [], [], 0
    for pair in pairs:
        rank_difference = differences.get((pair.a, pair.b))
        if rank_difference is None or rank_difference[1] is None or pair.significant is None:
            continue
        count += 1
        same_sign = (rank_difference[0] > 0) == (float(pair.difference) > 0)
        if not same_sign:
            turned.append((pair.a, pair.b))
        if rank_difference[1] != pair.significant or (pair.significant and not same_sign):
            changed.append((pair.a, pair.b))
    chi_square = effect.chi_square or 0.0
    return OrdinalCheck(
        outcome=row.outcome,
        model=row.model,
        n=n,
        categories=values,
        variances=fitted.variances,
        df=(effect.df, effect.df_residual),
        f=chi_square / effect.df,
        p=effect.p_f,
        p_interval=row.p,
        pairs=count,
        pairs_alike=count - len(changed),
        changed=tuple(changed),
        reversed=tuple(turned),
        method=f"{fitted.method}, Satterthwaite degrees of freedom",
        notes=fitted.notes,
    )


def _by_pair(table: Pairwise) -> Mapping[tuple[str, str], tuple[float, bool | None]]:
    """Difference and decision of each pair, in both orders."""
    out: dict[tuple[str, str], tuple[float, bool | None]] = {}
    for pair in table.pairs:
        if pair.difference is not None:
            out[pair.a, pair.b] = (pair.difference, pair.significant)
            out[pair.b, pair.a] = (-pair.difference, pair.significant)
    return out


def sentence(checks: Iterable[OrdinalCheck]) -> str:
    """What the check says in one sentence; empty where no question was checked."""
    findings: dict[bool, list[str]] = {True: [], False: []}
    for check in checks:
        if check.p is not None:
            findings[check.agrees].append(_findings(check))
    agree, differ = "; ".join(findings[True]), "; ".join(findings[False])
    if agree and differ:
        return f"An {MODEL} agrees: {agree}; it disagrees: {differ}."
    if agree or differ:
        return f"An {MODEL} {'agrees' if agree else 'disagrees'}: {agree or differ}."
    return ""


def _findings(check: OrdinalCheck) -> str:
    shown = "systems differ" if check.p is not None and check.p < 0.05 else "no difference is shown"
    text = f"{shown} in {check.outcome} ({p_value(check.p)}"
    if not check.agrees:
        text += f", against {p_value(check.p_interval)} on the interval scale"
    if check.pairs:
        order = f"{plural(len(check.reversed), 'pair')} in the other order" if check.reversed else "same order"
        text += f", {order}, {check.pairs_alike} of {plural(check.pairs, 'pair')} decided alike"
    return f"{text})"
