"""A language model that compares: what it is shown, in which orders, and what its verdicts add up to."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import soundfile

from heartfelt.errors import InputError
from heartfelt.predictors import Case, Retry, RunOptions, cases, predictor_from, run
from heartfelt.predictors.hosted.chat import Chat
from heartfelt.predictors.hosted.chat_sets import LETTERS, orders_of, set_answer, set_values
from heartfelt.scoring.bench import BenchOptions, bench
from heartfelt.scoring.results.details import ChoiceDetails
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study.scales.set_scale import BestWorst, Choice, Preference, Ranking, SetScale
from tests.cases import check_all
from tests.facts import mentions
from tests.predictors.servers import Reply, serving
from tests.predictors.test_chat_judge import completion, spec
from tests.scoring.compared import arena, rankings

QUICK = RunOptions(retry=Retry(retries=0))


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEARTFELT_CHAT_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def with_sounds(made: tuple[Snapshot, dict[str, float]], folder: Path) -> Snapshot:
    """The study with files whose bytes name the stimulus: this server looks no further."""
    snapshot, _ = made
    folder.mkdir(parents=True)
    for place, name in enumerate(snapshot.stimuli["stimulus"]):
        soundfile.write(folder / f"{name}.wav", np.full(400 + place, 0.1), 8000)
    stimuli = snapshot.stimuli.with_columns((pl.col("stimulus") + ".wav").alias("path"))
    source = Source(format="simulation", name=snapshot.study.name, media_root=folder)
    return Snapshot.build(snapshot.study, stimuli=stimuli, ratings=snapshot.ratings, source=source)


def shown(request: dict[str, Any], folder: Path) -> list[str]:
    """The stimuli of a request in the order shown, recognised by what was sent."""
    names = {path.read_bytes(): path.stem for path in folder.iterdir()}
    parts = request["messages"][1]["content"]
    media = [part["input_audio"]["data"] for part in parts if part["type"] == "input_audio"]
    letters = [part["text"] for part in parts if part["type"] == "text"][: len(media)]
    assert letters == list(LETTERS[: len(media)])
    return [names[base64.b64decode(data)] for data in media]


def judge(folder: Path, answer: Callable[[list[str]], Any]) -> Callable[[dict[str, Any], int], Reply]:
    """A server that answers by what it is shown."""

    def behave(request: dict[str, Any], count: int) -> Reply:
        content = {"q1": {"reason": "so it sounds", "answer": answer(shown(request, folder))}}
        return completion(json.dumps(content), model="seer-1", usage={"prompt_tokens": 100, "completion_tokens": 5})

    return behave


def by_name(names: list[str]) -> str:
    """Always the same stimulus, whichever comes first."""
    return LETTERS[names.index(min(names))]


def verdicts(table: pl.DataFrame) -> list[dict[str, float]]:
    return [json.loads(text) for text in table["members"]]


def test_a_pair_is_shown_in_both_orders_with_the_studys_own_question(tmp_path: Path) -> None:
    snapshot = with_sounds(arena(prompts=1, raters=2), tmp_path / "media")
    asked = cases(snapshot, compares=True)
    with serving(judge(tmp_path / "media", by_name)) as served, predictor_from(spec(served)) as chat:
        done = run(chat, asked, options=QUICK)
    assert sorted(tuple(shown(request, tmp_path / "media")) for request in served.requests) == [
        ("A00", "B00"), ("A00", "C00"), ("B00", "A00"), ("B00", "C00"), ("C00", "A00"), ("C00", "B00"),
    ]  # fmt: skip
    request = served.requests[0]
    words = request["messages"][1]["content"][-1]["text"]
    assert "q1: Which is more arousing?" in words
    assert mentions(words, "A or B", '"tie"', "No difference")
    for leak in ("A00", "p00", "system"):
        assert leak not in words
    answer = request["response_format"]["json_schema"]["schema"]["properties"]["q1"]["properties"]["answer"]
    assert answer == {"type": "string", "enum": ["A", "B", "tie"]}
    assert verdicts(done.table) == [{"A00": 1.0, "B00": 0.0}, {"A00": 1.0, "C00": 0.0}, {"B00": 1.0, "C00": 0.0}]
    assert [json.loads(text) for text in done.table["orders"]] == [[1.0, 0.0]] * 3
    assert mentions(done.table["reason"][0], "A00", "B00")
    assert done.usage is not None
    assert done.usage.requests == 6
    assert done.calls is not None
    assert done.calls["id"].n_unique() == 6


def test_a_judge_that_always_says_a_has_a_position_bias(tmp_path: Path) -> None:
    snapshot = with_sounds(arena(prompts=3, raters=4), tmp_path / "media")
    with serving(judge(tmp_path / "media", lambda _: "A")) as served:
        result = bench(snapshot, [spec(served), "first"], BenchOptions(run=QUICK))
    details = result.scores.details["better"].models[spec(served)]
    assert isinstance(details, ChoiceDetails)
    bias = details.position_bias
    assert bias is not None
    assert (bias.inconsistent.value, bias.favours_first.value) == (1.0, 1.0)
    assert bias.p_value == pytest.approx(2 * 0.5**9)
    found = result.scores.find("better", spec(served))
    assert found is not None
    assert found.with_failures.value == 0.5


def test_grades_of_both_orders_are_averaged(tmp_path: Path) -> None:
    snapshot = with_sounds(arena(prompts=1, raters=2, graded=True), tmp_path / "media")
    # In favour of the first name by 2, and of the second place by 1.
    answer = judge(tmp_path / "media", lambda names: 1 + (-2 if names[0] < names[1] else 2))
    with serving(answer) as served, predictor_from(spec(served)) as chat:
        done = run(chat, cases(snapshot, compares=True), options=QUICK)
    assert verdicts(done.table)[0] == {"A00": 2.0, "B00": -2.0}
    assert json.loads(done.table["orders"][0]) == [1.0, 0.0]
    assert "negative if A is better, positive if B is" in served.requests[0]["messages"][1]["content"][-1]["text"]


@pytest.mark.parametrize("best_worst", [False, True])
def test_larger_sets_are_shown_once_in_a_drawn_order(tmp_path: Path, best_worst: bool) -> None:
    snapshot = with_sounds(rankings(prompts=6, raters=2, best_worst=best_worst), tmp_path / "media")

    def answer(names: list[str]) -> Any:
        letters = [LETTERS[names.index(name)] for name in sorted(names)]
        return {"best": letters[0], "worst": letters[-1]} if best_worst else letters

    with serving(judge(tmp_path / "media", answer)) as served, predictor_from(spec(served)) as chat:
        done = run(chat, cases(snapshot, compares=True), options=QUICK)
    assert len(served.requests) == 6
    assert len({tuple(name[0] for name in shown(each, tmp_path / "media")) for each in served.requests}) > 1
    values = [1.0, 0.0, 0.0, -1.0] if best_worst else [1.0, 2.0, 3.0, 4.0]
    for place, members in enumerate(verdicts(done.table)):
        assert members == dict(zip([f"{system}{place:02}" for system in "ABCD"], values, strict=True))


def test_one_unreadable_order_fails_the_pair_and_both_requests_are_on_record(tmp_path: Path) -> None:
    snapshot = with_sounds(arena(prompts=1, raters=2), tmp_path / "media")

    def behave(request: dict[str, Any], count: int) -> Reply:
        names = shown(request, tmp_path / "media")
        answer = "both" if names[0] > names[1] else "A"
        return completion(json.dumps({"q1": {"answer": answer}}))

    with serving(behave) as served, predictor_from(spec(served)) as chat:
        done = run(chat, cases(snapshot, compares=True)[:1], options=QUICK)
    (problem,) = done.table["problem"]
    assert mentions(problem, "B00", "A00", "'both'")
    assert done.calls is not None
    assert done.calls.height == 2


def test_after_a_transient_error_only_the_other_order_is_asked_again(tmp_path: Path) -> None:
    snapshot = with_sounds(arena(prompts=1, raters=2), tmp_path / "media")
    failed: list[str] = []

    def behave(request: dict[str, Any], count: int) -> Reply:
        names = shown(request, tmp_path / "media")
        if names == ["B00", "A00"] and not failed:
            failed.append("once")
            return Reply(503)
        return completion(json.dumps({"q1": {"answer": by_name(names)}}))

    with serving(behave) as served, predictor_from(spec(served)) as chat:
        done = run(
            chat, cases(snapshot, compares=True)[:1], options=RunOptions(retry=Retry(retries=1, first_wait=0.001))
        )
    assert done.table["ok"].all()
    assert [shown(each, tmp_path / "media") for each in served.requests] == [
        ["A00", "B00"],
        ["B00", "A00"],
        ["B00", "A00"],
    ]


def test_answers_are_cached_by_what_both_files_hold(tmp_path: Path) -> None:
    snapshot = with_sounds(arena(prompts=1, raters=2), tmp_path / "media")
    options = RunOptions(retry=Retry(retries=0), cache=tmp_path / "cache.sqlite")
    asked = cases(snapshot, compares=True)
    with serving(judge(tmp_path / "media", by_name)) as served, predictor_from(spec(served)) as chat:
        first, second = run(chat, asked, options=options), run(chat, asked, options=options)
        assert len(served.requests) == 6
        assert second.counts["cached"] == 3
        assert second.usage is not None
        assert second.usage.requests == 0
        assert verdicts(second.table) == verdicts(first.table)
        (tmp_path / "media" / "A00.wav").write_bytes((tmp_path / "media" / "B00.wav").read_bytes())
        third = run(chat, asked[2:], options=options)
        assert third.counts["cached"] == 1


CASE = Case(stimulus="a|b|c", asks=(), members=tuple(Case(stimulus=name, asks=()) for name in "abc"))


def test_orders() -> None:
    pair = Case(stimulus="a|b", asks=(), members=CASE.members[:2])
    assert [[member.stimulus for member in order] for order in orders_of(pair)] == [["a", "b"], ["b", "a"]]
    (drawn,) = orders_of(CASE)
    assert sorted(member.stimulus for member in drawn) == ["a", "b", "c"]
    assert orders_of(CASE) == [drawn]


@check_all(
    ("scale", "answer", "values"),
    [
        (Choice(type="choice", ties=True), "b", [0.0, 1.0]),
        (Choice(type="choice", ties=True), " Tie ", [0.5, 0.5]),
        (Choice(type="choice"), "tie", None),
        (Choice(type="choice"), 0, None),
        (Choice(type="choice"), "C", None),
        (Choice(type="choice"), True, None),
        (Preference(type="preference"), -3, [3.0, -3.0]),
        (Preference(type="preference"), 4, None),
        (Preference(type="preference"), "A", None),
        (Ranking(type="rank"), ["B", "A"], [2.0, 1.0]),
        (Ranking(type="rank"), ["B"], None),
        (Ranking(type="rank"), "BA", None),
        (BestWorst(type="best-worst"), {"best": "B", "worst": "A"}, [-1.0, 1.0]),
        (BestWorst(type="best-worst"), {"best": "A", "worst": "A"}, None),
        (BestWorst(type="best-worst"), {"best": "A"}, None),
    ],
)
def test_answers_about_two(scale: SetScale, answer: Any, values: list[float] | None) -> None:
    assert "type" in set_answer(scale, 2)
    if values is None:
        with pytest.raises(InputError):
            set_values(answer, scale, 2)
    else:
        assert set_values(answer, scale, 2) == values


def test_what_is_sent_about_single_stimuli_is_as_before() -> None:
    """So that answers that were paid for stay valid. SOURCE: heartfelt's own identity before there were comparisons."""
    assert "prompt ceb7f46d5fca," in Chat.make("m@http://host/v1").identity
