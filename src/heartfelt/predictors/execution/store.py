"""What is stored of predictions: the journal of a run, the cache between runs, and the table at the end.

The journal has a line for every finished case, on disk before the next is reported. A line is JSON with a checksum. An incomplete
line (the machine went down while it was written) is dropped when the journal is opened again, and its case asked again; so is a
line whose checksum does not match. Later lines replace earlier ones.

The cache is one SQLite file, shared by threads and processes, keyed by what the media hold, what predicts and what is asked.
Problems are never cached. A file that cannot be used is an error before a run; one that fails during a run stops nothing: what
it does not provide is asked.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import polars as pl

from heartfelt.errors import InputError
from heartfelt.journal import GrowingFile
from heartfelt.predictors.interface.calls import Call
from heartfelt.predictors.interface.predictor import PREDICTIONS, Ask, Prediction
from heartfelt.serialization import dumps

T = TypeVar("T")
JOURNAL = "journal.jsonl"
_HEAD, _MIDDLE = b'{"crc":"', b'","row":'
_SYNC_EVERY = 1.0
_CALLS = ("call", "second_call")
_LOST_CALLS = "lost_calls"
_AS_JSON = ("shares", "members", "orders", "samples", "boxes", "errors")
_TUPLES = ("orders", "samples", "boxes", "errors")
_SELDOM = (*_AS_JSON[1:], "rate", "start", "answer_sd", "repeats", "spread", "agreement")
"""Columns that are there only where some prediction has them."""
_FIELDS = tuple(field.name for field in fields(Prediction) if field.name not in {"retry_after", *_CALLS, _LOST_CALLS})


@dataclass(frozen=True, slots=True)
class StoredPrediction:
    """One item's prediction, how often it was asked, and how long its case took."""

    prediction: Prediction
    attempts: int = 0
    seconds: float | None = None


def _as_json(prediction: Prediction) -> dict[str, Any]:
    out = {name: value for name in _FIELDS if (value := getattr(prediction, name)) is not None}
    for name in ("shares", "members"):
        if (values := getattr(prediction, name)) is not None:
            out[name] = dict(values)
    for name in _CALLS:
        if (call := getattr(prediction, name)) is not None:
            out[name] = call.to_json()
    if prediction.lost_calls:
        out[_LOST_CALLS] = [call.to_json() for call in prediction.lost_calls]
    return out


def _prediction(row: Mapping[str, Any]) -> Prediction:
    parts: dict[str, Any] = {name: tuple(row[name]) for name in _TUPLES if name in row}
    parts |= {name: Call.from_json(row[name]) for name in _CALLS if name in row}
    parts |= {name: tuple(map(Call.from_json, row[name])) for name in (_LOST_CALLS,) if name in row}
    return Prediction(**{**row, **parts})


def predictions_table(model: str, rows: Iterable[tuple[str, str, StoredPrediction]]) -> pl.DataFrame:
    table = PREDICTIONS.check(_table(model, rows), f"predictions of {model}")
    return table.drop([name for name in _SELDOM if table[name].null_count() == table.height])


def repeats_table(model: str, rows: Iterable[tuple[str, str, int, StoredPrediction]]) -> pl.DataFrame:
    """A row for every repeat of a question, counted from 0, of (stimulus, question, repeat, entry)."""
    entries = list(rows)
    table = _table(model, ((stimulus, question, entry) for stimulus, question, _, entry in entries))
    numbers = pl.Series("repeat", [repeat for _, _, repeat, _ in entries], pl.Int64)
    return table.insert_column(table.columns.index("question") + 1, numbers)


def _table(model: str, rows: Iterable[tuple[str, str, StoredPrediction]]) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {name: [] for name in PREDICTIONS.names}
    for stimulus, question, entry in rows:
        prediction = entry.prediction
        row = {name: getattr(prediction, name) for name in _FIELDS} | {
            "model": model,
            "stimulus": stimulus,
            "question": question,
            **{name: _text(getattr(prediction, name)) for name in _AS_JSON},
            "call": None if prediction.call is None else prediction.call.id,
            "ok": prediction.problem is None,
            "attempts": entry.attempts,
            "seconds": entry.seconds,
        }
        for name, values in columns.items():
            values.append(row[name])
    schema = {column.name: column.dtype for column in PREDICTIONS.columns}
    return pl.DataFrame(columns, schema=schema)


def _text(value: Any) -> str | None:
    return None if value is None else dumps(value, indent=None)


