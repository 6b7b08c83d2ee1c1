"""What a language model is told before it judges, what counts as its answer, and what is kept of every request."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.predictors import Case, Prediction, Retry, RunOptions, cases, predictor_from, run
from heartfelt.predictors.hosted import chat as chat_module
from heartfelt.predictors.hosted import chat_form
from heartfelt.predictors.hosted.chat import Chat
from heartfelt.predictors.hosted.chat_form import read_form, without_thoughts
from heartfelt.predictors.interface.calls import CALLS
from tests.cases import check_all
from tests.predictors.servers import Reply, Served, serving
from tests.predictors.studies import snapshot

QUICK = RunOptions(retry=Retry(retries=0))
ANSWERS = {"valence": 6, "fits": "yes", "mood": "calm"}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEARTFELT_CHAT_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def words(request: dict[str, Any]) -> str:
    return "\n".join(
        part["text"]
        for message in request["messages"]
        for part in (message["content"] if isinstance(message["content"], list) else [])
        if part["type"] == "text"
    )


def names_in(request: dict[str, Any]) -> list[str]:
    """The questions of a request, recognised by their words."""
    known = {"How pleasant": "valence", "Does it fit": "fits", "Which mood": "mood"}
    lines = [line for line in words(request).splitlines() if line[:1] == "q"]
    return [next(name for start, name in known.items() if start in line) for line in lines]


def filled(request: dict[str, Any], answers: dict[str, Any] | None = None) -> str:
    answers = answers or ANSWERS
    return json.dumps(
        {
            f"q{place}": {"reason": "so it sounds", "answer": answers[name]}
            for place, name in enumerate(names_in(request), start=1)
        }
    )


def completion(content: Any, choice: dict[str, Any] | None = None, **top: Any) -> Reply:
    message = {"role": "assistant", "content": content}
    whole = {"choices": [{"message": message, "finish_reason": "stop", **(choice or {})}], **top}
    return Reply(body=json.dumps(whole).encode())


def good(request: dict[str, Any], count: int) -> Reply:
    return completion(
        filled(request),
        model="seer-2026-01",
        system_fingerprint="fp_7",
        usage={
            "prompt_tokens": 1_000,
            "completion_tokens": 200,
            "prompt_tokens_details": {"cached_tokens": 40},
            "completion_tokens_details": {"reasoning_tokens": 150},
        },
    )


def spec(served: Served, options: str = "") -> str:
    return f"chat{f'[{options}]' if options else ''}:seer@{served.url.rsplit('/', 1)[0]}/v1"


def study_cases(folder: Path, n: int = 4) -> list[Case]:
    return cases(snapshot(folder / "study", n))


def test_the_judge_is_not_told_the_expected_answer(tmp_path: Path) -> None:
    """Neither the scale's upper end as a description, nor the intent, the prompt or the system."""
    asked = study_cases(tmp_path)
    with serving(good) as served, predictor_from(spec(served)) as chat:
        table = run(chat, asked, options=QUICK).table
    assert table["ok"].all()
    judged = [request for request in served.requests if "valence" in names_in(request)]
    assert len(judged) == len(asked)
    for request in judged:
        text = words(request)
        assert names_in(request) == ["valence", "mood"]
        for leak in ("It is about", "Music that is", "happy", "sad,", "instrumental", "clip_"):
            assert leak not in text
        assert '"A"' not in text
        assert "system" not in text
    assert table.filter(pl.col("question") == "valence")["note"].is_null().all()


def test_what_raters_were_shown_goes_with_that_question_alone(tmp_path: Path) -> None:
    with serving(good) as served, predictor_from(spec(served)) as chat:
        table = run(chat, study_cases(tmp_path), options=QUICK).table
    fits = [request for request in served.requests if names_in(request) == ["fits"]]
    assert len(fits) == 4
    for shown in ("happy, instrumental", "sad, instrumental"):
        line = f"Shown to raters with this question: {shown}"
        assert sum(line in words(request) for request in fits) == 2
    notes = table.filter(pl.col("question") == "fits")["note"]
    assert set(notes) == {"the model was shown the prompt, as raters were"}


