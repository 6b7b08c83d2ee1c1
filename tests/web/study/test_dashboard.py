"""The dashboard in a real Chromium, against a real server with a real store."""

from __future__ import annotations

import shutil
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import heartfelt
from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from heartfelt.web.serving.serve import serve_in_thread
from tests.conftest import PATIENCE
from tests.facts import mentions
from tests.web.conftest import PASSWORD, SECRET
from tests.web.studies import fill, rate, write_study

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def filled_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that seven raters have been at, one of them careless."""
    folder = write_study(tmp_path_factory.mktemp("dashboard") / "study", each=3, quota=9)
    with Collection.open(folder, options=CollectOptions(seed=1, durable=False)) as collection:
        fill(collection, "abcdef")
        rate(collection, "careless", values={"valence": 5, "arousal": 5})
    return folder


@dataclass
class Watched:
    """A dashboard that is open in a browser, with everything it complained about and asked for."""

    collection: Collection
    address: str
    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.on(
            "console", lambda told: self.complaints.append(told.text) if told.type in {"error", "warning"} else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda asked: self.requests.append(asked.url))

    def log_in(self) -> None:
        self.page.goto(f"{self.address}/study")
        self.page.get_by_label("Password of the study").fill(PASSWORD)
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_selector("body[data-change]")

    def fact(self, name: str) -> str:
        return self.page.locator("#facts div", has_text=name).locator("dd").inner_text()


@pytest.fixture
def watched(filled_study: Path, tmp_path: Path, browser: Browser, hashed: str) -> Iterator[Watched]:
    folder = Path(shutil.copytree(filled_study, tmp_path / "study"))
    with Collection.open(folder, options=CollectOptions(seed=2, durable=False)) as collection:
        options = WebOptions(secret=SECRET, password=hashed, refresh_seconds=0.2, access_log=False)
        with serve_in_thread(create_app(collection, options)) as address:
            context = browser.new_context(
                viewport={"width": 1440, "height": 900}, reduced_motion="reduce", accept_downloads=True
            )
            result = Watched(collection, address, context, context.new_page())
            result.watch()
            yield result
            context.close()
    assert result.complaints == []
    assert all(url.startswith((address, "blob:", "data:")) for url in result.requests)


def until(page: Page, expression: str) -> None:
    """Wait until an expression holds; the page's own policy forbids Playwright's waiting, which evaluates text."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(50)


def serious(page: Page) -> list[dict[str, Any]]:
    """What axe finds on the page that would keep somebody out."""
    from axe_playwright_python.sync_playwright import Axe

    result = Axe().run(page).response["violations"]
    return [
        {"id": each["id"], "where": [node["target"] for node in each["nodes"]][:3]}
        for each in result
        if each["impact"] in {"serious", "critical"}
    ]


