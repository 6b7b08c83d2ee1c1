"""The pages in a real Chromium: no errors, no requests, marks that tell and play, tables that sort."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from heartfelt.analysis import Analysis
from heartfelt.report import write_overview
from heartfelt.report.analysis import analysis_page, charts_of
from heartfelt.report.layout.page import render
from tests.analysis.made import summary_of
from tests.conftest import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


def until(page: Page, expression: str, given: Any = None) -> None:
    """Wait until an expression holds. The pages allow no evaluation of text, so the browser cannot do the waiting."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(expression, given):
        assert time.monotonic() < deadline, f"never came to be: {expression}"
        page.wait_for_timeout(20)


class Watched:
    """A page with everything it complained about or asked for."""

    def __init__(self, browser: Browser, path: Path, width: int = 1280) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce")
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on(
            "console", lambda told: self.complaints.append(told.text) if told.type in {"error", "warning"} else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda asked: self.requests.append(asked.url))
        self.page.goto(path.as_uri())

    def quiet(self, path: Path) -> None:
        inside = ("data:", f"{path.parent.as_uri()}/media/")
        beyond = [url for url in self.requests if not url.startswith(inside) and url != path.as_uri()]
        assert self.complaints == []
        assert beyond == []


@pytest.fixture(scope="module")
def opened(browser: Browser, written: Path) -> Iterator[Watched]:
    watched = Watched(browser, written / "report.html")
    yield watched
    watched.context.close()


@pytest.fixture
def report(opened: Watched, written: Path) -> Iterator[Page]:
    """The page with every section open: nothing plays, nothing is pointed at."""
    opened.page.evaluate("for (const part of document.querySelectorAll('details.part')) part.open = true")
    opened.page.set_viewport_size({"width": 1280, "height": 900})
    opened.page.mouse.move(2, 2)
    opened.page.keyboard.press("Escape")
    yield opened.page
    opened.quiet(written / "report.html")


def centre(page: Page, selector: str) -> tuple[float, float]:
    page.locator(selector).first.scroll_into_view_if_needed()
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def told(page: Page, selector: str, aside: tuple[float, float] = (0, 0)) -> str:
    """What the tip says with the mouse over a mark. A page that is still scrolling hides it: then the mouse moves again."""
    tip = page.locator(".tip")
    deadline = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < deadline:
        x, y = centre(page, selector)
        page.mouse.move(x + aside[0], y + aside[1])
        page.wait_for_timeout(50)
        if tip.is_visible():
            return tip.inner_text()
        page.mouse.move(2, 2)
    raise AssertionError(f"{selector} tells nothing")


def test_every_figure_is_drawn(report: Page, page_data: dict[str, Any]) -> None:
    for name, figure in page_data["figures"].items():
        host = report.locator(f'#figure-{name} [data-figure="{name}"]')
        assert host.locator("svg[role=group]").count() == len(figure["panels"]), name
        assert host.locator(".mark").count() > 0, name


def test_a_click_on_a_dot_plays_its_clip(report: Page, page_data: dict[str, Any]) -> None:
    x, y = centre(report, "#figure-perceived-maps circle.plays")
    report.evaluate("() => { document.getElementById('player-audio').loop = true; }")  # does not end meanwhile
    report.mouse.click(x, y)
    title = report.locator("#player-title").inner_text()
    assert title in page_data["media"]
    until(report, "document.getElementById('player-audio').readyState >= 1")
    assert report.locator("#player-audio").evaluate("a => a.error === null && a.duration > 0.1")
    assert report.locator("#figure-perceived-maps .playing").count() == 1
    report.keyboard.press("Escape")
    assert report.locator("#player").is_hidden()


def test_the_nearest_dot_tells_about_itself(report: Page) -> None:
    words = told(report, "#figure-perceived-maps circle.plays", (3, 2))
    assert "valence" in words
    assert "raters)" in words
    report.mouse.move(2, 2)
    assert report.locator(".tip").is_hidden()


@pytest.mark.slow
def test_marks_tell_on_hover_in_every_figure(report: Page, page_data: dict[str, Any]) -> None:
    for name in page_data["figures"]:
        assert len(told(report, f"#figure-{name} .mark")) > 5, name
        report.mouse.move(2, 2)


def test_marks_can_be_reached_and_played_with_the_keyboard(report: Page) -> None:
    svg = report.locator("#figure-perceived-maps svg[role=group]").first
    assert svg.locator('.mark[tabindex="0"]').count() == 1
    svg.locator('.mark[tabindex="0"]').focus()
    first = report.locator(".tip").inner_text()
    report.keyboard.press("ArrowRight")
    assert report.locator(".tip").inner_text() != first
    assert svg.locator('.mark[tabindex="0"]').count() == 1
    report.keyboard.press("Enter")
    assert report.locator("#player").is_visible()


def test_the_legend_hides_a_quadrant(report: Page) -> None:
    button = report.locator("#figure-perceived-maps .toggle").first
    before = report.locator("#figure-perceived-maps .away").count()
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert report.locator("#figure-perceived-maps .away").count() > before == 0
    button.click()
    assert report.locator("#figure-perceived-maps .away").count() == 0


def test_tables_sort_by_their_headings(report: Page) -> None:
    table = report.locator("#systems table.sortable", has_text="Analyses of variance")
    head = table.locator("thead th").nth(5)
    place = head.evaluate("cell => cell.cellIndex")

    def values() -> list[float]:
        results: list[float] = table.evaluate(
            "(t, c) => [...t.tBodies[0].rows].map(r => Number(r.cells[c].dataset.value))", place
        )
        return results

    head.locator("button").focus()
    report.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert values() == sorted(values())
    report.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert values() == sorted(values(), reverse=True)