class Journal:
    """Finished cases in a folder. One run at a time writes to it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL
        self.dropped = 0
        """Lines that could not be read again."""
        self.calls: dict[str, tuple[str, Call]] = {}
        """Every request to a hosted model, superseded ones included, by id: (stimulus, call)."""
        self._file = GrowingFile(self.path)
        self.entries = self._read(self._file.read_lines())
        self.dropped += self._file.was_cut_off
        self._synced = time.monotonic()

    def _read(self, lines: Iterable[bytes]) -> dict[str, StoredPrediction]:
        entries: dict[str, StoredPrediction] = {}
        for line in lines:
            try:
                row = _row(line)
                new = {
                    key: StoredPrediction(_prediction(stored), attempts, row["seconds"])
                    for key, attempts, stored in row["answers"]
                }
                self._note_calls(row["stimulus"], new.values())
                entries |= new
            except (ValueError, KeyError, TypeError):
                self.dropped += 1
        return entries

    def add(self, stimulus: str, entries: Mapping[str, StoredPrediction], seconds: float) -> None:
        self._note_calls(stimulus, entries.values())
        answers = [(key, entry.attempts, _as_json(entry.prediction)) for key, entry in entries.items()]
        # Questions that were sent together share a request; what was sent is written once.
        written: set[str] = set()
        sent = (stored[name] for _, _, stored in answers for name in _CALLS if name in stored)
        lost = (call for _, _, stored in answers for call in stored.get(_LOST_CALLS, ()))
        for call in (*sent, *lost):
            if call["id"] in written:
                call.pop("prompt", None)
            written.add(call["id"])
        row = {"stimulus": stimulus, "seconds": seconds, "answers": answers}
        body = json.dumps(row, allow_nan=False, separators=(",", ":")).encode()
        now = time.monotonic()
        sync = now - self._synced > _SYNC_EVERY
        self._file.append(b"%s%08x%s%s}\n" % (_HEAD, zlib.crc32(body), _MIDDLE, body), sync=sync)
        if sync:
            self._synced = now

    def _note_calls(self, stimulus: str, entries: Iterable[StoredPrediction]) -> None:
        for entry in entries:
            for call in entry.prediction.calls:
                if call.prompt is not None or call.id not in self.calls:
                    self.calls[call.id] = (stimulus, call)

    def close(self) -> None:
        """Bring everything to the disk and let others write."""
        self._file.close()


def _row(line: bytes) -> dict[str, Any]:
    """What a line holds; an error if it is not what was written."""
    start = len(_HEAD)
    crc, body = line[start : start + 8], line[start + 8 + len(_MIDDLE) : -1]
    if int(crc, 16) != zlib.crc32(body):
        raise ValueError("the checksum does not match")
    row: dict[str, Any] = json.loads(body)
    return row


def user_cache() -> Path:
    """The file answers are cached in between runs, below the user's cache folder."""
    from platformdirs import user_cache_path

    return user_cache_path("heartfelt") / "predictions.sqlite"


class Cache:
    """Cached answers; opened when first used, and again in every process it travels to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def __reduce__(self) -> tuple[type[Cache], tuple[Path]]:
        return Cache, (self.path,)

    def find(self, keys: Sequence[str]) -> dict[str, Prediction]:
        """The answers there are, by key; their requests are marked as not made in this run."""
        marks = ",".join("?" * len(keys))
        query = f"SELECT key, answer FROM answers WHERE key IN ({marks})"
        try:
            with self._lock:
                rows = self._open().execute(query, list(keys)).fetchall()
            answers = {key: _prediction(json.loads(text)) for key, text in rows}
        except (sqlite3.Error, InputError, ValueError, TypeError):
            return {}
        return {
            key: replace(
                answer,
                **{name: replace(call, cached=True) for name in _CALLS if (call := getattr(answer, name)) is not None},
            )
            for key, answer in answers.items()
        }

    def add(self, answers: Mapping[str, Prediction]) -> None:
        if not answers:
            return
        rows = [
            (
                key,
                json.dumps(
                    _as_json(replace(prediction, errors=None, lost_calls=())), ensure_ascii=False, allow_nan=False
                ),
            )
            for key, prediction in answers.items()
        ]
        with suppress(sqlite3.Error, InputError), self._lock, self._open() as connection:
            connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)

    def check(self) -> None:
        with self._lock:
            self._open()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                connection = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT) WITHOUT ROWID"
                )
            except (OSError, sqlite3.Error) as error:
                raise InputError(
                    f"The cache {self.path} cannot be used: {error}.",
                    "Remove the file, choose another, or run without a cache.",
                ) from error
            self._connection = connection
        return self._connection


def cache_key(content: str, identity: str, question: str, request: str = "", *, repeat: int = 0) -> str:
    """The name of an answer: what the media hold, what predicts, what is asked, what is sent with it, and which repeat it is."""
    again = [f"repeat {repeat}"] if repeat else []
    parts = ("answer 1", content, identity, question, *([request] if request else []), *again)
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def question_digest(ask: Ask, prompt: str | None) -> str:
    """A hash of everything a predictor may look at in a question."""
    none = ("none",) if ask.none else ()
    parts = (ask.question, ask.text, ask.words, ask.scale.model_dump_json(), prompt or "", *none)
    about = "\x1e".join(f"{name}={value}" for name, value in sorted(ask.about.items()))
    return hashlib.sha256("\x1f".join((*parts, about)).encode()).hexdigest()


class Recent(Generic[T]):
    """The last few thousand results of something slow, by what it was asked; the least recently used goes first.

    Several threads may use it; two that ask for the same thing at the same moment may both make it. Results stay in their process.
    """

    def __init__(self, most: int = 4_096) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._results: OrderedDict[str, T] = OrderedDict()

    def __reduce__(self) -> tuple[type[Recent[T]], tuple[int]]:
        return type(self), (self._most,)

    def get(self, key: str, make: Callable[[], T]) -> T:
        """The result under ``key``, made now if it is not there."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        result = make()
        with self._lock:
            self._results[key] = result
            if len(self._results) > self._most:
                self._results.popitem(last=False)
        return result
