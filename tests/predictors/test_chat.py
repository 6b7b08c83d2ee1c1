"""``chat`` against real servers on this machine: one that follows a script, one with a tiny language model behind it."""

from __future__ import annotations

import base64
import io
import json
import logging
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from PIL import Image

from heartfelt.errors import InputError
from heartfelt.predictors import Ask, Case, Media, Prediction, Retry, RunOptions, TransientError, predictor_from, run
from heartfelt.predictors.hosted.chat import Chat
from heartfelt.predictors.hosted.chat_form import read_form
from heartfelt.study.scales.answer import Scale
from heartfelt.study.scales.scale import Categories, FreeText, Numeric, Ordered, Points, Tags, YesNo
from tests.facts import mentions
from tests.predictors.servers import Reply, Served, serving

KEY = "sk-a-very-secret-key"
MOOD = Categories(type="categories", categories=["joy", "grief"])
NINE = Points(type="points", points=9, anchors={1: "very unpleasant", 9: "very pleasant"})
MOS = Numeric(type="numeric", low=1, high=5)
PRESENT = Ordered(type="ordered", categories=["not_present", "weakly_present", "strongly_present"])
CAPTION = FreeText(type="text", max_words=12)
TAGS = Tags(type="tags", tags=["sky", "sea"], open=False)
SCALES: dict[str, Scale] = {
    "mood": MOOD,
    "valence": NINE,
    "mos": MOS,
    "present": PRESENT,
    "fits": YesNo(type="yes-no"),
    "caption": CAPTION,
    "tags": TAGS,
}
GOOD: dict[str, Any] = {
    "mood": "grief",
    "valence": 6.5,
    "mos": 4,
    "present": "weakly_present",
    "fits": "yes",
    "caption": "A grey sea under a low sky.",
    "tags": ["sky", "sea"],
}


OPEN: list[Chat] = []


