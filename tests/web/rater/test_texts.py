"""The pages' texts: complete in every language, and a study's own file is held to them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from heartfelt.errors import InputError
from heartfelt.study import parse_study
from heartfelt.study.recipes import RECIPES, recipe_study
from heartfelt.web.rater.forms import form_numbers, present
from heartfelt.web.rater.texts import BUILT_IN, direction, run_direction, texts_for
from tests.cases import check_all

HOLES = re.compile(r"\{\w+\}")
STATIC = Path(__file__).resolve().parents[3] / "src" / "heartfelt" / "web" / "rater" / "static"


def flat(texts: Any, before: str = "") -> dict[str, str]:
    results = {}
    for key, text in texts.items():
        if isinstance(text, dict):
            results.update(flat(text, f"{before}{key}."))
        else:
            results[f"{before}{key}"] = text
    return results


TRANSLATIONS = [language for language in BUILT_IN if language != "en"]
SAME_WORDS = {
    "fr": {"head.menu", "trial.prompt", "live.member_image", "dialog.menu", "scales.excellent"},
    "es": {"scales.answer_no"},
    "pt": {"head.menu", "dialog.menu"},
}
"""Texts that are spelled as in English, by language."""
LATIN_WORDS = {"javascript", "enter", "cookie", "esc", "ai"}
"""Words that languages in other scripts use as they are."""


def shipped(language: str) -> dict[str, str]:
    """The texts of a file that comes with heartfelt, and nothing else."""
    content = (STATIC.parent / "texts" / f"{language}.yaml").read_text(encoding="utf-8")
    return flat(yaml.safe_load(content))


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_every_text_is_there_and_has_the_same_places_to_fill(language: str) -> None:
    english, other = shipped("en"), shipped(language)
    own = {key for key in other if not key.startswith("choices.")}
    assert own == {key for key in english if not key.startswith("choices.")}
    for key in own:
        assert sorted(HOLES.findall(other[key])) == sorted(HOLES.findall(english[key])), key
        assert other[key].strip(), key
    assert {key for key in own if other[key] == english[key]} == SAME_WORDS.get(language, set())


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_the_choices_of_every_recipe_are_translated(language: str) -> None:
    translated = texts_for(language)["choices"]
    for recipe in RECIPES:
        for fact in recipe_study(recipe).demographics:
            assert {choice.lower() for choice in fact.choices} <= set(translated), recipe


@pytest.mark.parametrize("language", ["zh", "ja", "ko", "ar", "he"])
def test_no_english_is_left_between_other_letters(language: str) -> None:
    for key, text in shipped(language).items():
        words = re.findall(r"[A-Za-z]{2,}", HOLES.sub("", text))
        assert not {word.lower() for word in words} - LATIN_WORDS, f"{key}: {text}"


@pytest.mark.parametrize("language", ["ar", "he"])
def test_every_text_in_a_script_from_right_to_left_is_of_that_script(language: str) -> None:
    for key, text in shipped(language).items():
        letters = [letter for letter in HOLES.sub("", text) if letter.isalpha()]
        assert not letters or run_direction(text, language) == "rtl", key


@pytest.mark.parametrize(
    ("language", "way"),
    [("en", "ltr"), ("ar", "rtl"), ("he-IL", "rtl"), ("fa", "rtl"), ("az-Arab", "rtl"), ("ur-Latn", "ltr")],
)
def test_the_direction_of_a_language_comes_from_its_script(language: str, way: str) -> None:
    assert direction(language) == way


@pytest.mark.parametrize(
    ("text", "language", "way"),
    [
        ("هذا مقطع مولَّد (AI).", "ar", "rtl"),
        ("AI هو المصدر.", "ar", "rtl"),
        ("How does it feel?", "ar", "ltr"),
        ("1–9", "he", "rtl"),
        ("שלום", "en", "rtl"),
        ("The word שלום", "en", "ltr"),
    ],
)
def test_a_text_in_another_script_keeps_its_own_direction(text: str, language: str, way: str) -> None:
    assert run_direction(text, language) == way


def test_every_text_the_modules_ask_for_exists() -> None:
    texts = texts_for("en")
    for path in STATIC.glob("*.js"):
        known = {**texts["live"], **(texts["adjudicate"] if path.name == "adjudicate.js" else {})}
        for key in re.findall(r"words\(\"(\w+)\"", path.read_text(encoding="utf-8")):
            assert key in known, f"{path.name} asks for '{key}'"


def test_no_text_of_a_module_spans_lines() -> None:
    """Indentation and comment lines are left out where the modules are served."""
    for path in STATIC.glob("*.js"):
        for text in re.findall(r"`[^`]*`", path.read_text(encoding="utf-8")):
            assert "\n" not in text, f"{path.name}: {text[:60]}"


def test_a_regional_language_falls_back(tmp_path: Path) -> None:
    assert texts_for("ko-KR")["consent"] == texts_for("ko")["consent"]
    assert texts_for("nl") == texts_for("en")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "nl.yaml").write_text("language: Nederlands\nchoices: {violin: viool}\n", encoding="utf-8")
    dutch = texts_for("nl-BE", tmp_path)
    assert (dutch["language"], dutch["choices"]["violin"]) == ("Nederlands", "viool")


@pytest.mark.parametrize(
    ("text", "problem", "fix"),
    [
        ("consnt: {title: x}", "no text is called 'consnt'", "Did you mean 'consent'?"),
        ("consent: {titel: x}", "no text is called 'consent.titel'", "Did you mean 'title'?"),
        ("consent: hello", "'consent' is a section", "Indent"),
        ("- a", "holds no texts", "en.yaml"),
        ("a: [", "cannot be read", "en.yaml"),
        ("a: !!python/object/apply:os.getcwd []", "cannot be read", "en.yaml"),
    ],
)
def test_a_wrong_file_is_told_with_its_place(tmp_path: Path, text: str, problem: str, fix: str) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "fr.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        texts_for("fr", tmp_path)
    assert problem in caught.value.problem
    assert "fr.yaml" in caught.value.problem
    assert fix in caught.value.fix


@check_all("recipe", RECIPES)
def test_what_a_page_is_told_names_no_system_and_no_question(recipe: str) -> None:
    study = recipe_study(recipe)
    message = present(study, study.languages[0])
    assert all(0 <= form["scale"] < len(message["scales"]) for form in message["forms"])
    words = set(re.findall(r"\w+", str(message)))
    assert not {system.id for system in study.systems} & words
    assert not {question.id for question in study.asked if "/" in question.id} & words
    assert set(form_numbers(study).values()) == set(range(len(message["forms"])))


def test_questions_that_read_the_same_are_told_once() -> None:
    study = recipe_study("emolia-emo")
    numbers = form_numbers(study)
    for language in study.languages:
        assert len(present(study, language)["forms"]) == 40 < len(numbers)
    assert numbers["Affection/affirmative"] == numbers["Affection/ultimate"] != numbers["Anger/ultimate"]
    small = parse_study(
        "name: s\nscales: {n: {type: points, points: 3, anchors: {1: {en: low, ko: 낮음}}, pictures: {3: top.png}}}\n"
        "questions: [{id: q, text: Q, scale: n, rubric: hidden, shows: []}]"
    )
    message = present(small, "ko")
    assert message["scales"][0]["anchors"] == {"1": "낮음"}
    assert message["scales"][0]["pictures"] == {"3": "/rate/picture/0/3"}
    assert message["forms"][0]["scale"] == 0
    assert "rubric" not in message["forms"][0]
