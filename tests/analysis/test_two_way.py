"""Means and slopes over stimuli: leave-one-out against brute force, and coverage of the intervals."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from heartfelt.analysis.systems.two_way import (
    Changes,
    Stimuli,
    difference,
    error_of,
    estimate,
    mean_changes,
    slope_changes,
    stimuli_of,
)
from tests.facts import mentions

Floats = npt.NDArray[np.float64]
X = {"a": 2.0, "b": 5.0, "c": 8.0}


def table(ratings: pl.DataFrame, per_cell: int = 4) -> pl.DataFrame:
    means = ratings.group_by("item").agg(pl.mean("value").alias("mean")).sort("item")
    return means.with_columns(
        pl.col("item").str.slice(0, 1).alias("system"), pl.col("item").str.slice(1, 1).alias("intent")
    ).head(10_000 + per_cell)


def drawn(rng: np.random.Generator, raters: int, per_cell: int, rate: float = 0.5) -> pl.DataFrame:
    """Ratings with rater levels, cell means, stimuli of their own and noise."""
    rows = []
    level = rng.normal(size=raters) * 0.7
    for s, system in enumerate("PQ"):
        for intent, x in X.items():
            for k in range(per_cell):
                own = 5 + (0.3 + 0.4 * s) * (x - 5) + rng.normal() * 0.6
                who = np.flatnonzero(rng.random(raters) < rate)
                who = who if who.size else np.array([0])
                rows += [(f"r{r}", f"{system}{intent}{k}", own + level[r] + rng.normal()) for r in who]
    schema = {"rater": pl.String, "item": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def laid(ratings: pl.DataFrame) -> tuple[Stimuli, Floats, npt.NDArray[np.bool_]]:
    items = table(ratings)
    data = stimuli_of(items, [ratings], ["mean"], None)
    x = items["intent"].replace_strict(X, return_dtype=pl.Float64).to_numpy()
    return data, x, (items["system"] == "P").to_numpy()


def of(found: Changes | str) -> Changes:
    assert isinstance(found, Changes)
    return found


def test_without_each_rater_against_brute_force() -> None:
    ratings = drawn(np.random.default_rng(3), 9, 3)
    data, x, first = laid(ratings)

    def absolute(part: pl.DataFrame) -> float:
        items = table(part).filter(pl.col("system") == "P")
        reference = items["intent"].replace_strict(X, return_dtype=pl.Float64)
        return float((items["mean"] - reference).abs().mean())  # type: ignore[arg-type]  # a mean of floats

    result = of(mean_changes(data, first, lambda mean, at: np.abs(mean[:, 0] - x[at])))
    assert result.value == pytest.approx(absolute(ratings))
    names = (
        ratings.join(table(ratings).select("item"), on="item")
        .sort("item", "rater")["rater"]
        .unique(maintain_order=True)
    )
    by_name = dict(zip(names, result.by_rater.tolist(), strict=True))
    for name, change in by_name.items():
        without = absolute(ratings.filter(pl.col("rater") != name))
        assert change == pytest.approx(without - result.value, abs=1e-12)


def test_slope_is_least_squares_and_its_rater_changes_are_exact() -> None:
    ratings = drawn(np.random.default_rng(4), 9, 3)
    data, x, first = laid(ratings)
    result = slope_changes(data, first, x)
    assert not isinstance(result, str)
    items = table(ratings)
    y = items["mean"].to_numpy()
    slope, intercept = np.polyfit(x[first], y[first], 1)
    assert result[0].value == pytest.approx(slope)
    assert result[1].value == pytest.approx(intercept)
    everyone = sorted(ratings["rater"].unique().to_list())
    order = ratings.sort("item", "rater")["rater"].unique(maintain_order=True).to_list()
    for name in everyone:
        part = table(ratings.filter(pl.col("rater") != name))
        if part.height < items.height:
            continue
        without = np.polyfit(x[first], part["mean"].to_numpy()[first], 1)[0]
        assert result[0].by_rater[order.index(name)] == pytest.approx(without - slope, abs=1e-12)


def test_variance_of_stimuli_is_that_of_a_stratified_mean() -> None:
    ratings = drawn(np.random.default_rng(5), 6, 5)
    data, _, first = laid(ratings)
    result = of(mean_changes(data, first, lambda mean, _: mean[:, 0]))
    items = table(ratings).filter(pl.col("system") == "P")
    parts = items.group_by("intent").agg(pl.len().alias("n"), pl.var("mean").alias("v"))
    expected = sum(n / items.height**2 * v for n, v in parts.select("n", "v").iter_rows())
    assert result.stimuli.variance == pytest.approx(expected)


def test_single_stimuli_of_a_cell_are_taken_together() -> None:
    ratings = drawn(np.random.default_rng(6), 6, 1, rate=1.0)
    data, _, _ = laid(ratings)
    result = of(mean_changes(data, np.ones(6, np.bool_), lambda mean, _: mean[:, 0]))
    means = table(ratings)["mean"].to_numpy()
    assert result.stimuli.variance == pytest.approx(means.var(ddof=1) / 6)


@pytest.mark.slow
def test_intervals_cover() -> None:
    """Mean, absolute deviation, difference and slope over 240 simulated studies of 24 raters."""
    rounds, hits = 240, np.zeros(4)
    values = np.zeros((rounds, 4, 3))
    for k in range(rounds):
        data, x, first = laid(drawn(np.random.default_rng(1000 + k), 24, 6, 0.3))
        mean = [of(mean_changes(data, part, lambda m, _: m[:, 0])) for part in (first, ~first)]
        size = of(mean_changes(data, first, lambda m, at, x=x: np.abs(m[:, 0] - x[at])))  # type: ignore[misc]  # bound now
        line = slope_changes(data, first, x)
        assert not isinstance(line, str)
        for place, each in enumerate((mean[0], size, difference(*mean), line[0])):
            e = estimate(each, "")
            values[k, place] = (float(e), e.low or 0.0, e.high or 0.0)
    centre = values[:, :, 0].mean(axis=0)
    hits = ((values[:, :, 1] <= centre) & (centre <= values[:, :, 2])).mean(axis=0)
    assert (hits >= 0.90).all(), hits
    assert (hits <= 0.995).all(), hits
    assert centre[3] == pytest.approx(0.3, abs=0.02)


def test_few_or_unknown_raters_are_named() -> None:
    ratings = drawn(np.random.default_rng(7), 2, 3, rate=1.0)
    data, _, first = laid(ratings)
    result = estimate(mean_changes(data, first, lambda mean, _: mean[:, 0]), "mean")
    assert mentions(result.interval, "jackknife", "stimuli", "2 raters")
    items = table(ratings)
    unknown = stimuli_of(items, [ratings], ["mean"], "nobody knows")
    named = estimate(mean_changes(unknown, first, lambda mean, _: mean[:, 0]), "mean")
    assert "raters unknown" in named.interval
    alone = stimuli_of(items, [], ["mean"], "means only")
    assert "no single ratings" in estimate(mean_changes(alone, first, lambda mean, _: mean[:, 0]), "mean").interval


def test_no_width_is_no_interval() -> None:
    schema = {"rater": pl.String, "item": pl.String, "value": pl.Float64}
    rows = [(f"r{r}", f"Pa{k}", 3.0) for r in range(4) for k in range(4)]
    data, x, first = laid(pl.DataFrame(rows, schema=schema, orient="row"))
    result = of(mean_changes(data, first, lambda mean, _: mean[:, 0]))
    assert isinstance(error_of(result), str)
    assert estimate(result, "mean").why_no_interval
    assert slope_changes(data, first, x) == "the intended coordinate does not vary"


def test_shares_stay_between_nought_and_one() -> None:
    data, x, _ = laid(drawn(np.random.default_rng(8), 12, 5))
    every = np.ones(len(data.names), np.bool_)
    result = estimate(
        mean_changes(data, every, lambda m, at: ((m[:, 0] > 5) == (x[at] > 5)).astype(np.float64)), "hits", "share"
    )
    assert result.low is not None
    assert result.high is not None
    assert 0 < result.low < float(result) < result.high < 1
    sure = estimate(mean_changes(data, every, lambda m, _: np.ones(m.shape[0])), "hits", "share")
    assert sure.low is None
    assert not math.isnan(float(sure))


def test_raters_of_other_stimuli_take_no_part() -> None:
    ratings = drawn(np.random.default_rng(9), 5, 3, rate=1.0)
    late = pl.DataFrame({"rater": ["z"] * 3, "item": ["Qa0", "Qb0", "Qc0"], "value": [4.0, 5.0, 6.0]})
    data, x, first = laid(pl.concat([ratings, late]))
    assert data.raters == 6
    line = slope_changes(data, first, x)
    assert not isinstance(line, str)
    for result in (of(mean_changes(data, first, lambda mean, _: mean[:, 0])), *line):
        assert result.took_part.tolist() == [True] * 5 + [False]
        assert result.by_rater[5] == 0.0
        assert result.counts == {"stimuli": 9, "ratings": 45, "raters": 5}
