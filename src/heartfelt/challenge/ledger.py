"""The ledger of a challenge: submitters, and every submission with its file, hash, time and result, in one SQLite file.

A submission is on disk before it is answered, and so is its result before it is published: after a crash or ``kill -9`` nothing
that was answered is missing, and what was received is scored at the next start. Limits are checked in the transaction that stores
a submission, so that two at once cannot both take the last one. Tokens are stored as hashes.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from heartfelt.errors import DamagedError, HeartfeltError, InputError
from heartfelt.files import create_private, make_folders, make_private

Status: TypeAlias = Literal["received", "scored", "refused"]
Steps: TypeAlias = Mapping[str, int]
"""Published scores by task, in steps."""
DAY = 24 * 3600.0
ATTEMPTS = 20
"""Refused submissions per day, for each one that may be scored."""
_MOST_REFUSED = 1_000
"""Refusals recorded per submitter and day."""
_TABLES = """
CREATE TABLE IF NOT EXISTS challenge (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS submitters (
    name TEXT PRIMARY KEY, token_hash TEXT NOT NULL UNIQUE, made REAL NOT NULL, revoked REAL);
CREATE TABLE IF NOT EXISTS submissions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, submitter TEXT NOT NULL REFERENCES submitters(name),
    model TEXT NOT NULL, at REAL NOT NULL, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL, content BLOB,
    status TEXT NOT NULL, problem TEXT, fix TEXT, scores TEXT, published TEXT, changed TEXT, finished REAL);
CREATE INDEX IF NOT EXISTS of_submitter ON submissions (submitter, at);
"""
_ROW = "id, submitter, model, at, bytes, sha256, status, problem, fix, published, changed, finished"


class OverLimit(HeartfeltError):
    """A submission beyond what a submitter may send; ``retry_after`` in seconds, where waiting helps."""

    def __init__(self, problem: str, fix: str, retry_after: float | None = None) -> None:
        super().__init__(problem, fix)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Limits:
    """How much each submitter may send."""

    per_day: int = 5
    in_all: int = 100

    def __post_init__(self) -> None:
        for name in ("per_day", "in_all"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1.", "Give a number of submissions.")


@dataclass(frozen=True, slots=True)
class Submission:
    """One submission as its submitter may see it."""

    id: str
    submitter: str
    model: str
    at: float
    bytes: int
    sha256: str
    status: Status
    problem: str | None
    fix: str | None
    published: Steps
    """The submitter's published scores after it."""
    changed: tuple[str, ...]
    """The tasks whose published score it raised."""
    finished: float | None


def _hashed(token: str) -> str:
    # A token is 32 random bytes, so a plain hash cannot be searched.
    return hashlib.sha256(token.encode()).hexdigest()


