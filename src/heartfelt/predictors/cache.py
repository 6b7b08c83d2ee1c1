"""Answers kept between runs, by what the media hold, what predicts, and what is asked.

One SQLite file, shared by threads and processes. A row is an answer; problems are never kept. A file that cannot be used is
told before a run; one that fails in the middle is no reason to stop: what it does not give is asked.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from heartfelt.errors import InputError
from heartfelt.predictors.predictor import Ask, Prediction
from heartfelt.predictors.record import prediction_from, prediction_text


def user_cache() -> Path:
    """The file answers are kept in between runs, below the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "heartfelt" / "predictions.sqlite"


class Cache:
    """Kept answers; opened when first used, and again in every process it travels to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def __reduce__(self) -> tuple[type[Cache], tuple[Path]]:
        return Cache, (self.path,)

    def find(self, keys: Sequence[str]) -> dict[str, Prediction]:
        """The answers there are, by key."""
        marks = ",".join("?" * len(keys))
        query = f"SELECT key, answer FROM answers WHERE key IN ({marks})"
        try:
            with self._lock:
                rows = self._open().execute(query, list(keys)).fetchall()
            return {key: _from_cache(prediction_from(text)) for key, text in rows}
        except (sqlite3.Error, InputError, ValueError, TypeError):
            return {}

    def keep(self, answers: Mapping[str, Prediction]) -> None:
        """Keep answers for good."""
        rows = [(key, prediction_text(prediction)) for key, prediction in answers.items()]
        with suppress(sqlite3.Error, InputError), self._lock, self._open() as connection:
            connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)

    def check(self) -> None:
        """Raise if the file cannot be used."""
        with self._lock:
            self._open()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                made = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
                made.execute("PRAGMA journal_mode=WAL")
                made.execute("PRAGMA synchronous=NORMAL")
                made.execute(
                    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT) WITHOUT ROWID"
                )
            except (OSError, sqlite3.Error) as error:
                raise InputError(
                    f"The cache {self.path} cannot be used: {error}.",
                    "Remove the file, choose another, or run without a cache.",
                ) from error
            self._connection = made
        return self._connection


def _from_cache(prediction: Prediction) -> Prediction:
    """The kept answer, marked so that its request is not counted as made in this run."""
    if prediction.call is None:
        return prediction
    return replace(prediction, call=replace(prediction.call, cached=True))


def cache_key(content: str, identity: str, asked: str, request: str = "") -> str:
    """The name of an answer: what the media hold, what predicts, what is asked, and what is sent along with it."""
    parts = ("answer 1", content, identity, asked, *([request] if request else []))
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def asked_digest(ask: Ask, prompt: str | None) -> str:
    """A hash of everything a predictor may look at in a question."""
    parts = (ask.question, ask.text, ask.words, ask.scale.model_dump_json(), prompt or "")
    about = "\x1e".join(f"{name}={value}" for name, value in sorted(ask.about.items()))
    return hashlib.sha256("\x1f".join((*parts, about)).encode()).hexdigest()
