"""Comparisons to the last digit: what is resampled, the correction over pairs, and how many more stimuli are needed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

from heartfelt.scoring.comparison.compare import Entrant, compare, ranks
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.association import metric_difference
from tests.facts import mentions

SOURCE = "the paired t test over stimuli by hand (differences of means have one); Holm's rule by hand"

STIMULI = 12
TRUTH = np.zeros(2 * STIMULI)
_DRAW = np.random.default_rng(7)
LOSSES = {
    name: 2 + np.abs(_DRAW.normal(shift, 0.4, 2 * STIMULI)) for name, shift in (("a", 1.0), ("b", 1.2), ("c", 1.4))
}


def entrants(system: bool = False) -> list[Entrant]:
    """Three models, two questions on each of twelve stimuli, by four systems."""
    table = pl.DataFrame(
        {
            "stimulus": np.repeat([f"s{k}" for k in range(STIMULI)], 2),
            "question": ["one", "two"] * STIMULI,
            "truth": TRUTH,
            "system": np.repeat(["p", "q", "r", "t"], 6) if system else [None] * (2 * STIMULI),
        },
        schema_overrides={"system": pl.String},
    )
    return [
        Entrant(
            model=name,
            rows=table.with_columns(pl.Series("said", y), pl.Series("counted", y)),
            value=float(y.mean()),
            why_unranked=None,
            beyond=1.0,
            p_chance=0.001,
        )
        for name, y in LOSSES.items()
    ]


TASK = ScoringTask(id="task", kind="text", questions=(), headline="mae")


def test_both_answers_to_a_stimulus_are_left_out_together() -> None:
    pair = compare(entrants()[:2], TASK)[0]
    gaps = (LOSSES["a"] - LOSSES["b"]).reshape(STIMULI, 2).mean(axis=1)
    expected = scipy_stats.ttest_1samp(gaps, 0)
    ends = expected.confidence_interval(0.95)
    assert pair.difference.counts["clusters"] == STIMULI
    assert (pair.difference.value, pair.difference.low, pair.difference.high) == pytest.approx(
        (gaps.mean(), ends.low, ends.high)
    )
    assert pair.p.value == pytest.approx(float(expected.pvalue))
    rows = scipy_stats.ttest_rel(LOSSES["a"], LOSSES["b"])
    assert pair.p.value != pytest.approx(float(rows.pvalue), rel=1e-3)


def test_over_systems_whole_systems_are_left_out() -> None:
    pair = compare(entrants(system=True)[:2], TASK)[0]
    gaps = (LOSSES["a"] - LOSSES["b"]).reshape(4, 6).mean(axis=1)
    expected = scipy_stats.ttest_1samp(gaps, 0)
    assert pair.over_systems.difference.counts["clusters"] == 4
    assert pair.over_systems.p.value == pytest.approx(float(expected.pvalue))
    assert pair.difference.counts["clusters"] == STIMULI


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_p_values_are_corrected_by_holm_over_all_pairs(confidence: float) -> None:
    pairs = compare(entrants(), TASK, confidence)
    raw = [float(pair.p) for pair in pairs]
    order = np.argsort(raw)
    adjusted = dict(zip(order.tolist(), np.maximum.accumulate(np.sort(raw) * [3, 2, 1]).tolist(), strict=True))
    for place, pair in enumerate(pairs):
        assert pair.pairs == 3
        assert pair.p_adjusted == pytest.approx(min(adjusted[place], 1.0))
        assert pair.apart == (adjusted[place] <= 1 - confidence)
        assert pair.difference.confidence == confidence
        left = 1 - (1 - confidence) * raw[place] / min(adjusted[place], 1.0)
        assert pair.difference_adjusted.confidence == pytest.approx(left)
        low, high = pair.difference_adjusted.low, pair.difference_adjusted.high
        assert low is not None
        assert high is not None
        assert (low > 0 or high < 0) == pair.apart


def test_one_pair_needs_no_correction() -> None:
    pair = compare(entrants()[:2], TASK)[0]
    assert pair.difference_adjusted == pair.difference
    assert pair.p_adjusted == pair.p.value


def test_more_stimuli_are_those_that_would_show_the_difference_after_the_correction() -> None:
    close = entrants()
    nudge = np.where(np.arange(2 * STIMULI) % 4 < 2, 0.3, -0.25)
    rows = close[0].rows.with_columns(said=pl.col("said") + nudge, counted=pl.col("counted") + nudge)
    twin = Entrant(model="twin", rows=rows, value=1.0, why_unranked=None, beyond=1.0, p_chance=0.001)
    for others, pairs in (([], 1), (close[1:2], 3)):
        pair = next(each for each in compare([close[0], twin, *others], TASK) if each.second == "twin")
        assert not pair.apart
        gaps = (-nudge).reshape(STIMULI, 2).mean(axis=1)
        error = gaps.std(ddof=1) / math.sqrt(STIMULI)
        reach = scipy_stats.norm.ppf(1 - 0.05 / pairs / 2) + scipy_stats.norm.ppf(0.8)
        needed = math.ceil(STIMULI * (reach * error / gaps.mean()) ** 2)
        assert pair.more_stimuli.value == needed - STIMULI
    apart = next(each for each in compare(entrants(), TASK, 0.5) if each.apart)
    assert apart.more_stimuli.value == 0


def test_at_least_one_more_stimulus_is_needed_where_models_are_not_apart() -> None:
    pair = compare(entrants(), TASK, 0.999)[0]
    result = metric_difference("mae", TRUTH, LOSSES["a"], LOSSES["b"], group=np.repeat(np.arange(STIMULI), 2))
    needed = result.needed(alpha=0.001 / 3)
    assert not pair.apart
    assert pair.more_stimuli.value == max(float(needed) - STIMULI, 1)


def test_units_needed_at_another_power_and_alpha() -> None:
    result = metric_difference("mae", TRUTH, LOSSES["a"], LOSSES["b"])
    assert result.standard_error is not None
    for alpha, power in ((0.05, 0.8), (0.01, 0.9)):
        reach = scipy_stats.norm.ppf(1 - alpha / 2) + scipy_stats.norm.ppf(power)
        expected = math.ceil(24 * (reach * result.standard_error / float(result.estimate)) ** 2)
        assert result.needed(alpha, power).value == expected


def test_models_that_may_be_there_by_chance_have_no_rank() -> None:
    models = entrants()
    at_the_edge = [
        Entrant(model=model.model, rows=model.rows, value=model.value, why_unranked=None, beyond=0.1, p_chance=p)
        for model, p in zip(models, (0.05 / 3, 0.025, 0.0501), strict=True)
    ]
    results = {rank.model: rank for rank in ranks(at_the_edge, compare(at_the_edge, TASK), TASK)}
    assert [results[name].beats_chance for name in "abc"] == [True, True, False]
    assert results["a"].p_chance_adjusted == pytest.approx(0.05)
    assert (results["c"].place, results["c"].why_none) == (None, "it does not beat chance")
    behind = [
        Entrant(model=model.model, rows=model.rows, value=model.value, why_unranked=None, beyond=0.0, p_chance=0.001)
        for model in models
    ]
    assert all(rank.place is None for rank in ranks(behind, compare(behind, TASK), TASK))
    unknown = [
        Entrant(model=model.model, rows=model.rows, value=model.value, why_unranked=None, beyond=None, p_chance=None)
        for model in models
    ]
    assert [rank.beats_chance for rank in ranks(unknown, compare(unknown, TASK), TASK)] == [None] * 3


def test_ranks_follow_the_direction_of_the_metric() -> None:
    models = entrants()
    pairs = compare(models, TASK, 0.6)
    assert [rank.model for rank in ranks(models, pairs, TASK, 0.6)] == ["a", "b", "c"]
    apart = {(pair.first, pair.second) for pair in pairs if pair.apart}
    for rank in ranks(models, pairs, TASK, 0.6):
        assert rank.best == 1 + sum(rank.model == second for _, second in apart)
        assert rank.worst == 3 - sum(rank.model == first for first, _ in apart)
    higher = ScoringTask(id="task", kind="text", questions=(), headline="cider")
    assert [rank.model for rank in ranks(models, pairs, higher, 0.6)] == ["c", "b", "a"]


def test_two_systems_are_too_few_to_speak_of_others() -> None:
    two = pl.when(pl.col("system") == "p").then(pl.lit("p")).otherwise(pl.lit("q"))
    models = [
        Entrant(
            model=entrant.model,
            rows=entrant.rows.with_columns(system=two),
            value=entrant.value,
            why_unranked=None,
            beyond=1.0,
            p_chance=0.01,
        )
        for entrant in entrants(system=True)
    ]
    pairs = compare(models, TASK)
    assert mentions(pairs[0].over_systems.p.why_missing, "2 systems", "3")
    rank = ranks(models, pairs, TASK)[0]
    assert mentions(rank.over_systems.why_none, "2 systems", "3")
    assert rank.generalises_to == "other clips of these systems"


def test_places_count_from_one() -> None:
    models = entrants()
    assert [rank.place for rank in ranks(models, compare(models, TASK), TASK)] == [1, 2, 3]


def test_a_model_that_cannot_be_tested_has_no_rank_and_the_reason() -> None:
    rows = entrants()[0].rows
    few = Entrant(
        model="few",
        rows=rows,
        value=1.0,
        why_unranked=None,
        beyond=0.5,
        p_chance=None,
        why_untested="3 items are too few",
    )
    (rank,) = ranks([few], [], TASK)
    assert (rank.place, rank.beats_chance) == (None, None)
    assert mentions(rank.why_none, "chance", "3 items")
    (free,) = ranks([Entrant(model="free", rows=rows, value=1.0)], [], TASK)
    assert free.place == 1


def test_each_rank_has_a_gate_of_its_own() -> None:
    """A model may be ranked for these systems and not for others; the others are ranked without it."""
    # Of errors the lowest is best: a, then b.
    p_values = {"a": (0.001, 0.2), "b": (0.001, 0.001), "c": (0.3, 0.001)}
    models = [
        replace(
            entrant,
            beyond=0.4,
            p_chance=p_values[entrant.model][0],
            p_chance_over_systems=Estimate(value=p_values[entrant.model][1]),
        )
        for entrant in entrants(system=True)
    ]
    results = {rank.model: rank for rank in ranks(models, compare(models, TASK), TASK)}
    assert [results[name].place for name in "abc"] == [1, 2, None]
    assert [results[name].over_systems.beats_chance for name in "ab"] == [False, True]
    assert results["a"].over_systems.best is None
    assert mentions(results["a"].over_systems.why_none, "chance", "systems", "sample")
    assert (results["b"].over_systems.best, results["b"].over_systems.worst) == (1, 1)
    assert results["c"].over_systems.best is None
    too_few = Estimate.missing("4 systems can be rearranged in only 24 ways")
    unknown = [replace(entrant, p_chance_over_systems=too_few) for entrant in models]
    first = ranks(unknown, compare(unknown, TASK), TASK)[0]
    assert (first.place, first.over_systems.best) == (1, None)
    assert mentions(first.over_systems.why_none, "4 systems", "24 ways")
