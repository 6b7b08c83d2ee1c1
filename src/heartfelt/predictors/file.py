"""Predictions that were made elsewhere, from a CSV, TSV, JSON Lines or Parquet file.

Long: a row for every item, with the stimulus, the question (needed where more than one is asked) and ``value``, ``score``,
``answer`` or ``shares``. Wide: a row for every stimulus, with a column for every question. MusicEval's answer file
(``wavid,overall,textual`` without a header), EmoLia's ``predictions.csv`` and heartfelt's own are known. A stimulus may be named
without its extension or its folder, where that is unambiguous. Items the file does not hold are predictions with a problem;
rows that belong to no stimulus are in the ledger.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.formats.columns import MISSING, read_table
from heartfelt.formats.delimited import read_delimited
from heartfelt.formats.format import FORMATS
from heartfelt.formats.json_files import read_jsonl
from heartfelt.formats.source_table import SYNONYMS
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, Predictor, PredictorInfo
from heartfelt.predictors.texts import Names
from heartfelt.tables import LEDGER

Row: TypeAlias = Mapping[str, Any]
Answers: TypeAlias = dict[tuple[str, str], Row]
"""What a file says by (name of the stimulus, question): the parts of a prediction as the file holds them."""

_NAMES: Mapping[str, tuple[str, ...]] = {
    "stimulus": ("wavid", *SYNONYMS["stimulus"]),
    "question": SYNONYMS["question"],
    "value": ("value", "prediction", "predicted", "pred", "rating"),
    "score": ("score", "similarity", "logit", "probability"),
    "answer": ("answer", "category", "label", "caption", "text"),
}
_FURTHER = ("shares", "low", "high", "reason", "note", "against", "ok", "problem", "error")


@PREDICTORS.register("file")
class File(Predictor):
    """Predictions from a file."""

    name: ClassVar[str] = "file"
    about: ClassVar[str] = "predictions from a CSV, JSON Lines or Parquet file"
    argument: ClassVar[str] = "the file"
    options: ClassVar[Mapping[str, str]] = {
        "stimulus": "the column that names the stimulus",
        "question": "the column that names the question",
        "value": "the column of values on the question's scale",
        "score": "the column of scores that are not on the scale",
        "answer": "the column of categories or texts",
        "model": "of a file with several models, the one to use",
    }
    needs_media = False
    batch = 256

    def __init__(self, path: Path, options: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._layout = Layout(options or {})
        self._rows = read_rows(path, self._layout)
        self._content = hashlib.sha256(path.read_bytes()).hexdigest()
        self._answers: Answers | None = None
        self._ledger = LEDGER.empty()

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> File:
        """From a path."""
        if not argument:
            raise InputError("The predictor 'file' has no file.", "Write file:predictions.csv.")
        return cls(Path(argument).expanduser(), options)

    @property
    def identity(self) -> str:
        """What the file holds and how it is read."""
        return f"file {self._content} {self._layout.words}"

    def describe(self) -> PredictorInfo:
        """The file's name without its extension, or the model chosen from it."""
        chosen = self._layout.columns.get("model")
        return PredictorInfo(
            self.spec or str(self._path),
            chosen or self._path.stem,
            self.name,
            str(self._path),
            None,
            self._content,
        )

    def expect(self, cases: Sequence[Case]) -> None:
        """Match the file's rows with what will be asked."""
        questions = {ask.question: None for case in cases for ask in case.asks}
        rows = answers_of(self._rows, list(questions), self._layout, str(self._path))
        names = Names(case.stimulus for case in cases)
        asked = {(case.stimulus, ask.question) for case in cases for ask in case.asks}
        matched: Answers = {}
        unmatched: list[tuple[str, str, str]] = []
        for (name, question), row in rows.items():
            stimulus = names.find(name)
            if stimulus is None:
                unmatched.append((name, question, "no stimulus that is asked about has this name"))
            elif (stimulus, question) not in asked:
                unmatched.append((name, question, "this question is not asked of this stimulus"))
            elif (stimulus, question) in matched:
                raise InputError(
                    f"{self._path}: the stimulus '{stimulus}' has two predictions for '{question}'.",
                    "Keep one row per stimulus and question.",
                )
            else:
                matched[stimulus, question] = row
        self._answers = matched
        self._ledger = _ledger(unmatched, self._path)

    def ledger(self) -> pl.DataFrame:
        """The rows that belong to nothing that is asked."""
        return self._ledger

    def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
        """What the file holds."""
        if self._answers is None:
            self.expect(cases)
        answers = self._answers or {}
        return [
            [_prediction(answers.get((case.stimulus, ask.question)), ask) for ask in case.asks]
            for case in cases
        ]


