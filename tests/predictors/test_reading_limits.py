"""Exact limits of what is read from servers, language models, files and requests."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from heartfelt.errors import InputError
from heartfelt.media.sound import LEAST_SHARE, decode, loudest_if_cancelling
from heartfelt.predictors import Ask, Case, Media, Prediction, predictor_from
from heartfelt.predictors.answers.texts import StimulusNames, file_name_of, stem_of
from heartfelt.predictors.baselines import Group, similarity
from heartfelt.predictors.execution.store import Recent
from heartfelt.predictors.execution.work import shortened
from heartfelt.predictors.hosted.chat import Chat
from heartfelt.predictors.hosted.chat_form import allowed, completion_of, groups, read_form, schema
from heartfelt.predictors.hosted.endpoint import Endpoint
from heartfelt.predictors.hosted.http import LONGEST_ANSWER, is_transient, refusal, wait_of
from heartfelt.predictors.interface.spec import number_option
from heartfelt.predictors.measures.contrastive import temperature_of
from heartfelt.predictors.measures.metrics import MetricScore, on_scale
from heartfelt.predictors.options import ServerOptions
from heartfelt.study.scales.scale import Categories, Numeric, Points, YesNo
from heartfelt.web.predictor_server import RefusedRequest, read_request
from tests.cases import check_all
from tests.facts import mentions

YES = YesNo(type="yes-no")
NINE = Points(type="points", points=9, anchors={1: "low", 9: "high"})


def test_which_statuses_may_pass_is_a_closed_list() -> None:
    passing = {status for status in range(100, 1_000) if is_transient(status)}
    server_errors = set(range(500, 600)) - {501, 505, 506, 510, 511}
    assert passing == {408, 425, 429} | server_errors


@pytest.mark.parametrize(
    ("header", "seconds"), [("0", 0.0), ("-5", 0.0), ("1.5", 1.5), ("900", 900.0), (" 7 ", 7.0), (None, None)]
)
def test_a_wait_in_seconds(header: str | None, seconds: float | None) -> None:
    assert wait_of(header) == seconds


def test_a_wait_until_a_date_is_never_negative() -> None:
    later = datetime.now(UTC) + timedelta(seconds=100)
    assert 98 < (wait_of(format_datetime(later, usegmt=True)) or 0) <= 100
    assert 98 < (wait_of(later.strftime("%a, %d %b %Y %H:%M:%S -0000")) or 0) <= 100
    assert wait_of(format_datetime(later - timedelta(days=1), usegmt=True)) == 0.0


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "", "soon"])
def test_a_timeout_is_a_number_above_zero(text: str) -> None:
    with pytest.raises(InputError):
        number_option({"timeout": text}, "timeout", 60, 0, above=True)


def test_usual_limits_of_servers_and_clients() -> None:
    assert LONGEST_ANSWER == 16 * 2**20
    assert number_option({"timeout": "0.001"}, "timeout", 60, 0, above=True) == 0.001
    options = ServerOptions()
    assert (options.host, options.port, options.batch, options.wait) == ("127.0.0.1", 8100, None, 5.0)
    assert (options.waiting, options.megabytes, options.media) == (512, 64.0, None)
    assert (Endpoint.at_once, Chat.at_once) == (8, 8)


def test_long_words_of_a_server_are_shortened() -> None:
    assert shortened("a" * 80) == "a" * 80
    assert shortened("a" * 81) == "a" * 79 + "…"
    assert shortened(" a\n b ") == "a b"
    assert mentions(refusal(404, ""), "server", "answered", "404 Not Found")
    assert refusal(599, "x  y") == "the server answered 599: x y"


REQUEST = {"text": "x", "audio_stem": "a"}


@check_all(
    ("change", "status"),
    [
        ({"texts": ["a"] * 1_000}, None),
        ({"texts": ["a"] * 1_001}, 422),
        ({"texts": []}, 422),
        ({"texts": ["a", " "]}, 422),
        ({"texts": ["a", 3]}, 422),
        ({"audio_stem": "a" * 1_000}, None),
        ({"audio_stem": "a" * 1_001}, 422),
        ({"text": " "}, 422),
        ({"audio_base64": "QQ=="}, None),
        ({"audio_base64": "QQ"}, 422),
        ({"audio_base64": "Q Q="}, 422),
        ({"audio_base64": ""}, 422),
        ({"scale": {"type": "points", "points": 9}}, None),
        ({"scale": {"type": "points", "points": 9, "x": 1}}, 422),
    ],
)
def test_requests_up_to_their_limits(change: dict[str, Any], status: int | None) -> None:
    body = json.dumps({**REQUEST, **change}).encode()
    if status is None:
        assert read_request(body).texts
        return
    with pytest.raises(RefusedRequest) as caught:
        read_request(body)
    assert caught.value.status == status


@pytest.mark.parametrize(("body", "status"), [(b"{", 400), (b"[" * 100_000, 400), (b"[]", 422), (b"3", 422)])
def test_what_is_no_object_is_refused(body: bytes, status: int) -> None:
    with pytest.raises(RefusedRequest) as caught:
        read_request(body)
    assert caught.value.status == status


def test_without_a_scale_a_request_asks_yes_or_no() -> None:
    asked = read_request(json.dumps(REQUEST).encode())
    assert (asked.name, asked.content, asked.texts, asked.together) == ("a", None, ("x",), False)
    assert asked.scale == YES
    both = read_request(json.dumps({**REQUEST, "texts": ["y", "z"], "audio_filename": "b.wav"}).encode())
    assert (both.name, both.texts, both.together) == ("b.wav", ("y", "z"), True)


@pytest.mark.parametrize(
    ("name", "lowest", "highest"),
    [("temperature", "0", "2"), ("max_tokens", "1", "1000000"), ("input_price", "0", "1000000000")],
)
def test_options_of_a_language_model_up_to_their_limits(name: str, lowest: str, highest: str) -> None:
    more = {"output_price": "1"} if name == "input_price" else {}
    for good in (lowest, highest):
        Chat.make("m@http://host", {name: good, **more})
    for bad in (str(float(lowest) - 0.01), str(float(highest) * 1.01), "nan", ""):
        with pytest.raises(InputError):
            Chat.make("m@http://host", {name: bad, **more})


def test_usual_options_of_a_language_model() -> None:
    made = Chat.make("m@http://host")
    assert (made.temperature, made.max_tokens, made.reasons, made.context) == (0.0, 2_000, True, ())
    assert made.prices == ()
    assert "form auto, context none" in made.identity
    for other in ({"form": "plain"}, {"context": "system"}, {"max_tokens": "10"}, {"temperature": "1"}):
        assert Chat.make("m@http://host", other).identity != made.identity
    assert Chat.make("m@http://host", {"context": "system+prompt"}).context == ("prompt", "system")


def test_costs_are_by_the_million_tokens_and_missing_where_a_part_is() -> None:
    priced = Chat.make("m@http://host", {"input_price": "2", "output_price": "6"})
    assert priced.cost(1_000_000, 500_000) == 5.0
    assert priced.cost(0, 0) == 0.0
    assert priced.cost(None, 1) is None
    assert priced.cost(1, None) is None
    assert Chat.make("m@http://host").cost(1, 1) is None
    for name in ("input_price", "output_price"):
        with pytest.raises(InputError, match="Only one of the two prices"):
            Chat.make("m@http://host", {name: "2"})


@pytest.mark.parametrize(
    ("tokens", "read_as"),
    [
        (0, 0),
        (7, 7),
        (-1, None),
        (True, None),
        ("7", 7),
        ("7.0", None),
        (7.0, 7),
        (7.5, None),
        (2**53 - 1, 2**53 - 1),
        (2**53, None),
    ],
)
def test_token_counts_are_whole_numbers_however_written(tokens: Any, read_as: int | None) -> None:
    answers = {
        "choices": [{"message": {"content": "x"}}],
        "usage": {
            "prompt_tokens": tokens,
            "completion_tokens": tokens,
            "prompt_tokens_details": {"cached_tokens": tokens},
            "completion_tokens_details": {"reasoning_tokens": tokens},
        },
    }
    result = completion_of(json.dumps(answers))
    assert result is not None
    counts = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
    assert [result.recorded[name] for name in counts] == [read_as] * 4


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"choices": {}}', '{"choices": [3]}', "[" * 100_000])
def test_what_is_no_completion(text: str) -> None:
    assert completion_of(text) is None


@pytest.mark.parametrize(
    ("answer", "value"),
    [(1, 1.0), (9, 9.0), ("4.5", 4.5), (0.999, None), (9.001, None), (True, None), ("nan", None), ([3], None)],
)
def test_numbers_must_lie_on_the_scale_ends_included(answer: Any, value: float | None) -> None:
    ask = Ask(question="q", scale=NINE, text="text", words="words", about={})
    (result,) = read_form(json.dumps({"q1": {"answer": answer}}), [ask])
    assert result.value == value
    assert (result.problem is None) == (value is not None)


def test_the_fullest_and_last_form_counts() -> None:
    asks = [Ask(question=name, scale=NINE, text="t", words="w", about={}) for name in "ab"]
    text = 'first {"q1": {"answer": 2}} then {"q1": 3, "q2": 4} and {"q1": 5, "q2": 6} and {"q2": 7} [{"q1": 8}'
    assert [each.value for each in read_form(text, asks)] == [5.0, 6.0]
    (result, other) = read_form('{"q1": {"answer": 2, "reason": " why "}, "q2": {"answer": 3, "reason": ""}}', asks)
    assert (result.reason, other.reason) == ("why", None)


def test_the_form_names_bounds_and_reasons() -> None:
    asks = [
        Ask(question="a", scale=NINE, text="t", words="w", about={}),
        Ask(question="b", scale=YES, text="t", words="w", about={}),
    ]
    form: Any = schema(asks, reasons=True)
    assert form["required"] == ["q1", "q2"]
    assert form["additionalProperties"] is False
    first = form["properties"]["q1"]
    assert list(first["properties"]) == ["reason", "answer"]
    assert first["properties"]["answer"] == {"type": "number", "minimum": 1, "maximum": 9}
    without: Any = schema(asks, reasons=False)
    assert list(without["properties"]["q2"]["properties"]) == ["answer"]
    assert allowed(NINE) == "a number from 1 (low) to 9 (high), decimals allowed"
    assert allowed(Numeric(type="numeric", low=0, high=1)) == "a number from 0 to 1, decimals allowed"


def test_questions_with_something_shown_have_requests_of_their_own() -> None:
    asks = [
        Ask(question=name, scale=YES, text="t", words="w", about={}, shown=shown)
        for name, shown in zip("abcd", ("", "x", "", "y"), strict=True)
    ]
    assert [[ask.question for ask in part] for part in groups(asks)] == [["a", "c"], ["b"], ["d"]]


@pytest.mark.parametrize("audio", ["send", "stem"])
@pytest.mark.parametrize("version", ["", "2"])
def test_only_a_versioned_server_that_hears_the_media_is_cached(audio: str, version: str) -> None:
    options = {"audio": audio, **({"version": version} if version else {})}
    made = Endpoint("http://host", options)
    assert made.cacheable == (audio == "send" and version == "2")
    assert made.needs_media == (audio == "send")


def test_the_identity_of_an_endpoint_names_what_is_sent() -> None:
    others: list[tuple[str, dict[str, str]]] = [
        ("http://host", {}),
        ("http://other", {}),
        ("http://host", {"version": "1"}),
        ("http://host", {"audio": "stem"}),
        ("http://host", {"names": "plain"}),
    ]
    assert len({Endpoint(url, options).identity for url, options in others}) == len(others)
    assert Endpoint.make("http://host", {"timeout": "5"}).identity == Endpoint.make("http://host").identity


def test_a_name_is_matched_where_it_is_unmistakable() -> None:
    names = StimulusNames(["a/x.wav", "b/x.wav", "b/y.wav", "z"])
    assert names.find("a/x.wav") == "a/x.wav"
    assert names.find("a/x") == "a/x.wav"
    assert names.find("x.wav") is None
    assert names.find("x") is None
    assert names.find("y") == "b/y.wav"
    assert names.find("elsewhere/y.mp3") == "b/y.wav"
    assert names.find("z.flac") == "z"
    assert names.find("z.txt") is None
    assert StimulusNames(["x", "a/x.wav"]).find("x") == "x"


def test_file_names_carry_folders_levels_and_the_ending_of_the_media(tmp_path: Path) -> None:
    ask = Ask(question="q", scale=YES, text="t")
    level = Ask(question="q", scale=YES, text="t", about={"dimension": "D", "level": "3", "polarity": "pos"})
    case = Case(stimulus="a/b.c", asks=(ask,), media=Media(tmp_path / "x.mp3"))
    assert (stem_of(case, ask), file_name_of(case, ask)) == ("a__b.c", "a__b.c.mp3")
    assert file_name_of(case, ask, unique=False) == "b.c.mp3"
    sound = Case(stimulus="a/b.WAV", asks=(ask,))
    assert (stem_of(sound, ask), file_name_of(sound, ask)) == ("a__b", "a__b.WAV")
    assert file_name_of(sound, level) == "b__D_3_pos.WAV"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ('stimulus,question,value\na,q,"3,5"\n', Prediction(value=3.5)),
        ("stimulus,question,value\na,q,NA\n", Prediction.failed("the file's cell for this item is empty")),
        ("stimulus,question,value,ok\na,q,3,false\n", "the file says that there is no prediction"),
        ("stimulus,question,value,ok\na,q,3,true\n", Prediction(value=3.0)),
        ("stimulus,question,value,problem\na,q,3,broken\n", "broken"),
        ("stimulus,question,value\na,q,high\n", "the file's 'high' is not a number"),
        ("stimulus,q\na,4\n", Prediction(value=4.0)),
        ("stimulus,question,score,low,high\na,q,0.5,0.25,0.75\n", Prediction(score=0.5, low=0.25, high=0.75)),
        ("STIMULUS,Question,Prediction\na,q,2\n", Prediction(value=2.0)),
    ],
)
def test_one_cell_of_a_file(rows: str, expected: Prediction | str, tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_text(rows, encoding="utf-8")
    ((result,),) = predictor_from(f"file:{path}").predict(
        [Case(stimulus="a", asks=(Ask(question="q", scale=NINE, text="t"),))]
    )
    assert result == (Prediction.failed(expected) if isinstance(expected, str) else expected)


def test_two_rows_for_one_item_are_refused_in_every_layout(tmp_path: Path) -> None:
    case = Case(stimulus="f/a.wav", asks=(Ask(question="q", scale=NINE, text="t"),))
    for rows in (
        "stimulus,question,value\na,q,1\na,q,2\n",
        "stimulus,q\na,1\na,2\n",
        "stimulus,question,value\na,q,1\na.wav,q,2\n",
    ):
        path = tmp_path / "predictions.csv"
        path.write_text(rows, encoding="utf-8")
        with pytest.raises(InputError, match=r"predictions.*'q'"):
            predictor_from(f"file:{path}").expect([case])


def test_rows_that_belong_nowhere_are_in_the_ledger(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_text("stimulus,question,value\na,q,1\nb,q,2\na,r,3\n", encoding="utf-8")
    predictor = predictor_from(f"file:{path}")
    predictor.expect(
        [
            Case(stimulus="a", asks=(Ask(question="q", scale=NINE, text="t"),)),
            Case(stimulus="c", asks=(Ask(question="r", scale=NINE, text="t"),)),
        ]
    )
    rows = predictor.ledger().select("stimulus", "question", "stage", "what").rows()
    assert rows == [("b", "q", "predict", "prediction"), ("a", "r", "predict", "prediction")]
    assert predictor.ledger()["reason"].to_list() == [
        "predictions.csv: no stimulus that is asked about has this name",
        "predictions.csv: this question is not asked of this stimulus",
    ]


def test_only_the_last_few_answers_are_remembered() -> None:
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key

    known: Recent[str] = Recent(most=2)
    for key in ("a", "b", "a", "c", "a", "b"):
        assert known.get(key, partial(make, key)) == key
    assert made == ["a", "b", "c", "b"]


def test_a_group_by_itself_and_as_a_distance_from_others() -> None:
    group = Group()
    for value in (1.0, 1.0, 4.0):
        group.add(value)
    assert group.prediction(NINE, "n").value == 2.0
    half, everything = Group(3, 9.0), Group(6, 30.0)
    assert group.prediction(NINE, "n", half, everything).value == 5.0 + 2.0 - 3.0
    assert group.prediction(NINE, "n", half, Group(1, 9.0)).value == 8.0
    assert group.prediction(NINE, "n", Group(1, 1.0), Group(1, 9.0)).value == 9.0
    mood = Categories(type="categories", categories=["a", "b", "c"])
    tied = Group()
    for value in (2.0, 2.0, 1.0, 1.0):
        tied.add(value)
    result = tied.prediction(mood, "n")
    assert (result.value, result.answer, result.score) == (1.0, "b", None)
    assert result.shares == {"a": 0.0, "b": 0.5, "c": 0.5}
    yes = Group()
    for value in (1.0, 1.0, 0.0, 1.0):
        yes.add(value)
    assert yes.prediction(YES, "n").score == 0.75
    other = Group(4, 1.0, {0.0: 3, 1.0: 1})
    assert yes.prediction(YES, "n", other, other).score == 0.75
    assert other.prediction(YES, "n", yes, other).shares == {"no": 1.0, "yes": 0.0}


@pytest.mark.parametrize(
    ("score", "value", "clipped"), [(1.0, 1.0, False), (5.0, 9.0, False), (3.0, 5.0, False), (5.1, 9.0, True)]
)
def test_a_mean_opinion_score_on_another_scale(score: float, value: float, clipped: bool) -> None:
    opinion = MetricScore("a mean opinion score", 1, 5)
    result = on_scale(score, opinion, Ask(question="q", scale=NINE, text="t"), "mos")
    assert result.value == pytest.approx(value, rel=1e-12)
    assert ("end of the scale" in (result.note or "")) == clipped
    assert on_scale(score, opinion, Ask(question="q", scale=YES, text="t"), "mos").problem
    assert on_scale(
        2.5, opinion, Ask(question="q", scale=Points(type="points", points=5), text="t"), "mos"
    ) == Prediction(value=2.5)


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf", "hot"])
def test_a_temperature_is_a_number_above_zero(given: str) -> None:
    with pytest.raises(InputError):
        temperature_of({"temperature": given}, None)
    assert temperature_of({"temperature": "0.01"}, None) == 0.01


def test_channels_that_leave_under_a_tenth_of_their_power_are_not_averaged() -> None:
    assert LEAST_SHARE == 0.1
    tone = np.sin(np.arange(4_000, dtype=np.float32) * 0.1)

    def share(second: float) -> float:
        return ((1 + second) / 2) ** 2 / ((1 + second**2) / 2)

    for second in (-0.48, -0.53):
        frames = np.stack([tone, second * tone], axis=1).astype(np.float32)
        assert loudest_if_cancelling([frames]) == (0 if share(second) < 0.1 else None)
        assert loudest_if_cancelling([frames[:2_000], frames[2_000:]]) == (0 if share(second) < 0.1 else None)
    assert share(-0.53) < 0.1 < share(-0.48)
    assert loudest_if_cancelling([tone[:, None]]) is None
    assert loudest_if_cancelling([np.zeros((100, 2), np.float32)]) is None
    assert loudest_if_cancelling([]) is None


def test_sound_is_the_channel_mean_at_the_rate_that_is_asked(tmp_path: Path) -> None:
    tone = (0.5 * np.sin(np.arange(8_000) * 0.1)).astype(np.float32)
    soundfile.write(tmp_path / "a.wav", np.stack([tone, 0.5 * tone], axis=1), 8_000, subtype="FLOAT")
    result = decode(tmp_path / "a.wav", 8_000)
    assert result.dtype == np.float32
    assert np.allclose(result, 0.75 * tone, atol=1e-7)
    assert decode((tmp_path / "a.wav").read_bytes(), 16_000).shape == (16_000,)


def test_the_sham_similarity_is_from_minus_one_to_one() -> None:
    numbers = [similarity(f"clip {place}", "text") for place in range(2_000)]
    assert -1.0 <= min(numbers) < -0.99
    assert 0.99 < max(numbers) <= 1.0
