"""Both network predictors against servers that drip, never end, lie or loop: one deadline, one size, a reason in words."""

from __future__ import annotations

import gzip
import json
import resource
import socket
import struct
import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import numpy as np
import pytest
import soundfile

from heartfelt.predictors import Ask, Case, Media, Retry, RunOptions, predictor_from, run
from heartfelt.predictors.hosted.http import LONGEST_ANSWER, is_transient, wait_of
from heartfelt.study.scales.scale import YesNo
from tests.cases import check_all
from tests.predictors.hostile import OK, Script, answer, drip, endless, hostile
from tests.predictors.servers import Reply, serving

YES = YesNo(type="yes-no")
GOOD = json.dumps(
    {"similarity": 0.5, "choices": [{"message": {"content": '{"q1": {"answer": "yes"}}'}, "finish_reason": "stop"}]}
).encode()


def bomb(megabytes: int) -> bytes:
    """So many megabytes of spaces, compressed without ever having them in memory."""
    press = zlib.compressobj(1, wbits=31)
    return b"".join(press.compress(b" " * 1_000_000) for _ in range(megabytes)) + press.flush()


HOSTILE: dict[str, tuple[Script, str]] = {
    "dripping headers": (drip(OK + b"x-a: b\r\n" * 9_999, 0.05), "did not answer within 0.4 s"),
    "dripping body": (drip(OK + b"content-length: 99999\r\n\r\n" + b" " * 99_999, 0.02), "did not answer within 0.4 s"),
    "endless informational answers": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), "did not answer within 0.4 s"),
    "endless header": (endless(OK + b"x-a: ", b"a" * 65_536), "does not speak HTTP"),
    "endless headers": (endless(OK, b"x-a: b\r\n"), "does not speak HTTP"),
    "endless body": (endless(OK + b"\r\n", b" " * 1_048_576), "longer than 16 MiB"),
    "endless chunks": (
        endless(OK + b"transfer-encoding: chunked\r\n\r\n", b"100000\r\n" + b" " * 0x100000 + b"\r\n"),
        "longer than 16 MiB",
    ),
    "gzip bomb": (lambda to: answer(bomb(200), b"content-encoding: gzip")(to), "longer than 16 MiB"),
    "no gzip": (answer(b"plain", b"content-encoding: gzip"), "says it is compressed with gzip and is not"),
    "half a gzip": (answer(gzip.compress(GOOD)[:-20], b"content-encoding: gzip"), "cut off"),
    "unknown compression": (answer(b"x", b"content-encoding: br"), "compressed with 'br'"),
    "stated length too long": (
        lambda to: answer(GOOD, length=len(GOOD) + 9)(to),
        "the connection ended before the answer did",
    ),
    "redirect to itself": (
        answer(b"", b"location: /v1", status=b"307 Temporary Redirect"),
        "redirects are not followed; it points to /v1",
    ),
    "half a JSON": (answer(b"{"), "cut off: its JSON has no end|not JSON"),
    "half characters": (answer(b'{"similarity": "\xff\xfe"}'), "not a chat completion|not JSON"),
    "nested without end": (answer(b"[" * 200_000), "not a chat completion|not JSON"),
    "NaN": (answer(b'{"similarity": NaN, "choices": [NaN]}'), "not a chat completion|similarity is nan"),
    "a number without end": (
        answer(b'{"similarity": %s, "choices": 1}' % (b"9" * 400)),
        "not a chat completion|similarity is out of range: 999",
    ),
    "no HTTP": (answer(b"", status=b"x"), "does not speak HTTP"),
}


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clip") / "a.wav"
    soundfile.write(path, 0.1 * np.sin(np.arange(800) / 9), 8_000)
    return path


def specs(url: str, timeout: float = 0.4) -> dict[str, str]:
    return {"chat": f"chat[timeout={timeout}]:seer@{url}", "endpoint": f"endpoint[timeout={timeout}]:{url}"}


def asked(spec: str, clip: Path, retry: Retry | None = None) -> tuple[bool, str, int]:
    case = Case(
        stimulus="a.wav",
        asks=(Ask(question="q", scale=YES, text="calm", words="Is it calm?", about={"media": "audio"}),),
        media=Media(clip),
    )
    with predictor_from(spec) as predictor:
        row = run(predictor, [case], options=RunOptions(retry=retry or Retry(retries=0))).table.row(0, named=True)
    return row["ok"], row["problem"] or "", row["attempts"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["chat", "endpoint"])
