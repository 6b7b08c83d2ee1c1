"""Where figures change their mind: thresholds, corrections, intervals and guards of the analysis, by hand."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.analysis.consistency.coefficients import share_of
from heartfelt.analysis.consistency.live import LiveSystemMean, MeanVarianceParts, ratings_needed
from heartfelt.analysis.consistency.reliability import one_way_from_means, with_more_raters
from heartfelt.analysis.data.counts import CONFIDENCE, checks
from heartfelt.analysis.data.material import prepare
from heartfelt.analysis.findings.parts import Ceilings, Reliability
from heartfelt.analysis.panel.groups import rater_grouping
from heartfelt.analysis.systems import quadrants as chance_module
from heartfelt.analysis.systems.means import stimulus_scores
from heartfelt.analysis.systems.quadrants import chance_of_hits
from heartfelt.analysis.systems.two_way import (
    NO_WIDTH,
    Changes,
    Error,
    Sampled,
    Stimuli,
    _within,
    difference,
    error_of,
    estimate,
    p_value,
    slope_changes,
)
from heartfelt.analysis.text.highlights import fitness
from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.groups.geometry import ellipse, overlap, overlap_batch, overlap_of
from heartfelt.streams import stream
from heartfelt.study import Question, Study
from heartfelt.study.scales.scale import Numeric
from tests.analysis.made import Row, answers, snapshot, stimuli, study, summary_of
from tests.facts import mentions

SOURCE = "hand calculation; scipy.stats for quantiles of t, F, chi-square and the normal distribution"
QUICK = AnalyzeOptions(resamples=100)


@pytest.fixture(scope="module")
def opinion() -> dict[str, Any]:
    table = stimuli(24, 4)
    rows = answers("opinion", table, raters=8)
    shifted = [(r, s, q, min(v + (int(s[1:]) % 4 == 3) * 2, 5.0)) for r, s, q, v in rows]
    return summary_of(analyze(snapshot("opinion", table, shifted), QUICK))


def test_pairs_are_corrected_by_holm_within_their_family(opinion: dict[str, Any]) -> None:
    for question in ("quality", "alignment"):
        rows = [
            row
            for row in opinion["pairwise"]
            if row["method"] == "two-way jackknife, Holm" and row["outcome"] == question
        ]
        assert [(row["a"], row["b"]) for row in rows] == list(itertools.combinations(["M0", "M1", "M2", "M3"], 2))
        order = sorted(rows, key=lambda row: row["p_alone"])
        highest = 0.0
        for place, row in enumerate(order):
            highest = max(highest, min(1.0, row["p_alone"] * (len(rows) - place)))
            assert row["p"] == pytest.approx(highest)
            assert row["significant"] == (highest < 0.05)
            assert row["difference"] == pytest.approx((row["low"] + row["high"]) / 2)
            assert (row["p_alone"] < 0.05) == (row["low"] > 0 or row["high"] < 0)


def test_ranks_and_ties_follow_the_jackknife(opinion: dict[str, Any]) -> None:
    rows = [row for row in opinion["systems"] if row["question"] == "quality"]
    means = {row["system"]: row["mean"]["value"] for row in rows}
    assert [row["system"] for row in sorted(rows, key=lambda row: row["rank"])] == sorted(
        means, key=lambda name: -means[name]
    )
    same = [
        {pair["a"], pair["b"]}
        for pair in opinion["pairwise"]
        if pair["method"] == "two-way jackknife, Holm" and pair["outcome"] == "quality" and not pair["significant"]
    ]
    assert same
    for row in rows:
        assert row["tied_with"] == sorted(next(iter(pair - {row["system"]})) for pair in same if row["system"] in pair)


def changes(value: float, raters: list[float], stimuli_variance: float = 0.04, ratings: float = 0.01) -> Changes:
    by_rater = np.array(raters)
    return Changes(
        value=value,
        stimuli=Sampled(stimuli_variance, 10.0, 12),
        ratings=Sampled(ratings, 1.0, 60),
        by_rater=by_rater,
        took_part=np.ones(by_rater.size, dtype=np.bool_),
    )


def jackknife(values: list[float]) -> float:
    """(n - 1) / n times the sum of squares about the mean."""
    n = len(values)
    return float((n - 1) / n * ((np.array(values) - np.mean(values)) ** 2).sum())


def test_the_error_of_both_ways_by_hand() -> None:
    moves = [0.3, -0.1, -0.25, 0.05]
    error = error_of(changes(0.6, moves))
    assert isinstance(error, Error)
    raters = jackknife(moves)
    extra = (1 + 4 / 4) * (raters - 0.01)
    assert error.value == pytest.approx(math.sqrt(0.04 + extra))
    below = 0.04**2 / 10 + max(extra, min(raters, 0.04)) ** 2 / 3
    assert error.df == pytest.approx((0.04 + extra) ** 2 / below)
    result = estimate(changes(0.6, moves), "m")
    reach = float(scipy_stats.t.ppf(0.975, error.df)) * error.value
    assert [result.low, result.high] == pytest.approx([0.6 - reach, 0.6 + reach])
    assert result.to_json()["confidence"] == 0.95
    for null, gap in ((0.0, 0.6), (1.0, 0.4)):
        tail = float(scipy_stats.t.sf(gap / error.value, error.df))
        assert p_value(changes(0.6, moves), null) == pytest.approx(2 * tail)
    assert p_value("there are no such stimuli") is None


def test_noise_above_the_raters_variance_counts_as_none() -> None:
    moves = [0.01, -0.01, 0.005, -0.005]
    error = error_of(changes(0.6, moves, ratings=0.5))
    assert isinstance(error, Error)
    assert error.value == pytest.approx(0.2)
    raters = jackknife(moves)
    assert error.df == pytest.approx(0.04**2 / (0.04**2 / 10 + raters**2 / 3))


def test_a_share_has_its_interval_on_the_logit_scale() -> None:
    moves = [0.02, -0.01, -0.03, 0.02]
    error = error_of(changes(0.8, moves, 0.004, 0.0001))
    assert isinstance(error, Error)
    result = estimate(changes(0.8, moves, 0.004, 0.0001), "m", "share")
    reach = float(scipy_stats.t.ppf(0.975, error.df)) * error.value / (0.8 * 0.2)
    for bound, side in ((result.low, -1), (result.high, 1)):
        assert bound == pytest.approx(1 / (1 + math.exp(-(math.log(4) + side * reach))))
    assert result.interval.endswith("logit scale")
    edge = estimate(changes(1.0, moves), "m", "share")
    assert (edge.value, edge.low) == (1.0, None)
    assert "edge of its range" in str(edge.why_no_interval)


@pytest.mark.parametrize(("raters", "named"), [(3, "two-way"), (2, "only 2 raters"), (1, "only 1 rater)")])
def test_three_raters_are_the_fewest(raters: int, named: str) -> None:
    error = error_of(changes(0.6, [0.3, -0.1, -0.2][:raters]))
    assert isinstance(error, Error)
    assert named in error.name
    if raters < 3:
        assert error.value == pytest.approx(0.2)
        assert error.df == 10


def test_one_stimulus_and_no_width_have_no_error() -> None:
    alone = Changes(
        value=1.0,
        stimuli=Sampled(0.0, 1.0, 1),
        ratings=Sampled(0.0, 1.0, 3),
        by_rater=np.zeros(3),
        took_part=np.ones(3, dtype=np.bool_),
    )
    assert "single stimulus" in str(error_of(alone))
    still = Changes(
        value=1.0,
        stimuli=Sampled(0.0, 1.0, 2),
        ratings=Sampled(0.0, 1.0, 6),
        by_rater=np.zeros(3),
        took_part=np.ones(3, dtype=np.bool_),
    )
    assert "without width" in str(error_of(still))


def test_a_difference_adds_variances_and_subtracts_what_raters_share() -> None:
    a, b = changes(0.6, [0.3, -0.1, -0.2]), changes(0.2, [0.1, 0.1, -0.2], 0.09)
    result = difference(a, b)
    assert result.value == pytest.approx(0.4)
    assert result.stimuli.variance == pytest.approx(0.13)
    assert result.stimuli.df == pytest.approx(0.13**2 / (0.04**2 / 10 + 0.09**2 / 10))
    assert (result.stimuli.units, result.ratings.units) == (24, 120)
    assert result.ratings.variance == pytest.approx(0.02)
    assert result.by_rater.tolist() == pytest.approx([0.2, -0.2, 0.0])


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (0.9, 0.8, 0.95, "single stimuli"),
        (0.8999, 0.8, 0.95, "groups of stimuli"),
        (0.7, 0.5, 0.8, "groups of stimuli"),
        (0.6999, 0.5, 0.8, "too unreliable"),
        (0.95, 0.45, 0.95, "single stimuli"),
        (0.95, 0.449, 0.95, "too uncertain"),
        (0.95, None, None, "too uncertain"),
    ],
)
def test_what_labels_are_good_for(value: float, low: float | None, high: float | None, words: str) -> None:
    assert words in fitness(Estimate(value=value, low=low, high=high))


def test_raters_needed_by_hand() -> None:
    single = Estimate(value=0.4, low=0.25, high=0.5, method="single", interval="x")
    gone = Estimate.missing("x")
    bare = Reliability(
        alpha_interval=gone,
        alpha_ordinal=gone,
        alpha_nominal=gone,
        icc1=gone,
        icc1k=gone,
        icc2=gone,
        icc2k=gone,
        icc3=gone,
        icc3k=gone,
        split_half=gone,
        ceiling=Ceilings(correlation=gone),
    )
    result = with_more_raters(bare, single)
    assert result.single_rating == "single"
    assert list(result.reliability_with) == ["1", "3", "5", "10"]
    assert result.reliability_with["5"].value == pytest.approx(5 * 0.4 / (1 + 4 * 0.4))
    assert result.reliability_with["5"].low == pytest.approx(5 * 0.25 / (1 + 4 * 0.25))

    def raters(target: float, rho: float) -> int:
        return math.ceil(target * (1 - rho) / (rho * (1 - target)) - 1e-9)

    for target in (0.7, 0.8, 0.9):
        assert result.raters_needed[f"{target:g}"] == raters(target, 0.4)
        assert list(result.raters_needed_between[f"{target:g}"]) == [raters(target, 0.5), raters(target, 0.25)]


def test_one_way_from_means_by_hand() -> None:
    mean, sd, n = [2.0, 3.5, 5.0, 4.0], [1.0, 0.8, 1.2, 0.9], [5, 5, 5, 5]
    result = one_way_from_means(pl.Series(mean), pl.Series(sd), pl.Series(n))
    within = np.mean(np.square(sd))
    f = 5 * np.var(mean, ddof=1) / within
    low, high = (float(f / scipy_stats.f.ppf(q, 3, 16)) for q in (0.975, 0.025))
    for ratio, single, several in (
        (f, result.icc1.value, result.icc1k.value),
        (low, result.icc1.low, result.icc1k.low),
        (high, result.icc1.high, result.icc1k.high),
    ):
        assert single == pytest.approx((ratio - 1) / (ratio + 4))
        assert several == pytest.approx((ratio - 1) / ratio)
    assert result.icc1.interval == "F"
    assert result.icc1.counts == {"items": 4, "ratings": 20}
    uneven = one_way_from_means(pl.Series(mean), pl.Series(sd), pl.Series([5, 5, 4, 6]))
    assert uneven.icc1.interval == "F with n0 for unequal counts"
    lone = one_way_from_means(pl.Series([1.0, 2.0]), pl.Series([1.0, 1.0]), pl.Series([1, 5]))
    assert "fewer than two items" in str(lone.icc1.why_missing)
    flat = one_way_from_means(pl.Series(mean), pl.Series([0.0] * 4), pl.Series(n))
    assert "all zero" in str(flat.icc1k.why_missing)


class TestChance:
    INTENDED, PERCEIVED = ["a", "a", "b", "c", "b"], ["a", "b", "b", None, "a"]

    def hits(self, order: tuple[int, ...]) -> int:
        return sum(self.INTENDED[k] == seen for k, seen in zip(order, self.PERCEIVED, strict=True))

    def test_share_and_variance_are_those_of_all_deals(self) -> None:
        every = [self.hits(order) for order in itertools.permutations(range(5))]
        result = chance_of_hits(self.INTENDED, self.PERCEIVED, ["x"] * 5, 0)
        assert result is not None
        assert result.share == pytest.approx(np.mean(every) / 5)
        a, b = np.array([0, 0, 1, 2, 1]), np.array([0, 1, 1, -1, 0])
        mean, variance = chance_module._moments(a, b, np.zeros(5, np.int64), 3)
        assert [mean, variance] == pytest.approx([float(np.mean(every)), float(np.var(every))])

    def test_the_p_value_is_close_to_that_of_all_deals_and_counts_ties(self) -> None:
        every = [self.hits(order) >= 2 for order in itertools.permutations(range(5))]
        result = chance_of_hits(self.INTENDED, self.PERCEIVED, ["x"] * 5, 0)
        assert result is not None
        assert result.p == pytest.approx(np.mean(every), abs=0.035)
        assert result.p is not None
        assert round(result.p * 2000) == pytest.approx(result.p * 2000)

    @pytest.mark.slow
    def test_many_stimuli_get_the_normal_distribution(self) -> None:
        for size, normal in ((2000, False), (2001, True)):
            intended = ["a", "b"] * 1001
            perceived = ["a", "b", "b", "a"] * 501
            result = chance_of_hits(intended[:size], perceived[:size], ["x"] * size, 0)
            assert result is not None
            assert result.method.endswith("normal") == normal
        assert result is not None
        hits = sum(a == b for a, b in zip(intended[:2001], perceived[:2001], strict=True))
        a, b = (np.array([["a", "b"].index(n) for n in names[:2001]]) for names in (intended, perceived))
        mean, variance = chance_module._moments(a, b, np.zeros(2001, np.int64), 2)
        assert result.p == pytest.approx(scipy_stats.norm.sf((hits - 0.5 - mean) / math.sqrt(variance)))


def test_a_share_has_wilsons_bounds() -> None:
    estimate_of_share = share_of(pl.Series([True] * 7 + [False] * 3 + [None]), "m")
    result = estimate_of_share.to_json()
    want = scipy_stats.binomtest(7, 10).proportion_ci(0.95, method="wilson")
    assert (result["value"], result["n_items"]) == (0.7, 10)
    assert (result["low"], result["high"]) == (pytest.approx(want.low), pytest.approx(want.high))
    assert result["confidence"] == 0.95


@pytest.mark.slow
def test_ellipses_hold_95_percent_and_overlaps_the_middle_95_percent() -> None:
    for confidence in (0.5, 0.95):
        square = np.array([[1.0, 0.0, 1.0]])
        radius = scipy_stats.chi2.ppf(confidence, 2) ** 0.5
        centres = np.zeros((1, 2)), np.array([[radius, 0.0]])
        exact = 2 * np.pi / 3 - 3**0.5 / 2
        shared = overlap_batch(centres[0], square, centres[1], square, confidence=confidence)[0]
        assert shared == pytest.approx(exact / (2 * np.pi - exact), abs=1e-3)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 12)), rng.normal(size=(2, 9)) + 0.5
    result = overlap((a[0], a[1]), (b[0], b[1]), resamples=200)
    assert result.counts == {"first_points": 12, "second_points": 9, "resamples": 200}
    drawn = stream(0, "analysis", "overlap")
    first, second = (cloud.T[drawn.integers(0, n, (200, n))] for cloud, n in ((a, 12), (b, 9)))
    every = [
        overlap_of(ellipse(x[:, 0], x[:, 1]), ellipse(y[:, 0], y[:, 1])) for x, y in zip(first, second, strict=True)
    ]
    assert result.value == pytest.approx(overlap_of(ellipse(*a), ellipse(*b)))
    assert [result.low, result.high] == pytest.approx(np.quantile(every, [0.025, 0.975]).tolist(), abs=3e-3)


class TestChecks:
    @pytest.mark.parametrize(("answered", "constant"), [(5, ["flat"]), (4, [])])
    def test_five_equal_answers_make_a_constant_rater(self, answered: int, constant: list[str]) -> None:
        table = stimuli(8)
        rows: list[Row] = [(f"r{r}", f"s{i}", "match", float((i + r) % 2)) for r in range(3) for i in range(8)]
        rows += [("flat", f"s{i}", "match", 1.0) for i in range(answered)]
        result = checks(prepare(snapshot("yes-no", table, rows)))
        assert list(result.constant_raters) == constant
        assert result.raters_judged == 3 + len(constant)

    def test_a_rater_who_varies_under_one_question_is_not_constant(self) -> None:
        table = stimuli(8)
        rows = answers("opinion", table, raters=3, chance=1)
        rows += [("half", f"s{i}", "quality", 3.0) for i in range(8)]
        rows += [("half", f"s{i}", "alignment", float(1 + i % 5)) for i in range(8)]
        assert checks(prepare(snapshot("opinion", table, rows))).constant_raters == ()

    @pytest.mark.slow
    def test_counts_are_tested_at_one_percent_after_holm(self) -> None:
        table = stimuli(24)
        made = analyze(snapshot("opinion", table, answers("opinion", table)), QUICK)
        result = summary_of(made)["checks"]["ratings_per_item"]
        tests = [result[name][kind] for name in result for kind in ("answers", "disagreement")]
        known = sorted((t for t in tests if t["p"] is not None), key=lambda t: t["p"])
        assert len(known) == 2
        highest = 0.0
        for place, test in enumerate(known):
            highest = max(highest, min(1.0, test["p"] * (2 - place)))
            assert test["p_corrected"] == pytest.approx(highest)

    def test_one_in_a_hundred_is_where_counts_speak_up(self) -> None:
        assert CONFIDENCE == 0.99


class TestGroups:
    def people(self, values: list[Any]) -> Snapshot:
        n = len(values)
        table = stimuli(6)
        rows: list[Row] = [(f"r{r}", f"s{i}", "quality", float(1 + (i + r) % 5)) for r in range(n) for i in range(6)]
        raters_table = pl.DataFrame({"rater": [f"r{r}" for r in range(n)], "fact": values})
        base = snapshot("opinion", table, rows)
        return Snapshot.build(base.study, stimuli=table, ratings=base.ratings, raters=raters_table)

    def test_six_numbers_are_groups_and_seven_are_cut_at_tertiles(self) -> None:
        six = rater_grouping(self.people([float(k % 6) for k in range(12)]), "fact")
        assert six.names == ("0", "1", "2", "3", "4", "5")
        assert six.cuts == ()
        values = [float(k) for k in range(1, 8)]
        seven = rater_grouping(self.people(values), "fact")
        assert seven.cuts == pytest.approx(tuple(np.quantile(values, [1 / 3, 2 / 3])))
        assert seven.names == ("up to 3", "over 3 to 5", "over 5")
        assert seven.of_rater["r2"] == "up to 3"
        assert seven.of_rater["r4"] == "over 3 to 5"

    def test_at_most_twelve_groups(self) -> None:
        assert len(rater_grouping(self.people([f"g{k:02d}" for k in range(12)]), "fact").names) == 12
        with pytest.raises(InputError, match="too many groups"):
            rater_grouping(self.people([f"g{k:02d}" for k in range(13)]), "fact")

    @pytest.mark.slow
    def test_a_group_needs_three_raters(self) -> None:
        values = ["a"] * 3 + ["b"] * 2 + [None]
        options = AnalyzeOptions(resamples=100, by="fact")
        result = summary_of(analyze(self.people(values), options))["by"]
        rows = {row["group"]: row for row in result["rows"] if row["question"] == "quality"}
        assert rows["a"]["mean"]["value"] is not None
        assert rows["b"]["mean"]["value"] is None
        assert mentions(rows["b"]["why_missing"], "2 raters", "3")
        assert (rows["b"]["n_raters"], result["not_stated"]) == (2, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("values", "binned"), [(101, False), (102, True)])
def test_long_scales_are_shown_in_twenty_bins(values: int, binned: bool) -> None:
    asked = Study(name="x", scales={"s": Numeric(type="numeric")}, questions=[Question(id="q", text="q", scale="s")])
    table = pl.DataFrame({"stimulus": [f"s{i}" for i in range(values)]})
    ratings = pl.DataFrame(
        {
            "rater": ["r"] * values,
            "stimulus": table["stimulus"],
            "question": ["q"] * values,
            "value": [float(i) for i in range(values)],
        }
    )
    (row,) = summary_of(analyze(Snapshot.build(asked, stimuli=table, ratings=ratings), QUICK))["distributions"]
    assert (row["bins"] is not None) == binned
    if binned:
        assert row["bins"] == pytest.approx(np.linspace(0, 101, 21).tolist())
        assert [answer["value"] for answer in row["answers"]] == pytest.approx(row["bins"][:-1])
        assert sum(answer["n"] for answer in row["answers"]) == values
        assert row["answers"][-1]["n"] == 6


@pytest.mark.parametrize(("stimuli_rated", "crossed"), [(8, True), (7, False)])
def test_eight_stimuli_are_the_fewest_to_split_in_halves(stimuli_rated: int, crossed: bool) -> None:
    from heartfelt.analysis.panel.sensitivity import _halves

    table = stimuli(stimuli_rated)
    rows = answers("opinion", table, chance=1)
    halves = _halves(snapshot("opinion", table, rows), 0)
    assert (halves is not None) == crossed
    if halves is not None:
        assert [half.stimuli.height for half in halves] == [4, 4]
        assert not set(halves[0].stimuli["stimulus"]) & set(halves[1].stimuli["stimulus"])


def test_the_noise_of_a_mean_is_the_pooled_variance_over_its_count() -> None:
    table = stimuli(3, 1)
    votes = {"s0": [2.0, 4.0, 6.0], "s1": [5.0, 6.0], "s2": [7.0]}
    rows: list[Row] = [
        (f"r{k}", s, q, v) for s, vs in votes.items() for k, v in enumerate(vs) for q in ("valence", "arousal")
    ]
    result = stimulus_scores(prepare(snapshot("conveyance", table, rows)).questions[0])
    within = (8.0 + 0.5) / 3
    assert result.noise.tolist() == pytest.approx([within / 3, within / 2, within])


@pytest.mark.slow
def test_slopes_by_hand() -> None:
    table = stimuli(16, 2)
    summary = summary_of(analyze(snapshot("conveyance", table, answers("conveyance", table)), QUICK))
    row = next(row for row in summary["slopes"] if row["system"] == "all" and row["question"] == "valence")
    slope, intercept = row["slope"], row["intercept"]["value"]
    assert row["neutral"] == pytest.approx(intercept / (1 - slope["value"]))
    intents = {intent.id: intent.reference["valence"] for intent in study("conveyance").intents}
    made = prepare(snapshot("conveyance", table, answers("conveyance", table))).questions[0].items
    x = [intents[name] for name in made["intent"]]
    want = scipy_stats.linregress(x, made["mean"].to_list())
    assert (slope["value"], intercept) == (pytest.approx(want.slope), pytest.approx(want.intercept))
    # Both tests are Student's t with the error the interval has; the degrees of freedom are found from the interval and one p.
    half = (slope["high"] - slope["low"]) / 2
    from scipy.optimize import brentq

    def p_of(df: float, at: float) -> float:
        error = half / scipy_stats.t.ppf(0.975, df)
        return float(2 * scipy_stats.t.sf(abs(slope["value"] - at) / error, df))

    df = brentq(lambda df: p_of(df, 0.0) - row["p_no_relation"], 1.0, 1e4)
    assert row["p_no_shrinkage"] == pytest.approx(p_of(df, 1.0), rel=1e-6)


class TestRatingsStillNeeded:
    ROW = LiveSystemMean(
        question="q",
        system="s",
        mean=Estimate(value=5.0, low=4.0, high=6.0),
        stimuli=20,
        ratings=100,
        bounds=None,
        parts=MeanVarianceParts(fixed=0.05, shrinking=0.2, t=2.0),
    )

    def test_by_hand(self) -> None:
        result = ratings_needed(self.ROW, 0.6)
        assert result.value == math.ceil(100 * (0.2 / (0.3**2 - 0.05) - 1))
        assert ratings_needed(self.ROW, 1.0).value == 0
        assert ratings_needed(self.ROW, 0.9999).value == 1
        assert ratings_needed(self.ROW, 0.95).value == math.ceil(100 * (0.2 / (0.475**2 - 0.05) - 1))

    def test_stimuli_set_a_floor(self) -> None:
        result = ratings_needed(self.ROW, 0.4)
        assert result.value is None
        assert f"±{2 * math.sqrt(0.05):.2f}" in str(result.why_missing)
        assert f"at least {math.ceil(20 * 0.05 / 0.2**2) + 1} stimuli" in str(result.why_missing)


def test_fewer_than_a_hundred_resamples_are_refused() -> None:
    assert AnalyzeOptions(resamples=100).resamples == 100
    with pytest.raises(InputError, match="99 resamples"):
        AnalyzeOptions(resamples=99)


@pytest.mark.parametrize(("share", "bounded"), [(0.005, True), (0.995, True), (0.0, False), (1.0, False)])
def test_shares_near_the_edge_of_their_range_have_an_interval(share: float, bounded: bool) -> None:
    result = estimate(changes(share, [0.002, -0.001, -0.003, 0.002], 1e-5, 1e-6), "m", "share")
    assert (result.low is not None) is bounded


@pytest.mark.parametrize(("stimuli_rated", "units"), [(1, 1), (2, 14)])
def test_a_difference_needs_two_stimuli_on_both_sides(stimuli_rated: int, units: int) -> None:
    many, moves = changes(0.6, [0.3, -0.1, -0.2]), np.array([0.1, 0.1, -0.2])
    few = Changes(
        value=0.2,
        stimuli=Sampled(0.04, 1.0, stimuli_rated),
        ratings=Sampled(0.01, 1.0, 6),
        by_rater=moves,
        took_part=np.ones(3, dtype=np.bool_),
    )
    assert difference(many, few).stimuli.units == difference(few, many).stimuli.units == units


def test_a_difference_names_why_either_side_knows_stimuli_only() -> None:
    both_ways = changes(0.6, [0.3, -0.1, -0.2])
    stimuli_only = replace(both_ways, why_items_only="only 2 raters")
    for first, second in ((stimuli_only, both_ways), (both_ways, stimuli_only)):
        assert difference(first, second).why_items_only == "only 2 raters"
    assert difference(both_ways, both_ways).why_items_only == ""


@pytest.mark.parametrize("variance", [math.inf, math.nan])
def test_a_variance_that_is_no_number_gives_no_error(variance: float) -> None:
    assert error_of(changes(0.6, [0.3, -0.1, -0.2], variance)) == NO_WIDTH


@pytest.mark.parametrize(("step", "varies"), [(1e-4, False), (1e-2, True)])
def test_a_coordinate_varies_by_more_than_rounding_at_its_size(step: float, varies: bool) -> None:
    none, count = np.zeros(0, np.int64), 3
    mean = np.array([[1.0], [2.0], [4.0]])
    data = Stimuli(
        names=["a", "b", "c"],
        mean=mean,
        n=np.ones_like(mean),
        rater=none,
        stimulus=none,
        value=np.zeros((0, 1)),
        raters=0,
        cell=np.ones(3, int),
    )
    x = np.array([1e6 + step * k for k in range(count)])
    result = slope_changes(data, np.ones(count, np.bool_), x)
    assert (result != "the intended coordinate does not vary") is varies


def test_the_only_stimulus_of_its_cell_joins_the_first_cell() -> None:
    values = np.array([1.0, 2.0, 7.0, 7.0, 9.0])
    result = _within(values, np.ones(5), np.array([0, 0, 1, 1, 2]))
    joined, other = 3 * np.var([1.0, 2.0, 9.0], ddof=1), 2 * np.var([7.0, 7.0], ddof=1)
    assert result.variance == pytest.approx(joined + other)
    alone = _within(values[:3], np.ones(3), np.arange(3))
    assert alone.variance == pytest.approx(3 * np.var(values[:3], ddof=1))
    assert _within(values[:1], np.ones(1), np.zeros(1, np.int64)) == Sampled(0.0, 1.0, 1)


def test_published_means_that_are_equal_or_have_one_spread_refuse_with_a_reason() -> None:
    equal = one_way_from_means(pl.Series([3.0, 3.0]), pl.Series([1.0, 1.0]), pl.Series([4, 4]))
    assert equal.icc1k.why_missing == "the means are all equal"
    lone = one_way_from_means(pl.Series([1.0, 3, 2, 4, 5]), pl.Series([1.0, 0, 0, 0, 0]), pl.Series([4] * 5))
    assert (lone.ceiling.low, lone.rmse.low) == (None, None)
    assert lone.icc1k.value is not None
