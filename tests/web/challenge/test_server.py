"""A challenge over HTTP: what is sent, stored, published and refused."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")

from starlette.testclient import TestClient
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.labels import SplitOptions
from heartfelt.publishing.hiding.hold_out import hold_out
from heartfelt.publishing.submissions.ladder import effective_items, overstatement, variance_proxy
from heartfelt.publishing.submissions.ledger import ATTEMPTS, DAY, Member, OverLimit, SubmissionLedger
from heartfelt.publishing.submissions.options import SubmissionLimits
from heartfelt.scoring import ScoreOptions, score
from heartfelt.web.challenge.challenge import Challenge
from heartfelt.web.challenge.options import ChallengeOptions, HostOptions
from heartfelt.web.challenge.reading import SizeLimits
from heartfelt.web.challenge.server import _seconds, challenge_app
from tests.publishing.test_hold_out import compared
from tests.scoring.compared import courses
from tests.web.challenge.made import benchmark, predictions

LAB = Member(team="lab", name="lab")
FEW = ScoreOptions(resamples=100, ceilings=False, slices=())
SECRET_WORDS = ("Traceback", 'File "', "/tmp", "sqlite3")


class Site:
    """A running challenge, spoken to over HTTP."""

    def __init__(self, challenge: Challenge, client: TestClient) -> None:
        self.challenge, self.client = challenge, client
        self.tokens: dict[str, str] = {}

    def head(self, who: str = "lab") -> dict[str, str]:
        if who not in self.tokens:
            self.tokens[who] = self.challenge.ledger.add_member(who)
        return {"authorization": f"Bearer {self.tokens[who]}"}

    def send(self, content: bytes, who: str = "lab", name: str = "m") -> tuple[int, dict[str, Any]]:
        address = f"/submissions?wait=30&name={name}"
        answer = self.client.post(address, content=content, headers=self.head(who))
        return answer.status_code, answer.json()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("challenge")
    options = ChallengeOptions(
        step=0.05, limits=SubmissionLimits(per_day=50, in_all=60), megabytes=1.0, public_share=0.8
    )
    challenge = Challenge(benchmark().write(folder / "private" / "benchmark"), options)
    with TestClient(challenge_app(challenge, HostOptions(url="http://testserver"))) as client:
        yield Site(challenge, client)


def csv(table: pl.DataFrame) -> bytes:
    return table.write_csv().encode()


def published(right: float, seed: int = 1) -> bytes:
    return csv(predictions(right=right, seed=seed))


def read(challenge: Challenge, content: bytes) -> pl.DataFrame:
    """A file as the challenge reads it, of a model called m."""
    return challenge.read(content, "m")


@pytest.mark.slow
def test_a_score_is_published_when_it_is_better_and_nothing_else_is_told(site: Site) -> None:
    first = site.send(published(0.5), name="half")
    assert first[0] == 200, first
    assert first[1]["left_in_all"] == 59
    challenge, tasks = site.challenge, {rung.task: rung for rung in site.challenge.rungs}
    public = score(challenge.division.public, read(challenge, published(0.5)), FEW)
    assert first[1]["published"]
    for task, value in first[1]["published"].items():
        exact = public.headline(task, "m").value
        assert exact is not None
        assert value == pytest.approx(0.05 * int(exact / 0.05 + 1e-9))
        assert (tasks[task].p_chance(exact) or 0.0) <= 0.1
    # A worse one changes nothing and says nothing; a better one is published.
    worse = site.send(published(0.1), name="worse")
    assert (worse[1]["published"], worse[1]["raised"]) == (first[1]["published"], [])
    better = site.send(published(0.95), name="better")
    assert set(better[1]["raised"]) == set(tasks)
    # The answer has what the ladder publishes, and nothing else that depends on labels.
    assert set(better[1]) == {
        "id", "status", "name", "member", "received", "sha256", "final", "left_in_24_hours", "left_in_all", "published",
        "raised",
    }  # fmt: skip
    # The same file again is the same submission, and takes nothing from the limits.
    again = site.send(published(0.95), name="another name")
    assert again == better
    # Gzip, Parquet, JSON Lines and an upload are read alike.
    table, same = predictions(right=0.95), better[1]["published"]
    parquet = io.BytesIO()
    table.write_parquet(parquet)
    for content in (gzip.compress(csv(table)), parquet.getvalue(), table.write_ndjson().encode()):
        status, answer = site.send(content)
        assert (status, answer["published"], answer["raised"]) == (200, same, [])
    upload = {"file": ("p.csv", csv(table) + b"\n", "text/csv")}
    uploaded = site.client.post("/submissions?wait=30", files=upload, headers=site.head())
    assert uploaded.json()["published"] == same
    # Another team sees the leaderboard, but no submission of this one.
    assert site.client.get(f"/submissions/{better[1]['id']}", headers=site.head()).json() == {
        **better[1], "left_in_24_hours": 43, "left_in_all": 53,
    }  # fmt: skip
    assert site.client.get(f"/submissions/{better[1]['id']}", headers=site.head("other")).status_code == 404
    site.send(published(0.6, seed=3), who="other", name="<script>alert(1)</script>")
    board = site.client.get("/leaderboard").json()
    assert board["submissions"] == 8
    for each, rung in zip(board["leaderboards"], challenge.rungs, strict=True):
        assert each["task"] == rung.task
        assert each["resolution"] == pytest.approx(rung.resolution, abs=0.001)
        places = each["places"]
        assert [place["rank"] for place in places] == sorted(place["rank"] for place in places)
        own = next(place for place in places if place["team"] == "lab")
        assert own["score"] == same[rung.task]
        assert own["submissions"] == 7
        # Published at the third submission, after the changes of the first.
        bound = overstatement(rung, challenge.rungs, 3, len(first[1]["raised"]))
        assert own["overstated_at_most"] == pytest.approx(bound, abs=1e-4)
    page = site.client.get("/leaderboard", headers={"accept": "text/html"})
    assert "&lt;script&gt;alert" in page.text
    assert "<script>alert" not in page.text
    assert "nine times in ten" in page.text
    assert "sha256-" in page.headers["content-security-policy"]
    front = site.client.get("/").text
    assert "happy, sad, calm" in front
    assert "Authorization: Bearer" in front
    items = pl.read_csv(io.BytesIO(site.client.get("/items.csv").content))
    scored = benchmark().part("test").select("stimulus", "question")
    assert items.sort(pl.all()).equals(scored.sort(pl.all()))
    # A handful of adaptive submissions over HTTP: shuffled answers never raise what is published.
    for seed in range(8):
        shuffled = table.with_columns(
            pl.when(pl.col("question") == "mood")
            .then(pl.col("answer").shuffle(seed).over("question"))
            .otherwise("answer")
            .alias("answer")
        )
        assert site.send(csv(shuffled))[1]["published"] == same


@pytest.mark.slow
def test_nothing_public_is_computed_from_private_things_without_a_key(site: Site) -> None:
    """An attacker with a guess of all labels tries it against every byte that the server sends."""
    site.send(published(0.8, seed=9), who="oracle")
    private = benchmark()
    guesses = {private.hash, *private.table_hashes.values(), site.challenge.ledger.fact("key") or ""}
    for part in (site.challenge.division.public, site.challenge.division.final):
        guesses |= {part.hash, *part.table_hashes.values()} - {
            part.table_hashes["stimuli"],
            part.table_hashes["ledger"],
        }
        labels = part.items.filter(question="valence")["label"].to_numpy()
        units = [{str(at)} for at in range(labels.size)]
        guesses |= {repr(effective_items("pearson", labels, units)), repr(variance_proxy(labels))}
    answers = [
        site.client.get(path, headers={**head, **site.head("oracle")})
        for path in ("/", "/leaderboard", "/leaderboard.json", "/items.csv", "/submissions", "/mine", "/final.json")
        for head in ({}, {"accept": "text/html"})
    ]
    sent = "\n".join(answer.text + str(dict(answer.headers)) for answer in answers)
    assert len({guess for guess in guesses if len(guess) > 8}) > 10
    assert not [guess for guess in guesses if len(guess) > 8 and guess[:12] in sent]
    board = site.client.get("/leaderboard.json").json()
    assert board["challenge"] == site.challenge.ledger.fact("id")
    # What follows from the labels has few digits: the same for many labels.
    for each in board["leaderboards"]:
        numbers = [each["chance"], each["resolution"], each["appears_from"], each["step"]]
        numbers += [place["overstated_at_most"] for place in each["places"]]
        numbers = [number for number in numbers if number is not None]
        assert all(abs(number * 10_000 - round(number * 10_000)) < 1e-6 for number in numbers)


@pytest.mark.slow
def test_own_submissions_are_listed_to_the_team_and_to_nobody_else(site: Site) -> None:
    good = site.send(published(0.7, seed=4), who="listed", name="first model")[1]
    bad = site.send(b"nonsense", who="listed", name="broken")[1]
    listed = site.client.get("/submissions", headers=site.head("listed")).json()
    assert [each["id"] for each in listed["submissions"]] == [good["id"], bad["id"]]
    assert listed["submissions"][0]["published"] == good["published"]
    assert listed["submissions"][1]["problem"] == bad["problem"]
    assert set(listed["submissions"][0]) == set(good) - {"left_in_24_hours", "left_in_all"}
    assert site.client.get("/submissions").status_code == 401
    assert site.client.get("/submissions", headers=site.head("other")).json()["team"] == "other"
    # The same as a page, for a token in a form.
    form = site.client.get("/mine")
    assert 'type="password"' in form.text
    assert "form-action 'self'" in form.headers["content-security-policy"]
    assert form.headers["referrer-policy"] == "same-origin"
    assert site.client.get("/").headers["referrer-policy"] == "no-referrer"
    page = site.client.post("/mine", data={"token": site.tokens["listed"]})
    assert "first model" in page.text
    assert site.tokens["listed"] not in page.text
    assert bad["problem"][:20] in page.text
    assert site.client.post("/mine", data={"token": "wrong"}).status_code == 401
    elsewhere = {"origin": "https://elsewhere.example"}
    assert site.client.post("/mine", data={"token": site.tokens["listed"]}, headers=elsewhere).status_code == 403
    # The one that counts in the end is chosen by the team, for its own submissions that were not refused.
    address = f"/submissions/{good['id']}/final"
    assert site.client.post(address, headers=site.head("other")).status_code == 404
    assert site.client.post(f"/submissions/{bad['id']}/final", headers=site.head("listed")).status_code == 422
    assert site.client.post(address, headers=site.head("listed")).json()["final"] is True
    again = site.client.get("/submissions", headers=site.head("listed")).json()["submissions"]
    assert [each["final"] for each in again] == [True, False]


def test_a_request_waits_for_at_most_half_a_minute() -> None:
    assert [_seconds(text) for text in ("5", "30", "31", "1e9", "inf", "nan", "-3", "soon")] == [
        5.0, 30.0, 30.0, 30.0, 0.0, 0.0, 0.0, 0.0,
    ]  # fmt: skip


def test_a_token_counts_only_as_a_bearer(tmp_path: Path) -> None:
    ledger = SubmissionLedger(tmp_path / "l.sqlite")
    token = ledger.add_member("lab")

    class Known:
        sizes, sets, items = SizeLimits(), pl.DataFrame({"a": []}), pl.DataFrame({"a": []})
        options, title = ChallengeOptions(), "t"

        def __init__(self) -> None:
            self.ledger = ledger

        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    with TestClient(challenge_app(cast("Challenge", Known()), HostOptions(url="http://testserver"))) as client:
        for kind, status in (("Bearer", 200), ("bearer", 200), ("Basic", 401), ("", 401), ("Token", 401)):
            answer = client.get("/submissions", headers={"authorization": f"{kind} {token}".strip()})
            assert answer.status_code == status, kind
        assert client.get("/submissions", headers={"authorization": "Bearer"}).status_code == 401
    ledger.close()


def hostile() -> dict[str, tuple[bytes, str]]:
    """Submissions that cannot be used, and what is said about them."""
    table = predictions()
    lines = csv(table).decode().splitlines()
    number = next(at for at, line in enumerate(lines) if ",valence," in line)
    word = next(at for at, line in enumerate(lines) if ",mood," in line)
    stimulus = lines[number].split(",")[0]

    def changed(at: int, line: str) -> bytes:
        return "\n".join([*lines[:at], line, *lines[at + 1 :]]).encode()

    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("p.csv", csv(table))
    many, bomb = io.BytesIO(), io.BytesIO()
    pl.DataFrame({"stimulus": ["x"] * 1_000_000, "value": 1.0}).write_parquet(many)
    pl.DataFrame({"stimulus": ["x" * 2_000] * 3_000, "value": 1.0}).write_parquet(bomb)
    other = csv(table.with_columns(pl.concat_str(pl.lit("other_"), "stimulus").alias("stimulus")))
    return {
        "empty": (b"", "empty"),
        "NaN": (changed(number, f"{stimulus},valence,NaN,,,"), "1 of"),
        "infinite": (changed(number, f"{stimulus},valence,inf,,,"), "out of range"),
        "huge number": (changed(number, f"{stimulus},valence,1e300,,,"), "out of range"),
        "no number": (changed(number, f"{stimulus},valence,high,,,"), "not a number"),
        "duplicate": ("\n".join([*lines, lines[5]]).encode(), "two predictions"),
        "missing rows": ("\n".join(lines[:-3]).encode(), "3 of"),
        "only a header": (lines[0].encode(), "no predictions"),
        "a million rows": (b"stimulus,question,value\n" + b"x,y,1\n" * 1_000_000, "larger than"),
        "many rows": (b"a,b\n" + b"1,2\n" * 100_000, "100,001 rows"),
        "another benchmark": (other, "No row is about an item"),
        "unknown question": (csv(table).replace(b",valence,", b",valance,"), "have no prediction"),
        "unknown category": (changed(word, lines[word].rsplit(",", 1)[0] + ",angry"), "not a category"),
        "gzip bomb": (gzip.compress(b"0" * 50_000_000), "larger than"),
        "damaged gzip": (gzip.compress(csv(table))[:-20] + b"x" * 20, "gzip"),
        "zip": (archive.getvalue(), "ZIP archive"),
        "huge field": (changed(word, "x" * 200_000), "200,000 characters"),
        "not UTF-8": (csv(table).replace(b"happy", b"h\xe4ppy"), "not UTF-8"),
        "zero bytes": (csv(table) + b"\0", "zero bytes"),
        "random bytes": (secrets.token_bytes(4000) + b"\xff", ""),
        "JSON list": (b"[1, 2]", "JSON list"),
        "broken JSON": (b'{"stimulus": "a", "question": ', ""),
        "deep JSON": (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, ""),
        "JSON of wrong types": (b'{"stimulus": {"a": []}, "question": 3, "value": [1]}', ""),
        "no columns known": (b"a,b\n1,2\n", "no column that names the stimulus"),
        "Parquet of a million rows": (many.getvalue(), "1,000,000 rows"),
        "Parquet that unpacks": (bomb.getvalue(), "larger than"),
        "cut Parquet": (many.getvalue()[:200], "Parquet"),
    }


@pytest.mark.slow
def test_hostile_submissions_are_answered_and_stored_and_do_not_count(site: Site) -> None:
    before = site.challenge.ledger.remaining("hostile", site.challenge.options.limits)
    labels = {f"{label:g}" for label in benchmark().part("test").filter(question="valence")["label"] if label % 1}
    for name, (content, words) in hostile().items():
        status, answer = site.send(content, who="hostile")
        assert status in (413, 422), (name, answer)
        text = json.dumps(answer)
        assert words in text, (name, answer)
        assert len(str(answer["problem"])) > 10, name
        assert len(str(answer["fix"])) > 10, name
        assert not any(secret in text for secret in SECRET_WORDS), (name, answer)
        assert not any(f" {label} " in text for label in labels), (name, answer)
    assert site.challenge.ledger.remaining("hostile", site.challenge.options.limits) == before
    database = sqlite3.connect(site.challenge.ledger.path)
    query = (
        "SELECT COUNT(*), SUM(problem IS NULL), SUM(scores IS NOT NULL) FROM submissions WHERE submitter = 'hostile'"
    )
    assert database.execute(query).fetchone() == (len(hostile()), 0, 0)
    database.close()
    # The next good one is scored as ever.
    assert site.send(published(0.5), who="hostile")[0] == 200


@pytest.mark.slow
def test_requests_that_are_refused(site: Site) -> None:
    client = site.client
    for headers in ({}, {"authorization": "Bearer nonsense"}, {"authorization": "Basic abc"}):
        answer = client.post("/submissions", content=b"x", headers=headers)
        assert answer.status_code == 401
        assert "token" in answer.json()["problem"]
    token = site.challenge.ledger.add_member("gone")
    site.challenge.ledger.revoke("gone")
    assert client.post("/submissions", headers={"authorization": f"Bearer {token}"}).status_code == 401
    elsewhere = {**site.head(), "origin": "https://elsewhere.example"}
    assert client.post("/submissions", content=b"x", headers=elsewhere).status_code == 403
    assert client.get("/submissions/none", headers=site.head()).status_code == 404
    assert client.get("/nothing").status_code == 404
    assert client.put("/submissions").status_code == 405
    # Paths that a study's rating pages have too.
    for method, path, status in (("PUT", "/", 405), ("GET", "/rate", 404), ("GET", "/media/x", 404)):
        answer = client.request(method, path)
        assert (answer.status_code, set(answer.json())) == (status, {"problem", "fix"})
    answer = client.post("/submissions?name=" + "x" * 200, content=b"x", headers=site.head())
    assert answer.status_code == 422
    assert client.post("/submissions", files={"other": b"x"}, headers=site.head()).status_code == 422
    for _ in range(30):
        last = client.get("/submissions/x", headers={"authorization": "Bearer wrong"})
    assert last.status_code == 429
    for page in ("/", "/leaderboard", "/items.csv"):
        answer = client.get(page)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.slow
def test_limits_hold_for_submissions_at_the_same_time(tmp_path: Path) -> None:
    now = [1_000_000.0]
    ledger, limits = (SubmissionLedger(tmp_path / "l.sqlite", lambda: now[0]), SubmissionLimits(per_day=3, in_all=5))
    ledger.add_member("lab")
    refused: list[OverLimit] = []
    files = (str(number).encode() for number in count())

    def submit(content: bytes) -> None:
        try:
            ledger.receive(LAB, "m", content, limits)
        except OverLimit as error:
            refused.append(error)

    threads = [threading.Thread(target=submit, args=(next(files),)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ledger.waiting()), len(refused)) == (3, 9)
    assert refused[0].retry_after == pytest.approx(DAY)
    assert ledger.remaining("lab", limits) == (0, 2)
    # Refused files do not count, but there is a limit to them too.
    ledger.refuse(ledger.waiting()[0], "problem", "fix")
    assert ledger.remaining("lab", limits) == (1, 3)
    now[0] += DAY + 1
    assert ledger.remaining("lab", limits) == (3, 3)
    for _ in range(ATTEMPTS * 3):
        ledger.refuse(ledger.receive(LAB, "m", next(files), limits).id, "problem", "fix")
    with pytest.raises(OverLimit, match="were refused within 24 hours"):
        ledger.receive(LAB, "m", next(files), limits)
    now[0] += DAY + 1
    for _ in range(3):
        ledger.receive(LAB, "m", next(files), limits)
    with pytest.raises(OverLimit, match="All 5 submissions") as error:
        ledger.receive(LAB, "m", next(files), limits)
    assert error.value.retry_after is None
    ledger.bind({"step": "0.1"})
    with pytest.raises(InputError, match="another step"):
        ledger.bind({"step": "0.05"})
    assert (tmp_path / "l.sqlite").stat().st_mode & 0o077 == 0
    assert b"lab" in (tmp_path / "l.sqlite").read_bytes() + (tmp_path / "l.sqlite-wal").read_bytes()
    ledger.close()


@pytest.mark.slow
def test_scoring_that_takes_too_long_is_given_up_and_the_next_is_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = benchmark().write(tmp_path / "benchmark")
    challenge = Challenge(folder, ChallengeOptions(seconds=6.0))
    release, slow, read_file = threading.Event(), threading.Event(), challenge.read

    def read_slowly(content: bytes, name: str) -> pl.DataFrame:
        if content == b"slow":
            slow.set()
            release.wait(30)
        return read_file(content, name)

    monkeypatch.setattr(challenge, "read", read_slowly)
    challenge.ledger.add_member("lab")
    # The first one that is scored compiles, and may take longer.
    challenge.submit(LAB, published(0.5))
    challenge.score_waiting()
    with challenge:
        first, second = (challenge.submit(LAB, content) for content in (b"slow", published(0.6)))
        assert challenge.wait_for(second.id, 30).status == "scored"
        late = challenge.ledger.submission(first.id)
        assert (late.status, late.problem) == ("refused", "Scoring took longer than 6 s.")
        release.set()
    assert slow.is_set()


@pytest.mark.slow
@pytest.mark.server
def test_nothing_that_was_answered_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    folder = benchmark().write(tmp_path / "private" / "benchmark").parent
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "heartfelt", "serve-benchmark", str(folder), "--port", str(port)]
    made = CliRunner().invoke(app, [*command[3:], "--add-submitter", "lab"], catch_exceptions=False)
    token = re.split(r"\s", made.output.strip())[-1]
    assert token.encode() not in (folder / "challenge.sqlite").read_bytes()

    def call(path: str, body: bytes | None = None) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {token}", "content-type": "text/csv"}
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            answered: dict[str, Any] = json.load(answer)
        return answered

    def started() -> subprocess.Popen[bytes]:
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                call("/leaderboard.json")
                return server
            except OSError:
                assert server.poll() is None
                time.sleep(0.05)
        raise AssertionError("the server did not start")

    server = started()
    try:
        files = [published(right) for right in (0.4, 0.9, 0.6)]
        sent = [call("/submissions", content) for content in files]
        assert [each["status"] for each in sent] == ["received"] * 3
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
        server = started()
        # Whoever is not sure what arrived sends it all again: the same submissions, counted once.
        again = [call("/submissions", content) for content in files]
        assert [each["id"] for each in again] == [each["id"] for each in sent]
        assert [each["left_in_24_hours"] for each in again] == [2, 2, 2]
        results = [call(f"/submissions/{each['id']}?wait=30") for each in sent]
        assert [each["status"] for each in results] == ["scored"] * 3
        assert results[1]["published"] == results[2]["published"]
        assert results[2]["raised"] == []
        assert call("/leaderboard.json")["leaderboards"][0]["places"][0]["submissions"] == 3
    finally:
        server.kill()
        server.wait()


@pytest.mark.slow
def test_comparisons_and_traces_are_scored_too(tmp_path: Path) -> None:
    split = SplitOptions(by="prompt", shares={"train": 0.3, "test": 0.7})
    held = hold_out(compared(), "test", split)
    with Challenge(
        held.private.write(tmp_path / "pairs" / "benchmark"), ChallengeOptions(step=0.05, public_share=0.8)
    ) as challenge:
        assert [rung.task for rung in challenge.rungs] == ["better", "better (strength)"]
        challenge.ledger.add_member("lab")
        # What people chose, as a value for each stimulus and as a probability for each pair.
        won = held.private.choices.filter(split="test").with_columns(
            pl.min_horizontal("first", "second").alias("a"), pl.max_horizontal("first", "second").alias("b")
        )
        for_a = pl.when(pl.col("a") == pl.col("first")).then("value").otherwise(1 - pl.col("value"))
        truth = won.group_by("a", "b").agg(for_a.mean().alias("probability"))
        pairs = challenge.sets.join(truth, left_on=["first", "second"], right_on=["a", "b"])
        assert pairs.height == challenge.sets.height == truth.height
        sent = challenge.submit(LAB, csv(pairs))
        stored = challenge.wait_for(sent.id, 60)
        assert challenge.result(stored)["better"] > 0.8, stored
        values = challenge.items.with_columns(pl.int_range(pl.len()).alias("value"))
        assert challenge.wait_for(challenge.submit(LAB, csv(values)).id, 60).status == "scored"
    snapshot, course = courses()
    held = hold_out(snapshot, "test", SplitOptions(shares={"train": 0.2, "test": 0.8}))
    assert set(held.snapshot.traces["stimulus"]).isdisjoint(held.to_predict["stimulus"])
    traces = held.private.write(tmp_path / "traces" / "benchmark")
    with Challenge(traces) as challenge:
        challenge.ledger.add_member("lab")
        rows = [
            {"stimulus": name, "question": "arousal", "value": 0.1, "samples": course[name], "rate": 2.0}
            for name in challenge.items["stimulus"]
        ]
        lines = "\n".join(json.dumps(row) for row in rows).encode()
        stored = challenge.wait_for(challenge.submit(LAB, lines).id, 60)
        # Four stimuli are too few to publish anything; they are scored all the same.
        assert (challenge.result(stored), stored.status) == ({}, "scored")
        assert (challenge._measured(stored.id).scores["arousal (trace)"] or 0.0) >= 0.5


@pytest.mark.slow
def test_mistakes_on_the_command_line_are_explained(tmp_path: Path) -> None:
    folder = benchmark().write(tmp_path / "benchmark")
    wrong = {
        (str(tmp_path / "nothing"),): "is not a benchmark",
        (str(folder), "--part", "tset"): "no part 'tset'",
        (str(folder), "--step", "0.9"): "step must lie",
        (str(folder), "--revoke-submitter", "nobody"): "no team 'nobody'",
        (str(folder), "--add-submitter", "a\nb"): "cannot be called",
        (str(folder), "--ledger", str(folder / "study.yaml")): "cannot be used as the ledger",
    }
    for arguments, problem in wrong.items():
        done = CliRunner().invoke(app, ["serve-benchmark", *arguments])
        assert isinstance(done.exception, HeartfeltError), (arguments, done.output)
        assert problem in done.exception.problem
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = CliRunner().invoke(app, ["serve-benchmark", str(folder), "--port", port])
        assert isinstance(done.exception, HeartfeltError)
        assert "Cannot listen" in done.exception.problem
