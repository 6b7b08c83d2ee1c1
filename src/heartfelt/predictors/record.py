"""Predictions as lines of text, and as rows of a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import polars as pl

from heartfelt.predictors.model_call import Call
from heartfelt.predictors.predictor import PREDICTIONS, Prediction

_FIELDS = tuple(one.name for one in fields(Prediction) if one.name not in {"again", "call"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One item's prediction, how often it was asked, and how long its case took."""

    prediction: Prediction
    attempts: int = 0
    seconds: float | None = None


def plain(prediction: Prediction) -> dict[str, Any]:
    """What a prediction says, as plain data without gaps."""
    out: dict[str, Any] = {}
    for name in _FIELDS:
        value = getattr(prediction, name)
        if value is not None:
            out[name] = dict(value) if name == "shares" else value
    if prediction.call is not None:
        out["call"] = prediction.call.to_json()
    return out


def from_plain(row: Mapping[str, Any]) -> Prediction:
    """The prediction that :func:`plain` made plain data of."""
    call = row.get("call")
    return Prediction(**{**row, "call": None if call is None else Call.from_json(call)})


def prediction_text(prediction: Prediction) -> str:
    """A prediction as one line of JSON."""
    return json.dumps(plain(prediction), ensure_ascii=False, allow_nan=False)


def prediction_from(text: str) -> Prediction:
    """A prediction from its line of JSON."""
    return from_plain(json.loads(text))


def predictions_table(model: str, rows: Iterable[tuple[str, str, Entry]]) -> pl.DataFrame:
    """A table under the contract ``PREDICTIONS`` of (stimulus, question, entry)."""
    columns: dict[str, list[Any]] = {name: [] for name in PREDICTIONS.names}
    for stimulus, question, entry in rows:
        said = entry.prediction
        for name in _FIELDS:
            if name != "shares":
                columns[name].append(getattr(said, name))
        columns["model"].append(model)
        columns["stimulus"].append(stimulus)
        columns["question"].append(question)
        columns["shares"].append(
            None
            if said.shares is None
            else json.dumps(dict(said.shares), ensure_ascii=False, allow_nan=False)
        )
        columns["call"].append(None if said.call is None else said.call.id)
        columns["ok"].append(said.problem is None)
        columns["attempts"].append(entry.attempts)
        columns["seconds"].append(entry.seconds)
    schema = {column.name: column.dtype for column in PREDICTIONS.columns}
    return PREDICTIONS.check(pl.DataFrame(columns, schema=schema), f"predictions of {model}")
