"""Predictions that were made elsewhere, from a CSV, TSV, JSON Lines or Parquet file.

Long: a row for every item, with the stimulus, the question (needed where more than one is asked) and ``value``, ``score``,
``answer`` or ``shares``. Wide: a row for every stimulus, with a column for every question. MusicEval's answer file
(``wavid,overall,textual`` without a header), EmoLia's ``predictions.csv`` and heartfelt's own are known. A stimulus may be named
without its extension or its folder, where that is unambiguous. Pairs and traces have rows of their own
(:mod:`heartfelt.predictors.file_sets`). Items the file does not hold are predictions with a problem;
rows that belong to no stimulus are in the ledger.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.formats.columns import MISSING, read_table
from heartfelt.formats.delimited import read_delimited
from heartfelt.formats.format import FORMATS
from heartfelt.formats.json_files import read_jsonl
from heartfelt.formats.source_table import SYNONYMS
from heartfelt.predictors.file_sets import (
    OF_SETS,
    is_about_sets,
    is_about_traces,
    read_records,
    set_entries,
    trace_entries,
)
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, Predictor, PredictorInfo
from heartfelt.predictors.texts import Names
from heartfelt.study.answer import NONE
from heartfelt.study.set_scale import Trace
from heartfelt.tables import LEDGER

Row: TypeAlias = Mapping[str, Any]
"""The parts of a prediction as the file holds them."""

_NAMES: Mapping[str, tuple[str, ...]] = {
    "stimulus": ("wavid", *SYNONYMS["stimulus"]),
    "question": SYNONYMS["question"],
    "value": ("value", "prediction", "predicted", "pred", "rating"),
    "score": ("score", "similarity", "logit", "probability", "confidence"),
    "answer": ("answer", "category", "label", "caption", "text"),
}
_FURTHER = ("shares", "low", "high", "reason", "note", "against", "ok", "problem", "error")


@PREDICTORS.register("file")
class File(Predictor):
    """Predictions from a file."""

    name = "file"
    about = "predictions from a CSV, JSON Lines or Parquet file"
    argument = "the file"
    options: ClassVar[Mapping[str, str]] = {
        "stimulus": "the column that names the stimulus",
        "question": "the column that names the question",
        "value": "the column of values on the question's scale",
        "score": "the column of scores that are not on the scale",
        "answer": "the column of categories or texts",
        "first": "of pairs, the column that names the first stimulus",
        "second": "of pairs, the column that names the second stimulus",
        "probability": "of pairs, the column of probabilities that the first is chosen",
        "tie": "of pairs, the column of probabilities of a tie",
        "winner": "of pairs, the column that names the stimulus chosen",
        "rate": "of traces, samples per second",
        "model": "of a file with several models, the one to use",
    }
    needs_media = False
    batch = 256

    def __init__(self, path: str, options: Mapping[str, str]) -> None:
        if not path:
            raise InputError("The predictor 'file' has no file.", "Write file:predictions.csv.")
        self._path = Path(path).expanduser()
        self._named = dict(options)
        self._rows = self._read()
        self._header = list(dict.fromkeys(name for row in self._rows for name in row))
        self._content = hashlib.sha256(self._path.read_bytes()).hexdigest()
        self._answers: dict[tuple[str, str], Row] | None = None
        self._ledger = LEDGER.empty()
        self.compares = "members" in self._header or is_about_sets(self._header, self._named)

    @property
    def identity(self) -> str:
        """What the file holds and how it is read."""
        named = " ".join(f"{name}={column}" for name, column in sorted(self._named.items()))
        return f"file {self._content} {named}"

    def describe(self) -> PredictorInfo:
        """The file's name without its extension, or the model chosen from it."""
        shown = self._named.get("model") or self._path.stem
        path = str(self._path)
        return PredictorInfo(self.spec or path, shown, self.name, path, None, self._content)

    def _read(self) -> list[dict[str, Any]]:
        """The rows of the file as they are; of several models only the one that was asked for."""
        path, wanted = self._path, self._named.get("model")
        if path.suffix.lower() in {".jsonl", ".ndjson"}:
            rows = [record for _, record in read_jsonl(path)]
        elif path.suffix.lower() == ".json":
            rows = read_records(path)
        else:
            rows = _table(path).to_dicts()
        if not rows:
            raise InputError(f"{path} holds no predictions.", "Write one row per prediction.")
        models = sorted({str(row["model"]) for row in rows if row.get("model") is not None})
        if wanted is not None and wanted not in models:
            raise InputError(f"{path} holds no model '{wanted}'.", suggestion(wanted, models, "Models"))
        if wanted is None and len(models) > 1:
            raise InputError(
                f"{path} holds predictions of {len(models)} models.",
                f"Say which: file[model={models[0]}]:{path}. Models: {', '.join(models)}.",
            )
        return rows if wanted is None else [row for row in rows if str(row.get("model")) == wanted]

    def expect(self, cases: Sequence[Case]) -> None:
        """Match the file's rows with what will be asked."""
        asked = {(case.stimulus, name) for case in cases for ask in case.asks for name in ask.names}
        names = Names(case.stimulus for case in cases)
        seen: dict[tuple[str, str], Row] = {}
        unmatched: list[Row] = []
        for place, name, question, row in self._entries(cases):
            stimulus = names.find(name)
            key = (stimulus or name, question)
            if key in seen:
                raise InputError(
                    f"{self._path}, row {place}: the stimulus '{key[0]}' has two predictions for '{question}'.",
                    "Keep one row per stimulus and question.",
                )
            seen[key] = row
            if key not in asked:
                why = (
                    "no stimulus that is asked about has this name"
                    if stimulus is None
                    else "this question is not asked of this stimulus"
                )
                reason = f"{self._path.name}: {why}"
                unmatched.append({"stimulus": name, "question": question, "reason": reason})
        self._answers = {key: row for key, row in seen.items() if key in asked}
        table = pl.DataFrame(unmatched, schema={column.name: column.dtype for column in LEDGER.columns})
        stage = table.with_columns(what=pl.lit("prediction"), stage=pl.lit("predict"))
        self._ledger = LEDGER.check(stage, str(self._path))

    def ledger(self) -> pl.DataFrame:
        """The rows that belong to nothing that is asked."""
        return self._ledger

    def predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        """What the file holds."""
        if self._answers is None:
            self.expect(cases)
        return super().predict(cases)

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        """One row of the file, read on the question's scale."""
        for name in ask.names:
            row = (self._answers or {}).get((case.stimulus, name))
            if row is not None:
                made = _prediction(row, ask)
                if made.samples is not None and made.rate is None:
                    made = replace(made, rate=_number(self._named.get("rate")))
                named = f"from the file's '{name}'"
                return made if name == ask.question else replace(made, note=made.note or named)
        return Prediction.failed("the file holds no prediction for this item")

    def _column(self, part: str) -> str | None:
        """The column of a part: the one the user named, or the first that is called so."""
        named = self._named.get(part)
        if named is not None:
            if named not in self._header:
                raise InputError(
                    f"{self._path} has no column '{named}'.", suggestion(named, self._header, "It has")
                )
            return named
        by_case = {name.strip().casefold(): name for name in reversed(self._header)}
        return next((by_case[name] for name in _NAMES[part] if name in by_case), None)

    def _entries(self, cases: Sequence[Case]) -> Iterator[tuple[int, str, str, Row]]:
        """Row number, stimulus, question and prediction of everything in the file."""
        header, asks = self._header, {ask.question: ask for case in cases for ask in case.asks}
        questions = list(dict.fromkeys(name for ask in asks.values() for name in ask.names))
        if any(case.members for case in cases) and is_about_sets(header, self._named):
            return set_entries(self._rows, header, self._named, cases, self._path)
        for format in FORMATS.values():
            stimuli, keys = format.prediction_keys or ((), ())
            if stimuli and {*stimuli, *keys} <= set(header):
                return self._long(stimuli, keys)
        stimulus, question = self._column("stimulus"), self._column("question")
        system = "system" if "system" in header and stimulus is None else None
        if system is not None:
            return self._of_systems(cases, question, questions)
        if stimulus is None:
            raise InputError(
                f"{self._path} has no column that names the stimulus.",
                suggestion("stimulus", header, "Say which it is with file[stimulus=COLUMN]:FILE. It has"),
            )
        if is_about_traces(header, asks.values()):
            return trace_entries(self._rows, self._named, (stimulus, question), asks, self._path)
        if question is not None:
            return self._long([stimulus], [question])
        # The columns named like a question, or as a dataset's own lists name it.
        known = {column: to for format in FORMATS.values() for column, to in format.answer_columns.items()}
        wide = {name: name for name in header if name in questions} or {
            name: known[name] for name in header if known.get(name) in questions
        }
        if wide:
            return (
                (place, str(row.get(stimulus)), question, {"value": row.get(column)})
                for place, row in enumerate(self._rows, 1)
                for column, question in wide.items()
            )
        if len(asks) > 1:
            raise InputError(
                f"{self._path} does not say which question a prediction answers: it has no column 'question' and none"
                f" called {' or '.join(questions[:3])}.",
                "Add a column 'question', or one column for every question.",
            )
        return self._long([stimulus], [], questions[0])

    def _of_systems(
        self, cases: Sequence[Case], question: str | None, questions: Sequence[str]
    ) -> Iterator[tuple[int, str, str, Row]]:
        """One value per system, which is that of each of its stimuli."""
        asked = [] if question is None else [question]
        for place, system, about, row in self._long(["system"], asked, questions[0] if questions else ""):
            for case in cases:
                if case.system == system:
                    yield place, case.stimulus, about, {"note": f"the value of {system}", **row}

    def _long(
        self, stimulus: Sequence[str], question: Sequence[str], fixed: str = ""
    ) -> Iterator[tuple[int, str, str, Row]]:
        """One prediction per row; several columns may make up a name."""
        columns = {part: self._column(part) for part in ("value", "score", "answer")}
        used = {part: name for part, name in columns.items() if name and name not in (*stimulus, *question)}
        if not used and not {"shares", *OF_SETS} & set(self._header):
            raise InputError(
                f"{self._path} has no column of predictions.",
                suggestion(
                    "value", self._header, "Name one 'value', 'score' or 'answer', or say which it is. It has"
                ),
            )
        used |= {name: name for name in (*_FURTHER, *OF_SETS) if name in self._header}
        for place, row in enumerate(self._rows, 1):
            name = "/".join(str(row.get(column)) for column in stimulus)
            about = "/".join(str(row.get(column)) for column in question) or fixed
            yield place, name, about, {part: row.get(column) for part, column in used.items()}


