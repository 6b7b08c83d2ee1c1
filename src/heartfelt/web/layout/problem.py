"""A text that raters could not read on one of the pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

_QUOTED = 60
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


def problem_sentences(problems: Iterable[LayoutProblem]) -> list[str]:
    """The problems in words, one sentence for the same problem at several widths and in several languages."""
    by_text: dict[tuple[str, str, str], list[LayoutProblem]] = defaultdict(list)
    for problem in problems:
        by_text[problem.page, problem.text, problem.problem].append(problem)
    return [
        f"{page} at {_joined(problem.width for problem in alike)} pixels"
        f" ({_joined(problem.language for problem in alike)}): “{_quoted(text)}” {defect}."
        for (page, text, defect), alike in by_text.items()
    ]


def _joined(values: Iterable[object]) -> str:
    return ", ".join(str(value) for value in dict.fromkeys(values))


def _quoted(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= _QUOTED else f"{one_line[: _QUOTED - 1]}…"
