"""A served predictor: heartfelt's own client gets from it what the predictor says, and mistakes are told."""

from __future__ import annotations

import base64
import http.client
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import numpy as np
import pytest
import soundfile

from heartfelt.cli import main
from heartfelt.errors import InputError
from heartfelt.predictors import (
    Case,
    Media,
    Prediction,
    Predictor,
    Retry,
    RunOptions,
    TransientError,
    cases,
    predictor_from,
    run,
)
from heartfelt.predictors.baselines import Sham, similarity
from heartfelt.predictors.hosted.endpoint import Endpoint
from heartfelt.predictors.options import ServerOptions
from heartfelt.web.predictor_server import predictor_app, serve_predictor
from tests.cases import check_all
from tests.facts import mentions
from tests.predictors.studies import snapshot, texts_case

pytest.importorskip("uvicorn", exc_type=ImportError)


@contextmanager
def served(predictor: Predictor, **options: Any) -> Iterator[str]:
    """The predictor behind a real server in a thread of its own; yields the address."""
    import uvicorn

    app = predictor_app(predictor, ServerOptions(port=0, **options))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="on"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < until
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)


def post(url: str, content: Any, path: str = "/similarity") -> tuple[int, Any]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    try:
        connection.request("POST", path, body, {"content-type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def get(url: str, path: str = "/") -> tuple[int, Any]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def wav(path: Path) -> Path:
    soundfile.write(path, 0.1 * np.sin(np.arange(800) / 9), 8_000)
    return path


class Listening(Predictor):
    """Says how long the media are, slowly, and counts; bad weather and mistakes on demand."""

    name: ClassVar[str] = "listening"
    about: ClassVar[str] = "for these tests"
    batch = 16

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.sizes: list[int] = []

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Listening:
        del argument, options
        return cls()

    @property
    def identity(self) -> str:
        return "listening"

    def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
        self.sizes.append(len(cases))
        time.sleep(self.seconds)
        if any(ask.text == "storm" for case in cases for ask in case.asks):
            raise TransientError("it storms")
        return [[self._one(case, ask.text) for ask in case.asks] for case in cases]

    def _one(self, case: Case, text: str) -> Prediction:
        if text == "bad":
            return Prediction.failed("it cannot say")
        return Prediction(value=float(len(case.media.content) % 2 if case.media else 0), reason="by length")


def test_the_client_gets_what_the_predictor_says(tmp_path: Path) -> None:
    source = snapshot(tmp_path / "study")
    asked = cases(source)
    direct = run(Sham.make(), asked).table
    with served(Sham.make()) as url:
        for batch in ("auto", "never"):
            client = Endpoint(f"{url}/similarity", {"batch": batch})
            through = run(client, asked, options=RunOptions(at_once=4)).table
            client.close()
            assert through["ok"].all()
            assert through["score"].to_list() == direct["score"].to_list()
            assert through["stimulus"].to_list() == direct["stimulus"].to_list()
    assert len(set(direct["score"].to_list())) == 24


def test_the_published_vector_comes_through() -> None:
    request = {
        "text": "Speech audio in which the speaker expresses or conveys Affection.",
        "audio_filename": "DE_B00003_S00243_W000006.mp3",
        "audio_base64": base64.b64encode(b"any").decode(),
    }
    stem = {"text": request["text"], "audio_stem": "DE_B00003_S00243_W000006"}
    with served(Sham.make()) as url:
        assert post(url, request) == (200, {"similarity": -0.40344649551861933})
        assert post(url, stem, "/") == (200, {"similarity": -0.40344649551861933})


def test_texts_are_answered_together() -> None:
    request = {"text": "one", "texts": ["one", "two"], "audio_stem": "clip"}
    with served(Sham.make()) as url:
        status, answer = post(url, request)
    assert status == 200
    assert answer == {"similarities": [similarity("clip", "one"), similarity("clip", "two")]}


def test_requests_at_the_same_time_go_together(tmp_path: Path) -> None:
    predictor = Listening(seconds=0.1)
    results: list[tuple[int, Any]] = []
    request = {"text": "any", "audio_filename": "a.wav", "audio_base64": base64.b64encode(b"123").decode()}
    with served(predictor, wait=0.05) as url:
        threads = [threading.Thread(target=lambda: results.append(post(url, request))) for _ in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [status for status, _ in results] == [200] * 24
    assert sum(predictor.sizes) == 24
    assert len(predictor.sizes) < 24
    assert max(predictor.sizes) <= 16


def test_a_value_is_a_score_and_brings_its_reason() -> None:
    request = {"text": "any", "audio_filename": "a.wav", "audio_base64": base64.b64encode(b"123").decode()}
    with served(Listening()) as url:
        answers = {"score": 1.0, "value": 1.0, "answer": "yes", "reason": "by length"}
        assert post(url, request) == (200, answers)
        on_points = post(url, {**request, "scale": {"type": "points", "points": 9}})
        assert on_points == (200, {"score": 1.0, "value": 1.0, "reason": "by length"})


def test_what_the_predictor_cannot_say_is_told() -> None:
    good = {"audio_filename": "a.wav", "audio_base64": base64.b64encode(b"1").decode()}
    with served(Listening()) as url:
        assert post(url, {**good, "text": "bad"}) == (
            422,
            {"problem": "it cannot say", "fix": "Send what the predictor can answer."},
        )
        some = post(url, {**good, "texts": ["good", "bad"]})
        assert some == (200, {"similarities": [1.0, None], "problems": [None, "it cannot say"]})
        status, answer = post(url, {**good, "text": "storm"})
        assert (status, answer["problem"]) == (503, "it storms")
        assert mentions(post(url, {"text": "x", "audio_stem": "a"})[1]["problem"], "media", "file", "missing")


def test_media_that_are_not_sent_are_looked_up(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.wav").write_bytes(b"123")
    with served(Listening(), media=tmp_path) as url:
        assert post(url, {"text": "x", "audio_stem": "a"})[1]["value"] == 1.0
        assert post(url, {"text": "x", "audio_stem": "../../etc/passwd"})[0] == 422
    with pytest.raises(InputError, match="There is no folder"):
        predictor_app(Sham.make(), ServerOptions(media=tmp_path / "none"))


@check_all(
    ("content", "status", "problem"),
    [
        (b"{", 400, "not JSON"),
        (b"\xff\xfe", 400, "not JSON"),
        (b"[1]", 422, "not a JSON object"),
        ({}, 422, "text is missing"),
        ({"text": 5, "audio_stem": "a"}, 422, "not a text"),
        ({"text": "  ", "audio_stem": "a"}, 422, "empty"),
        ({"texts": [], "audio_stem": "a"}, 422, "not a list of texts"),
        ({"texts": "x", "audio_stem": "a"}, 422, "not a list of texts"),
        ({"texts": ["a"] * 1_001, "audio_stem": "a"}, 422, "not a list of texts"),
        ({"text": "x"}, 422, "no name"),
        ({"text": "x", "audio_filename": ["a"]}, 422, "no name"),
        ({"text": "x", "audio_filename": "a.wav", "audio_base64": "%%"}, 422, "not base64"),
        ({"text": "x", "audio_filename": "a.wav", "audio_base64": 7}, 422, "not base64"),
        ({"text": "x", "audio_filename": "a.wav", "audio_base64": ""}, 422, "not base64, or empty"),
        ({"text": "x", "audio_stem": "a", "scale": {"type": "points"}}, 422, "not a scale"),
        ({"text": "x", "audio_stem": "a", "scale": "nine"}, 422, "not a scale"),
    ],
)
def test_a_request_that_makes_no_sense_is_told(sham_address: str, content: Any, status: int, problem: str) -> None:
    result, answer = post(sham_address, content)
    assert result == status
    assert set(answer) == {"problem", "fix"}
    assert problem in answer["problem"]
    assert answer["fix"]


@pytest.fixture(scope="module")
def sham_address() -> Iterator[str]:
    with served(Sham.make(), megabytes=0.01) as url:
        yield url


def test_other_ways_to_ask_are_told(sham_address: str) -> None:
    assert get(sham_address)[1]["predictor"] == "sham"
    assert get(sham_address, "/other") == (
        405,
        {"problem": "There is nothing here (405).", "fix": "POST to /, or GET / to see what is served."},
    )


def test_a_request_that_is_too_large_is_refused(sham_address: str) -> None:
    request = {"text": "x", "audio_filename": "a.wav", "audio_base64": "A" * 40_000}
    status, answer = post(sham_address, request)
    assert status == 413
    assert mentions(answer["problem"], "request", "0.01 MB")
    parts = urlsplit(sham_address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    connection.request("POST", "/", iter([b"x" * 4_000] * 5), encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


@pytest.mark.slow
def test_a_full_house_says_come_back(tmp_path: Path) -> None:
    predictor = Listening(seconds=0.3)
    predictor.batch = 1
    request = {"text": "any", "audio_filename": "a.wav", "audio_base64": base64.b64encode(b"123").decode()}
    results: list[tuple[int, Any]] = []
    with served(predictor, waiting=1) as url:
        threads = [threading.Thread(target=lambda: results.append(post(url, request))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        asked = [texts_case(wav(tmp_path / f"{name}.wav"), ["x"]) for name in "abcdef"]
        client = Endpoint.make(url)
        table = run(client, asked, options=RunOptions(at_once=6, retry=Retry(retries=20, first_wait=0.1))).table
        client.close()
    message = dict(results)
    assert set(message) == {200, 503}
    assert message[503] == {"problem": "Too many requests are waiting.", "fix": "Ask again in a moment."}
    assert table["ok"].all()


def test_a_file_that_is_no_sound_is_told_through_the_client(tmp_path: Path) -> None:
    def say(case: Case) -> None:
        raise InputError(f"{case.stimulus} is no sound.", "")

    class Strict(Listening):
        def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
            say(cases[0])
            return []

    (tmp_path / "a.wav").write_text("text")
    with served(Strict()) as url:
        client = Endpoint.make(url)
        table = run(client, [texts_case(tmp_path / "a.wav", ["one"])]).table
        client.close()
    assert "422" in table["problem"][0]
    assert "a.wav is no sound." in table["problem"][0]


@pytest.mark.slow
def test_the_command_serves_until_it_is_stopped(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "heartfelt", "serve-predictor", "sham", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("sham answers at http://127.0.0.1:")
        url = line.split()[3]
        client = predictor_from(f"endpoint:{url}/similarity")
        case = texts_case(wav(tmp_path / "clip.wav"), ["one", "two"])
        table = run(client, [case]).table
        client.close()
        assert table["score"].to_list() == [similarity("clip", "one"), similarity("clip", "two")]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["shan"], "No predictor is called 'shan'"),
        (["sham:x"], "takes no argument"),
        (["sham", "--media", "nowhere"], "There is no folder nowhere"),
        (["sham", "--port", "70000"], "'--port'"),
    ],
)
def test_mistakes_are_two_lines(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve-predictor", *arguments]) == 2
    answer = capsys.readouterr().err.strip().splitlines()
    assert len(answer) == 2, answer
    assert problem in answer[0]


def test_a_port_in_use_is_told() -> None:
    with served(Sham.make()) as url, pytest.raises(InputError, match="Cannot listen on") as message:
        serve_predictor(Sham.make(), ServerOptions(port=urlsplit(url).port or 0))
    assert "--port" in message.value.fix


def test_the_media_are_gone_when_the_answer_is(tmp_path: Path) -> None:
    seen: list[Path] = []

    class Keeping(Listening):
        def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
            seen.extend(case.media.path for case in cases if isinstance(case.media, Media))
            assert all(path.is_file() for path in seen)
            return super().predict(cases)

    request = {"text": "x", "audio_filename": "../../a.wav", "audio_base64": base64.b64encode(b"1").decode()}
    with served(Keeping()) as url:
        assert post(url, request)[0] == 200
    assert [path.name for path in seen] == ["media.wav"]
    assert not seen[0].parent.exists()