def test_stimuli_can_be_found_sorted_and_played(report: Page) -> None:
    section = report.locator("#stimuli-list")
    assert section.locator("tbody tr").count() == 25
    section.locator("button", has_text="Next").click()
    assert section.locator("tbody tr").count() == 11
    section.locator("input").fill("pluckbox joyful")
    assert section.locator("tbody tr").count() == 1
    section.locator("button.listen").click()
    assert report.locator("#player-title").inner_text() == "Pluckbox_joyful_1"
    section.locator("input").fill("")
    section.locator("thead button", has_text="valence").click()
    shown = [float(text) for text in section.locator("tbody tr td:nth-child(4)").all_inner_texts()]
    assert shown == sorted(shown, reverse=True)


def test_a_paragraph_is_copied(browser: Browser, written: Path, conveyance: Analysis) -> None:
    watched = Watched(browser, written / "report.html")
    watched.context.grant_permissions(["clipboard-read", "clipboard-write"])
    watched.page.evaluate("document.querySelector('details:has(> #paper)').open = true")
    watched.page.locator('[data-copy="paper-results"]').click()
    until(watched.page, "document.querySelector('[data-copy=\"paper-results\"]').textContent === 'Copied'")
    copied = watched.page.evaluate("navigator.clipboard.readText()")
    assert copied == summary_of(conveyance)["results"].strip()
    watched.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["conveyance", "opinion", "presence"])
def test_a_telephone_never_scrolls_sideways(
    browser: Browser, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    analysis: Analysis = request.getfixturevalue(kind)
    path = tmp_path / "report.html"
    path.write_text(render(analysis_page(analysis, charts_of(analysis), path)), encoding="utf-8")
    watched = Watched(browser, path, width=390)
    watched.page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 390
    watched.quiet(path)
    watched.context.close()


def test_figures_are_drawn_anew_for_another_width(report: Page) -> None:
    svg = report.locator('[data-figure="slopes"] svg[role=group]').first
    wide = svg.get_attribute("viewBox")
    report.set_viewport_size({"width": 500, "height": 900})
    until(
        report,
        "was => document.querySelector('[data-figure=\"slopes\"] svg[role=group]').getAttribute('viewBox') !== was",
        wide,
    )


def test_without_its_script_the_page_shows_pictures(browser: Browser, written: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((written / "report.html").as_uri() + "#figure-slopes")
    picture = page.locator("#figure-slopes img")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box is not None
    assert box["height"] > 100
    context.close()


@pytest.mark.slow
def test_it_prints_with_its_parts_open(browser: Browser, written: Path) -> None:
    watched = Watched(browser, written / "report.html")
    assert len(watched.page.pdf()) > 50_000
    # What was opened for print is closed again.
    assert watched.page.locator("details[open]").count() == 0
    watched.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert watched.page.locator("details:not([open])").count() == 0
    watched.page.emulate_media(media="print")
    assert watched.page.locator("nav").is_hidden()
    watched.context.close()
    # Without the script the style alone shows what is folded.
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.emulate_media(media="print")
    page.goto((written / "report.html").as_uri())
    for hidden in ("#raters p", "#systems details td", "#figure-slopes img"):
        box = page.locator(hidden).first.bounding_box()
        assert box is not None, hidden
        assert box["height"] > 5, hidden
    context.close()


def test_the_first_screen_is_one_screen_and_uses_its_width(browser: Browser, written: Path) -> None:
    watched = Watched(browser, written / "report.html")
    places = {
        name: watched.page.locator(selector).bounding_box()
        for name, selector in {"figure": ".opening-figure", "facts": ".three-facts", "contents": "nav"}.items()
    }
    figure, facts, contents = places["figure"], places["facts"], places["contents"]
    assert figure is not None
    assert facts is not None
    assert contents is not None
    assert contents["y"] + contents["height"] <= 900
    assert abs(figure["y"] - facts["y"]) < 20
    assert figure["x"] + figure["width"] <= facts["x"]
    assert facts["x"] + facts["width"] > 1200
    watched.quiet(written / "report.html")
    watched.context.close()


def test_links_open_what_is_folded(browser: Browser, written: Path) -> None:
    watched = Watched(browser, written / "report.html")
    page = watched.page
    assert page.locator("#raters").is_hidden()
    page.get_by_role("link", name="Who and why").click()
    until(page, "document.getElementById('raters').checkVisibility()")
    page.locator("details:has(> #raters) > summary").press("Enter")
    assert page.locator("#raters").is_hidden()
    page.get_by_role("link", name="Who and why").click()  # the same link once more
    until(page, "document.getElementById('raters').checkVisibility()")
    everything = page.get_by_role("button", name="Open all")
    everything.click()
    assert page.locator("details.part:not([open])").count() == 0
    page.get_by_role("button", name="Close all").click()
    assert page.locator("details.part[open]").count() == 0
    page.goto((written / "report.html").as_uri() + "#figure-slopes")
    page.reload()
    until(page, "document.getElementById('figure-slopes').checkVisibility()")
    watched.context.close()


@pytest.mark.slow
def test_the_report_is_accessible_in_light_and_dark(browser: Browser, written: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    watched = Watched(browser, written / "report.html", 320)
    page = watched.page
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            results = Axe().run(page)
            assert results.violations_count == 0, (width, scheme, results.generate_report())
    watched.context.close()


def test_the_overview_plays_too(browser: Browser, conveyance: Analysis, tmp_path: Path) -> None:
    path = write_overview(conveyance.snapshot, tmp_path / "overview.html")
    watched = Watched(browser, path)
    x, y = centre(watched.page, "circle.plays")
    watched.page.mouse.click(x, y)
    assert watched.page.locator("#player").is_visible()
    watched.quiet(path)
    watched.context.close()
