"""What an analysis says in words, for a study of every kind: verdict, results, methods and notes."""

from __future__ import annotations

import pytest

from heartfelt.analysis import Analysis
from tests.analysis.made import summary_of
from tests.golden_texts import assert_golden

STUDIES = (
    "conveyance",
    "opinion",
    "presence",
    "traced",
    "compared",
    "best_and_worst",
    "graded",
    "matched",
    "referenced",
    "drafted",
    "emotional",
)
PARTS = ("verdict_groups", "results", "methods", "notes")


def written_out(part: object, depth: int = 0) -> list[str]:
    """A nested part of the summary as lines, one for each sentence or paragraph."""
    if isinstance(part, dict):
        return [line for name in part for line in (f"{'  ' * depth}{name}:", *written_out(part[name], depth + 1))]
    if isinstance(part, list):
        return [line for value in part for line in written_out(value, depth)]
    return ["  " * depth + line for line in str(part).splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_the_words_of_an_analysis(study: str, request: pytest.FixtureRequest) -> None:
    analysis: Analysis = request.getfixturevalue(study)
    summary = summary_of(analysis)
    lines = [line for part in PARTS if part in summary for line in (f"# {part}", *written_out(summary[part]), "")]
    assert_golden(f"{study}.txt", "\n".join(lines))
