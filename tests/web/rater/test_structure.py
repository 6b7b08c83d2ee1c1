"""The build of the pages: one heading of the first level, landmarks that differ, hints of one line, key hints in line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from heartfelt.web.layout.pages import drawn_pages
from heartfelt.web.layout.server import page_server
from heartfelt.web.rater.texts import BUILT_IN
from tests.web.layout.test_layout import write
from tests.web.rater.test_hard_coded import STUDIES, open_invented
from tests.web.rater.visitor import STRUCTURE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.browser]
LINES = """(selector) => [...document.querySelectorAll(selector)].filter((node) => node.checkVisibility() && node.textContent)
.map((each) => {
  const range = document.createRange();
  range.selectNodeContents(each);
  return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
})"""
OPEN = "() => document.body.dataset.step !== undefined"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 1280, "height": 800})
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("kind", STUDIES)
def test_headings_and_landmarks_are_in_order(page: Page, tmp_path: Path, kind: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    opened = open_invented(tmp_path / "study", **STUDIES[kind])
    pages = drawn_pages(opened)
    with page_server(opened, pages) as address:
        for number, drawn in enumerate(pages):
            page.goto(f"{address}/rate?page={number}")
            page.wait_for_function(OPEN)
            page.evaluate(axe.Axe().axe_script)
            rules: list[dict[str, Any]] = page.evaluate(
                "async (rules) => (await axe.run({ runOnly: { type: 'rule', values: rules } })).violations",
                sorted(STRUCTURE),
            )
            wrong = [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in rules]
            assert wrong == [], drawn.name
            assert page.locator("h1").count() == 1, drawn.name


@pytest.mark.parametrize("listening", ["full", "free"])
def test_hints_on_a_phone_fit_one_line_in_every_language(page: Page, tmp_path: Path, listening: str) -> None:
    scales = {"nine": {"type": "points", "points": 9}}
    opened = write(tmp_path / "study", scales, languages=list(BUILT_IN), design={"listening": listening})
    pages = drawn_pages(opened)
    page.set_viewport_size({"width": 390, "height": 844})
    with page_server(opened, pages) as address:
        for number, drawn in enumerate(pages):
            if not drawn.name.startswith("trial"):
                continue
            page.goto(f"{address}/rate?page={number}")
            page.wait_for_selector(".play:enabled")
            if listening == "free":
                page.wait_for_selector("form:not([data-locked])")
                page.keyboard.press("5")
            part = ".foot .hint" if listening == "free" else ".state > :first-child"
            assert page.evaluate(LINES, part) == [1], drawn.language


def test_keys_stand_in_line_with_what_they_do(page: Page, tmp_path: Path) -> None:
    opened = open_invented(tmp_path / "study", **STUDIES["drafted"])
    pages = drawn_pages(opened)
    trial = next(number for number, drawn in enumerate(pages) if drawn.name.startswith("trial"))
    with page_server(opened, pages) as address:
        for width in (1280, 720):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(f"{address}/rate?page={trial}")
            page.wait_for_selector(".key-hint")
            hints = page.evaluate(
                """() => [...document.querySelectorAll('.key-hint')].map((hint) => {
                  const middle = (node) => { const box = node.getBoundingClientRect(); return (box.top + box.bottom) / 2; };
                  return [...hint.querySelectorAll('kbd')].map((key) => Math.abs(middle(key) - middle(hint.lastElementChild)));
                })"""
            )
            assert len(hints) == 5
            assert all(off <= 1.5 for hint in hints for off in hint), "a key is on the line of its words"
