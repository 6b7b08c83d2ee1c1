"""What an analysis says about raters: findings apart from standards, parallel answers with figures, who was not judged."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from heartfelt.analysis import Analysis, AnalyzeOptions, analyze
from heartfelt.analysis.panel.screening import parallel_words
from heartfelt.report.sections.raters import raters as section
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from tests.analysis.made import summary_of
from tests.facts import mentions
from tests.screening.planted import planted
from tests.screening.styles import Design, constant_study

pytestmark = pytest.mark.slow  # what they look at takes seconds to make


@pytest.fixture(scope="module")
def colluders() -> Analysis:
    snap, _ = planted({"colluder": 0.08, "random": 0.05}, n=50, seed=11)
    return analyze(snap, AnalyzeOptions())


def test_parallel_answers_come_with_their_figures(colluders: Analysis) -> None:
    result = summary_of(colluders)["screening"]
    assert result["parallel"]
    for pair in result["parallel"]:
        assert set(pair) == {"raters", "positions", "correlation", "share", "expected_share", "p"}
        assert 0 < pair["expected_share"] < pair["share"] <= 1
    words = parallel_words(colluders.summary.screening.parallel)
    text = " ".join(summary_of(colluders)["verdict"])
    assert words in text
    assert "near-identical" not in text
    assert words in str(section(colluders, {}).html)


def test_the_chance_of_equal_answers_by_hand() -> None:
    from heartfelt.screening.rules.collusion import equal_by_chance

    mine, other = np.array([[1.0], [1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [2.0], [4.0]])
    # Of 16 pairings of an answer of one with an answer of the other, 2 x 1 + 1 x 2 are equal.
    assert equal_by_chance(mine, other, np.isfinite(mine)) == pytest.approx(4 / 16)


def test_standards_are_kept_apart_from_findings(colluders: Analysis) -> None:
    result = summary_of(colluders)["screening"]
    rules = {reason.split(":")[0] for reasons in result["flagged"].values() for reason in reasons}
    others = {reason.split(":")[0] for reasons in result["flagged_by_standards"].values() for reason in reasons}
    assert not rules & {"bt500", "p913", "bias", "anchor"}
    assert others <= {"bt500", "p913", "bias", "anchor"}
    assert set(result["dropped_by_default"]) <= set(result["flagged"])
    table = colluders.raters
    assert set(table.filter(pl.col("flags") != "")["rater"]) == set(result["flagged"])
    assert set(table.filter(pl.col("flags_by_standards") != "")["rater"]) == set(result["flagged_by_standards"])


def test_half_a_panel_of_straight_liners_is_in_the_verdict() -> None:
    result = analyze(constant_study(Design(24, 60, 24, questions=1), 1, 12), AnalyzeOptions())
    assert len(summary_of(result)["screening"]["dropped_by_default"]) == 12
    assert "12 of 24 raters are flagged" in " ".join(summary_of(result)["verdict"])
    mine = result.raters.filter(pl.col("rater") == "r000").row(0, named=True)
    assert mine["flags"] == "straight-lining"
    assert mentions(mine["not_judged"], "informativeness", "answers", "question")
    assert "(12)" in str(section(result, {}).html)


def test_a_question_with_one_right_answer_makes_nobody_constant() -> None:
    rng = np.random.default_rng(1)
    text = "name: p\nscales: {y: {type: yes-no}}\nquestions: [{id: is, text: is, scale: y}]\n"
    rows = [
        (f"r{r}", f"s{s}", "is", float(s == 0 and r % 3 == 0), place)
        for r in range(12)
        for place, s in enumerate(rng.permutation(40), 1)
    ]
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value", "position"], orient="row")
    snap = Snapshot.build(parse_study(text), stimuli=ratings.select("stimulus").unique(), ratings=ratings)
    result = analyze(snap, AnalyzeOptions())
    assert summary_of(result)["screening"]["dropped_by_default"] == []
    assert "same answer throughout" not in " ".join(summary_of(result)["verdict"])
