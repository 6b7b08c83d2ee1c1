"""Which systems, and which quadrants, differ: all pairs, in the model of the analysis of variance and in three other ways.

``Tukey-Kramer, adjusted means`` belongs to the analysis of variance it is reported with: the model's own error term and
degrees of freedom, and means adjusted for the model's other factors and covariates (``model`` names them all).
Tukey-Kramer and Games-Howell work in a one-way layout, where every difference between intents is noise; Tukey-Kramer
pools the variance of the stimuli's scores, as many papers do, and Games-Howell gives every pair its own. All three
take the raters as they are. The two-way jackknife takes stimuli within their intents and raters as samples, with Holm's
correction over the pairs; it is the one that marks ties in the ranking. Differences are ``a`` minus ``b``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import combinations
from typing import Any

import polars as pl

from heartfelt.analysis.failures import Failures
from heartfelt.analysis.material import Material, QuestionData
from heartfelt.analysis.scores import Outcome, Scored
from heartfelt.analysis.two_way import Changes, difference, error_of, estimate, p_value
from heartfelt.analysis.variance import Model, model_frame, models, outcome_column
from heartfelt.stats.inference import Pairwise, games_howell, holm, marginal_means, tukey

MOST_GROUPS = 60
JACKKNIFE = "two-way jackknife, Holm"
ONE_WAY = "Tukey-Kramer"
ADJUSTED = "Tukey-Kramer, adjusted means"
COMPARED = ("system", "quadrant")

Covariates = Mapping[str, Mapping[str, float]]


def pairwise(
    material: Material,
    laid: dict[str, Scored],
    covariates: Covariates | None = None,
    failures: Failures | None = None,
) -> list[dict[str, Any]]:
    """Every pair of systems and of quadrants, for every question that can be averaged."""
    failures = failures or Failures()
    rows: list[dict[str, Any]] = []
    for one in material.questions:
        if not one.numbers or not one.items.height:
            continue
        wanted: list[tuple[Outcome, str]] = [("value", "system")]
        if one.referenced:
            wanted = [("signed", "system"), ("absolute", "system"), ("absolute", "quadrant")]
        for model in models(one, tuple(covariates or ())):
            rows += _of_model(one, model, covariates or {}, failures)
        for outcome, factor in wanted:
            where = f"of {factor} in {one.id} ({outcome})"
            one_way = partial(_classical, one.items, one.id, outcome, factor)
            rows += failures.guard(f"one-way pairs {where}", one_way, [])
            two_way = partial(_two_way, laid[one.id], outcome, factor)
            rows += failures.guard(f"jackknife pairs {where}", two_way, [])
    return rows


def model_pairs(pairs: list[dict[str, Any]] | None, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The pairs that belong to an effect of an analysis of variance: same outcome, same model, same error term."""
    key = (row["outcome"], row["deviation"], row["effect"], row["model"])
    return [
        pair
        for pair in pairs or []
        if (pair["outcome"], pair["deviation"], pair["factor"], pair.get("model")) == key
        and pair["method"] in (ADJUSTED, ONE_WAY)
    ]


def _groups(items: pl.DataFrame, factor: str) -> list[str]:
    names = items[factor].drop_nulls().unique().sort().to_list()
    return names if 2 <= len(names) <= MOST_GROUPS else []


def _of_model(
    one: QuestionData, model: Model, covariates: Covariates, failures: Failures
) -> list[dict[str, Any]]:
    """Pairs of adjusted means in one model; with a single factor and no covariate that is the one-way layout itself."""
    if model.crossed or len(model.factors) + len(model.covariates) < 2:
        return []
    rows: list[dict[str, Any]] = []
    for factor in model.factors:
        if factor in COMPARED:
            made = partial(_adjusted, one, model, factor, covariates)
            rows += failures.guard(
                f"pairs of {factor} in {one.id} ({model.outcome} ~ {model.words})", made, []
            )
    return rows


def _adjusted(one: QuestionData, model: Model, factor: str, covariates: Covariates) -> list[dict[str, Any]]:
    frame = model_frame(one, model, covariates)
    if not _groups(frame, factor):
        return []
    found = marginal_means(
        outcome_column(frame, model.outcome),
        {name: frame[name] for name in model.factors},
        factor,
        covariates={name: frame[name] for name in model.covariates},
    )
    head = {"outcome": one.id, "deviation": model.outcome, "factor": factor, "model": model.words}
    return [head | row for row in _rows(found.pairs)]


def _classical(items: pl.DataFrame, question: str, outcome: str, factor: str) -> list[dict[str, Any]]:
    frame = items.drop_nulls([factor] if outcome == "value" else [factor, "deviation"])
    if not _groups(frame, factor):
        return []
    column, group = outcome_column(frame, outcome), frame[factor]
    head = {"outcome": question, "deviation": outcome, "factor": factor, "model": factor}
    return [
        head | row for found in (tukey(column, group), games_howell(column, group)) for row in _rows(found)
    ]


def _rows(found: Pairwise) -> list[dict[str, Any]]:
    out = []
    for pair in found.pairs:
        row = {"method": found.method, "a": pair.a, "b": pair.b, "difference": pair.difference}
        row |= {
            "low": pair.estimate.low,
            "high": pair.estimate.high,
            "p": pair.p,
            "significant": pair.significant,
        }
        row["df"] = pair.df
        if pair.p is None:
            row["why_missing"] = pair.estimate.why_no_interval or pair.estimate.why_missing
        out.append(row)
    return out


def _two_way(laid: Scored, outcome: Outcome, factor: str) -> list[dict[str, Any]]:
    """All pairs by the two-way jackknife, with Holm's correction."""
    names = _groups(laid.question.items, factor)
    parts = {name: laid.changes(laid.where(factor, name), outcome) for name in names}
    known = {name: found for name, found in parts.items() if isinstance(found, Changes)}
    pairs = list(combinations(known, 2))
    head = {"outcome": laid.question.id, "deviation": outcome, "factor": factor, "model": None}
    head |= {"method": JACKKNIFE}
    rows: list[dict[str, Any]] = []
    plain: list[float | None] = []
    for a, b in pairs:
        apart = difference(known[a], known[b])
        found, error = estimate(apart, "difference of means"), error_of(apart)
        row = head | {"a": a, "b": b, "difference": found.value, "low": found.low, "high": found.high}
        plain.append(None if isinstance(error, str) else p_value(apart, error))
        rows.append(
            row | ({"why_missing": error} if isinstance(error, str) else {"interval": found.interval})
        )
    held = holm(plain)
    return [
        row | {"p": p, "p_alone": alone, "significant": significant}
        for row, p, alone, significant in zip(rows, held.adjusted, plain, held.significant, strict=True)
    ]
