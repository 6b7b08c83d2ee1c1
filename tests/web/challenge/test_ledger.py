"""The ledger: teams and members, the same file twice, the end, and ledgers of an earlier version."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import threading
from pathlib import Path

import pytest

from heartfelt.errors import DamagedError, InputError
from heartfelt.publishing.submissions.ladder import Tries
from heartfelt.publishing.submissions.ledger import ATTEMPTS, DAY, Closed, Member, OverLimit, Steps, SubmissionLedger
from heartfelt.publishing.submissions.ledger_file import new_key  # before the fixture that fixes keys
from heartfelt.publishing.submissions.options import SubmissionLimits

LIMITS = SubmissionLimits(per_day=2, in_all=3)
ANN, BOB = Member(team="lab", name="Ann"), Member(team="lab", name="Bob")
LAYOUT_1 = """
CREATE TABLE challenge (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE submitters (name TEXT PRIMARY KEY, token_hash TEXT NOT NULL UNIQUE, made REAL NOT NULL, revoked REAL);
CREATE TABLE submissions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, submitter TEXT NOT NULL REFERENCES submitters(name),
    model TEXT NOT NULL, at REAL NOT NULL, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL, content BLOB,
    status TEXT NOT NULL, problem TEXT, fix TEXT, scores TEXT, published TEXT, changed TEXT, finished REAL);
CREATE INDEX of_submitter ON submissions (submitter, at);
"""
"""The tables of heartfelt 0.8.3."""


@pytest.fixture
def ledger(tmp_path: Path) -> SubmissionLedger:
    return SubmissionLedger(tmp_path / "l.sqlite", lambda: 1_000.0)


def scored(ledger: SubmissionLedger, id: str, after: dict[str, int]) -> list[tuple[Steps, Tries]]:
    """Publish a submission's steps; what the ladder was told."""
    told: list[tuple[Steps, Tries]] = []

    def climb(before: Steps, tries: Tries) -> dict[str, int]:
        told.append((before, tries))
        return after

    bests = {task: best.id for task, best in ledger.bests("lab").items()}
    assert ledger.publish(id, {"t": 0.5}, bests, climb)
    return told


def test_members_have_tokens_of_their_own_and_the_team_has_the_limits(ledger: SubmissionLedger) -> None:
    tokens = {name: ledger.add_member("lab", name) for name in ("Ann", "Bob")}
    alone = ledger.add_member("solo")
    assert ledger.member_of(tokens["Ann"]) == ANN
    assert ledger.member_of(tokens["Bob"]) == BOB
    assert ledger.member_of(alone) == Member(team="solo", name="solo")
    assert [(each.team, each.name) for each in ledger.members()] == [("lab", "Ann"), ("lab", "Bob"), ("solo", "solo")]
    ledger.receive(ANN, "m", b"1", LIMITS)
    ledger.receive(BOB, "m", b"2", LIMITS)
    with pytest.raises(OverLimit, match="for 24 hours"):
        ledger.receive(ANN, "m", b"3", LIMITS)
    assert [each.member for each in ledger.of_team("lab")] == ["Ann", "Bob"]
    # A new token replaces the old one; a member goes alone, a team as a whole.
    new = ledger.add_member("lab", "Ann")
    assert ledger.member_of(tokens["Ann"]) is None
    assert ledger.member_of(new) == ANN
    ledger.revoke("lab", "Bob")
    assert (ledger.member_of(tokens["Bob"]), ledger.member_of(new)) == (None, ANN)
    ledger.revoke("lab")
    assert ledger.member_of(new) is None
    assert ledger.member_of(alone) is not None
    for team, member, words in (
        ("lab", "Eve", "There is no member 'Eve' of a team 'lab'."),
        ("nobody", None, "There is no team 'nobody'."),
    ):
        with pytest.raises(InputError, match=words):
            ledger.revoke(team, member)
    for team, name in (("", "a"), ("a", ""), ("a", " b"), ("x" * 81, "a"), ("a", "b\n")):
        with pytest.raises(InputError, match="cannot be called"):
            ledger.add_member(team, name)
    assert ledger.add_member("x" * 80, "y")
    assert not (Path(ledger.path).stat().st_mode & 0o077)


