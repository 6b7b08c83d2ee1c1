"""Bounds, ties, limits and constants of labels, splits and buckets, exactly."""

from __future__ import annotations

import hashlib
import math
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

from heartfelt.errors import InputError
from heartfelt.labels import LABELS, LabelOptions, SplitOptions, buckets, labels
from heartfelt.labels.labelling import METHODS, default_method
from heartfelt.labels.splits import SHARES, assigned, groups_of
from heartfelt.snapshot import Snapshot
from heartfelt.stats import aggregate
from heartfelt.study import Question, Study
from heartfelt.study.scales.scale import Ordered
from heartfelt.tables import LEDGER
from tests.facts import mentions
from tests.labels.test_labels import SCALES, made, row

SOURCE = "hand calculation; scipy.stats for quantiles of t and of the binomial distribution; hashlib for splits"


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_width_of_a_means_interval_follows_the_confidence(confidence: float) -> None:
    result = row(labels(made("numeric", {"s0": [3, 5, 4, 6]}), LabelOptions(confidence=confidence)).table, "s0")
    low, high = scipy_stats.t.interval(confidence, 3, 4.5, scipy_stats.sem([3, 5, 4, 6]))
    assert (result["low"], result["high"]) == (pytest.approx(low), pytest.approx(high))


def test_the_usual_confidence_ties_and_methods() -> None:
    usual = LabelOptions()
    assert (usual.method, usual.minimum_ratings, usual.ties) == (None, None, "missing")
    assert METHODS == ("mean", "median", "mode", "p910", "dawid-skene")
    assert [default_method(SCALES[name]) for name in ("points", "numeric", "ordered", "yes-no", "categories")] == [
        "mean", "mean", "mode", "mode", "mode",
    ]  # fmt: skip


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1])
def test_a_confidence_lies_between_0_and_1(confidence: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        LabelOptions(confidence=confidence)
    LabelOptions(confidence=1e-9)


def test_at_least_one_rating() -> None:
    assert LabelOptions(minimum_ratings=1).minimum_ratings == 1
    with pytest.raises(InputError, match="at least one rating"):
        LabelOptions(minimum_ratings=0)


@pytest.mark.parametrize(("least", "labelled"), [(3, True), (4, False)])
def test_as_many_ratings_as_the_minimum_are_enough(least: int, labelled: bool) -> None:
    result = labels(made("points", {"s0": [3, 5, 4]}, minimum=least))
    assert (result.table.height == 1) == labelled
    reasons = result.ledger.filter(pl.col("stimulus") == "s0")["reason"].to_list()
    assert reasons == ([] if labelled else ["3 of the 4 ratings a label needs"])
    assert labels(made("points", {"s0": [3, 5, 4]}, minimum=4), LabelOptions(minimum_ratings=3)).table.height == 1


@pytest.mark.parametrize(("ties", "value"), [("missing", None), ("lowest", 0.0), ("highest", 2.0)])
def test_ties_go_where_they_are_sent(ties: Literal["missing", "lowest", "highest"], value: float | None) -> None:
    result = row(labels(made("ordered", {"s0": [0, 0, 2, 2, 1]}), LabelOptions(ties=ties)).table, "s0")
    assert result["value"] == value
    assert result["share"] == pytest.approx(0.4)
    assert (result["why_missing"] is None) == (value is not None)


def test_bounds_of_a_modes_share() -> None:
    """Exact (Clopper-Pearson) over the votes, with the upper tail shared by the categories that could have been chosen."""
    result = row(labels(made("yes-no", {"s0": [1, 1, 1, 1, 0]})).table, "s0")
    assert result["share"] == pytest.approx(0.8)
    wide = scipy_stats.binomtest(4, 5).proportion_ci(0.95, method="exact")
    assert result["share_high"] == pytest.approx(wide.high)
    assert 0 < float(str(result["share_low"])) <= wide.low + 1e-9


@pytest.mark.parametrize(("ratings", "bounded"), [(5, False), (6, True)])
def test_a_median_needs_six_ratings_for_an_interval(ratings: int, bounded: bool) -> None:
    values = [1.0, 2.0, 4.0, 5.0, 8.0, 9.0][:ratings]
    result = row(labels(made("numeric", {"s0": values}), LabelOptions(method="median")).table, "s0")
    assert result["value"] == np.median(values)
    assert (result["low"] is not None) == bounded
    if bounded:
        assert (result["low"], result["high"]) == (1.0, 9.0)
    else:
        assert str(result["why_missing"]).startswith("no interval: ")


def test_bounds_stop_at_the_ends_of_the_scale() -> None:
    result = row(labels(made("points", {"s0": [1, 1, 1, 2], "s1": [9, 9, 8, 9]})).table, "s0")
    assert result["low"] == 1.0
    assert result["high"] == pytest.approx(1.25 + scipy_stats.t.ppf(0.975, 3) * 0.25)
    other = row(labels(made("points", {"s1": [9, 9, 8, 9]})).table, "s1")
    assert other["high"] == 9.0


def test_published_means_by_hand() -> None:
    study = Study(name="x", scales={"s": SCALES["points"]}, questions=[Question(id="q", text="q", scale="s")])
    means = pl.DataFrame(
        {
            "stimulus": ["a", "b", "c", "d"],
            "question": ["q"] * 4,
            "mean": [4.0, 5.0, 6.0, 7.0],
            "sd": [1.5, 0.0, 1.0, None],
            "n": [9, 9, 1, 9],
        }
    )
    table = labels(Snapshot.build(study, stimuli=means.select("stimulus"), means=means)).table
    results = {r["stimulus"]: r for r in table.iter_rows(named=True)}
    reach = scipy_stats.t.ppf(0.975, 8) * 0.5
    assert results["a"]["standard_error"] == pytest.approx(0.5)
    assert (results["a"]["low"], results["a"]["high"]) == (pytest.approx(4 - reach), pytest.approx(4 + reach))
    assert mentions(results["b"]["why_missing"], "ratings", "interval")
    assert [results[name]["low"] for name in "bcd"] == [None] * 3
    assert "no spread or count" in results["c"]["why_missing"]
    assert "no spread or count" in results["d"]["why_missing"]
    assert set(table["method"]) == {"published mean"}


def test_an_error_of_no_more_than_rounding_is_none() -> None:
    study = Study(name="x", scales={"s": SCALES["points"]}, questions=[Question(id="q", text="q", scale="s")])
    columns = {"mean": [4.0, 4.0], "sd": [2e-12, 4e-12], "n": [4, 4]}
    means = pl.DataFrame({"stimulus": ["a", "b"], "question": ["q", "q"], **columns})
    table = labels(Snapshot.build(study, stimuli=means.select("stimulus"), means=means)).table
    assert table["standard_error"].to_list() == [1e-12, 2e-12]
    assert table["why_missing"].to_list() == ["all ratings are equal: no interval", None]
    assert table["low"].is_null().to_list() == [True, False]


@pytest.mark.parametrize("method", ["mean", "median", "p910"])
def test_two_categories_have_an_order_and_three_have_not(method: Any) -> None:
    votes: dict[str, list[float]] = {"s0": [0, 1, 1, 1], "s1": [0, 1, 0, 0]}
    result = row(labels(made("yes-no", votes), LabelOptions(method=method)).table, "s0")
    assert (result["sd"], result["n"]) == (pytest.approx(0.5), 4)
    if method == "mean":
        assert result["value"] == 0.75
    with pytest.raises(InputError, match=f"categories without an order: they have no {method}"):
        labels(made("categories", votes), LabelOptions(method=method))


def test_a_stimulus_that_was_set_aside_before_is_not_missing_again() -> None:
    snapshot = made("points", {"s0": [3, 5, 4]}, stimuli=3)
    earlier = pl.DataFrame(
        {"what": ["stimulus"], "rater": [None], "stimulus": ["s1"], "question": [None]}
        | {"reason": ["no file"], "stage": ["source"]},
        schema=dict.fromkeys(LEDGER.names, pl.String),
    )
    snapshot = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=snapshot.ratings, ledger=earlier)
    result = labels(snapshot).ledger
    assert list(result.select("stimulus", "reason").iter_rows()) == [("s2", "no ratings")]


