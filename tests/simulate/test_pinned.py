"""The same seed gives the same bytes: simulated ratings and votes, pinned by their content."""

from __future__ import annotations

import hashlib

import polars as pl

from heartfelt import simulate
from heartfelt.simulate import KINDS, VOTER_KINDS, DesignOptions, RaterMix, VoterMix

RATINGS = "26ac17c448feecc4"
VOTES = "b34c38c397b0a4da"
WHOLE = "6f9d5e887f6a5740"


def content(frame: pl.DataFrame) -> str:
    """A hash of a table's rows; times to the millisecond, since exponentials differ in their last digit."""
    rounded = frame.with_columns(pl.col("seconds").round(2), pl.col("at").dt.round("1s"))
    return hashlib.sha256(rounded.write_csv().encode()).hexdigest()[:16]


def test_ratings_of_every_kind_of_rater() -> None:
    shares = {kind: 0.1 for kind in KINDS if kind != "honest"}
    design = DesignOptions(per_rater=14, per_stimulus=6, repeats=2, copy_gap=0.1, copy_shift=0.2)
    mix = RaterMix(shares=shares, hazard=0.02, careless_seconds=1.0, question_bias_sd=0.3)
    made = simulate.study_ratings(simulate.stimuli(("A", "B"), per_cell=3), 30, mix=mix, design=design, seed=5)
    assert set(made.raters["kind"]) == set(KINDS)
    assert content(made.ratings) == RATINGS
    free = DesignOptions(per_rater=10, integer=False, distinct_cells=())
    made = simulate.study_ratings(simulate.stimuli(("A",), per_cell=2), 12, mix=mix, design=free, seed=6)
    assert content(made.ratings.with_columns(pl.col("value").round(6))) == WHOLE


def test_votes_of_every_kind_of_voter() -> None:
    shares = {kind: 0.2 for kind in VOTER_KINDS if kind != "honest"}
    truth = simulate.category_truth(simulate.stimuli(("A",), per_cell=2), ("x", "y", "z"), questions=("p", "q"))
    crowd = simulate.voters(20, ("x", "y", "z"), VoterMix(shares=shares, hazard=0.05), seed=7)
    assert set(crowd.table["kind"]) == set(VOTER_KINDS)
    design = DesignOptions(per_rater=9, distinct_cells=("intent",))
    assert content(simulate.votes(truth, crowd, design, seed=7)) == VOTES
