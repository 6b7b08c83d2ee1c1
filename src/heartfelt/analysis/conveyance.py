"""Predicted conveyance: whether systems convey what they are asked to, from predictions and however many ratings there are.

Everything here is predicted and says so. The predictor's own error is part of every interval, in one of two ways.
With ratings of some stimuli: prediction-powered inference (see ``heartfelt.stats.inference``), valid whatever the predictor.
Without: the predictor's known error on systems it had not met, between systems, between intents and between stimuli, is added
to the stimuli's own spread; with few systems behind that knowledge, Student t with as many degrees of freedom less one.

A predictions table has ``stimulus``, ``question`` and ``value``; stimuli have ``system`` and ``intent``; references are
coordinates of intents by question. Deviation is predicted less reference. The quadrant of a prediction is that of its values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import Rated, prediction_powered_mean, prediction_powered_slope
from heartfelt.stats.triples import Floats

ALL = "all"
PREDICTED = "predicted"
_KNOWN_ERROR = "the predictor's error on systems it had not met, Student t"
MIDLINE = "on a midline"


@dataclass(frozen=True, slots=True)
class KnownError:
    """Standard deviations of a predictor's error on systems it had not met, and how many systems that is known from."""

    system: float
    intent: float
    stimulus: float
    systems: int


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What predicted conveyance is worked out from."""

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


def predicted_conveyance(asked: Asked) -> dict[str, Any]:
    """Deviations, slopes and quadrants by system, each an estimate with the predictor's error in its interval."""
    table = _laid_out(asked)
    questions = [name for name in asked.references if name in set(table["question"])]
    systems = sorted({str(name) for name in table["system"].drop_nulls()})
    deviations, cells, slopes = [], [], []
    for question in questions:
        mine = table.filter(pl.col("question") == question)
        for system in [ALL, *systems] if len(systems) > 1 else systems or [ALL]:
            part = mine if system == ALL else mine.filter(pl.col("system") == system)
            facts = {"system": system, "question": question}
            deviations.append(facts | _deviation(part, asked, question))
            slopes.append(facts | _slope(part, asked, question))
            if system != ALL:
                cells += [
                    facts
                    | {"intent": intent}
                    | _deviation(part.filter(pl.col("intent") == intent), asked, question)
                    for intent in sorted({str(name) for name in part["intent"].drop_nulls()})
                ]
    return {
        "marked": PREDICTED,
        "stimuli": table["stimulus"].n_unique(),
        "rated": 0 if asked.ratings is None else asked.ratings["stimulus"].n_unique(),
        "deviation_by_system": deviations,
        "deviation_by_cell": cells,
        "slopes": slopes,
        "quadrants": _quadrants(table, asked, questions, systems),
    }


def _laid_out(asked: Asked) -> pl.DataFrame:
    facts = asked.stimuli.select("stimulus", *(pl.col(name).cast(pl.String) for name in ("system", "intent")))
    joined = asked.predictions.select("stimulus", "question", "value").drop_nulls("value")
    table = joined.join(facts, on="stimulus", how="inner", maintain_order="left")
    reference = [
        asked.references.get(question, {}).get(str(intent))
        for question, intent in zip(table["question"], table["intent"], strict=True)
    ]
    table = table.with_columns(pl.Series("reference", reference, dtype=pl.Float64)).drop_nulls("reference")
    if not table.height:
        raise InputError(
            "No prediction belongs to a stimulus whose intent has a reference.",
            "Give the stimuli intents that the study has coordinates for.",
        )
    return table


def _rated(part: pl.DataFrame, asked: Asked, question: str) -> pl.DataFrame | None:
    """Ratings of these stimuli with their predictions; None where fewer than two stimuli were rated."""
    if asked.ratings is None:
        return None
    mine = asked.ratings.filter(pl.col("question") == question).rename({"value": "rating"})
    found = mine.join(part, on=["stimulus", "question"], how="inner", maintain_order="left")
    return found if found["stimulus"].n_unique() >= 2 else None


