"""Looking at every page of a study: in a browser where one is there, else by the lengths of its texts."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from heartfelt.progress import Progress, no_progress
from heartfelt.web.layout.estimate import estimated_problems
from heartfelt.web.layout.problem import LayoutProblem

if TYPE_CHECKING:
    from heartfelt.formats.manifest import OpenStudy


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutCheck:
    """What was looked at, and what cannot be read."""

    problems: tuple[LayoutProblem, ...]
    drawn: int
    """Pages drawn, in all languages; 0 where there is no browser."""
    pages: int

    @property
    def sentence(self) -> str:
        """What was looked at, in words."""
        if not self.drawn:
            return "The pages were not drawn: there is no browser (Playwright and Chromium). Their texts were estimated."
        some = f"{self.drawn} of {self.pages}" if self.drawn < self.pages else f"{self.drawn}"
        return f"Pages drawn at 320, 390 and 1280 pixels: {some}."


def check_layout(opened: OpenStudy, progress: Progress = no_progress) -> LayoutCheck:
    """Draw the study's pages and name every text that cannot be read; without a browser, estimate."""
    if find_spec("starlette") is None or find_spec("playwright") is None:
        return _estimated(opened)
    from heartfelt.web.layout.browser import draw, find_browser, running_browser
    from heartfelt.web.layout.pages import drawn_pages

    path = find_browser()
    if path is None:
        return _estimated(opened)
    pages = drawn_pages(opened)
    with running_browser(path) as browser:
        problems, drawn = draw(browser, opened, pages, progress)
    return LayoutCheck(problems=tuple(dict.fromkeys(problems)), drawn=drawn, pages=len(pages))


def _estimated(opened: OpenStudy) -> LayoutCheck:
    return LayoutCheck(problems=tuple(estimated_problems(opened.study)), drawn=0, pages=0)