@pytest.mark.parametrize(
    ("context", "told"),
    [
        ("prompt", ["happy, instrumental"]),
        ("intent", ["what it was meant to convey: happy"]),
        ("system+prompt", ["what made it: A", "happy, instrumental"]),
    ],
)
def test_context_is_told_on_request_and_said_so(tmp_path: Path, context: str, told: list[str]) -> None:
    with serving(good) as served, predictor_from(spec(served, f"context={context}")) as chat:
        table = run(chat, study_cases(tmp_path, 1), options=QUICK).table
        identity = chat.identity
    for request in served.requests:
        assert all(text in words(request) for text in told)
    assert table["note"].str.contains("the model was told").all()
    assert all(part in identity for part in context.split("+"))
    with pytest.raises(InputError, match=r"context.*'label'"):
        Chat.make("m@http://host/v1", {"context": "label"})


FORM = '{"q1": {"answer": 7}}'
DRAFT = '{"q1": {"answer": 2}}'


@check_all(
    "content",
    [
        f"<think>First {DRAFT}</think>{FORM}",
        f"<think>\n{DRAFT}\n</think>\n\n```json\n{FORM}\n```",
        f"<thinking>{DRAFT}</thinking>{FORM}",
        f"<THINK>{DRAFT}</THINK >{FORM}",
        f"<reasoning>{DRAFT}</reasoning>{FORM}",
        f"<think>a <think>{DRAFT}</think> {DRAFT}</think>{FORM}",
        f"<think>{DRAFT}<thinking>{DRAFT}</thinking>{DRAFT}</think>{FORM}",
        f"{DRAFT} so it is low</think>{FORM}",
        f"<|begin_of_thought|>{DRAFT}<|end_of_thought|>{FORM}",
        f"[THINK]{DRAFT}[/THINK]{FORM}",
        f"◁think▷{DRAFT}◁/think▷{FORM}",
        f'<think type="draft">{DRAFT}</think>{FORM}<think>or {DRAFT}',
        f"Perhaps {DRAFT}. No: {FORM}",
        '{"q1": {"reason": "like <think> in a song", "answer": 7}}',
    ],
)
def test_a_draft_is_not_the_answer(tmp_path: Path, content: str) -> None:
    valence = [ask for ask in study_cases(tmp_path, 1)[0].asks if ask.question == "valence"]
    assert [each.value for each in read_form(content, valence)] == [7.0]


@pytest.mark.parametrize(
    "content", [f"<think>{DRAFT}", f"<thinking>{DRAFT} and then", f"<think>a<think>{DRAFT}</think>"]
)
def test_a_draft_without_an_answer_is_a_problem(tmp_path: Path, content: str) -> None:
    valence = [ask for ask in study_cases(tmp_path, 1)[0].asks if ask.question == "valence"]
    (prediction,) = read_form(content, valence)
    assert prediction.value is None
    assert "still reasoning when its answer ended" in (prediction.problem or "")


def test_text_without_tags_stays_as_it_is() -> None:
    for text in ("a < b and think > c", "I think so", "<b>bold</b>", ""):
        assert without_thoughts(text) == (text, False)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_a_reasoning_field_is_not_the_answer(tmp_path: Path, field: str) -> None:
    asked = [replace(case, asks=case.asks[:1]) for case in study_cases(tmp_path, 2)]
    contents = itertools.cycle([None, FORM])

    def behave(request: dict[str, Any], count: int) -> Reply:
        message = {"content": next(contents), field: DRAFT}
        return Reply(body=json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())

    with serving(behave) as served, predictor_from(spec(served)) as chat:
        done = run(chat, asked, options=RunOptions(at_once=1, retry=Retry(retries=0)))
    assert done.table["problem"].to_list() == ["the model reasoned but gave no answer", None]
    assert done.table["value"].to_list() == [None, 7.0]
    assert done.calls is not None
    assert done.calls["reasoning"].to_list() == [DRAFT, DRAFT]


def test_content_in_parts_is_read_without_its_reasoning(tmp_path: Path) -> None:
    parts = [{"type": "thinking", "thinking": DRAFT}, {"type": "text", "text": FORM}]
    asked = [replace(case, asks=case.asks[:1]) for case in study_cases(tmp_path, 1)]
    with serving(lambda *_: completion(parts)) as served, predictor_from(spec(served)) as chat:
        assert run(chat, asked, options=QUICK).table["value"].to_list() == [7.0]


