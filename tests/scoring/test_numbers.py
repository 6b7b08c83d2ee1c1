"""Scores of numbers against SciPy and scikit-learn, by item, by system and within cells."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import stats

from heartfelt.labels import labels
from heartfelt.scoring import ScoreOptions, Scores, score
from heartfelt.scoring.results.scores import ModelScore
from heartfelt.snapshot import Snapshot
from tests.facts import mentions
from tests.lazily import Lazily
from tests.scoring import made

metrics = Lazily("sklearn.metrics")

SOURCE = "scipy.stats and sklearn.metrics on the same pairs"
FEW = ScoreOptions(resamples=300)


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return made.numbers()[0]


@pytest.fixture(scope="module")
def pairs(snapshot: Snapshot) -> pl.DataFrame:
    """Labels with two models' predictions; the second fails on every seventh item."""
    table = labels(snapshot).table.select("stimulus", "question", "value")
    draw = np.random.default_rng(3)
    good = table["value"].to_numpy() + draw.normal(0, 0.6, table.height)
    poor = 4 + 0.3 * table["value"].to_numpy() + draw.normal(0, 0.9, table.height)
    return table.with_columns(
        pl.Series("good", good), pl.Series("poor", poor), (pl.int_range(pl.len()) % 7 != 0).alias("answers")
    ).join(snapshot.stimuli, on="stimulus")


@pytest.fixture(scope="module")
def scores(snapshot: Snapshot, pairs: pl.DataFrame) -> Scores:
    tables = [
        made.predictions(
            "good", [{"stimulus": r["stimulus"], "question": "valence", "value": r["good"]} for r in pairs.to_dicts()]
        ),
        made.predictions(
            "poor",
            [
                {
                    "stimulus": r["stimulus"],
                    "question": "valence",
                    **({"value": r["poor"]} if r["answers"] else {"problem": "timeout"}),
                }
                for r in pairs.to_dicts()
            ],
        ),
    ]
    return score(snapshot, pl.concat(tables), FEW)


def one(scores: Scores, model: str, metric: str, level: str = "item") -> ModelScore:
    result = scores.find("valence", model, metric, level)
    assert result is not None
    return result


