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
    places: dict[tuple[str, str, str], list[LayoutProblem]] = defaultdict(list)
    for problem in problems:
        places[problem.page, problem.text, problem.problem].append(problem)
    return [
        f"{page} at {_joined(problem.width for problem in alike)} pixels"
        f" ({_joined(problem.language for problem in alike)}): “{_quoted(text)}” {what}."
        for (page, text, what), alike in places.items()
    ]


def _joined(values: Iterable[object]) -> str:
    return ", ".join(str(value) for value in dict.fromkeys(values))


def _quoted(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _QUOTED else f"{plain[: _QUOTED - 1]}…"
