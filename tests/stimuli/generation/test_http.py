"""The generator ``http`` against services that answer in every form, late, wrongly, or with ill intent."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from heartfelt.media.audio import Audio
from heartfelt.stimuli import forecast_make, make_study
from heartfelt.stimuli.generation.result import SystemResult
from tests.facts import mentions
from tests.predictors.hostile import OK, Script, answer, drip, endless, hostile
from tests.predictors.servers import Reply
from tests.stimuli.generation.services import Asked, Service, service
from tests.stimuli.generation.tones import RATE, files_of, study_in, tone

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def wav(tmp_path: Path) -> bytes:
    return Audio(tone(1, 0.5), RATE).save(tmp_path / "x.wav").read_bytes()


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSE_KEY", KEY)


def clip_of(asked: Asked, folder: Path) -> bytes:
    """A clip that depends on the seed in the request."""
    path = folder / "clips" / f"{abs(hash(asked.body))}.wav"
    return Audio(tone(json.loads(asked.body)["seed"], 0.5), RATE).save(path).read_bytes()


def made(folder: Path, url: str, **parts: Any) -> SystemResult:
    system = {"generator": "http", "url": url, "wait": 0.001, "attempts": 1, **parts}
    make = {"seconds": 0.6, "systems": {"A": system}}
    (result,) = make_study(study_in(folder, make)).systems
    return result


def only(result: SystemResult) -> str:
    """Why the first stimulus, or the system, failed."""
    assert result.complete == 0
    return result.stopped or result.failed["A_calm_1"]


@pytest.mark.slow
def test_every_form_of_answer_and_the_key_in_no_file(tmp_path: Path) -> None:
    jobs: dict[str, bytes] = {}
    polls: Counter[str] = Counter()

    def behave(asked: Asked, served: Service) -> Reply:
        if asked.method == "POST":
            assert asked.headers["authorization"] == f"Bearer {KEY}"
            content = clip_of(asked, tmp_path)
            number = str(len(jobs))
            jobs[number] = content
        if asked.path == "/bytes":
            return Reply(body=content, headers={"content-type": "audio/wav"})
        if asked.path == "/base64":
            text = "data:audio/wav;base64," + base64.b64encode(content).decode()
            return Reply(body=json.dumps({"data": [{"audio": text}]}).encode())
        if asked.path == "/url":
            return Reply(body=json.dumps({"file": f"/files/{number}?signed=1"}).encode())
        if asked.path == "/jobs":
            return Reply(202, json.dumps({"id": number, "urls": {"get": f"{served.url}/jobs/{number}"}}).encode())
        if asked.path.startswith("/jobs/"):
            number = asked.path.rpartition("/")[2]
            polls[number] += 1
            status = "Succeeded" if polls[number] > 2 else "running"
            return Reply(body=json.dumps({"status": status, "file": f"{served.url}/files/{number}"}).encode())
        moved = asked.path.removeprefix("/files/").partition("?")[0]
        if not moved.endswith("!"):
            return Reply(302, headers={"location": f"/files/{moved}!"})
        return Reply(body=jobs[moved.rstrip("!")])

    body = {"text": "{prompt}", "seed": "{seed}", "note": "{intent} at {seed}", "options": {"s": ["{seconds}"]}}
    usual = {"json": body, "headers": {"Authorization": "Bearer ${HOUSE_KEY}"}, "model": "house-2"}
    job = {"url_path": "urls.get", "every": 0.001}
    forms: dict[str, dict[str, Any]] = {
        "bytes": {},
        "base64": {"answer": "base64", "path": "data.0.audio"},
        "url": {"answer": "url", "path": "file"},
        "jobs": {"answer": "url", "path": "file", "job": job},
        "jobs-by-id": {"job": {"url": "/jobs/{id}", "every": 0.001, "result_url": "/files/{id}"}},
    }
    with service(behave) as served:
        results = {}
        for name, parts in forms.items():
            result = made(tmp_path / name, f"{served.url}/{name.removesuffix('-by-id')}", **usual, **parts)
            assert (result.complete, result.failed) == (2, {}), (name, result)
            results[name] = files_of(tmp_path / name)
        assert all(files == results["bytes"] for files in results.values())
        sent = next(each for each in map(json.loads, (each.body for each in served.asked)) if each["text"] == "calm")
    assert isinstance(sent["seed"], int)
    assert sent["note"] == f"calm at {sent['seed']}"
    assert sent["options"] == {"s": [0.6]}
    for path in tmp_path.rglob("*.*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
    assert "house-2" in (tmp_path / "jobs" / "stimuli.csv").read_text()


def test_transient_errors_are_asked_again_and_refusals_are_not(tmp_path: Path) -> None:
    def behave(asked: Asked, served: Service) -> Reply:
        text, count = json.loads(asked.body)["prompt"], sum(each.body == asked.body for each in served.asked)
        if "angry" in text:
            return Reply(422, f"this text is refused, {KEY}".encode())
        if count < 4:
            return Reply((429, 503, 500)[count - 1], headers={"retry-after": "0"})
        return Reply(body=clip_of(asked, tmp_path))

    with service(behave) as served:
        result = made(tmp_path / "s", served.url, headers={"X-Key": "${HOUSE_KEY}"}, attempts=3, cost_each=2)
        assert (result.complete, result.cost) == (1, 2.0)
        assert result.failed == {"A_angry_1": "the server answered 422 Unprocessable Entity: this text is refused, ***"}
        assert len(served.asked) == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "parts", "words"),
    [
        (drip(OK + b"x-a: b\r\n" * 400, 0.05), {"timeout": 0.3, "retries": 0}, r"did not answer within 0\.\d+ s"),
        (endless(OK + b"\r\n", b" " * 65_536), {"max_mib": 1}, "longer than 1 MiB"),
        (answer(b"RIFF", length=900), {"retries": 1}, r"the connection ended before the answer did \(2 requests\)"),
        (answer(b"<html>Down</html>", b"content-type: text/html"), {}, "text/html that is no audio.*: <html>Down</html>"),
        (answer(b"RIFF1234WAVEnothing"), {}, "cut off"),
        (answer(b"{}"), {"answer": "url", "path": "a.b"}, "nothing at 'a.b'"),
        (answer(b"<html>"), {"answer": "url", "path": "a"}, "not JSON: <html>"),
        (answer(b'{"a": "%%%"}'), {"answer": "base64", "path": "a"}, "'a' is not base64"),
        (answer(b'{"a": 5}'), {"answer": "base64", "path": "a"}, "'a' of the answer is no text"),
        (answer(b'{"a": "file:///etc/passwd"}'), {"answer": "url", "path": "a"}, "'file:///etc/passwd', which is not fetched"),
        (answer(b'{"a": "http://localhost:1/x"}'), {"answer": "url", "path": "a"}, "private network"),
        (answer(b'{"id": "../../x"}'), {"job": {"url": "/j/{id}", "result_url": "/r"}}, r"the job's id is '\.\./"),
        (answer(b"no", status=b"401 Unauthorized"), {}, "answered 401 Unauthorized: no.* Check the address, and the key"),
        (answer(b"", b"location: http://elsewhere.example/", status=b"307 X"), {}, "redirects are not followed; it points to http://elsewhere"),
        (answer(b"", status=b"x"), {"retries": 0}, "does not speak HTTP"),
    ],
)  # fmt: skip
def test_hostile_services_are_a_reason_in_words(
    script: Script, parts: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with hostile(script) as (url, _):
        result = made(tmp_path / "s", url, **parts)
    assert re.search(words, only(result)), only(result)


@pytest.mark.slow
def test_results_that_move_on_for_ever_jobs_that_fail_and_jobs_that_never_end(tmp_path: Path, wav: bytes) -> None:
    def behave(asked: Asked, served: Service) -> Reply:
        if asked.path == "/go":
            return Reply(body=b'{"id": "7", "file": "/round"}')
        if asked.path == "/round":
            return Reply(302, headers={"location": "/round"})
        return Reply(body=json.dumps({"status": asked.path[1:], "error": f"no GPU for {KEY}"}).encode())

    with service(behave) as served:
        go, headers = f"{served.url}/go", {"X-Key": "${HOUSE_KEY}"}
        assert "redirected more than 5 times" in only(made(tmp_path / "1", go, answer="url", path="file"))
        for status, words in (
            ("failed", "the job failed: no GPU for ***"),
            ("queued", "the job was still 'queued' after 5 s"),
        ):
            job = {"url": f"/{status}", "result_url": "/x", "every": 10}
            result = made(tmp_path / status, go, job=job, timeout=5, headers=headers)
            assert only(result) == words
        # Another host gets the request for the result, and no key.
        with service(lambda *_: Reply(body=wav)) as other:
            asked_first = json.dumps({"file": f"{other.url}/x.wav"}).encode()
            with service(lambda *_: Reply(body=asked_first)) as own:
                result = made(tmp_path / "other", own.url, answer="url", path="file", headers=headers)
            assert result.complete == 1
            assert all("x-key" not in each.headers for each in other.asked)
            assert own.asked[0].headers["x-key"] == KEY


@pytest.mark.slow
def test_a_key_that_is_not_set_stops_before_anything_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOUSE_KEY")
    with service(lambda *_: Reply()) as served:
        result = made(tmp_path / "s", served.url, headers={"X-Key": "${HOUSE_KEY}"})
        assert mentions(only(result), "HOUSE_KEY", "empty")
        assert "HOUSE_KEY is empty" in (forecast_make(tmp_path / "s").systems[0].problem or "")
        assert served.asked == []
    # Nobody listens there any more: tried as often as said, at no cost.
    monkeypatch.setenv("HOUSE_KEY", KEY)
    result = made(tmp_path / "s", served.url, attempts=2, retries=1, cost_each=2)
    assert mentions(only(result), "refused", "2 requests")
    assert (result.cost, result.attempts) == (0.0, 4)


@pytest.mark.parametrize("status", [404, 503])
def test_a_result_that_was_ordered_and_cannot_be_fetched_was_paid_for(status: int, tmp_path: Path) -> None:
    def behave(asked: Asked, served: Service) -> Reply:
        return Reply(body=b'{"file": "/gone"}') if asked.method == "POST" else Reply(status, b"no such file")

    with service(behave) as served:
        result = made(tmp_path / "s", served.url, answer="url", path="file", cost_each=2, retries=0, headers={})
        ordered = sum(each.method == "POST" for each in served.asked)
    assert f"the server answered {status}" in only(result)
    assert result.cost == 2 * ordered == 4


@pytest.mark.parametrize(("late", "complete", "cost"), [(1, 2, 8.0), (99, 0, 12.0)])
def test_every_order_that_a_service_received_is_paid_for(late: int, complete: int, cost: float, tmp_path: Path) -> None:
    """Two clips at 2 an order: an order whose answer was cut off may be charged for like the one that follows."""

    def behave(asked: Asked, served: Service) -> Reply:
        count = sum(each.body == asked.body for each in served.asked)
        cut_off = Reply(body=b"RIFF", headers={"content-length": "900"})
        return Reply(body=clip_of(asked, tmp_path)) if count > late else cut_off

    with service(behave) as served:
        result = made(tmp_path / "s", served.url, cost_each=2, retries=2, request_timeout=0.2, headers={})
    assert (result.complete, result.cost) == (complete, cost)
    assert len(served.asked) == cost / 2