class TestSplits:
    def place(self, group: str, seed: int = 0, by: str = "stimulus") -> float:
        text = "\x1f".join(["heartfelt-split 1", str(seed), by, group])
        return int(hashlib.sha256(text.encode()).hexdigest()[:16], 16) / 16**16

    def test_the_usual_shares(self) -> None:
        assert SHARES == {"train": 0.7, "dev": 0.15, "test": 0.15}
        assert list(SplitOptions().shares) == ["train", "dev", "test"]

    @pytest.mark.parametrize(("seed", "by"), [(0, "stimulus"), (3, "system")])
    def test_every_group_falls_where_its_hash_says(self, seed: int, by: str) -> None:
        split = SplitOptions(by=by, seed=seed)
        for k in range(200):
            at = self.place(f"g{k}", seed, by)
            want = "train" if at < 0.7 else "dev" if at < 0.85 else "test"
            assert split.part_of(f"g{k}") == want

    def test_a_group_on_the_limit_belongs_to_the_next_part(self) -> None:
        at = self.place("g")
        assert SplitOptions(shares={"first": at, "second": 1 - at}).part_of("g") == "second"
        above = math.nextafter(at, 1)
        assert SplitOptions(shares={"first": above, "second": 1 - above}).part_of("g") == "first"

    def test_folds_are_equal_parts(self) -> None:
        split = SplitOptions(folds=2)
        assert dict(split.shares) == {"fold_1": 0.5, "fold_2": 0.5}
        assert [SplitOptions(folds=4).part_of(f"g{k}") for k in range(40)] == [
            f"fold_{int(self.place(f'g{k}') * 4) + 1}" for k in range(40)
        ]

    @pytest.mark.parametrize(("total", "fits"), [(1 + 1e-10, True), (1 + 2e-9, False), (1 - 2e-9, False)])
    def test_shares_add_up_to_one(self, total: float, fits: bool) -> None:
        shares = {"a": 0.5, "b": total - 0.5}
        if fits:
            assert SplitOptions(shares=shares).shares
        else:
            with pytest.raises(InputError, match="add up to 1"):
                SplitOptions(shares=shares)

    def test_stimuli_without_a_value_are_groups_of_their_own(self) -> None:
        table = pl.DataFrame({"stimulus": ["a", "b", "c"], "system": ["x", None, None]})
        groups = groups_of(table, "system")
        assert groups["group"].to_list() == ["x", "\x00stimulus b", "\x00stimulus c"]
        split = SplitOptions(by="system", fixed={"x": "test"})
        assert assigned(groups, split)["split"][0] == "test"

    def test_options_come_back_from_a_manifest(self) -> None:
        split = SplitOptions(by="system", folds=3, seed=5, fixed={"x": "fold_2"})
        assert SplitOptions.from_json(split.to_json()) == split


