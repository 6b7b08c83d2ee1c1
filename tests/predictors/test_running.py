"""Running: bad weather, retries, interruption; nothing lost, nothing twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import HeartfeltError, Interrupted
from heartfelt.predictors import (
    ENGINES,
    PREDICTIONS,
    Ask,
    Case,
    Prediction,
    Retry,
    RunOptions,
    TransientError,
    cases,
    predictor_from,
    run,
)
from heartfelt.predictors.baselines import similarity
from heartfelt.predictors.execution.store import JOURNAL
from heartfelt.predictors.execution.work import PredictorWork
from heartfelt.study.scales.set_scale import Preference
from tests.cases import check_all
from tests.facts import mentions
from tests.predictors.runs import QUICK, Scripted, ran, wait_for_lines
from tests.predictors.servers import Reply, good, serving
from tests.predictors.studies import CountedMedia, snapshot, texts_case


def stormy(request: dict[str, Any], count: int) -> Reply:
    """Every kind of bad weather and garbage there is, by the number in the clip's name."""
    kind = int(request["audio_filename"][1:3]) % 12
    first = count == 1
    match kind:
        case 1:
            return Reply(429, b"slow down", {"retry-after": "0"}) if count <= 2 else good(request, count)
        case 2:
            return Reply(500, b"oops") if first else good(request, count)
        case 3:
            return Reply(503, b"starting") if first else good(request, count)
        case 4:
            return Reply(body=b"<html>not json</html>")
        case 5:
            return Reply(body=b'{"similarity": NaN}')
        case 6:
            return Reply(body=b'{"similarity": "high"}')
        case 7:
            return Reply(body=b"")
        case 8:
            return Reply(silent=True) if first else good(request, count)
        case 9:
            return Reply(404, b"no such thing")
        case 10:
            return Reply(502, b"")
        case 11 if request["text"] == "one":
            return Reply(wait=60.0, body=b'{"similarity": 0.5}')
        case _:
            return good(request, count)


EXPECTED = {
    0: (None, 1),
    1: (None, 3),
    2: (None, 2),
    3: (None, 2),
    4: ("the server's answer is not JSON: '<html>not json</html>'", 1),
    5: ("the server's similarity is nan", 1),
    6: ("the server's similarity is text, not a number", 1),
    7: ("the server answered 200 with nothing", 1),
    8: (None, 2),
    9: ("the server answered 404 Not Found: no such thing", 1),
    10: ("the server answered 502 Bad Gateway", 3),
    11: ("the server did not answer within 5 s", 3),
}


@pytest.mark.slow
def test_a_server_in_every_bad_weather_loses_nothing_and_the_ledger_is_exact(clips: list[Path], tmp_path: Path) -> None:
    asked = [texts_case(path, ["one", "two"]) for path in clips]
    options = RunOptions(at_once=8, retry=QUICK)
    with serving(stormy) as server:
        spec = f"endpoint[batch=never,timeout=5]:{server.url}"
        done = ran(spec, asked, tmp_path / "run", options)
        PREDICTIONS.check(done.table, "run")
        assert done.table.height == 48
        for row in done.table.iter_rows(named=True):
            problem, attempts = EXPECTED[int(row["stimulus"][1:3]) % 12]
            if "did not answer" in str(problem) and row["question"] == "q1":
                problem, attempts = None, 1
            assert (row["problem"], row["attempts"]) == (problem, attempts), row
            assert row["ok"] == (problem is None)
            if row["ok"]:
                text = {"q0": "one", "q1": "two"}[row["question"]]
                assert row["score"] == similarity(row["stimulus"][:3], text)
                assert row["value"] is None
        assert done.table["attempts"].sum() == len(server.requests) == done.counts["asked"]
        assert done.counts["answered"] == 22
        assert done.counts["failed"] == 26
        assert CountedMedia.reads == {path.name: 1 for path in clips}

        server.requests.clear()
        server.behaviour = good
        again = ran(spec, asked, tmp_path / "run", options)
        failed = done.table.filter(~pl.col("ok"))
        assert len(server.requests) == failed.height == 26
        assert {(r["audio_filename"], r["text"]) for r in server.requests} == {
            (row["stimulus"], {"q0": "one", "q1": "two"}[row["question"]]) for row in failed.iter_rows(named=True)
        }
        assert again.counts == {"items": 48, "answered": 48, "failed": 0, "kept": 22, "cached": 0, "asked": 26}
        joined = again.table.join(done.table, on=["stimulus", "question"], suffix="_before")
        assert (joined["attempts"] - joined["attempts_before"] == (~joined["ok_before"]).cast(pl.Int64)).all()

        server.requests.clear()
        third = ran(spec, asked, tmp_path / "run", options)
        assert not server.requests
        assert third.table.equals(again.table)


