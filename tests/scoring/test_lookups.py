"""What ``Scores`` answers about a task: its levels, its ties, and how much was answered."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from heartfelt.report.bench.page import sentences
from heartfelt.scoring import ScoreOptions, Scores, score
from heartfelt.streams import stream
from tests.scoring import made


@pytest.fixture(scope="module")
def three() -> Scores:
    """Two equally good models, of which one fails twice, and a poor one."""
    snapshot, truth = made.numbers(per_cell=3)
    tables = []
    for model, noise in (("good", 0.3), ("alike", 0.3), ("poor", 2.5)):
        draw = stream(1, "tests", "lookups", model)
        rows: list[dict[str, object]] = [
            {"stimulus": name, "question": "valence", "value": value + draw.normal(0, noise)}
            for name, value in truth.items()
        ]
        if model == "alike":
            rows[:2] = [{**row, "value": None, "problem": "HTTP 500"} for row in rows[:2]]
        tables.append(made.predictions(model, rows))
    return score(snapshot, pl.concat(tables), ScoreOptions(slices=()))


@pytest.mark.slow
def test_ties_are_the_ranked_models_that_do_not_differ_significantly(three: Scores) -> None:
    assert three.tied_with("valence", "good") == ["alike"]
    assert three.tied_with("valence", "alike") == ["good"]
    apart = {frozenset((pair.first, pair.second)): pair.apart for pair in three.comparisons}
    assert apart[frozenset(("good", "alike"))] is False
    unranked = replace(
        three, ranks=tuple(replace(rank, place=None) if rank.model == "alike" else rank for rank in three.ranks)
    )
    assert unranked.tied_with("valence", "good") == []
    leader = three.leader("valence")
    assert leader is not None
    (other,) = {"good", "alike"} - {leader.model}
    assert f", not significantly different from {other} (Holm's correction)." in sentences(three, three.tasks[0])[0]


def test_answered_counts_items(three: Scores) -> None:
    assert three.answered("valence", "good") == (72, 72)
    assert three.answered("valence", "alike") == (70, 72)
    assert three.answered("valence", "nobody") == (0, 0)


def test_levels_come_from_the_first_model_that_has_them(three: Scores) -> None:
    score = three.find("valence", "good")
    assert score is not None
    assert three.headline("valence", "good") == score.with_failures
    assert three.headline("valence", "good", "of_ceiling") == score.of_ceiling
    assert three.chance("valence") == score.chance
    assert three.ceiling("valence") == score.ceiling
    assert three.one_rater("valence") == three.details["valence"].one_rater
    later = replace(three, scores=tuple(row for row in three.scores if row.model != "good"))
    assert later.ceiling("valence").value == pytest.approx(float(score.ceiling))


def test_what_was_not_scored_says_so(three: Scores) -> None:
    empty = replace(three, scores=(), details={}, models=())
    for estimate in (
        three.headline("valence", "nobody"),
        empty.chance("valence"),
        empty.ceiling("valence"),
        empty.one_rater("valence"),
    ):
        assert (estimate.value, estimate.why_missing) == (None, "nothing was scored")


def test_metrics_by_their_usual_name(three: Scores) -> None:
    assert three.metric_title("pearson") == three.metrics["pearson"].title
    assert three.metric_title("of_my_own") == "of my own"