def test_the_same_file_is_the_same_submission_unless_it_was_refused(ledger: SubmissionLedger) -> None:
    first = ledger.receive(ANN, "m", b"1", LIMITS)
    assert ledger.receive(BOB, "other", b"1", LIMITS) == first
    assert ledger.remaining("lab", LIMITS) == (1, 2)
    # Another team's file is its own, whatever is in it.
    assert ledger.receive(Member(team="rival", name="x"), "m", b"1", LIMITS).id != first.id
    # Refused ones do not count, and may be sent again: the reason may be gone.
    ledger.refuse(first.id, "problem", "fix")
    again = ledger.receive(ANN, "m", b"1", LIMITS)
    assert again.id != first.id
    scored(ledger, again.id, {"t": 3})
    assert ledger.receive(ANN, "m", b"1", LIMITS).status == "scored"
    assert ledger.remaining("lab", LIMITS) == (1, 2)


def test_scores_are_published_against_the_teams_bests_and_the_tries_are_counted(ledger: SubmissionLedger) -> None:
    first, second, third = (ledger.receive(ANN, "m", content, SubmissionLimits()).id for content in (b"1", b"2", b"3"))
    rival = ledger.receive(Member(team="rival", name="x"), "m", b"1", SubmissionLimits()).id
    assert scored(ledger, first, {"t": 3, "u": 1}) == [({}, Tries(of_all=1, of_team=1))]
    assert ledger.publish(rival, {}, {}, lambda *_: {})
    assert scored(ledger, second, {"t": 4, "u": 1}) == [({"t": 3, "u": 1}, Tries(of_all=3, of_team=2))]
    assert {task: best.id for task, best in ledger.bests("lab").items()} == {"t": second, "u": first}
    assert ledger.submission(second).changed == ("t",)
    # Measured against bests that are no longer the bests: not published, and still in line.
    assert not ledger.publish(third, {}, {"t": first, "u": first}, lambda *_: {"t": 9})
    assert ledger.waiting() == [third]
    # Scored once is scored.
    scored(ledger, first, {"t": 9})
    assert ledger.submission(first).published == {"t": 3, "u": 1}
    assert [entry.id for entry in ledger.scored()] == [first, second, rival]


def test_a_team_chooses_what_counts_until_the_end(ledger: SubmissionLedger) -> None:
    first, second = (ledger.receive(ANN, "m", content, SubmissionLimits()) for content in (b"1", b"2"))
    assert ledger.choose("lab", first.id).chosen == 1_000.0
    ledger.choose("lab", second.id)
    assert [each.chosen for each in ledger.of_team("lab")] == [None, 1_000.0]
    with pytest.raises(InputError, match="no such submission"):
        ledger.choose("rival", first.id)
    ledger.refuse(first.id, "p", "f")
    with pytest.raises(InputError, match="no such submission"):
        ledger.choose("lab", first.id)
    assert ledger.settle("closed", "1") == "1"
    assert ledger.settle("closed", "2") == "1"
    with pytest.raises(Closed):
        ledger.choose("lab", second.id)
    with pytest.raises(Closed):
        ledger.receive(ANN, "m", b"3", SubmissionLimits())
    # What was sent before is still there for whoever asks again.
    assert ledger.receive(ANN, "m", b"2", SubmissionLimits()).id == second.id


