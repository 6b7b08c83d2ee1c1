"""A questionnaire between trials in a browser: it comes when it is due, also after a reload and without a connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.rater.serving import Served
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]
QUESTIONNAIRE = ".questionnaire:visible"
STUDY: dict[str, Any] = {
    "consent": None,
    "demographics": [],
    "scales": {"five": {"type": "points", "points": 5}},
    "questions": [{"id": "quality", "text": "How good?", "scale": "five"}],
    "between": [
        {
            "id": "state",
            "every": 2,
            "questions": [
                {"id": "mood", "text": "How are you now?", "scale": "five"},
                {"id": "tired", "text": "How tired are you?", "scale": "five", "page": "two"},
            ],
        }
    ],
}


def rate(visitor: Visitor, number: int) -> None:
    page = visitor.page
    page.wait_for_function(f"() => document.querySelector('#count').textContent.startsWith('{number}')")
    page.wait_for_selector("form.trial:not([data-locked])")
    page.keyboard.press("4")
    page.keyboard.press("Enter")


def test_it_comes_between_trials(serve: Callable[..., Served], browser: Browser) -> None:
    served = serve("aimoclips", count=5, design={"practice": 0, "listening": "free"}, **STUDY)
    visitor = Visitor(browser, served)
    visitor.arrive("/")
    visitor.begin()
    page = visitor.page
    rate(visitor, 1)
    page.wait_for_function("() => document.querySelector('#count').textContent.startsWith('2')")
    # The second trial is answered without a connection: the trial after the questionnaire is not shown in its place.
    visitor.context.set_offline(True)
    rate(visitor, 2)
    page.wait_for_selector(".wait")
    assert page.locator("form.trial").count() == 0
    visitor.context.set_offline(False)
    page.wait_for_selector(QUESTIONNAIRE)
    assert page.inner_text("h1:visible") == "A few questions in between"
    page.keyboard.press("2")
    page.reload()
    page.wait_for_selector(QUESTIONNAIRE)
    assert page.locator("input:checked").count() == 1, "the answer outlives a reload"
    page.click("button.main:visible")
    page.wait_for_selector("text=How tired are you?")
    page.keyboard.press("5")
    page.click("button.main:visible")
    for number in (3, 4):
        rate(visitor, number)
    page.wait_for_selector("text=How are you now?")
    page.keyboard.press("3")
    page.click("button.main:visible")
    page.wait_for_selector("text=How tired are you?")
    page.keyboard.press("1")
    page.click("button.main:visible")
    rate(visitor, 5)
    page.wait_for_selector(".code output")
    stored = served.collection.snapshot().questionnaires
    rows = stored.select("questionnaire", "after_trials", "question", "value").rows()
    assert sorted(rows) == [
        ("state", 2, "mood", 2.0),
        ("state", 2, "tired", 5.0),
        ("state", 4, "mood", 3.0),
        ("state", 4, "tired", 1.0),
    ]
    assert served.collection.snapshot().ratings.height == 5
    visitor.quiet()
    visitor.close()
