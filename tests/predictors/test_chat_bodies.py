"""What servers with OpenAI's protocol really send: bodies that end early, hold nothing, or say things their own way.

Every request that may be paid for is on record and counts for a budget, whether or not its answer could be used.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from heartfelt.errors import Interrupted
from heartfelt.predictors import Ask, Case, Media, Retry, Run, RunOptions, predictor_from, run
from heartfelt.predictors.execution.budgets import calls_in
from heartfelt.predictors.execution.work import next_from
from heartfelt.predictors.interface.calls import Budget
from heartfelt.report.site.viewer.read import read_run_folder
from heartfelt.study.scales.scale import YesNo
from heartfelt.study.scales.set_scale import Choice
from tests.facts import mentions
from tests.predictors.hostile import answer, hostile
from tests.predictors.servers import Behaviour, Reply, Served, serving

pytestmark = pytest.mark.server
FORM = '{"q1": {"reason": "so it sounds", "answer": "yes"}}'
COUNTS = {"prompt_tokens": 900, "completion_tokens": 100}
ASK = Ask(question="q", scale=YesNo(type="yes-no"), text="calm", words="Is it calm?", about={"media": "audio"})


def body(content: Any = FORM, finish: str | None = "stop", usage: Any = COUNTS, **message: Any) -> bytes:
    choice = {"message": {"content": content, **message}, "finish_reason": finish}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def spec(url: str, options: str = "") -> str:
    """A model whose request of 1,000 tokens costs 1."""
    return f"chat[input_price=1000,output_price=1000,key_from=none{options}]:seer@{url.rpartition('/')[0]}/v1"


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clip") / "a.wav"
    soundfile.write(path, 0.1 * np.sin(np.arange(800) / 9), 8_000)
    return path


def clips(clip: Path, count: int) -> list[Case]:
    return [Case(stimulus=f"{place}.wav", asks=(ASK,), media=Media(clip)) for place in range(count)]


def asked(
    behaviour: Behaviour | bytes, cases: list[Case], folder: Path | None = None, **options: Any
) -> tuple[Run, Served]:
    retry = Retry(retries=options.pop("retries", 1), first_wait=0.001)
    settings = RunOptions(**{"at_once": 1, "retry": retry, "budget": Budget(limit=99), **options})
    reply = behaviour if callable(behaviour) else lambda *_: Reply(body=behaviour)
    with serving(reply) as served, predictor_from(spec(served.url)) as chat:
        return run(chat, cases, folder, settings), served


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": FORM}],
        [{"type": "output_text", "text": FORM[:9]}, {"type": "text", "text": FORM[9:]}],
        [{"text": FORM}],
        [FORM],
        {"type": "text", "text": FORM},
        f"```json\n{FORM}\n```",
    ],
)
def test_content_in_every_form(content: Any, clip: Path) -> None:
    done, _ = asked(body(content), clips(clip, 1))
    assert done.table["value"].to_list() == [1.0]


@pytest.mark.parametrize(
    "usage",
    [
        COUNTS,
        {"prompt_tokens": 900.0, "completion_tokens": 100.0},
        {"prompt_tokens": "900", "completion_tokens": "100"},
        {"input_tokens": 900, "output_tokens": 100},
        {"prompt_tokens": 900, "completion_tokens": 10, "total_tokens": 1_000},
        {"prompt_tokens": 900, "completion_tokens": 10, "completion_tokens_details": {"reasoning_tokens": 90}},
        {
            "prompt_tokens": 900,
            "completion_tokens": 100,
            "completion_tokens_details": {"reasoning_tokens": 90},
            "total_tokens": 1_000,
        },
    ],
)
def test_tokens_however_they_are_counted(usage: Any, clip: Path) -> None:
    """Some servers leave reasoning, which is paid for, out of the tokens of the answer."""
    done, _ = asked(body(usage=usage), clips(clip, 1))
    assert done.usage is not None
    assert (done.usage.input_tokens, done.usage.output_tokens, done.usage.cost) == (900, 100, 1.0)


UNUSABLE: dict[str, tuple[bytes, str]] = {
    "no choices": (json.dumps({"choices": [], "usage": COUNTS}).encode(), "answered with nothing"),
    "choices null": (json.dumps({"choices": None, "usage": COUNTS}).encode(), "answered with nothing"),
    "message null": (
        json.dumps({"choices": [{"message": None, "finish_reason": "content_filter"}], "usage": COUNTS}).encode(),
        "the model refused: content filter",
    ),
    "content null": (body(None), "answered with nothing"),
    "refusal": (body(None, refusal="I cannot"), "the model refused: I cannot"),
    "refusal as a part": (body([{"type": "refusal", "refusal": "I cannot"}]), "the model refused: I cannot"),
    "length": (body(FORM[:9], "length", {"prompt_tokens": 900, "completion_tokens": 2_000}), "limit max_tokens=2000"),
    "MAX_TOKENS": (body(FORM[:9], "MAX_TOKENS", {"prompt_tokens": 9, "completion_tokens": 2_000}), "limit max_tokens=2000"),
    "length by thinking": (
        body("", "length", {"prompt_tokens": 900, "completion_tokens": 12, "total_tokens": 2_900}),
        "limit max_tokens=2000",
    ),
    "model_length": (body(FORM[:9], "model_length"), "cut off after 100 tokens, by a limit of the server"),
    "error of a choice": (
        json.dumps({"choices": [{"error": {"code": 400, "message": "Too long"}}], "usage": COUNTS}).encode(),
        "the server answered with an error: Too long",
    ),
    "error in place of an answer": (
        json.dumps({"choices": [{"message": {"content": ""}, "error": {"message": "No GPU"}}], "usage": COUNTS}).encode(),
        "the server answered with an error: No GPU",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_answer_that_cannot_be_used_says_why_and_was_paid_for(name: str, clip: Path) -> None:
    content, words = UNUSABLE[name]
    done, served = asked(content, clips(clip, 2), give_up_after=None)
    assert all(words in str(problem) for problem in done.table["problem"]), done.table["problem"].to_list()
    assert len(served.requests) == 2
    assert done.usage is not None
    assert done.usage.requests == 2
    assert done.usage.without_counts == 0
    assert done.usage.cost is not None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the server answered 200 with nothing"),
        (b"<html>Just a moment", "not a chat completion: '<html>Just a moment'"),
        (b'data: {"choices": []}\n\n', "not a chat completion: 'data: "),
        (body()[:60], "the server's answer was cut off: its JSON has no end"),
        (b"[]", "not a chat completion: '[]'"),
        (b"null", "not a chat completion: 'null'"),
        (b'{"error": "no such model"}', "the server answered with an error: no such model"),
    ],
)
def test_a_body_that_is_no_completion_does_not_end_a_budget(content: bytes, words: str, clip: Path) -> None:
    """It is on record without counts, and counts like the dearest case."""
    bodies = iter([body(), content, body(), body(), body()])
    done, served = asked(lambda *_: Reply(body=next(bodies)), clips(clip, 5), budget=Budget(limit=4))
    assert len(served.requests) == 4
    problems = done.table["problem"].to_list()
    assert words in problems[1]
    assert mentions(problems[4], "budget", "4 of 4 spent")
    assert done.usage is not None
    assert (done.usage.requests, done.usage.without_counts, done.usage.cost) == (4, 1, 3.0)


def test_a_byte_order_mark_is_no_part_of_an_answer(clip: Path) -> None:
    done, _ = asked(b"\xef\xbb\xbf" + body(), clips(clip, 1))
    assert done.table["value"].to_list() == [1.0]


@pytest.mark.parametrize("code", [429, 502])
def test_a_passing_error_inside_an_answer_is_asked_again(code: int, clip: Path) -> None:
    wrong = json.dumps({"error": {"code": code, "message": "Provider is busy"}}).encode()
    bodies = iter([wrong, body()])
    done, served = asked(lambda *_: Reply(body=next(bodies)), clips(clip, 1))
    assert len(served.requests) == 2
    row = done.table.row(0, named=True)
    assert (row["value"], row["attempts"]) == (1.0, 2)
    assert json.loads(row["errors"]) == ["the server answered with an error: Provider is busy"]
    assert done.usage is not None
    assert (done.usage.requests, done.usage.cost) == (1, 1.0)


def test_a_body_that_breaks_off_is_on_record_beside_the_answer_that_came_later(clip: Path, tmp_path: Path) -> None:
    cut_off = answer(body()[:40], length=len(body()))
    with hostile(cut_off) as (url, requests), predictor_from(spec(f"{url}/x")) as chat:
        options = RunOptions(retry=Retry(retries=1, first_wait=0.001), budget=Budget(limit=9))
        done = run(chat, clips(clip, 1), tmp_path, options)
    assert len(requests) == 2
    assert done.table["problem"].to_list() == [
        "the server's answer was cut off: the connection ended before the answer did"
    ]
    assert done.calls is not None
    assert done.calls["lost"].to_list() == done.table["problem"].to_list() * 2
    assert done.calls["status"].to_list() == [None, None]
    assert {each.lost for each in read_run_folder(tmp_path).exchanges.values()} == set(done.table["problem"])
    assert done.usage is not None
    assert (done.usage.requests, done.usage.without_counts) == (2, 2)
    # It is read again from the journal, and counts like the dearest case once that is known.
    assert [call.lost is not None for _, call in calls_in(tmp_path)] == [True, True]
    later, served = asked(body(), clips(clip, 3), tmp_path, budget=Budget(limit=4))
    assert len(served.requests) == 2
    assert mentions(later.table["problem"].to_list()[2], "budget", "4 of 4 spent")


def test_an_answer_that_comes_too_late_is_on_record(clip: Path) -> None:
    with (
        serving(lambda *_: Reply(wait=0.4, body=body())) as served,
        predictor_from(spec(served.url, ",timeout=0.1")) as chat,
    ):
        done = run(chat, clips(clip, 1), options=RunOptions(retry=Retry(retries=0)))
    assert done.calls is not None
    assert done.calls["lost"].to_list() == ["the server did not answer within 0.1 s"]


@pytest.mark.slow
def test_requests_of_a_case_that_is_waited_for_no_longer_are_on_record(pair: Case, tmp_path: Path) -> None:
    """The first order was answered and is paid for; the second is at the server when the time for the case is over."""
    first, over = iter([Reply(body=chosen("A"))]), threading.Event()

    def behave(request: dict[str, Any], count: int) -> Reply:
        del request, count
        if (answered := next(first, None)) is not None:
            return answered
        over.wait(10)
        return Reply(body=chosen("A"))

    with serving(behave) as served, predictor_from(spec(served.url)) as chat:
        done = run(chat, [pair], tmp_path, RunOptions(retry=Retry(retries=0), timeout=0.3))
        over.set()
    assert done.table["problem"].to_list() == ["no answer within 0.3 s"]
    assert done.calls is not None
    assert done.calls.sort("at")["lost"].to_list() == [None, "no answer within 0.3 s"]
    assert done.usage is not None
    assert (done.usage.requests, done.usage.without_counts, done.usage.cost) == (2, 1, 1.0)


def test_what_was_never_sent_is_not_on_record(clip: Path) -> None:
    with serving() as served:
        url = served.url
    with predictor_from(spec(url)) as chat:
        done = run(chat, clips(clip, 1), options=RunOptions(retry=Retry(retries=0)))
    assert "cannot be reached" in done.table["problem"][0]
    assert done.calls is None


@pytest.fixture
def pair(clip: Path) -> Case:
    members = tuple(Case(stimulus=name, asks=(), media=Media(clip)) for name in ("a", "b"))
    ask = Ask(
        question="q", scale=Choice(type="choice"), text="calm", words="Which is calmer?", about={"media": "audio"}
    )
    return Case(stimulus="a|b", asks=(ask,), members=members)


def chosen(letter: str) -> bytes:
    return body(json.dumps({"q1": {"reason": "so it sounds", "answer": letter}}))


def test_the_order_of_a_pair_that_was_paid_for_is_not_asked_again(pair: Case, tmp_path: Path) -> None:
    """The server was down for the second order: a later run asks that one alone."""
    answers = iter([Reply(body=chosen("A")), Reply(503, b"down"), Reply(body=chosen("B"))])
    with serving(lambda *_: next(answers)) as served:
        for ok in (False, True):
            with predictor_from(spec(served.url)) as chat:
                done = run(chat, [pair], tmp_path, RunOptions(retry=Retry(retries=0), budget=Budget(limit=2)))
            assert done.table["ok"].to_list() == [ok]
    assert len(served.requests) == 3
    assert json.loads(done.table["members"][0]) == {"a": 1.0, "b": 0.0}
    assert done.calls is not None
    assert (done.calls.height, done.calls["cost"].to_list()) == (2, [1.0, 1.0])
    assert done.calls["id"].n_unique() == 2


@pytest.mark.parametrize("second", [Reply(503, b"busy"), Reply(422, b"no"), Reply(body=chosen("maybe"))])
def test_both_orders_of_a_pair_stay_on_record_when_one_fails(second: Reply, pair: Case, tmp_path: Path) -> None:
    first = iter([Reply(body=chosen("A"))])
    done, served = asked(lambda *_: next(first, second), [pair], tmp_path)
    assert not done.table["ok"].any()
    assert done.usage is not None
    paid = 2 if second.status == 200 else 1
    assert (done.usage.requests, done.usage.cost) == (paid, float(paid))
    assert len([call for _, call in calls_in(tmp_path)]) == paid
    assert len(served.requests) == (3 if second.status == 503 else 2)


def test_what_is_in_the_cache_is_answered_though_a_budget_is_spent(clip: Path, tmp_path: Path) -> None:
    cache = tmp_path / "answers.sqlite"
    with serving(lambda *_: Reply(body=body())) as served:
        for folder, budget in (("one", Budget(limit=9)), ("two", Budget(limit=0))):
            options = RunOptions(cache=cache, budget=budget)
            with predictor_from(spec(served.url)) as chat:
                done = run(chat, clips(clip, 3), tmp_path / folder, options)
            assert done.table["ok"].all()
    assert len(served.requests) == 1, "the three clips are the same"
    assert done.counts["cached"] == 3


@pytest.mark.parametrize("limit", [1, 3])
def test_a_budget_is_kept_whatever_the_batch(limit: int, clip: Path) -> None:
    done, served = asked(body(), clips(clip, 8), batch=4, budget=Budget(limit=limit))
    assert len(served.requests) == limit == done.counts["answered"]


def test_a_failure_in_a_batch_does_not_pay_for_the_others_again(clip: Path) -> None:
    count = iter(range(99))
    done, served = asked(
        lambda *_: Reply(503, b"busy") if next(count) == 2 else Reply(body=body()), clips(clip, 4), batch=4, budget=None
    )
    assert done.table["ok"].all()
    assert len(served.requests) == 5
    assert done.table["attempts"].to_list() == [1, 1, 2, 1]


def test_what_is_under_way_at_ctrl_c_is_still_recorded(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three requests are at the server when the run is interrupted: their answers are paid for, and kept."""
    from heartfelt.predictors.execution import engines

    reached, interrupted = threading.Barrier(4), threading.Event()
    waits: list[float | None] = []

    def behave(request: dict[str, Any], count: int) -> Reply:
        del request, count
        reached.wait(10)
        interrupted.wait(10)
        return Reply(body=body())

    def pressed(box: Any, seconds: float | None = None) -> Any:
        """The first wait for an answer meets Ctrl-C."""
        if not waits:
            waits.append(seconds)
            reached.wait(10)
            interrupted.set()
            raise KeyboardInterrupt
        return next_from(box, seconds)

    monkeypatch.setattr(engines, "next_from", pressed)
    with pytest.raises(Interrupted, match="kept: 3 of 9 questions answered"):
        asked(behave, clips(clip, 9), tmp_path, at_once=3, budget=None)
    assert [call.cost for _, call in calls_in(tmp_path)] == [1.0] * 3
