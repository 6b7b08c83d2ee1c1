"""Scripted cheats in a real collection, from the first arrival to the dashboard: who is flagged, and who is left in peace."""

from __future__ import annotations

import polars as pl
import pytest

from heartfelt.screening import RULES, screen
from heartfelt.web.study.figures import make_board
from tests.screening.cheats import CHEATS, cheated


@pytest.mark.slow
def test_who_obeys_the_mushra_recipe_is_not_accused() -> None:
    """The recipe asks that something of each version is heard; its four trials have five clips each."""
    with cheated("mushra", 1, honest=8, kinds=(), recipe=True) as study:
        assert study.collection.study.design.listening == "started"
        assert float(str(study.snapshot.ratings["heard"].min())) < 0.9
        table = RULES["heard"].apply(study.snapshot)
    assert table["n"].to_list() == [4] * 8
    assert table["why_missing"].null_count() == 0
    assert not screen(study.snapshot).flagged()


@pytest.mark.slow
def test_scripts_in_the_arena_are_flagged_and_shown_on_the_dashboard() -> None:
    with cheated("arena", 2, honest=0, cheats=20, kinds=("forged reports",), recipe=True) as study:
        assert study.snapshot.ratings["heard_flag"].unique().to_list() == ["impossible"]
        table = RULES["impossible"].apply(study.snapshot)
        board = make_board(study.collection)
    assert table["n"].to_list() == [12] * 20
    assert table["flagged"].all()
    assert set(board.flagged) == set(study.kinds)
    assert (board.ranking["score"] >= 4.0).all()
    assert board.ranking["flagged_by"].list.contains("impossible").all()


@pytest.mark.slow
def test_honest_raters_of_the_arena_are_left_in_peace() -> None:
    with cheated("arena", 3, honest=20, kinds=(), recipe=True) as study:
        panel = screen(study.snapshot)
    assert not panel.flagged()
    judged = panel.flags.filter(pl.col("rule").is_in(["heard", "response-time", "pattern", "parallel-sets"]))
    assert judged.filter(pl.col("why_missing").is_null()).group_by("rule").len()["len"].to_list() == [20] * 4


@pytest.mark.slow
@pytest.mark.parametrize(("name", "honest"), [("rating", 20), ("mushra", 10), ("arena", 20)])
def test_seven_of_eight_kinds_of_cheats_are_flagged(name: str, honest: int) -> None:
    with cheated(name, 4, honest=honest) as study:
        panel = screen(study.snapshot)
    controlled = pl.col("error_controlled") | (pl.col("rule") == "shared-browser")
    counted = panel.flags.filter(pl.col("flagged") & controlled)
    flagged = set(counted["rater"])
    kinds = {kind for rater, kind in study.kinds.items() if rater in flagged}
    assert len(kinds & set(CHEATS)) >= 7, set(CHEATS) - kinds
    careful = {rater for rater, kind in study.kinds.items() if kind == "honest"} - study.sources
    assert not flagged & careful
