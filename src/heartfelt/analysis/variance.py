"""Analyses of variance on the stimuli's mean ratings, and mixed models on the ratings themselves.

Conveyance: signed deviation by system + intent, absolute deviation by quadrant + system, and both by system and quadrant
with their interaction. Opinion and presence: the mean rating by system (and intent, where there are intents). Sums of
squares are of type II. ``eta_squared`` is a share of the sum of the table; ``eta_squared_of_total`` of the corrected
total; they differ on unbalanced data. Both are plain numbers, as is ``omega_squared``; the interval is that of
``partial_eta_squared`` (noncentral F). The mixed model takes raters and stimuli as crossed random effects, so its test
of systems also holds for other raters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl

from heartfelt.analysis.failures import Failed, attempt
from heartfelt.analysis.material import Material, QuestionData
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import AnovaResult, anova, mixed_model

MOST_LEVELS = 200


@dataclass(frozen=True, slots=True)
class Model:
    """One model: an outcome (value, signed, absolute) by factors, their interactions, and covariates."""

    outcome: str
    factors: tuple[str, ...]
    crossed: bool = False
    covariates: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The right-hand side, as papers write it."""
        return (" * " if self.crossed else " + ").join(self.factors) + "".join(
            f" + {name}" for name in self.covariates
        )


def models(one: QuestionData, covariates: tuple[str, ...] = ()) -> list[Model]:
    """The models that suit a question, given what is known of its stimuli."""
    known = {name for name in ("system", "intent", "quadrant") if one.items[name].n_unique() > 1}
    wanted: list[Model] = []
    if one.referenced:
        wanted += [Model("signed", ("system", "intent")), Model("absolute", ("quadrant", "system"))]
        wanted += [Model(outcome, ("system", "quadrant"), True) for outcome in ("signed", "absolute")]
        if "quadrant" not in known:
            wanted.append(Model("absolute", ("system", "intent")))
    else:
        wanted.append(Model("value", ("system", "intent") if "intent" in known else ("system",)))
    if "system" not in known and "intent" in known:
        wanted = [Model("signed" if one.referenced else "value", ("intent",))]
    fitting = [model for model in wanted if set(model.factors) <= known]
    return fitting + [Model(m.outcome, m.factors, m.crossed, covariates) for m in fitting if covariates]


def outcome_column(frame: pl.DataFrame, outcome: str) -> pl.Series:
    """The column a model explains."""
    if outcome == "value":
        return frame["mean"]
    return frame["deviation"].abs() if outcome == "absolute" else frame["deviation"]


def variance_tables(
    material: Material, covariates: Mapping[str, Mapping[str, float]] | None = None
) -> list[dict[str, Any]]:
    """Every effect of every model; ``covariates`` give a number per stimulus."""
    rows: list[dict[str, Any]] = []
    extra = dict(covariates or {})
    for one in material.questions:
        if not one.numbers or not one.items.height:
            continue
        for model in models(one, tuple(extra)):
            made = attempt(partial(_rows, one, model, extra))
            if isinstance(made, Failed):
                made = [_failed(one.id, model, name, made.why) for name in model.factors]
            rows += made
    return rows


def model_frame(
    one: QuestionData, model: Model, covariates: Mapping[str, Mapping[str, float]]
) -> pl.DataFrame:
    """The items a model is fitted to: those that have everything it needs; none where a factor has too many levels."""
    frame = one.items.with_columns(
        pl.col("stimulus").replace_strict(dict(known), default=None, return_dtype=pl.Float64).alias(name)
        for name, known in covariates.items()
        if name in model.covariates
    )
    frame = frame.drop_nulls([*model.factors, *model.covariates])
    if model.outcome != "value":
        frame = frame.drop_nulls("deviation")
    too_many = any(frame[name].n_unique() > MOST_LEVELS for name in model.factors)
    return frame.clear() if too_many else frame


def _failed(question: str, model: Model, effect: str, why: str) -> dict[str, Any]:
    """An effect whose model could not be fitted."""
    gone = Estimate.missing(why, "partial eta squared").to_json()
    row: dict[str, Any] = {"outcome": question, "deviation": model.outcome, "model": model.words, "type": 2}
    row |= {"effect": effect, "df": None, "F": None, "p": None, "eta_squared": None}
    row |= {"eta_squared_of_total": None, "partial_eta_squared": gone, "omega_squared": None}
    return row | {"n": None, "notes": [], "why_missing": why}


