"""Drawing pages in Chromium: without a session, from the study and the pages' own files, on a port of this machine."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from heartfelt.web.layout.problem import LayoutProblem
from heartfelt.web.layout.server import page_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from heartfelt.formats.study_folder.manifest import OpenStudy
    from heartfelt.progress import Progress
    from heartfelt.web.layout.pages import DrawnPage

SIZES = ((320, 568), (390, 844), (1280, 800))
"""Windows in pixels: a small phone, a phone, a computer."""
MOST_SECONDS = 60.0
"""When to stop drawing."""
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
_SWITCHES = ("no-sandbox", "disable-gpu", "disable-background-networking", "disable-component-update", "disable-sync")
_PATIENCE = 15_000
_SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def find_browser() -> str | None:
    """Where Chromium is, on the path or as Playwright installed it; None where there is none."""
    from playwright.sync_api import sync_playwright

    on_path = next(filter(None, map(shutil.which, _NAMES)), None)
    if on_path is not None:
        return on_path
    with sync_playwright() as driver:
        installed = driver.chromium.executable_path
    return installed if Path(installed).is_file() else None


@contextmanager
def running_browser(path: str) -> Iterator[Browser]:
    """A browser while the block runs."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path, args=[f"--{switch}" for switch in _SWITCHES], timeout=2 * _PATIENCE
        )
        try:
            yield browser
        finally:
            browser.close()


def draw(
    browser: Browser, opened: OpenStudy, pages: Sequence[DrawnPage], progress: Progress
) -> tuple[list[LayoutProblem], int]:
    """What cannot be read on the pages at any of the widths, and how many pages were drawn before time was up."""
    problems: list[LayoutProblem] = []
    began = time.monotonic()
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(_PATIENCE)
    try:
        tab = context.new_page()
        with page_server(opened, pages) as address:
            for number, page in enumerate(pages):
                if time.monotonic() - began > MOST_SECONDS:
                    return problems, number
                progress("drawing the pages", number, len(pages))
                tab.goto(f"{address}/rate?page={number}")
                problems += look(tab, page)
    finally:
        context.close()
    progress("drawing the pages", len(pages), len(pages))
    return problems, len(pages)


def look(tab: Page, page: DrawnPage) -> Iterator[LayoutProblem]:
    """What cannot be read on a page that is open, at each of the widths."""
    tab.wait_for_function("() => document.body.dataset.step !== undefined")
    for width, height in SIZES:
        tab.set_viewport_size({"width": width, "height": height})
        tab.evaluate(_SETTLED)
        for text, problem in tab.evaluate(measure()):
            yield LayoutProblem(page=page.name, language=page.language, width=width, text=text, problem=problem)


@cache
def measure() -> str:
    """The script that names every text on a page that cannot be read."""
    return files("heartfelt.web.layout").joinpath("measure.js").read_text(encoding="utf-8")
