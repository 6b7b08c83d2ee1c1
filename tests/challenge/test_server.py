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
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")

from starlette.testclient import TestClient
from typer.testing import CliRunner

from heartfelt.challenge.challenge import Challenge, ChallengeOptions
from heartfelt.challenge.ledger import ATTEMPTS, DAY, Ledger, Limits, OverLimit
from heartfelt.challenge.server import HostOptions, challenge_app
from heartfelt.cli.app import app
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.labels import SplitOptions
from heartfelt.publishing.hold_out import hold_out
from tests.challenge.made import benchmark, predictions
from tests.publishing.test_hold_out import compared
from tests.scoring.compared import courses

SECRET_WORDS = ("Traceback", 'File "', "/tmp", "sqlite3")


class Site:
    """A running challenge, spoken to over HTTP."""

    def __init__(self, challenge: Challenge, client: TestClient) -> None:
        self.challenge, self.client = challenge, client
        self.tokens: dict[str, str] = {}

    def head(self, who: str = "lab") -> dict[str, str]:
        if who not in self.tokens:
            self.tokens[who] = self.challenge.ledger.add_submitter(who)
        return {"authorization": f"Bearer {self.tokens[who]}"}

    def send(self, content: bytes, who: str = "lab", name: str = "m") -> tuple[int, dict[str, Any]]:
        address = f"/submissions?wait=30&name={name}"
        answer = self.client.post(address, content=content, headers=self.head(who))
        return answer.status_code, answer.json()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("challenge")
    options = ChallengeOptions(step=0.05, limits=Limits(per_day=50, in_all=60), megabytes=1.0)
    challenge = Challenge(benchmark().write(folder / "private" / "benchmark"), options)
    with TestClient(challenge_app(challenge, HostOptions(url="http://testserver"))) as client:
        yield Site(challenge, client)


def csv(table: pl.DataFrame) -> bytes:
    return table.write_csv().encode()


def published(right: float, seed: int = 1) -> bytes:
    return csv(predictions(right=right, seed=seed))