def _deviation(part: pl.DataFrame, asked: Asked, question: str) -> dict[str, Any]:
    gaps = (part["value"] - part["reference"]).to_numpy()
    rated = _rated(part, asked, question)
    if rated is not None:
        rest = part.join(rated.select("stimulus").unique(), on="stimulus", how="anti", maintain_order="left")
        rows = Rated(
            (rated["rating"] - rated["reference"]).to_numpy(),
            (rated["value"] - rated["reference"]).to_numpy(),
            rated["stimulus"],
            rated["rater"],
        )
        found = prediction_powered_mean(
            rows, (rest["value"] - rest["reference"]).to_numpy(), confidence=asked.confidence
        )
        best = found.estimate if found.estimate.value is not None else found.ratings_alone
        return {
            "deviation": best.to_json(),
            "ratings_alone": found.ratings_alone.to_json(),
            "tuning": found.tuning,
        }
    return {"deviation": _by_known_error(part, gaps, asked, question).to_json()}


def _by_known_error(part: pl.DataFrame, gaps: Floats, asked: Asked, question: str) -> Estimate:
    method = "mean predicted deviation"
    counts = {"predicted": gaps.size}
    if not gaps.size:
        return Estimate.missing("no stimuli", method, counts)
    plain = Estimate(float(gaps.mean()), method=method, counts=counts)
    error = asked.errors.get(question)
    if error is None:
        return _bounds.bounded(
            plain, None, "", asked.confidence, "the predictor's error on new systems is not known"
        )
    variance = _spread_of_mean(part, gaps) + _error_variance(part, error)
    half = _bounds.t_quantile(asked.confidence, max(error.systems - 1, 1)) * math.sqrt(variance)
    return plain.with_interval(float(plain) - half, float(plain) + half, _KNOWN_ERROR, asked.confidence)


def _spread_of_mean(part: pl.DataFrame, gaps: Floats) -> float:
    """Variance of the mean that comes from which clips were made: within cells, since the intents are as designed."""
    cell = part.select(pl.concat_str("system", "intent", separator="\x1f", ignore_nulls=True)).to_series()
    codes = np.unique(cell.to_numpy(), return_inverse=True)[1]
    counts = np.bincount(codes)
    apart = gaps - (np.bincount(codes, weights=gaps) / counts)[codes]
    free = gaps.size - counts.size
    return float(apart @ apart) / free / gaps.size if free > 0 else float(gaps.var()) / gaps.size


def _error_variance(part: pl.DataFrame, error: KnownError) -> float:
    """Variance of the mean error of these stimuli: shared by a system, shared by a cell, and each one's own."""
    total = 0.0
    for by, sd in ((["system"], error.system), (["system", "intent"], error.intent)):
        share = part.group_by(by).len()["len"].to_numpy() / part.height
        total += sd**2 * float(share @ share)
    return total + error.stimulus**2 / part.height


def _slope(part: pl.DataFrame, asked: Asked, question: str) -> dict[str, Any]:
    value, reference = part["value"].to_numpy(), part["reference"].to_numpy()
    rated = _rated(part, asked, question)
    if rated is not None:
        rest = part.join(rated.select("stimulus").unique(), on="stimulus", how="anti", maintain_order="left")
        rows = Rated(rated["rating"].to_numpy(), rated["value"].to_numpy(), rated["stimulus"], rated["rater"])
        found = prediction_powered_slope(
            rows,
            rated["reference"].to_numpy(),
            rest["value"].to_numpy(),
            rest["reference"].to_numpy(),
            confidence=asked.confidence,
        )
        best = found.estimate if found.estimate.value is not None else found.ratings_alone
        return {"slope": best.to_json(), "ratings_alone": found.ratings_alone.to_json()}
    return {"slope": _known_slope(part, value, reference, asked, question).to_json()}