def test_a_server_that_is_not_there_is_given_up_on(clips: list[Path], tmp_path: Path) -> None:
    asked = [texts_case(path, ["one"]) for path in clips]
    with serving() as server:
        url = server.url
    options = RunOptions(at_once=1, retry=Retry(retries=1, first_wait=0.001, longest_wait=0.001), give_up_after=5)
    done = ran(f"endpoint:{url}", asked, tmp_path / "run", options)
    assert done.counts["failed"] == 24
    problems = done.table["problem"].to_list()
    assert mentions(problems[0], "server", "refused")
    assert mentions(problems[5], "5 cases", "row", "server")
    assert done.table["attempts"].to_list() == [2] * 5 + [0] * 19
    with serving() as server:
        again = ran(f"endpoint:{server.url}", asked, tmp_path / "other", options)
        assert again.counts["answered"] == 24


def test_a_server_that_refuses_everything_is_given_up_on(clips: list[Path]) -> None:
    asked = [texts_case(path, ["one"]) for path in clips]
    options = RunOptions(at_once=1, give_up_after=5)
    with serving(lambda *_: Reply(401)) as server:
        done = ran(f"endpoint:{server.url}", asked, None, options)
        assert len(server.requests) == 5
    assert mentions(done.table["problem"][23], "5 cases", "401 Unauthorized")

    def picky(request: dict[str, Any], count: int) -> Reply:
        return good(request, count) if request["audio_filename"] == "c00.wav" else Reply(422)

    with serving(picky) as server:
        ran(f"endpoint:{server.url}", asked, None, options)
        assert len(server.requests) == 24


def test_an_error_in_a_batch_is_the_problem_of_its_case_alone(clips: list[Path]) -> None:
    def say(case: Case, call: int) -> list[Prediction]:
        if case.stimulus == "c01.wav":
            raise ValueError("a bad\nclip")
        return [Prediction(score=0.1)]

    predictor = Scripted(say)
    predictor.batch = 4
    done = run(predictor, [texts_case(path, ["one"]) for path in clips[:4]])
    assert done.table["problem"].to_list() == [None, "ValueError: a bad clip", None, None]


def test_only_what_met_bad_weather_is_asked_again(clips: list[Path]) -> None:
    seen: list[list[str]] = []

    def say(case: Case, call: int) -> list[Prediction]:
        seen.append([ask.question for ask in case.asks])
        if call == 1:
            return [Prediction(score=0.1), Prediction.later("busy"), Prediction.later()]
        return [Prediction(score=0.2)] * len(case.asks)

    done = run(Scripted(say), [texts_case(clips[0], ["a", "b", "c"])], None, RunOptions(retry=QUICK))
    assert seen == [["q0", "q1", "q2"], ["q1", "q2"]]
    assert done.table["attempts"].to_list() == [1, 2, 1]
    assert done.table["score"].to_list() == [0.1, 0.2, 0.2]


def test_putting_off_for_ever_ends(clips: list[Path]) -> None:
    done = run(Scripted(lambda *_: [Prediction.later()]), [texts_case(clips[0], ["a"])], None, RunOptions(retry=QUICK))
    assert done.table["problem"].to_list() == ["the predictor kept postponing the question"]


