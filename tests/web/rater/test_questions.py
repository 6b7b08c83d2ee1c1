"""Conditions, none, suggestions, long texts, grids, pages and questionnaires, in a real browser at a desk and on a phone."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from heartfelt.study.consistency.conditions import holds
from heartfelt.study.model import Condition
from heartfelt.study.scales.answer import NONE
from heartfelt.web.rater.forms import page_condition
from tests.study.condition_cases import CASES, SCALES
from tests.web.rater.serving import Served
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
STUDY: dict[str, Any] = {
    "languages": ["en", "ko", "zh"],
    "consent": None,
    "demographics": [],
    "instructions": {"en": "Look.", "ko": "보세요.", "zh": "请看。"},
    "scales": {
        "five": {"type": "points", "points": 5, "anchors": {1: "not at all", 5: "very much"}},
        "yes": {"type": "yes-no"},
        "story": {"type": "text", "min_characters": 10, "max_characters": 30, "rows": 4},
        "things": {
            "type": "tags",
            "tags": ["sky"],
            "open": False,
            "suggestions": [
                {"id": "hound", "text": {"en": "dog", "ko": "개", "zh": "狗"}},
                {"id": "doll", "text": {"en": "doll", "ko": "인형", "zh": "娃娃"}},
                {"id": "cat", "text": {"en": "cat", "ko": "고양이", "zh": "猫"}},
            ],
        },
        "size": {"type": "numeric", "low": 0, "high": 10},
        "faces": {"type": "categories", "categories": ["one", "many"]},
        "look": {"type": "categories", "categories": ["happy", "sad"]},
    },
    "before": [
        {"id": "calm", "text": "I am calm", "scale": "five", "grid": "mood", "help": "How are you now?", "none": True},
        {"id": "tired", "text": "I am tired", "scale": "five", "grid": "mood", "none": True},
        {"id": "paints", "text": "Do you paint?", "scale": "yes"},
        {"id": "what", "text": "What?", "scale": "story", "show_if": {"question": "paints", "is": "yes"}},
    ],
    "after": [{"id": "note", "text": "Anything else?", "scale": "story", "required": False}],
    "questions": [
        {"id": "joy", "text": "Joy", "scale": "five", "grid": "felt"},
        {"id": "fear", "text": "Fear", "scale": "five", "grid": "felt"},
        {"id": "people", "text": "Is anybody there?", "scale": "yes", "page": "who"},
        {
            "id": "smile",
            "text": "Do they smile?",
            "scale": "five",
            "page": "who",
            "show_if": {"question": "people", "is": "yes"},
        },
        {"id": "things", "text": "What do you see?", "scale": "things", "page": "what", "none": True},
        {
            "id": "size",
            "text": "How large?",
            "scale": "size",
            "page": "what",
            "none": {"en": "No size", "ko": "크기 없음"},
        },
        {"id": "story", "text": "Tell its story", "scale": "story", "page": "tell", "required": False},
        {"id": "faces", "text": "Faces", "scale": "faces", "machine_first": True, "none": True},
        {
            "id": "look",
            "text": "Expression",
            "scale": "look",
            "machine_first": True,
            "show_if": {"question": "faces", "none": False},
        },
    ],
    "design": {"practice": 0, "affect_grid": None, "questions_per_page": "all", "order": "manifest"},
    "columns": [pl.lit(NONE).alias("faces"), pl.lit("sad").alias("look")],
    "count": 2,
}


def random_cases(count: int) -> list[tuple[str, dict[str, Any], Any]]:
    draw = random.Random(14)
    answers: dict[str, list[Any]] = {
        "points": [1, 2, 3, 4, 5, 6, 7],
        "numeric": [-1, -0.5, 0, 0.25, 1],
        "ordered": ["low", "mid", "high"],
        "categories": ["joy", "fear", "no"],
        "yes": ["yes", "no"],
        "text": ["a", "b c", "3"],
        "tags": [["cat"], ["dog", "cat"], ["cow"]],
    }
    out = []
    for _ in range(count):
        name = draw.choice(list(answers))
        tests: dict[str, Any] = {}
        if draw.random() < 0.4 and name != "tags":
            tests["is"] = draw.sample(answers[name], draw.randint(1, 2))
        if name == "tags" and draw.random() < 0.6:
            tests[draw.choice(["is", "includes"])] = draw.choice(["cat", "dog", "cow"])
        if name in {"points", "numeric", "ordered"}:
            tests |= {key: draw.randint(-1, 5) for key in ("above", "below") if draw.random() < 0.4}
        tests |= {key: draw.random() < 0.5 for key in ("answered", "none") if draw.random() < 0.25}
        if tests:
            given = draw.choice([*answers[name], NONE, None])
            out.append((name, {**tests, "not": draw.random() < 0.3}, given))
    return out


def agrees(visitor: Visitor) -> None:
    """The page's test of conditions gives what the server's gives, for the table of cases and thousands of others."""
    cases = [(name, tests, given) for name, tests, given, _ in CASES] + random_cases(3000)
    conditions = [Condition.model_validate({"question": "x", **tests}) for _, tests, _ in cases]
    sent = [
        [page_condition(condition, SCALES[name]), "0.5" if given == "0,5" else given]
        for condition, (name, _, given) in zip(conditions, cases, strict=True)
    ]
    there = visitor.page.evaluate(
        "async (cases) => { const { holds } = await import(document.body.dataset.static + '/conditions.js');"
        " return cases.map(([test, value]) => holds(test, value ?? undefined)); }",
        sent,
    )
    here = []
    for condition, (name, _, given) in zip(conditions, cases, strict=True):
        coded = None if given is None else (None, NONE) if given == NONE else SCALES[name].read(given)
        here.append(holds(condition, coded, SCALES[name]))
    wrong = [case for case, one_side, other in zip(sent, there, here, strict=True) if one_side != other]
    assert wrong == []
    assert 0.2 < sum(here) / len(here) < 0.8


def fieldset(text: str) -> str:
    return f"fieldset.question:has(.asks:text-is('{text}'))"


@pytest.mark.slow
def test_everything_at_a_desk_by_keyboard(browser: Browser, serve: Callable[..., Served]) -> None:
    served = serve("aigiemo", **STUDY)
    visitor = Visitor(browser, served)
    page = visitor.page
    visitor.arrive()
    page.wait_for_selector(".questionnaire")
    agrees(visitor)
    visitor.accessible()
    # A grid is a table at a desk: the columns' heads stand above the buttons.
    heads = [box.bounding_box() for box in page.query_selector_all(".matrix .column")]
    boxes = [box.bounding_box() for box in page.query_selector_all(f"{fieldset('I am calm')} :is(.option, .none)")]
    assert len(heads) == len(boxes) == 6
    for head, box in zip(heads, boxes, strict=True):
        assert head
        assert box
        assert abs(head["x"] + head["width"] / 2 - box["x"] - box["width"] / 2) < 3
        assert head["y"] + head["height"] <= box["y"] + 6
    assert not page.locator(fieldset("What?")).is_visible()
    page.keyboard.press("4")
    page.locator(f"{fieldset('I am tired')} .none input").focus()
    page.keyboard.press("Space")
    page.locator(f"{fieldset('Do you paint?')} input").first.focus()
    page.keyboard.press("Space")
    assert page.locator(fieldset("What?")).is_visible()
    assert "What?" in page.inner_text("#announcement")
    page.click(".questionnaire button.main")
    assert page.locator(f"{fieldset('What?')} .note").is_visible()
    page.keyboard.type("lakes")
    assert page.inner_text(f"{fieldset('What?')} .words") == "5 characters, 10 to 30"
    page.reload()
    page.wait_for_selector(".questionnaire")
    assert page.input_value("textarea") == "lakes"
    assert page.locator(f"{fieldset('I am tired')} .none input").is_checked()
    page.fill("textarea", "lakes and mountains")
    page.click(".questionnaire button.main")
    visitor.begin()
    # Pages as the study groups them: the grid, who, what, the story.
    page.wait_for_selector("form.trial:not([data-locked])")
    visitor.still()
    visitor.accessible()
    page.keyboard.press("2")
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    assert page.locator("fieldset.question:visible").count() == 1
    page.keyboard.press("1")
    assert page.locator("fieldset.question:visible").count() == 2, "somebody is there"
    page.keyboard.press("5")
    page.keyboard.press("Backspace")
    page.keyboard.press("2")
    assert page.locator("fieldset.question:visible").count() == 1
    page.keyboard.press("Enter")
    field = page.locator(f"{fieldset('What do you see?')} .tagging input")
    field.focus()
    page.keyboard.type("do")
    assert page.locator(".suggestions li").all_inner_texts() == ["dog", "doll"]
    page.keyboard.press("ArrowDown")
    visitor.accessible()
    page.keyboard.press("Enter")
    assert page.locator(".chip.own").all_inner_texts() == ["dog"]
    field.focus()
    page.keyboard.type("house")
    page.locator(f"{fieldset('How large?')} .none input").focus()
    page.keyboard.press("Space")
    page.click("[data-does=submit]")
    assert "house" in page.inner_text(f"{fieldset('What do you see?')} .note")
    field.fill("CAT")
    page.click("[data-does=submit]")
    assert page.inner_text(f"{fieldset('Tell its story')} legend").split()[-1] == "Optional"
    assert page.get_attribute("textarea", "rows") == "4"
    page.keyboard.press("Enter")
    # A draft may be none; what depends on it comes and goes with what the rater makes of it.
    page.wait_for_selector(".verifying")
    assert page.locator(f"{fieldset('Faces')} .suggestion .chip").all_inner_texts() == ["None"]
    assert not page.locator(fieldset("Expression")).is_visible()
    page.keyboard.press("1")
    page.locator(f"{fieldset('Faces')} .option").first.click()
    assert page.locator(fieldset("Expression")).is_visible()
    page.keyboard.press("a")
    with page.expect_response("**/rate/answer"):
        page.keyboard.press("Enter")
    page.wait_for_selector("#count:text-matches('^2')")
    assert visitor.sent[0]["values"] == {
        "joy": 2,
        "fear": 3,
        "people": "no",
        "things": ["hound", "cat"],
        "size": NONE,
        "faces": "one",
        "look": "sad",
    }
    assert visitor.sent[0]["verdicts"] == {"faces": "fixed", "look": "accepted"}
    visitor.quiet()
    visitor.close()
    rated = served.collection.ratings().select("question", "value", "answer").rows()
    assert ("size", None, NONE) in rated
    assert ("things", None, "hound;cat") in rated


@pytest.mark.slow
def test_everything_on_a_small_phone_by_touch_in_korean(browser: Browser, serve: Callable[..., Served]) -> None:
    served = serve("aigiemo", **{**STUDY, "count": 1})
    visitor = Visitor(browser, served, "touch", viewport={"width": 320, "height": 568}, locale="ko-KR")
    page = visitor.page
    visitor.arrive()
    page.wait_for_selector(".questionnaire")
    assert page.inner_text("h1") == "먼저 몇 가지 질문이 있습니다"

    def narrow() -> None:
        assert page.evaluate("document.querySelector('#stage').scrollWidth") <= 320
        small = page.evaluate(
            "() => [...document.querySelectorAll('fieldset :is(.option, .none, .chip), .suggestions li, button.main')]"
            ".filter((node) => node.checkVisibility()).map((node) => node.getBoundingClientRect())"
            ".filter((box) => box.height < 44 || box.right > 320).length"
        )
        assert small == 0

    narrow()
    visitor.accessible()
    assert not page.locator(".matrix-head").is_visible()
    page.locator(f"{fieldset('I am calm')} .option").nth(4).tap()
    page.locator(f"{fieldset('I am tired')} .none").tap()
    page.locator(f"{fieldset('Do you paint?')} .option").nth(1).tap()
    page.locator(".questionnaire button.main").tap()
    visitor.begin()
    page.wait_for_selector("form.trial:not([data-locked])")
    go_on = page.locator("[data-does=submit]")
    for text, place in (("Joy", 0), ("Fear", 4)):
        if not page.locator(fieldset(text)).is_visible():
            visitor.still()
            go_on.tap()
        narrow()
        page.locator(f"{fieldset(text)} .option").nth(place).tap()
    go_on.tap()
    page.locator(f"{fieldset('Is anybody there?')} .option").first.tap()
    if not page.locator(fieldset("Do they smile?")).is_visible():
        go_on.tap()
    narrow()
    page.locator(f"{fieldset('Do they smile?')} .option").nth(2).tap()
    go_on.tap()
    field = page.locator(f"{fieldset('What do you see?')} .tagging input")
    field.tap()
    page.keyboard.type("고")
    narrow()
    page.locator(".suggestions li").first.tap()
    assert page.locator(".chip.own").all_inner_texts() == ["고양이"]
    if not page.locator(fieldset("How large?")).is_visible():
        go_on.tap()
    assert page.inner_text(f"{fieldset('How large?')} .none") == "크기 없음"
    page.locator(f"{fieldset('How large?')} .none").tap()
    go_on.tap()
    page.locator("fieldset textarea").fill("하나 둘 셋 넷 다섯")
    assert page.inner_text(f"{fieldset('Tell its story')} .words") == "11자, 10~30자"
    go_on.tap()
    page.wait_for_selector(".verifying")
    assert not page.locator(fieldset("Expression")).is_visible()
    go_on.tap()
    page.wait_for_selector(".questionnaire")
    assert page.inner_text("h1") == "마지막으로 몇 가지 질문이 있습니다"
    page.locator(".questionnaire button.main").tap()
    page.wait_for_selector(".code output")
    assert visitor.sent[0]["values"] == {
        "joy": 1,
        "fear": 5,
        "people": "yes",
        "smile": 3,
        "things": ["cat"],
        "size": NONE,
        "story": "하나 둘 셋 넷 다섯",
        "faces": NONE,
    }
    visitor.quiet()
    visitor.close()
    row = served.collection.snapshot().raters.row(0, named=True)
    assert (row["before_calm"], row["before_tired"], row["before_paints"]) == (5.0, NONE, "no")
