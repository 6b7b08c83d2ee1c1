"""EmoLia's endpoint contract to the letter, heartfelt's batch variant, and a server's every mistake in exact words."""

from __future__ import annotations

import base64
import pickle
import socket
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

import heartfelt
from heartfelt.errors import HeartfeltError
from heartfelt.formats import FORMATS
from heartfelt.predictors import Case, Prediction, Retry, RunOptions, cases, predictor_from, run
from heartfelt.predictors.baselines import similarity
from heartfelt.predictors.hosted.http import wait_of
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from tests.cases import check_all
from tests.facts import mentions
from tests.predictors.servers import Reply, batching, good, serving
from tests.predictors.studies import CountedMedia, snapshot, texts_case


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    CountedMedia.reads.clear()
    path = tmp_path / "clip.wav"
    path.write_bytes(b"RIFF something")
    return path


def said(spec: str, case: Case) -> list[Prediction]:
    with predictor_from(spec) as predictor:
        return list(predictor.predict([case])[0])


def test_the_request_is_the_contract(clip: Path) -> None:
    """SOURCE: emolia-bench's client, `{"text", "audio_filename", "audio_base64"}` and nothing else."""
    with serving() as server:
        [prediction] = said(f"endpoint:{server.url}", texts_case(clip, ["calm, “quoted”"]))
    assert server.requests == [
        {
            "text": "calm, “quoted”",
            "audio_filename": "clip.wav",
            "audio_base64": base64.b64encode(b"RIFF something").decode(),
        }
    ]
    assert prediction == Prediction(score=similarity("clip", "calm, “quoted”"))


def test_told_not_to_send_audio_it_sends_the_stem_and_reads_nothing(clip: Path) -> None:
    with serving() as server:
        [prediction] = said(f"endpoint[audio=stem]:{server.url}", texts_case(clip, ["calm"]))
    assert server.requests == [{"text": "calm", "audio_stem": "clip"}]
    assert prediction.score == similarity("clip", "calm")
    assert not CountedMedia.reads


def emolia(name: str, folder: Path) -> Snapshot:
    """The format's example with a media file for every stimulus."""
    data = heartfelt.read(FORMATS[name].example(folder / "source"), name)
    for path in data.stimuli["path"].to_list():
        place = folder / "media" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(path.encode())
    source = Source(format=name, name="example", media_root=folder / "media")
    return Snapshot.build(data.study, stimuli=data.stimuli, ratings=data.ratings, items=data.items, source=source)


def test_files_of_one_name_are_told_apart_and_the_old_names_are_an_option(tmp_path: Path) -> None:
    data = emolia("emolia-dim", tmp_path)
    asked = cases(data, labelled=False)
    with serving() as server:
        with predictor_from(f"endpoint:{server.url}") as predictor:
            run(predictor, asked, None, RunOptions(at_once=1))
        names = [request["audio_filename"] for request in server.requests]
        assert "sample_00__TEMP_5_positive.mp3" in names
        assert len(set(names)) == len(names)
        server.requests.clear()
        with predictor_from(f"endpoint[names=plain]:{server.url}") as predictor:
            run(predictor, asked, None, RunOptions(at_once=1))
        plain = [request["audio_filename"] for request in server.requests]
        assert set(plain) == {"sample_00.mp3", "sample_07.mp3", "sample_09.mp3"}
        assert len(plain) == len(names) == 5


def test_the_sham_server_and_the_sham_predictor_agree_on_emolia(tmp_path: Path) -> None:
    data = emolia("emolia-emo", tmp_path)
    with serving() as server, predictor_from(f"endpoint:{server.url}") as predictor:
        asked = run(predictor, cases(data), None, RunOptions(at_once=4))
        assert {request["audio_filename"] for request in server.requests} == set(data.stimuli["stimulus"])
    sham = run(predictor_from("sham"), cases(data))
    assert asked.table["score"].to_list() == sham.table["score"].to_list()
    assert asked.counts["failed"] == 0


@pytest.mark.parametrize("key", ["similarity", "score", "logit"])
def test_the_answer_may_be_called_three_things(key: str, clip: Path) -> None:
    with serving(lambda *_: Reply(body=f'{{"{key}": -2}}'.encode())) as server:
        assert said(f"endpoint:{server.url}", texts_case(clip, ["calm"])) == [Prediction(score=-2.0)]