def test_transient_errors_are_retried_and_then_told(clips: list[Path]) -> None:
    def say(case: Case, call: int) -> list[Prediction]:
        raise TransientError("the model is loading")

    done = run(Scripted(say), [texts_case(clips[0], ["a"])], None, RunOptions(retry=QUICK))
    assert done.table.select("problem", "attempts").row(0) == ("the model is loading", 3)


def test_a_case_that_hangs_is_left(clips: list[Path]) -> None:
    over = threading.Event()

    def say(case: Case, call: int) -> list[Prediction]:
        if case.stimulus == "c00.wav":
            over.wait(120)
        return [Prediction(score=0.1)]

    asked = [texts_case(path, ["a"]) for path in clips[:2]]
    done = run(Scripted(say), asked, None, RunOptions(timeout=3))
    over.set()
    assert done.table["problem"].to_list() == ["no answer within 3 s", None]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ([], "the predictor gave 0 answers to 1 questions"),
        ([Prediction()], "the predictor gave no answer"),
        ([Prediction(value=float("nan"))], "the predictor's value is nan"),
        ([Prediction(score=float("inf"))], "the predictor's score 'inf' is out of range"),
        ([Prediction(answer="perhaps")], "the predictor answered 'perhaps', which is not a category"),
        ([Prediction(shares={"maybe": 1.0})], "the predictor's shares name 'maybe', which is not a category"),
        ([Prediction(shares={"yes": -0.1})], "the predictor's share of 'yes' is -0.1"),
    ],
)
def test_answers_that_are_none_are_told(said: list[Prediction], problem: str, clips: list[Path]) -> None:
    done = run(Scripted(lambda *_: said), [texts_case(clips[0], ["a"])])
    assert done.table["problem"].to_list() == [problem]


def test_categories_are_filled_in(clips: list[Path]) -> None:
    says = {"a": Prediction(answer="yes"), "b": Prediction(value=0.0), "c": Prediction(shares={"yes": 0.7, "no": 0.3})}
    done = run(Scripted(lambda case, _: [says[ask.text] for ask in case.asks]), [texts_case(clips[0], ["a", "b", "c"])])
    assert done.table.select("value", "answer").rows() == [(1.0, "yes"), (0.0, "no"), (1.0, "yes")]
    assert json.loads(done.table["shares"][2]) == {"yes": 0.7, "no": 0.3}


def test_missing_media_is_a_row_for_those_who_need_them(tmp_path: Path) -> None:
    data = snapshot(tmp_path, 4)
    (tmp_path / "media" / "clip_001.wav").unlink()
    with serving() as server:
        done = ran(f"endpoint:{server.url}", cases(data, ["fits"]))
        assert done.table["problem"].to_list() == [
            None, "the media file is missing: clip_001.wav", None, None
        ]  # fmt: skip
        assert ran("sham", cases(data, ["fits"])).counts["answered"] == 4
        assert ran(f"endpoint[audio=stem]:{server.url}", cases(data, ["fits"])).counts["answered"] == 4


@pytest.mark.parametrize("at_once", [1, 4])
def test_interrupted_it_says_so_in_two_lines_and_goes_on(clips: list[Path], tmp_path: Path, at_once: int) -> None:
    asked = [texts_case(path, ["a"]) for path in clips]

    def stop(doing: str, done: int, total: int) -> None:
        assert total == 24
        if done == 10:
            raise KeyboardInterrupt

    predictor = Scripted(lambda *_: [Prediction(score=0.1)])
    predictor.reach = "network"
    with pytest.raises(Interrupted) as caught:
        run(predictor, asked, tmp_path, RunOptions(at_once=at_once), stop)
    assert mentions(caught.value.problem, "10 of 24 questions", "answered")
    assert mentions(caught.value.fix, "again", "continue")
    assert caught.value.exit_code == 130
    assert sorted(path.name for path in tmp_path.glob("*.*") if path.is_file()) == [JOURNAL]
    done = run(predictor, asked, tmp_path, RunOptions(at_once=at_once))
    assert done.counts["kept"] == 10
    assert done.counts["asked"] == 14