def test_counts_of_votes_and_sides() -> None:
    study = Study(
        name="x",
        scales={"s": Ordered(type="ordered", categories=["not", "weak", "strong"])},
        questions=[Question(id="q", text="q", scale="s")],
    )
    votes = {"a": [0, 1, 1], "b": [0, 0, 2, 2], "c": [1, 2], "d": [2]}
    rows = [(f"r{k}", name, "q", float(v)) for name, vs in votes.items() for k, v in enumerate(vs)]
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value"], orient="row")
    result = buckets(Snapshot.build(study, stimuli=pl.DataFrame({"stimulus": list(votes)}), ratings=ratings))
    columns = ["present_votes", "absent_votes", "present_tie", "majority_votes", "value_tie", "lowest_tied"]
    columns += ["lowest_tied_present", "unanimous", "unanimous_value"]
    table = {r["stimulus"]: tuple(r[c] for c in columns) for r in result.table.iter_rows(named=True)}
    assert table == {
        "a": (2, 1, False, 2, False, 1.0, 1.0, False, False),
        "b": (2, 2, True, 2, True, 0.0, 2.0, False, False),
        "c": (2, 0, False, 1, True, 1.0, 1.0, True, False),
        "d": (1, 0, False, 1, False, 2.0, 2.0, None, None),
    }
    assert result.counts == {"majority_present": 1, "single_rater_present": 1, "tied": 1, "unanimous_present": 1}


def test_a_table_with_a_tied_item_keeps_the_contract() -> None:
    table = labels(made("ordered", {"s0": [0, 0, 2, 2], "s1": [1, 1, 2]})).table
    assert table["value"].to_list() == [None, 1.0]
    assert LABELS.check(table, "here").equals(table)


def test_p910_shrinks_what_it_learns_of_each_rater() -> None:
    votes: dict[str, list[float]] = {"s0": [3, 5, 4, 9], "s1": [6, 8, 7, 2], "s2": [2, 3, 4, 4], "s3": [7, 9, 8, 6]}
    table = labels(made("points", votes), LabelOptions(method="p910")).table
    triples = [f"r{r}" for r in range(4)] * 4, np.repeat(np.arange(4), 4), np.concatenate([*votes.values()])
    shrunken, plain = aggregate.p910(*triples, shrinkage=True), aggregate.p910(*triples)
    assert table["value"].to_list() == pytest.approx(shrunken.values)
    assert np.abs(np.asarray(shrunken.values) - np.asarray(plain.values)).max() > 0.01