@pytest.fixture(autouse=True)
def no_keys_and_no_open_ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("HEARTFELT_CHAT_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    yield
    while OPEN:
        OPEN.pop().close()


def asks(*names: str, media: str = "image") -> tuple[Ask, ...]:
    return tuple(
        Ask(question=name, scale=SCALES[name], text=f"About {name}.", words=f"What of {name}?", about={"media": media})
        for name in names or SCALES
    )


def picture(folder: Path, name: str = "a.png", form: str = "PNG") -> Media:
    Image.new("RGB", (6, 4), "teal").save(folder / name, format=form)
    return Media(folder / name)


def completion(content: Any, **more: Any) -> Reply:
    text = content if isinstance(content, str) else json.dumps(content)
    choice = {"message": {"role": "assistant", "content": text, **more}, "finish_reason": "stop"}
    return Reply(body=json.dumps({"choices": [choice]}).encode())


def form(answers: dict[str, Any]) -> dict[str, Any]:
    return {
        f"q{place}": {"reason": f"because {name}", "answer": value}
        for place, (name, value) in enumerate(answers.items(), start=1)
    }


def chat(served: Served, **options: str) -> Chat:
    made = Chat.make(f"seer@{served.url.rsplit('/', 1)[0]}/v1", options)
    assert made.model == "seer"
    OPEN.append(made)
    return made


def one(behaviour: Callable[[dict[str, Any], int], Reply], case: Case, **options: str) -> list[Prediction]:
    with serving(behaviour) as served:
        return list(chat(served, **options).predict([case])[0])


def test_one_request_answers_everything(tmp_path: Path) -> None:
    media = picture(tmp_path)
    with serving(lambda *_: completion(form(GOOD))) as served:
        result = chat(served).predict([Case(stimulus="a", asks=asks(), media=media)])[0]
    by_name = dict(zip(SCALES, result, strict=True))
    assert [p.problem for p in result] == [None] * len(SCALES)
    assert (by_name["mood"].value, by_name["mood"].answer) == (1.0, "grief")
    assert by_name["mood"].reason == "because mood"
    assert by_name["valence"].value == 6.5
    assert by_name["mos"].value == 4.0
    assert (by_name["present"].value, by_name["present"].answer) == (1.0, "weakly_present")
    assert (by_name["fits"].value, by_name["fits"].answer) == (1.0, "yes")
    assert by_name["caption"].answer == "A grey sea under a low sky."
    assert by_name["tags"].answer == "sky;sea"
    (request,) = served.requests
    assert request["model"] == "seer"
    assert request["temperature"] == 0
    shape = request["response_format"]["json_schema"]["schema"]["properties"]
    assert shape["q1"]["properties"]["answer"] == {"type": "string", "enum": ["joy", "grief"]}
    assert shape["q2"]["properties"]["answer"] == {"type": "number", "minimum": 1.0, "maximum": 9.0}
    assert list(shape["q1"]["properties"]) == ["reason", "answer"]
    assert list(shape["q6"]["properties"]) == ["answer"]
    image, words = request["messages"][1]["content"]
    head, encoded = image["image_url"]["url"].split(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(encoded) == media.content
    assert "q2: What of valence?" in words["text"]
    assert mentions(words["text"], "1", "9")
    assert "authorization" not in {name.lower() for name in served.headers[0]}


def test_without_reasons_none_are_asked_for(tmp_path: Path) -> None:
    with serving(lambda *_: completion({"q1": {"answer": "joy"}})) as served:
        result = chat(served, reasons="no").predict([Case(stimulus="a", asks=asks("mood"), media=picture(tmp_path))])[
            0
        ][0]
    entry = served.requests[0]["response_format"]["json_schema"]["schema"]["properties"]["q1"]
    assert list(entry["properties"]) == ["answer"]
    assert replace(result, call=None) == Prediction(value=0.0, answer="joy")


def test_apart_every_question_has_a_request_of_its_own(tmp_path: Path) -> None:
    """Also where only one is still open: the others are neither asked nor part of what its answer is stored by."""
    case = Case(stimulus="a", asks=asks("mood", "valence"), media=picture(tmp_path))
    answers = ({"q1": {"answer": "joy"}}, {"q1": {"answer": 6.5}}, {"q1": {"answer": 7}})
    with serving(lambda _, count: completion(answers[count - 1])) as served:
        apart = chat(served, reasons="no", together="no")
        result = apart.predict([case])[0]
        (later,) = apart.predict([replace(case, asks=case.asks[1:])])[0]
    assert ([each.value for each in result], later.value) == ([0.0, 6.5], 7.0)
    texts = [request["messages"][1]["content"][-1]["text"] for request in served.requests]
    assert texts[0].startswith("q1: What of mood?\n")
    assert texts[1].startswith("q1: What of valence?\n")
    assert ["mood" in text for text in texts] == [True, False, False]
    alone = replace(case, asks=case.asks[1:])
    assert apart.request_digest(case, case.asks[1]) == apart.request_digest(alone, case.asks[1])
    assert apart.request_digest(case, case.asks[0]) != apart.request_digest(case, case.asks[1])


@pytest.mark.parametrize(("name", "sent"), [("a.wav", "wav"), ("a.mp3", "mp3"), ("a.ogg", "wav"), ("a.flac", "wav")])
def test_sound_travels_as_wav_or_mp3(tmp_path: Path, name: str, sent: str) -> None:
    samples = 0.3 * np.sin(np.arange(16_000) / 20)
    soundfile.write(tmp_path / name, samples, 16_000)
    with serving(lambda *_: completion(form({"mos": 3}))) as served:
        case = Case(stimulus="a", asks=asks("mos", media="speech"), media=Media(tmp_path / name))
        assert chat(served).predict([case])[0][0].value == 3.0
    part = served.requests[0]["messages"][1]["content"][0]
    assert part["type"] == "input_audio"
    assert part["input_audio"]["format"] == sent
    content = base64.b64decode(part["input_audio"]["data"])
    if name.endswith(sent):
        assert content == (tmp_path / name).read_bytes()
    heard, rate = soundfile.read(io.BytesIO(content))
    assert rate == 16_000
    assert heard[:16_000] @ samples / (samples @ samples) == pytest.approx(1.0, abs=0.05) or sent == "mp3"


@pytest.mark.parametrize(("form_", "kind"), [("JPEG", "jpeg"), ("WEBP", "webp"), ("BMP", "png"), ("TIFF", "png")])
def test_pictures_travel_as_browsers_show_them(tmp_path: Path, form_: str, kind: str) -> None:
    with serving(lambda *_: completion(form({"mood": "joy"}))) as served:
        chat(served).predict([Case(stimulus="a", asks=asks("mood"), media=picture(tmp_path, "a.img", form_))])
    url = served.requests[0]["messages"][1]["content"][0]["image_url"]["url"]
    assert url.startswith(f"data:image/{kind};base64,")
    Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))).verify()