def expected(metric: str, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
    if metric == "ccc":
        return float(2 * np.cov(x, y, ddof=0)[0, 1] / (x.var() + y.var() + (x.mean() - y.mean()) ** 2))
    if metric in ("pearson", "spearman", "kendall"):
        name = {"pearson": "pearsonr", "spearman": "spearmanr", "kendall": "kendalltau"}[metric]
        return float(getattr(stats, name)(x, y)[0])
    name = {"mse": "mean_squared_error", "rmse": "root_mean_squared_error", "mae": "mean_absolute_error"}[metric]
    return float(getattr(metrics, name)(x, y))


@pytest.mark.parametrize("metric", ["pearson", "spearman", "kendall", "ccc", "mse", "rmse", "mae"])
def test_by_item_and_by_system(scores: Scores, pairs: pl.DataFrame, metric: str) -> None:
    x, y = pairs["value"].to_numpy(), pairs["good"].to_numpy()
    result = one(scores, "good", metric)
    assert result.estimate.value == pytest.approx(expected(metric, x, y))
    assert result.with_failures is result.estimate
    low, high = result.estimate.low, result.estimate.high
    assert low is not None
    assert high is not None
    assert low < float(result.estimate) < high
    means = pairs.group_by("system").agg(pl.mean("value"), pl.mean("good")).sort("system")
    by_system = one(scores, "good", metric, "system").estimate
    assert by_system.value == pytest.approx(expected(metric, means["value"].to_numpy(), means["good"].to_numpy()))
    assert by_system.counts["systems"] == 8


def test_failures_are_counted_both_ways(scores: Scores, pairs: pl.DataFrame) -> None:
    retained = pairs.filter("answers")
    x, y = retained["value"].to_numpy(), retained["poor"].to_numpy()
    result = one(scores, "poor", "pearson")
    assert result.estimate.value == pytest.approx(expected("pearson", x, y))
    message = np.where(pairs["answers"].to_numpy(), pairs["poor"].to_numpy(), y.mean())
    assert result.with_failures.value == pytest.approx(expected("pearson", pairs["value"].to_numpy(), message))
    label = pairs["value"].to_numpy()
    far = np.where(pairs["answers"].to_numpy(), pairs["poor"].to_numpy(), np.where(label > 5, 1.0, 9.0))
    error = one(scores, "poor", "rmse")
    assert error.with_failures.value == pytest.approx(expected("rmse", label, far))
    assert float(error.with_failures) > float(error.estimate)
    covered = scores.coverage["poor"]["valence"]
    assert covered.items == pairs.height
    assert covered.answered == retained.height
    assert covered.problems == {"timeout": pairs.height - retained.height}


def test_within_cells_is_the_correlation_of_what_cell_means_leave(scores: Scores, pairs: pl.DataFrame) -> None:
    centred = pairs.with_columns(pl.col("value", "good") - pl.col("value", "good").mean().over("system", "intent"))
    result = one(scores, "good", "pearson", "within cells")
    assert result.estimate.value == pytest.approx(
        expected("pearson", centred["value"].to_numpy(), centred["good"].to_numpy())
    )
    assert result.estimate.counts["clusters"] == 24
    assert result.ceiling.value is not None


def test_slices_by_what_is_known_of_stimuli(scores: Scores, pairs: pl.DataFrame) -> None:
    columns = {part.column for part in scores.slices}
    assert columns == {"system", "intent", "language"}
    part = next(
        s for s in scores.slices if (s.column, s.value, s.model, s.metric) == ("language", "de", "poor", "pearson")
    )
    retained = pairs.filter((pl.col("language") == "de") & pl.col("answers"))
    assert part.estimate.value == pytest.approx(
        expected("pearson", retained["value"].to_numpy(), retained["poor"].to_numpy())
    )
    assert (part.items, part.answered) == (pairs.filter(pl.col("language") == "de").height, retained.height)
    assert mentions(part.estimate.interval, "jackknife", "Student", "scale")


def test_intervals_over_systems_are_of_their_own(scores: Scores) -> None:
    result = one(scores, "good", "pearson")
    assert result.over_systems.value == result.estimate.value
    assert result.over_systems.interval.startswith("jackknife over clusters, Student t")
    assert result.over_systems.counts["clusters"] == 8


def test_the_better_model_is_ahead_and_told_apart(scores: Scores) -> None:
    assert [(rank.model, rank.words) for rank in scores.ranked("valence")] == [("good", "1"), ("poor", "2")]
    (pair,) = scores.comparisons
    assert pair.apart
    assert pair.more_stimuli.value == 0


@pytest.mark.slow
def test_scores_that_are_not_on_the_scale_have_correlations_only(snapshot: Snapshot, pairs: pl.DataFrame) -> None:
    rows = [{"stimulus": r["stimulus"], "question": "valence", "score": r["good"] / 100} for r in pairs.to_dicts()]
    result = score(snapshot, made.predictions("similar", rows), FEW)
    assert one(result, "similar", "pearson").estimate.value == pytest.approx(
        expected("pearson", pairs["value"].to_numpy(), pairs["good"].to_numpy())
    )
    for level in ("item", "system"):
        gone = one(result, "similar", "rmse", level)
        assert mentions(gone.estimate.why_missing, "model", "scores", "scale")
        assert gone.with_failures.value is None


@pytest.mark.slow
def test_given_system_truth_takes_the_place_of_the_clips(snapshot: Snapshot, pairs: pl.DataFrame) -> None:
    rows = [{"stimulus": r["stimulus"], "question": "valence", "value": r["good"]} for r in pairs.to_dicts()]
    given = {name: float(place) for place, name in enumerate(made.SYSTEMS[:-1])}
    options = ScoreOptions(resamples=300, systems={"valence": given}, systems_from="the file mos.csv")
    result = score(snapshot, made.predictions("good", rows), options)
    means = pairs.group_by("system").agg(pl.mean("good")).filter(pl.col("system") != made.SYSTEMS[-1]).sort("system")
    by_system = one(result, "good", "spearman", "system").estimate
    assert by_system.value == pytest.approx(stats.spearmanr(np.arange(7), means["good"].to_numpy())[0])
    assert by_system.counts["systems"] == 7
    assert made.as_json(result)["options"]["systems_from"] == "the file mos.csv"