def _prediction(row: Row | None, ask: Ask) -> Prediction:
    """One row of the file, read on the question's scale."""
    if row is None:
        return Prediction.failed("the file holds no prediction for this item")
    problem = row.get("problem") or row.get("error")
    if problem or str(row.get("ok", True)).casefold() == "false":
        return Prediction.failed(str(problem or "the file says that there is no prediction"))
    try:
        shares = shares_of(row.get("shares"))
    except (TypeError, ValueError):
        return Prediction.failed(f"the file's shares '{row.get('shares')}' are not an object of numbers")
    value, answer, problem = _cell(row.get("value", row.get("cell")), ask)
    numbers = {name: number_of(row.get(name)) for name in ("score", "low", "high", "against")}
    answer = answer if row.get("answer") is None else str(row["answer"])
    words = {name: None if row.get(name) is None else str(row[name]) for name in ("reason", "note")}
    if problem is None and value is None and answer is None and shares is None and numbers["score"] is None:
        problem = "the file's cell for this item is empty"
    if problem is not None:
        return Prediction.failed(problem)
    return Prediction(value=value, answer=answer, shares=shares, **numbers, **words)  # type: ignore[arg-type]  # sorted by kind above


def _cell(cell: Any, ask: Ask) -> tuple[float | None, str | None, str | None]:
    """A cell as (value, answer, problem)."""
    if cell is None or str(cell).strip() in MISSING:
        return None, None, None
    if ask.scale.level == "text":
        return None, str(cell), None
    number = number_of(cell)
    if number is not None:
        return number, None, None
    if ask.scale.labels():
        return None, str(cell).strip(), None
    return None, None, f"the file's '{cell}' is not a number"


def _ledger(left: Sequence[tuple[str, str, str]], path: Path) -> pl.DataFrame:
    rows = [
        {
            "what": "prediction",
            "rater": None,
            "stimulus": name,
            "question": question,
            "reason": f"{path.name}: {why}",
            "stage": "predict",
        }
        for name, question, why in left
    ]
    return LEDGER.check(pl.DataFrame(rows, schema={c.name: c.dtype for c in LEDGER.columns}), str(path))


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns hold what, as far as the user named them."""

    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The layout in words, for the predictor's identity."""
        return " ".join(f"{name}={column}" for name, column in sorted(self.columns.items()))

    def column(self, part: str, header: Sequence[str], where: str) -> str | None:
        """The column of a part: the one the user named, or the first that is called so."""
        named = self.columns.get(part)
        if named is not None:
            if named not in header:
                raise InputError(f"{where} has no column '{named}'.", suggestion(named, header, "It has"))
            return named
        by_case = {name.strip().casefold(): name for name in reversed(header)}
        return next((by_case[name] for name in _NAMES[part] if name in by_case), None)


def read_rows(path: Path, layout: Layout) -> list[dict[str, Any]]:
    """The rows of a file as they are; of several models only the one that was asked for."""
    if path.suffix.lower() in {".jsonl", ".ndjson"}:
        rows = [record for _, record in read_jsonl(path)]
    elif path.suffix.lower() in {".parquet", ".pq"}:
        rows = read_table(path).to_dicts()
    else:
        rows = _delimited(path)
    if not rows:
        raise InputError(f"{path} holds no predictions.", "Write one row per prediction.")
    models = sorted({str(row["model"]) for row in rows if row.get("model") is not None})
    wanted = layout.columns.get("model")
    if wanted is not None and wanted not in models:
        raise InputError(f"{path} holds no model '{wanted}'.", suggestion(wanted, models, "Models"))
    if wanted is None and len(models) > 1:
        raise InputError(
            f"{path} holds predictions of {len(models)} models.",
            f"Say which: file[model={models[0]}]:{path}. Models: {', '.join(models)}.",
        )
    return rows if wanted is None else [row for row in rows if str(row.get("model")) == wanted]


