"""The end of a challenge: what counts, the exact ranking on the part nothing depended on, and a crash in the middle."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")

from starlette.testclient import TestClient
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.errors import InputError
from heartfelt.labels import Benchmark, SplitOptions, freeze
from heartfelt.publishing.submissions.ledger import Closed, Member, Submission, SubmissionLedger
from heartfelt.scoring import ScoreOptions, score
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from heartfelt.web.challenge.challenge import Challenge
from heartfelt.web.challenge.final import (
    BEST,
    CHOSEN,
    LAST,
    Final,
    FinalPlace,
    _counting,
    close,
    final_of,
    final_table,
    reopened,
    write_final,
)
from heartfelt.web.challenge.options import ChallengeOptions, HostOptions
from heartfelt.web.challenge.server import challenge_app
from tests.web.challenge.made import benchmark, predictions

QUALITIES = {"good": 0.95, "fair": 0.6, "poor": 0.3}


def sent(right: float, seed: int = 1) -> bytes:
    return predictions(right=right, seed=seed).write_csv().encode()


def entry(at: float, changed: tuple[str, ...] = (), chosen: float | None = None, team: str = "lab") -> Submission:
    return Submission(
        id=f"{team}{at}", submitter=team, member=None, model="m", at=at, bytes=1, sha256="", status="scored", problem=None,
        fix=None, published={}, changed=changed, finished=at, chosen=chosen,
    )  # fmt: skip


def test_what_counts_is_chosen_or_the_best_published_or_the_last() -> None:
    entries = [entry(1, ("t",)), entry(2, ("t", "u")), entry(3), entry(9, ("t",), team="rival")]
    assert _counting(entries, "lab", "t") == (entries[1], BEST)
    assert _counting(entries, "lab", "v") == (entries[2], LAST)
    chosen = [entry(1, ("t",)), entry(2, chosen=5.0), entry(3, ("t",))]
    assert _counting(chosen, "lab", "t") == (chosen[1], CHOSEN)


def test_ranks_are_said_as_a_range() -> None:
    def said(best: int | None, worst: int | None) -> str:
        return FinalPlace(
            place=best, best=best, worst=worst, team="a", model="m", counts_because=BEST, score=None, low=None, high=None,
            low_all=None, high_all=None,
        ).ranks  # fmt: skip

    assert [said(1, 3), said(2, 2), said(None, None)] == ["1–3", "2", "–"]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Challenge, Final]:
    folder = tmp_path_factory.mktemp("ended")
    challenge = Challenge(benchmark().write(folder / "private" / "benchmark"))
    for team, right in QUALITIES.items():
        challenge.ledger.add_member(team)
        member = Member(team=team, name=team)
        for seed, share in enumerate((0.6, 1.0)):
            challenge.submit(member, sent(right * share, seed), f"{team} {seed}")
    challenge.score_waiting()
    # Received, and never scored because the server was killed; and one that cannot be scored.
    challenge.ledger.add_member("late")
    challenge.submit(Member(team="late", name="late"), sent(0.9, 8), "late 0")
    challenge.submit(Member(team="late", name="late"), b"nonsense", "late 1")
    return challenge, close(challenge)


@pytest.mark.slow
def test_the_final_scores_are_exact_and_on_the_other_part(ended: tuple[Challenge, Final]) -> None:
    challenge, final = ended
    assert (final.teams, final.submissions, final.refused, final.untouched) == (4, 7, 1, True)
    private = challenge.division.final
    for board in final.boards:
        assert {place.team for place in board.places} == {*QUALITIES, "late"}
        for place in board.places:
            [own] = [
                each for each in challenge.ledger.scored() if each.model == place.model and each.submitter == place.team
            ]
            read = challenge.read(challenge.ledger.content(own.id), "m")
            exact = score(private, read, ScoreOptions(ceilings=False, slices=())).headline(board.task, "m")
            assert place.score == pytest.approx(exact.value, abs=5e-5)
            if place.low is None:
                assert place.why_no_interval
                continue
            assert place.low == pytest.approx(exact.low, abs=5e-5)
            assert place.high == pytest.approx(exact.high, abs=5e-5)
            assert (place.low_all or 0.0) < place.low
        ranked = [place for place in board.places if place.place is not None]
        assert [place.place for place in ranked] == list(range(1, len(ranked) + 1))
        scores = [place.score or 0.0 for place in ranked]
        assert scores == sorted(scores, reverse=True)
        for place in ranked:
            assert place.best is not None
            assert place.worst is not None
            # A range is at least as wide as the ties.
            assert place.worst - place.best >= len([other for other in place.tied_with if other != place.team]) - 1
        items = private.items.filter(question="valence").height
        assert next(b for b in final.boards if b.task == "valence").items == items


@pytest.mark.slow
def test_nothing_before_the_end_depends_on_the_final_part(tmp_path: Path) -> None:
    """Every label of the final part is changed: what is published, refused and shown stays the same to the byte."""

    def course(labels: pl.DataFrame, folder: Path) -> str:
        made = benchmark()
        changed = made.items.join(labels, on=["stimulus", "question"], how="left").with_columns(
            pl.coalesce("_new", "label").alias("label")
        )
        # The same key and the same division, whatever the labels: balance is not looked at here.
        other = type(made)(
            study=made.study,
            items=changed.drop("_new"),
            stimuli=made.stimuli,
            ledger=made.ledger,
            split=made.split,
            snapshot_hash=made.snapshot_hash,
            notes=made.notes,
        )
        challenge = Challenge(benchmark().write(folder / "benchmark"))
        division = challenge.division
        final = other.items.join(division.final.items, on=["stimulus", "question"], how="semi")
        changed_final = type(made)(
            study=made.study, items=final, stimuli=made.stimuli, ledger=made.ledger, split=made.split, snapshot_hash=""
        )
        object.__setattr__(division, "final", changed_final)
        challenge.ledger.add_member("lab")
        seen = []
        for seed in range(4):
            stored = challenge.submit(Member(team="lab", name="lab"), sent(0.3 + 0.2 * seed, seed))
            challenge.score_waiting()
            state = challenge.ledger.submission(stored.id)
            seen.append((state.status, challenge.result(state), state.changed))
        board = [[place.score for place in challenge.leaderboard(rung)] for rung in challenge.rungs]
        challenge.ledger.close()
        return json.dumps([seen, board])

    items = benchmark().part("test").select("stimulus", "question", pl.col("label").alias("_new"))
    same = course(items.clear(), tmp_path / "a")
    flipped = items.with_columns(pl.col("_new").shuffle(3).over("question"))
    assert course(flipped, tmp_path / "b") == same


@pytest.mark.slow
def test_closing_again_changes_nothing_and_everybody_sees_it(ended: tuple[Challenge, Final], tmp_path: Path) -> None:
    challenge, final = ended
    folder = Path(challenge.ledger.path).parent
    again = reopened(folder / "benchmark")
    assert close(again) == final
    again.ledger.close()
    done = CliRunner().invoke(
        app, ["challenge", "close", str(folder), "--out", str(tmp_path / "final")], catch_exceptions=False
    )
    assert "by 4 teams" in done.output
    written = json.loads((tmp_path / "final" / "final.json").read_text())
    assert written["boards"][0]["places"][0]["team"] == final.boards[0].places[0].team
    rows = list(csv.DictReader(io.StringIO((tmp_path / "final" / "final.csv").read_text())))
    assert len(rows) == sum(len(board.places) for board in final.boards)
    assert "final ranking" in (tmp_path / "final" / "index.html").read_text()
    assert str(challenge.ledger.fact("key")) not in (tmp_path / "final" / "final.json").read_text()
    # A server that was running all the time.
    token = challenge.ledger.add_member("new")
    head = {"authorization": f"Bearer {token}"}
    app_ = challenge_app(Challenge(folder / "benchmark"), HostOptions(url="http://testserver"))
    with TestClient(app_) as client:
        refused = client.post("/submissions", content=sent(0.5, 77), headers=head)
        assert (refused.status_code, refused.json()["problem"]) == (410, "The challenge is closed.")
        assert client.get("/final.json").json() == written
        assert client.get("/final.csv").text == (tmp_path / "final" / "final.csv").read_text()
        page = client.get("/leaderboard", headers={"accept": "text/html"}).text
        assert "final ranking" in page
        assert "running board" in page
        board = client.get("/leaderboard.json").json()
        assert (board["closed"], board["final"]) == (True, written)
        assert "closed" in client.post("/mine", data={"token": token}).text


@pytest.mark.slow
@pytest.mark.server
def test_closing_that_is_killed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    folder = benchmark().write(tmp_path / "private" / "benchmark").parent
    challenge = Challenge(folder / "benchmark")
    for team, right in QUALITIES.items():
        challenge.ledger.add_member(team)
        challenge.submit(Member(team=team, name=team), sent(right, 5))
    challenge.ledger.close()
    command = [sys.executable, "-m", "heartfelt", "challenge", "close", str(folder)]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = folder / "challenge.sqlite"
    while first.poll() is None:
        ledger = SubmissionLedger(path)
        closed, done = ledger.fact("closed"), ledger.scored()
        ledger.close()
        if closed is not None and len(done) >= 1:
            os.kill(first.pid, signal.SIGKILL)
            break
    first.wait()
    assert first.returncode == -signal.SIGKILL
    assert not (folder / "final").exists()
    subprocess.run(command, check=True, capture_output=True)
    final = json.loads((folder / "final" / "final.json").read_text())
    assert (final["teams"], final["submissions"]) == (3, 3)
    closed_at = final["closed"]
    subprocess.run(command, check=True, capture_output=True)
    assert json.loads((folder / "final" / "final.json").read_text())["closed"] == closed_at


@pytest.mark.slow
def test_the_commands_of_a_challenge(tmp_path: Path) -> None:
    folder = benchmark().write(tmp_path / "private" / "benchmark").parent

    def run(*arguments: str) -> str:
        return CliRunner().invoke(app, ["challenge", *arguments], catch_exceptions=False).output

    with pytest.raises(InputError, match="holds no challenge"):
        run("close", str(folder))
    with pytest.raises(InputError, match="not a benchmark"):
        run("team", str(tmp_path))
    assert "No team yet" in run("team", str(folder))
    with pytest.raises(InputError, match="holds no challenge"):
        run("close", str(folder))
    token = run("team", str(folder), "Sound Lab", "--add", "Ann").split()[-1]
    run("team", str(folder), "Sound Lab", "--add", "Bob")
    assert run("team", str(folder)).splitlines() == ["Sound Lab: Ann", "Sound Lab: Bob"]
    run("team", str(folder), "Sound Lab", "--remove", "Bob")
    assert "Bob, token no longer valid" in run("team", str(folder), "Sound Lab")
    with pytest.raises(InputError, match="Which team"):
        run("team", str(folder), "--add", "Ann")
    ledger = SubmissionLedger(folder / "challenge.sqlite")
    assert ledger.member_of(token) == Member(team="Sound Lab", name="Ann")
    run("team", str(folder), "Sound Lab", "--remove-all")
    assert ledger.member_of(token) is None
    ledger.close()
    with pytest.raises(InputError, match="between 0 and 1"):
        Challenge(folder / "benchmark", ChallengeOptions(public_share=1.0))
    assert np.isfinite(Challenge(folder / "benchmark", ChallengeOptions(public_share=0.7)).rungs[0].resolution)


ONE_QUESTION = parse_study(
    "name: s\nscales: {nine: {type: points, points: 9}}\nquestions:\n  - {id: q, text: Q, scale: nine}\n"
)


def small(stimuli: int = 48) -> Benchmark:
    """Two ratings of each stimulus; three quarters are hidden."""
    rng = np.random.default_rng(4)
    names = [f"s{at:02}" for at in range(stimuli)]
    rows = [(f"r{at}", name, "q", float(rng.integers(1, 10))) for at in range(2) for name in names]
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value"], orient="row")
    source = Snapshot.build(ONE_QUESTION, stimuli=pl.DataFrame({"stimulus": names}), ratings=ratings)
    return freeze(source, split=SplitOptions(shares={"train": 0.25, "test": 0.75}))


def test_a_small_challenge_from_its_first_submission_to_its_end(tmp_path: Path) -> None:
    rng, made = np.random.default_rng(5), small()
    folder = made.write(tmp_path / "private" / "benchmark")
    with pytest.raises(InputError, match="holds no challenge"):
        reopened(folder)
    options = ChallengeOptions(step=0.125, public_share=0.25)
    challenge, ledger = (Challenge(folder, options), SubmissionLedger(tmp_path / "private" / "challenge.sqlite"))
    labels = made.part("test").sort("stimulus").select("stimulus", "label")

    def send(team: str, noise: float, steps: int | None, model: str) -> str:
        """A submission, published at so many steps."""
        ledger.add_member(team)
        values = np.clip(labels["label"].to_numpy() + noise * rng.normal(size=labels.height), 1, 9)
        table = labels.select("stimulus", pl.lit("q").alias("question"), pl.Series("value", values))
        id = challenge.submit(Member(team=team, name=team), table.write_csv().encode(), model).id
        bests = {task: best.id for task, best in ledger.bests(team).items()}
        assert ledger.publish(id, {"q": 0.5}, bests, lambda *_: {} if steps is None else {"q": steps})
        return id

    send("good", 0.1, 3, "first")
    send("good", 0.8, 6, "second")
    send("fair", 0.2, 5, "best")
    chosen = send("fair", 2.0, 5, "chosen")
    ledger.choose("fair", chosen)
    send("poor", 60.0, None, "guess")
    challenge.ledger.note_refused(Member(team="poor", name="poor"), "m", 1, InputError("p", "f"))
    assert final_of(challenge) is None
    final = close(challenge)
    assert (final.teams, final.submissions, final.refused, final.untouched) == (3, 5, 1, True)
    assert final.closed.endswith("+00:00")
    (board,) = final.boards
    assert (board.task, board.metric, board.chance) == ("q", "pearson", 0.0)
    assert board.items == challenge.division.final.items.height > labels.height / 2
    good, fair, poor = board.places
    assert [(each.team, each.model, each.counts_because, each.published) for each in board.places] == [
        ("good", "second", BEST, 0.75), ("fair", "chosen", CHOSEN, 0.625), ("poor", "guess", LAST, None),
    ]  # fmt: skip
    assert [(each.place, each.ranks, each.tied_with) for each in board.places] == [
        (1, "1–2", ("fair",)), (2, "1–2", ("good",)), (None, "–", ()),
    ]  # fmt: skip
    assert (good.why_no_rank, poor.why_no_rank) == (None, "it does not beat chance")
    for place in board.places:
        own = challenge.read(ledger.content(next(e.id for e in ledger.scored() if e.model == place.model)), "m")
        exact = score(challenge.division.final, own, ScoreOptions(ceilings=False, slices=())).headline("q", "m")
        assert place.score == round(exact.value or 0.0, 4)
        assert (place.low, place.high) == (round(exact.low or 0.0, 4), round(exact.high or 0.0, 4))
        # For three teams at once: 98.3% each.
        assert place.low_all is not None and place.high_all is not None  # noqa: PT018  # both or neither
        assert place.low_all < (place.low or 0.0) < (place.high or 0.0) < place.high_all
        assert place.why_no_interval is None
    # In Fisher's z, the interval for all at once is wider by the quotient of t quantiles.
    wide, narrow = (
        np.arctanh(high or 0.0) - np.arctanh(low or 0.0)
        for low, high in ((fair.low_all, fair.high_all), (fair.low, fair.high))
    )
    assert 1.15 < wide / narrow < 1.6
    # By the rules in its ledger it opens again, and closes to the same.
    again = reopened(folder)
    assert (again.options.step, again.options.public_share, again.options.part) == (0.125, 0.25, "test")
    assert close(again) == final == final_of(again)
    with pytest.raises(Closed):
        again.submit(Member(team="late", name="late"), b"x")
    table = final_table(final)
    assert table["team"].to_list() == ["good", "fair", "poor"]
    assert table["ranks"].to_list() == ["1–2", "1–2", "–"]
    write_final(final, "<p>page</p>", tmp_path / "out")
    assert {path.name for path in write_final(final, "<p>page</p>", tmp_path / "out").iterdir()} == {
        "final.json", "final.csv", "index.html",
    }  # fmt: skip
    for opened in (challenge.ledger, again.ledger, ledger):
        opened.close()


def test_a_challenge_nobody_took_part_in_closes(tmp_path: Path) -> None:
    """And an earlier version's ledger says that its items were used before."""
    path = tmp_path / "elsewhere.sqlite"
    challenge = Challenge(small().write(tmp_path / "private" / "benchmark"), ledger=path)
    challenge.ledger.settle("earlier step", "t 0.25")
    final = close(challenge)
    assert (final.teams, final.boards, final.untouched) == (0, (), False)
    challenge.ledger.close()
    again = reopened(tmp_path / "private" / "benchmark", path)
    assert (again.id, again.options.step, again.options.public_share) == (challenge.id, None, 0.5)
    assert close(again) == final
    again.ledger.close()
    with pytest.raises(InputError, match="holds no challenge"):
        reopened(tmp_path / "private" / "benchmark", tmp_path / "other.sqlite")
    SubmissionLedger(tmp_path / "empty.sqlite").close()
    with pytest.raises(InputError, match="holds no challenge"):
        reopened(tmp_path / "private" / "benchmark", tmp_path / "empty.sqlite")
    # A ledger of a version that had no public part.
    old = SubmissionLedger(tmp_path / "old.sqlite")
    old.settle("part", "test")
    old.close()
    opened = reopened(tmp_path / "private" / "benchmark", tmp_path / "old.sqlite")
    assert (opened.options.public_share, opened.options.step) == (0.5, None)
    opened.ledger.close()