def test_bad_media_are_told_and_nothing_is_sent(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("no picture")
    with serving(lambda *_: completion(form({"mood": "joy"}))) as served:
        table = run(chat(served), [Case(stimulus="a", asks=asks("mood"), media=Media(tmp_path / "a.png"))]).table
    assert "no known image format" in table["problem"][0]
    assert served.requests == []


@pytest.mark.parametrize(
    ("refuses", "settles"), [(("json_schema",), "json_object"), (("json_schema", "json_object"), None)]
)
def test_a_server_without_forms_is_asked_in_words_and_remembered(
    tmp_path: Path, refuses: tuple[str, ...], settles: str | None
) -> None:
    def behave(request: dict[str, Any], count: int) -> Reply:
        if request.get("response_format", {}).get("type") in refuses:
            return Reply(400, b'{"error": {"message": "response_format is not supported"}}')
        return completion("Here you are:\n```json\n" + json.dumps(form({"mood": "grief"})) + "\n```\n{not json}")

    with serving(behave) as served:
        made = chat(served)
        cases = [Case(stimulus=name, asks=asks("mood"), media=picture(tmp_path)) for name in "ab"]
        result = made.predict(cases)
    assert [p[0].answer for p in result] == ["grief", "grief"]
    kinds = [request.get("response_format", {}).get("type") for request in served.requests]
    assert kinds == [*refuses, settles, settles]


def test_newer_models_are_given_what_they_take(tmp_path: Path) -> None:
    def behave(request: dict[str, Any], count: int) -> Reply:
        if "max_tokens" in request:
            return Reply(400, b"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if "temperature" in request:
            return Reply(400, b"Unsupported value: 'temperature' does not support 0.")
        return completion(form({"mood": "joy"}))

    with serving(behave) as served:
        made = chat(served)
        cases = [Case(stimulus=name, asks=asks("mood"), media=picture(tmp_path)) for name in "ab"]
        assert [p[0].answer for p in made.predict(cases)] == ["joy", "joy"]
    assert served.requests[-1]["max_completion_tokens"] == 2_000
    assert "temperature" not in served.requests[-1]


@pytest.mark.parametrize(
    ("name", "answer", "problem"),
    [
        ("valence", 12, "'12' is not on the scale. Allowed: 1 to 9."),
        ("valence", "very", "'very' is not on the scale"),
        ("valence", True, "'True' is not on the scale"),
        ("mood", "rage", "'rage' is not a category of the scale"),
        ("fits", "perhaps", "'perhaps' is not on the scale"),
        ("caption", "word " * 20, "is not on the scale. Allowed: 0 to 12 words"),
        ("caption", "  ", "the text is empty"),
        ("tags", ["sky", "car"], "'car' is not a tag of the scale"),
        ("mood", None, "the model gave no answer to this question"),
    ],
)
def test_an_answer_off_the_scale_is_a_problem_in_words(name: str, answer: Any, problem: str) -> None:
    (result,) = read_form(json.dumps({"q1": {"answer": answer}}), asks(name))
    assert result.value is None
    assert result.answer is None
    assert problem in (result.problem or "")


def test_one_bad_answer_leaves_the_others(tmp_path: Path) -> None:
    content = {"q1": {"answer": "rage"}, "q2": {"answer": 5}}
    result = one(
        lambda *_: completion(content), Case(stimulus="a", asks=asks("mood", "valence", "mos"), media=picture(tmp_path))
    )
    assert "is not a category" in (result[0].problem or "")
    assert result[1].value == 5.0
    assert mentions(result[2].problem, "model", "question")


@pytest.mark.parametrize(
    ("written", "reason", "problem"),
    [
        (None, "length", "cut off at the limit max_tokens=300 (raise it, as in chat[max_tokens=600]:…)"),
        (300, "length", "cut off at the limit max_tokens=300"),
        (300, "max_tokens", "cut off at the limit max_tokens=300"),
        (40, "length", "cut off after 40 tokens, by a limit of the server: max_tokens=300 was not reached"),
    ],
)
def test_an_answer_that_is_too_long_names_the_limit(
    written: int | None, reason: str, problem: str, tmp_path: Path
) -> None:
    body = {
        "choices": [{"message": {"content": "{"}, "finish_reason": reason}],
        "usage": {"prompt_tokens": 10, "completion_tokens": written},
    }
    reply = Reply(body=json.dumps(body).encode())
    result = one(lambda *_: reply, Case(stimulus="a", asks=asks("mood"), media=picture(tmp_path)), max_tokens="300")
    assert problem in (result[0].problem or "")


def test_reasoning_without_an_end_names_the_limit(tmp_path: Path) -> None:
    case = Case(stimulus="a", asks=asks("mood"), media=picture(tmp_path))
    result = one(lambda *_: completion("<think>well"), case, max_tokens="300")
    assert mentions(result[0].problem or "", "answer", "max_tokens=300")


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (completion("I see a lake."), "not a filled-in form: 'I see a lake.'"),
        (completion(""), "the model answered with nothing"),
        (completion("", refusal="I will not look at this."), "the model refused: I will not look"),
        (Reply(body=b'{"choices": []}'), "not a chat completion"),
        (Reply(body=b"<html>"), "not a chat completion"),
        (
            Reply(body=b'{"choices": [{"message": {"content": "{"}, "finish_reason": "length"}]}'),
            "cut off at the limit max_tokens=2000 (raise it, as in chat[max_tokens=4000]:…)",
        ),
        (Reply(body=b'{"choices": [{"message": {"content": null}, "finish_reason": "content_filter"}]}'), "refused"),
        (Reply(404, b"no such model"), "404 Not Found: no such model"),
        (Reply(401, b"who are you"), "set HEARTFELT_CHAT_KEY"),
        (Reply(400, b"image too large"), "400 Bad Request: image too large"),
    ],
)
def test_what_went_wrong_is_told(tmp_path: Path, reply: Reply, problem: str) -> None:
    result = one(lambda *_: reply, Case(stimulus="a", asks=asks("mood", "valence"), media=picture(tmp_path)))
    assert len(result) == 2
    assert all(problem in (p.problem or "") for p in result)


