"""Predicted conveyance: whether systems convey what they are asked to, from predictions and however many ratings there are.

Everything here is predicted and marked so. The predictor's own error is part of every interval, in one of two ways.
With ratings of some stimuli: prediction-powered inference (see ``heartfelt.stats.inference``), valid whatever the predictor.
Without: the predictor's known error on systems it had not met, between systems, between intents and between stimuli, is added
to the stimuli's own spread; with few systems behind that knowledge, Student t with as many degrees of freedom less one.

A predictions table has ``stimulus``, ``question`` and ``value``; stimuli have ``system`` and ``intent``; references are
coordinates of intents by question. Deviation is predicted less reference. The quadrant of a prediction is that of its values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import PredictionPowered, Rated, prediction_powered_mean, prediction_powered_slope

ALL = "all"
MIDLINE = "on a midline"
_KNOWN_ERROR = "the predictor's error on systems it had not met, Student t"
_UNKNOWN_ERROR = "the predictor's error on new systems is not known"


@dataclass(frozen=True, slots=True)
class KnownError:
    """Standard deviations of a predictor's error on systems it had not met, and how many systems that is known from."""

    system: float
    intent: float
    stimulus: float
    systems: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Evidence:
    """What predicted conveyance is computed from."""

    stimuli: pl.DataFrame
    """``stimulus, system, intent``."""
    predictions: pl.DataFrame
    """``stimulus, question, value``."""
    references: Mapping[str, Mapping[str, float]]
    """By question, then intent."""
    midpoints: Mapping[str, float]
    ratings: pl.DataFrame | None = None
    """``rater, stimulus, question, value`` of the stimuli people rated."""
    errors: Mapping[str, KnownError] = field(default_factory=dict)
    confidence: float = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDeviation:
    """How far a system's clips are predicted from their intents on one question; ``all`` is every system."""

    system: str
    question: str
    deviation: Estimate
    ratings_alone: Estimate | None = field(default=None, metadata={"omit": True})
    """The same from the ratings only, where some clips were rated; in JSON it and ``tuning`` are there only then."""
    tuning: float | None = field(default=None, metadata={"omit": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDeviation(SystemDeviation):
    """The same for one intent of a system."""

    intent: str = ""

    @classmethod
    def of(cls, deviation: SystemDeviation, intent: str) -> CellDeviation:
        facts = {part.name: getattr(deviation, part.name) for part in fields(deviation)}
        return cls(**facts, intent=intent)


@dataclass(frozen=True, slots=True)
class SystemSlope:
    """The slope of predictions on references: at 1, differences between intents come across in full."""

    system: str
    question: str
    slope: Estimate
    ratings_alone: Estimate | None = field(default=None, metadata={"omit": True})


@dataclass(frozen=True, slots=True)
class PredictedQuadrants:
    """Intended against predicted quadrants of the first two questions; counts of predictions, not of ratings."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    hit_rate: Mapping[str, Estimate]
    """The share of predictions in the intended quadrant, by system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedConveyance:
    """Predicted conveyance."""

    marked: str
    stimuli: int
    rated: int
    deviation_by_system: tuple[SystemDeviation, ...]
    deviation_by_cell: tuple[CellDeviation, ...]
    slopes: tuple[SystemSlope, ...]
    quadrants: PredictedQuadrants | None


def predicted_conveyance(evidence: Evidence) -> PredictedConveyance:
    """Deviations, slopes and quadrants by system, each an estimate with the predictor's error in its interval."""
    table = _table(evidence)
    names = [name for name in evidence.references if name in set(table["question"])]
    systems = table["system"].drop_nulls().unique().sort().to_list()
    deviations, cells, slopes = [], [], []
    for name in names:
        of_question = table.filter(pl.col("question") == name)
        for system in [ALL, *systems] if len(systems) != 1 else systems:
            part = of_question if system == ALL else of_question.filter(pl.col("system") == system)
            deviations.append(_deviation(part, evidence, name, system))
            slopes.append(SystemSlope(system, name, *_slope(part, evidence, name)))
            intents = part["intent"].drop_nulls().unique().sort() if system != ALL else ()
            for intent in intents:
                cell = part.filter(pl.col("intent") == intent)
                cells.append(CellDeviation.of(_deviation(cell, evidence, name, system), intent))
    return PredictedConveyance(
        marked="predicted",
        stimuli=table["stimulus"].n_unique(),
        rated=0 if evidence.ratings is None else evidence.ratings["stimulus"].n_unique(),
        deviation_by_system=tuple(deviations),
        deviation_by_cell=tuple(cells),
        slopes=tuple(slopes),
        quadrants=_quadrants(table, evidence, names, systems),
    )


def _table(evidence: Evidence) -> pl.DataFrame:
    facts = evidence.stimuli.select("stimulus", pl.col("system", "intent").cast(pl.String))
    predictions = evidence.predictions.select("stimulus", "question", "value").drop_nulls("value")
    table = predictions.join(facts, on="stimulus", how="inner", maintain_order="left")
    reference = [
        evidence.references.get(name, {}).get(str(intent))
        for name, intent in zip(table["question"], table["intent"], strict=True)
    ]
    table = table.with_columns(pl.Series("reference", reference, dtype=pl.Float64)).drop_nulls("reference")
    if not table.height:
        raise InputError(
            "No prediction belongs to a stimulus whose intent has a reference.",
            "Give the stimuli intents that the study has coordinates for.",
        )
    return table


def _rated(part: pl.DataFrame, evidence: Evidence, name: str) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """Ratings of these stimuli with their predictions, and the unrated stimuli; None where fewer than two were rated."""
    if evidence.ratings is None:
        return None
    ratings = evidence.ratings.filter(pl.col("question") == name).rename({"value": "rating"})
    rated = ratings.join(part, on=["stimulus", "question"], how="inner", maintain_order="left")
    if rated["stimulus"].n_unique() < 2:
        return None
    unrated = part.join(rated.select("stimulus").unique(), on="stimulus", how="anti", maintain_order="left")
    return rated, unrated


def _best(powered: PredictionPowered) -> Estimate:
    return powered.estimate if powered.estimate.value is not None else powered.ratings_alone


def _deviation(part: pl.DataFrame, evidence: Evidence, name: str, system: str) -> SystemDeviation:
    gaps = (part["value"] - part["reference"]).to_numpy()
    split = _rated(part, evidence, name)
    if split is None:
        return SystemDeviation(system=system, question=name, deviation=_by_known_error(part, gaps, evidence, name))
    rated, unrated = split
    rows = Rated(
        (rated["rating"] - rated["reference"]).to_numpy(),
        (rated["value"] - rated["reference"]).to_numpy(),
        rated["stimulus"],
        rated["rater"],
    )
    powered = prediction_powered_mean(
        rows, (unrated["value"] - unrated["reference"]).to_numpy(), confidence=evidence.confidence
    )
    return SystemDeviation(
        system=system,
        question=name,
        deviation=_best(powered),
        ratings_alone=powered.ratings_alone,
        tuning=powered.tuning,
    )


def _with_error(estimate: Estimate, variance: float, free: int, confidence: float) -> Estimate:
    """The estimate with Student's interval of the predictor's known error."""
    half = _bounds.t_quantile(confidence, max(free, 1)) * math.sqrt(variance)
    return estimate.with_interval(float(estimate) - half, float(estimate) + half, _KNOWN_ERROR, confidence)


def _by_known_error(part: pl.DataFrame, gaps: Floats, evidence: Evidence, name: str) -> Estimate:
    method = "mean predicted deviation"
    counts = {"predicted": gaps.size}
    if not gaps.size:
        return Estimate.missing("no stimuli", method, counts)
    mean_gap = Estimate(value=float(gaps.mean()), method=method, counts=counts)
    error = evidence.errors.get(name)
    if error is None:
        return _bounds.bounded(mean_gap, None, "", evidence.confidence, _UNKNOWN_ERROR)
    variance = _spread_of_mean(part, gaps) + _error_variance(part, error)
    return _with_error(mean_gap, variance, error.systems - 1, evidence.confidence)


def _spread_of_mean(part: pl.DataFrame, gaps: Floats) -> float:
    """Variance of the mean that comes from which clips were made: within cells, since the intents are as designed."""
    cell = part.select(pl.concat_str("system", "intent", separator="\x1f", ignore_nulls=True)).to_series()
    codes = np.unique(cell.to_numpy(), return_inverse=True)[1]
    counts = np.bincount(codes)
    within_cell = gaps - (np.bincount(codes, weights=gaps) / counts)[codes]
    free = gaps.size - counts.size
    return float(within_cell @ within_cell) / free / gaps.size if free > 0 else float(gaps.var()) / gaps.size


def _error_variance(part: pl.DataFrame, error: KnownError) -> float:
    """Variance of the mean error of these stimuli: shared by a system, shared by a cell, and each stimulus's own."""
    total = 0.0
    for by, sd in ((["system"], error.system), (["system", "intent"], error.intent)):
        share = part.group_by(by).len()["len"].to_numpy() / part.height
        total += sd**2 * float(share @ share)
    return total + error.stimulus**2 / part.height


def _slope(part: pl.DataFrame, evidence: Evidence, name: str) -> tuple[Estimate, Estimate | None]:
    split = _rated(part, evidence, name)
    if split is None:
        return _known_slope(part, evidence, name), None
    rated, unrated = split
    rows = Rated(rated["rating"].to_numpy(), rated["value"].to_numpy(), rated["stimulus"], rated["rater"])
    powered = prediction_powered_slope(
        rows,
        rated["reference"].to_numpy(),
        unrated["value"].to_numpy(),
        unrated["reference"].to_numpy(),
        confidence=evidence.confidence,
    )
    return _best(powered), powered.ratings_alone


def _known_slope(part: pl.DataFrame, evidence: Evidence, name: str) -> Estimate:
    method = "least-squares slope of predictions on references"
    value, reference = part["value"].to_numpy(), part["reference"].to_numpy()
    counts = {"predicted": value.size, "intents": part["intent"].n_unique()}
    centred = reference - reference.mean() if reference.size else reference
    spread = float(centred @ centred)
    if value.size < 3 or spread <= 1e-12:
        return Estimate.missing("the intents' references do not vary", method, counts)
    slope = float(centred @ value) / spread
    estimate = Estimate(value=slope, method=method, counts=counts)
    error = evidence.errors.get(name)
    if error is None:
        return _bounds.bounded(estimate, None, "", evidence.confidence, _UNKNOWN_ERROR)
    residual = value - value.mean() - slope * centred
    residual_variance = float((centred**2) @ residual**2) / spread**2 * value.size / (value.size - 2)
    weight = part.with_columns(pl.Series("weight", centred / spread))
    cell = weight.group_by("system", "intent").agg(pl.sum("weight"))["weight"].to_numpy()
    # What a whole system shares moves the level, not the slope; intents and single stimuli move the slope.
    variance = residual_variance + error.intent**2 * float(cell @ cell) + error.stimulus**2 / spread
    return _with_error(estimate, variance, counts["intents"] - 2, evidence.confidence)


def _quadrants(
    table: pl.DataFrame, evidence: Evidence, names: list[str], systems: list[str]
) -> PredictedQuadrants | None:
    if len(names) < 2:
        return None
    across, up = names[:2]
    sides = [
        table.filter(pl.col("question") == name).select(
            "stimulus",
            "system",
            (pl.col("value") - evidence.midpoints[name]).alias(f"predicted {name}"),
            (pl.col("reference") - evidence.midpoints[name]).alias(f"intended {name}"),
        )
        for name in (across, up)
    ]
    both = sides[0].join(sides[1].drop("system"), on="stimulus", how="inner", maintain_order="left")
    ends = {(1, 1): "high high", (-1, 1): "low high", (-1, -1): "low low", (1, -1): "high low"}
    rows = tuple(f"{x} {across}, {y} {up}" for x, y in map(str.split, ends.values()))
    quadrant_of = {side: index for index, side in enumerate(ends)}

    def quadrant(kind: str) -> list[int]:
        """The quadrant of each clip; the number of quadrants where it is on a midline."""
        signs = (np.sign(both[f"{kind} {name}"].to_numpy().round(9)).astype(int) for name in (across, up))
        return [quadrant_of.get((x, y), len(rows)) for x, y in zip(*(sign.tolist() for sign in signs), strict=True)]

    counts = np.zeros((len(rows), len(rows) + 1), dtype=np.int64)
    hits: dict[str, list[bool]] = {system: [] for system in [ALL, *systems]}
    for row, column, system in zip(quadrant("intended"), quadrant("predicted"), both["system"], strict=True):
        if row < len(rows):
            counts[row, column] += 1
            for group in {ALL, system} - {None}:
                hits[group].append(row == column)
    return PredictedQuadrants(rows, (*rows, MIDLINE), tuple(map(tuple, counts.tolist())), _hit_rates(hits))


def _hit_rates(hits: Mapping[str, list[bool]]) -> dict[str, Estimate]:
    """The share of predictions in the intended quadrant, by system that has any."""
    method, interval = (
        "share of predictions in the intended quadrant",
        ("Wilson; of the predictions, not of what people would say"),
    )
    rates = {}
    for system, system_hits in hits.items():
        if n := len(system_hits):
            estimate = Estimate(value=sum(system_hits) / n, method=method, counts={"predicted": n})
            rates[system] = estimate.with_interval(*_bounds.wilson(sum(system_hits), n, 0.95), interval)
    return rates
