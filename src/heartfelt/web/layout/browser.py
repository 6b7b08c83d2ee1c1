"""Drawing pages in Chromium, without a server: the browser's requests are answered from the study and the pages' own files."""

from __future__ import annotations

import io
import shutil
import struct
import time
import wave
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from heartfelt.web.layout.problem import LayoutProblem

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

    from heartfelt.formats.manifest import OpenStudy
    from heartfelt.progress import Progress
    from heartfelt.web.layout.pages import DrawnPage
    from heartfelt.web.rater.pages import Pages

SIZES = ((320, 568), (390, 844), (1280, 800))
"""Windows in pixels: a small phone, a phone, a computer."""
MOST_SECONDS = 60.0
"""When to stop drawing."""
_ORIGIN = "http://study.invalid"
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
_PATIENCE = 15_000
_SETTLED = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))"""


def find_browser() -> str | None:
    """Where Chromium is, on the path or as Playwright installed it; None where it or Playwright is missing."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
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
        browser = driver.chromium.launch(executable_path=path, args=_ARGUMENTS, timeout=2 * _PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


def draw(
    browser: Browser, opened: OpenStudy, drawn: Sequence[DrawnPage], progress: Progress
) -> tuple[list[LayoutProblem], int]:
    """What cannot be read on the pages at any of the widths, and how many pages were drawn before time was up."""
    from heartfelt.web.rater.pages import Pages

    pages = Pages(opened.study, opened.folder)
    problems: list[LayoutProblem] = []
    began = time.monotonic()
    context = browser.new_context(reduced_motion="reduce", service_workers="block")
    context.set_default_timeout(_PATIENCE)
    try:
        tab = context.new_page()
        for number, page in enumerate(drawn):
            if time.monotonic() - began > MOST_SECONDS:
                return problems, number
            progress("drawing the pages", number, len(drawn))
            tab.unroute_all()
            tab.route("**/*", _answers(pages, opened.study.media, page))
            tab.set_viewport_size({"width": SIZES[0][0], "height": SIZES[0][1]})
            tab.goto(f"{_ORIGIN}/rate")
            problems += look(tab, page)
    finally:
        context.close()
    progress("drawing the pages", len(drawn), len(drawn))
    return problems, len(drawn)


def look(tab: Page, page: DrawnPage) -> Iterator[LayoutProblem]:
    """What cannot be read on a page that is open, at each of the widths."""
    tab.wait_for_function("() => document.body.dataset.step !== undefined")
    for width, height in SIZES:
        tab.set_viewport_size({"width": width, "height": height})
        tab.evaluate(_SETTLED)
        for text, problem in tab.evaluate(measure()):
            yield LayoutProblem(
                page=page.name, language=page.language, width=width, text=text, problem=problem
            )


@cache
def measure() -> str:
    """The script that names every text on a page that cannot be read."""
    return files("heartfelt.web.layout").joinpath("measure.js").read_text(encoding="utf-8")


def _answers(pages: Pages, media: str, page: DrawnPage) -> Callable[[Route], None]:
    """What answers the browser's requests: the page, its files, and a stimulus that says nothing."""
    from heartfelt.web.rater.pages import assets

    known, _ = assets()

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(_ORIGIN)
        name = path.rpartition("/")[2].partition("?")[0]
        if path == "/rate":
            route.fulfill(body=pages.html(page.language, dict(page.step)), content_type="text/html")
        elif path.startswith("/static/") and name in known:
            route.fulfill(body=known[name].plain, content_type=known[name].content_type)
        elif path.startswith("/media/"):
            image = media == "image"
            route.fulfill(
                body=_picture() if image else _silence(), content_type="image/png" if image else "audio/wav"
            )
        elif path.startswith("/rate/picture/"):
            route.fulfill(body=_picture(), content_type="image/png")
        else:
            route.fulfill(status=404, body="{}", content_type="application/json")

    return answer


@cache
def _silence() -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(2 * 8000))
    return out.getvalue()


@cache
def _picture() -> bytes:
    """A grey picture of 4 by 3 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x80" * 4 for _ in range(3))
    head = struct.pack(">IIBBBBB", 4, 3, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )
