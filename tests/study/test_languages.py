"""A language that is offered has texts, the pages' and the study's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.errors import StudyError
from heartfelt.files import write_text
from heartfelt.stimuli.options import StarterOptions
from heartfelt.stimuli.starter import start_study
from heartfelt.study import Study, load_study, parse_study, study_text
from heartfelt.study.load import STUDY_FILE, check_texts, missing_texts, texts_of
from heartfelt.study.recipes import RECIPES, recipe_study
from heartfelt.web.rater.texts import check_languages
from heartfelt.web.requests.options import ServeOptions
from heartfelt.web.serving.serve import prepare
from tests.cases import check_all
from tests.facts import mentions


def study(languages: str) -> Study:
    return parse_study(
        f"name: s\nlanguages: [{languages}]\ntitle: {{en: A, ko: 가}}\n"
        "scales: {n: {type: numeric, low: 0, high: 1, anchors: {0: {en: low}, 1: {en: high, ko: 높음}}},"
        " t: {type: tags, tags: [{id: a, text: {en: A, ko: 가}}]}}\n"
        "questions: [{id: q, text: {en: Q, ko: 큐}, scale: n, about: {id: x, en: y}}, {id: r, text: same, scale: t}]"
    )


def test_texts_are_found_wherever_they_stand() -> None:
    places = {"title", "scales.n.anchors.0.0", "scales.n.anchors.1.0", "scales.t.tags.0.text", "questions.0.text"}
    assert set(texts_of(study("en, ko"))) == places
    assert missing_texts(study("en, ko")) == {"ko": ["scales.n.anchors.0.0"]}
    assert missing_texts(study("en, ko-KR")) == {"ko-KR": ["scales.n.anchors.0.0"]}


@pytest.mark.parametrize("language", ["zh", "fr"])
def test_a_language_the_study_says_nothing_in_is_refused(language: str) -> None:
    with pytest.raises(StudyError) as caught:
        check_texts(study(f"en, {language}"))
    assert f"'{language}'; they are in en, ko" in caught.value.problem
    assert "title" in caught.value.fix


@pytest.mark.slow
@check_all("recipe", RECIPES)
def test_every_recipe_says_everything_in_all_its_languages(recipe: str) -> None:
    assert missing_texts(recipe_study(recipe)) == {}


def test_a_language_the_pages_have_no_texts_in_is_refused(tmp_path: Path) -> None:
    plain = parse_study(
        "name: s\nlanguages: [en, nl]\nscales: {n: {type: points, points: 3}}\nquestions: [{id: q, text: Q, scale: n}]"
    )
    with pytest.raises(StudyError) as caught:
        check_languages(plain, tmp_path)
    assert "'nl'" in caught.value.problem
    assert "en, de, fr, es" in caught.value.problem
    assert "texts/nl.yaml" in caught.value.fix
    (tmp_path / "texts").mkdir()
    write_text(tmp_path / "texts" / "nl.yaml", "language: Nederlands\nconsent: {title: Voordat u begint}\n")
    note, same = check_languages(plain, tmp_path)
    assert "texts/nl.yaml leaves" in note
    assert "consent.agree" in note, "every text that is left is named"
    assert mentions(same, "1 texts", "study.yaml", "questions.0.text")


@pytest.mark.slow
def test_check_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    start_study("aimoclips", folder, StarterOptions(media=False))
    given = load_study(folder)
    write_text(folder / STUDY_FILE, study_text(given.changed(languages=["en", "ko", "fr"])))
    result = CliRunner().invoke(app, ["check", str(folder)])
    assert result.exit_code != 0
    error = result.exception
    assert isinstance(error, StudyError)
    assert "'fr'" in error.problem
    with pytest.raises(StudyError, match="'fr'"):
        prepare(folder, ServeOptions())
