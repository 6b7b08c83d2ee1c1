"""The study's own files on the rating pages: how they are served, and that nothing in them can act."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.layout.browser import measure
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from tests.collect.people import write_study
from tests.web.rater.reading import read
from tests.web.rater.serving import Served
from tests.web.rater.test_texts import shipped

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HTML = "<!doctype html><h1>Consent in full</h1><script>parent.document.title = 'taken'</script>"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"><rect width="40" height="20" fill="#5a2d82"/></svg>'
PARTS = {
    "title": "A study of our own",
    "consent": {
        "text": "Please read this.",
        "document": "consent.html",
        "boxes": [
            {"id": "adult", "text": "I am 18 or older."},
            {"id": "again", "text": "You may write to me again.", "required": False},
        ],
    },
    "debriefing": {"text": "It was about chance.", "document": "more.pdf", "withdraw": True},
    "branding": {"logo": "logo.svg", "logo_text": "Our laboratory", "colour": "#5a2d82"},
    "before": [{"instrument": "tipi"}],
    "design": {
        "ratings_per_item": 4,
        "practice": 0,
        "stimuli_per_rater": 1,
        "sessions": {"count": 2, "wait_days": 2, "within_days": 9},
    },
}


def add_files(folder: Path) -> Path:
    (folder / "consent.html").write_text(HTML, encoding="utf-8")
    (folder / "more.pdf").write_bytes(b"%PDF-1.4\n%%EOF\n")
    (folder / "logo.svg").write_text(SVG, encoding="utf-8")
    return folder


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    folder = add_files(write_study(tmp_path / "study", "own", stimuli=3, **PARTS))
    options = WebOptions(secret=b"a secret for the tests of documents", access_log=False)
    with (
        Collection.open(folder, options=CollectOptions(seed=1, durable=False)) as collection,
        TestClient(create_app(collection, options), base_url="http://127.0.0.1") as made,
    ):
        yield made


@pytest.mark.server
@pytest.mark.slow
def test_documents_are_served_without_any_power(client: TestClient) -> None:
    assert client.get("/rate/document/consent").status_code == 401, "only for people who have a link"
    assert client.get("/").status_code == 200
    page = client.get("/rate/document/consent")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "script" not in policy
    assert (page.headers["x-frame-options"], page.headers["x-content-type-options"]) == ("SAMEORIGIN", "nosniff")
    pdf = client.get("/rate/document/debriefing")
    assert pdf.headers["content-type"] == "application/pdf"
    assert pdf.headers["content-disposition"] == 'inline; filename="debriefing.pdf"'
    assert client.get("/rate/document/study.yaml").status_code == 404
    assert client.get("/rate/logo").headers["content-security-policy"].startswith("sandbox")
    assert "--accent: #5a2d82" in client.get("/rate/branding.css").text
    refused = client.post("/rate/consent", json={"agreed": True, "ticked": ["again"]})
    assert (refused.status_code, "I am 18" in refused.json()["problem"]) == (422, True)
    assert client.post("/rate/consent", json={"agreed": True, "ticked": ["adult"]}).status_code == 200


def agree(page: Page) -> None:
    page.get_by_role("button", name="I agree").click()


@pytest.mark.browser
def test_a_study_of_two_sessions_with_a_look_of_its_own(tmp_path: Path, browser: Browser) -> None:
    folder = add_files(write_study(tmp_path / "study", "own", stimuli=3, **PARTS))
    served = Served(folder)
    served.begin()
    context = browser.new_context(locale="en-GB", timezone_id="Asia/Seoul")
    page = context.new_page()
    try:
        page.goto(served.url)
        assert page.get_by_alt_text("Our laboratory").is_visible()
        page.frame_locator("iframe.document").get_by_role("heading", name="Consent in full").wait_for()
        assert page.title() == "A study of our own", "a script in a document does not run"
        agree(page)
        assert page.get_by_text("Please tick this box to continue.").is_visible()
        page.get_by_label("I am 18 or older.").check()
        agree(page)
        page.locator("fieldset.matrix-row").first.wait_for()
        for row in page.locator("fieldset.matrix-row").all():
            row.locator("label").nth(2).click()
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Start").click()
        _rate(page)
        page.get_by_text("The next session opens on").wait_for()
        assert "GMT" not in page.content()
        assert re.search(r"opens on \w+,? \d+ \w+ \d{4}", page.inner_text("[data-part=opens]")), "as in Britain"
        link = page.locator("[data-part=link]").get_attribute("href") or ""
        assert link.startswith(f"{served.url}/r/")
        served.clock.ahead = 3 * 86_400.0
        other = browser.new_context(locale="en-GB").new_page()
        other.goto(link)
        other.get_by_role("button", name="Start").click()
        _rate(other)
        other.get_by_text("It was about chance.").wait_for()
        assert other.get_by_role("link", name="Read more about this study (PDF)").is_visible()
        code = other.locator("output").inner_text()
        other.get_by_role("button", name="Withdraw and delete my answers").click()
        other.get_by_role("button", name="Delete everything").click()
        other.get_by_text("Everything about you has been deleted.").wait_for()
        assert other.locator("output").inner_text() == code
        assert served.collection.raters().height == 0
        other.context.close()
    finally:
        context.close()
        served.close()


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("language", ["ar", "de", "ja"])
def test_these_pages_are_in_the_language_of_the_rater(tmp_path: Path, browser: Browser, language: str) -> None:
    parts = {**PARTS, "languages": ["en", language], "before": []}
    served = Served(add_files(write_study(tmp_path / "study", "own", stimuli=3, **parts)))
    served.begin()
    context = browser.new_context(locale=language, viewport={"width": 390, "height": 844})
    page = context.new_page()
    texts = shipped(language)
    english = {text for text in shipped("en").values() if "{" not in text and len(text) > 3} - set(texts.values())

    def look(selector: str) -> None:
        page.locator(selector).first.wait_for()
        assert not set(read(page)) & english
        assert page.evaluate(measure()) == []

    try:
        page.goto(served.url)
        page.click("[data-does=agree]")
        look(f".boxes >> text={texts['consent.tick']}")
        page.locator(".boxes input").first.check()
        page.click("[data-does=agree]")
        page.click("[data-does=ready]")
        _rate(page)
        opens = page.inner_text("[data-part=opens]")
        assert not re.search("[A-Za-z]", opens) or language == "de", "the date is written as in the language"
        link = page.locator("[data-part=link]")
        assert link.evaluate("node => getComputedStyle(node).direction") == "ltr"
        served.clock.ahead = 3 * 86_400.0
        page.goto(link.get_attribute("href") or "")
        page.click("[data-does=ready]")
        _rate(page)
        look("[data-does=withdraw]")
        page.click("[data-does=withdraw]")
        page.click("#dialog-withdraw [value=ok]")
        look(f"text={texts['end.withdrawn']}")
    finally:
        context.close()
        served.close()


def _rate(page: Page) -> None:
    page.locator("form.trial").wait_for()
    page.keyboard.press("5")
    page.keyboard.press("Enter")
