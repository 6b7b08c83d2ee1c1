"""Predictions as they bear on pairs of stimuli, whatever they were made about.

A model may have predicted pairs (probabilities or a verdict), larger sets (a value for each member) or single stimuli. A set
says something about every pair in it; two stimuli are decided by the difference of their values, so that the larger value is
predicted to be chosen. Verdicts on pairs take precedence over sets, and sets over single stimuli.

The other way round, a model that predicts pairs only has the strengths that Bradley and Terry's model fits to its choices.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from heartfelt.labels.strengths import Of
from heartfelt.predictors.answers.sets import FIRST, SECOND, SEPARATOR, set_name
from heartfelt.scoring.ground_truth.truth import Truth
from heartfelt.scoring.measurement.sheet import NOT_GIVEN, NOTHING_TO_SCORE, PredictionSheet, numbers_by_name, sheet_of
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.study.scales.answer import Scale
from heartfelt.study.scales.set_scale import TIE, Ranking

FITTED = "strengths fitted to its predicted choices"
MEAN_OF_SYSTEM = "the mean over the system's stimuli"
BY_DIFFERENCE = "by the difference of two predictions"
NO_ORDER = "the order of presentation was not recorded"
_PLACES = {FIRST: 1.0, SECOND: -1.0}
_OF_SETS = ("stimulus", "members", "shares", "answer", "orders", "note", "problem", "ok", "against")


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedPair:
    """What is predicted of a pair: ``lean`` is above 0 where ``one``, whose name comes first, is to be chosen.

    ``place`` is 1 or -1 where always the first or the second is predicted, whichever it is.
    """

    lean: float = math.nan
    chance: float = math.nan
    tie: float = math.nan
    place: float = 0.0
    orders: tuple[float, float] | None = None
    note: str | None = None
    problem: str | None = None
    against: float = math.nan
    """The share for ``one`` that it is scored against, where that is not the share of all raters."""


_VERDICTS = {
    **dict.fromkeys(("lean", "chance", "tie", "place", "against"), pl.Float64()),
    **dict.fromkeys(("note", "problem"), pl.String()),
    "orders": pl.List(pl.Float64),
}


def pair_sheet(truth: Truth, predictions: pl.DataFrame, task: ScoringTask, model: str) -> PredictionSheet:
    """A model's predictions of the pairs of a task, next to the share of people who chose each stimulus."""
    question = task.questions[0]
    scale = truth.study.scale_of(question)
    items = truth.items_of(task)
    of_model = predictions.filter((pl.col("model") == model) & (pl.col("question") == question))
    from_sets = dict(_of_sets(of_model, scale))
    alone = _of_stimuli(of_model)
    ends = items.select("stimulus", "one", "other").iter_rows()
    verdicts = [
        from_sets[name] if name in from_sets else _by_difference(alone, left, right) for name, left, right in ends
    ]
    if not truth.pairs.of(question)["ordered"].all():
        verdicts = [PredictedPair(problem=NO_ORDER) if verdict.place else verdict for verdict in verdicts]
    table = pl.DataFrame([asdict(verdict) for verdict in verdicts], schema=_VERDICTS).with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )
    rows = items.rename({"answer": "own_answer"} if "answer" in items.columns else {}).with_columns(
        pl.col("label").alias("truth"),
        table.select(pl.when(pl.col("place") == 0).then("lean").alias("code")).to_series(),
        *table.drop("lean").get_columns(),
        table["problem"].is_null().alias("ok"),
        pl.lit(None, pl.Float64).alias("score"),
        *(pl.lit(None, pl.String).alias(name) for name in ("answer", "shares")),
    )
    return PredictionSheet(model=model, task=task, scale=scale, rows=rows, unlabelled=0)


