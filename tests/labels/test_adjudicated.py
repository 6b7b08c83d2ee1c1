"""Labels of items that a senior rater decided, by hand."""

from __future__ import annotations

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.labels import LabelOptions, labels
from heartfelt.snapshot import Snapshot
from tests.facts import mentions
from tests.labels.test_labels import made, row

SOURCE = "hand calculation"


def decided(snapshot: Snapshot, values: dict[str, float], words: dict[str, str] | None = None) -> Snapshot:
    rows = [
        {"stimulus": name, "question": "q", "value": value, "answer": (words or {}).get(name)}
        for name, value in values.items()
    ]
    table = pl.DataFrame(
        rows, schema={"stimulus": pl.String, "question": pl.String, "value": pl.Float64, "answer": pl.String}
    )
    return Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=snapshot.ratings, adjudications=table)


def test_a_decided_category_is_the_label_with_the_votes_behind_it() -> None:
    votes: dict[str, list[float]] = {"s0": [0, 0, 1, 2], "s1": [0.0, 1.0], "s2": [2.0, 2.0], "s3": [1.0]}
    plain = made("categories", votes, minimum=2)
    snapshot = decided(plain, {"s0": 1.0, "s1": 2.0, "s3": 0.0}, {"s0": "awe", "s1": "fear", "s3": "joy"})
    result = labels(snapshot)
    majority, tied, untouched, few = (row(result.table, name) for name in ("s0", "s1", "s2", "s3"))
    assert (majority["value"], majority["answer"], majority["method"]) == (1.0, "awe", "adjudicated")
    assert (majority["n"], majority["share"], majority["share_low"]) == (4, 0.25, None)
    assert mentions(str(majority["why_missing"]), "decided", "senior", "rater")
    assert (tied["value"], tied["share"]) == (2.0, 0.0), "a tie is resolved"
    assert (untouched["method"], untouched["adjudicated"]) == ("mode, ties missing", False)
    assert (few["value"], few["n"], few["adjudicated"]) == (0.0, 1, True), "and so are too few ratings"
    assert "s3" not in result.ledger["stimulus"].to_list()
    assert mentions(result.notes, "3 labels", "decided", "senior")
    none = labels(snapshot, LabelOptions(adjudicated="none"))
    assert none.notes == labels(plain).notes
    assert row(none.table, "s0")["answer"] == "joy"
    assert row(none.table, "s0")["adjudicated"] is True, "it was decided, whatever the label"
    assert none.ledger["stimulus"].drop_nulls().to_list() == labels(plain).ledger["stimulus"].drop_nulls().to_list()


def test_numbers_stay_the_raters_unless_asked_for() -> None:
    snapshot = decided(made("points", {"s0": [3, 5, 4], "s1": [7, 7, 8]}), {"s0": 9.0})
    by_default, asked = labels(snapshot), labels(snapshot, LabelOptions(adjudicated="all"))
    assert row(by_default.table, "s0")["value"] == 4.0
    assert row(by_default.table, "s0")["adjudicated"] is True
    assert row(asked.table, "s0")["value"] == 9.0
    assert row(asked.table, "s0")["sd"] == 1.0
    assert row(asked.table, "s0")["standard_error"] is None
    assert row(asked.table, "s1")["value"] == row(by_default.table, "s1")["value"]


def test_ordered_categories_count_as_categories() -> None:
    snapshot = decided(made("ordered", {"s0": [0, 0, 2]}), {"s0": 1.0}, {"s0": "weak"})
    assert row(labels(snapshot).table, "s0")["answer"] == "weak"


def test_without_decisions_nothing_changes() -> None:
    assert "adjudicated" not in labels(made("categories", {"s0": [0.0, 0.0]})).table.columns


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(InputError, match="adjudicated = 'some'"):
        LabelOptions(adjudicated="some")  # type: ignore[arg-type]  # wrong on purpose