def test_a_real_ctrl_c_ends_it_at_once_though_the_server_never_answers(clips: list[Path], tmp_path: Path) -> None:
    code = (
        "import signal, sys; from pathlib import Path\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored\n"
        "from heartfelt.errors import HeartfeltError\n"
        "from heartfelt.predictors import predictor_from, run, RunOptions\n"
        "from tests.predictors.studies import texts_case\n"
        "clips = sorted(Path(sys.argv[2]).iterdir())\n"
        "try:\n"
        "    run(predictor_from('endpoint:' + sys.argv[1]), [texts_case(p, ['one']) for p in clips],"
        " Path(sys.argv[3]), RunOptions(at_once=4))\n"
        "except HeartfeltError as error:\n"
        "    print(error)\n"
        "    sys.exit(error.exit_code)\n"
    )
    silence = threading.Event()

    def stuck(request: dict[str, Any], count: int) -> Reply:
        if int(request["audio_filename"][1:3]) >= 6:
            silence.wait(60)
        return good(request, count)

    with serving(stuck) as server:
        root = Path(__file__).resolve().parents[2]
        process = subprocess.Popen(
            [sys.executable, "-c", code, server.url, str(clips[0].parent), str(tmp_path / "run")],
            cwd=root,
            stdout=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and len(server.requests) < 10:
            assert process.poll() is None
            time.sleep(0.01)
        wait_for_lines(tmp_path / "run" / JOURNAL, 6)
        process.send_signal(signal.SIGINT)
        try:
            answer, _ = process.communicate(timeout=50)
        finally:
            silence.set()
            process.kill()
            process.communicate()
    assert process.returncode == 130
    assert answer.splitlines() == [
        f"Stopped. What was complete is kept: 6 of 24 questions answered by endpoint:{server.url}.",
        "Run the same command again to continue from there.",
    ]


def test_runs_that_cannot_be(clips: list[Path]) -> None:
    with pytest.raises(HeartfeltError, match="nothing to ask"):
        ran("sham", [])
    with pytest.raises(HeartfeltError, match=r"'c00\.wav'.*twice"):
        ran("sham", [texts_case(clips[0], ["a"]), texts_case(clips[0], ["b"])])
    with pytest.raises(HeartfeltError, match="at_once"):
        RunOptions(at_once=0)
    with pytest.raises(HeartfeltError, match="negative"):
        Retry(retries=-1)


def test_the_same_seed_waits_the_same() -> None:
    each, two = Retry(seed=1), Retry(seed=2)
    waits = [each.wait("clip", attempt) or 0.0 for attempt in range(1, 9)]
    assert waits == [each.wait("clip", attempt) for attempt in range(1, 9)]
    assert waits != [two.wait("clip", attempt) for attempt in range(1, 9)]
    assert all(0.25 * 2 ** (n - 1) <= wait <= 0.5 * 2 ** (n - 1) for n, wait in enumerate(waits, 1) if n < 8)
    assert max(waits) <= 60
    assert each.wait("clip", 1, retry_after=7.5) == 7.5
    assert each.wait("clip", 1, retry_after=600) == 600
    assert each.wait("clip", 1, retry_after=7200) is None


def test_numbers_of_other_libraries_are_numbers(clips: list[Path], tmp_path: Path) -> None:
    numbers: dict[str, Any] = {"score": np.float32(0.5), "low": np.int64(0), "shares": {"yes": np.float64(1.0)}}
    answers = [Prediction(**numbers)]
    done = run(Scripted(lambda *_: answers), [texts_case(clips[0], ["a"])], tmp_path / "run")
    assert done.table.select("score", "low", "shares").row(0) == (0.5, 0.0, '{"yes": 1.0}')


WILD = [1e300, -1e300, 10**400, 1e101]


@check_all("number", [*WILD, 17.5, -7.5], ids=lambda number: f"{float(str(number)):g}")
@check_all("part", ["value", "samples", "score", "low", "members"])
def test_a_number_far_beyond_the_scale_is_out_of_range(number: float, part: str, tmp_path: Path) -> None:
    [asked] = cases(snapshot(tmp_path / "s", 1), ["valence"])
    given: Any = {"samples": (5.0, number), "members": {"a": number}}.get(part, number)
    predictor = Scripted(lambda *_: [Prediction(**{"value": 5.0, part: given})])
    row = run(predictor, [asked]).table.row(0, named=True)
    stays = number not in WILD and part not in ("value", "samples")
    assert row["ok"] == stays
    if not stays and number != 10**400:
        assert "out of range" in row["problem"]
        assert row["value"] is None


@pytest.mark.parametrize("number", [9.4, 0.2, 16.9, -6.9])
def test_a_regression_may_overshoot_its_scale(number: float, tmp_path: Path) -> None:
    [asked] = cases(snapshot(tmp_path / "s", 1), ["valence"])
    row = run(Scripted(lambda *_: [Prediction(value=number)]), [asked]).table.row(0, named=True)
    assert (row["ok"], row["value"]) == (True, number)


@pytest.mark.parametrize("number", [37.0, -23.0])
def test_a_strength_may_be_in_any_unit(number: float) -> None:
    ask = Ask(question="which", scale=Preference(type="preference"), text="", words="")
    row = run(Scripted(lambda *_: [Prediction(value=number)]), [Case(stimulus="a", asks=(ask,))]).table.row(
        0, named=True
    )
    assert (row["ok"], row["value"]) == (True, number)


@pytest.mark.parametrize("written", ["1e300", "-1e300", "1e400", "-inf"])
def test_a_file_with_a_wild_number_says_so(written: str, tmp_path: Path) -> None:
    data = snapshot(tmp_path / "s", 2)
    names = [case.stimulus for case in cases(data, ["valence"])]
    path = tmp_path / "p.csv"
    path.write_text(f"stimulus,valence\n{names[0]},{written}\n{names[1]},5\n")
    table = ran(f"file:{path}", cases(data, ["valence"])).table
    assert table["ok"].to_list() == [False, True]
    assert any(words in table["problem"][0] for words in ("out of range", "is inf", "is -inf"))


def test_the_engine_may_be_asked_for_by_name(clips: list[Path]) -> None:
    asked = [texts_case(clips[0], ["a"])]
    assert run(predictor_from("sham"), asked, None, RunOptions(engine="local")).counts["answered"] == 1
    with pytest.raises(HeartfeltError, match=r"engine.*'lokal'"):
        run(predictor_from("sham"), asked, None, RunOptions(engine="lokal"))
    with pytest.raises(HeartfeltError, match="has no option 'address'"):
        run(predictor_from("sham"), asked, None, RunOptions(engine_options={"address": "x"}))


def test_threads_take_no_more_than_they_can_work_on() -> None:
    """A long list of cases is not read ahead: what is held in memory is what is being worked on."""
    taken = 0

    def batches() -> Iterator[Sequence[Case]]:
        nonlocal taken
        for place in range(50):
            taken += 1
            yield [Case(stimulus=f"c{place}", asks=())]

    seen = 0
    for _ in ENGINES["local"].make().map(PredictorWork(Scripted(lambda *_: [])), batches(), 4):
        seen += 1
        assert taken - seen <= 4
    assert seen == 50


def test_only_those_who_wait_for_a_network_are_asked_from_many_threads(clips: list[Path]) -> None:
    seen: set[str] = set()
    together = threading.Barrier(1)

    def say(case: Case, call: int) -> list[Prediction]:
        name = threading.current_thread().name
        if name not in seen:
            seen.add(name)
            together.wait(120)  # until as many threads have begun as there should be
        return [Prediction(score=0.1)]

    asked = [texts_case(path, ["a"]) for path in clips]
    predictor = Scripted(say)
    run(predictor, asked, None, RunOptions(at_once=4))
    assert seen == {threading.current_thread().name}
    predictor.at_once = 3
    together = threading.Barrier(3)
    seen.clear()
    run(predictor, asked, None, RunOptions(at_once=8))
    assert seen == {"predict-1", "predict-2", "predict-3"}
