"""Buckets: ties stay ties, presence is anything above the lowest category, and emolia's convention can still be had."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.errors import InputError
from heartfelt.labels.vote_buckets import BUCKETS, TIED, buckets, forced
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from tests.datasets.emolia_data import dim, emo

STUDY = parse_study(
    "name: presence\nscales:\n"
    "  three: {type: ordered, categories: [not, weakly, strongly]}\n  yn: {type: yes-no}\n  nine: {type: points, points: 9}\n"
    "questions:\n  - {id: joy, text: J, scale: three}\n  - {id: loud, text: L, scale: yn}\n"
    "  - {id: valence, text: V, scale: nine}\n"
)


def voted(votes: list[int], question: str = "joy") -> Snapshot:
    n = len(votes)
    ratings = pl.DataFrame(
        {
            "rater": [f"r{at}" for at in range(n)],
            "stimulus": ["s"] * n,
            "question": [question] * n,
            "value": [float(vote) for vote in votes],
        }
    )
    return Snapshot.build(STUDY, stimuli=pl.DataFrame({"stimulus": ["s"]}), ratings=ratings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("votes", "bucket", "present", "value"),
    [
        ([2, 2, 1], "unanimous_present", True, 2.0),
        ([0, 1, 2], "majority_present", True, None),
        ([0, 1], TIED, None, None),
        ([0, 0, 1, 2], TIED, None, 0.0),
        ([0, 0, 0], "unanimous_absent", False, 0.0),
        ([0, 0, 2], "majority_absent", False, 0.0),
        ([1], "single_rater_present", True, 1.0),
        ([0], "single_rater_absent", False, 0.0),
        ([1, 2], "unanimous_present", True, None),
        ([0, 0, 0, 1, 1, 2, 2], "majority_present", True, 0.0),
    ],
)
def test_every_way_votes_can_fall(votes: list[int], bucket: str, present: bool | None, value: float | None) -> None:
    row = buckets(voted(votes)).table.row(0, named=True)
    assert (row["bucket"], row["majority_present"], row["majority_value"]) == (bucket, present, value)
    assert (row["n"], row["present_votes"]) == (len(votes), sum(vote > 0 for vote in votes))


def test_yes_no_questions_speak_of_yes_and_no_and_other_scales_are_named() -> None:
    result = buckets(voted([1, 1, 0], "loud"))
    assert result.counts == {"majority_yes": 1}
    assert result.left_out == ("valence",)
    assert result.votes.rows() == [("s", "loud", 0.0, 1), ("s", "loud", 1.0, 2)]


def test_one_vote_is_neither_unanimous_nor_not() -> None:
    row = buckets(voted([1])).table.row(0, named=True)
    assert row["unanimous"] is None
    assert row["unanimous_value"] is None


def test_a_study_without_sides_is_refused() -> None:
    study = parse_study(
        "name: t\nscales:\n  n: {type: points, points: 9}\nquestions:\n  - {id: v, text: V, scale: n}\n"
    )
    snapshot = Snapshot.build(study, stimuli=pl.DataFrame({"stimulus": ["s"]}))
    with pytest.raises(InputError, match="yes or no"):
        buckets(snapshot)


def test_nobody_voted_is_an_empty_table() -> None:
    snapshot = Snapshot.build(STUDY, stimuli=pl.DataFrame({"stimulus": ["s"]}))
    result = buckets(snapshot)
    assert result.table.height == 0
    assert result.table.columns == list(BUCKETS.names)


@pytest.mark.slow
@given(st.lists(st.integers(0, 2), min_size=1, max_size=7))
@settings(deadline=None, max_examples=50)
def test_forced_ties_have_no_gaps_and_do_not_contradict_themselves(votes: list[int]) -> None:
    table = buckets(voted(votes)).table
    free, row = table.row(0, named=True), forced(table, STUDY).row(0, named=True)
    assert row["bucket"] == free["bucket"]
    if free["majority_present"] is not None:
        assert row["majority_present"] == free["majority_present"]
    else:
        assert row["majority_present"] is False
    counts = [votes.count(code) for code in range(3)]
    tied = [code for code in range(3) if counts[code] == max(counts)]
    assert row["majority_value"] in tied
    if free["value_tie"]:
        assert (row["majority_value"] > 0) == row["majority_present"]
        side = [code for code in tied if (code > 0) == row["majority_present"]]
        assert row["majority_value"] == min(side)


def test_emolia_s_own_convention_forces_ties_into_the_majority_and_lets_one_vote_each_contradict_itself() -> None:
    one_each = forced(buckets(voted([0, 1, 2])).table, STUDY, contradict=True).row(0, named=True)
    assert (one_each["majority_value"], one_each["majority_present"]) == (0.0, True)
    tie = forced(buckets(voted([0, 1], "loud")).table, STUDY, contradict=True).row(0, named=True)
    assert (tie["bucket"], tie["majority_present"], tie["present_tie"]) == ("majority_no", False, True)


@pytest.mark.slow
def test_counts_of_the_hand_made_subsets(tmp_path: Path) -> None:
    assert buckets(emo(tmp_path / "emo")).counts == {
        "majority_present": 1,
        "single_rater_absent": 1,
        "tied": 2,
        "unanimous_absent": 1,
        "unanimous_present": 2,
    }
    assert buckets(dim(tmp_path / "dim")).counts == {
        "majority_yes": 2,
        "single_rater_no": 1,
        "tied": 1,
        "unanimous_no": 1,
    }