@check_all("name", HOSTILE)
def test_a_hostile_server_costs_neither_time_nor_memory(name: str, kind: str, clip: Path) -> None:
    script, problem = HOSTILE[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with hostile(script) as (url, _):
        ok, message, _ = asked(specs(url, 0.4 if "did not" in problem else 20)[kind], clip)
    assert not ok
    assert any(part in message for part in problem.split("|")), message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * LONGEST_ANSWER / 1024


@pytest.mark.slow
def test_a_dripping_server_is_left_at_the_deadline(clip: Path) -> None:
    """With a timeout for every read instead, 60,000 bytes at one in 20 ms would take twenty minutes."""
    for kind in ("chat", "endpoint"):
        with hostile(drip(OK + b"content-length: 60000\r\n\r\n" + b" " * 60_000, 0.02)) as (url, _):
            begun = time.monotonic()
            assert not asked(specs(url, 0.5)[kind], clip)[0]
            assert time.monotonic() - begun > 0.4


@pytest.mark.parametrize("kind", ["chat", "endpoint"])
@pytest.mark.parametrize(
    "script",
    [
        answer(GOOD),
        answer(gzip.compress(GOOD), b"content-encoding: gzip"),
        answer(zlib.compress(GOOD), b"content-encoding: deflate"),
        answer(GOOD + b"more than was stated", length=len(GOOD)),
        drip(OK + b"content-length: %d\r\n\r\n%s" % (len(GOOD), GOOD), 0.001),
        lambda to: to.sendall(OK + b"connection: close\r\n\r\n" + GOOD),
    ],
    ids=["plain", "gzip", "deflate", "stated length too short", "slow but in time", "no stated length"],
)
def test_what_can_be_read_is_read(script: Script, kind: str, clip: Path) -> None:
    with hostile(script) as (url, _):
        assert asked(specs(url, 20)[kind], clip)[:2] == (True, "")


def broken_off(to: socket.socket) -> None:
    """Send half an answer, then reset the connection."""
    to.sendall(OK + b"content-length: %d\r\n\r\n" % len(GOOD) + GOOD[:20])
    time.sleep(0.05)
    to.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    to.close()


@pytest.mark.parametrize("kind", ["chat", "endpoint"])
@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (answer(GOOD[:20], length=len(GOOD)), "the server's answer was cut off"),
        (
            lambda to: to.sendall(OK + b"transfer-encoding: chunked\r\n\r\n14\r\n" + GOOD[:20]),
            "the server's answer was cut off",
        ),
        (answer(gzip.compress(GOOD)[:-20], b"content-encoding: gzip"), "the server's answer was cut off"),
        (lambda to: to.sendall(OK + b"connection: close\r\n\r\n" + GOOD[:-4]), "the server's answer was cut off"),
        (lambda to: to.sendall(OK + b"connection: close\r\n\r\n" + GOOD[:9]), "the server's answer was cut off"),
        (broken_off, "the connection to the server broke: Connection reset by peer"),
        (lambda _: None, "the server closed the connection without an answer"),
    ],
    ids=["stated length", "chunks", "gzip", "an object", "a text", "a reset", "nothing"],
)
def test_an_answer_that_is_cut_off_is_asked_for_again(script: Script, problem: str, kind: str, clip: Path) -> None:
    with hostile(script) as (url, requests):
        ok, message, attempts = asked(specs(url, 20)[kind], clip, Retry(retries=1, first_wait=0.01))
    assert (ok, attempts, len(requests)) == (False, 2, 2)
    assert message.startswith(problem)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 507, 520, 521, 522, 524, 529, 530, 598])
def test_what_may_pass_is_asked_again(status: int, clip: Path) -> None:
    assert is_transient(status)
    for kind in ("chat", "endpoint"):
        replies = iter([Reply(status), Reply(status)])
        with serving(lambda *_, left=replies: next(left, None) or Reply(body=GOOD)) as served:
            message = asked(specs(served.url, 20)[kind], clip, Retry(first_wait=0.001))
        assert message == (True, "", 3)


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 409, 413, 418, 501, 505, 511])
def test_what_stays_is_asked_once(status: int, clip: Path) -> None:
    assert not is_transient(status)
    with serving(lambda *_: Reply(status)) as served:
        ok, problem, attempts = asked(specs(served.url, 20)["endpoint"], clip, Retry(first_wait=0.001))
    assert (ok, attempts) == (False, 1)
    assert str(status) in problem


def in_seconds(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize("header", [lambda: "3600", lambda: in_seconds(3_600)], ids=["seconds", "date"])
@pytest.mark.parametrize("kind", ["chat", "endpoint"])
def test_too_long_a_wait_is_a_reason(kind: str, header: Callable[[], str], clip: Path) -> None:
    with serving(lambda *_: Reply(429, b"", {"retry-after": header()})) as served:
        ok, problem, attempts = asked(specs(served.url, 20)[kind], clip, Retry())
    assert (ok, attempts) == (False, 1)
    assert "429 Too Many Requests" in problem
    assert "the server asks to wait 3,600 s" in problem or "the server asks to wait 3,599 s" in problem
    assert "no more than 900 s" in problem


def test_a_wait_above_a_minute_is_honoured() -> None:
    assert Retry().wait("a", 1, 138.0) == 138.0
    assert Retry().wait("a", 1, 900.0) == 900.0
    assert Retry().wait("a", 1, 900.1) is None
    assert Retry(longest_retry_after=5_000).wait("a", 1, 4_000.0) == 4_000.0


@pytest.mark.slow
def test_a_wait_is_waited(clip: Path) -> None:
    """Waited for as long as the server asks, although that is longer than the longest wait of its own accord."""
    replies = iter([Reply(503, b"", {"retry-after": "1"})])
    begun = time.monotonic()
    with serving(lambda *_: next(replies, None) or Reply(body=GOOD)) as served:
        assert asked(specs(served.url, 20)["chat"], clip, Retry(first_wait=0.001, longest_wait=0.01))[0]
    assert time.monotonic() - begun >= 1.0


@pytest.mark.parametrize("header", ["nan", "inf", "-inf", "tomorrow", "", "Mon, 99 Foo 2020 99:99:99 GMT", "1e400"])
def test_a_wait_that_is_none_is_ignored(header: str) -> None:
    assert wait_of(header) is None


@pytest.mark.parametrize("kind", ["chat", "endpoint"])
def test_a_key_that_the_server_repeats_is_not_reported(kind: str, clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "s3cr3t-word")
    option = "key_from" if kind == "chat" else "token_from"
    for status in (b"403 Forbidden", b"503 Service Unavailable", b"200 OK"):
        with hostile(answer(b"no use for s3cr3t-word", status=status)) as (url, _):
            spec = specs(url, 20)[kind].replace("[", f"[{option}=MY_KEY,")
            ok, message, _ = asked(spec, clip)
        assert not ok
        assert "s3cr3t-word" not in message
        assert "no use for ***" in message
