"""Predictions that were made elsewhere, from a CSV, TSV, JSON Lines or Parquet file.

Long: a row for every item, with the stimulus, the question (needed where more than one is asked) and ``value``, ``score``,
``answer`` or ``shares``. Wide: a row for every stimulus, with a column for every question. MusicEval's answer file
(``wavid,overall,textual`` without a header), EmoLia's ``predictions.csv`` and heartfelt's own are known. A stimulus may be named
without its extension or its folder, where that is unmistakable. Items the file says nothing of are predictions with a problem;
rows that belong to no stimulus are in the ledger.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.columns import MISSING
from heartfelt.predictors.file_layout import Answers, Layout, Row, answers_of, number_of, read_rows, shares_of
from heartfelt.predictors.info import PredictorInfo
from heartfelt.predictors.names import Names
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, Predictor
from heartfelt.tables import LEDGER


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
        "model": "of a file with several models, the one to take",
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
            self.asked or str(self._path),
            chosen or self._path.stem,
            self.name,
            str(self._path),
            None,
            self._content,
        )

    def expect(self, cases: Sequence[Case]) -> None:
        """Match the file's rows with what will be asked."""
        questions = {ask.question: None for case in cases for ask in case.asks}
        found = answers_of(self._rows, list(questions), self._layout, str(self._path))
        names = Names(case.stimulus for case in cases)
        asked = {(case.stimulus, ask.question) for case in cases for ask in case.asks}
        matched: Answers = {}
        left: list[tuple[str, str, str]] = []
        for (name, question), row in found.items():
            stimulus = names.find(name)
            if stimulus is None:
                left.append((name, question, "no stimulus that is asked about has this name"))
            elif (stimulus, question) not in asked:
                left.append((name, question, "this question is not asked of this stimulus"))
            elif (stimulus, question) in matched:
                raise InputError(
                    f"{self._path}: the stimulus '{stimulus}' has two predictions for '{question}'.",
                    "Keep one row per stimulus and question.",
                )
            else:
                matched[stimulus, question] = row
        self._answers = matched
        self._ledger = _ledger(left, self._path)

    def ledger(self) -> pl.DataFrame:
        """The rows that belong to nothing that is asked."""
        return self._ledger

    def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
        """What the file says."""
        if self._answers is None:
            self.expect(cases)
        answers = self._answers or {}
        return [
            [_one(answers.get((case.stimulus, ask.question)), ask) for ask in case.asks] for case in cases
        ]

    @classmethod
    def example(cls, folder: Path) -> str:
        """A file that answers nothing that is asked."""
        path = folder / "predictions.csv"
        path.write_text("stimulus,question,value\nnobody,nothing,1\n", encoding="utf-8")
        return str(path)


def _one(row: Row | None, ask: Ask) -> Prediction:
    """One row of the file, read on the question's scale."""
    if row is None:
        return Prediction.failed("the file holds no prediction for this item")
    said = row.get("problem") or row.get("error")
    if said or str(row.get("ok", True)).casefold() == "false":
        return Prediction.failed(str(said or "the file says that there is no prediction"))
    try:
        shares = shares_of(row.get("shares"))
    except (TypeError, ValueError):
        return Prediction.failed(f"the file's shares '{row.get('shares')}' are no object of numbers")
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


PREDICTORS.add(File.name, File)