def test_a_question_that_is_asked_again_is_asked_with_the_same_words(tmp_path: Path) -> None:
    """One answer of a form is off the scale; the next run asks for it alone, but sends what was sent before."""
    asked = study_cases(tmp_path, 3)
    moods = iter(["rage", "rage", "rage"])

    def behave(request: dict[str, Any], count: int) -> Reply:
        mood = next(moods, "joy") if "mood" in names_in(request) else "joy"
        return completion(filled(request, {**ANSWERS, "mood": mood, "valence": len(served.requests)}))

    with serving(behave) as served:
        with predictor_from(spec(served)) as chat:
            first = run(chat, asked, tmp_path / "out", QUICK)
        sent = [request for request in served.requests if "mood" in names_in(request)]
        before = len(served.requests)
        with predictor_from(spec(served)) as chat:
            second = run(chat, asked, tmp_path / "out", QUICK)
        again = served.requests[before:]
    failed = pl.col("question") == "mood"
    assert not first.table.filter(failed)["ok"].any()
    assert second.table["ok"].all()
    assert sorted(map(json.dumps, again)) == sorted(map(json.dumps, sent))
    assert second.table.filter(failed)["attempts"].to_list() == [2, 2, 2]
    retained = pl.col("question") == "valence"
    assert first.table.filter(retained)["value"].equals(second.table.filter(retained)["value"])
    assert second.calls is not None
    assert second.calls.height == 3 + 3 + 3
    assert second.calls.filter(pl.col("questions") == "valence mood").height == 6
    by_request = second.calls.group_by("request").len().filter(pl.col("len") == 2)
    assert by_request.height == 3


def test_other_questions_in_the_request_are_another_request(tmp_path: Path) -> None:
    """An answer given beside one set of questions does not stand in for one given beside another."""
    data = snapshot(tmp_path / "study", 2)
    cache = tmp_path / "answers.sqlite"
    with serving(good) as served:
        for questions in (["valence"], ["valence", "mood"]):
            with predictor_from(spec(served, "version=1")) as chat:
                options = RunOptions(retry=Retry(retries=0), cache=cache)
                run(chat, cases(data, questions), tmp_path / "out", options)
    assert [names_in(request) for request in served.requests] == [["valence"]] * 2 + [["valence", "mood"]] * 2


def test_every_request_is_on_record(tmp_path: Path) -> None:
    asked = study_cases(tmp_path, 2)
    options = "input_price=3,output_price=15"
    with serving(good) as served, predictor_from(spec(served, options)) as chat:
        done = run(chat, asked, tmp_path / "out", QUICK)
    calls = CALLS.check(pl.read_parquet(tmp_path / "out" / "calls.parquet"), "calls")
    assert calls.height == len(served.requests) == 4
    assert set(done.table["call"]) == set(calls["id"])
    row = calls.filter(pl.col("questions") == "valence mood").row(0, named=True)
    assert (row["requested_model"], row["model"]) == ("seer", "seer-2026-01")
    assert (row["fingerprint"], row["finish_reason"]) == ("fp_7", "stop")
    assert (row["input_tokens"], row["cached_tokens"]) == (1_000, 40)
    assert (row["output_tokens"], row["reasoning_tokens"]) == (200, 150)
    assert row["cost"] == pytest.approx(1_000 * 3e-6 + 200 * 15e-6)
    assert json.loads(row["completion"])["q1"]["answer"] == 6
    assert len(row["request"]) == 64
    answer = json.loads((tmp_path / "out" / "run.json").read_text())
    assert answer["usage"]["requests"] == 4
    assert answer["usage"]["input_tokens"] == 4_000
    assert answer["usage"]["cost"] == pytest.approx(4 * 0.006)
    assert answer["usage"]["models"] == ["seer-2026-01"]
    journal = (tmp_path / "out" / "journal.jsonl").read_text()
    assert "fp_7" in journal
    assert "so it sounds" in journal


