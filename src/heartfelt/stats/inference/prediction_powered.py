"""Prediction-powered inference: means and slopes from a few ratings and many predictions.

Some items have a rated value and a prediction, many more a prediction only. The many give the estimate its
precision, the few say how far the predictions are off and take that out again. Nothing is assumed of the
predictor: a useless one costs (almost) nothing, because the weight ``tuning`` it is given, between 0 and 1,
is the one that makes the variance smallest. What is assumed: the rated items are a random sample of the same
source as the others, and no prediction was made from the value it is held against (give out-of-fold
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
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats._metrics import is_constant
from heartfelt.stats._paired import Column
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats, Ints, as_floats, code

_INTERVAL = "prediction-powered, Student t"


@dataclass(frozen=True, slots=True)
class PredictionPowered:
    """An estimate from ratings and predictions, beside what the ratings alone and the predictions alone give.

    ``tuning`` is the weight of the predictions; ``offset`` is by how much they are off (predicted minus
    rated).
    """

    estimate: Estimate
    ratings_alone: Estimate
    predictions_alone: float | None
    tuning: float | None
    offset: float | None

    @property
    def value(self) -> float | None:
        """The estimate's value."""
        return self.estimate.value

    def to_json(self) -> dict[str, Any]:
        """A plain object."""
        return {
            "estimate": self.estimate.to_json(),
            "ratings_alone": self.ratings_alone.to_json(),
            "predictions_alone": self.predictions_alone,
            "tuning": self.tuning,
            "offset": self.offset,
        }


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
    more = _finite(others, "others")
    ones = np.ones((rows.value.size, 1))
    return _powered(rows, ones, np.ones((more.size, 1)), more, _Ask("mean", 0, tuning, confidence))


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
    if more.size != x.size:
        raise InputError(f"There are {more.size} predictions and {x.size} x.", "Pass one x per prediction.")
    kept = np.isfinite(more) & np.isfinite(x)
    more, x = more[kept], x[kept]
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
            raise InputError(
                f"The weight of predictions cannot be {self.tuning}.", "Give 0 to 1, or leave it out."
            )


@dataclass(frozen=True, slots=True)
class _Rows:
    """Clean rated rows, each with its weight (a rated item weighs 1 over all) and clusters."""

    value: Floats
    prediction: Floats
    x: Floats
    weight: Floats
    item: Ints
    rater: Ints | None
    left_out: int


def _finite(column: Column, name: str) -> Floats:
    values = as_floats(column, name)
    return np.asarray(values[np.isfinite(values)])


def _rows(rated: Rated, x: Column | None) -> _Rows:
    value, prediction = as_floats(rated.value, "value"), as_floats(rated.prediction, "prediction")
    place = np.zeros(value.size) if x is None else as_floats(x, "rated_x")
    for name, column in (("prediction", prediction), ("rated_x", place)):
        if column.size != value.size:
            raise InputError(
                f"There are {value.size} rated values and {column.size} of {name}.",
                "Pass parallel columns: one entry per rated row.",
            )
    kept = np.isfinite(value) & np.isfinite(prediction) & np.isfinite(place)
    item = np.arange(value.size) if rated.item is None else code(rated.item).codes
    rater = None if rated.rater is None else code(rated.rater).codes
    for ids in (item, rater):
        if ids is not None and ids.size != value.size:
            raise InputError("The ids are not as many as the rated values.", "Pass one id per rated row.")
    item = np.unique(item[kept], return_inverse=True)[1].astype(np.int64)
    per_item = np.bincount(item) if item.size else np.zeros(0)
    if rater is not None:
        rater = np.unique(rater[kept], return_inverse=True)[1].astype(np.int64)
    return _Rows(
        value[kept], prediction[kept], place[kept], 1.0 / per_item[item], item, rater, int((~kept).sum())
    )


def _missing(why: str, ask: _Ask, counts: dict[str, int]) -> PredictionPowered:
    gone = Estimate.missing(why, f"prediction-powered {ask.what}", counts)
    return PredictionPowered(gone, Estimate.missing(why, ask.what, counts), None, None, None)