@pytest.mark.slow
def test_a_score_is_the_best_so_far_rounded_down(site: Site) -> None:
    first = site.send(published(0.5), name="half")
    assert first[0] == 200, first
    assert first[1]["left_in_all"] == 59
    scores = site.challenge.score(published(0.5))
    assert first[1]["published"] == {
        rung.task: pytest.approx(rung.step * int(value / rung.step + 1e-9))
        for rung in site.challenge.rungs
        if (value := scores[rung.task] or 0.0) >= rung.step * (rung.start + 1)
    }
    # A worse one changes nothing and says nothing; a better one is published.
    worse = site.send(published(0.1), name="worse")
    assert (worse[1]["published"], worse[1]["raised"]) == (first[1]["published"], [])
    better = site.send(published(0.95), name="better")
    assert set(better[1]["raised"]) == {rung.task for rung in site.challenge.rungs}
    # The answer has what the ladder publishes, and nothing else that depends on labels.
    assert set(better[1]) == {
        "id", "status", "name", "received", "sha256", "left_in_24_hours", "left_in_all", "published", "raised",
    }  # fmt: skip
    # Gzip, Parquet, JSON Lines and an upload are the same submission.
    table, same = predictions(right=0.95), better[1]["published"]
    parquet = io.BytesIO()
    table.write_parquet(parquet)
    for content in (gzip.compress(csv(table)), parquet.getvalue(), table.write_ndjson().encode()):
        status, answer = site.send(content)
        assert (status, answer["published"], answer["raised"]) == (200, same, [])
    upload = {"file": ("p.csv", csv(table), "text/csv")}
    uploaded = site.client.post("/submissions?wait=30", files=upload, headers=site.head())
    assert uploaded.json()["published"] == same
    # Another submitter sees the leaderboard, but no submission of this one.
    assert site.client.get(f"/submissions/{better[1]['id']}", headers=site.head()).json() == {
        **better[1], "left_in_24_hours": 43, "left_in_all": 53,
    }  # fmt: skip
    assert site.client.get(f"/submissions/{better[1]['id']}", headers=site.head("other")).status_code == 404
    site.send(published(0.6, seed=3), who="other", name="<script>alert(1)</script>")
    board = site.client.get("/leaderboard").json()["leaderboards"]
    for each, rung in zip(board, site.challenge.rungs, strict=True):
        assert each["task"] == rung.task
        places = each["places"]
        assert places[0]["submitter"] == "lab"
        assert places[0]["model"] == "better"
        assert [place["score"] for place in places] == sorted((p["score"] for p in places), reverse=True)
        assert all(abs(p["score"] / rung.step - round(p["score"] / rung.step)) < 1e-9 for p in places)
    page = site.client.get("/leaderboard", headers={"accept": "text/html"})
    assert "<script>alert(1)" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    assert "better" in page.text
    assert 'lang="en"' in page.text
    policy = page.headers["content-security-policy"]
    assert "'unsafe-inline'" not in policy
    front = site.client.get("/").text
    assert "happy, sad, calm" in front
    assert "Authorization: Bearer" in front
    items = pl.read_csv(io.BytesIO(site.client.get("/items.csv").content))
    scored = benchmark().part("test").select("stimulus", "question")
    assert items.sort(pl.all()).equals(scored.sort(pl.all()))
    # A handful of adaptive submissions over HTTP: flips of answers never raise what is published.
    best = table
    for seed in range(8):
        flipped = best.with_columns(
            pl.when(pl.col("question") == "mood")
            .then(pl.col("answer").shuffle(seed).over("question"))
            .otherwise("answer")
            .alias("answer")
        )
        assert site.send(csv(flipped))[1]["published"] == same


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
        "infinite": (changed(number, f"{stimulus},valence,inf,,,"), "is inf"),
        "huge number": (changed(number, f"{stimulus},valence,1e300,,,"), "is 1e+300"),
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
    before = site.challenge.ledger.left("hostile", site.challenge.options.limits)
    labels = {
        f"{label:g}" for label in benchmark().part("test").filter(question="valence")["label"] if label % 1
    }
    for name, (content, words) in hostile().items():
        status, answer = site.send(content, who="hostile")
        assert status in (413, 422), (name, answer)
        text = json.dumps(answer)
        assert words in text, (name, answer)
        assert len(str(answer["problem"])) > 10, name
        assert len(str(answer["fix"])) > 10, name
        assert not any(secret in text for secret in SECRET_WORDS), (name, answer)
        assert not any(f" {label} " in text for label in labels), (name, answer)
    assert site.challenge.ledger.left("hostile", site.challenge.options.limits) == before
    database = sqlite3.connect(site.challenge.ledger.path)
    query = "SELECT COUNT(*), SUM(problem IS NULL), SUM(scores IS NOT NULL) FROM submissions WHERE submitter = 'hostile'"
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
    token = site.challenge.ledger.add_submitter("gone")
    site.challenge.ledger.revoke("gone")
    assert client.post("/submissions", headers={"authorization": f"Bearer {token}"}).status_code == 401
    elsewhere = {**site.head(), "origin": "https://elsewhere.example"}
    assert client.post("/submissions", content=b"x", headers=elsewhere).status_code == 403
    assert client.get("/submissions/none", headers=site.head()).status_code == 404
    assert client.get("/nothing").status_code == 404
    assert client.put("/submissions").status_code == 405
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
    ledger, limits = Ledger(tmp_path / "l.sqlite", lambda: now[0]), Limits(per_day=3, in_all=5)
    ledger.add_submitter("lab")
    refused: list[OverLimit] = []

    def submit() -> None:
        try:
            ledger.receive("lab", "m", b"x", limits)
        except OverLimit as error:
            refused.append(error)

    threads = [threading.Thread(target=submit) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ledger.waiting()), len(refused)) == (3, 9)
    assert refused[0].retry_after == pytest.approx(DAY)
    assert ledger.left("lab", limits) == (0, 2)
    # Refused files do not count, but there is a limit to them too.
    ledger.refuse(ledger.waiting()[0], "problem", "fix")
    assert ledger.left("lab", limits) == (1, 3)
    now[0] += DAY + 1
    assert ledger.left("lab", limits) == (3, 3)
    for _ in range(ATTEMPTS * 3):
        ledger.refuse(ledger.receive("lab", "m", b"x", limits).id, "problem", "fix")
    with pytest.raises(OverLimit, match="were refused within 24 hours"):
        ledger.receive("lab", "m", b"x", limits)
    now[0] += DAY + 1
    for _ in range(3):
        ledger.receive("lab", "m", b"x", limits)
    with pytest.raises(OverLimit, match="All 5 submissions") as error:
        ledger.receive("lab", "m", b"x", limits)
    assert error.value.retry_after is None
    ledger.bind({"step": "a 0.1"})
    with pytest.raises(InputError, match="another step"):
        ledger.bind({"step": "a 0.05"})
    assert (tmp_path / "l.sqlite").stat().st_mode & 0o077 == 0
    assert b"lab" in (tmp_path / "l.sqlite").read_bytes() + (tmp_path / "l.sqlite-wal").read_bytes()
    ledger.close()


