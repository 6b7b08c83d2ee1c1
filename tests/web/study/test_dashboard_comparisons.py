"""The dashboard of studies with sets in a real Chromium: before there are figures, with them, and on a phone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from heartfelt.analysis.data.material import prepare
from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from heartfelt.web.serving.serve import serve_in_thread
from heartfelt.web.study import figures
from tests.facts import mentions
from tests.web.api.test_recipes import come
from tests.web.conftest import PASSWORD, SECRET
from tests.web.rater.test_sets import write
from tests.web.study.test_dashboard import Watched, serious, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
Opened = Callable[[dict[str, Any], str], Watched]


@pytest.fixture
def opened(tmp_path: Path, browser: Browser, hashed: str) -> Iterator[Opened]:
    """Opens the dashboard of a study with sets that four raters answered; the page is at the login."""
    ends: list[Any] = []

    def open_study(sets: dict[str, Any], scale: str) -> Watched:
        folder = write(tmp_path / "study", scale, sets, design={"ratings_per_item": 9, "practice": 0})
        collection = Collection.open(folder, options=CollectOptions(seed=1, durable=False))
        for number in range(4):
            come(collection, number)
        options = WebOptions(secret=SECRET, password=hashed, refresh_seconds=0.2, access_log=False)
        serving = serve_in_thread(create_app(collection, options))
        address = serving.__enter__()
        context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        watched = Watched(collection, address, context, context.new_page())
        watched.watch()
        ends.extend([context.close, lambda: serving.__exit__(None, None, None), collection.close])
        watched.page.goto(f"{address}/study")
        watched.page.get_by_label("Password of the study").fill(PASSWORD)
        return watched

    yield open_study
    for end in ends:
        end()


@pytest.mark.slow
def test_pairs_have_strengths_order_and_consistency(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, real = threading.Event(), prepare

    def slow(snapshot: Any) -> Any:
        assert go_on.wait(60)
        return real(snapshot)

    monkeypatch.setattr(figures, "prepare", slow)
    watched = opened({"type": "pair"}, "which")
    page = watched.page
    page.get_by_role("button", name="Log in").click()
    until(page, "document.querySelector('#comparisons .asof')?.textContent.startsWith('computing since')")
    waiting = page.locator("#consistency .body").get_attribute("data-waiting")
    assert waiting is not None
    assert waiting.startswith("No figures yet: computing since")
    go_on.set()
    page.wait_for_selector("body[data-change]")
    assert page.locator("#comparisons .asof").inner_text().startswith("as of")
    assert page.locator("#comparisons svg .dot").count() == 3
    words = page.locator("main").inner_text()
    assert "Strengths of systems" in words
    assert "First of two preferred" in words
    assert page.locator("#consistency tbody tr").count() == 4
    assert page.locator("#systems").is_hidden()
    assert page.locator("#reliability").is_hidden()
    assert serious(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert serious(page) == []
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Preview").click()
    popup.value.get_by_text("Preview: nothing is stored.").wait_for()
    assert watched.collection.raters().height == 4
    assert watched.complaints == []


@pytest.mark.slow
def test_grades_have_conditions_and_further_panels_squeeze_no_other(opened: Opened) -> None:
    watched = opened({"type": "mushra", "reference": "Quillbox"}, "grade")
    page = watched.page
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("body[data-change]")
    assert page.locator("#comparisons h2").inner_text() == "Conditions (MUSHRA)"
    assert mentions(page.locator("#comparisons").inner_text(), "Post-screening", "BS.1534")
    assert page.locator("#consistency").is_hidden()
    assert page.locator("#reliability").is_visible()
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    page.evaluate("document.getElementById('machine').hidden = false")
    for name in ("coverage", "raters", "stimuli"):
        box = page.locator(f"#{name}").bounding_box()
        assert box is not None
        assert box["height"] > 250, name
    assert watched.complaints == []