def _known_slope(
    part: pl.DataFrame, value: Floats, reference: Floats, asked: Asked, question: str
) -> Estimate:
    method = "least-squares slope of predictions on references"
    counts = {"predicted": value.size, "intents": part["intent"].n_unique()}
    apart = reference - reference.mean() if reference.size else reference
    spread = float(apart @ apart)
    if value.size < 3 or spread <= 1e-12:
        return Estimate.missing("the intents' references do not vary", method, counts)
    slope = float(apart @ value) / spread
    plain = Estimate(slope, method=method, counts=counts)
    error = asked.errors.get(question)
    if error is None:
        return _bounds.bounded(
            plain, None, "", asked.confidence, "the predictor's error on new systems is not known"
        )
    residual = value - value.mean() - slope * apart
    own = float((apart**2) @ residual**2) / spread**2 * value.size / (value.size - 2)
    weight = part.with_columns(pl.Series("weight", apart / spread))
    cell = weight.group_by("system", "intent").agg(pl.sum("weight"))["weight"].to_numpy()
    # What a whole system shares moves the level, not the slope; intents and single stimuli move the slope.
    variance = own + error.intent**2 * float(cell @ cell) + error.stimulus**2 / spread
    half = _bounds.t_quantile(asked.confidence, max(counts["intents"] - 2, 1)) * math.sqrt(variance)
    return plain.with_interval(slope - half, slope + half, _KNOWN_ERROR, asked.confidence)


def _quadrants(
    table: pl.DataFrame, asked: Asked, questions: list[str], systems: list[str]
) -> dict[str, Any] | None:
    """Intended against predicted quadrants of the first two questions, counted; a count of predictions, not of ratings."""
    if len(questions) < 2:
        return None
    across, up = questions[:2]
    sides = [
        table.filter(pl.col("question") == name).select(
            "stimulus",
            "system",
            (pl.col("value") - asked.midpoints[name]).alias(f"said {at}"),
            (pl.col("reference") - asked.midpoints[name]).alias(f"meant {at}"),
        )
        for at, name in enumerate((across, up))
    ]
    both = sides[0].join(sides[1].drop("system"), on="stimulus", how="inner", maintain_order="left")
    names = [
        f"{x} {across}, {y} {up}"
        for x, y in (("high", "high"), ("low", "high"), ("low", "low"), ("high", "low"))
    ]
    meant, said = (_named(both, side, names) for side in ("meant", "said"))
    columns = [*names, MIDLINE]
    counts = np.zeros((len(names), len(columns)), dtype=np.int64)
    for row, column in zip(meant, said, strict=True):
        if row < len(names):
            counts[row, column] += 1
    owner = both["system"].to_list()
    hits = {
        system: [
            m == s
            for m, s, own in zip(meant, said, owner, strict=True)
            if m < len(names) and system in (ALL, own)
        ]
        for system in [ALL, *systems]
    }
    return {
        "rows": names,
        "columns": columns,
        "counts": counts.tolist(),
        "hit_rate": {system: _share(found) for system, found in hits.items() if found},
    }


def _named(both: pl.DataFrame, side: str, names: list[str]) -> list[int]:
    places = {(1, 1): 0, (-1, 1): 1, (-1, -1): 2, (1, -1): 3}
    x, y = (np.sign(both[f"{side} {at}"].to_numpy().round(9)).astype(int).tolist() for at in (0, 1))
    return [places.get(pair, len(names)) for pair in zip(x, y, strict=True)]


def _share(found: list[bool]) -> dict[str, Any]:
    hits, n = sum(found), len(found)
    plain = Estimate(
        hits / n, method="share of predictions in the intended quadrant", counts={"predicted": n}
    )
    return plain.with_interval(
        *_bounds.wilson(hits, n, 0.95), "Wilson; of the predictions, not of what people would say"
    ).to_json()