@pytest.mark.slow
def test_scoring_that_takes_too_long_is_given_up_and_the_next_is_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = benchmark().write(tmp_path / "benchmark")
    challenge = Challenge(folder, ChallengeOptions(seconds=1.0))
    release = threading.Event()
    slow, right = threading.Event(), {"valence": 0.9}

    def scored(content: bytes) -> dict[str, float | None]:
        if content == b"slow":
            slow.set()
            release.wait(30)
        return dict(right)

    monkeypatch.setattr(challenge, "score", scored)
    challenge.ledger.add_submitter("lab")
    with challenge:
        first, second = (challenge.submit("lab", content) for content in (b"slow", b"quick"))
        assert challenge.wait_for(second.id, 30).status == "scored"
        late = challenge.ledger.submission(first.id)
        assert (late.status, late.problem) == ("refused", "Scoring took longer than 1 s.")
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
        sent = [call("/submissions", published(right)) for right in (0.4, 0.9, 0.6)]
        assert [each["status"] for each in sent] == ["received"] * 3
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
        server = started()
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
        held.private.write(tmp_path / "pairs" / "benchmark"), ChallengeOptions(step=0.05)
    ) as challenge:
        assert [rung.task for rung in challenge.rungs] == ["better", "better (strength)"]
        challenge.ledger.add_submitter("lab")
        # What people chose, as a value for each stimulus and as a probability for each pair.
        won = held.private.choices.filter(split="test").with_columns(
            pl.min_horizontal("first", "second").alias("a"), pl.max_horizontal("first", "second").alias("b")
        )
        for_a = pl.when(pl.col("a") == pl.col("first")).then("value").otherwise(1 - pl.col("value"))
        truth = won.group_by("a", "b").agg(for_a.mean().alias("probability"))
        pairs = challenge.sets.join(truth, left_on=["first", "second"], right_on=["a", "b"])
        assert pairs.height == challenge.sets.height == truth.height
        sent = challenge.submit("lab", csv(pairs))
        stored = challenge.wait_for(sent.id, 60)
        assert challenge.result(stored)["better"] > 0.8, stored
        values = challenge.items.with_columns(pl.int_range(pl.len()).alias("value"))
        assert challenge.wait_for(challenge.submit("lab", csv(values)).id, 60).status == "scored"
    snapshot, course = courses()
    held = hold_out(snapshot, "test", SplitOptions(shares={"train": 0.2, "test": 0.8}))
    assert set(held.snapshot.traces["stimulus"]).isdisjoint(held.to_predict["stimulus"])
    with Challenge(held.private.write(tmp_path / "traces" / "benchmark")) as challenge:
        challenge.ledger.add_submitter("lab")
        rows = [
            {"stimulus": name, "question": "arousal", "value": 0.1, "samples": course[name], "rate": 2.0}
            for name in challenge.items["stimulus"]
        ]
        lines = "\n".join(json.dumps(row) for row in rows).encode()
        stored = challenge.wait_for(challenge.submit("lab", lines).id, 60)
        assert challenge.result(stored)["arousal (trace)"] >= 0.5, stored


@pytest.mark.slow
def test_mistakes_on_the_command_line_are_explained(tmp_path: Path) -> None:
    folder = benchmark().write(tmp_path / "benchmark")
    wrong = {
        (str(tmp_path / "nothing"),): "is not a benchmark",
        (str(folder), "--part", "tset"): "no part 'tset'",
        (str(folder), "--step", "0.9"): "step must lie",
        (str(folder), "--revoke-submitter", "nobody"): "no submitter 'nobody'",
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
