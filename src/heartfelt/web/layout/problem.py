"""A text that raters could not read on one of the pages."""

from __future__ import annotations

from dataclasses import dataclass

_SHOWN = 60
"""Characters of a text that are quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutProblem:
    """What is wrong with a text on a page of one width, in pixels."""

    page: str
    language: str
    width: int
    text: str
    problem: str
    """What happens to the text, as the end of a sentence."""

    @property
    def sentence(self) -> str:
        """The problem in words."""
        text = " ".join(self.text.split())
        quoted = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
        return f"{self.page} at {self.width} pixels ({self.language}): “{quoted}” {self.problem}."