class Ledger:
    """The SQLite file of one challenge; safe to use from several threads."""

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
            self._db.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise DamagedError(
                f"{path} cannot be used as the ledger of a challenge: {error}.",
                "Name a file in a folder you can write to, or restore this one from a backup.",
            ) from error

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

    def bind(self, facts: Mapping[str, str]) -> None:
        """Tie the ledger to a benchmark and its rules; an error if it already belongs to others."""
        with self._transaction() as db:
            for name, value in facts.items():
                db.execute("INSERT OR IGNORE INTO challenge VALUES (?, ?)", (name, value))
                stored = db.execute("SELECT value FROM challenge WHERE name = ?", (name,)).fetchone()[0]
                if stored != value:
                    raise InputError(
                        f"The ledger belongs to a challenge with another {name} ({stored[:40]}, not {value[:40]}).",
                        "Published scores cannot change their meaning: serve with the same benchmark, part and step, or name"
                        " another ledger with --ledger.",
                    )

    # --- submitters ---

    def add_submitter(self, name: str) -> str:
        """Add a submitter, or give one a new token; returns the token, whose text is stored nowhere."""
        if not name or len(name) > 80 or not name.isprintable() or name != name.strip():
            raise InputError(
                f"A submitter cannot be called {name[:100]!a}.", "Use 1 to 80 printable characters."
            )
        token = secrets.token_urlsafe(32)
        with self._transaction() as db:
            db.execute(
                "INSERT INTO submitters VALUES (?, ?, ?, NULL) ON CONFLICT (name) DO UPDATE SET"
                " token_hash = excluded.token_hash, revoked = NULL",
                (name, _hashed(token), self._clock()),
            )
        return token

    def revoke(self, name: str) -> None:
        """Make a submitter's token invalid; their published scores stay."""
        with self._transaction() as db:
            done = db.execute("UPDATE submitters SET revoked = ? WHERE name = ?", (self._clock(), name))
            if not done.rowcount:
                raise InputError(
                    f"There is no submitter '{name}'.", "Names are those given when adding them."
                )

    def submitter_of(self, token: str) -> str | None:
        """The submitter a valid token belongs to."""
        query = "SELECT name FROM submitters WHERE token_hash = ? AND revoked IS NULL"
        with self._lock:
            row = self._db.execute(query, (_hashed(token),)).fetchone()
        return None if row is None else str(row[0])

    # --- submissions ---

    def receive(self, submitter: str, model: str, content: bytes, limits: Limits) -> Submission:
        """Store a submission, unless its submitter has none left."""
        now, new = self._clock(), secrets.token_hex(16)
        with self._transaction() as db:
            today, in_all = self._used(submitter, now)
            if in_all >= limits.in_all:
                problem = f"All {limits.in_all} submissions of '{submitter}' are used."
                raise OverLimit(problem, "There are no more; the published score stays.")
            if today >= limits.per_day:
                oldest = self._of_day(submitter, now, "status != 'refused'", "MIN(at)")
                wait = max(float(oldest) + DAY - now, 1.0)
                problem = f"All {limits.per_day} submissions of '{submitter}' for 24 hours are used."
                raise OverLimit(problem, f"Submit again in {max(round(wait / 60), 1)} minutes.", wait)
            refused = self._of_day(submitter, now, "status = 'refused'", "COUNT(*)")
            if int(refused) >= ATTEMPTS * limits.per_day:
                problem = f"{int(refused)} submissions of '{submitter}' were refused within 24 hours."
                raise OverLimit(problem, "Correct the file first, and submit again tomorrow.", DAY)
            facts = (new, submitter, model, now, len(content), hashlib.sha256(content).hexdigest(), content)
            db.execute(
                "INSERT INTO submissions (id, submitter, model, at, bytes, sha256, content, status)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, 'received')",
                facts,
            )
        return self.submission(new)

    def note_refused(self, submitter: str, model: str, size: int, error: HeartfeltError) -> None:
        """Record a submission that was refused without reading it; its file is not stored."""
        now = self._clock()
        facts = (secrets.token_hex(16), submitter, model[:80], now, size, "", error.problem, error.fix, now)
        with self._transaction() as db:
            if self._of_day(submitter, now, "status = 'refused'", "COUNT(*)") < _MOST_REFUSED:
                db.execute(
                    "INSERT INTO submissions (id, submitter, model, at, bytes, sha256, status, problem, fix, finished)"
                    " VALUES (?, ?, ?, ?, ?, ?, 'refused', ?, ?, ?)",
                    facts,
                )

    def _used(self, submitter: str, now: float) -> tuple[int, int]:
        query = "SELECT COUNT(*) FROM submissions WHERE submitter = ? AND status != 'refused'"
        in_all = self._db.execute(query, (submitter,)).fetchone()[0]
        return int(self._of_day(submitter, now, "status != 'refused'", "COUNT(*)")), int(in_all)

    def _of_day(self, submitter: str, now: float, which: str, what: str) -> float:
        query = f"SELECT {what} FROM submissions WHERE submitter = ? AND at > ? AND {which}"
        return float(self._db.execute(query, (submitter, now - DAY)).fetchone()[0] or 0.0)

    def left(self, submitter: str, limits: Limits) -> tuple[int, int]:
        """How many submissions are left within 24 hours, and in all."""
        with self._lock:
            today, in_all = self._used(submitter, self._clock())
        rest = max(limits.in_all - in_all, 0)
        return min(max(limits.per_day - today, 0), rest), rest

    def submission(self, id: str) -> Submission:
        """A submission by its id."""
        with self._lock:
            row = self._db.execute(f"SELECT {_ROW} FROM submissions WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise InputError("There is no such submission.", "Use the id that came back when you submitted.")
        return _submission(row)

    def content(self, id: str) -> bytes:
        """The file of a submission."""
        with self._lock:
            row = self._db.execute("SELECT content FROM submissions WHERE id = ?", (id,)).fetchone()
        return bytes(row[0])

    def waiting(self) -> list[str]:
        """Submissions that are not scored yet, in the order they came."""
        query = "SELECT id FROM submissions WHERE status = 'received' ORDER BY number"
        with self._lock:
            return [str(row[0]) for row in self._db.execute(query)]

    def refuse(self, id: str, problem: str, fix: str) -> None:
        """Close a submission that cannot be scored; it does not count against the submitter's limits."""
        query = "UPDATE submissions SET status = 'refused', problem = ?, fix = ?, finished = ? WHERE id = ?"
        with self._transaction() as db:
            db.execute(f"{query} AND status = 'received'", (problem, fix, self._clock(), id))

    def publish(
        self, id: str, scores: Mapping[str, float | None], climb: Callable[[Steps], dict[str, int]]
    ) -> Submission:
        """Store a submission's scores, and what ``climb`` makes of its submitter's published scores."""
        with self._transaction() as db:
            before = self._published(self.submission(id).submitter)
            after = climb(before)
            changed = [task for task, steps in after.items() if before.get(task) != steps]
            db.execute(
                "UPDATE submissions SET status = 'scored', scores = ?, published = ?, changed = ?, finished = ?"
                " WHERE id = ? AND status = 'received'",
                (json.dumps(dict(scores)), json.dumps(after), json.dumps(changed), self._clock(), id),
            )
        return self.submission(id)

    def _published(self, submitter: str) -> dict[str, int]:
        query = "SELECT published FROM submissions WHERE submitter = ? AND status = 'scored'"
        best: dict[str, int] = {}
        for (text,) in self._db.execute(query, (submitter,)):
            for task, steps in json.loads(text).items():
                best[task] = max(steps, best.get(task, steps))
        return best

    def raising(self) -> list[Submission]:
        """The submissions that raised a published score, in the order they were scored."""
        query = f"SELECT {_ROW} FROM submissions WHERE status = 'scored' AND changed != '[]' ORDER BY finished, number"
        with self._lock:
            return [_submission(row) for row in self._db.execute(query)]

    def counts(self) -> dict[str, int]:
        """Scored submissions by submitter."""
        query = "SELECT submitter, COUNT(*) FROM submissions WHERE status = 'scored' GROUP BY submitter"
        with self._lock:
            return {str(name): int(count) for name, count in self._db.execute(query)}


def _submission(row: tuple[Any, ...]) -> Submission:
    steps: dict[str, int] = json.loads(row[9]) if row[9] else {}
    tasks: list[str] = json.loads(row[10]) if row[10] else []
    facts = dict(zip(_ROW.split(", "), row, strict=True))
    return Submission(**{**facts, "published": steps, "changed": tuple(tasks)})
