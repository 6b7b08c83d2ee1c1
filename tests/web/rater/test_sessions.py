"""A whole session of every recipe, by keyboard and by touch: what the browser sent is what the store has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
import pytest

from heartfelt.study.recipes import RECIPES, recipe_study
from heartfelt.study.scales.set_scale import Trace
from tests.web.rater.leaks import leaks_of
from tests.web.rater.serving import Served
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
COUNT = 1
ONE_AT_A_TIME = [
    name
    for name in RECIPES
    if recipe_study(name).sets is None and not any(isinstance(s, Trace) for s in recipe_study(name).scales.values())
]
"""Recipes whose trials present one stimulus with its questions; sets and traces have pages and tests of their own."""
VERIFIED = [name for name in ONE_AT_A_TIME if any(each.machine_first for each in recipe_study(name).questions)]
"""Recipes with drafts; ``test_verification`` answers them by keyboard."""
SCREENS = ("consent", "demographics", "instructions", "trial", "end")
MACHINE = {
    "style": "flat shapes", "scene": "none", "objects": "star; ring", "facial_expression": "none", "human_action": "none",
    "colour": "ochre;red", "brightness": "0.4",
}  # fmt: skip


def options(recipe: str) -> dict[str, Any]:
    given: dict[str, Any] = {"count": COUNT}
    if recipe == "aigiemo":
        given["columns"] = [pl.lit(value).alias(name) for name, value in MACHINE.items()]
    return given


def stored_as_sent(served: Served, visitor: Visitor) -> None:
    """Every value the browser sent is stored once, as its scale reads it, and nothing else is."""
    study = served.collection.study
    ratings = served.collection.ratings()
    expected = {}
    for body in visitor.sent:
        for question, value in body["values"].items():
            expected[int(body["trial"]), question] = study.scale_of(question).read(value)
        for question, verdict in body["verdicts"].items():
            if verdict == "rejected":
                expected[int(body["trial"]), question] = (None, None)
    results = {(row["trial"], row["question"]): (row["value"], row["answer"]) for row in ratings.iter_rows(named=True)}
    assert results == expected
    assert len(ratings) == len(expected)
    verdicts = {(int(b["trial"]), q): v for b in visitor.sent for q, v in b["verdicts"].items()}
    message = ratings.filter(pl.col("verdict").is_not_null()).iter_rows(named=True)
    assert {(row["trial"], row["question"]): row["verdict"] for row in message} == verdicts
    heard = {int(body["trial"]): body["heard"] for body in visitor.sent}
    for row in ratings.iter_rows(named=True):
        each = heard[row["trial"]]
        assert (row["plays"], row["focus_losses"], row["device"]) == (
            each["plays"],
            each["focus_losses"],
            each["device"],
        )
        assert row["seconds"] == pytest.approx(each["seconds"])


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "hand"), [
    *((recipe, "touch") for recipe in ONE_AT_A_TIME),
    *((recipe, "keyboard") for recipe in ONE_AT_A_TIME if recipe not in VERIFIED),
])  # fmt: skip
def test_a_whole_session(
    browser: Browser, serve: Callable[..., Served], recipe: str, hand: Literal["keyboard", "touch"]
) -> None:
    """In every language on a phone, in one at a computer, whose screens have the same texts."""
    served = serve(recipe, **options(recipe))
    visitor = Visitor(browser, served, hand)
    spoken = served.collection.study.languages[: None if hand == "touch" else 1]
    seen: set[tuple[str | None, str | None]] = set()
    leaks: list[str] = []

    def look() -> None:
        """Show the screen in every language, once, the one it is answered in being another each time."""
        turn, here = len(seen), visitor.page.get_attribute("body", "data-step")
        if any(screen == here for screen, _ in seen):
            return
        for language in [*spoken[turn % len(spoken) :], *spoken[: turn % len(spoken)]]:
            if visitor.page.get_attribute("html", "lang") != language:
                visitor.page.goto(f"{served.url}/rate?lang={language}")
                visitor.page.wait_for_selector("[data-step]")
            screen = visitor.page.get_attribute("body", "data-step")
            seen.add((screen, language))
            leaks.extend(leaks_of(visitor.page, everything=screen in {"consent", "end"}))

    visitor.at_each_screen = look
    visitor.enter()
    code = visitor.finish()
    assert leaks == []
    assert seen == {(screen, language) for screen in SCREENS for language in spoken}
    assert code == served.collection.settings.code_complete
    assert len(visitor.sent) == COUNT + 1
    stored_as_sent(served, visitor)
    assert {row["device"] for row in served.collection.ratings().iter_rows(named=True)} == {
        "computer" if hand == "keyboard" else "phone"
    }
    assert served.collection.raters()["state"].to_list() == ["complete"]
    visitor.quiet()
    visitor.close()


@pytest.mark.slow
def test_the_grid_is_clicked_once_and_says_the_same_as_the_rows(browser: Browser, serve: Callable[..., Served]) -> None:
    served = serve("aimoclips", count=1, design={"affect_grid": ("valence", "arousal")})
    visitor = Visitor(browser, served, "touch")
    visitor.enter()
    page = visitor.page
    visitor.listen()
    visitor.still()
    visitor.accessible()
    box = page.locator(".cells").bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + box["width"] * 7.5 / 9, box["y"] + box["height"] * 7.5 / 9)
    rows = page.locator("fieldset.question")
    assert [rows.nth(place).locator("input:checked").get_attribute("value") for place in (0, 1)] == ["8", "2"]
    before = page.wait_for_selector("form.trial")
    assert before is not None
    page.locator("[data-does=submit]").tap()
    before.wait_for_element_state("hidden")  # the next clip may have played by now
    page.wait_for_selector("form.trial")
    assert visitor.sent[0]["values"] == {"valence": 8, "arousal": 2}
    assert page.locator("input:checked").count() == 0
    visitor.quiet()
    visitor.close()
    by_key = Visitor(browser, served)
    by_key.enter()
    by_key.finish()
    assert by_key.sent[0]["values"] == {"valence": 1, "arousal": 2}
    by_key.quiet()
    by_key.close()