def test_answers_from_the_cache_keep_their_record_and_cost_nothing_again(tmp_path: Path) -> None:
    asked = study_cases(tmp_path, 2)
    options = RunOptions(retry=Retry(retries=0), cache=tmp_path / "answers.sqlite")
    with serving(good) as served:
        runs = []
        for name in ("one", "two"):
            with predictor_from(spec(served, "input_price=3,output_price=15")) as chat:
                runs.append(run(chat, asked, tmp_path / name, options))
    assert len(served.requests) == 4
    first, second = runs
    assert first.usage is not None
    assert second.usage is not None
    assert first.usage.cost == pytest.approx(0.024)
    assert (second.usage.requests, second.usage.cost) == (0, None)
    assert second.calls is not None
    assert second.calls["cached"].all()
    assert second.calls["completion"].null_count() == 0


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (completion("I see a lake."), "I see a lake."),
        (Reply(body=b"<html>"), "<html>"),
        (completion("{", {"finish_reason": "length"}), "{"),
    ],
)
def test_what_could_not_be_read_is_on_record_too(tmp_path: Path, reply: Reply, kept: str) -> None:
    with serving(lambda *_: reply) as served, predictor_from(spec(served)) as chat:
        done = run(chat, study_cases(tmp_path, 1), tmp_path / "out", QUICK)
    assert not done.table["ok"].any()
    assert done.table["call"].null_count() == 0
    assert done.calls is not None
    assert set(done.calls["completion"]) == {kept}


@pytest.mark.parametrize("usage", [None, 5, {"prompt_tokens": "many"}, {"prompt_tokens": -1}, {"prompt_tokens": True}])
def test_counts_that_are_none_are_missing(tmp_path: Path, usage: Any) -> None:
    with (
        serving(lambda request, _: completion(filled(request), usage=usage)) as served,
        predictor_from(spec(served, "input_price=1,output_price=1")) as chat,
    ):
        done = run(chat, study_cases(tmp_path, 1), options=QUICK)
    assert done.table["ok"].all()
    assert done.usage is not None
    assert (done.usage.cost, done.usage.without_counts) == (None, 2)


def _identities() -> Iterator[str]:
    base = "m@http://host/v1"
    yield Chat.make(base).identity
    for option in ("temperature=0.5", "reasons=no", "max_tokens=50", "form=plain", "context=prompt", "version=2"):
        name, _, value = option.partition("=")
        yield Chat.make(base, {name: value}).identity


def test_the_prompt_hash_covers_everything_that_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    identities = list(_identities())
    assert len(set(identities)) == len(identities)
    before = identities[0]
    changed = {
        "SYSTEM": "Answer.",
        "MEDIA_PARAMETERS": "all as PNG",
        "allowed": lambda scale: f"on {scale.type}",
        "questions": lambda *_, **__: "Say something.",
    }
    for name, value in changed.items():
        with monkeypatch.context() as patch:
            for module in (chat_module, chat_form):
                patch.setattr(module, name, value, raising=False)
            assert Chat.make("m@http://host/v1").identity != before, name
    assert Chat.make("m@http://host/v1", {"input_price": "1", "output_price": "2"}).identity == before


def test_one_price_alone_is_refused() -> None:
    with pytest.raises(InputError, match="one of the two prices"):
        Chat.make("m@http://host/v1", {"input_price": "1"})


def test_a_paid_answer_is_kept_when_the_next_request_meets_an_error(tmp_path: Path) -> None:
    def behave(request: dict[str, Any], count: int) -> Reply:
        return Reply(503) if names_in(request) == ["fits"] else good(request, count)

    with serving(behave) as served, predictor_from(spec(served)) as chat:
        table = run(chat, study_cases(tmp_path, 1), options=RunOptions(retry=Retry(retries=1, first_wait=0.001))).table
    assert table["ok"].to_list() == [True, False, True]
    assert table["attempts"].to_list() == [1, 2, 1]
    assert [names_in(request) for request in served.requests] == [["valence", "mood"], ["fits"], ["fits"]]


def test_a_prediction_travels_through_the_journal_unchanged() -> None:
    from heartfelt.predictors.execution.store import _as_json, _prediction
    from heartfelt.predictors.interface.calls import Call

    call = Call(
        id="a",
        request="b",
        at="c",
        questions=("q",),
        requested_model="m",
        form="plain",
        completion="{}",
        input_tokens=3,
        cost=0.1,
    )
    prediction = Prediction(value=1.0, shares={"a": 1.0}, flag="odd", call=call)
    assert _prediction(json.loads(json.dumps(_as_json(prediction)))) == prediction
