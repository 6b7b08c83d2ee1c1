"""Rows of predictions: read from a file of any kind, and a row's numbers, categories, texts and samples as one prediction."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.formats.format import FORMATS
from heartfelt.formats.tables.columns import PARQUET, read_table
from heartfelt.formats.tables.delimited import first_row, read_delimited
from heartfelt.formats.tables.workbooks import WORKBOOKS
from heartfelt.predictors.files.inspect_logs import is_log, read_log
from heartfelt.predictors.files.metric_files import is_compressed, is_empty, is_lines, read_lines, result_files
from heartfelt.predictors.files.sets import Row, holds_pairs, read_records
from heartfelt.predictors.interface.predictor import Ask, Prediction
from heartfelt.study.scales.answer import NONE
from heartfelt.study.scales.set_scale import Trace
from heartfelt.wording import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """What a file or folder of predictions holds."""

    rows: list[dict[str, object]]
    hash: str
    """SHA-256 of the files that were read."""
    compares: bool
    """Whether it holds heartfelt's own predictions of pairs and sets."""
    unused: Sequence[tuple[str, str]]
    """What was not read, such as a file of a folder: what it is, and why."""


def read_predictions(path: Path, model: str | None) -> FileContent:
    """The rows of a file as they are; of several models only the one that was asked for."""
    if not path.exists():
        raise InputError(f"There is no file {path}.", "Check the path.")
    paths, unused = result_files(path) if path.is_dir() else ([path], {})
    ledger = [("file", f"{path.name}: '{name}' {reason}, so it was not read") for name, reason in unused.items()]
    if is_log(path):
        log = read_log(path)
        rows, compares = log.rows, log.compares
        ledger += [] if log.unfinished is None else [("log", f"{path.name}: {log.unfinished}")]
    else:
        if path.suffix.lower() in WORKBOOKS:
            raise InputError(f"{path} is a workbook.", "Save the sheet with the predictions as CSV.")
        if path.is_file() and is_compressed(path):
            raise InputError(f"{path} is compressed.", "Unpack it, and name the file in it.")
        rows = _rows(paths, path)
        compares = holds_pairs(rows)
    content = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
    return FileContent(rows=_of_model(rows, path, model), hash=content, unused=ledger, compares=compares)


def _rows(paths: Sequence[Path], path: Path) -> list[dict[str, object]]:
    if path.is_dir() or is_lines(path):
        return read_lines(paths)
    return read_records(path) if path.suffix.lower() == ".json" else _table(path).to_dicts()


def _of_model(rows: list[dict[str, object]], path: Path, model: str | None) -> list[dict[str, object]]:
    if not rows:
        raise InputError(f"{path} holds no predictions.", "Write one row per prediction.")
    models = sorted({str(row["model"]) for row in rows if row.get("model") is not None})
    if model is not None:
        if model not in models:
            raise InputError(f"{path} holds no model '{model}'.", suggestion(model, models, "Models"))
        return [row for row in rows if str(row.get("model")) == model]
    if len(models) > 1:
        raise InputError(
            f"{path} holds predictions of {len(models)} models.",
            f"Say which: file[model={models[0]}]:{path}. Models: {', '.join(models)}.",
        )
    return rows


def _table(path: Path) -> pl.DataFrame:
    """A table; one without a header is a list of answers: of a dataset with as many columns of numbers, or with one of values."""
    fields = [] if path.suffix.lower() in PARQUET else first_row(path)
    if len(fields) < 2 or any(number_in(field) is None for field in fields[1:]):
        return read_table(path)
    for format in FORMATS.values():
        if len(format.answer_columns) == len(fields) - 1:
            return read_delimited(path, ",", ("stimulus", *format.answer_columns))
    return read_delimited(path, ",", ("stimulus", "value")) if len(fields) == 2 else read_table(path)


def no_predictions(path: Path, header: Sequence[str], reasons: Mapping[str, str] | None = None) -> InputError:
    fix = suggestion("value", header, "Name one 'value', 'score' or 'answer', or say which it is. It has")
    explanation = listed([f"'{name}' {reason}" for name, reason in reasons.items()], 3) if reasons else ""
    return InputError(f"{path} has no column of predictions{f' ({explanation})' if explanation else ''}.", fix)


