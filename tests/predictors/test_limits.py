"""Exact limits of a run: what decides that a question is asked again, how often, how long apart, and when it ends."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heartfelt.errors import InputError, Interrupted
from heartfelt.predictors import Ask, Case, Media, Prediction, Retry, RunOptions, TransientError, run
from heartfelt.predictors.execution.engines import BatchJob, Input, Local, Result
from heartfelt.predictors.execution.store import (
    JOURNAL,
    Cache,
    Journal,
    StoredPrediction,
    cache_key,
    question_digest,
    user_cache,
)
from heartfelt.predictors.execution.work import PredictorWork
from heartfelt.predictors.interface.calls import Call, usage_of
from heartfelt.predictors.running import NETWORK_TIMEOUT
from heartfelt.streams import stream
from heartfelt.study.scales.scale import Points, YesNo
from tests.facts import mentions
from tests.predictors.runs import Scripted
from tests.predictors.studies import texts_case

YES = YesNo(type="yes-no")
SURE = [Prediction(score=0.5)]


class Settled(Scripted):
    """Answers everything with the same score; its identity and what it sends can be changed."""

    def __init__(self, identity: str = "settled 1", sends: str = "") -> None:
        super().__init__(lambda case, _: [Prediction(score=0.5)] * len(case.asks))
        self.version, self.sends = identity, sends

    @property
    def identity(self) -> str:
        return self.version

    def request_digest(self, case: Case, ask: Ask) -> str:
        del case, ask
        return self.sends


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Every sleep, none of which is slept."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


def asked_of(case: Case, folder: Path, predictor: Scripted | None = None) -> int:
    """How many questions a run into ``folder`` puts to the predictor."""
    return run(predictor or Settled(), [case], folder).counts["asked"]


def test_changed_media_of_equal_size_are_predicted_again(clips: list[Path], tmp_path: Path) -> None:
    case = texts_case(clips[0], ["one"])
    stamp = clips[0].stat()
    assert asked_of(case, tmp_path / "run") == 1
    assert asked_of(case, tmp_path / "run") == 0
    clips[0].write_bytes(bytes(reversed(clips[0].read_bytes())))
    os.utime(clips[0], ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    assert clips[0].stat().st_size == stamp.st_size
    assert asked_of(case, tmp_path / "run") == 1


def test_media_of_another_size_are_predicted_again_though_the_time_is_the_same(
    clips: list[Path], tmp_path: Path
) -> None:
    case = texts_case(clips[0], ["one"])
    stamp = clips[0].stat()
    assert asked_of(case, tmp_path / "run") == 1
    clips[0].write_bytes(b"longer" * 1_000)
    os.utime(clips[0], ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert asked_of(case, tmp_path / "run") == 1
    clips[0].unlink()
    assert asked_of(case, tmp_path / "run") == 1
    assert asked_of(case, tmp_path / "run") == 0


BASE_ASK = Ask(question="q", scale=YES, text="text", words="words", about={"media": "audio"})
ASKS = {
    "question": replace(BASE_ASK, question="other"),
    "text": replace(BASE_ASK, text="other"),
    "words": replace(BASE_ASK, words="other"),
    "scale": replace(BASE_ASK, scale=Points(type="points", points=3)),
    "about": replace(BASE_ASK, about={"media": "speech"}),
    "more about": replace(BASE_ASK, about={"media": "audio", "emotion": "felt"}),
}


@pytest.mark.parametrize(
    "change",
    [
        {"system": "B"},
        {"intent": "sad"},
        {"prompt": "another prompt"},
        {"facts": {"path": "elsewhere"}},
        *({"asks": (ask,)} for ask in ASKS.values()),
    ],
    ids=["system", "intent", "prompt", "facts", *ASKS],
)
def test_every_part_of_a_case_is_part_of_what_is_resumed(
    change: dict[str, Any], clips: list[Path], tmp_path: Path
) -> None:
    case = Case(
        stimulus="a",
        asks=(BASE_ASK,),
        media=Media(clips[0]),
        system="A",
        intent="happy",
        prompt="prompt",
        facts={"path": "here"},
    )
    assert asked_of(case, tmp_path) == 1
    assert asked_of(replace(case, **change), tmp_path) == 1
    assert asked_of(case, tmp_path) == 0


@pytest.mark.slow
def test_another_predictor_or_request_is_asked_again(clips: list[Path], tmp_path: Path) -> None:
    case = texts_case(clips[0], ["one"])
    for predictor in (Settled(), Settled("settled 2"), Settled(sends="context"), Settled(sends="other")):
        assert asked_of(case, tmp_path, predictor) == 1
        assert asked_of(case, tmp_path, predictor) == 0


def test_every_part_of_the_cache_key_matters() -> None:
    base = ("content", "identity", "asked", "request")
    keys = {cache_key(*base), cache_key(*base[:3])}
    for place in range(4):
        keys.add(cache_key(*(f"{part}!" if at == place else part for at, part in enumerate(base))))
    keys |= {cache_key(*base, repeat=1), cache_key(*base, repeat=2)}
    assert len(keys) == 8
    assert len(cache_key(*base)) == 64
    digests = {question_digest(BASE_ASK, None), question_digest(BASE_ASK, "prompt")}
    digests |= {question_digest(ask, None) for ask in ASKS.values()}
    assert len(digests) == 2 + len(ASKS)
    assert question_digest(BASE_ASK, None) == question_digest(replace(BASE_ASK, shown="shown"), None)


@pytest.mark.parametrize("part", ["content", "identity", "question", "prompt", "request"])
def test_the_cache_gives_nothing_for_anything_else(part: str, clips: list[Path], tmp_path: Path) -> None:
    options = RunOptions(cache=tmp_path / "cache.sqlite")

    def asked(case: Case, predictor: Scripted) -> tuple[int, int]:
        predictor.needs_media = True
        counts = run(predictor, [case], None, options).counts
        return counts["asked"], counts["cached"]

    case = Case(stimulus="a", asks=(BASE_ASK,), media=Media(clips[0]), prompt="prompt")
    assert asked(case, Settled()) == (1, 0)
    assert asked(replace(case, stimulus="b", system="B"), Settled()) == (0, 1)
    other, predictor = case, Settled()
    if part == "content":
        clips[1].write_bytes(bytes(reversed(clips[0].read_bytes())))
        other = replace(case, media=Media(clips[1]))
    elif part == "identity":
        predictor = Settled("settled 2")
    elif part == "question":
        other = replace(case, asks=(ASKS["text"],))
    elif part == "prompt":
        other = replace(case, prompt="another")
    else:
        predictor = Settled(sends="more")
    assert asked(other, predictor) == (1, 0)
    assert asked(other, predictor) == (0, 1)


def test_the_cache_file_is_in_the_users_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache() == tmp_path / "heartfelt" / "predictions.sqlite"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert user_cache() == tmp_path / "home" / ".cache" / "heartfelt" / "predictions.sqlite"


def test_a_damaged_row_in_the_cache_is_asked_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache.sqlite")
    cache.add({"good": Prediction(score=0.5)})
    with sqlite3.connect(cache.path) as connection:
        connection.execute("INSERT INTO answers VALUES ('bad', '{\"score\": 1, \"nonsense\": 2}')")
        connection.execute("INSERT INTO answers VALUES ('torn', '{\"score\": ')")
    connection.close()
    assert cache.find(["good", "none"]) == {"good": Prediction(score=0.5)}
    assert "bad" not in cache.find(["bad"])
    assert "torn" not in cache.find(["torn"])
    cache.close()


def test_a_call_from_the_cache_is_marked_and_costs_nothing(tmp_path: Path) -> None:
    call = Call(
        id="id",
        request="digest",
        at="now",
        questions=("q",),
        requested_model="m",
        form="plain",
        input_tokens=10,
        output_tokens=5,
        cost=0.25,
    )
    cache = Cache(tmp_path / "cache.sqlite")
    cache.add({"key": Prediction(score=0.5, call=call)})
    result = cache.find(["key"])["key"].call
    cache.close()
    assert result == replace(call, cached=True)
    uncounted = replace(call, id="2", input_tokens=None, cost=None, model="m-1", fingerprint="f")
    usage = usage_of([call, uncounted, replace(call, id="3", cached=True)])
    assert (usage.requests, usage.input_tokens, usage.output_tokens) == (2, 10, 5)
    assert (usage.without_counts, usage.cost) == (1, 0.25)
    assert (usage.models, usage.fingerprints) == (("m-1",), ("f",))
    assert usage_of([uncounted]).cost is None


def test_the_waits_double_from_half_a_second_to_a_minute_with_half_of_them_drawn() -> None:
    retry = Retry()
    assert (retry.retries, retry.first_wait, retry.longest_wait) == (4, 0.5, 60.0)
    assert (retry.seed, retry.longest_retry_after) == (0, 900.0)
    for attempt, plain in enumerate([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0], 1):
        drawn = float(stream(0, "retry", "clip", attempt).random())
        assert retry.wait("clip", attempt) == pytest.approx(plain * (0.5 + 0.5 * drawn), rel=1e-12)
    assert retry.wait("clip", 1) != retry.wait("other", 1)
    assert retry.wait("clip", 9, 0.1) == retry.wait("clip", 9)
    with pytest.raises(InputError):
        Retry(first_wait=-0.001)
    with pytest.raises(InputError):
        Retry(longest_wait=-1)
    with pytest.raises(InputError):
        Retry(longest_retry_after=-1)
    assert Retry(retries=0, first_wait=0, longest_wait=0, seed=0, longest_retry_after=0).wait("clip", 3) == 0


def test_a_transient_error_is_slept_on_and_asked_four_times_more(clips: list[Path], sleeps: list[float]) -> None:
    def say(case: Case, call: int) -> list[Prediction]:
        raise TransientError("busy", after=3.0 if call == 2 else None)

    predictor = Scripted(say)
    done = run(predictor, [texts_case(clips[0], ["a"])])
    assert done.table.select("problem", "attempts").row(0) == ("busy", 5)
    assert len(predictor.calls) == 5
    waits = [Retry().wait("c00.wav", attempt) or 0.0 for attempt in range(1, 5)]
    assert sleeps == [waits[0], max(3.0, waits[1]), waits[2], waits[3]]


@pytest.mark.parametrize("error", [ValueError("x"), OSError("x"), TimeoutError("x"), InputError("x", "y")])
def test_only_transient_errors_are_asked_again(error: Exception, clips: list[Path], sleeps: list[float]) -> None:
    def say(case: Case, call: int) -> list[Prediction]:
        raise error

    predictor = Scripted(say)
    done = run(predictor, [texts_case(clips[0], ["a"])])
    assert (len(predictor.calls), done.table["attempts"][0], sleeps) == (1, 1, [])


def test_too_long_a_wait_ends_the_question_without_sleeping(clips: list[Path], sleeps: list[float]) -> None:
    def say(case: Case, call: int) -> list[Prediction]:
        return [Prediction.later("busy", 901.0), Prediction.later("busy", 900.0)]

    predictor = Scripted(say)
    done = run(predictor, [texts_case(clips[0], ["a", "b"])], None, RunOptions(retry=Retry(retries=1)))
    assert mentions(done.table["problem"].to_list()[0], "901", "900")
    assert sleeps[0] == 900.0
    assert done.table["attempts"].to_list()[0] == 1


def lost_until(good: Sequence[int], *, transient: bool) -> Scripted:
    """Fails every case but those at the given places, in the order they are asked."""

    def say(case: Case, call: int) -> list[Prediction]:
        if int(case.stimulus[1:3]) in good:
            return SURE
        if transient:
            raise TransientError("busy")
        return [Prediction.failed("no")]

    return Scripted(say)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("good", "transient", "network", "asked"),
    [
        ((), True, False, 5),
        ((4,), True, False, 10),
        ((3, 7, 11, 15, 19, 23), True, False, 24),
        ((), False, False, 24),
        ((), False, True, 5),
        ((4,), False, True, 24),
        ((5,), False, True, 5),
    ],
)
def test_a_run_is_given_up_after_exactly_so_many_lost_cases_in_a_row(
    good: tuple[int, ...], transient: bool, network: bool, asked: int, clips: list[Path]
) -> None:
    predictor = lost_until(good, transient=transient)
    if network:
        predictor.reach = "network"
    options = RunOptions(retry=Retry(retries=0), give_up_after=5)
    done = run(predictor, [texts_case(path, ["a"]) for path in clips], None, options)
    assert len(predictor.calls) == asked
    left = done.table.filter(done.table["attempts"] == 0)
    assert left.height == 24 - asked
    assert all(text.startswith("not asked: 5 cases in a row had failed") for text in left["problem"])


@pytest.mark.slow
def test_by_default_fifty_lost_cases_end_a_run(tmp_path: Path) -> None:
    assert RunOptions().give_up_after == 50
    path = tmp_path / "clip.wav"
    path.write_bytes(b"x")
    asked = [texts_case(path, ["a"], f"c{place:02}") for place in range(60)]
    predictor = lost_until((), transient=True)
    done = run(predictor, asked, None, RunOptions(retry=Retry(retries=0)))
    assert len(predictor.calls) == 50
    assert done.table["problem"].to_list()[50:] == ["not asked: 50 cases in a row had failed; the last: busy"] * 10
    endless = lost_until((), transient=True)
    run(endless, asked, None, RunOptions(retry=Retry(retries=0), give_up_after=None))
    assert len(endless.calls) == 60


@pytest.mark.slow
def test_what_was_not_asked_is_asked_next_time_and_counts_add_up(clips: list[Path], tmp_path: Path) -> None:
    asked = [texts_case(path, ["a"]) for path in clips]
    options = RunOptions(retry=Retry(retries=1, first_wait=0), give_up_after=5)
    first = run(lost_until((), transient=True), asked, tmp_path, options)
    assert first.counts == {"items": 24, "answered": 0, "failed": 24, "kept": 0, "cached": 0, "asked": 10}
    second = run(Scripted(lambda *_: SURE), asked, tmp_path, options)
    assert second.counts == {"items": 24, "answered": 24, "failed": 0, "kept": 0, "cached": 0, "asked": 24}
    assert second.table["attempts"].to_list() == [3] * 5 + [1] * 19
    third = run(Scripted(lambda *_: SURE), asked, tmp_path, options)
    assert third.counts["kept"] == 24
    assert third.table["attempts"].to_list() == second.table["attempts"].to_list()


def test_the_last_problem_is_the_one_that_is_named(clips: list[Path]) -> None:
    def say(case: Case, call: int) -> list[Prediction]:
        raise TransientError(f"busy {call}")

    asked = [texts_case(path, ["a"]) for path in clips[:4]]
    done = run(Scripted(say), asked, None, RunOptions(retry=Retry(retries=0), give_up_after=3))
    assert done.table["problem"].to_list() == [
        "busy 1",
        "busy 2",
        "busy 3",
        "not asked: 3 cases in a row had failed; the last: busy 3",
    ]


def test_a_success_after_the_end_of_a_run_does_not_hide_the_last_problem(clips: list[Path]) -> None:
    def say(case: Case, call: int) -> list[Prediction]:
        return SURE if case.stimulus == clips[3].name else [Prediction.later("busy")]

    asked = [texts_case(path, ["a"]) for path in clips[:5]]
    done = run(Scripted(say), asked, None, RunOptions(retry=Retry(retries=0), give_up_after=3, batch=4))
    assert done.table["problem"].to_list()[:4] == ["busy", "busy", "busy", None]
    assert done.table["problem"].to_list()[4].endswith("the last: busy")


def test_a_case_the_engine_lost_is_reported_as_such(clips: list[Path]) -> None:
    class Forgetful(Local):
        def map(
            self, work: BatchJob[Input, Result], batches: Iterable[Sequence[Input]], at_once: int
        ) -> Iterator[Sequence[Result]]:
            yield from list(super().map(work, batches, at_once))[1:]

    asked = [texts_case(path, ["a"]) for path in clips[:2]]
    done = run(Scripted(lambda *_: SURE), asked, None, RunOptions(engine=Forgetful()))
    assert done.table["problem"].to_list() == ["the engine returned no outcome", None]


@pytest.mark.parametrize(
    ("label", "spec", "model"), [("mine", "scripted:x", "mine"), ("", "scripted:x", "scripted:x"), ("", "", "scripted")]
)
def test_a_model_is_called_by_its_label_else_as_it_was_asked_for_else_by_its_kind(
    label: str, spec: str, model: str, clips: list[Path]
) -> None:
    predictor = Scripted(lambda *_: SURE)
    predictor.label, predictor.spec = label, spec
    done = run(predictor, [texts_case(clips[0], ["a"])])
    assert (done.model, done.table["model"].to_list()) == (model, [model])


@pytest.mark.parametrize("name", ["at_once", "batch", "timeout", "give_up_after"])
def test_a_run_needs_numbers_above_zero(name: str) -> None:
    for number in (0, -1):
        with pytest.raises(InputError, match=name):
            RunOptions(**dict[str, Any]({name: number}))
    given: dict[str, Any] = {name: 1}
    assert getattr(RunOptions(**given), name) == 1


def test_a_batch_has_the_time_of_all_its_cases(clips: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []

    def hung(box: object, seconds: float | None = None) -> Any:
        import queue

        limits.append(seconds)
        raise queue.Empty

    monkeypatch.setattr("heartfelt.predictors.execution.work.next_from", hung)
    cases = [texts_case(path, ["a"]) for path in clips[:3]]
    outcomes = PredictorWork(Scripted(lambda *_: SURE), Retry(retries=0), timeout=2.0)(cases)
    assert limits == [6.0, 2.0, 2.0, 2.0]
    assert [outcome.predictions[0].problem for outcome in outcomes] == ["no answer within 2 s"] * 3


def test_a_network_has_ten_minutes_and_this_machine_all_the_time(
    clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert NETWORK_TIMEOUT == 600.0
    given: list[float | None] = []

    class Noting(PredictorWork):
        def __call__(self, cases: Sequence[Case]) -> Any:
            given.append(self.timeout)
            return PredictorWork(self.predictor)(cases)

    monkeypatch.setattr("heartfelt.predictors.running.PredictorWork", Noting)
    for reach, timeout in (("network", None), ("here", None), ("network", 5.0), ("here", 5.0)):
        predictor = Scripted(lambda *_: SURE)
        predictor.reach = reach  # type: ignore[assignment]  # one of the two words
        run(predictor, [texts_case(clips[0], ["a"])], None, RunOptions(timeout=timeout))
    assert given == [600.0, None, 5.0, 5.0]


@pytest.mark.slow
def test_no_more_are_under_way_than_allowed(clips: list[Path]) -> None:
    lock, meeting = threading.Lock(), threading.Barrier(3)
    now = most = 0

    def say(case: Case, call: int) -> list[Prediction]:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        meeting.wait(timeout=120)
        with lock:
            now -= 1
        return SURE

    predictor = Scripted(say)
    predictor.reach = "network"
    done = run(predictor, [texts_case(path, ["a"]) for path in clips], None, RunOptions(at_once=3))
    assert (most, done.counts["answered"]) == (3, 24)


@pytest.mark.parametrize(("size", "expected"), [(None, [5, 5, 2]), (4, [4, 4, 4]), (100, [12])])
def test_batches_have_the_size_they_are_given(size: int | None, expected: list[int], clips: list[Path]) -> None:
    predictor = Scripted(lambda *_: SURE)
    predictor.batch = 5
    run(predictor, [texts_case(path, ["a"]) for path in clips[:12]], None, RunOptions(batch=size))
    assert [len(call) for call in predictor.calls] == expected


def entry(score: float, attempts: int = 1) -> StoredPrediction:
    return StoredPrediction(Prediction(score=score), attempts, 0.5)


def test_later_lines_of_the_journal_replace_earlier_ones_and_a_torn_one_is_dropped(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add("a", {"k1": entry(0.1), "k2": entry(0.2)}, 0.5)
    journal.add("a", {"k1": entry(0.3, 2)}, 0.5)
    journal.close()
    whole = (tmp_path / JOURNAL).read_bytes()
    (tmp_path / JOURNAL).write_bytes(whole + whole[:40])
    again = Journal(tmp_path)
    assert again.dropped == 1
    assert again.entries == {"k1": entry(0.3, 2), "k2": entry(0.2)}
    again.add("b", {"k3": entry(0.4)}, 0.5)
    again.close()
    assert (tmp_path / JOURNAL).read_bytes().startswith(whole)
    last = Journal(tmp_path)
    assert (last.dropped, sorted(last.entries)) == (0, ["k1", "k2", "k3"])
    last.close()


def test_a_line_that_is_whole_but_not_a_case_is_dropped(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add("a", {"k1": entry(0.1)}, 0.5)
    journal.close()
    whole = (tmp_path / JOURNAL).read_bytes()
    (tmp_path / JOURNAL).write_bytes(b"\n" + b'{"crc":"zzzzzzzz","row":{}}\n' + whole + b"not a line\n")
    again = Journal(tmp_path)
    assert (again.dropped, again.entries) == (3, {"k1": entry(0.1)})
    again.close()


def test_the_journal_reaches_the_disk_at_least_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, synced = [100.0], []
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(clock[0]))
    journal = Journal(tmp_path)
    for clock[0] in (100.5, 101.0, 101.001, 101.9, 102.002):
        journal.add("a", {"k": entry(0.1)}, 0.5)
    assert synced == [101.001, 102.002]
    journal.close()
    assert synced == [101.001, 102.002, 102.002]


def test_a_line_of_the_journal_has_this_layout(tmp_path: Path) -> None:
    call = Call(id="id", request="digest", at="now", questions=("q",), requested_model="m", form="plain")
    journal = Journal(tmp_path)
    answer = Prediction(answer="é", shares={"a": 1.0}, call=call)
    journal.add("a", {"k": StoredPrediction(answer, 3)}, 0.25)
    assert journal.calls == {"id": ("a", call)}
    journal.close()
    line = json.loads((tmp_path / JOURNAL).read_bytes())
    assert sorted(line) == ["crc", "row"]
    (key, attempts, plain) = line["row"]["answers"][0]
    assert (line["row"]["stimulus"], line["row"]["seconds"], key, attempts) == ("a", 0.25, "k", 3)
    assert plain["answer"] == "é"
    assert plain["shares"] == {"a": 1.0}
    assert plain["call"]["questions"] == ["q"]
    assert set(plain) == {"answer", "shares", "call"}
    again = Journal(tmp_path)
    assert again.entries["k"] == StoredPrediction(answer, 3, 0.25)
    assert again.calls == {"id": ("a", call)}
    again.close()


def test_outputs_of_an_earlier_run_go_only_when_something_is_asked(clips: list[Path], tmp_path: Path) -> None:
    asked, folder = [texts_case(path, ["a"]) for path in clips[:2]], tmp_path / "run"
    run(Scripted(lambda *_: SURE), asked, folder)
    assert {path.name for path in folder.iterdir()} == {JOURNAL, "predictions.csv", "predictions.parquet", "run.json"}

    def broken(case: Case, call: int) -> list[Prediction]:
        raise KeyboardInterrupt

    run(Scripted(broken), asked, folder)
    with pytest.raises(Interrupted, match="kept: 2 of 3"):
        run(Scripted(broken), [*asked, texts_case(clips[2], ["a"])], folder)
    assert {path.name for path in folder.iterdir()} == {JOURNAL}


def test_checked_predictions_keep_their_flag_and_call_though_they_failed(clips: list[Path]) -> None:
    call = Call(id="id", request="digest", at="now", questions=("q0",), requested_model="m", form="plain")
    answer: Mapping[str, Prediction] = {
        "a": Prediction(problem="no", flag="doubtful", call=call, value=1.0),
        "b": Prediction(value=float("nan"), call=call),
        "c": Prediction(answer="perhaps", call=call),
    }
    done = run(
        Scripted(lambda case, _: [answer[ask.text] for ask in case.asks]), [texts_case(clips[0], ["a", "b", "c"])]
    )
    assert done.table["call"].to_list() == ["id"] * 3
    assert done.table["flag"].to_list() == ["doubtful", None, None]
    assert done.table["value"].to_list() == [None, None, None]
    assert done.calls is not None
    assert done.calls.height == 1
    assert done.usage is not None
    assert done.usage.requests == 1