@check_all(
    ("reply", "problem"),
    [
        (Reply(body=b""), "the server answered 200 with nothing"),
        (Reply(204), "the server answered 204 with nothing"),
        (Reply(body=b"hello"), "the server's answer is not JSON: 'hello'"),
        (Reply(body=b"\xff\xfe"), "the server's answer is not JSON: '\ufffd\ufffd'"),
        (Reply(body=b"[0.5]"), "the server's answer is a list, not an object"),
        (Reply(body=b"0.5"), "the server's answer is a number, not an object"),
        (Reply(body=b"null"), "the server's answer is null, not an object"),
        (Reply(body=b"{}"), "the server's answer has no similarity, score or logit; it has nothing"),
        (Reply(body=b'{"sim": 1}'), "the server's answer has no similarity, score or logit; it has 'sim'"),
        (Reply(body=b'{"score": "0.5"}'), "the server's score is text, not a number"),
        (Reply(body=b'{"score": true}'), "the server's score is true or false, not a number"),
        (Reply(body=b'{"score": null}'), "the server's score is null, not a number"),
        (Reply(body=b'{"score": [1]}'), "the server's score is a list, not a number"),
        (Reply(body=b'{"score": NaN}'), "the server's score is nan"),
        (Reply(body=b'{"score": 1e999}'), "the server's score is out of range: inf"),
        (Reply(body=b'{"score": -1e300}'), "the server's score is out of range: -1e+300"),
        (Reply(400, b"no\n text"), "the server answered 400 Bad Request: no text"),
        (Reply(401), "the server answered 401 Unauthorized"),
        (
            Reply(307, b"", {"location": "/"}),
            "the server answered 307 Temporary Redirect: redirects are not followed; it points to /",
        ),
        (Reply(799, b"?"), "the server answered 799: ?"),
    ],
)
def test_a_wrong_answer_is_told_in_exact_words(reply: Reply, problem: str, clip: Path) -> None:
    with serving(lambda *_: reply) as server:
        assert said(f"endpoint:{server.url}", texts_case(clip, ["calm"])) == [Prediction.failed(problem)]


@pytest.mark.parametrize(
    ("reply", "problem", "after"),
    [
        (Reply(429, b"", {"retry-after": "7"}), "the server answered 429 Too Many Requests", 7.0),
        (Reply(500, b"oops"), "the server answered 500 Internal Server Error: oops", 0.0),
        (Reply(502), "the server answered 502 Bad Gateway", 0.0),
        (Reply(503, b"", {"retry-after": "soon"}), "the server answered 503 Service Unavailable", 0.0),
        (Reply(504), "the server answered 504 Gateway Timeout", 0.0),
        (Reply(silent=True), "the server closed the connection without an answer", 0.0),
        (Reply(wait=60.0), "the server did not answer within 0.3 s", 0.0),
    ],
)
def test_bad_weather_is_to_be_asked_again(reply: Reply, problem: str, after: float, clip: Path) -> None:
    with serving(lambda *_: reply) as server:
        timeout = 0.3 if reply.wait else 60
        [prediction] = said(f"endpoint[timeout={timeout}]:{server.url}", texts_case(clip, ["calm"]))
    assert prediction == Prediction(problem=problem, retry_after=after)


def test_a_server_that_speaks_something_else(clip: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:

        def serve() -> None:
            while True:
                try:
                    connection, _ = door.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"SSH-2.0-OpenSSH\r\n")
                    while connection.recv(65536):  # closing with unread bytes would reset the connection
                        pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{door.getsockname()[1]}/"
        [prediction] = said(f"endpoint:{url}", texts_case(clip, ["calm"]))
    assert mentions(prediction.problem, "HTTP", "'SSH-2.0-OpenSSH'")


def test_retry_after_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 25 < (wait_of(later) or 0) <= 30
    assert wait_of("-3") == 0.0
    assert wait_of("tomorrow") is None
    assert wait_of(None) is None


def test_a_server_that_knows_batches_is_asked_once_a_stimulus(clip: Path) -> None:
    with serving(batching) as server:
        result = said(f"endpoint:{server.url}", texts_case(clip, ["a", "b", "c"]))
        assert len(server.requests) == 1
        assert server.requests[0]["texts"] == ["a", "b", "c"]
        assert server.requests[0]["text"] == "a"
    assert result == [Prediction(score=similarity("clip", text)) for text in "abc"]


def refusing(request: dict[str, Any], count: int) -> Reply:
    return Reply(422, b"extra fields") if "texts" in request else good(request, count)


def breaking(request: dict[str, Any], count: int) -> Reply:
    return Reply(500, b"KeyError") if "texts" in request else good(request, count)