def _of_sets(predictions: pl.DataFrame, scale: Scale) -> Iterator[tuple[str, PredictedPair]]:
    """The verdicts on pairs that follow from predictions about sets; a pair in several sets has the mean of them."""
    lacking = {"members", "orders"} - set(predictions.columns)
    predictions = predictions.with_columns(pl.lit(None, pl.String).alias(name) for name in sorted(lacking))
    together = pl.col("members").is_not_null() | pl.col("shares").is_not_null() | pl.col("answer").is_in(list(_PLACES))
    by_pair: dict[str, list[PredictedPair]] = {}
    for row in predictions.filter(together | ~pl.col("ok")).select(_OF_SETS).iter_rows(named=True):
        for pair, verdict in _of_set(row, scale):
            by_pair.setdefault(set_name(pair), []).append(verdict)
    for name, verdicts in by_pair.items():
        yield name, _joined(verdicts)


def _of_set(row: Mapping[str, Any], scale: Scale) -> Iterator[tuple[tuple[str, str], PredictedPair]]:
    """What one prediction about a set says of every pair in it."""
    # A set is named by its stimuli: why it failed is why each of its pairs did, and so for a place.
    pairs = combinations(row["stimulus"].split(SEPARATOR), 2)
    if not row["ok"]:
        yield from ((pair, PredictedPair(problem=row["problem"] or NOT_GIVEN)) for pair in pairs)
    elif row["answer"] in _PLACES:
        place = PredictedPair(lean=0.0, place=_PLACES[row["answer"]], note=row["note"])
        yield from ((pair, place) for pair in pairs)
    else:
        values, chances = numbers_by_name(row["members"]), numbers_by_name(row["shares"])
        against = math.nan if row["against"] is None else row["against"]
        for pair in combinations(sorted((values or chances).keys() - {TIE}), 2):
            verdict = _verdict(values, chances, pair, scale)
            yield pair, replace(verdict, note=row["note"], orders=_orders(row["orders"]), against=against)


def _verdict(
    values: Mapping[str, float], chances: Mapping[str, float], pair: tuple[str, str], scale: Scale
) -> PredictedPair:
    left, right = pair
    if values:
        lean = values[left] - values[right]
        return PredictedPair(lean=-lean if isinstance(scale, Ranking) else lean)
    a, b = chances.get(left, 0.0), chances.get(right, 0.0)
    if len(chances.keys() - {TIE}) > 2:
        # Shares of a larger set: the choice between two of them, by Luce's rule.
        return PredictedPair(lean=a - b, chance=a / (a + b) if a + b > 0 else 0.5)
    tie = chances.get(TIE, max(1.0 - a - b, 0.0))
    return PredictedPair(lean=a - b, chance=a, tie=tie if tie > 1e-9 or TIE in chances else math.nan)


def _joined(verdicts: list[PredictedPair]) -> PredictedPair:
    """What several sets say of a pair: the only usable verdict, a place, or the mean."""
    usable = [verdict for verdict in verdicts if verdict.problem is None] or verdicts[:1]
    return usable[0] if len(usable) == 1 or usable[0].place else _mean(usable)


def _mean(verdicts: list[PredictedPair]) -> PredictedPair:
    lean, chance, tie = (
        float(np.mean([getattr(verdict, name) for verdict in verdicts])) for name in ("lean", "chance", "tie")
    )
    return PredictedPair(lean=lean, chance=chance, tie=tie, note=f"the mean over {len(verdicts)} sets")


def _orders(text: str | None) -> tuple[float, float] | None:
    """The values of whichever came first, in each of the two orders."""
    try:
        first, second = json.loads(text or "null")
    except (TypeError, ValueError):
        return None
    return float(first), float(second)


def _of_stimuli(predictions: pl.DataFrame) -> dict[str, tuple[float | None, str | None, str | None]]:
    """By stimulus: the number predicted, why there is none, and the note on it."""
    number = pl.coalesce("value", "score")
    number = pl.when(pl.col("ok") & number.is_finite()).then(number)
    rows = predictions.select("stimulus", number.alias("number"), "problem", "note")
    return {name: (value, problem, note) for name, value, problem, note in rows.iter_rows()}


def _by_difference(
    alone: Mapping[str, tuple[float | None, str | None, str | None]], left: str, right: str
) -> PredictedPair:
    for name in (left, right):
        value, problem, _ = alone.get(name, (None, NOT_GIVEN, None))
        if value is None:
            return PredictedPair(problem=f"{name}: {problem or NOTHING_TO_SCORE}")
    first, second = alone[left], alone[right]
    return PredictedPair(lean=_number(first[0]) - _number(second[0]), note=first[2] or BY_DIFFERENCE)


