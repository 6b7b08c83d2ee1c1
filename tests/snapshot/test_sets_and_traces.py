"""Snapshots of trials with several stimuli and of traces: keys, hashes, checks, and old snapshots."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import has_sets, members, pairs, set_questions
from heartfelt.study import Study, parse_study
from heartfelt.tables import RATINGS, TRACES, rating_key

STUDY = parse_study("""
name: t
sets: {type: pair}
scales: {better: {type: choice, ties: true}}
questions: [{id: q, text: Which, scale: better}]
probes: [{type: anchor, id: obvious, stimuli: [c], question: q, at_most: 0}]
""")
TRACED = parse_study("""
name: t
scales: {course: {type: trace}, five: {type: points, points: 5}}
questions: [{id: v, text: V, scale: course}, {id: p, text: P, scale: five}]
""")
STIMULI = pl.DataFrame({"stimulus": ["a", "b", "c"], "system": ["A", "B", "A"]})


def trial(name: str, rater: str, first: str, second: str, value: float) -> list[dict[str, object]]:
    shared = {"rater": rater, "question": "q", "trial": name, "set": "s", "repeat": 0, "role": "member"}
    return [
        {**shared, "stimulus": first, "value": value, "place": 1},
        {**shared, "stimulus": second, "value": 1.0 - value, "place": 2},
    ]


def compared(*trials: list[dict[str, object]], study: Study = STUDY) -> Snapshot:
    rows = [row for each in trials for row in each]
    return Snapshot.build(study, stimuli=STIMULI, ratings=pl.DataFrame(rows))


def traced(samples: list[object], stimulus: str = "a", question: str = "v") -> Snapshot:
    rows = {"rater": ["r"], "stimulus": [stimulus], "question": [question], "samples": [samples], "rate": [10.0]}
    return Snapshot.build(TRACED, stimuli=STIMULI, traces=pl.DataFrame(rows))


def test_a_stimulus_may_come_in_several_trials_but_once_in_each() -> None:
    snapshot = compared(trial("1", "r", "a", "b", 1.0), trial("2", "r", "b", "a", 0.5))
    assert snapshot.counts["ratings"] == 4
    with pytest.raises(InputError, match="more than once"):
        compared(trial("1", "r", "a", "b", 1.0), trial("1", "r", "b", "a", 0.5))


def test_a_trial_number_alone_does_not_excuse_a_second_rating() -> None:
    assert rating_key([*RATINGS.names]) == ("rater", "stimulus", "question", "repeat", "trial")
    rows = pl.DataFrame(trial("1", "r", "a", "b", 1.0) + trial("2", "r", "a", "b", 1.0)).drop("place")
    assert "trial" not in rating_key(rows.columns)
    with pytest.raises(InputError, match="more than once"):
        Snapshot.build(STUDY, stimuli=STIMULI, ratings=rows)


def test_pairs_are_read_in_the_order_presented() -> None:
    snapshot = compared(trial("1", "r", "a", "b", 1.0), trial("2", "s", "b", "a", 0.5))
    assert set_questions(snapshot.study) == ["q"]
    table = pairs(snapshot.ratings, "q", snapshot.stimuli)
    assert table.select("rater", "first", "second", "value", "first_system", "second_system").rows() == [
        ("r", "a", "b", 1.0, "A", "B"),
        ("s", "b", "a", 0.5, "B", "A"),
    ]
    assert not pairs(snapshot.ratings, "other").height


def test_pairs_without_raters_stay_apart() -> None:
    rows = pl.DataFrame(trial("1", "r", "a", "b", 1.0) + trial("2", "r", "b", "a", 0.0))
    table = pairs(rows.with_columns(rater=pl.lit(None, pl.String)), "q")
    assert table.select("first", "second", "value").rows() == [("a", "b", 1.0), ("b", "a", 0.0)]


def test_ratings_one_at_a_time_have_no_pairs() -> None:
    plain = pl.DataFrame({"rater": ["r"], "stimulus": ["a"], "question": ["q"], "value": [1.0]})
    assert not has_sets(plain)
    assert members(plain, "q").height == pairs(plain, "q").height == 0


def test_trials_with_a_probe_go_as_a_whole() -> None:
    snapshot = compared(trial("1", "r", "a", "b", 1.0), trial("2", "r", "c", "a", 0.0)).without_probes
    assert snapshot.ratings["trial"].to_list() == ["1", "1"]
    assert snapshot.ledger["stimulus"].to_list() == ["c"]


def test_values_off_the_scale_are_named() -> None:
    with pytest.raises(InputError, match=r"2.*'r'"):
        compared(trial("1", "r", "a", "b", 2.0))


@pytest.mark.slow
def test_sets_and_traces_are_written_and_read(tmp_path: Path) -> None:
    for number, snapshot in enumerate((compared(trial("1", "r", "a", "b", 0.5)), traced([0.0, None, 0.5]))):
        again = heartfelt.load(snapshot.write(tmp_path / str(number)))
        assert again.hash == snapshot.hash
        assert again.traces.equals(snapshot.traces)
        assert again.ratings.equals(snapshot.ratings)


def test_traces_count_and_change_the_hash() -> None:
    first, second = traced([0.0, 0.5]), traced([0.0, 0.25])
    assert first.counts["traces"] == 1
    assert first.raters["rater"].to_list() == ["r"]
    assert first.hash != second.hash
    nothing = Snapshot.build(TRACED, stimuli=STIMULI)
    assert "traces" not in nothing.counts
    assert TRACES.name not in nothing.table_hashes


def test_gaps_are_empty_however_they_were_written() -> None:
    assert traced([0.0, float("nan")]).hash == traced([0.0, None]).hash
    assert traced([0.0, float("nan")]).traces["samples"].to_list() == [[0.0, None]]


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"samples": [1.5]}, "traces of 'v' leave the scale; the first is by rater 'r'"),
        ({"samples": [0.0], "stimulus": "z"}, "1 stimuli with traces are not among the stimuli"),
        ({"samples": [0.0], "question": "x"}, "a question 'x' the study does not ask"),
        ({"samples": [0.0], "question": "p"}, "its scale is no trace"),
    ],
)
def test_traces_that_do_not_fit_the_study(keys: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        traced(**keys)  # type: ignore[arg-type]  # the keys are those of the function


def test_the_key_of_traces_is_unique() -> None:
    rows = {"rater": ["r", "r"], "stimulus": ["a", "a"], "question": ["v", "v"], "samples": [[0.0], [0.1]]}
    with pytest.raises(InputError, match="share their key"):
        Snapshot.build(TRACED, stimuli=STIMULI, traces=pl.DataFrame(rows))
