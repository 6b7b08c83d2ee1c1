"""The SQLite file of a challenge: opened, brought to the present layout, tied to one benchmark and its rules."""

from __future__ import annotations

import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from heartfelt.errors import DamagedError, InputError
from heartfelt.files import create_private, make_folders, make_private

LAYOUT = 2
_TABLES = (
    "CREATE TABLE IF NOT EXISTS challenge (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS teams (name TEXT PRIMARY KEY, made REAL NOT NULL)",
    "CREATE TABLE IF NOT EXISTS members (team TEXT NOT NULL REFERENCES teams(name), name TEXT NOT NULL,"
    " token_hash TEXT NOT NULL UNIQUE, made REAL NOT NULL, revoked REAL, PRIMARY KEY (team, name))",
    "CREATE TABLE IF NOT EXISTS submissions (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
    " submitter TEXT NOT NULL, model TEXT NOT NULL, at REAL NOT NULL, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL,"
    " content BLOB, status TEXT NOT NULL, problem TEXT, fix TEXT, scores TEXT, published TEXT, changed TEXT,"
    " finished REAL, member TEXT, chosen REAL, earlier TEXT)",
    "CREATE INDEX IF NOT EXISTS of_submitter ON submissions (submitter, at)",
)
_FROM_LAYOUT_1 = (
    "INSERT INTO teams SELECT name, made FROM submitters",
    "INSERT INTO members SELECT name, name, token_hash, made, revoked FROM submitters",
    "ALTER TABLE submissions ADD COLUMN member TEXT",
    "ALTER TABLE submissions ADD COLUMN chosen REAL",
    "ALTER TABLE submissions ADD COLUMN earlier TEXT",
    "UPDATE submissions SET member = submitter",
    # Scored on other items and published by other steps: they are scored again, in the order they came.
    "UPDATE submissions SET earlier = json_object('scores', json(scores), 'published', json(published),"
    " 'changed', json(changed), 'finished', finished), status = 'received', scores = NULL, published = NULL,"
    " changed = NULL, finished = NULL WHERE status = 'scored'",
    "UPDATE challenge SET name = 'earlier step' WHERE name = 'step'",
    "DROP TABLE submitters",
)


def new_key() -> str:
    """A secret that decides which labels are on the running board."""
    return secrets.token_hex(32)


class LedgerFile:
    """One SQLite file; safe to use from several threads and processes."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._lock = threading.RLock()
        try:
            make_folders(path.parent, private=True)
            create_private(path)
            make_private(path)
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=30.0)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            if self._is_layout_1():
                self._back_up()
            with self._transaction() as db:
                old = self._is_layout_1()
                for statement in _TABLES:
                    # The old table of submissions is there already; it gets its new columns below.
                    db.execute(statement)
                for statement in _FROM_LAYOUT_1 if old else ():
                    db.execute(statement)
                facts = {"layout": str(LAYOUT), "id": secrets.token_hex(8), "key": new_key()}
                for name, value in facts.items():
                    db.execute("INSERT OR IGNORE INTO challenge VALUES (?, ?)", (name, value))
        except (OSError, sqlite3.Error) as error:
            raise DamagedError(
                f"{path} cannot be used as the ledger of a challenge: {error}.",
                "Name a file in a folder you can write to, or restore this one from a backup.",
            ) from error
        if self.fact("layout") != str(LAYOUT):
            self.close()
            raise InputError(
                f"{path} was written by a later version of heartfelt.", "Use that version, or a later one."
            )

    def _is_layout_1(self) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'submitters'"
        return self._db.execute(query).fetchone() is not None

    def _back_up(self) -> None:
        """A copy of a ledger of an earlier version, before it is changed."""
        copy = self.path.with_name(self.path.name + ".layout-1")
        if not copy.exists():
            begun = copy.with_name(copy.name + ".begun")
            begun.unlink(missing_ok=True)
            create_private(begun)
            self._db.execute("VACUUM INTO ?", (str(begun),))
            begun.replace(copy)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def fact(self, name: str) -> str | None:
        """What the ledger says about its challenge under a name."""
        with self._lock:
            row = self._db.execute("SELECT value FROM challenge WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def settle(self, name: str, value: str) -> str:
        """Set a fact unless it is set; what it is then."""
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO challenge VALUES (?, ?)", (name, value))
            stored = db.execute("SELECT value FROM challenge WHERE name = ?", (name,)).fetchone()
        return str(stored[0])

    def bind(self, facts: Mapping[str, str]) -> None:
        """Tie the ledger to a benchmark and its rules; an error if it already belongs to others."""
        for name, value in facts.items():
            stored = self.settle(name, value)
            if stored != value:
                raise InputError(
                    f"The ledger belongs to a challenge with another {name} ({stored[:40]}, not {value[:40]}).",
                    "Published scores cannot change their meaning: serve with the same benchmark, part, public share and"
                    " step, or name another ledger with --ledger.",
                )
