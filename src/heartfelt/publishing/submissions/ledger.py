"""The ledger of a challenge: teams, and every submission with its file, hash, time and result, in one SQLite file.

A submission is on disk before it is answered, and so is its result before it is published: after a crash or ``kill -9`` nothing
that was answered is missing, and what was received is scored at the next start. The same file again from the same team is the same
submission, and counts once. Limits are checked in the transaction that stores a submission, so that two at once cannot both take
the last one. Members of a team have tokens of their own, stored as hashes; limits and published scores belong to the team.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.publishing.submissions.ladder import Tries
from heartfelt.publishing.submissions.ledger_file import LedgerFile
from heartfelt.publishing.submissions.options import SubmissionLimits

Status: TypeAlias = Literal["received", "scored", "refused"]
Steps: TypeAlias = Mapping[str, int]
"""Published scores by task, in steps."""
DAY = 24 * 3600.0
ATTEMPTS = 20
"""Refused submissions per day, for each one that may be scored."""
_MOST_REFUSED = 1_000
"""Refusals recorded per team and day."""
_ROW = "id, submitter, member, model, at, bytes, sha256, status, problem, fix, published, changed, finished, chosen"


class OverLimit(HeartfeltError):
    """A submission beyond what a team may send; ``retry_after`` in seconds, where waiting helps."""

    def __init__(self, problem: str, fix: str, retry_after: float | None = None) -> None:
        super().__init__(problem, fix)
        self.retry_after = retry_after


class Closed(HeartfeltError):
    """The challenge takes no more submissions."""

    def __init__(self) -> None:
        super().__init__("The challenge is closed.", "The final ranking is at /leaderboard.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Somebody who may submit for a team."""

    team: str
    name: str
    revoked: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One submission as its team may see it."""

    id: str
    submitter: str
    """The team."""
    member: str | None
    model: str
    at: float
    bytes: int
    sha256: str
    status: Status
    problem: str | None
    fix: str | None
    published: Steps
    """The team's published scores after it."""
    changed: tuple[str, ...]
    """The tasks whose published score it raised."""
    finished: float | None
    chosen: float | None
    """When the team chose it for the final ranking."""


def _hashed(token: str) -> str:
    # A token is 32 random bytes, so a plain hash cannot be searched.
    return hashlib.sha256(token.encode()).hexdigest()