@pytest.mark.slow
def test_everything_is_on_one_screen_and_anyone_can_use_it(watched: Watched) -> None:
    page = watched.page
    page.goto(f"{watched.address}/study")
    page.get_by_label("Password of the study").fill("not this one")
    page.get_by_role("button", name="Log in").click()
    assert "wrong" in page.get_by_role("alert").inner_text()
    watched.complaints.clear()  # the browser itself notes the 401
    watched.log_in()
    assert page.evaluate(
        "document.documentElement.scrollHeight <= innerHeight && document.documentElement.scrollWidth <= innerWidth"
    )
    for name in ("coverage", "reliability", "systems", "raters", "stimuli"):
        box = page.locator(f"#{name}").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 900, name
    assert page.locator("#coverage svg .mark").count() == 10
    assert page.locator("#reliability svg .line").count() == 2
    assert page.locator("#systems svg .dot").count() == 2
    assert page.locator("#raters tbody tr").count() == 7
    assert page.locator("#stimuli tbody tr").count() == 18
    assert "α" in page.locator("#reliability .legend").inner_text()
    assert serious(page) == []
    page.locator("#theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert serious(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert serious(page) == []


@pytest.mark.slow
def test_a_rating_arrives_on_the_screen_by_itself(watched: Watched) -> None:
    watched.log_in()
    assert watched.fact("trials answered").startswith("126")
    loads = sum(url.endswith("/study") for url in watched.requests)
    rate(watched.collection, "late", most=2)
    until(watched.page, "document.querySelector('#facts dd').textContent.startsWith('128')")
    until(watched.page, "document.querySelectorAll('#raters tbody tr').length === 8")
    assert watched.fact("raters").startswith("8")
    assert watched.page.locator("#live").inner_text() == "live"
    assert sum(url.endswith("/study") for url in watched.requests) == loads


@pytest.mark.slow
def test_excluding_shows_what_it_does_and_opens_slots(watched: Watched) -> None:
    watched.log_in()
    page = watched.page
    first = page.locator("#raters tbody tr").first
    assert "straight-lining" in first.inner_text()
    first.get_by_role("button", name="Exclude").click()
    dialog = page.locator("#judge")
    dialog.locator("table tbody tr").first.wait_for()
    words = dialog.inner_text()
    assert mentions(words, "36 of 252 ratings", "longer")
    assert "α valence" in words
    assert serious(page) == []
    dialog.get_by_label("Reason (stored with the data)").fill("always the middle")
    dialog.get_by_role("button", name="Exclude").click()
    until(page, "document.querySelector('#facts dd').textContent.startsWith('108')")
    page.locator("#feedback", has_text="18 slots are open again").wait_for()
    page.locator("#raters tr.out").wait_for()
    assert watched.collection.raters().filter("excluded")["reason"].to_list() == ["always the middle"]
    page.locator("#raters tr.out").get_by_role("button", name="Restore").click()
    dialog = page.locator("#judge")
    dialog.get_by_role("button", name="Restore").click()
    until(page, "document.querySelector('#facts dd').textContent.startsWith('126')")
    page.locator("#raters tr.out").wait_for(state="detached")


@pytest.mark.slow
def test_a_rater_opens_with_every_trial_and_its_sound(watched: Watched) -> None:
    watched.log_in()
    page = watched.page
    page.locator("#raters tbody th button").first.click()
    drawer = page.locator("#drawer")
    drawer.locator("tbody tr").nth(17).wait_for()
    assert drawer.locator("tbody tr").count() == 18
    assert "valence 5" in drawer.locator("tbody tr").first.inner_text()
    assert serious(page) == []
    drawer.get_by_role("button", name="Play").first.click()
    until(page, "document.getElementById('player-audio').readyState >= 1")
    assert page.locator("#player-audio").evaluate("a => a.error === null && a.duration > 0.1")
    page.keyboard.press("Escape")
    drawer.wait_for(state="detached")
    assert page.locator("#player").is_hidden()


@pytest.mark.slow
def test_stimuli_are_searched_played_and_listed_with_their_flags(watched: Watched) -> None:
    from heartfelt.collect.messages.commands import Flag, Next, ShowTrial

    rater, _ = rate(watched.collection, "flagger", most=1)
    step = watched.collection.do(Next(rater))
    assert isinstance(step, ShowTrial)
    watched.collection.do(Flag(rater, step.trial, reason="silence", comment="nothing to hear", skip=True))
    watched.log_in()
    page = watched.page
    page.get_by_role("searchbox", name="Search stimuli").fill("forlorn_2")
    until(page, "document.querySelectorAll('#stimuli tbody tr').length === 2")
    page.locator("#stimuli").get_by_role("button", name="Play").first.click()
    until(page, "document.getElementById('player-audio').readyState >= 1")
    page.get_by_role("button", name="Flags").click()
    page.locator("#stimuli tbody tr", has_text="nothing to hear").wait_for()
    page.get_by_role("button", name="Media problems").click()
    page.get_by_text("All files have loaded so far.").wait_for()


@pytest.mark.slow
def test_the_study_is_closed_and_people_invited(watched: Watched) -> None:
    watched.log_in()
    page = watched.page
    page.get_by_role("button", name="Recruit").click()
    dialog = page.locator("#recruiting")
    dialog.get_by_label("Open to raters").uncheck()
    dialog.get_by_label("Maximum number of raters").fill("40")
    dialog.get_by_label("Code: complete").fill("WELL-DONE")
    assert serious(page) == []
    dialog.get_by_role("button", name="Save").click()
    dialog.get_by_text("Saved.").wait_for()
    settings = watched.collection.settings
    assert (settings.open, settings.cap, settings.code_complete) == (False, 40, "WELL-DONE")
    page.locator("#open", has_text="closed").wait_for()
    dialog.get_by_label("How many").fill("3")
    dialog.get_by_role("button", name="Make links").click()
    links = dialog.locator("pre").inner_text().split()
    assert len(links) == 3
    assert all(link.startswith(f"{watched.address}/i/") for link in links)


@pytest.mark.slow
def test_freezing_and_exporting_give_files(watched: Watched, tmp_path: Path) -> None:
    watched.log_in()
    page = watched.page
    page.get_by_role("button", name="Freeze and export").click()
    dialog = page.locator("#freezing")
    dialog.get_by_role("button", name="Freeze now").click()
    link = dialog.get_by_role("link", name="Download the snapshot")
    link.wait_for()
    assert serious(page) == []
    with page.expect_download() as waiting:
        link.click()
    with zipfile.ZipFile(waiting.value.path()) as archive:
        archive.extractall(tmp_path / "out")
    (folder,) = (tmp_path / "out").iterdir()
    assert heartfelt.load(folder).counts["ratings"] == 252
    with page.expect_download() as waiting:
        dialog.get_by_role("link", name="long", exact=True).click()
    assert waiting.value.suggested_filename == "small-long.zip"
    assert zipfile.ZipFile(waiting.value.path()).testzip() is None


@pytest.mark.slow
def test_a_token_is_made_shown_once_and_revoked(watched: Watched) -> None:
    watched.log_in()
    page = watched.page
    page.get_by_role("button", name="API").click()
    dialog = page.locator("#tokens-dialog")
    dialog.get_by_label("A token for").fill("nightly backup")
    dialog.get_by_role("button", name="Make a token").click()
    token = dialog.locator("code").inner_text()
    answer = page.request.get(f"{watched.address}/api/v1/study", headers={"authorization": f"Bearer {token}"})
    assert answer.status == 200
    dialog.get_by_role("button", name="Revoke").click()
    dialog.get_by_text("None yet.").wait_for()


@pytest.mark.slow
def test_a_precision_is_wanted_and_pictures_are_read_by_keyboard(watched: Watched) -> None:
    watched.log_in()
    page = watched.page
    page.get_by_label("Wanted ±").fill("3")
    page.get_by_label("Wanted ±").press("Tab")
    until(page, "document.querySelector('#systems svg').textContent.includes('reached')")
    means = page.locator("#systems svg").text_content()
    page.get_by_label("Question").select_option("arousal")
    assert page.locator("#systems svg").text_content() != means
    page.locator('#coverage svg .mark[tabindex="0"]').focus()
    first = page.locator("#tip").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").inner_text() != first
    assert page.locator('#coverage svg .mark[tabindex="0"]').count() == 1


@pytest.mark.slow
def test_logging_out_ends_it(watched: Watched) -> None:
    watched.log_in()
    watched.page.get_by_role("button", name="Log out").click()
    watched.page.wait_for_url("**/study/login")
    watched.page.goto(f"{watched.address}/study")
    assert watched.page.url.endswith("/study/login")


@pytest.mark.slow
def test_the_apis_page_can_be_read_by_anyone(watched: Watched) -> None:
    watched.page.goto(f"{watched.address}/api/v1/docs")
    assert watched.page.locator("article h3 code").count() >= 24
    assert serious(watched.page) == []
