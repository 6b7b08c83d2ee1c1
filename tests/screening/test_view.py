from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from heartfelt.screening.view.ratings import RatingsView, remembered
from tests.screening.planted import long, planted, snapshot, study
from tests.screening.test_degenerate import categories


def test_rows_come_in_presentation_order_whatever_their_order() -> None:
    snap, _ = planted(n=6, seed=1)
    view = RatingsView.of(snapshot(snap.ratings.sample(fraction=1.0, shuffle=True, seed=2), snap.stimuli))
    for rater, name in enumerate(view.raters):
        mine = snap.ratings.filter((pl.col("rater") == name) & (pl.col("question") == "valence")).sort("position")
        rows = (view.rater == rater) & (view.question == view.questions.index("valence"))
        assert view.value[rows].tolist() == mine["value"].to_list()
        assert [view.stimulus_names[s] for s in view.stimulus[rows]] == mine["stimulus"].to_list()
    assert (np.diff(view.trial) >= 0).all()
    assert view.ordered.all()


def test_the_clock_tells_the_order_where_positions_are_missing() -> None:
    ratings = long({"r": {"a": 1, "b": 2, "c": 3}})
    start = datetime(2025, 1, 1, tzinfo=UTC)
    later = pl.Series("at", [start + timedelta(minutes=m) for m in (30, 10, 20)])
    view = RatingsView.of(snapshot(ratings.drop("position").with_columns(later)))
    assert view.value.tolist() == [2.0, 3.0, 1.0]
    assert view.ordered.tolist() == [True]
    assert RatingsView.of(snapshot(ratings.drop("position"))).ordered.tolist() == [False]


def test_a_trial_holds_the_answers_to_all_its_questions() -> None:
    view = RatingsView.of(planted(n=5, seed=2)[0])
    assert np.bincount(view.trial).tolist() == [2] * (5 * 56)
    assert view.ratings_of.tolist() == [112] * 5


def test_categories_become_a_channel_each() -> None:
    view = RatingsView.of(categories())
    mine = view.channels
    assert view.unordered.tolist() == [True, False]
    assert [view.questions[q] for q in mine.question] == ["which"] * 3 + ["is"]
    assert mine.value.size == 4 * view.first.sum() / 2
    which = mine.channel < 3
    totals = np.bincount(mine.trial[which], mine.value[which])
    assert totals[np.unique(mine.trial[which])].tolist() == [1.0] * (12 * 40)
    assert (np.diff(mine.rater) >= 0).all()


@pytest.mark.slow
def test_cells_are_pairs_of_system_and_intent() -> None:
    snap, _ = planted(n=5, seed=3)
    view = RatingsView.of(snap)
    known = {row["stimulus"]: (row["system"], row["intent"]) for row in snap.stimuli.iter_rows(named=True)}
    pairs = {(code, known[name]) for code, name in zip(view.cell.tolist(), view.stimulus_names, strict=True)}
    assert len(pairs) == len({code for code, _ in pairs}) == len({pair for _, pair in pairs})
    bare = RatingsView.of(snapshot(snap.ratings, snap.stimuli.select("stimulus")))
    assert set(bare.cell.tolist()) == {0}


def test_repeats_are_kept_apart() -> None:
    first = long({"r": {"a": 1, "b": 2}}).with_columns(repeat=pl.lit(0))
    again = long({"r": {"a": 5}}).with_columns(repeat=pl.lit(1), position=pl.lit(3, dtype=pl.Int64))
    view = RatingsView.of(snapshot(pl.concat([first, again], how="diagonal"), of=study(("valence",))))
    assert view.repeat.tolist() == [0, 0, 1]
    assert view.channels.value.tolist() == [1.0, 2.0]
    assert view.trial.tolist() == [0, 1, 2]


def test_a_view_is_its_own_view() -> None:
    view = RatingsView.of(snapshot(long({"r": {"a": 3.0}})))
    assert RatingsView.of(view) is view
    calls: list[int] = []

    @remembered
    def double(_view: RatingsView, number: int, extra: int = 0) -> int:
        calls.append(number)
        return 2 * number + extra

    assert double(view, 1) == double(view, 1, 0) == double(view, 1, extra=0) == 2
    assert (double(view, 2), double(view, 1, 1)) == (4, 3)
    assert calls == [1, 2, 1]
    with pytest.raises(AttributeError):
        view.raters = ()  # type: ignore[misc]  # what is being tested