def test_bad_weather_is_waited_out(tmp_path: Path) -> None:
    replies = iter([Reply(429, b"slow down", {"retry-after": "0.01"}), Reply(503), Reply(silent=True)])

    def behave(request: dict[str, Any], count: int) -> Reply:
        return next(replies, None) or completion(form({"mood": "joy"}))

    with serving(behave) as served:
        case = Case(stimulus="a", asks=asks("mood"), media=picture(tmp_path))
        table = run(chat(served), [case], options=RunOptions(retry=Retry(first_wait=0.01))).table
    assert table["ok"].to_list() == [True]
    assert table["attempts"].to_list() == [4]


def test_the_time_to_wait_is_the_servers(tmp_path: Path) -> None:
    with (
        serving(lambda *_: Reply(429, b"", {"retry-after": "7"})) as served,
        pytest.raises(TransientError, match="429") as message,
    ):
        chat(served).predict([Case(stimulus="a", asks=asks("mood"), media=picture(tmp_path))])
    assert message.value.after == 7.0


def test_an_answer_that_does_not_come_is_bad_weather(tmp_path: Path) -> None:
    with (
        serving(lambda *_: Reply(wait=60.0)) as served,
        pytest.raises(TransientError, match=r"did not answer within 0\.1 s"),
    ):
        chat(served, timeout="0.1").predict([Case(stimulus="a", asks=asks("mood"), media=picture(tmp_path))])