def _delimited(path: Path) -> list[dict[str, Any]]:
    """A text table; one without a header is a dataset's own list of answers, if it has as many columns of numbers."""
    frame = read_table(path)
    if len(frame.columns) > 1 and all(_number(name) is not None for name in frame.columns[1:]):
        for format in FORMATS.values():
            if len(format.answer_columns) == len(frame.columns) - 1:
                frame = read_delimited(path, names=("stimulus", *format.answer_columns))
    return frame.to_dicts()


def answers_of(rows: Sequence[Row], questions: Sequence[str], layout: Layout, where: str) -> Answers:
    """What each row answers to which question. ``questions`` are those that will be asked."""
    header = list(dict.fromkeys(name for row in rows for name in row))
    for format in FORMATS.values():
        stimuli, keys = format.prediction_keys or ((), ())
        if stimuli and {*stimuli, *keys} <= set(header):
            return _long(rows, list(stimuli), list(keys), layout, where)
    stimulus = layout.column("stimulus", header, where)
    if stimulus is None:
        raise InputError(
            f"{where} has no column that names the stimulus.",
            suggestion("stimulus", header, "Say which it is with file[stimulus=COLUMN]:FILE. It has"),
        )
    question = layout.column("question", header, where)
    if question is not None:
        return _long(rows, [stimulus], [question], layout, where)
    wide = _wide_columns(header, questions)
    if wide:
        return _wide(rows, stimulus, wide, where)
    if len(questions) > 1:
        raise InputError(
            f"{where} does not say which question a prediction answers: it has no column 'question' and none called"
            f" {' or '.join(questions[:3])}.",
            "Add a column 'question', or one column for every question.",
        )
    return _long(rows, [stimulus], [], layout, where, fixed=questions[0])


def _wide_columns(header: Sequence[str], questions: Sequence[str]) -> dict[str, str]:
    """The columns named like a question, or as a dataset's own lists name it."""
    same = {name: name for name in header if name in questions}
    known = {column: to for format in FORMATS.values() for column, to in format.answer_columns.items()}
    return same or {name: known[name] for name in header if known.get(name) in questions}


def _long(
    rows: Sequence[Row], names: list[str], keys: list[str], layout: Layout, where: str, fixed: str = ""
) -> Answers:
    header = list(dict.fromkeys(name for row in rows for name in row))
    columns = {part: layout.column(part, header, where) for part in ("value", "score", "answer")}
    used = {
        part: column for part, column in columns.items() if column is not None and column not in names + keys
    }
    if not used and "shares" not in header:
        raise InputError(
            f"{where} has no column of predictions.",
            suggestion("value", header, "Name one 'value', 'score' or 'answer', or say which it is. It has"),
        )
    further = [name for name in _FURTHER if name in header]
    out: Answers = {}
    for place, row in enumerate(rows):
        key = (
            "/".join(str(row.get(name)) for name in names),
            "/".join(str(row.get(name)) for name in keys) or fixed,
        )
        if key in out:
            raise _duplicate(where, place, key)
        out[key] = {
            **{part: row.get(column) for part, column in used.items()},
            **{n: row.get(n) for n in further},
        }
    return out


def _wide(rows: Sequence[Row], stimulus: str, columns: Mapping[str, str], where: str) -> Answers:
    out: Answers = {}
    for place, row in enumerate(rows):
        for column, question in columns.items():
            key = (str(row.get(stimulus)), question)
            if key in out:
                raise _duplicate(where, place, key)
            out[key] = {"cell": row.get(column)}
    return out


def _duplicate(where: str, place: int, key: tuple[str, str]) -> InputError:
    return InputError(
        f"{where}, row {place + 1}: the stimulus '{key[0]}' has two predictions for '{key[1]}'.",
        "Keep one row per stimulus and question.",
    )


def number_of(cell: Any) -> float | None:
    """A cell as a number; None where it is not one, or empty."""
    return None if cell is None or str(cell).strip() in MISSING else _number(cell)


def _number(cell: Any) -> float | None:
    if isinstance(cell, bool):
        return float(cell)
    try:
        return float(str(cell).strip().replace(",", "."))
    except ValueError:
        return None


def shares_of(cell: Any) -> dict[str, float] | None:
    """A cell of shares: a JSON object, or one as text."""
    shares = json.loads(cell) if isinstance(cell, str) else cell
    return None if shares is None else {str(name): float(share) for name, share in dict(shares).items()}
