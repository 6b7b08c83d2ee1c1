"""Data that cannot be screened end in reasons: never a crash, a warning or a number that is none."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from heartfelt.screening import FLAGS, RULES, RatingsView, RuleOptions, screen
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from tests.cases import check_all
from tests.screening.planted import long, noise, snapshot, study

RATINGS = {"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}


def empty() -> Snapshot:
    stimuli = pl.DataFrame({"stimulus": ["a"]})
    return Snapshot.build(study(), stimuli=stimuli, ratings=pl.DataFrame(schema=RATINGS))


def one_rater() -> Snapshot:
    return snapshot(long({"r": {f"s{i}": 1 + i % 9 for i in range(30)}}))


def two_raters_who_agree() -> Snapshot:
    same = {f"s{i}": 1 + i % 9 for i in range(30)}
    return snapshot(long({"r": same, "q": same}))


def one_item() -> Snapshot:
    return snapshot(long({f"r{i}": {"s": 1 + i % 9} for i in range(20)}))


def all_agree() -> Snapshot:
    return snapshot(long({f"r{i}": {f"s{j}": 1 + j % 9 for j in range(30)} for i in range(8)}))


def no_variance() -> Snapshot:
    return snapshot(long({f"r{i}": {f"s{j}": 5 for j in range(30)} for i in range(8)}))


def nobody_answers_one_question() -> Snapshot:
    rng = noise(1)
    ratings = long({f"r{i}": {f"s{j}": float(rng.integers(1, 10)) for j in range(20)} for i in range(8)})
    return snapshot(ratings, of=study(("valence", "arousal")))


def unknown_raters() -> Snapshot:
    rng = noise(2)
    ratings = pl.DataFrame(
        {
            "rater": pl.Series([None] * 40, dtype=pl.String),
            "stimulus": [f"s{i % 10}" for i in range(40)],
            "question": ["valence"] * 40,
            "value": rng.integers(1, 10, 40).astype(float),
        }
    )
    return snapshot(ratings)


def some_unknown_raters() -> Snapshot:
    rng = noise(3)
    named = long({f"r{i}": {f"s{j}": float(rng.integers(1, 10)) for j in range(20)} for i in range(8)})
    return snapshot(pl.concat([named, named.head(30).with_columns(rater=pl.lit(None, dtype=pl.String))]))


def no_overlap() -> Snapshot:
    rng = noise(4)
    return snapshot(long({f"r{i}": {f"s{i}_{j}": float(rng.integers(1, 10)) for j in range(20)} for i in range(10)}))


def empty_values() -> Snapshot:
    ratings = long({f"r{i}": {f"s{j}": 1 + (i * j) % 9 for j in range(12)} for i in range(6)})
    return snapshot(ratings.with_columns(value=pl.when(pl.col("position") % 2 == 0).then("value").otherwise(None)))


def no_order() -> Snapshot:
    rng = noise(5)
    ratings = long({f"r{i}": {f"s{j}": float(rng.integers(1, 10)) for j in range(20)} for i in range(8)})
    return snapshot(ratings.drop("position"))


def words_only() -> Snapshot:
    text = "name: t\nscales: {w: {type: text}}\nquestions: [{id: why, text: why, scale: w}]\n"
    ratings = pl.DataFrame(
        {"rater": ["a", "b"], "stimulus": ["s", "s"], "question": ["why"] * 2, "value": [None, None]}, schema=RATINGS
    )
    return snapshot(ratings.with_columns(answer=pl.lit("because")), of=parse_study(text))


def categories() -> Snapshot:
    text = (
        "name: c\nscales: {e: {type: categories, categories: [joy, fear, calm]}, y: {type: yes-no}}\n"
        "questions: [{id: which, text: w, scale: e}, {id: is, text: i, scale: y}]\n"
    )
    rng = noise(6)
    truth = rng.integers(0, 3, 60)
    rows = []
    for r in range(12):
        for place, s in enumerate(rng.permutation(60)[:40], 1):
            which = truth[s] if rng.random() < 0.7 else rng.integers(0, 3)
            rows.append((f"r{r}", f"s{s}", "which", float(which), place))
            rows.append((f"r{r}", f"s{s}", "is", float((truth[s] == 1) != (rng.random() < 0.2)), place))
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value", "position"], orient="row")
    return snapshot(ratings, of=parse_study(text))


def many_raters_one_rating_each() -> Snapshot:
    rng = noise(7)
    size = 10_000
    return snapshot(
        pl.DataFrame(
            {
                "rater": [f"r{i}" for i in range(size)],
                "stimulus": [f"s{i % 300}" for i in range(size)],
                "question": ["valence"] * size,
                "value": rng.integers(1, 10, size).astype(float),
                "position": np.ones(size, dtype=np.int64),
            }
        )
    )


CASES = (
    empty,
    one_rater,
    two_raters_who_agree,
    one_item,
    all_agree,
    no_variance,
    nobody_answers_one_question,
    unknown_raters,
    some_unknown_raters,
    no_overlap,
    empty_values,
    no_order,
    words_only,
    categories,
    many_raters_one_rating_each,
)


@pytest.mark.slow
@check_all("case", CASES, ids=lambda case: str(case.__name__))
def test_every_rule_answers_or_says_why(case: Callable[[], Snapshot]) -> None:
    view = RatingsView.of(case())
    for name in RULES:
        table = FLAGS.check(RULES[name].apply(view, RuleOptions(seed=1)), name)
        assert table.columns == list(FLAGS.names)
        assert table.height > 0, name
        assert (table["words"].str.len_chars() > 5).all()
        judged = table.filter(pl.col("why_missing").is_null())
        assert judged["value"].null_count() == 0, name
        assert not table.filter(pl.col("why_missing").is_not_null())["flagged"].any(), name
        for column in ("value", "threshold", "p", "evidence"):
            assert table[column].drop_nulls().is_finite().all(), (name, column)
        p = table["p"].drop_nulls()
        assert ((p >= 0) & (p <= 1)).all()


@pytest.mark.slow
@check_all("case", CASES, ids=lambda case: str(case.__name__))
def test_nobody_is_left_out_of_data_that_say_nothing(case: Callable[[], Snapshot]) -> None:
    panel = screen(case())
    assert panel.dropped == ()
    assert panel.groups == ()
    json.dumps(panel.to_json(), allow_nan=False)
    assert panel.snapshot() is panel.source


@pytest.mark.slow
def test_ratings_without_a_rater_are_kept_and_mentioned() -> None:
    panel = screen(some_unknown_raters(), exclude=["r0"])
    assert panel.ratings["rater"].null_count() == 30
    assert any("30 ratings have no rater" in note for note in panel.notes)
    assert "r0" not in panel.snapshot().raters["rater"].to_list()


def test_a_question_nobody_answered_is_mentioned() -> None:
    assert screen(nobody_answers_one_question()).notes == ("Nobody answered arousal.",)


def test_rules_say_what_they_lack() -> None:
    view = RatingsView.of(no_order())
    for name, words in {
        "collusion": "order of presentation",
        "longest-run": "order of presentation",
        "response-time": "no response times",
        "repeat-difference": "twice",
        "anchor": "no anchor probes",
    }.items():
        assert words in RULES[name].apply(view)["why_missing"][0]


def test_two_raters_are_too_few_for_a_norm() -> None:
    table = RULES["agreement"].apply(two_raters_who_agree())
    assert table["why_missing"].str.contains("fewer than 5 raters").all()