def _rows(
    one: QuestionData, model: Model, covariates: Mapping[str, Mapping[str, float]]
) -> list[dict[str, Any]]:
    frame = model_frame(one, model, covariates)
    if not frame.height:
        return []
    table = _table(model, frame)
    bare = replace(model, covariates=())
    plain = _table(bare, frame) if model.covariates else None
    out = []
    for row in table.rows:
        found = _row(one.id, model, table, row.effect, frame.height)
        if plain is not None and row.effect not in model.covariates:
            same = plain[row.effect]
            found["without_covariates"] = {
                "F": same.f,
                "p": same.p,
                "eta_squared": same.eta_squared.value,
            }
        out.append(found)
    return out


def _table(model: Model, frame: pl.DataFrame) -> AnovaResult:
    return anova(
        outcome_column(frame, model.outcome),
        {name: frame[name] for name in model.factors},
        interactions="all" if model.crossed else (),
        covariates={name: frame[name] for name in model.covariates},
    )


def _row(question: str, model: Model, table: AnovaResult, effect: str, n: int) -> dict[str, Any]:
    row = table[effect]
    return {
        "outcome": question,
        "deviation": model.outcome,
        "model": model.words,
        "type": 2,
        "effect": effect,
        "df": [row.df, table.residual_df],
        "F": row.f,
        "p": row.p,
        "eta_squared": row.eta_squared.value,
        "eta_squared_of_total": row.eta_squared_of_total.value,
        "partial_eta_squared": row.partial_eta_squared.to_json(),
        "omega_squared": row.omega_squared.value,
        "n": n,
        "notes": list(table.notes),
        **({"why_missing": row.why_missing} if row.why_missing else {}),
    }


def mixed_tables(material: Material) -> list[dict[str, Any]]:
    """The mixed model of every question answered with numbers: system and intent fixed, rater and stimulus random."""
    rows: list[dict[str, Any]] = []
    for one in material.questions:
        if one.level == "interval" and one.items.height:
            made = attempt(partial(_mixed, one))
            rows += _no_mixed(one, made.why) if isinstance(made, Failed) else made
    return rows


def _no_mixed(one: QuestionData, why: str) -> list[dict[str, Any]]:
    chosen = models(one)[0]
    words = f"{chosen.words} + (1 | rater) + (1 | stimulus)"
    head = {"outcome": one.id, "deviation": chosen.outcome, "model": words}
    return [head | _no_effect(name, why) for name in chosen.factors]


def _mixed(one: QuestionData) -> list[dict[str, Any]]:
    chosen = models(one)
    if not chosen:
        return []
    model = Model("value" if chosen[0].outcome == "value" else "signed", chosen[0].factors)
    words = f"{model.words} + (1 | rater) + (1 | stimulus)"
    head = {"outcome": one.id, "deviation": model.outcome, "model": words}
    if one.why_no_raters is not None:
        return [head | _no_effect(name, one.why_no_raters) for name in model.factors]
    frame = one.ratings.join(
        one.items.select("item", "reference"), on="item", how="left", maintain_order="left"
    )
    outcome = frame["value"]
    if model.outcome == "signed":
        frame = frame.drop_nulls("reference")
        outcome = frame["value"] - frame["reference"]
    fixed = {name: frame[name] for name in model.factors}
    if any(column.n_unique() > MOST_LEVELS for column in fixed.values()):
        return [head | _no_effect(name, f"more than {MOST_LEVELS} levels") for name in model.factors]
    found = mixed_model(outcome, fixed, {"rater": frame["rater"], "stimulus": frame["item"]})
    spread = {name: e.to_json() for name, e in found.variances.items()}
    out = []
    for effect in found.effects:
        df = [effect.df, effect.df_residual]
        row: dict[str, Any] = head | {"effect": effect.effect, "df": df, "F": effect.f, "p": effect.p}
        row |= {"method": f"{found.method}, Satterthwaite degrees of freedom", "variances": spread}
        row |= {"n": frame.height, "notes": list(found.notes)}
        out.append(row | ({"why_missing": effect.why_missing} if effect.why_missing else {}))
    return out


def _no_effect(effect: str, why: str) -> dict[str, Any]:
    gone = Estimate.missing(why, "linear mixed model")
    variances = {name: gone.to_json() for name in ("rater", "stimulus", "residual")}
    return {"effect": effect, "df": None, "F": None, "p": None, "variances": variances, "why_missing": why}
