"""Labels by hand, by every method, and for items that get none."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from heartfelt.errors import InputError
from heartfelt.labels import LABELS, LabelOptions, first_answers, labels
from heartfelt.snapshot import Snapshot
from heartfelt.study import Question, Study
from heartfelt.study.model import Probe, RepeatProbe
from heartfelt.study.scales.scale import AnyScale, Categories, Numeric, Ordered, Points, YesNo
from heartfelt.tables import LEDGER

SOURCE = "hand calculation; scipy.stats.t.interval for the bounds of means, statsmodels' formula for Wilson's"

SCALES: dict[str, AnyScale] = {
    "points": Points(type="points", points=9),
    "ordered": Ordered(type="ordered", categories=["no", "weak", "strong"]),
    "categories": Categories(type="categories", categories=["joy", "awe", "fear"]),
    "yes-no": YesNo(type="yes-no"),
    "numeric": Numeric(type="numeric"),
}

UNUSED = "2 answers to repeated presentations are not used."


def made(scale: str, votes: dict[str, list[float]], minimum: int = 1, known: bool = True, stimuli: int = 4) -> Snapshot:
    rows = [
        (f"r{r}" if known else None, name, "q", value)
        for name, values in votes.items()
        for r, value in enumerate(values)
    ]
    schema = {"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}
    study = Study(name="x", scales={"s": SCALES[scale]}, questions=[Question(id="q", text="q", scale="s")])
    study = study.changed(design=study.design.model_copy(update={"minimum_ratings": minimum}))
    names = pl.DataFrame({"stimulus": [f"s{i}" for i in range(stimuli)]})
    return Snapshot.build(study, stimuli=names, ratings=pl.DataFrame(rows, schema=schema, orient="row"))


def row(found: pl.DataFrame, stimulus: str) -> dict[str, object]:
    return found.row(by_predicate=pl.col("stimulus") == stimulus, named=True)


def test_means_with_students_interval() -> None:
    result = row(labels(made("points", {"s0": [3, 5, 4, 6]})).table, "s0")
    low, high = scipy_stats.t.interval(0.95, 3, 4.5, scipy_stats.sem([3, 5, 4, 6]))
    assert result["value"] == 4.5
    assert result["sd"] == pytest.approx(math.sqrt(5 / 3))
    assert result["standard_error"] == pytest.approx(math.sqrt(5 / 3) / 2)
    assert (result["low"], result["high"]) == (pytest.approx(low), pytest.approx(high))
    assert (result["n"], result["method"]) == (4, "mean")


def test_intervals_stay_on_the_scale() -> None:
    result = row(labels(made("points", {"s0": [9, 9, 5]})).table, "s0")
    assert result["high"] == 9.0
    free = row(labels(made("numeric", {"s0": [9, 9, 5]})).table, "s0")
    assert isinstance(free["high"], float)
    assert free["high"] > 9.0


def test_no_spread_and_one_rating_have_no_interval() -> None:
    table = labels(made("points", {"s0": [4, 4, 4], "s1": [7]})).table
    same, each = row(table, "s0"), row(table, "s1")
    assert (same["low"], same["why_missing"]) == (None, "all ratings are equal: no interval")
    assert (each["standard_error"], each["why_missing"]) == (None, "one rating: no interval")


def test_modes_ties_and_shares() -> None:
    votes = {"s0": [0.0, 0, 1], "s1": [0.0, 1], "s2": [2.0, 2, 2, 2]}
    table = labels(made("categories", votes)).table
    first, tied, sure = (row(table, f"s{i}") for i in range(3))
    assert (first["answer"], first["value"], first["share"]) == ("joy", 0.0, pytest.approx(2 / 3))
    assert first["sd"] is None
    assert (tied["value"], tied["answer"]) == (None, None)
    assert "tied" in str(tied["why_missing"])
    # Four of four, for three categories at once: the share at which that has a chance of 2.5% / 3.
    assert sure["share_low"] == pytest.approx((0.025 / 3) ** (1 / 4))
    assert sure["share_high"] == pytest.approx(1.0)
    lowest = labels(made("categories", votes), LabelOptions(ties="lowest")).table
    assert row(lowest, "s1")["answer"] == "joy"


def test_ties_few_ratings_and_silence_are_in_the_ledger() -> None:
    result = labels(made("categories", {"s0": [0, 0, 1], "s1": [0, 1], "s2": [1]}, minimum=2))
    reasons = dict(result.ledger.select("stimulus", "reason").iter_rows())
    assert reasons == {
        "s1": "no label: the most frequent categories are tied",
        "s2": "1 of the 2 ratings a label needs",
        "s3": "no ratings",
    }
    assert set(result.ledger["stage"]) == {"label"}
    assert result.ledger.columns == list(LEDGER.names)
    assert "s2" not in result.table["stimulus"].to_list()


def test_a_question_nobody_answered_is_one_row() -> None:
    result = labels(made("points", {}))
    assert result.table.height == 0
    assert result.table.schema == LABELS.empty().schema
    assert result.ledger.select("what", "question", "reason").rows() == [
        ("question", "q", "nobody answered this question")
    ]


@pytest.mark.parametrize("method", ["median", "p910"])
def test_other_numbers(method: Any) -> None:
    votes = {"s0": [3.0, 5, 4], "s1": [6.0, 8, 8], "s2": [1.0, 3, 2], "s3": [4.0, 6, 5]}
    table = labels(made("points", votes), LabelOptions(method=method)).table
    values = table["value"].to_list()
    if method == "median":
        assert values == [4.0, 8.0, 2.0, 5.0]
    else:
        assert values == pytest.approx([4.0, 7.3, 2.0, 5.0], abs=0.3)
        assert table["method"][0].startswith("ITU-T P.910")


def test_dawid_skene_takes_the_questions_of_a_scale_together() -> None:
    base = made("ordered", {f"s{i}": [i % 3, i % 3, (i + (i % 2)) % 3] for i in range(4)})
    table = labels(base, LabelOptions(method="dawid-skene")).table
    assert table["value"].to_list() == [0.0, 1.0, 2.0, 0.0]
    assert table["share"].min() > 0.5  # type: ignore[operator]  # a share is a number


@pytest.mark.parametrize(
    ("scale", "method"),
    [("categories", "mean"), ("categories", "p910"), ("points", "dawid-skene"), ("points", "average")],
)
def test_methods_that_do_not_fit_are_refused(scale: str, method: Any) -> None:
    with pytest.raises(InputError):
        labels(made(scale, {"s0": [1, 2]}), LabelOptions(method=method))


def test_methods_that_need_to_know_who_rated_say_so() -> None:
    with pytest.raises(InputError, match="do not say who"):
        labels(made("points", {"s0": [1, 2]}, known=False), LabelOptions(method="p910"))
    result = labels(made("points", {"s0": [1, 2]}, known=False))
    assert row(result.table, "s0")["value"] == 1.5
    assert result.notes == ("2 answers do not say who gave them.",)


@pytest.mark.parametrize(
    ("scale", "probes", "value", "note"),
    [
        ("points", [], 6.5, "2 answers repeat an earlier one of the same rater; all are used."),
        ("points", [RepeatProbe(type="repeat", id="again", at_most_apart=1)], 4.0, UNUSED),
        ("ordered", [], 1.0, UNUSED),
    ],
    ids=["averaged", "probe", "categories"],
)
def test_repeated_answers_count_unless_they_test_the_rater(
    scale: str, probes: list[Probe], value: float, note: str
) -> None:
    base = made(scale, {"s0": [3, 5] if scale == "points" else [1, 1]})
    study = base.study.model_copy(update={"probes": probes})
    later = 9.0 if scale == "points" else 0.0
    again = base.ratings.with_columns(pl.lit(1, pl.Int64).alias("repeat"), pl.lit(later).alias("value"))
    first = base.ratings.with_columns(pl.lit(0, pl.Int64).alias("repeat"))
    both = Snapshot.build(study, stimuli=base.stimuli, ratings=pl.concat([first, again]))
    result = labels(both)
    assert row(result.table, "s0")["value"] == value
    assert result.notes == (note,)
    assert first_answers(both).height == 2


def test_published_means_where_there_are_no_ratings() -> None:
    base = made("points", {})
    means = pl.DataFrame(
        {"stimulus": ["s0", "s1"], "question": ["q", "q"], "mean": [4.0, 5.0], "sd": [1.0, None], "n": [25, 25]}
    )
    table = labels(Snapshot.build(base.study, stimuli=base.stimuli, means=means)).table
    known, bare = row(table, "s0"), row(table, "s1")
    assert known["standard_error"] == pytest.approx(0.2)
    assert known["low"] == pytest.approx(4 - scipy_stats.t.ppf(0.975, 24) * 0.2)
    assert bare["low"] is None
    assert "no interval" in str(bare["why_missing"])
    assert set(table["method"]) == {"published mean"}


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=8), min_size=1, max_size=4), st.integers(1, 4))
def test_every_item_has_a_label_or_a_reason(votes: list[list[int]], least: int) -> None:
    made_of = {f"s{i}": [float(v) for v in values] for i, values in enumerate(votes)}
    result = labels(made("points", made_of, minimum=least))
    labelled = set(result.table["stimulus"])
    assert labelled | set(result.ledger["stimulus"]) == {f"s{i}" for i in range(4)}
    assert not labelled & set(result.ledger["stimulus"])
    for name in labelled:
        each = row(result.table, name)
        assert each["value"] == pytest.approx(sum(made_of[name]) / len(made_of[name]))
        assert each["n"] == len(made_of[name]) >= least
        if each["low"] is not None:
            assert 1 <= float(str(each["low"])) <= float(str(each["value"])) <= float(str(each["high"])) <= 9