def _number(value: Any) -> float:
    return float(value)


def strength_sheet(truth: Truth, predictions: pl.DataFrame, task: ScoringTask, model: str) -> PredictionSheet:
    """A model's predictions of strengths; those of a model that predicts pairs are fitted to its choices.

    The strength of a system is the mean over its stimuli, or fitted to the choices between systems.
    """
    question, of = task.questions[0], truth.contestants(task)
    of_model = predictions.filter((pl.col("model") == model) & (pl.col("question") == question))
    items = truth.items_of(task)
    alone = of_model.filter(pl.col("stimulus").is_in(items["stimulus"].to_list()))
    # Measurements and similarities order stimuli as values do.
    number = pl.coalesce("value", "score")
    number = pl.when(pl.col("ok") & number.is_finite()).then(number).alias("value")
    if not alone.height:
        # The choices of a left-out rater are among those the strengths are made of.
        left_out = "against" in of_model.columns and of_model["against"].is_not_null().any()
        alone = of_model.clear() if left_out else _fitted(truth, of_model, task, of)
    elif of == "system":
        made_by = items.select("stimulus", "system").drop_nulls()
        means = (
            alone.with_columns(number)
            .drop_nulls("value")
            .join(made_by, on="stimulus", how="inner", maintain_order="left")
        )
        alone = means.group_by("system", maintain_order=True).agg(pl.mean("value"))
        alone = _as_predictions(of_model, alone.rename({"system": "stimulus"}), MEAN_OF_SYSTEM)
    else:
        alone = alone.with_columns(number, pl.lit(None, pl.Float64).alias("score"))
    if of == "stimulus":
        return sheet_of(truth, alone, task, model)
    named = truth.pairs.systems[question]
    table = pl.DataFrame({"stimulus": list(named), "label": list(named.values())}).with_columns(
        pl.lit(question).alias("question"),
        pl.lit(None, pl.String).alias("system"),
        pl.lit(None, pl.String).alias("intent"),
    )
    return sheet_of(replace(truth, items=table), alone, task, model)


def _fitted(truth: Truth, predictions: pl.DataFrame, task: ScoringTask, of: Of) -> pl.DataFrame:
    from heartfelt.stats.comparison.strengths.models import bradley_terry

    pairs = ScoringTask.of(task.id, "choices", task.questions)
    rows = pair_sheet(truth, predictions, pairs, str(predictions["model"][0]) if predictions.height else "").rows
    sides = ("one", "other")
    if of == "system":
        systems = truth.items_of(task).select("stimulus", "system").drop_nulls()
        for side in sides:
            rows = rows.join(systems.rename({"stimulus": side, "system": f"_{side}"}), on=side, maintain_order="left")
        sides = ("_one", "_other")
        rows = rows.filter(pl.col("_one") != pl.col("_other"))
    rows = rows.filter(pl.col("code").is_not_null() & pl.col("ok"))
    if not rows.height:
        return predictions.clear()
    value = (0.5 + rows["code"].sign() / 2).to_numpy()
    result = bradley_terry(None, rows[sides[0]], rows[sides[1]], value, penalty=1.0)
    strength_of = [(str(name), strength.value) for name, strength in zip(result.names, result.strengths, strict=True)]
    table = pl.DataFrame(strength_of, schema={"stimulus": pl.String, "value": pl.Float64}, orient="row")
    return _as_predictions(predictions, table, FITTED)


def _as_predictions(like: pl.DataFrame, table: pl.DataFrame, note: str) -> pl.DataFrame:
    """Predictions of a model's own, with ``stimulus`` and ``value`` from a table."""
    fitted = table.with_columns(
        pl.lit(like["model"][0]).alias("model"),
        pl.lit(like["question"][0]).alias("question"),
        pl.lit(note).alias("note"),
        pl.lit(True).alias("ok"),
        pl.lit(0, pl.Int64).alias("attempts"),
    )
    return pl.concat([like.clear(), fitted], how="diagonal_relaxed")
