"""The exact limits of scales, probes, designs and files: the last value that is allowed and the first that is not."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from heartfelt.errors import InputError, StudyError
from heartfelt.study import Design, Study, parse_study
from heartfelt.study.model import AnchorProbe, HeadphoneProbe, Probe, Question, RepeatProbe, say
from heartfelt.study.parts.design import Codes, Recruiting
from heartfelt.study.scales.scale import AnyScale, count_words
from heartfelt.study.study import System
from heartfelt.study.yaml_lines import read_yaml
from tests.cases import check_all

SCALE: TypeAdapter[AnyScale] = TypeAdapter(AnyScale)
PROBE: TypeAdapter[Probe] = TypeAdapter(Probe)
BASE: dict[str, Any] = {
    "name": "t",
    "scales": {"nine": {"type": "points", "points": 9}, "seven": {"type": "points", "points": 7}},
    "questions": [{"id": "v", "text": "V", "scale": "nine"}, {"id": "a", "text": "A", "scale": "nine"}],
}


@check_all(
    ("allowed", "refused"),
    [
        ({"type": "points", "points": 2}, {"type": "points", "points": 1}),
        ({"type": "points", "points": 101}, {"type": "points", "points": 102}),
        (
            {"type": "points", "points": 5, "anchors": {1: "low"}},
            {"type": "points", "points": 5, "anchors": {0: "low"}},
        ),
        ({"type": "points", "points": 5, "anchors": {5: "high"}}, {"type": "points", "points": 5, "anchors": {6: "h"}}),
        (
            {"type": "points", "points": 5, "first": 0, "anchors": {0: "l"}},
            {"type": "points", "points": 5, "first": 0, "anchors": {5: "h"}},
        ),
        (
            {"type": "points", "points": 5, "pictures": {5: "a.png"}},
            {"type": "points", "points": 5, "pictures": {6: "a.png"}},
        ),
        ({"type": "numeric", "low": 0, "high": 1}, {"type": "numeric", "low": 1, "high": 1}),
        (
            {"type": "numeric", "low": 0, "high": 1, "anchors": {1: "end"}},
            {"type": "numeric", "low": 0, "high": 1, "anchors": {1.01: "end"}},
        ),
        (
            {"type": "numeric", "low": 0, "high": 1, "anchors": {0: "end"}},
            {"type": "numeric", "low": 0, "high": 1, "anchors": {-0.01: "end"}},
        ),
        ({"type": "numeric", "low": 0}, {"type": "numeric", "low": 0, "anchors": {0: "end"}}),
        ({"type": "numeric", "step": 0.1}, {"type": "numeric", "step": 0}),
        ({"type": "ordered", "categories": ["a", "b"]}, {"type": "ordered", "categories": ["a"]}),
        ({"type": "categories", "categories": ["a", "b"]}, {"type": "categories", "categories": ["a", "a"]}),
        (
            {"type": "categories", "categories": [{"id": "a", "value": 5}, "b"]},
            {"type": "categories", "categories": [{"id": "a", "value": 1}, "b"]},
        ),
        ({"type": "text", "min_words": 0}, {"type": "text", "min_words": -1}),
        ({"type": "text", "max_words": 1}, {"type": "text", "max_words": 0}),
        ({"type": "tags", "separator": ","}, {"type": "tags", "separator": ",,"}),
        ({"type": "tags", "tags": ["a", "b"]}, {"type": "tags", "tags": ["a;b"]}),
    ],
)
def test_limits_of_scales(allowed: dict[str, Any], refused: dict[str, Any]) -> None:
    SCALE.validate_python(allowed)
    with pytest.raises(ValidationError):
        SCALE.validate_python(refused)


@check_all(
    ("scale", "answer", "coded"),
    [
        ({"type": "points", "points": 5, "first": -2}, -2, (-2.0, None)),
        ({"type": "points", "points": 5, "first": -2}, 2, (2.0, None)),
        ({"type": "points", "points": 5, "first": -2}, 3, None),
        ({"type": "points", "points": 5}, "5,0", (5.0, None)),
        ({"type": "points", "points": 5}, True, None),
        ({"type": "points", "points": 5}, "nan", None),
        ({"type": "numeric", "low": 0, "high": 1}, 1, (1.0, None)),
        ({"type": "numeric", "low": 0, "high": 1}, 1.0001, None),
        ({"type": "numeric", "low": 0}, 1e300, (1e300, None)),
        ({"type": "numeric", "high": 0}, 0.001, None),
        ({"type": "numeric"}, float("inf"), None),
        ({"type": "ordered", "categories": ["a", {"id": "b", "value": 7}]}, 7, (7.0, "b")),
        ({"type": "ordered", "categories": ["a", {"id": "b", "value": 7}]}, "a", (0.0, "a")),
        ({"type": "ordered", "categories": ["a", {"id": "b", "value": 7}]}, 1, None),
        ({"type": "yes-no"}, " YES ", (1.0, "yes")),
        ({"type": "yes-no"}, False, (0.0, "no")),
        ({"type": "yes-no"}, 2, None),
        ({"type": "text", "min_words": 2, "max_words": 3}, "one two", (None, "one two")),
        ({"type": "text", "min_words": 2, "max_words": 3}, "one two three", (None, "one two three")),
        ({"type": "text", "min_words": 2, "max_words": 3}, "one", None),
        ({"type": "text", "min_words": 2, "max_words": 3}, "one two three four", None),
        ({"type": "tags", "tags": ["a", "b"], "open": False}, "b; a", (None, "b;a")),
        ({"type": "tags", "tags": ["a", "b"], "open": False}, ["c"], None),
        ({"type": "tags", "tags": ["a", "b"]}, ["c", " "], (None, "c")),
    ],
)
def test_what_a_scale_reads(
    scale: dict[str, Any], answer: object, coded: tuple[float | None, str | None] | None
) -> None:
    made = SCALE.validate_python(scale)
    if coded is None:
        with pytest.raises(InputError):
            made.read(answer)
    else:
        assert made.read(answer) == coded


def test_words_are_counted_in_any_script() -> None:
    assert [count_words(text) for text in ("", "  ", "two words", "漢字", "漢字 and two", "한국어 문장")] == [
        0,
        0,
        2,
        2,
        4,
        2,
    ]


@check_all(
    ("model", "key", "allowed", "refused"),
    [
        (Design, "ratings_per_item", 1, 0),
        (Design, "stimuli_per_rater", 1, 0),
        (Design, "batch", 1, 0),
        (Design, "practice", 0, -1),
        (Design, "replays", 0, -1),
        (Design, "minimum_ratings", 1, 0),
        (Design, "expected_seconds", 0.001, 0),
        (Recruiting, "cap", 1, 0),
        (Recruiting, "complete_share", 1.0, 1.01),
        (Recruiting, "complete_share", 0.01, 0.0),
        (Recruiting, "return_url", "https://a.example/{code}", "javascript:alert(1)"),
        (Recruiting, "return_url", "http://" + "a" * 1993, "http://" + "a" * 1994),
        *((Codes, key, "c" * 200, "c" * 201) for key in ("complete", "screened_out", "declined", "full", "partial")),
    ],
)
def test_limits_of_the_design(model: type[Design], key: str, allowed: object, refused: object) -> None:
    assert getattr(model(**{key: allowed}), key) == allowed
    with pytest.raises(ValidationError):
        model(**{key: refused})


def test_defaults_that_designs_rely_on() -> None:
    design, recruiting = Design(), Recruiting()
    assert (design.ratings_per_item, design.practice, design.minimum_ratings, design.expected_seconds) == (
        5,
        1,
        1,
        20.0,
    )
    assert (design.order, design.listening, design.auto_advance, design.adaptive) == ("random", "full", "offer", False)
    assert (recruiting.cap, recruiting.complete_share) == (None, 0.5)
    repeat = RepeatProbe(type="repeat", id="r")
    assert (repeat.per_session, repeat.at_most_apart, repeat.gap) == (1, 2, 8)
    phones = HeadphoneProbe(type="headphones", id="h")
    assert (phones.trials, phones.pass_at, phones.blocks) == (6, 5, False)


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [
        ({"type": "anchor", "at_least": 3, "at_most": 3}, {"type": "anchor", "at_least": 3.1, "at_most": 3}),
        ({"type": "anchor", "per_session": 1}, {"type": "anchor", "per_session": 0}),
        ({"type": "anchor", "stimuli": ["s"]}, {"type": "anchor", "stimuli": []}),
        ({"type": "repeat", "at_most_apart": 0}, {"type": "repeat", "at_most_apart": -0.1}),
        ({"type": "repeat", "gap": 1}, {"type": "repeat", "gap": 0}),
        ({"type": "repeat", "per_session": 1}, {"type": "repeat", "per_session": 0}),
        ({"type": "attention", "per_session": 1}, {"type": "attention", "per_session": 0}),
        ({"type": "headphones", "trials": 5, "pass_at": 5}, {"type": "headphones", "trials": 5, "pass_at": 6}),
        ({"type": "headphones", "pass_at": 1}, {"type": "headphones", "pass_at": 0}),
    ],
)
def test_limits_of_probes(allowed: dict[str, Any], refused: dict[str, Any]) -> None:
    rest: dict[str, dict[str, Any]] = {
        "anchor": {"id": "p", "stimuli": ["s"], "question": "v"},
        "repeat": {"id": "p"},
        "attention": {"id": "p", "text": "Choose 2", "question": "v", "answer": 2},
        "headphones": {"id": "p"},
    }
    PROBE.validate_python({**rest[allowed["type"]], **allowed})
    with pytest.raises(ValidationError):
        PROBE.validate_python({**rest[refused["type"]], **refused})


@check_all(
    ("parts", "problem"),
    [
        ({"systems": [{"id": "x"}, {"id": "x"}]}, "systems"),
        ({"intents": [{"id": "x"}, {"id": "x"}]}, "intents"),
        ({"prompts": [{"id": "x", "text": "a"}, {"id": "x", "text": "b"}]}, "prompts"),
        ({"questions": [BASE["questions"][0], BASE["questions"][0]]}, "questions"),
        ({"questions": []}, "questions"),
        ({"probes": [{"type": "repeat", "id": "r"}, {"type": "headphones", "id": "r"}]}, "probes"),
        ({"demographics": [{"id": "age", "text": "A"}, {"id": "age", "text": "B"}]}, "demographics"),
        ({"questions": [{"id": "v", "text": "V", "scale": "eleven"}]}, "no scale is called 'eleven'"),
        (
            {
                "questions": [{"id": "v", "text": "V", "scale": "nine", "axis": "z"}],
                "intents": [{"id": "i", "reference": {"x": 1}}],
            },
            "no intent has a coordinate 'z'",
        ),
        ({"prompts": [{"id": "p", "text": "a", "systems": ["nobody"]}]}, "no system is called 'nobody'"),
        ({"probes": [{"type": "anchor", "id": "r", "stimuli": ["s"], "question": "z"}]}, "no question is called 'z'"),
        (
            {"probes": [{"type": "attention", "id": "r", "text": "t", "question": "z", "answer": 1}]},
            "no question is called 'z'",
        ),
        ({"design": {"affect_grid": ["v", "z"]}}, "no question is called 'z'"),
        ({"design": {"affect_grid": ["v", "v"]}}, "two different questions"),
        ({"scales": {"nine": {"type": "points", "points": 7}}, "design": {"affect_grid": ["v", "a"]}}, "9"),
        ({"languages": []}, "languages"),
        ({"name": "x" * 201}, "200"),
    ],
)
def test_a_study_hangs_together(parts: dict[str, Any], problem: str) -> None:
    Study.model_validate(BASE)
    with pytest.raises(ValidationError, match=problem):
        Study.model_validate({**BASE, **parts})


def test_when_drafts_can_be_verified_together() -> None:
    asked = [{"id": name, "text": name, "scale": "nine", "machine_first": True} for name in ("v", "a")]
    design: dict[str, Any] = {
        "questions_per_page": "one", "drafts_per_page": 12, "order": "blocks", "block_by": "question",
    }  # fmt: skip
    parts = {"media": "image", "questions": asked, "design": design}
    assert Study.model_validate({**BASE, **parts}).design.drafts_per_page == 12
    assert "drafts_per_page" not in Study.model_validate(BASE).model_dump()["design"]
    refused: list[tuple[dict[str, Any], str]] = [
        ({"media": "audio"}, "single images"),
        ({"design": {**design, "questions_per_page": "all"}}, "questions_per_page: one"),
        ({"design": {**design, "order": "random"}}, "block_by: question"),
        ({"design": {**design, "drafts_per_page": 25}}, "24"),
        ({"questions": [asked[0], {"id": "a", "text": "A", "scale": "nine"}]}, "'a' is not machine_first"),
        ({"probes": [{"type": "repeat", "id": "r", "gap": 11}]}, "gap"),
    ]
    for wrong, problem in refused:
        with pytest.raises(ValidationError, match=problem):
            Study.model_validate({**BASE, **parts, **wrong})


def test_a_changed_study_is_checked_and_spreads_its_questions_anew() -> None:
    study = Study.model_validate(BASE)
    assert [question.id for question in study.asked] == ["v", "a"]
    fewer = study.changed(questions=[study.questions[1]])
    assert [question.id for question in fewer.asked] == ["a"]
    with pytest.raises(ValidationError):
        study.changed(questions=[Question(id="q", text="Q", scale="nowhere")])


def test_what_is_set_aside() -> None:
    anchor = AnchorProbe(type="anchor", id="known", stimuli=["s1", "s2"], question="v")
    study = Study.model_validate({**BASE, "probes": [anchor], "design": {"practice_stimuli": ["s2", "s3"]}})
    known = "anchor of the probe 'known'"
    assert study.set_aside == {"s2": known, "s3": "practice stimulus", "s1": known}


def test_recruiting_and_database_are_no_part_of_the_study() -> None:
    study = Study.model_validate(BASE)
    other = study.changed(recruiting=Recruiting(cap=3), database="postgresql://x")
    assert other.hash == study.hash
    assert other.plain() == study.plain()


@pytest.mark.parametrize("name", [" x", "", "a\nb", "x" * 2001])
def test_what_no_id_may_be(name: str) -> None:
    if name == " x":
        assert System(id=name).id == "x"
        return
    with pytest.raises(ValidationError):
        System(id=name)


def test_a_text_in_a_language_and_its_family() -> None:
    assert say({"zh": "a", "en": "b"}, "zh-Hans") == "a"
    assert say({"fr": "a", "en": "b"}, "de") == "b"
    assert say({"fr": "a", "ko": "b"}, "de") == "a"


def test_limits_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heartfelt.study.yaml_lines.MAX_BYTES", 10)
    assert read_yaml("a: 1234567", "x").data == {"a": 1234567}
    with pytest.raises(StudyError, match="larger than"):
        read_yaml("a: 12345678", "x")
    monkeypatch.setattr("heartfelt.study.yaml_lines.MAX_BYTES", 1000)
    monkeypatch.setattr("heartfelt.study.yaml_lines.MAX_NODES", 4)
    assert read_yaml("[1, 2, 3]", "x").data == [1, 2, 3]
    with pytest.raises(StudyError, match="more than 4 values"):
        read_yaml("[1, 2, 3, 4]", "x")
    monkeypatch.setattr("heartfelt.study.yaml_lines.MAX_NODES", 100)
    monkeypatch.setattr("heartfelt.study.yaml_lines.MAX_DEPTH", 2)
    assert read_yaml("[[1]]", "x").data == [[1]]
    with pytest.raises(StudyError, match="levels"):
        read_yaml("[[[1]]]", "x")


def test_a_mistake_is_told_with_its_line() -> None:
    text = "name: t\nscales:\n  nine: {type: points, points: 1}\nquestions:\n  - {id: v, text: V, scale: nine}\n"
    with pytest.raises(StudyError, match=r"study\.yaml, line 3, scales\.nine\.points: .*greater than or equal to 2"):
        parse_study(text)
    with pytest.raises(StudyError, match=r"line 3.*the key 'name' is given twice"):
        parse_study("name: t\nseed: 1\nname: u\n")
