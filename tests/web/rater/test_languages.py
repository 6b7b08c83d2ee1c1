"""A study in ten languages: each is walked from the first page to the last, by a rater whose browser asks for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.study import Study, parse_study
from heartfelt.study.model import say
from heartfelt.web.layout.browser import measure
from heartfelt.web.rater.forms import present
from heartfelt.web.rater.texts import BUILT_IN, direction, texts_for
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from tests.web.rater.reading import read
from tests.web.rater.serving import Served
from tests.web.rater.test_texts import shipped
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OWN = "★ 7"
"""What the study itself says: nothing in any language."""

PARTS = ("languages", "title", "instructions", "consent", "demographics", "scales", "questions")


def dumped(study: dict[str, Any]) -> str:
    """The study as a study.yaml, with its keys in order."""
    return str(yaml.safe_dump(study, sort_keys=False, allow_unicode=True))


def study_in_ten(**parts: Any) -> dict[str, Any]:
    """The parts of a study that says nothing of its own."""
    return {
        "languages": list(BUILT_IN),
        "title": OWN,
        "instructions": OWN,
        "consent": {"text": OWN},
        "demographics": [
            {"id": "age", "text": OWN, "type": "number", "required": True},
            {"id": "gender", "text": OWN, "type": "choice", "choices": ["female", "other"]},
        ],
        "scales": {
            "nine": {"type": "points", "points": 9, "anchors": {1: OWN, 9: OWN}},
            "good": {"type": "yes-no"},
            "words": {"type": "text", "min_words": 2},
        },
        "questions": [
            {"id": "nine", "text": OWN, "scale": "nine", "emotion": "felt"},
            {"id": "good", "text": OWN, "scale": "good"},
            {"id": "words", "text": OWN, "scale": "words", "required": False},
        ],
        **parts,
    }


def walk(visitor: Visitor, look: Callable[[], None]) -> None:
    """From the door to the code, looking at every screen."""
    visitor.at_each_screen = look
    visitor.enter()
    look()
    visitor.page.keyboard.press("Enter")  # says what is missing
    look()
    while visitor.page.query_selector("form.trial") is not None:
        visitor.page.wait_for_selector("form.trial:not([data-locked])")
        count = visitor.number()
        visitor.page.keyboard.press("5")
        visitor.page.keyboard.press("1")
        look()
        while visitor.page.query_selector("form.trial[data-last]") is None:
            visitor.page.locator("[data-does=submit]").click()
        visitor.page.locator("[data-does=submit]").click()
        visitor.page.wait_for_function(
            "count => !document.querySelector('form.trial') || document.querySelector('#count').textContent !== count",
            arg=count,
        )
    visitor.page.wait_for_selector(".code output")
    look()


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(600)
def test_every_language_is_walked_without_a_word_of_english(browser: Browser, tmp_path: Path) -> None:
    study = parse_study(dumped({"name": "ten", "media": "audio", **study_in_ten()}))
    parts = {name: getattr(study, name) for name in PARTS}
    design = {"practice": 0, "listening": "free", "affect_grid": None, "ratings_per_item": 40}
    served = Served.start("aimoclips", tmp_path / "study", count=2, design=design, **parts)
    english = {text for key, text in shipped("en").items() if "{" not in text and len(text) > 3}
    try:
        for language in BUILT_IN:
            visitor = Visitor(browser, served, locale=language, viewport={"width": 390, "height": 844})
            page = visitor.page
            own = set(shipped(language).values())

            def look(page: Any = page, language: str = language, own: set[str] = own) -> None:
                html = page.locator("html")
                assert (html.get_attribute("lang"), html.get_attribute("dir")) == (language, direction(language))
                assert language == "en" or not (set(read(page)) & english) - own, language
                assert page.evaluate(measure()) == [], language

            walk(visitor, look)
            visitor.quiet()
            visitor.close()
    finally:
        served.close()


@pytest.mark.parametrize("language", BUILT_IN)
def test_words_that_scales_bring_along_are_in_the_language_of_the_page(language: str) -> None:
    scales = {
        "yes": {"type": "yes-no"}, "tie": {"type": "choice", "ties": True}, "cmos": {"type": "preference", "steps": 2},
        "grade": {"type": "grade"}, "rank": {"type": "rank"}, "ends": {"type": "best-worst", "best": "Happiest"},
    }  # fmt: skip
    questions = [{"id": "yes", "text": "?", "scale": "yes"}]
    study = parse_study(dumped({"name": "s", "scales": scales, "questions": questions}))
    words = texts_for(language)["scales"]
    yes, tie, cmos, grade, rank, ends = present(study, language)["scales"]
    assert [text for _, text in yes["options"]] == [words["answer_yes"], words["answer_no"]]
    assert tie["tie"] == words["tie"]
    assert dict(cmos["anchors"]) == {0: words["same"], 1: words["slightly_better"], 2: words["better"]}
    assert grade["bands"] == [words[key] for key in ("bad", "poor", "fair", "good", "excellent")]
    assert (rank["best"], rank["worst"]) == (words["best"], words["worst"])
    assert (ends["best"], ends["worst"]) == ("Happiest", words["worst"]), "the study's own word stays"


def scales_of(language: str, **design: str) -> Study:
    return parse_study(
        dumped(
            {
                "name": "s",
                "languages": [language],
                "scales": {"n": {"type": "points", "points": 3}},
                "questions": [{"id": "q", "text": "?", "scale": "n"}],
                "design": design,
            }
        )
    )


def test_a_study_that_does_not_fix_its_scales_keeps_its_hash() -> None:
    plain, mirrored, fixed = (
        scales_of("ar"),
        scales_of("ar", rtl_scales="mirrored"),
        scales_of("ar", rtl_scales="fixed"),
    )
    assert plain.hash == mirrored.hash != fixed.hash
    assert "rtl_scales" not in plain.model_dump()["design"]


@pytest.mark.slow
def test_what_is_refused_is_said_in_the_language_of_the_page(tmp_path: Path) -> None:
    from tests.web.rater.studies import small_study

    small_study("aimoclips", tmp_path / "study", count=2, languages=["en", "ko"], design={"practice": 0})
    options = WebOptions(secret=b"s" * 32, address_per_minute=0, rater_per_minute=0, access_log=False)
    with (
        Collection.open(tmp_path / "study", options=CollectOptions(durable=False)) as collection,
        TestClient(create_app(collection, options), base_url="http://127.0.0.1") as client,
    ):
        texts = texts_for("ko")["refusals"]
        client.headers["accept-language"] = "ko"
        assert client.get("/rate/step").json() == {"problem": texts["unknown"], "fix": ""}
        client.get("/")
        client.post("/rate/consent", json={"agreed": True})
        client.post("/rate/demographics", json={"answers": {"age": 30, "gender": "other"}})
        step = client.post("/rate/ready", json={}).json()["step"]
        said = client.post("/rate/answer", json={"trial": step["trial"], "key": "k", "values": {}}).json()
        asked = [say(collection.study.question(name).text, "ko") for name in ("valence", "arousal")]
        assert said["problem"] == texts["answers"].replace("{questions}", "; ".join(asked))
        wrong = client.post("/rate/answer", content=b"{", headers={"content-type": "application/json"})
        assert wrong.json()["problem"] == texts["failed"]
        lost = client.get("/i/none", headers={"accept": "text/html"})
        assert 'lang="ko"' in lost.text
        client.headers["accept-language"] = "en"
        assert (
            "Not answered"
            in client.post("/rate/answer", json={"trial": step["trial"], "key": "k", "values": {}}).json()["problem"]
        )


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("choice", ["mirrored", "fixed"])
def test_scales_follow_the_study_in_a_language_from_right_to_left(
    browser: Browser, tmp_path: Path, choice: str
) -> None:
    parts = study_in_ten(languages=["ar"])
    parts["scales"]["slide"] = {"type": "numeric", "low": 0, "high": 1, "step": 0.1}
    parts["questions"] = [parts["questions"][0], {"id": "slide", "text": "هذا مقطع مولَّد (AI).", "scale": "slide"}]
    study = parse_study(dumped({"name": "rtl", **parts}))
    design = {"practice": 0, "listening": "free", "affect_grid": None, "rtl_scales": choice}
    chosen = {name: getattr(study, name) for name in PARTS}
    served = Served.start("aimoclips", tmp_path / "study", count=1, design=design, **chosen)
    visitor = Visitor(browser, served, locale="ar")
    page = visitor.page
    try:
        visitor.enter()
        page.wait_for_selector("form.trial:not([data-locked])")
        places = page.eval_on_selector_all(
            ".question.active .option", "all => all.map((each) => each.getBoundingClientRect().left)"
        )
        assert places == sorted(places, reverse=choice == "mirrored")
        bar, count = (page.locator(name).bounding_box() for name in ("#bar", "#count"))
        assert bar is not None
        assert count is not None
        assert bar["x"] < count["x"], "progress and its number are mirrored in any case"
        line = page.locator(".track .line").first
        assert line.evaluate("node => getComputedStyle(node).direction") == "ltr", "time runs to the right"
        slider = page.locator("input[type=range]:visible")
        box = slider.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + 20, box["y"] + box["height"] / 2)
        value = float(slider.input_value())
        assert value > 0.8 if choice == "mirrored" else value < 0.2
        brackets = page.evaluate(BRACKETS)
        assert brackets == ["(", "A", "I", ")"], "from left to right: an opening, the letters, a closing bracket"
    finally:
        visitor.close()
        served.close()


BRACKETS = """() => {
  const text = [...document.querySelectorAll('.asks')].map((each) => each.firstChild).find((node) => node.data.includes('(AI)'));
  const box = (index) => {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + 1);
    return range.getBoundingClientRect();
  };
  const at = text.data.indexOf('(AI)');
  const signs = [0, 1, 2, 3].map((step) => ({ sign: text.data[at + step], left: box(at + step).left }));
  const mirrored = { '(': ')', ')': '(' };
  // In a run from right to left a bracket is drawn as the other one.
  const rtl = signs[0].left > signs[3].left;
  return signs.sort((one, other) => one.left - other.left).map(({ sign }) => (rtl ? mirrored[sign] ?? sign : sign));
}"""
