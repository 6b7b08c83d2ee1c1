"""The rule for change: attention that ends or begins within a session, and raters who merely drift."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from heartfelt.screening import RULES, RatingsView, RuleOptions
from heartfelt.screening.rules.ratings.change import fisher_combined, session_of
from heartfelt.snapshot import Snapshot
from tests.screening.styles import Design, changing_study, honest_study, seven_kinds_study

DESIGN = Design(24, 60, 6)


def table(snap: Snapshot, seed: int = 0, **settings: str) -> pl.DataFrame:
    return RULES["change"].apply(snap, RuleOptions(seed=seed, settings=settings))


@pytest.mark.slow
@pytest.mark.parametrize(("how", "late", "least"), [("random", True, 7), ("constant", True, 9), ("random", False, 6)])
def test_a_careless_half_is_seen(how: str, late: bool, least: int) -> None:
    """Of 12 studies each; docs/screening.md has the rates of 200."""
    result = [
        set(table(changing_study(DESIGN, seed, how, 0.5, late=late), seed).filter("flagged")["rater"])
        for seed in range(12)
    ]
    assert sum("r000" in names for names in result) >= least
    assert sum(bool(names - {"r000"}) for names in result) <= 2


@pytest.mark.slow
def test_the_words_say_when_and_by_how_much() -> None:
    snap = changing_study(Design(24, 120, 6), 1, "random", 0.5)
    row = table(snap).filter(pl.col("rater") == "r000").row(0, named=True)
    assert row["flagged"]
    place = int(row["words"].split("Up to trial ")[1].split(" ")[0])
    assert 50 <= place <= 70
    assert "of 120" in row["words"]


@pytest.mark.slow
def test_honest_raters_who_drift_are_left_in_peace() -> None:
    flagged = [
        bool(table(honest_study(DESIGN, style, seed), seed)["flagged"].any())
        for style in ("drift", "extreme")
        for seed in range(12)
    ]
    assert sum(flagged) <= 3


@pytest.mark.slow
def test_careless_throughout_is_no_change() -> None:
    seen = [
        "r000" in set(table(changing_study(DESIGN, seed, "random", 0.0), seed).filter("flagged")["rater"])
        for seed in range(10)
    ]
    assert sum(seen) <= 1


@pytest.mark.slow
def test_without_an_order_nobody_is_judged_unless_rows_may_stand_for_it() -> None:
    snap = changing_study(DESIGN, 3, "constant", 0.5)
    bare = Snapshot.build(snap.study, stimuli=snap.stimuli, ratings=snap.ratings.drop("position"))
    result = table(bare)
    assert result["why_missing"].unique().to_list() == ["the order of presentation is not known"]
    assert table(bare, order="rows").select("rater", "flagged").equals(table(snap).select("rater", "flagged"))


@pytest.mark.slow
def test_moments_of_answers_give_the_order() -> None:
    snap = changing_study(DESIGN, 3, "constant", 0.5)
    at = pl.datetime(2026, 1, 1, time_zone="UTC") + pl.duration(seconds=20 * pl.col("position"))
    timed = snap.ratings.with_columns(at=at).drop("position").sample(fraction=1.0, shuffle=True, seed=1)
    again = table(Snapshot.build(snap.study, stimuli=snap.stimuli, ratings=timed)).sort("rater")
    assert again.select("rater", "flagged").equals(table(snap).sort("rater").select("rater", "flagged"))


def test_short_sessions_are_not_judged() -> None:
    result = table(changing_study(Design(24, 15, 5), 1, "random", 0.5))
    assert result["why_missing"].str.contains("fewer than 20 trials").all()


def test_p_values_are_combined_as_fisher_does() -> None:
    first, second = np.array([0.03, 0.5, 1.0]), np.array([0.2, 0.02, 1.0])
    expected = [stats.combine_pvalues([a, b])[1] for a, b in zip(first, second, strict=True)]
    assert fisher_combined(first, second) == pytest.approx(expected)


def test_long_sessions_are_cut_into_few_units_that_lose_nothing() -> None:
    view = RatingsView.of(changing_study(Design(6, 1000, 6, questions=1), 1, "random", 0.5))
    block = next(view.blocks())
    session = session_of(block)
    assert not isinstance(session, str)
    assert session.units.shape == (112, 1, 6)
    assert session.units[:, 0, 0].sum() == 1000
    assert session.units[:, 0, 3].sum() == pytest.approx(1000)


@pytest.mark.slow
def test_the_timing_test_holds_its_level() -> None:
    """Over honest raters the share with p below 0.1 is near 0.1 or less; the combined p is conservative by its floor."""
    p = np.concatenate([table(honest_study(DESIGN, "mixed", seed), seed)["p"].to_numpy() for seed in range(12)])
    assert (p < 0.1).mean() < 0.14


@pytest.mark.slow
def test_careless_raters_do_not_hide_who_stops_half_way() -> None:
    """The parts of everybody's session are what they are without the raters whose answers carry no information."""
    snap = seven_kinds_study(DESIGN, 8)
    careless = [
        name
        for rule in ("informativeness", "straight-lining")
        for name in RULES[rule].apply(snap).filter("flagged")["rater"]
    ]
    assert len(careless) >= 4
    others = snap.ratings.filter(~pl.col("rater").is_in(careless))
    alone = table(Snapshot.build(snap.study, stimuli=snap.stimuli, ratings=others))
    mine = table(snap).filter(~pl.col("rater").is_in(careless))
    assert mine["value"].to_list() == pytest.approx(alone["value"].to_list())
    assert mine.filter("flagged")["rater"].to_list() == ["r000"]


def test_a_view_without_some_raters_is_that_of_the_others() -> None:
    view = RatingsView.of(honest_study(Design(6, 20, 6), "plain", 1))
    out = view.without(np.arange(6) == 2)
    assert out.raters == view.raters
    assert sorted(set(out.rater.tolist())) == [0, 1, 3, 4, 5]
    assert [block.rater for block in out.blocks()] == [0, 1, 3, 4, 5]
    rows = view.rater != 2
    for name in ("rater", "stimulus", "question", "trial", "value", "repeat"):
        assert np.array_equal(getattr(out, name), getattr(view, name)[rows])
    alone = view.channels.rater == 0
    assert not np.allclose(out.consensus.prediction[out.channels.rater == 0], view.consensus.prediction[alone])
