"""Prediction-powered inference: means and slopes from a few ratings and many predictions.

Some items have a rated value and a prediction, many more a prediction only. The many give the estimate its
precision, the few show how far the predictions are off, which is then corrected. Nothing is assumed of the
predictor: a useless one costs (almost) nothing, because the weight ``tuning`` it is given, between 0 and 1,
is the one that makes the variance smallest. What is assumed: the rated items are a random sample of the same
source as the others, and no prediction was made from the value it is compared with (give out-of-fold
predictions for items a predictor was trained on).

Conventions: one row per rated item, or one per rating with ``item`` (each item then counts once, whatever its
number of ratings) and ``rater``. Errors are those of the estimating equations, clustered by item (HC2 for
ratings alone, HC3 with predictions), and by rater too where given (Cameron, Gelbach and Miller 2011); Student
t with Satterthwaite's degrees of freedom, since the rated are few.

Source: Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023), *Prediction-powered inference*; Angelopoulos,
Duchi and Zrnic (2023), *PPI++*, for the weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats.columns.paired import Column, is_constant, same_length
from heartfelt.stats.columns.triples import Floats, Ints, as_floats, code
from heartfelt.stats.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionPowered:
    """An estimate from ratings and predictions, next to what the ratings alone and the predictions alone give.

    ``tuning`` is the weight of the predictions; ``offset`` is by how much they are off (predicted minus rated).
    """

    estimate: Estimate
    ratings_alone: Estimate
    predictions_alone: float | None = None
    tuning: float | None = None
    offset: float | None = None


@dataclass(frozen=True, slots=True)
class Rated:
    """The rated rows: value, prediction of the same item, and whose they are."""

    value: Column
    prediction: Column
    item: Column | None = None
    rater: Column | None = None


def prediction_powered_mean(
    rated: Rated, others: Column, *, tuning: float | None = None, confidence: float = 0.95
) -> PredictionPowered:
    """The mean value of the source, from ``rated`` rows and the predictions of ``others``."""
    rows = _rows(rated, None)
    more = as_floats(others, "others")
    more = more[np.isfinite(more)]
    ask = _Ask("mean", 0, tuning, confidence)
    return _powered(rows, np.ones((rows.value.size, 1)), np.ones((more.size, 1)), more, ask)


def prediction_powered_slope(
    rated: Rated,
    rated_x: Column,
    others: Column,
    others_x: Column,
    *,
    tuning: float | None = None,
    confidence: float = 0.95,
) -> PredictionPowered:
    """The least-squares slope of the values on ``x``."""
    rows = _rows(rated, rated_x)
    more, x = as_floats(others, "others"), as_floats(others_x, "others_x")
    same_length({"others": more, "others_x": x})
    usable = np.isfinite(more) & np.isfinite(x)
    more, x = more[usable], x[usable]
    ask = _Ask("least-squares slope", 1, tuning, confidence)
    if rows.x.size < 3 or is_constant(rows.x):
        return _missing("the rated items do not vary in x", ask, {"rated": rows.value.size})
    centre = float(np.concatenate([rows.x, x]).mean())
    designs = [np.column_stack([np.ones(part.size), part - centre]) for part in (rows.x, x)]
    return _powered(rows, designs[0], designs[1], more, ask)


@dataclass(frozen=True, slots=True)
class _Ask:
    what: str
    column: int
    tuning: float | None
    confidence: float

    def __post_init__(self) -> None:
        _bounds.check_confidence(self.confidence)
        if self.tuning is not None and not 0.0 <= self.tuning <= 1.0:
            raise InputError(f"The weight of predictions cannot be {self.tuning}.", "Give 0 to 1, or leave it out.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Clean rated rows, each with its weight (a rated item weighs 1 over all) and clusters."""

    value: Floats
    prediction: Floats
    x: Floats
    weight: Floats
    item: Ints
    rater: Ints | None
    left_out: int


def _rows(rated: Rated, x: Column | None) -> _Rows:
    value, prediction = as_floats(rated.value, "value"), as_floats(rated.prediction, "prediction")
    x_column = np.zeros(value.size) if x is None else as_floats(x, "rated_x")
    item = np.arange(value.size) if rated.item is None else code(rated.item).codes
    rater = None if rated.rater is None else code(rated.rater).codes
    same_length(
        {"value": value, "prediction": prediction, "rated_x": x_column, "item": item}
        | ({} if rater is None else {"rater": rater})
    )
    usable = np.isfinite(value) & np.isfinite(prediction) & np.isfinite(x_column)
    item = np.unique(item[usable], return_inverse=True)[1].astype(np.int64)
    per_item = np.bincount(item) if item.size else np.zeros(0)
    if rater is not None:
        rater = np.unique(rater[usable], return_inverse=True)[1].astype(np.int64)
    value, prediction, x_column = (column[usable] for column in (value, prediction, x_column))
    return _Rows(
        value=value,
        prediction=prediction,
        x=x_column,
        weight=1.0 / per_item[item],
        item=item,
        rater=rater,
        left_out=int((~usable).sum()),
    )


def _missing(reason: str, ask: _Ask, counts: dict[str, int]) -> PredictionPowered:
    gone = Estimate.missing(reason, f"prediction-powered {ask.what}", counts)
    return PredictionPowered(estimate=gone, ratings_alone=Estimate.missing(reason, ask.what, counts))