def test_the_key_is_sent_and_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    for status in (401, 429, 200):
        body = b"x" * 60 + f" wrong key: {KEY}".encode()
        with serving(lambda *_, status=status, body=body: Reply(status, body)) as served:
            made = chat(served)
            case = Case(stimulus="a", asks=asks("mood"), media=picture(tmp_path))
            table = run(made, [case], tmp_path / str(status), RunOptions(retry=Retry(retries=0))).table
            assert served.headers[0]["authorization"] == f"Bearer {KEY}"
        shown = [table["problem"][0], made.identity, repr(made), pickle.dumps(made).decode("latin-1"), caplog.text]
        shown += [p.read_bytes().decode("latin-1") for p in (tmp_path / str(status)).iterdir()]
        assert not any(KEY[:8] in text for text in shown)


def test_a_key_of_ones_own_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(stimulus="a", asks=asks("mood"), media=picture(tmp_path))
    with serving(lambda *_: completion(form({"mood": "joy"}))) as served:
        with pytest.raises(InputError, match="MY_KEY is empty"):
            chat(served, key_from="MY_KEY").predict([case])
        monkeypatch.setenv("MY_KEY", "mine")
        monkeypatch.setenv("HEARTFELT_CHAT_KEY", "other")
        chat(served, key_from="MY_KEY").predict([case])
    assert served.headers[-1]["authorization"] == "Bearer mine"


def test_the_identity_is_model_server_prompt_and_settings() -> None:
    base = Chat.make("m@http://host/v1")
    assert base.identity == Chat.make("m@http://host/v1/chat/completions").identity
    others = [
        Chat.make("n@http://host/v1"),
        Chat.make("m@http://host2/v1"),
        Chat.make("m@http://host/v1", {"temperature": "0.5"}),
        Chat.make("m@http://host/v1", {"reasons": "no"}),
        Chat.make("m@http://host/v1", {"together": "no"}),
        Chat.make("m@http://host/v1", {"version": "2"}),
    ]
    assert len({base.identity, *(other.identity for other in others)}) == 7
    assert base.identity == Chat.make("m@http://host/v1", {"together": "yes"}).identity


@pytest.mark.parametrize(
    ("argument", "options", "problem"),
    [
        ("", {}, "chat has no model"),
        ("model", {}, "which model to ask where"),
        ("@http://host/v1", {}, "which model to ask where"),
        ("m@ftp://host", {}, "which model to ask where"),
        ("m@http://user:word@host/v1", {}, "holds a password"),
        ("m@http://host", {"form": "xml"}, "No form is called 'xml'"),
        ("m@http://host", {"reasons": "some"}, "neither yes nor no"),
        ("m@http://host", {"together": "some"}, "neither yes nor no"),
        ("m@http://host", {"temperature": "hot"}, "not a valid temperature"),
        ("m@http://host", {"max_tokens": "0"}, "not a valid max_tokens"),
        ("m@http://host", {"timeout": "0"}, "timeout"),
    ],
)
def test_what_cannot_be_asked_is_told(argument: str, options: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError, match=problem) as message:
        Chat.make(argument, options)
    assert message.value.fix


def test_a_name_with_an_at_and_slashes_is_a_model() -> None:
    assert Chat.make("org/model@rev@http://host/v1").model == "org/model@rev"


@pytest.mark.slow
def test_a_tiny_language_model_answers_every_question(tmp_path: Path) -> None:
    pytest.importorskip("transformers", exc_type=ImportError)
    from tests.predictors.tiny_chat import TinyChat, write_tiny_chat

    behaviour = TinyChat(write_tiny_chat(tmp_path / "model"))
    names = ("mood", "valence", "mos", "present", "fits", "tags")
    with serving(behaviour) as served:
        spec = f"chat:tiny@{served.url.rsplit('/', 1)[0]}/v1"
        OPEN.extend(made for made in (predictor_from(spec), predictor_from(spec)) if isinstance(made, Chat))
        cases = [Case(stimulus=name, asks=asks(*names), media=picture(tmp_path, f"{name}.png")) for name in "ab"]
        first = run(OPEN[0], cases, tmp_path / "out").table
        again = run(OPEN[1], cases, tmp_path / "out")
    assert first["ok"].all()
    assert first["reason"].drop_nulls().str.starts_with("it says").all()
    for row in first.iter_rows(named=True):
        assert SCALES[row["question"]].level == "text" or row["value"] is not None
    assert again.counts["asked"] == 0
    assert again.table.equals(first)
