"""Ratings still needed: what was promised is what more ratings by more raters give."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from heartfelt.analysis.consistency.live import (
    POINTS,
    LiveSystemMean,
    exclusion_effect,
    ratings_needed,
    reliability_so_far,
    system_means,
)
from heartfelt.analysis.data.material import prepare
from heartfelt.snapshot import Snapshot
from heartfelt.streams import stream
from heartfelt.study import Study, parse_study

STIMULI, SYSTEMS = 40, ("a", "b")


@pytest.fixture(scope="module")
def study() -> Study:
    return parse_study(
        """
        name: planted
        systems: [{id: a}, {id: b}]
        scales: {nine: {type: points, points: 9}}
        questions: [{id: valence, text: "How pleasant?", scale: nine}]
        """,
        "planted",
    )


def stimuli() -> pl.DataFrame:
    names = [f"{system}{number:02d}" for system in SYSTEMS for number in range(STIMULI)]
    return pl.DataFrame({"stimulus": names, "system": [name[0] for name in names]})


def ratings(raters: int, stimulus_sd: float, seed: int = 1, each: int = 20) -> pl.DataFrame:
    """Each rater rates ``each`` stimuli; stimuli, raters and answers vary by known amounts."""
    rng = stream(seed, "planted")
    names = stimuli()["stimulus"].to_list()
    truth = dict(zip(names, 5 + stimulus_sd * rng.standard_normal(len(names)), strict=True))
    rows = []
    for rater in range(raters):
        own = 0.6 * rng.standard_normal()
        for place, at in enumerate(rng.permutation(len(names))[:each]):
            value = np.clip(np.round(truth[names[at]] + own + 1.2 * rng.standard_normal()), 1, 9)
            rows.append((f"r{rater}", names[at], "valence", float(value), place + 1))
    return pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value", "position"], orient="row")


def half_width(row: LiveSystemMean) -> float:
    assert row.mean.high is not None
    assert row.mean.low is not None
    return (row.mean.high - row.mean.low) / 2


def means(study: Study, table: pl.DataFrame) -> list[LiveSystemMean]:
    return system_means(prepare(Snapshot.build(study, stimuli=stimuli(), ratings=table)))


@pytest.mark.slow
def test_the_promised_ratings_give_the_wanted_precision(study: Study) -> None:
    """The same raters go on with more like them: on average the interval becomes as narrow as was promised."""
    results = []
    for seed in range(12):
        for place, row in enumerate(means(study, ratings(40, 0.5, seed))):
            wanted = 0.75 * half_width(row)
            more = ratings_needed(row, wanted).value
            if more is None:
                continue
            grown = round(40 * (1 + more / row.ratings))
            results.append(half_width(means(study, ratings(grown, 0.5, seed))[place]) / wanted)
    assert len(results) >= 18
    assert np.mean(results) == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
def test_what_is_reached_needs_nothing_and_nobody_needs_less_for_more(study: Study) -> None:
    row = means(study, ratings(40, 0.5))[0]
    width = half_width(row)
    assert ratings_needed(row, width * 1.001).value == 0
    asked = [float(ratings_needed(row, width * share)) for share in (0.99, 0.9, 0.8)]
    assert asked == sorted(asked)


@pytest.mark.slow
def test_stimuli_that_differ_cannot_be_rated_away(study: Study) -> None:
    row = means(study, ratings(60, 1.5))[0]
    message = ratings_needed(row, 0.05)
    assert message.value is None
    assert "stimuli differ too much" in str(message.why_missing)
    assert row.parts is not None
    floor = row.parts.t * math.sqrt(row.parts.fixed)
    assert f"±{floor:.2f}" in str(message.why_missing)
    assert floor == pytest.approx(1.96 * 1.5 / math.sqrt(STIMULI), rel=0.35)


@pytest.mark.slow
def test_without_ratings_there_is_a_reason(study: Study) -> None:
    table = ratings(1, 0.5).head(1)
    rows = means(study, table)
    assert all(ratings_needed(row, 0.2).why_missing for row in rows)
    result = reliability_so_far(prepare(Snapshot.build(study, stimuli=stimuli(), ratings=table)))
    assert result[0].alpha.value is None
    assert "two or more ratings" in str(result[0].alpha.why_missing)


@pytest.mark.slow
def test_reliability_grows_with_the_ratings_in_their_order(study: Study) -> None:
    table = ratings(30, 1.0)
    moments = pl.datetime_range(
        pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 2), "1m", eager=True, time_zone="UTC"
    ).head(table.height)
    timed = table.with_columns(moments.alias("at")).sample(fraction=1.0, shuffle=True, seed=3)
    result = reliability_so_far(prepare(Snapshot.build(study, stimuli=stimuli(), ratings=timed)))[0]
    points = result.over_time
    assert len(points) == POINTS
    assert [p.ratings for p in points] == sorted(p.ratings for p in points)
    assert points[-1].alpha == result.alpha
    first = timed.sort("at").head(points[5].ratings)
    from heartfelt.stats import alpha

    assert points[5].alpha.value == pytest.approx(
        float(alpha(first["rater"], first["stimulus"], first["value"], "interval")), abs=1e-12
    )


@pytest.mark.slow
def test_the_effect_is_the_difference_between_with_and_without(study: Study) -> None:
    table = ratings(20, 1.0)
    whole = Snapshot.build(study, stimuli=stimuli(), ratings=table)
    careless = table.filter(pl.col("rater") != "r3")
    result = exclusion_effect(whole, table, careless)
    assert result.ratings == {"before": 400, "after": 380}
    from heartfelt.stats import alpha

    for side, part in (("before", table), ("after", careless)):
        assert getattr(result.alpha[0], side).value == pytest.approx(
            float(alpha(part["rater"], part["stimulus"], part["value"], "interval")), abs=1e-12
        )
        mean = part.filter(pl.col("stimulus").str.starts_with("a")).group_by("stimulus").agg(pl.mean("value"))
        assert getattr(result.systems[0], side).value == pytest.approx(mean["value"].mean(), abs=1e-12)
