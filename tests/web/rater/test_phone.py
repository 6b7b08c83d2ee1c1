"""Small screens and quick hands: nothing overflows or is covered, pictures can be enlarged, keys and touch save time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from heartfelt.study.model import Question
from heartfelt.study.scales.scale import Numeric, Points, Tag, Tags
from tests.web.rater.serving import Served
from tests.web.rater.test_sessions import options
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
SIZES = {
    "small": (320, 568),
    "keyboard open": (390, 460),
    "phone": (390, 844),
    "side": (844, 390),
    "small side": (667, 375),
}
COVERED = """() => [...document.querySelectorAll(
    '.question:not([hidden]) :is(.option, textarea, input[type=text], input[type=range]), .foot button')]
  .filter((node) => node.checkVisibility()).filter((node) => {
    const box = node.getBoundingClientRect(), x = box.left + box.width / 2, y = box.top + box.height / 2;
    const top = document.elementFromPoint(x, y);
    return !(top && (node.contains(top) || top.contains(node) && top.closest('.option, .entry, .question')));
  }).map((node) => node.outerHTML.slice(0, 120))"""


@pytest.fixture
def visit(browser: Browser, serve: Callable[..., Served]) -> Iterator[Callable[..., Visitor]]:
    came: list[Visitor] = []

    def start(recipe: str = "aimoclips", hand: Any = "touch", **given: Any) -> Visitor:
        controlled = given.pop("controlled", False)
        visitor = Visitor(browser, serve(recipe, **given), hand, controlled=controlled)
        came.append(visitor)
        return visitor

    yield start
    for visitor in came:
        visitor.quiet()
        visitor.close()


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["aigiemo", "aimoclips", "musiceval", "emolia-dim"])
def test_nothing_overflows_and_nothing_is_covered(visit: Callable[..., Visitor], recipe: str) -> None:
    visitor = visit(recipe, **{**options(recipe), "design": {"practice": 0}})
    visitor.enter()
    visitor.listen()
    page = visitor.page
    for name, (width, height) in SIZES.items():
        visitor.resize(width, height)
        visitor.still()
        assert page.evaluate(COVERED) == [], name
        if recipe == "aigiemo" and name in {"phone", "side"}:
            visitor.accessible()
    visitor.resize(390, 460)
    while page.query_selector("form.trial:not([data-last])") is not None:
        assert page.evaluate(COVERED) == []
        visitor.answer_page(0)


@pytest.mark.slow
def test_a_picture_has_the_width_of_the_phone_and_can_be_enlarged(visit: Callable[..., Visitor]) -> None:
    visitor = visit("aigiemo", **{**options("aigiemo"), "design": {"practice": 0}})
    visitor.enter()
    page = visitor.page
    page.wait_for_selector("form.trial:not([data-locked])")
    box = page.locator(".enlarge img").bounding_box()
    assert box is not None
    assert box["width"] >= 360
    assert box["height"] >= 260
    page.tap(".enlarge")
    page.wait_for_selector("#dialog-image[open]")
    visitor.accessible()
    whole = page.locator(".view img").bounding_box()
    assert whole is not None
    assert whole["width"] == pytest.approx(390, abs=2)
    page.tap(".zoombar [data-does=in]")
    page.tap(".zoombar [data-does=in]")
    grown = page.locator(".view img").bounding_box()
    assert grown is not None
    assert grown["width"] > 2 * whole["width"]
    assert page.evaluate("() => document.querySelector('.view').scrollLeft > 0"), "zooms about the middle"
    page.keyboard.press("Escape")
    page.wait_for_selector("#dialog-image", state="hidden")
    page.tap(".enlarge")
    page.tap(".view img")
    assert page.evaluate("() => document.querySelector('.view').classList.contains('zoomed')")
    page.go_back()
    page.wait_for_selector("#dialog-image", state="hidden")
    assert page.query_selector("form.trial") is not None
    assert page.url.endswith("/rate")
    visitor.finish()


SINGLE = {"questions": [Question(id="valence", text="How pleasant?", scale="valence9")]}


@pytest.mark.slow
def test_a_single_choice_can_go_on_by_itself(visit: Callable[..., Visitor]) -> None:
    design = {"practice": 0, "listening": "free", "auto_advance": "on"}
    visitor = visit(count=3, controlled=True, design=design, **SINGLE)
    visitor.enter()
    page = visitor.page
    page.wait_for_selector("form.trial:not([data-locked])")
    page.tap("input[value='3']")
    page.wait_for_selector("[data-does=undo]:visible")
    page.tap("[data-does=undo]")
    visitor.run(1.3)
    assert visitor.number() == "1 of 3", "undone"
    page.tap("input[value='7']")
    visitor.run(0.8)
    assert visitor.number() == "1 of 3", "there is a moment to think again"
    visitor.run(0.2)
    page.wait_for_selector("#count:has-text('2 of 3')")
    assert [body["values"] for body in visitor.sent] == [{"valence": 7}]
    page.wait_for_selector("form.trial:not([data-locked])")
    page.tap("#tools [data-does=menu]")
    page.locator("#dialog-menu input[name=advance]").uncheck()
    page.tap("#dialog-menu button[value=ok]")
    page.tap("input[value='2']")
    visitor.run(1.3)
    assert visitor.number() == "2 of 3", "turned off"
    page.tap("[data-does=submit]")
    page.wait_for_selector("#count:has-text('3 of 3')")


@pytest.mark.slow
def test_going_on_is_offered_not_imposed(visit: Callable[..., Visitor]) -> None:
    design = {"practice": 0, "listening": "free"}
    visitor = visit(hand="keyboard", count=2, controlled=True, design=design, **SINGLE)
    visitor.enter()
    page = visitor.page
    page.wait_for_selector("form.trial:not([data-locked])")
    page.keyboard.press("4")
    visitor.run(1.3)
    assert visitor.number() == "1 of 2"
    page.click("#tools [data-does=menu]")
    page.check("#dialog-menu input[name=advance]")
    page.click("#dialog-menu button[value=ok]")
    page.keyboard.press("5")
    page.keyboard.press("Backspace")
    visitor.run(1.3)
    assert visitor.number() == "1 of 2", "Backspace takes it back"
    page.keyboard.press("6")
    visitor.run(1)
    page.wait_for_selector("#count:has-text('2 of 2')")
    body = visitor.sent[0]
    assert body["values"] == {"valence": 6}
    other = visit(hand="keyboard", count=1, design={"practice": 0, "listening": "free"})
    other.enter()
    other.page.click("#tools [data-does=menu]")
    assert other.page.locator("#dialog-menu input[name=advance]:visible").count() == 0, "two questions"
    other.page.keyboard.press("Escape")
    page = other.page
    page.wait_for_selector("form.trial:not([data-locked])")
    page.keyboard.press("5")
    page.keyboard.press("5")
    reached: list[str] = []
    for _ in range(8):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("() => document.activeElement.dataset.does ?? ''"))
    assert reached.index("submit") < reached.index("comment"), "Tab reaches Continue before Comment"


@pytest.mark.slow
def test_a_digit_sets_a_slider_to_that_tenth(visit: Callable[..., Visitor]) -> None:
    scales = {
        "calm": Numeric(
            type="numeric", low=0, high=1, step=0.01, anchors={0: "very calm", 0.5: "neutral", 1: "very aroused"}
        ),
        "years": Points(type="points", points=101, first=0, anchors={0: "never", 30: "seldom", 100: "always"}),
    }
    questions = [
        Question(id="calm", text="How calm?", scale="calm"),
        Question(id="years", text="How often?", scale="years", required=False),
    ]
    visitor = visit(
        hand="keyboard", count=1, design={"practice": 0, "listening": "free"}, scales=scales, questions=questions
    )
    visitor.enter()
    page = visitor.page
    page.wait_for_selector("form.trial:not([data-locked])")
    assert page.locator("[data-form='0'] .marks span").all_inner_texts() == ["very calm", "neutral", "very aroused"]
    assert page.locator("[data-form='1'] .marks span").all_inner_texts() == ["never", "seldom", "always"]
    marks = page.locator("[data-form='0'] .marks span").all()
    middles = [box["x"] + box["width"] / 2 for mark in marks if (box := mark.bounding_box()) is not None]
    slider = page.locator("[data-form='0'] input[type=range]").bounding_box()
    assert slider is not None
    assert middles[1] == pytest.approx(slider["x"] + slider["width"] / 2, abs=3), "the middle stands in the middle"
    assert page.locator(".optional").all_inner_texts() == ["Optional"]
    visitor.accessible()
    page.keyboard.press("7")
    page.keyboard.press("0")
    assert page.input_value("[data-form='0'] .amount") == "0.70"
    assert page.input_value("[data-form='1'] .amount") == "0"
    page.keyboard.press("Backspace")
    page.keyboard.press("3")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector(".code output")
    assert visitor.sent[0]["values"] == {"calm": 0.31, "years": 0}


@pytest.mark.slow
def test_tags_are_read_in_the_raters_language_and_stored_by_id(visit: Callable[..., Visitor]) -> None:
    scales = {"tags": Tags(type="tags", tags=[Tag(id="warm", text={"en": "warm", "ko": "따뜻함"}), "cold"])}
    visitor = visit(
        count=1,
        design={"practice": 0, "listening": "free"},
        scales=scales,
        questions=[Question(id="how", text="How?", scale="tags")],
    )
    visitor.arrive("/?lang=ko")
    visitor.page.goto(f"{visitor.served.url}/rate?lang=ko")
    visitor.agree()
    visitor.tell_facts()
    visitor.begin()
    page = visitor.page
    page.wait_for_selector("form.trial:not([data-locked])")
    assert page.locator(".chips.offered .chip").all_inner_texts() == ["따뜻함", "cold"]
    page.fill(".tagging input", "따뜻함;새것")
    page.tap("[data-does=submit]")
    page.wait_for_selector(".code output")
    assert visitor.sent[0]["values"] == {"how": ["warm", "새것"]}