class SubmissionLedger(LedgerFile):
    """Teams and submissions of one challenge; safe to use from several threads."""

    # --- teams ---

    def add_member(self, team: str, member: str | None = None) -> str:
        """Add a member to a team, or give one a new token; returns the token, whose text is stored nowhere."""
        member = team if member is None else member
        for name, noun in ((team, "team"), (member, "member")):
            if not name or len(name) > 80 or not name.isprintable() or name != name.strip():
                raise InputError(f"A {noun} cannot be called {name[:100]!a}.", "Use 1 to 80 printable characters.")
        token, now = secrets.token_urlsafe(32), self._clock()
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO teams VALUES (?, ?)", (team, now))
            db.execute(
                "INSERT INTO members VALUES (?, ?, ?, ?, NULL) ON CONFLICT (team, name) DO UPDATE SET"
                " token_hash = excluded.token_hash, revoked = NULL",
                (team, member, _hashed(token), now),
            )
        return token

    def revoke(self, team: str, member: str | None = None) -> None:
        """Make the token of a member invalid, or those of a whole team; published scores stay."""
        condition, parameters = ("team = ?", (team,)) if member is None else ("team = ? AND name = ?", (team, member))
        with self._transaction() as db:
            query = f"UPDATE members SET revoked = COALESCE(revoked, ?) WHERE {condition}"
            if not db.execute(query, (self._clock(), *parameters)).rowcount:
                words = f"team '{team}'" if member is None else f"member '{member}' of a team '{team}'"
                raise InputError(f"There is no {words}.", "Names are those given when adding them.")

    def members(self) -> list[Member]:
        """Everybody who may or might submit, by team."""
        query = "SELECT team, name, revoked FROM members ORDER BY team, name"
        with self._lock:
            return [Member(team=team, name=name, revoked=at) for team, name, at in self._db.execute(query)]

    def member_of(self, token: str) -> Member | None:
        """Whose valid token it is."""
        query = "SELECT team, name FROM members WHERE token_hash = ? AND revoked IS NULL"
        with self._lock:
            row = self._db.execute(query, (_hashed(token),)).fetchone()
        return None if row is None else Member(team=str(row[0]), name=str(row[1]))

    # --- submissions ---

    def receive(self, member: Member, model: str, content: bytes, limits: SubmissionLimits) -> Submission:
        """Store a submission, unless its team has none left; the same file again is the submission it was."""
        now, new, team = self._clock(), secrets.token_hex(16), member.team
        digest = hashlib.sha256(content).hexdigest()
        with self._transaction() as db:
            same = "submitter = ? AND sha256 = ? AND status != 'refused'"
            duplicate = db.execute(f"SELECT id FROM submissions WHERE {same}", (team, digest)).fetchone()
            if duplicate is not None:
                return self.submission(str(duplicate[0]))
            if self.fact("closed") is not None:
                raise Closed
            self._check_limits(team, now, limits)
            facts = (new, team, member.name, model, now, len(content), digest, content)
            db.execute(
                "INSERT INTO submissions (id, submitter, member, model, at, bytes, sha256, content, status)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'received')",
                facts,
            )
        return self.submission(new)

    def _check_limits(self, team: str, now: float, limits: SubmissionLimits) -> None:
        today, in_all = self._used(team, now)
        if in_all >= limits.in_all:
            problem = f"All {limits.in_all} submissions of '{team}' are used."
            raise OverLimit(problem, "There are no more; the published score stays.")
        if today >= limits.per_day:
            oldest = self._of_day(team, now, "status != 'refused'", "MIN(at)")
            wait = max(float(oldest) + DAY - now, 1.0)
            problem = f"All {limits.per_day} submissions of '{team}' for 24 hours are used."
            raise OverLimit(problem, f"Submit again in {max(round(wait / 60), 1)} minutes.", wait)
        refused = self._of_day(team, now, "status = 'refused'", "COUNT(*)")
        if int(refused) >= ATTEMPTS * limits.per_day:
            problem = f"{int(refused)} submissions of '{team}' were refused within 24 hours."
            raise OverLimit(problem, "Correct the file first, and submit again tomorrow.", DAY)

    def note_refused(self, member: Member, model: str, size: int, error: HeartfeltError) -> None:
        """Record a submission that was refused without reading it; its file is not stored."""
        now, team = self._clock(), member.team
        words = (model[:80], now, size, "", error.problem, error.fix, now)
        with self._transaction() as db:
            if self._of_day(team, now, "status = 'refused'", "COUNT(*)") < _MOST_REFUSED:
                db.execute(
                    "INSERT INTO submissions (id, submitter, member, model, at, bytes, sha256, status, problem, fix,"
                    " finished) VALUES (?, ?, ?, ?, ?, ?, ?, 'refused', ?, ?, ?)",
                    (secrets.token_hex(16), team, member.name, *words),
                )

    def _used(self, team: str, now: float) -> tuple[int, int]:
        query = "SELECT COUNT(*) FROM submissions WHERE submitter = ? AND status != 'refused'"
        in_all = self._db.execute(query, (team,)).fetchone()[0]
        return int(self._of_day(team, now, "status != 'refused'", "COUNT(*)")), int(in_all)

    def _of_day(self, team: str, now: float, which: str, aggregate: str) -> float:
        query = f"SELECT {aggregate} FROM submissions WHERE submitter = ? AND at > ? AND {which}"
        return float(self._db.execute(query, (team, now - DAY)).fetchone()[0] or 0.0)

    def remaining(self, team: str, limits: SubmissionLimits) -> tuple[int, int]:
        """How many submissions are left within 24 hours, and in all."""
        with self._lock:
            today, in_all = self._used(team, self._clock())
        in_all_left = max(limits.in_all - in_all, 0)
        return min(max(limits.per_day - today, 0), in_all_left), in_all_left

    def submission(self, id: str) -> Submission:
        stored = self._submissions("id = ?", id)
        if not stored:
            raise InputError("There is no such submission.", "Use the id that came back when you submitted.")
        return stored[0]

    def of_team(self, team: str) -> list[Submission]:
        """Everything a team sent, in the order it came."""
        return self._submissions("submitter = ? ORDER BY number", team)

    def scored(self) -> list[Submission]:
        """Every scored submission, in the order they were scored."""
        return self._submissions("status = ? ORDER BY finished, number", "scored")

    def _submissions(self, condition: str, value: str) -> list[Submission]:
        with self._lock:
            rows = self._db.execute(f"SELECT {_ROW} FROM submissions WHERE {condition}", (value,)).fetchall()
        return [_submission(row) for row in rows]

    def content(self, id: str) -> bytes:
        with self._lock:
            row = self._db.execute("SELECT content FROM submissions WHERE id = ?", (id,)).fetchone()
        return bytes(row[0])

    def waiting(self) -> list[str]:
        """Submissions that are not scored yet, in the order they came."""
        query = "SELECT id FROM submissions WHERE status = 'received' ORDER BY number"
        with self._lock:
            return [str(row[0]) for row in self._db.execute(query)]

    def refuse(self, id: str, problem: str, fix: str) -> None:
        """End a submission that cannot be scored; it does not count against the team's limits."""
        query = "UPDATE submissions SET status = 'refused', problem = ?, fix = ?, finished = ? WHERE id = ?"
        with self._transaction() as db:
            db.execute(f"{query} AND status = 'received'", (problem, fix, self._clock(), id))

    def choose(self, team: str, id: str) -> Submission:
        """Make a submission the one that counts in the final ranking, in place of the team's earlier choice."""
        with self._transaction() as db:
            if self.fact("closed") is not None:
                raise Closed
            candidates = [
                submission
                for submission in self.of_team(team)
                if submission.id == id and submission.status != "refused"
            ]
            if not candidates:
                raise InputError("There is no such submission that could count.", "Choose one that was not refused.")
            db.execute("UPDATE submissions SET chosen = NULL WHERE submitter = ?", (team,))
            db.execute("UPDATE submissions SET chosen = ? WHERE id = ?", (self._clock(), id))
        return self.submission(id)

    def bests(self, team: str) -> dict[str, Submission]:
        """By task: the submission behind a team's published score."""
        order = "submitter = ? AND status = 'scored' AND changed != '[]' ORDER BY finished, number"
        return {task: submission for submission in self._submissions(order, team) for task in submission.changed}

    def publish(
        self,
        id: str,
        scores: Mapping[str, float | None],
        compared_with: Mapping[str, str],
        climb: Callable[[Steps, Tries], dict[str, int]],
    ) -> bool:
        """Store a submission's scores, and what ``climb`` makes of its team's published scores.

        ``climb`` is given these and how many submissions have been scored. False, and nothing stored, where the team's bests are no
        longer those the submission was compared with.
        """
        with self._transaction() as db:
            team = self.submission(id).submitter
            bests = self.bests(team)
            if {task: best.id for task, best in bests.items()} != dict(compared_with):
                return False
            before = {task: best.published[task] for task, best in bests.items()}
            counts = "SELECT COUNT(*), SUM(submitter = ?) FROM submissions WHERE status = 'scored'"
            of_all, of_team = db.execute(counts, (team,)).fetchone()
            after = climb(before, Tries(of_all=of_all + 1, of_team=(of_team or 0) + 1))
            changed = [task for task, steps in after.items() if before.get(task) != steps]
            db.execute(
                "UPDATE submissions SET status = 'scored', scores = ?, published = ?, changed = ?, finished = ?"
                " WHERE id = ? AND status = 'received'",
                (json.dumps(dict(scores)), json.dumps(after), json.dumps(changed), self._clock(), id),
            )
        return True


def _submission(row: tuple[Any, ...]) -> Submission:
    facts = dict(zip(_ROW.split(", "), row, strict=True))
    steps: dict[str, int] = json.loads(facts["published"] or "{}")
    tasks: list[str] = json.loads(facts["changed"] or "[]")
    return Submission(**{**facts, "published": steps, "changed": tuple(tasks)})