@pytest.mark.parametrize(("behaviour", "first"), [(good, 3), (refusing, 4), (breaking, 4)])
def test_a_server_that_does_not_is_asked_text_by_text_from_then_on(behaviour: Any, first: int, clip: Path) -> None:
    with serving(behaviour) as server, predictor_from(f"endpoint:{server.url}") as predictor:
        case = texts_case(clip, ["a", "b", "c"])
        for requests in (first, 3):
            result = predictor.predict([case])[0]
            assert result == [Prediction(score=similarity("clip", text)) for text in "abc"]
            assert len(server.requests) == requests
            server.requests.clear()
    assert CountedMedia.reads == {"clip.wav": 1}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b'{"similarities": [1, 2]}', "the server gave 2 similarities for 3 texts"),
        (b'{"similarities": 1}', "the server gave no similarities for 3 texts"),
        (b'{"similarities": [1, NaN, 2]}', "the server's similarities is nan"),
    ],
)
def test_a_batch_that_is_answered_wrongly(body: bytes, problem: str, clip: Path) -> None:
    with serving(lambda *_: Reply(body=body)) as server:
        result = said(f"endpoint:{server.url}", texts_case(clip, ["a", "b", "c"]))
    assert problem in {each.problem for each in result}
    assert sum(each.problem is None for each in result) == (2 if "nan" in problem else 0)


@pytest.mark.parametrize("behaviour", [good, batching])
def test_categories_get_a_text_each_and_the_best_is_the_answer(behaviour: Any, tmp_path: Path) -> None:
    data = snapshot(tmp_path, 2)
    case = cases(data)[0]
    texts = ["Music that conveys joy.", "Music that conveys grief.", "Music that conveys calm."]
    with serving(behaviour) as server:
        valence, fits, mood = said(f"endpoint:{server.url}", case)
        assert len(server.requests) == (1 if behaviour is batching else 5)
    assert valence == Prediction(score=similarity("clip_000", "Music that is very pleasant."))
    assert fits == Prediction(score=similarity("clip_000", "happy, instrumental"))
    best = max(range(3), key=lambda place: similarity("clip_000", texts[place]))
    score = similarity("clip_000", texts[best])
    assert mood == Prediction(value=float(best), score=score, answer=("joy", "grief", "calm")[best])
    assert run(predictor_from("sham"), [case]).table["value"].to_list() == [None, None, float(best)]


def test_a_category_whose_text_fails_leaves_no_answer(tmp_path: Path) -> None:
    case = cases(snapshot(tmp_path, 2), ["mood"])[0]

    def grief(request: dict[str, Any], count: int) -> Reply:
        if "grief" not in request["text"]:
            return good(request, count)
        return Reply(503) if count == 1 else Reply(body=b"{}")

    with serving(grief) as server, predictor_from(f"endpoint[batch=never]:{server.url}") as predictor:
        assert predictor.predict([case])[0][0] == Prediction(
            problem="the server answered 503 Service Unavailable", retry_after=0.0
        )
        problem = "the server's answer has no similarity, score or logit; it has nothing"
        assert predictor.predict([case])[0][0] == Prediction.failed(problem)


def test_busy_with_a_batch_all_of_it_is_asked_again(clip: Path) -> None:
    def busy(request: dict[str, Any], count: int) -> Reply:
        return Reply(429) if count == 1 else batching(request, count)

    with serving(busy) as server, predictor_from(f"endpoint:{server.url}") as predictor:
        options = RunOptions(retry=Retry(retries=2, first_wait=0.01, longest_wait=0.05))
        done = run(predictor, [texts_case(clip, ["a", "b"])], None, options)
        assert len(server.requests) == 2
    assert done.table["attempts"].to_list() == [2, 2]
    assert done.table["ok"].all()


def test_a_connection_the_server_closed_is_not_used_again(clip: Path) -> None:
    """An idle connection that was closed costs nothing: no attempt, no wait."""

    def once(request: dict[str, Any], count: int) -> Reply:
        return Reply(body=good(request, count).body, headers={"connection": "close"})

    with serving(once) as server, predictor_from(f"endpoint:{server.url}") as predictor:
        asked = [texts_case(clip, ["a"], f"clip_{place}.wav") for place in range(5)]
        done = run(predictor, asked, None, RunOptions(at_once=1, retry=Retry(retries=0)))
    assert done.table["ok"].all()


def test_a_token_is_sent_and_shown_nowhere(clip: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_TOKEN", "very secret")
    with serving() as server, predictor_from(f"endpoint[token_from=MY_TOKEN]:{server.url}") as predictor:
        run(predictor, [texts_case(clip, ["a"])], tmp_path / "run")
        assert server.headers[0]["authorization"] == "Bearer very secret"
        assert "secret" not in predictor.identity
        assert b"very secret" not in pickle.dumps(predictor)
        for path in (tmp_path / "run").iterdir():
            assert b"very secret" not in path.read_bytes()
    monkeypatch.delenv("MY_TOKEN")
    with (
        predictor_from("endpoint[token_from=MY_TOKEN]:http://127.0.0.1:1/") as predictor,
        pytest.raises(HeartfeltError, match="MY_TOKEN is empty"),
    ):
        run(predictor, [texts_case(clip, ["a"])])