def row_prediction(row: Row, ask: Ask) -> Prediction:
    """A row of a file as a prediction; what it holds that cannot be one is the prediction's problem."""
    problem = row.get("problem") or row.get("error")
    if problem or str(row.get("ok", True)).casefold() == "false":
        return Prediction.failed(str(problem or "the file says that there is no prediction"))
    try:
        shares, members = (_shares(row, name) for name in ("shares", "members"))
        orders, samples = _both_orders(row), _samples(row, ask)
        value, answer = _value_and_answer(row, ask)
    except ValueError as error:
        return Prediction.failed(str(error))
    score = number_in(row.get("score"))
    if all(part is None for part in (value, answer, score, samples, shares, members)):
        return Prediction.failed(_why_empty(row.get("score")))
    return Prediction(
        value=value,
        score=score,
        answer=answer,
        shares=shares,
        reason=_text(row.get("reason")),
        note=_text(row.get("note")),
        members=members,
        orders=orders,
        samples=samples,
        low=number_in(row.get("low")),
        high=number_in(row.get("high")),
        against=number_in(row.get("against")),
        rate=number_in(row.get("rate")),
        start=number_in(row.get("start")),
    )


def _value_and_answer(row: Row, ask: Ask) -> tuple[float | None, str | None]:
    """The number and the words of a row, as the question's scale has them; ValueError for a number that is none."""
    cell, answer = row.get("value"), _text(row.get("answer"))
    if isinstance(cell, bool) and not ask.scale.labels():
        raise ValueError(f"the file's '{cell}' is not a number")
    if ask.scale.level == "text":
        return None, _words(answer, cell, str(cell))
    value, words = number_in(cell), _words(answer, cell, str(cell).strip())
    if value is not None:
        return value, answer
    if ask.scale.labels():
        return None, words
    says_none = ask.none and str(cell).strip() == NONE
    if not (says_none or is_empty(cell)):
        raise ValueError(f"the file's '{cell}' is not a number")
    number = number_in(words)
    return number, words if number is None else None


def _words(answer: str | None, cell: object, text: str) -> str | None:
    """The answer of a row; where it has none, the ``text`` of its cell of values."""
    return answer if is_empty(cell) else answer or text


def _samples(row: Row, ask: Ask) -> tuple[float | None, ...] | None:
    samples = _listed(row, "samples")
    if samples is not None and not isinstance(ask.scale, Trace):
        raise ValueError("the file holds a trace, and this question is not answered with one")
    return samples


def _both_orders(row: Row) -> tuple[float, float] | None:
    match _listed(row, "orders"):
        case (float(first), float(second)):
            return first, second
    return None


def _why_empty(score: object) -> str:
    if is_empty(score):
        return "the file's cell for this item is empty"
    return f"the file's {score!r} is not a number"


def number_in(cell: Any) -> float | None:
    """A cell as a number; None where it is not one, or empty."""
    if is_empty(cell):
        return None
    try:
        return float(cell) if isinstance(cell, bool) else float(str(cell).strip().replace(",", "."))
    except ValueError:
        return None


def _listed(row: Row, name: str) -> tuple[float | None, ...] | None:
    """A cell of samples: a list, or one as text; gaps are None."""
    cell = row.get(name)
    try:
        items = json.loads(cell) if isinstance(cell, str) else cell
        numbers = None if items is None else [None if item is None else float(item) for item in items]
    except (TypeError, ValueError):
        raise ValueError("the file's samples are not a list of numbers") from None
    return None if numbers is None else tuple(None if n is None or math.isnan(n) else n for n in numbers)


def _text(cell: Any) -> str | None:
    return None if cell is None else str(cell)


def _shares(row: Row, name: str) -> dict[str, float] | None:
    cell = row.get(name)
    try:
        shares = json.loads(cell) if isinstance(cell, str) else cell
        return None if shares is None else {str(key): float(share) for key, share in dict(shares).items()}
    except (TypeError, ValueError):
        raise ValueError(f"the file's {name} '{cell}' are not an object of numbers") from None
