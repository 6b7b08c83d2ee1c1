"""``heartfelt draft`` through a language model behind a real server: what it is told, and everything it can do wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.formats.study_folder.drafts import read_drafts
from heartfelt.predictors import predictor_from
from heartfelt.predictors.drafts import draft
from heartfelt.predictors.hosted.chat_drafts import DRAFT_SYSTEM
from heartfelt.study import load_study
from heartfelt.study.scales.answer import NONE
from tests.predictors.drafts.studies import (
    FIELDS,
    chat_server,
    chat_spec,
    completion,
    filled,
    options,
    words_of,
    write_study,
)
from tests.predictors.servers import Reply

pytestmark = pytest.mark.server


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEARTFELT_CHAT_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_study(tmp_path / "study")


def values(folder: Path, field: str) -> dict[str, str]:
    drafts = read_drafts(folder, load_study(folder)).filter(pl.col("question") == field)
    return dict(drafts.select("stimulus", "value").iter_rows())


def test_every_field_in_one_request_with_its_provenance(folder: Path) -> None:
    begun = datetime.now(UTC)
    with chat_server(folder) as served:
        done = draft(folder, options(chat_spec(served, "input_price=1,output_price=2")))
    assert len(served.requests) == 4
    assert (done.new, done.failed) == (20, 0)
    assert [each.field for each in done.fields] == list(FIELDS)
    assert all(each.confidence == pytest.approx(0.8) for each in done.fields)
    run = done.drafters[0]
    assert (run.requests, run.input_tokens, run.output_tokens) == (4, 4_000, 400)
    assert run.cost == pytest.approx(4 * (1_000 * 1 + 100 * 2) / 1e6)
    assert done.spent == run.cost
    drafts = read_drafts(folder, load_study(folder))
    row = drafts.filter((pl.col("stimulus") == "p1") & (pl.col("question") == "things")).row(0, named=True)
    assert (row["value"], row["source"], row["confidence"]) == ("square;sky", "seer", 0.8)
    assert row["version"] == "seer-2", "as the server names it"
    assert begun <= row["at"] <= datetime.now(UTC)
    assert drafts["prompt_hash"].str.len_chars().unique().to_list() == [16]
    assert drafts["prompt_hash"].n_unique() == 1
    assert values(folder, "light") == dict.fromkeys(("p0", "p1", "p2", "p3"), "0.42")
    assert not (folder / "drafts_ledger.csv").exists()


def test_the_model_describes_and_is_told_nothing_of_how_it_was_made(folder: Path) -> None:
    with chat_server(folder) as served:
        draft(folder, options(chat_spec(served)))
    request = served.requests[0]
    assert request["messages"][0]["content"] == DRAFT_SYSTEM
    assert "people on average" not in json.dumps(request)
    text = words_of(request)
    for leak in ("PaintBot", "DrawBot", "joy", "fear", "Which mood", "p0"):
        assert leak not in text
    assert "Atmosphere Judge the light alone." in text
    assert "in this language: en" in text
    assert "a whole number from 1 to 9" in text
    shape = request["response_format"]["json_schema"]["schema"]["properties"]
    assert shape["q2"]["properties"]["answer"]["enum"] == ["calm", "tense", NONE]
    assert shape["q3"]["properties"]["answer"] == {"type": "integer", "minimum": 1.0, "maximum": 9.0}
    assert shape["q4"]["properties"]["answer"]["anyOf"][1] == {"type": "string", "enum": [NONE]}
    assert list(shape["q5"]["properties"]) == ["answer", "confidence"]


def test_the_language_of_the_drafts(folder: Path) -> None:
    def korean(request: dict[str, Any], stimulus: str) -> Reply:
        caption = "회색 바탕의 네모 그림" if stimulus != "p3" else "A grey square in English"
        return completion(filled(request, caption=caption, things=["네모"], atmosphere="긴장"))

    with chat_server(folder, korean) as served:
        done = draft(folder, options(chat_spec(served), language="ko"))
    assert "q1: 무엇이 보입니까?" in words_of(served.requests[0])
    assert values(folder, "atmosphere")["p0"] == "tense"
    assert set(values(folder, "caption")) == {"p0", "p1", "p2"}
    assert done.ledger["reason"].to_list() == [
        "the model's answer 'A grey square in English' is not written in the language 'ko'."
    ]


Wrong = Callable[[dict[str, Any]], Reply]
HOSTILE: dict[str, tuple[Wrong, dict[str, str]]] = {
    "prose": (
        lambda _: completion("The picture shows a grey square on a plain wall."),
        dict.fromkeys(FIELDS, "not a filled-in form: 'The picture shows"),
    ),
    "prose around the form": (lambda r: completion(f"Sure! Here it is:\n```json\n{filled(r)}\n```"), {}),
    "another language": (
        lambda r: completion(filled(r, caption="一张灰色的方块图片", things=["方块"])),
        {"caption": "is not written in the language 'en'", "things": "is not written in the language 'en'"},
    ),
    "a category that is not there": (
        lambda r: completion(filled(r, atmosphere="tensed")),
        {"atmosphere": "'tensed' is not a category of the scale. Did you mean 'tense'"},
    ),
    "a category by its text": (lambda r: completion(filled(r, atmosphere="Tense.")), {}),
    "a number that is not there": (
        lambda r: completion(filled(r, clutter=70, light=1.2)),
        {"clutter": "'70' is not on the scale. Allowed: 1 to 9", "light": "'1.2' is not on the scale"},
    ),
    "a number in words": (
        lambda r: completion(filled(r, clutter="quite a lot")),
        {"clutter": "'quite a lot' is not on the scale"},
    ),
    "a thousand tags": (
        lambda r: completion(filled(r, things=[f"thing {n}" for n in range(1_000)])),
        {"things": "there are 1,000 tags. At most 30 make a draft"},
    ),
    "prose as a tag": (
        lambda r: completion(filled(r, things="I can see that there is a very large and rather grey square " * 3)),
        {"things": "is no tag but prose"},
    ),
    "too many words": (
        lambda r: completion(filled(r, caption="square " * 21)),
        {"caption": "is not on the scale. Allowed: 2 to 20 words"},
    ),
    "an empty text": (lambda r: completion(filled(r, caption="")), {"caption": "gave no answer"}),
    "only markup": (lambda r: completion(filled(r, caption="<script>alert(1)</script>")), {"caption": "empty"}),
    "a refusal": (
        lambda _: completion(None, refusal="I cannot look at that", finish_reason="stop"),
        dict.fromkeys(FIELDS, "the model answered with nothing"),
    ),
    "filtered": (
        lambda _: completion("", finish_reason="content_filter"),
        dict.fromkeys(FIELDS, "the model refused: content filter"),
    ),
    "cut off": (
        lambda r: completion(filled(r)[:60], finish_reason="length"),
        dict.fromkeys(FIELDS, "cut off after 100 tokens, by a limit of the server: max_tokens=2000 was not reached"),
    ),
    "broken JSON": (lambda r: completion(filled(r)[:-3]), dict.fromkeys(FIELDS, "not a filled-in form")),
    "a field left out": (
        lambda r: completion(json.dumps({k: v for k, v in json.loads(filled(r)).items() if k != "q3"})),
        {"clutter": "left this question out"},
    ),
    "bare answers": (lambda r: completion(json.dumps({k: v["answer"] for k, v in json.loads(filled(r)).items()})), {}),
    "always too busy": (lambda _: Reply(status=429, headers={"retry-after": "0"}), dict.fromkeys(FIELDS, "429")),
    "always broken": (lambda _: Reply(status=500, body=b"oops"), dict.fromkeys(FIELDS, "500")),
    "not allowed": (lambda _: Reply(status=401), dict.fromkeys(FIELDS, "set HEARTFELT_CHAT_KEY")),
    "a page": (
        lambda _: Reply(body=b"<html>login</html>", headers={"content-type": "text/html"}),
        dict.fromkeys(FIELDS, "not a chat completion"),
    ),
    "no answer": (lambda _: Reply(silent=True), dict.fromkeys(FIELDS, "")),
}


def test_each_failure_is_a_row_with_its_reason_and_costs_no_other_image(tmp_path: Path) -> None:
    """One study with an image for every failure: only the fields that failed are missing."""
    folder = write_study(tmp_path / "study", len(HOSTILE) + 1)
    wrong = {f"p{place}": name for place, name in enumerate(HOSTILE)}

    def behave(request: dict[str, Any], stimulus: str) -> Reply:
        return HOSTILE[wrong[stimulus]][0](request) if stimulus in wrong else completion(filled(request))

    with chat_server(folder, behave) as served:
        done = draft(folder, options(chat_spec(served)))
    failed = {(row[0], row[1]): row[2] for row in done.ledger.select("stimulus", "question", "reason").iter_rows()}
    expected = {(s, field): text for s, name in wrong.items() for field, text in HOSTILE[name][1].items()}
    assert set(failed) == set(expected)
    for item, text in expected.items():
        assert text in failed[item], (wrong[item[0]], failed[item])
        assert "\n" not in failed[item]
    assert done.failed == len(expected)
    assert done.drafts.height == 5 * (len(HOSTILE) + 1) - len(expected)
    by_text = next(stimulus for stimulus, name in wrong.items() if name == "a category by its text")
    assert values(folder, "atmosphere")[by_text] == "tense"
    # The server has recovered: a second run asks what failed and nothing else.
    before = len(served.requests)
    with chat_server(folder) as served:
        again = draft(folder, options(chat_spec(served)))
    assert before > len(HOSTILE)
    assert (again.failed, again.drafts.height) == (0, 5 * (len(HOSTILE) + 1))
    assert len(served.requests) == len({stimulus for stimulus, _ in expected})
    assert again.ledger.is_empty()


def test_busy_servers_and_slow_ones_are_asked_again(folder: Path) -> None:
    seen: set[str] = set()

    def late(request: dict[str, Any], stimulus: str) -> Reply:
        first = stimulus not in seen
        seen.add(stimulus)
        if first:
            return Reply(status=429) if stimulus == "p0" else Reply(wait=60 if stimulus == "p1" else 0)
        return completion(filled(request))

    with chat_server(folder, late) as served:
        done = draft(folder, options(chat_spec(served, "timeout=5")))
    assert {stimulus for stimulus, *_ in done.ledger.select("stimulus").iter_rows()} == {"p2", "p3"}
    assert set(values(folder, "light")) == {"p0", "p1"}


def test_markup_is_removed_and_noted(folder: Path) -> None:
    def marked(request: dict[str, Any], stimulus: str) -> Reply:
        caption = "**A** <b onclick='x()'>grey</b> square, see [here](http://x.y) &lt;script&gt;bad()&lt;/script&gt;"
        return completion(filled(request, caption=caption, things=["<i>sky</i>", "Sky", "sea"], atmosphere=NONE))

    with chat_server(folder, marked) as served:
        done = draft(folder, options(chat_spec(served)))
    assert done.failed == 0
    assert set(values(folder, "caption").values()) == {"A grey square, see here"}
    assert set(values(folder, "things").values()) == {"sky;sea"}
    assert set(values(folder, "atmosphere").values()) == {NONE}
    assert {each.field: each.none for each in done.fields}["atmosphere"] == 4
    notes = done.ledger.filter(pl.col("stimulus") == "p0").select("what", "question", "reason").rows()
    assert notes == [
        ("changed draft", "caption", "markup was removed"),
        ("changed draft", "things", "markup was removed; repeated tags were merged"),
    ]


def test_nothing_to_answer(folder: Path) -> None:
    with chat_server(folder, lambda r, _: completion(filled(r, things=[], caption=NONE))) as served:
        done = draft(folder, options(chat_spec(served)))
    assert set(values(folder, "things").values()) == {NONE}
    assert values(folder, "caption") == {}
    assert {each.field: each.failed for each in done.fields}["caption"] == 4
    assert "does not allow that" in done.ledger["reason"][0]


def test_options_of_the_drafting_task() -> None:
    with pytest.raises(InputError, match="neither judge nor draft"):
        predictor_from("chat[task=guess]:m@http://host/v1")
    with pytest.raises(InputError, match=r"told.*stimulus"):
        predictor_from("chat[task=draft,context=intent]:m@http://host/v1")
    judge, plain = (predictor_from(f"chat{o}:m@http://host/v1") for o in ("[task=judge]", ""))
    drafter = predictor_from("chat[task=draft,language=ko]:m@http://host/v1")
    assert judge.identity == plain.identity != drafter.identity
    assert not drafter.compares
