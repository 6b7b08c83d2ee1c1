"""Sets and traces over HTTP: heartfelt's own client and server, and servers that answer otherwise."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from heartfelt.predictors import Case, Prediction, Predictor, Retry, Run, RunOptions, cases, predictor_from, run
from heartfelt.predictors.baselines import Sham
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from tests.facts import mentions
from tests.predictors.servers import Reply, serving
from tests.predictors.test_chat_sets import with_sounds
from tests.predictors.test_server import post, served
from tests.scoring.compared import arena, courses

pytest.importorskip("uvicorn", exc_type=ImportError)
QUICK = RunOptions(retry=Retry(retries=0))


class Longer(Predictor):
    """Compares by the size of the files; gives traces a course."""

    name = "longer"
    about = "for tests"
    compares = True

    @property
    def identity(self) -> str:
        return "longer 1"

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        if not case.members:
            return [Prediction(samples=(0.0, None, 0.5), rate=2.0, start=1.0)] * len(case.asks)
        sizes = {member.stimulus: len(member.media_file.content) for member in case.members}
        longest = max(sizes, key=sizes.__getitem__)
        shares = {name: 0.6 if name == longest else 0.3 for name in sizes} | {"tie": 0.1}
        return [Prediction(shares=shares)] * len(case.asks)


def asked(snapshot: Snapshot, url: str, options: str = "compare=yes") -> Run:
    with predictor_from(f"endpoint[{options}]:{url}") as predictor:
        return run(predictor, cases(snapshot, compares=predictor.compares), options=QUICK)


def test_a_served_predictor_compares(tmp_path: Path) -> None:
    snapshot = with_sounds(arena(prompts=1, raters=2), tmp_path / "media")
    with served(Longer()) as url:
        done = asked(snapshot, url)
    assert [json.loads(text) for text in done.table["shares"]] == [
        {"A00": 0.3, "B00": 0.6, "tie": 0.1},
        {"A00": 0.3, "C00": 0.6, "tie": 0.1},
        {"B00": 0.3, "C00": 0.6, "tie": 0.1},
    ]


def test_a_served_predictor_gives_traces(tmp_path: Path) -> None:
    made = courses(stimuli=2, raters=2, seconds=5)
    plain = with_sounds((made[0], {}), tmp_path / "media")
    source = Source(format="simulation", name="courses", media_root=tmp_path / "media")
    parts: dict[str, Any] = {"ratings": made[0].ratings, "traces": made[0].traces, "source": source}
    snapshot = Snapshot.build(made[0].study, stimuli=plain.stimuli, **parts)
    with served(Longer()) as url:
        done = asked(snapshot, url)
    row = done.table.row(0, named=True)
    assert json.loads(row["samples"]) == [0.0, None, 0.5]
    assert (row["rate"], row["start"], row["value"]) == (2.0, 1.0, 0.25)


def members(names: Sequence[str] = ("a.wav", "b.wav")) -> dict[str, Any]:
    encoded = base64.b64encode(b"sound").decode()
    return {
        "text": "Which?",
        "scale": {"type": "choice"},
        "members": [{"audio_filename": name, "audio_base64": encoded} for name in names],
    }


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"members": []}, "'members' is not a list of stimuli."),
        ({"members": "ab"}, "'members' is not a list of stimuli."),
        ({"members": [1, 2]}, "The stimulus has no name."),
        ({"members": members(("a.wav", "a.wav"))["members"]}, "Two members have the same name."),
        ({"scale": {"type": "yes-no"}}, "Members are compared on a scale for sets, one question at a time."),
        ({"texts": ["a", "b"]}, "Members are compared on a scale for sets, one question at a time."),
    ],
)
def test_requests_about_sets_that_cannot_be_answered_say_why(changes: Mapping[str, Any], problem: str) -> None:
    with served(Longer()) as url:
        status, answer = post(url, {**members(), **changes})
    assert (status, answer["problem"]) == (422, problem)


def test_a_predictor_of_single_stimuli_says_what_to_do() -> None:
    with served(Sham()) as url:
        status, answer = post(url, members())
    assert status == 422
    assert mentions(answer["problem"], "predictor", "stimuli")


@pytest.mark.parametrize(
    ("answer", "shares", "values"),
    [
        ({"probability": 0.7}, {"A00": 0.7, "B00": pytest.approx(0.3)}, None),
        ({"probability": 0.7, "tie": 0.2}, {"A00": 0.7, "B00": pytest.approx(0.1), "tie": 0.2}, None),
        ({"shares": [0.2, 0.8]}, {"A00": 0.2, "B00": 0.8}, None),
        ({"members": [1, 0]}, None, {"A00": 1.0, "B00": 0.0}),
    ],
)
def test_what_a_server_may_answer(tmp_path: Path, answer: Any, shares: Any, values: Any) -> None:
    snapshot = with_sounds(arena(prompts=1, raters=2), tmp_path / "media")
    with serving(lambda *_: Reply(body=json.dumps(answer).encode())) as server:
        done = asked(snapshot, server.url)
    row = done.table.row(0, named=True)
    assert (None if row["shares"] is None else json.loads(row["shares"])) == shares
    assert (json.loads(row["members"]) if row.get("members") else None) == values
    assert {sent["scale"]["type"] for sent in server.requests} == {"choice"}
    sent = [[each["audio_filename"] for each in request["members"]] for request in server.requests]
    assert sorted(sent)[0] == ["A00.wav", "B00.wav"]


@pytest.mark.parametrize(
    "answer",
    [{}, [], {"members": [1]}, {"members": "ab"}, {"probability": "high"}, {"similarity": 0.4}, {"shares": [1, None]}],
)
def test_an_answer_about_a_set_that_cannot_be_read_is_a_problem(tmp_path: Path, answer: Any) -> None:
    snapshot = with_sounds(arena(prompts=1, raters=2), tmp_path / "media")
    with serving(lambda *_: Reply(body=json.dumps(answer).encode())) as server:
        done = asked(snapshot, server.url)
    assert done.table["problem"].str.starts_with("the server's answer has no probability and no list of 2").all()


def test_probabilities_beyond_one_are_a_problem(tmp_path: Path) -> None:
    snapshot = with_sounds(arena(prompts=1, raters=2), tmp_path / "media")
    with serving(lambda *_: Reply(body=b'{"probability": 1.4}')) as server:
        done = asked(snapshot, server.url)
    assert not done.table["ok"].any()


def test_without_compare_every_stimulus_is_asked_about(tmp_path: Path) -> None:
    snapshot = with_sounds(arena(prompts=1, raters=2), tmp_path / "media")
    with serving() as server:
        done = asked(snapshot, server.url, "compare=no")
    assert done.table["stimulus"].to_list() == ["A00", "B00", "C00"]
    assert done.table["score"].null_count() == 0
