"""The layouts a file of predictions may have: reading its rows, and telling which cell answers which question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from heartfelt.errors import InputError, suggestion
from heartfelt.formats.columns import MISSING, read_table
from heartfelt.formats.format import FORMATS
from heartfelt.formats.lines import read_jsonl
from heartfelt.formats.tabular import SYNONYMS

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


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns hold what, as far as the user said."""

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
        raise InputError(f"{path} holds no predictions.", "Write one row a prediction.")
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
    from heartfelt.formats.delimited import read_delimited

    frame = read_table(path)
    if len(frame.columns) > 1 and all(_number(name) is not None for name in frame.columns[1:]):
        for format in FORMATS.values():
            if len(format.answer_columns) == len(frame.columns) - 1:
                frame = read_delimited(path, names=("stimulus", *format.answer_columns))
    return frame.to_dicts()


def answers_of(rows: Sequence[Row], questions: Sequence[str], layout: Layout, where: str) -> Answers:
    """What each row says of which question. ``questions`` are those that will be asked."""
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
    """The columns that are called as a question is, or as a dataset's own lists call it."""
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
            raise _twice(where, place, key)
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
                raise _twice(where, place, key)
            out[key] = {"cell": row.get(column)}
    return out


def _twice(where: str, place: int, key: tuple[str, str]) -> InputError:
    return InputError(
        f"{where}, row {place + 1}: the stimulus '{key[0]}' has two predictions for '{key[1]}'.",
        "Keep one row per stimulus and question.",
    )


def number_of(cell: Any) -> float | None:
    """A cell as a number; None where it is none, or empty."""
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
    found = json.loads(cell) if isinstance(cell, str) else cell
    return None if found is None else {str(name): float(share) for name, share in dict(found).items()}