def _powered(rows: _Rows, design: Floats, other_design: Floats, more: Floats, ask: _Ask) -> PredictionPowered:
    items = int(rows.item.max()) + 1 if rows.item.size else 0
    counts = {"rated": items, "ratings": rows.value.size, "predicted": more.size}
    if rows.left_out:
        counts["left_out"] = rows.left_out
    columns, at = design.shape[1], ask.column
    if items < columns + 1:
        return _missing(f"{items} rated items; at least {columns + 1} are needed", ask, counts)
    alone = _solve(design, rows.value, rows.weight)
    of_value = _influence(rows, design, rows.value, at, tuned=False)
    point_estimate = Estimate(value=float(alone[at]), method=ask.what, counts=counts)
    point_estimate = _bounded(point_estimate, rows, columns, of_value, np.zeros(0), ask, "Student t")
    if more.size < columns + 1 or (columns > 1 and is_constant(other_design[:, 1])):
        reason = f"{more.size} predictions of unrated items: too few to add anything"
        gone = Estimate.missing(reason, f"prediction-powered {ask.what}", counts)
        return PredictionPowered(estimate=gone, ratings_alone=point_estimate)
    predicted = _solve(other_design, more, np.ones(more.size))
    offset = _solve(design, rows.prediction, rows.weight) - alone
    weight = ask.tuning
    if weight is None:
        of_prediction = _influence(rows, design, rows.prediction, at, tuned=False)
        weight = _best_weight(rows, of_value, of_prediction, items / more.size)
    corrected = rows.value - weight * rows.prediction
    powered = _solve(design, corrected, rows.weight) + weight * predicted
    of_others = np.zeros(0)
    if weight:
        beyond = more - other_design @ predicted
        of_others = (other_design @ np.linalg.inv(other_design.T @ other_design)[at]) * beyond * weight
    estimate = Estimate(value=float(powered[at]), method=f"prediction-powered {ask.what}", counts=counts)
    influence = _influence(rows, design, corrected, at, tuned=bool(weight))
    estimate = _bounded(estimate, rows, columns, influence, of_others, ask, "prediction-powered, Student t")
    return PredictionPowered(
        estimate=estimate,
        ratings_alone=point_estimate,
        predictions_alone=float(predicted[at]),
        tuning=float(weight),
        offset=float(offset[at]),
    )


def _solve(design: Floats, value: Floats, weight: Floats) -> Floats:
    scaled = design * weight[:, None]
    return np.asarray(np.linalg.solve(design.T @ scaled, scaled.T @ value))


def _influence(rows: _Rows, design: Floats, value: Floats, at: int, *, tuned: bool) -> Floats:
    """What each rated row adds to coefficient ``at``, about zero.

    Fitting shrinks each item's gap: HC2 for ratings alone, HC3 where the weight was fitted too.
    """
    scaled = design * rows.weight[:, None]
    bread = np.linalg.inv(design.T @ scaled)
    leverage = np.einsum("ij,jk,ik->i", design, bread, design)
    free = np.clip(1.0 - leverage, 0.1, 1.0)
    gap = value - design @ _solve(design, value, rows.weight)
    return np.asarray((scaled @ bread[at]) * gap / (free if tuned else np.sqrt(free)))


def _clustered(rows: _Rows, influence: Floats) -> tuple[float, float]:
    """Variance of the sum of row influences, clustered, and its degrees of freedom."""
    sums = np.bincount(rows.item, weights=influence)
    variance, n = float(sums @ sums), sums.size
    raters = 0 if rows.rater is None else int(rows.rater.max()) + 1
    if rows.rater is None or raters < 2:
        return variance, n - 1.0
    sums = np.bincount(rows.rater, weights=influence)
    by_rater = float(sums @ sums) * raters / (raters - 1)
    alone = float(influence @ influence)
    # A rater's share can come out negative where raters do not differ; the items' own variance is then the whole.
    return max(variance + by_rater - alone, variance, by_rater), min(n, raters) - 1.0


def _bounded(
    point_estimate: Estimate, rows: _Rows, columns: int, influence: Floats, of_others: Floats, ask: _Ask, interval: str
) -> Estimate:
    """The estimate with its interval, from the influence of rated rows and of the other items."""
    rated, df = _clustered(rows, influence)
    many = float(of_others @ of_others) * of_others.size / (of_others.size - 1) if of_others.size > 1 else 0.0
    total, value = rated + many, float(point_estimate)
    if total <= 1e-24 * max(1.0, value**2):
        return point_estimate.without_interval("the rated values do not vary")
    freedom = of_others.size - 1.0
    if rated and df < columns:
        return point_estimate.without_interval(f"a {ask.what} needs ratings of at least {columns + 1} raters and items")
    if rated:
        of_unrated = [(many, freedom)] if many else []
        freedom = _bounds.satterthwaite((rated, df - columns + 1), *of_unrated)
    return _bounds.with_t(point_estimate, math.sqrt(total), freedom, interval, ask.confidence)


def _best_weight(rows: _Rows, of_value: Floats, of_prediction: Floats, share: float) -> float:
    """The weight that makes the variance smallest: covariance of values and predictions over the predictions'
    variance; ``share`` is rated items per predicted one.
    """
    a, b = (np.bincount(rows.item, weights=part) for part in (of_value, of_prediction))
    spread = float(b @ b)
    if spread <= 1e-24:
        return 0.0
    return float(np.clip(float(a @ b) / spread / (1 + share), 0.0, 1.0))