def test_a_ledger_of_an_earlier_version_opens_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "challenge.sqlite"
    token = SubmissionLedger(tmp_path / "other.sqlite").add_member("x")
    db = sqlite3.connect(path)
    db.executescript(LAYOUT_1)
    digest = hashlib.sha256(token.encode()).hexdigest()
    db.execute("INSERT INTO submitters VALUES ('lab', ?, 5.0, NULL), ('gone', 'h', 6.0, 7.0)", (digest,))
    db.execute("INSERT INTO challenge VALUES ('benchmark', 'abc'), ('part', 'test'), ('step', 't 0.25')")
    rows = [
        ("a", "lab", 10.0, b"1", "scored", None, '{"t": 0.61}', '{"t": 2}', '["t"]', 11.0),
        ("b", "lab", 12.0, b"2", "refused", "why", None, None, None, 13.0),
        ("c", "gone", 14.0, b"3", "received", None, None, None, None, None),
    ]
    for id, who, at, content, status, problem, scores, steps, changed, finished in rows:
        db.execute(
            "INSERT INTO submissions (id, submitter, model, at, bytes, sha256, content, status, problem, fix, scores, published,"
            " changed, finished) VALUES (?, ?, 'm', ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                id,
                who,
                at,
                hashlib.sha256(content).hexdigest(),
                content,
                status,
                problem,
                problem,
                scores,
                steps,
                changed,
                finished,
            ),
        )
    db.commit()
    db.close()
    for _ in range(2):  # opening it again changes nothing
        ledger = SubmissionLedger(path)
        assert ledger.member_of(token) == Member(team="lab", name="lab")
        assert [(each.team, each.revoked) for each in ledger.members()] == [("gone", 7.0), ("lab", None)]
        # What was scored by other rules waits to be scored again, in the order it came; the old result is still there.
        assert ledger.waiting() == ["a", "c"]
        assert ledger.content("a") == b"1"
        assert ledger.submission("b").problem == "why"
        assert ledger.remaining("lab", SubmissionLimits()) == (5, 99)
        assert ledger.fact("earlier step") == "t 0.25"
        ledger.bind({"benchmark": "abc", "part": "test", "step": "automatic"})
        ledger.close()
    db = sqlite3.connect(path)
    (kept,) = db.execute("SELECT earlier FROM submissions WHERE id = 'a'").fetchone()
    assert json.loads(kept) == {"scores": {"t": 0.61}, "published": {"t": 2}, "changed": ["t"], "finished": 11.0}
    db.close()
    copy = path.with_name("challenge.sqlite.layout-1")
    assert not (copy.stat().st_mode & 0o077)
    db = sqlite3.connect(copy)
    assert db.execute("SELECT published FROM submissions WHERE id = 'a'").fetchone() == ('{"t": 2}',)
    assert db.execute("SELECT COUNT(*) FROM submitters").fetchone() == (2,)
    db.close()


def test_a_ledger_of_a_later_version_and_other_files_are_refused(tmp_path: Path) -> None:
    ledger = SubmissionLedger(tmp_path / "l.sqlite")
    ledger._db.execute("UPDATE challenge SET value = '3' WHERE name = 'layout'")
    ledger.close()
    with pytest.raises(InputError, match="later version"):
        SubmissionLedger(tmp_path / "l.sqlite")
    (tmp_path / "text").write_text("x" * 5000)
    with pytest.raises(DamagedError, match="cannot be used as the ledger"):
        SubmissionLedger(tmp_path / "text")


def test_every_ledger_has_an_id_and_a_key_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    first, second = SubmissionLedger(tmp_path / "a.sqlite"), SubmissionLedger(tmp_path / "b.sqlite")
    assert first.fact("id") != second.fact("id")
    assert len(first.fact("id") or "") == 16
    assert len(bytes.fromhex(first.fact("key") or "")) == 32
    assert len(bytes.fromhex(new_key())) == 32
    assert new_key() != new_key()
    assert first.fact("nothing") is None
    again = SubmissionLedger(tmp_path / "a.sqlite")
    assert again.fact("key") == first.fact("key")


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_submissions_count_for_24_hours_and_the_wait_is_said(tmp_path: Path) -> None:
    clock, limits = Clock(), SubmissionLimits(per_day=2, in_all=4)
    ledger = SubmissionLedger(tmp_path / "l.sqlite", clock)
    assert ledger.remaining("lab", limits) == (2, 4)
    begun = clock.now
    for at, content in ((0, b"1"), (3600, b"2")):
        clock.now = begun + at
        ledger.receive(ANN, "m", content, limits)
    clock.now = begun + 7200
    with pytest.raises(OverLimit, match=r"2 submissions.*'lab'.*24 hours") as over:
        ledger.receive(ANN, "m", b"3", limits)
    assert over.value.retry_after == DAY - 7200
    assert over.value.fix == f"Submit again in {22 * 60} minutes."
    assert ledger.receive(Member(team="rival", name="x"), "m", b"3", limits).status == "received"
    clock.now = begun + DAY - 0.25
    with pytest.raises(OverLimit) as over:
        ledger.receive(ANN, "m", b"3", limits)
    assert (over.value.retry_after, over.value.fix) == (1.0, "Submit again in 1 minutes.")
    clock.now = begun + DAY
    ledger.receive(ANN, "m", b"3", limits)
    assert ledger.remaining("lab", limits) == (0, 1)
    clock.now = begun + 3 * DAY
    assert ledger.remaining("lab", limits) == (1, 1), "fewer in all than in a day"
    ledger.receive(ANN, "m", b"4", limits)
    assert ledger.remaining("lab", limits) == (0, 0)
    clock.now = begun + 9 * DAY
    with pytest.raises(OverLimit, match=r"4 submissions.*'lab'") as over:
        ledger.receive(ANN, "m", b"5", limits)
    assert over.value.retry_after is None
    # SubmissionLimits that became stricter leave nothing, and not less than nothing.
    assert ledger.remaining("lab", SubmissionLimits(per_day=1, in_all=1)) == (0, 0)


