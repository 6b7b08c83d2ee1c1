"""The dashboard's figures of comparisons and traces: the numbers that an analysis of the frozen snapshot gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heartfelt.analysis import analyze
from heartfelt.analysis.options import AnalyzeOptions
from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.commands import Exclude
from heartfelt.serialization import to_json
from heartfelt.web.api.raters import effect_of
from heartfelt.web.study.figures import make_board
from tests.web.api.test_recipes import come
from tests.web.rater.test_sets import write

KINDS: list[tuple[dict[str, Any] | None, str]] = [
    ({"type": "pair"}, "which"),
    ({"type": "ab"}, "cmos"),
    ({"type": "ranking"}, "rank"),
    ({"type": "best-worst"}, "extremes"),
    ({"type": "abx"}, "forced"),
    ({"type": "mushra", "reference": "Quillbox"}, "grade"),
    ({"type": "reference", "reference": "Quillbox"}, "five"),
    (None, "course"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("sets", "scale"), KINDS, ids=[scale for _, scale in KINDS])
def test_the_dashboard_has_the_numbers_of_the_analysis(sets: dict[str, Any] | None, scale: str, tmp_path: Path) -> None:
    """With one rater excluded, and before anybody came."""
    folder = write(tmp_path / "study", scale, sets, design={"ratings_per_item": 9, "practice": 0})
    with Collection.open(folder, options=CollectOptions(seed=1, durable=False)) as collection:
        for comparison in make_board(collection).comparisons:
            assert comparison.why_missing == "nobody answered this question"
        raters = [come(collection, number) for number in range(5)]
        collection.do(Exclude(raters[0], "by hand"))
        board = make_board(collection)
        snapshot = collection.snapshot(excluded=False)
    summary = analyze(snapshot, AnalyzeOptions(resamples=100)).summary
    expected = summary.comparisons or ()
    assert len(expected) == (0 if sets is None else 1)
    assert to_json(board.comparisons) == to_json(
        [replace(comparison, pairs=(), transitivity=None, ceilings={}, concordance=None) for comparison in expected]
    )
    assert to_json(board.traces) == to_json(summary.traces or ())
    assert all(comparison.raters == 4 for comparison in board.comparisons)
    assert all(question.raters == 4 for question in board.traces)
    assert bool(board.traces) == (sets is None)


def test_excluding_a_rater_says_what_it_does_to_strengths(tmp_path: Path) -> None:
    folder = write(tmp_path / "study", "which", {"type": "pair"}, design={"ratings_per_item": 9, "practice": 0})
    with Collection.open(folder, options=CollectOptions(seed=1, durable=False)) as collection:
        raters = [come(collection, number) for number in range(4)]
        effect = effect_of(collection, raters[0])
        (comparison,) = make_board(collection).comparisons
    strengths = {row["system"]: row for row in effect["strengths"]}
    known = [contestant for contestant in comparison.contestants if not contestant.strength.is_missing]
    assert known
    for contestant in known:
        assert strengths[contestant.name]["before"]["value"] == contestant.strength.value
        assert strengths[contestant.name]["after"]["value"] != contestant.strength.value
