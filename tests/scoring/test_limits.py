"""Limits, guards and fallbacks of scoring, each at its boundary."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

from heartfelt.errors import InputError
from heartfelt.scoring import ItemSelection, ScoreOptions, score
from heartfelt.scoring.comparison.compare import Entrant, compare
from heartfelt.scoring.ground_truth.truth import NO_RATINGS, Truth, tasks_of, truth_of
from heartfelt.scoring.measurement import ceilings as ceilings_module
from heartfelt.scoring.measurement.ceilings import ceiling_of
from heartfelt.scoring.measurement.measure import (
    WITHIN,
    Forms,
    LabelsAndPredictions,
    MetricMeasurer,
    from_chance,
    of_ceiling,
    plainly,
)
from heartfelt.scoring.measurement.sheet import PredictionSheet
from heartfelt.scoring.results.metrics import chance_of, converted
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.scoring.scorer import columns_of
from heartfelt.scoring.tasks.binary import _worst, best_threshold, held_out
from heartfelt.scoring.tasks.numbers import crps_normal, interval_score
from heartfelt.stats.ceilings.noise_ceiling import Ceiling
from heartfelt.stats.estimate import Estimate
from tests.facts import mentions
from tests.scoring import made

SOURCE = "the definitions, by hand"


def test_a_threshold_needs_two_stimuli_per_fold() -> None:
    label, score_ = np.tile([0.0, 1.0], 5), np.arange(10.0)
    assert held_out(label, score_, np.arange(10), 5, 0).why_none is None
    assert mentions(held_out(label[:9], score_[:9], np.arange(9), 5, 0).why_none, "9 stimuli", "5 folds")


def test_the_best_threshold_is_the_middle_of_the_longest_best_stretch() -> None:
    assert best_threshold(np.array([0.0, 0, 1, 1]), np.array([1.0, 2, 5, 6])) == 3.5
    assert best_threshold(np.array([1.0, 1]), np.array([1.0, 2])) is None
    assert best_threshold(np.array([0.0, 0]), np.array([1.0, 2])) is None
    # Where yes goes with low scores, calling all yes is as good as any: half the range below the lowest.
    assert best_threshold(np.array([1.0, 0]), np.array([1.0, 5])) == 0.0


@pytest.mark.slow
def test_a_score_at_the_threshold_is_a_no() -> None:
    snapshot, chance = made.chances(stimuli=20)
    rows = [{"stimulus": name, "question": "match", "score": 0.5} for name in chance]
    made_scores = score(snapshot, made.predictions("m", rows), ScoreOptions(threshold=0.5, ceilings=False))
    recall = made_scores.find("match", "m", "recall", at="threshold 0.5")
    assert recall is not None
    assert recall.estimate.value == 0.0


def test_failures_score_worse_than_anything_seen() -> None:
    order, x = np.array([0.2, 0.7, np.nan]), np.array([1.0, 0.0, 1.0])
    assert _worst(order, x).tolist() == [-0.8, 1.7, -0.8]


@pytest.mark.parametrize(
    ("given", "field"),
    [({"folds": 1}, "folds"), ({"resamples": 99}, "resamples"), ({"ties": "first"}, "ties"),
     ({"interval_confidence": 1.0}, "confidence"), ({"claimed": {"m": 0.0}}, "confidence of predicted intervals of m")],
)  # fmt: skip
def test_options_are_refused_outside_their_range(given: dict[str, object], field: str) -> None:
    with pytest.raises(InputError, match=field):
        ScoreOptions(**given)  # type: ignore[arg-type]  # wrong on purpose


def test_options_at_their_limits() -> None:
    assert ScoreOptions(folds=2, resamples=100).folds == 2
    assert ItemSelection(limit=1, full_coverage=1).limit == 1
    with pytest.raises(InputError):
        ItemSelection(limit=-1)
    with pytest.raises(InputError):
        ItemSelection(full_coverage=-1)


def test_full_coverage_takes_exactly_that_many_raters() -> None:
    items = pl.DataFrame(
        {"stimulus": ["a", "b", "c"], "question": "q", "n": [2, 3, None]}, schema_overrides={"n": pl.Int64}
    )
    retained, ledger = ItemSelection(full_coverage=3).apply(items)
    assert retained["stimulus"].to_list() == ["b"]
    assert ledger["reason"].to_list() == ["2 of 3 raters", "0 of 3 raters"]


def test_slices_have_two_to_sixty_values() -> None:
    snapshot, _ = made.numbers(per_cell=3)
    truth = truth_of(snapshot)
    names = [f"v{k % 60}" for k in range(truth.items.height)]
    more = [f"v{k % 61}" for k in range(truth.items.height)]
    items = truth.items.with_columns(sixty=pl.Series(names), more=pl.Series(more), single=pl.lit("x"))
    alone = items.with_columns(own=pl.col("stimulus")).head(50)
    own = replace(truth, items=alone, facts=("own", "single"))
    task = tasks_of(truth.study, ["valence"])[0][0]
    assert columns_of(own, task, None) == []
    assert columns_of(own, task, ["own", "single"]) == ["own"]
    two = replace(truth, items=alone.with_columns(half=pl.Series(["a", "b"] * 25)), facts=("half",))
    assert columns_of(two, task, ["half"]) == columns_of(two, task, None)[-1:] == ["half"]
    wide = replace(truth, items=items, facts=(*truth.facts, "sixty", "more", "single"))
    task = tasks_of(truth.study, ["valence"])[0][0]
    columns = columns_of(wide, task, None)
    assert "sixty" in columns
    assert "more" not in columns
    assert "single" not in columns


def test_the_interval_score_by_hand() -> None:
    x, low, high = np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.5, 0.5]), np.array([1.5, 1.5, 1.5])
    assert interval_score(x, low, high, 0.9) == pytest.approx([1 + 20 * 0.5, 1, 1 + 20 * 0.5])


def test_crps_is_the_absolute_error_without_spread() -> None:
    assert crps_normal(np.array([1.0]), np.array([3.0]), np.array([0.0])) == pytest.approx([2.0])
    z = 0.7
    by_hand = 2 * (z * (2 * scipy_stats.norm.cdf(z) - 1) + 2 * scipy_stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    assert crps_normal(np.array([1.4]), np.array([0.0]), np.array([2.0])) == pytest.approx([by_hand])


def test_a_ceiling_no_better_than_chance_gives_no_share() -> None:
    chance, beyond = Estimate(value=0.5), Estimate(value=0.1, low=0.05, high=0.15)
    for top in (0.5, 0.4):
        result = of_ceiling(
            "accuracy", Estimate(value=0.6), Estimate(value=top, low=top - 0.1, high=top + 0.1), chance, beyond
        )
        assert mentions(result.why_missing, "ceiling", "chance")
    share = of_ceiling("accuracy", Estimate(value=0.6), Estimate(value=0.7, low=0.65, high=0.75), chance, beyond)
    assert share.value == pytest.approx(0.5)
    error = of_ceiling("rmse", Estimate(value=0.4), Estimate(value=0.3, low=0.25, high=0.35), chance, beyond)
    assert error.value == pytest.approx(0.1 / 0.2)


def test_ceilings_of_other_metrics_follow_from_the_correlation() -> None:
    base = Estimate(value=0.8, low=0.6, high=0.9)
    ccc, tau = converted("ccc", base), converted("kendall", base)
    assert (ccc.value, ccc.low, ccc.high) == pytest.approx((1.28 / 1.64, 0.72 / 1.36, 1.62 / 1.81))
    assert tau.value == pytest.approx(2 / np.pi * np.arcsin(0.8))
    assert converted("mse", base).value == pytest.approx(0.64)
    assert converted("rmse", base).value == 0.8


def test_one_more_stimulus_where_hardly_any_are_missing() -> None:
    gaps = np.array([1.0, 0.6, 1.4, 0.2, 1.8])
    rows = pl.DataFrame({"stimulus": list("abcde"), "question": "q", "truth": 0.0, "said": gaps + 3})
    other = rows.with_columns(said=pl.lit(3.0))
    task = ScoringTask(id="t", kind="text", questions=(), headline="mae")
    models = [Entrant(model="m", rows=rows, value=1.0), Entrant(model="o", rows=other, value=1.0)]
    pair = compare(models, task, 0.999)[0]
    needed = 5 * ((scipy_stats.norm.ppf(1 - 0.0005) + scipy_stats.norm.ppf(0.8)) * gaps.std(ddof=1) / 5**0.5) ** 2
    assert pair.more_stimuli.value == max(np.ceil(needed) - 5, 1)
    far = Entrant(model="far", rows=rows.with_columns(said=pl.col("said") + 0.6), value=1.0)
    sure = compare([far, Entrant(model="o", rows=other, value=1.0)], task, 0.9985)[0]
    assert not sure.apart
    assert sure.more_stimuli.value == 1


@pytest.mark.slow
def test_intervals_of_predictors_are_scored_at_the_confidence_they_claim() -> None:
    snapshot, truth = made.numbers(per_cell=2)
    rows = [
        {"stimulus": name, "question": "valence", "value": v, "low": v - 1, "high": v + 1} for name, v in truth.items()
    ]
    results = []
    for claim in (0.8, 0.9):
        options = ScoreOptions(ceilings=False, slices=(), claimed={"m": claim})
        result = score(snapshot, made.predictions("m", rows), options).find("valence", "m", "interval_score")
        assert result is not None
        results.append(result)
    outside = [float(each.estimate) - 2.0 for each in results]
    assert outside[1] == pytest.approx(2 * outside[0])
    assert float(results[0].chance) != pytest.approx(float(results[1].chance))


def test_reasons_are_put_in_terms_of_labels_and_predictions() -> None:
    assert plainly("the first column does not vary") == "the labels do not vary"
    assert plainly("some other reason") == "some other reason"
    assert plainly(None) == "no reason given"


@pytest.mark.parametrize("metric", ["pearson", "spearman", "kendall", "ccc", "quadratic_kappa"])
def test_the_chance_level_of_a_correlation_is_zero(metric: str) -> None:
    level = chance_of(metric, np.array([1.0, 2.0, 4.0])).estimate(metric)
    assert level.value == 0.0
    assert level.method == f"chance level of {metric}: a prediction that says nothing about the item"
    assert mentions(level.why_no_interval, "labels", "scored")


def test_questions_and_models_without_predictions_are_noted() -> None:
    snapshot, truth = made.presence(stimuli=20)
    joy = [{"stimulus": s, "question": q, "score": v / 2} for (s, q), v in truth.items() if q == "joy"]
    result = score(snapshot, made.predictions("m", joy), ScoreOptions(ceilings=False, slices=()))
    assert [task.id for task in result.tasks] == ["presence"]
    assert mentions(result.notes, "model", "'presence (degree)'")
    assert "No model predicts 'presence'." not in result.notes


@pytest.mark.parametrize(("lowest", "probable"), [(0.0, True), (-0.001, False)])
def test_scores_from_zero_to_one_are_probabilities(lowest: float, probable: bool) -> None:
    snapshot, chance = made.chances(stimuli=20)
    rows = [{"stimulus": name, "question": "match", "score": p} for name, p in chance.items()]
    rows[0]["score"] = lowest
    result = score(snapshot, made.predictions("m", rows), ScoreOptions(ceilings=False, slices=()))
    brier = result.find("match", "m", "brier")
    assert brier is not None
    assert brier.estimate.is_missing is not probable


@pytest.mark.slow
def test_the_smallest_differences_within_cells_count() -> None:
    snapshot, truth = made.numbers(per_cell=3)
    options = ScoreOptions(ceilings=False, slices=())
    cells = {name: float(place // 3 % 7) for place, name in enumerate(truth)}
    for step, known in ((0.0, False), (0.001, True)):
        rows = [
            {"stimulus": name, "question": "valence", "value": cells[name] + step * (place % 3)}
            for place, name in enumerate(truth)
        ]
        within = score(snapshot, made.predictions("m", rows), options).find("valence", "m", "pearson", WITHIN)
        assert within is not None
        assert within.estimate.is_missing is not known


def test_answered_items_are_scored_by_whole_stimuli() -> None:
    snapshot, truth = made.presence(stimuli=12)
    rows = [{"stimulus": s, "question": q, "answer": ("no", "weak", "strong")[int(v)]} for (s, q), v in truth.items()]
    rows[0] = {"stimulus": rows[0]["stimulus"], "question": rows[0]["question"], "problem": "no answer"}
    result = score(snapshot, made.predictions("m", rows), ScoreOptions(ceilings=False, slices=()))
    accuracy = result.find("presence", "m", "accuracy")
    assert accuracy is not None
    assert accuracy.estimate.counts["pairs"] == accuracy.with_failures.counts["pairs"] - 1
    assert float(accuracy.estimate) > float(accuracy.with_failures)


def forms_of(system: list[int], answered: list[bool]) -> Forms:
    """The mean absolute error of eight rows, two a stimulus, in every form."""
    sheet = SimpleNamespace(system=np.array(system), stimulus=np.repeat(np.arange(4), 2), answered=np.array(answered))
    x, y = np.zeros(8), np.array([1.0, 1.5, 2.0, 2.0, 4.0, 3.5, 1.0, 3.0])
    measure = MetricMeasurer(options=ScoreOptions(), truth=cast(Truth, None))
    return measure._forms(cast(PredictionSheet, sheet), LabelsAndPredictions(metric="mae", x=x, y=y, filled=y))


def test_rows_of_unknown_systems_are_not_a_system_of_their_own() -> None:
    every = [True] * 8
    assert forms_of([0, 0, 1, 1, 2, 2, 2, 2], every).over_systems.counts["clusters"] == 3
    partly = forms_of([0, 0, 1, 1, 2, 2, -1, -1], every).over_systems
    assert partly.counts["clusters"] == 3
    assert partly.value == pytest.approx(14 / 6)
    too_few = "2 systems; at least 3 are needed to generalise to other systems"
    assert forms_of([0, 0, 0, 0, 1, 1, 1, 1], every).over_systems.why_missing == too_few


def test_answers_to_one_stimulus_stay_together_where_some_are_missing() -> None:
    result = forms_of([-1] * 8, [True] * 7 + [False])
    assert result.over_systems.why_missing == "no systems"
    assert result.answered.counts["clusters"] == result.with_failures.counts["clusters"] == 4
    assert result.answered.value == pytest.approx(15 / 7)


def test_a_score_within_cells_has_the_ceiling_within_cells() -> None:
    gone = Estimate.missing("not needed here")
    known = Ceiling(
        metric="correlation",
        overall=Estimate(value=0.9),
        within_cells=Estimate(value=0.6),
        cell_means=gone,
        cell_means_in_sample=gone,
        human=gone,
    )
    task = ScoringTask(id="t", kind="numbers", questions=(), headline="pearson")
    measure = MetricMeasurer(options=ScoreOptions(), truth=cast(Truth, None), _ceilings={("t", "correlation"): known})
    assert measure.ceiling(task, "pearson").value == 0.9
    assert measure.ceiling(task, "pearson", WITHIN).value == 0.6
    assert measure.ceiling(task, "spearman").value == 0.9
    assert measure.ceiling(task, "spearman", WITHIN).is_missing


def test_labels_by_dawid_and_skene_have_no_ceiling() -> None:
    truth = truth_of(made.feelings(stimuli=6))
    task = next(task for task in tasks_of(truth.study, ["feeling"])[0] if task.kind == "categories")
    modelled = replace(truth, items=truth.items.with_columns(method=pl.lit("Dawid-Skene")))
    why = "no ceiling of labels made by Dawid-Skene is known"
    assert ceiling_of(task, "accuracy", modelled, ScoreOptions()) == why
    unrated = replace(truth, answers=truth.answers.clear())
    assert ceiling_of(task, "accuracy", unrated, ScoreOptions()) == NO_RATINGS


def test_cells_are_for_ceilings_of_correlations_in_several_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[pl.Series | None] = []
    monkeypatch.setattr(ceilings_module, "ceiling", lambda *_, cell, **__: given.append(cell))
    truth = truth_of(made.numbers(per_cell=1)[0])
    task = tasks_of(truth.study, ["valence"])[0][0]
    same = truth.items.with_columns(system=pl.lit("S"), intent=pl.lit("glad"))
    for base, items in (("correlation", truth.items), ("rmse", truth.items), ("correlation", same)):
        ceiling_of(task, base, replace(truth, items=items), ScoreOptions())
    cells, *others = given
    assert cells is not None
    assert cells.n_unique() == 8 * 3
    assert others == [None, None]


def test_the_bounds_of_a_distancefrom_chance_are_in_order() -> None:
    score_, level = Estimate(value=0.75, low=0.625, high=1.0), 0.5
    above = from_chance(score_, level, 1, "accuracy")
    assert (above.value, above.low, above.high) == (0.25, 0.125, 0.5)
    below = from_chance(score_, level, -1, "rmse")
    assert (below.value, below.low, below.high) == (-0.25, -0.5, -0.125)


@pytest.mark.parametrize("score_", [Estimate(value=0.5), Estimate.missing("the labels do not vary")])
def test_without_a_chance_level_the_reason_is_given(score_: Estimate) -> None:
    nothing = np.zeros(0)
    measure = MetricMeasurer(options=ScoreOptions(), truth=cast(Truth, None))
    pairing = LabelsAndPredictions(metric="accuracy", x=nothing, y=nothing, filled=nothing)
    forms = Forms(score_, score_, score_)
    level, beyond, (p, over) = measure._above_chance(cast(PredictionSheet, None), pairing, forms, None)
    why = score_.why_missing or "there are no labels"
    assert level.why_missing == "there are no labels"
    assert beyond.why_missing == p.why_missing == over.why_missing == why


@pytest.mark.parametrize("method", ["majority", "Dawid-Skene"])
def test_yes_or_no_has_a_ceiling_however_its_categories_are_labelled(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    given: list[list[float]] = []
    monkeypatch.setattr(ceilings_module, "ceiling", lambda _rater, _item, value, **_: given.append(value.tolist()))
    truth = truth_of(made.chances(stimuli=6)[0])
    truth = replace(truth, items=truth.items.with_columns(method=pl.lit(method)))
    task = next(task for task in tasks_of(truth.study, ["match"])[0] if task.kind == "binary")
    assert ceiling_of(task, "balanced_accuracy", truth, ScoreOptions()) is None
    (votes,) = given
    assert sorted(votes) == sorted(truth.answers["value"].to_list())
    unrated = replace(truth, answers=truth.answers.clear())
    assert ceiling_of(task, "balanced_accuracy", unrated, ScoreOptions()) == NO_RATINGS