def _table(path: Path) -> pl.DataFrame:
    """A table; one without a header is a dataset's own list of answers, if it has as many columns of numbers."""
    frame = read_table(path)
    if len(frame.columns) > 1 and all(_number(name) is not None for name in frame.columns[1:]):
        for format in FORMATS.values():
            if len(format.answer_columns) == len(frame.columns) - 1:
                frame = read_delimited(path, names=("stimulus", *format.answer_columns))
    return frame


def _prediction(row: Row, ask: Ask) -> Prediction:
    problem = row.get("problem") or row.get("error")
    if problem or str(row.get("ok", True)).casefold() == "false":
        return Prediction.failed(str(problem or "the file says that there is no prediction"))
    parts: dict[str, Mapping[str, float] | None] = {}
    for name in ("shares", "members"):
        try:
            parts[name] = _shares(row.get(name))
        except (TypeError, ValueError):
            return Prediction.failed(f"the file's {name} '{row.get(name)}' are not an object of numbers")
    shares = parts["shares"]
    try:
        orders, samples = (_listed(row.get(name)) for name in ("orders", "samples"))
    except (TypeError, ValueError):
        return Prediction.failed("the file's samples are not a list of numbers")
    if samples is not None and not isinstance(ask.scale, Trace):
        return Prediction.failed("the file holds a trace, and this question is not answered with one")
    cell, in_words = row.get("value"), ask.scale.level == "text"
    value, answer = None if in_words else _number(cell), _text(row.get("answer"))
    if value is None and cell is not None and str(cell).strip() not in MISSING:
        if not in_words and not ask.scale.labels() and not (ask.none and str(cell).strip() == NONE):
            return Prediction.failed(f"the file's '{cell}' is not a number")
        answer = answer or (str(cell) if in_words else str(cell).strip())
    score, low, high, against = (_number(row.get(name)) for name in ("score", "low", "high", "against"))
    if all(part is None for part in (value, answer, score, samples, *parts.values())):
        return Prediction.failed("the file's cell for this item is empty")
    reason, note = _text(row.get("reason")), _text(row.get("note"))
    both = None if orders is None or None in orders or len(orders) != 2 else (orders[0], orders[1])
    return Prediction(
        *(value, score, answer, shares, low, high, reason, note, against),
        members=parts["members"],
        orders=both,  # type: ignore[arg-type]  # two numbers
        samples=samples,
        rate=_number(row.get("rate")),
        start=_number(row.get("start")),
    )


def _number(cell: Any) -> float | None:
    """A cell as a number; None where it is not one, or empty."""
    if cell is None or str(cell).strip() in MISSING:
        return None
    try:
        return float(cell) if isinstance(cell, bool) else float(str(cell).strip().replace(",", "."))
    except ValueError:
        return None


def _listed(cell: Any) -> tuple[float | None, ...] | None:
    """A cell of samples: a list, or one as text; gaps are None."""
    given = json.loads(cell) if isinstance(cell, str) else cell
    if given is None:
        return None
    numbers = [None if each is None else float(each) for each in given]
    return tuple(None if each is None or math.isnan(each) else each for each in numbers)


def _text(cell: Any) -> str | None:
    return None if cell is None else str(cell)


def _shares(cell: Any) -> dict[str, float] | None:
    """A cell of shares: a JSON object, or one as text."""
    shares = json.loads(cell) if isinstance(cell, str) else cell
    return None if shares is None else {str(name): float(share) for name, share in dict(shares).items()}
