"""Looking at every page of a study: in a browser where one is there, else by the lengths of its texts."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from heartfelt.progress import Progress, no_progress
from heartfelt.web.layout.estimate import estimated_problems
from heartfelt.web.layout.problem import LayoutProblem, problem_sentences

if TYPE_CHECKING:
    from heartfelt.formats.study_folder.manifest import OpenStudy

_MOST_WARNINGS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutCheck:
    """What was looked at, and what cannot be read."""

    problems: tuple[LayoutProblem, ...]
    pages_drawn: int = 0
    """Pages drawn, in all languages; 0 where there is no browser."""
    pages: int = 0
    reason: str = ""
    """Why pages were not drawn."""

    @property
    def sentence(self) -> str:
        """What was looked at, in words."""
        if not self.pages_drawn:
            return f"The pages were not drawn ({self.reason}): whether words fit was estimated from their lengths."
        some = f"{self.pages_drawn} of {self.pages}" if self.pages_drawn < self.pages else f"{self.pages_drawn}"
        return f"Pages drawn at 320, 390 and 1280 pixels: {some}."

    @property
    def warnings(self) -> list[str]:
        """What cannot be read, in words; of very many, the first."""
        sentences = problem_sentences(self.problems)
        omitted = len(sentences) - _MOST_WARNINGS
        return sentences[:_MOST_WARNINGS] + ([f"{omitted} more of this kind."] if omitted > 0 else [])


def check_layout(opened: OpenStudy, progress: Progress = no_progress) -> LayoutCheck:
    """Draw the study's pages and name every text that cannot be read; without a browser, estimate."""
    missing = [name for name in ("starlette", "playwright") if find_spec(name) is None]
    if missing:
        return _estimated(opened, f"{missing[0]} is not installed")
    from playwright.sync_api import Error

    from heartfelt.web.layout.browser import draw, find_browser, running_browser
    from heartfelt.web.layout.pages import drawn_pages

    pages = drawn_pages(opened)
    try:
        path = find_browser()
        if path is None:
            return _estimated(opened, "there is no Chromium")
        with running_browser(path) as browser:
            problems, drawn_count = draw(browser, opened, pages, progress)
    except Error as error:
        return _estimated(opened, f"the browser failed: {str(error).splitlines()[0][:120]}")
    return LayoutCheck(problems=tuple(dict.fromkeys(problems)), pages_drawn=drawn_count, pages=len(pages))


def _estimated(opened: OpenStudy, reason: str) -> LayoutCheck:
    return LayoutCheck(problems=tuple(estimated_problems(opened.study)), reason=reason)