def test_refusals_are_limited_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ATTEMPTS == 20
    monkeypatch.setattr("heartfelt.publishing.submissions.ledger.ATTEMPTS", 3)
    clock, limits = Clock(), SubmissionLimits(per_day=2, in_all=4)
    ledger = SubmissionLedger(tmp_path / "l.sqlite", clock)
    wrong = InputError("Not a table.", "Send a table.")
    for _ in range(5):
        ledger.note_refused(ANN, "m" * 99, 7, wrong)
    stored = ledger.of_team("lab")[0]
    assert (stored.status, stored.model, stored.bytes, stored.problem, stored.fix, stored.finished) == (
        "refused", "m" * 80, 7, "Not a table.", "Send a table.", clock.now,
    )  # fmt: skip
    last = ledger.receive(ANN, "m", b"1", limits)
    ledger.refuse(last.id, "p", "f")
    with pytest.raises(OverLimit, match=r"6 submissions.*'lab'.*24 hours") as over:
        ledger.receive(ANN, "m", b"1", limits)
    assert over.value.retry_after == DAY
    assert ledger.receive(ANN, "m", b"1", SubmissionLimits(per_day=3)).status == "received"
    # Recorded refusals have an end, for each team and day.
    monkeypatch.setattr("heartfelt.publishing.submissions.ledger._MOST_REFUSED", 8)
    for _ in range(4):
        ledger.note_refused(ANN, "m", 7, wrong)
    assert sum(each.status == "refused" for each in ledger.of_team("lab")) == 8
    ledger.note_refused(Member(team="rival", name="x"), "m", 7, wrong)
    assert len(ledger.of_team("rival")) == 1
    clock.now += DAY
    ledger.note_refused(ANN, "m", 7, wrong)
    assert sum(each.status == "refused" for each in ledger.of_team("lab")) == 9


def test_a_team_may_send_one_at_least() -> None:
    assert SubmissionLimits(per_day=1, in_all=1).in_all == 1
    for limits in ({"per_day": 0}, {"in_all": 0}):
        with pytest.raises(InputError, match="must be at least 1"):
            SubmissionLimits(**limits)


def test_only_what_waits_is_refused_or_scored(ledger: SubmissionLedger) -> None:
    first = ledger.receive(ANN, "m", b"1", SubmissionLimits())
    scored(ledger, first.id, {"t": 3})
    ledger.refuse(first.id, "too late", "f")
    assert (ledger.submission(first.id).status, ledger.submission(first.id).problem) == ("scored", None)
    with pytest.raises(InputError, match="no such submission"):
        ledger.submission("nothing")
    # A score that stays as it was is no change: the submission behind it is still the first.
    second = ledger.receive(ANN, "m", b"2", SubmissionLimits())
    scored(ledger, second.id, {"t": 3})
    assert ledger.bests("lab")["t"].id == first.id


def test_many_threads_and_openings_share_a_ledger_in_a_private_folder(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "l.sqlite"
    ledger, other = SubmissionLedger(path), SubmissionLedger(path)
    limits, taken = SubmissionLimits(per_day=5, in_all=5), list[str]()

    def send(at: int) -> None:
        with contextlib.suppress(OverLimit):
            taken.append((ledger if at % 2 else other).receive(ANN, "m", bytes([at]), limits).id)

    threads = [threading.Thread(target=send, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(taken)) == 5
    assert ledger.waiting() == other.waiting()
    assert not (path.parent.stat().st_mode & 0o077)
    # What fails in the middle of a change leaves nothing behind, and nothing locked.
    with pytest.raises(ZeroDivisionError):
        ledger.publish(taken[0], {}, {}, lambda *_: {"t": 1 // 0})
    assert other.submission(taken[0]).status == "received"
    assert other.publish(taken[0], {}, {}, lambda *_: {"t": 1})


def test_a_ledger_belongs_to_one_challenge(ledger: SubmissionLedger) -> None:
    ledger.bind({"benchmark": "a", "part": "test"})
    ledger.bind({"benchmark": "a", "part": "test"})
    with pytest.raises(InputError, match=r"another part \(test, not other\)"):
        ledger.bind({"benchmark": "a", "part": "other"})
    assert ledger.fact("part") == "test"