def _powered(rows: _Rows, design: Floats, other: Floats, more: Floats, ask: _Ask) -> PredictionPowered:
    items = int(rows.item.max()) + 1 if rows.item.size else 0
    counts = {"rated": items, "ratings": rows.value.size, "predicted": more.size}
    if rows.left_out:
        counts["left_out"] = rows.left_out
    columns = design.shape[1]
    if items < columns + 1:
        return _missing(f"{items} rated items; at least {columns + 1} are needed", ask, counts)
    alone = _solve(design, rows.value, rows.weight)
    plain = _read(_Parts(rows, design, other, more, alone, 0.0), ask, counts, ask.what, "Student t")
    if more.size < columns + 1 or (columns > 1 and is_constant(other[:, 1])):
        why = f"{more.size} predictions of unrated items: too few to add anything"
        return PredictionPowered(
            Estimate.missing(why, f"prediction-powered {ask.what}", counts), plain, None, None, None
        )
    ones = np.ones(more.size)
    predicted = _solve(other, more, ones)
    offset = _solve(design, rows.prediction, rows.weight) - alone
    weight = _tuned(rows, design, other, more, ask) if ask.tuning is None else ask.tuning
    found = _solve(design, rows.value - weight * rows.prediction, rows.weight) + weight * predicted
    parts = _Parts(rows, design, other, more, found, weight)
    estimate = _read(parts, ask, counts, f"prediction-powered {ask.what}", _INTERVAL)
    at = ask.column
    return PredictionPowered(estimate, plain, float(predicted[at]), float(weight), float(offset[at]))


def _solve(design: Floats, value: Floats, weight: Floats) -> Floats:
    scaled = design * weight[:, None]
    return np.asarray(np.linalg.solve(design.T @ scaled, scaled.T @ value))


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the error of an estimate is read from."""

    rows: _Rows
    design: Floats
    other: Floats
    more: Floats
    found: Floats
    tuning: float

    def influence(self, at: int) -> tuple[Floats, Floats]:
        """What each rated row and each other item adds to coefficient ``at``, about zero."""
        rows, tuning = self.rows, self.tuning
        scaled = self.design * rows.weight[:, None]
        corrected = rows.value - tuning * rows.prediction
        gap = corrected - self.design @ _solve(self.design, corrected, rows.weight)
        bread = np.linalg.inv(self.design.T @ scaled)
        first = (scaled @ bread[at]) * gap / self._held(bread)
        if not tuning:
            return first, np.zeros(0)
        beyond = self.more - self.other @ _solve(self.other, self.more, np.ones(self.more.size))
        rest = (self.other @ np.linalg.inv(self.other.T @ self.other)[at]) * beyond * tuning
        return first, rest

    def _held(self, bread: npt.NDArray[np.floating[Any]]) -> Floats:
        """By how much fitting shrinks each item's gap: HC2 for ratings alone, HC3 where the weight was fitted
        too.
        """
        leverage = np.einsum("ij,jk,ik->i", self.design, bread, self.design)
        free = np.clip(1.0 - leverage, 0.1, 1.0)
        return np.asarray(free if self.tuning else np.sqrt(free))


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


def _read(parts: _Parts, ask: _Ask, counts: dict[str, int], method: str, interval: str) -> Estimate:
    first, rest = parts.influence(ask.column)
    plain = Estimate(float(parts.found[ask.column]), method=method, counts=counts)
    rated, df = _clustered(parts.rows, first)
    df -= parts.design.shape[1] - 1
    many = float(rest @ rest) * rest.size / (rest.size - 1) if rest.size > 1 else 0.0
    total = rated + many
    if total <= 1e-24 * max(1.0, float(plain) ** 2):
        return _bounds.bounded(plain, None, "", ask.confidence, "the rated values do not vary")
    freedom = (
        total**2 / (rated**2 / df + (many**2 / (rest.size - 1) if many else 0.0))
        if rated
        else rest.size - 1.0
    )
    half = _bounds.t_quantile(ask.confidence, freedom) * math.sqrt(total)
    return plain.with_interval(float(plain) - half, float(plain) + half, interval, ask.confidence)


def _tuned(rows: _Rows, design: Floats, other: Floats, more: Floats, ask: _Ask) -> float:
    """The weight that makes the variance smallest: covariance of values and predictions over the predictions'
    variance.
    """
    items = int(rows.item.max()) + 1
    by_value = _Parts(rows, design, other, more, _solve(design, rows.value, rows.weight), 0.0)
    flat = _Rows(rows.prediction, rows.prediction, rows.x, rows.weight, rows.item, None, 0)
    by_prediction = _Parts(flat, design, other, more, _solve(design, rows.prediction, rows.weight), 0.0)
    a, b = (
        np.bincount(rows.item, weights=part.influence(ask.column)[0]) for part in (by_value, by_prediction)
    )
    spread = float(b @ b)
    if spread <= 1e-24:
        return 0.0
    return float(np.clip(float(a @ b) / spread / (1 + items / more.size), 0.0, 1.0))
