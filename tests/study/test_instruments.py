"""Instruments: every one that is shipped is complete and scores as published; uses in study.yaml; files of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartfelt.errors import StudyError
from heartfelt.study import Study, load_study, parse_study, study_text
from heartfelt.study.instruments import instrument_names, parse_instrument, shipped_instrument
from heartfelt.study.study import json_schema

STUDY = """
name: x
scales: {nine: {type: points, points: 9}}
before:
  - {instrument: tipi}
  - {id: mood, text: Mood, scale: nine}
after:
  - {instrument: gold-msi, id: music, subscales: [training], required: false}
questions: [{id: v, text: V, scale: nine}]
"""
OWN = """
id: calm
name: Calm scale
citation: Nobody (2020). Calm.
licence: {name: own, reason: written for this study}
languages: [en, ko]
scales: {agree: {type: points, points: 5}}
items:
  - {id: 1, text: {en: I am calm., ko: 나는 차분하다.}}
  - {id: 2, text: {en: I am tense., ko: 나는 긴장했다.}, reversed: true}
  - {id: 3, text: {en: I am at ease., ko: 나는 편안하다.}}
subscales:
  calm: {items: [1, 2, 3], score: sum, allowed_missing: 1}
"""


@pytest.mark.parametrize("name", instrument_names())
def test_a_shipped_instrument_says_whom_to_cite_and_why_it_may_be_shipped(name: str) -> None:
    instrument = shipped_instrument(name)
    assert instrument.id == name
    assert instrument.citation
    assert instrument.licence.reason
    scored = {item for rule in instrument.subscales.values() for item in rule.items}
    assert scored == {item.id for item in instrument.items}, "an item that no score uses"
    texts = [str(item.text) for item in instrument.items]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("name", "subscale", "answers", "expected"),
    [
        # Gosling et al. (2003): 6 is reversed, so 7 and 1 are both highest.
        ("tipi", "extraversion", {"1": 7, "6": 1}, 7.0),
        ("tipi", "stability", {"4": 2, "9": 5}, 5.5),
        # Brooke (1996): all 3s are a score of 50; odd items 5 and even items 1 are 100.
        ("sus", "usability", dict.fromkeys(map(str, range(1, 11)), 3), 50.0),
        ("sus", "usability", {str(n): 5 if n % 2 else 1 for n in range(1, 11)}, 100.0),
        ("phq-9", "depression", dict.fromkeys(map(str, range(1, 10)), 3), 27.0),
        ("gad-7", "anxiety", dict.fromkeys(map(str, range(1, 8)), 0), 0.0),
        ("rses", "esteem", dict.fromkeys(map(str, range(1, 11)), 3), 15.0),
        ("mini-ipip", "neuroticism", {"4": 5, "9": 1, "14": 5, "19": 1}, 5.0),
        ("gold-msi", "training", {"14": 1, "27": 1, "32": 7, "33": 7, "35": 7, "36": 7, "37": 7}, 49.0),
    ],
)
def test_scores_are_those_of_the_published_keys(
    name: str, subscale: str, answers: dict[str, float], expected: float
) -> None:
    instrument = shipped_instrument(name)
    numbers = {item: instrument.number(item, value) for item, value in answers.items()}
    score, reason = instrument.score(subscale, numbers)
    assert reason is None
    assert score == pytest.approx(expected)


def test_the_ranges_of_the_gold_msi_are_the_published_ones() -> None:
    instrument = shipped_instrument("gold-msi")
    ranges = {name: (len(rule.items), 7 * len(rule.items)) for name, rule in instrument.subscales.items()}
    assert ranges == {
        "engagement": (9, 63),
        "perception": (9, 63),
        "training": (7, 49),
        "emotions": (6, 42),
        "singing": (7, 49),
        "general": (18, 126),
    }


def test_a_use_becomes_questions_pages_and_grids_and_is_written_out_in_full() -> None:
    study = parse_study(STUDY)
    assert [question.id for question in study.before][:2] == ["tipi_1", "tipi_2"]
    assert study.before[0].grid == study.before[9].grid
    assert [bool(question.help) for question in study.before[:3]] == [True, False, False]
    assert [question.id for question in study.after][:2] == ["music_14", "music_27"]
    assert not any(question.required for question in study.after)
    assert list(study.instruments) == ["tipi", "music"]
    assert list(study.instruments["music"].subscales) == ["training"]
    again = parse_study(study_text(study))
    assert again == study
    assert again.hash == study.hash, "a stored study does not depend on what is shipped"
    assert "InstrumentUse" in str(json_schema()["properties"]["before"])


def test_a_study_without_instruments_says_nothing_of_them() -> None:
    plain = parse_study("name: x\nscales: {n: {type: yes-no}}\nquestions: [{id: v, text: V, scale: n}]\n")
    assert "instruments" not in plain.model_dump(mode="json")


def test_an_instrument_of_the_study_folder(tmp_path: Path) -> None:
    (tmp_path / "calm.yaml").write_text(OWN, encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY.replace("tipi", "calm.yaml"), encoding="utf-8")
    study = load_study(tmp_path)
    instrument = study.instruments["calm"]
    assert instrument.score("calm", {"1": 4.0, "2": 2.0, "3": None}) == (9.0, None), "prorated: 3 times the mean"
    assert instrument.score("calm", {"1": 4.0}) == (None, "2 of 3 items not answered (1 allowed)")
    assert study.before[0].text == {"en": "I am calm.", "ko": "나는 차분하다."}
    with pytest.raises(StudyError, match="file of a study folder"):
        parse_study(STUDY.replace("tipi", "calm.yaml"))
    with pytest.raises(StudyError, match="leads out"):
        parse_study(STUDY.replace("tipi", "../calm.yaml"), folder=tmp_path)


@pytest.mark.parametrize(
    ("change", "to", "problem"),
    [
        ("instrument: tipi}", "instrument: tip}", r"line 5: No instrument called 'tip'"),
        ("text: Mood, scale: nine", "text: Mood, scale: nin", r"line 6, before.*no scale is called 'nin'"),
        ("[training]", "[traning]", r"line 8: 'gold-msi' has no subscale 'traning'"),
        ("gold-msi, id: music, subscales: [training]", "tipi", r"line 8: the instrument 'tipi' is used twice"),
        ("instrument: tipi}", "instrument: tipi, x: 1}", r"line 5, x: Extra inputs"),
        ("id: music", "id: before", r"cannot be called 'before'"),
        ("{nine:", "{tipi_agreement: {type: yes-no}, nine:", r"line 5: a scale of the study is called"),
    ],
)
def test_mistakes_name_their_line(change: str, to: str, problem: str) -> None:
    assert change in STUDY
    with pytest.raises(StudyError, match=problem):
        parse_study(STUDY.replace(change, to))


@pytest.mark.parametrize(
    ("change", "to", "problem"),
    [
        ("items: [1, 2, 3]", "items: [1, 4]", "there is no item '4'"),
        ("id: 2, text", "id: 1, text", "two items are called '1'"),
        ("allowed_missing: 1", "allowed_missing: 3", "allowed_missing must be less"),
        ("ko: 나는 긴장했다.", "de: Ich bin angespannt.", "item '2' has no text in 'ko'"),
        ("{type: points, points: 5}", "{type: text}", "a scale without numbers"),
        ("citation: Nobody (2020). Calm.\n", "", "citation"),
        (
            "{type: points, points: 5}",
            "{type: ordered, categories: ['1.0', '2.0']}",
            "write the category '1.0' as a plain number",
        ),
    ],
)
def test_an_instrument_that_cannot_be_scored_is_refused(change: str, to: str, problem: str) -> None:
    with pytest.raises(StudyError, match=problem):
        parse_instrument(OWN.replace(change, to), "calm.yaml")


def test_an_instrument_written_into_the_study_must_be_asked() -> None:
    study = parse_study(STUDY)
    with pytest.raises(ValueError, match="is not asked"):
        Study.model_validate({**study.model_dump(mode="json"), "before": []})
