"""A predictor's own intervals: coverage, width, interval score and CRPS."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import integrate, stats

from heartfelt.errors import InputError
from heartfelt.labels import labels
from heartfelt.scoring import ModelInfo, ScoreOptions, Scores, score
from heartfelt.scoring.results.details import IntervalFacts, NumberDetails
from heartfelt.scoring.tasks.numbers import crps_normal, interval_score
from heartfelt.streams import stream
from tests.scoring import made

SOURCE = (
    "the definition of CRPS by numerical integration; interval scores and shares by hand; Gneiting and Raftery (2007)"
)
HALF = 1.2


@pytest.fixture(scope="module")
def pairs() -> pl.DataFrame:
    snapshot, _ = made.numbers(per_cell=5)
    draw = stream(1, "tests", "intervals")
    held = labels(snapshot).table.select("stimulus", "value")
    return held.with_columns(pl.Series("said", held["value"].to_numpy() + draw.normal(0, 0.7, held.height)))


def table(pairs: pl.DataFrame, silent: int = 0) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for k, r in enumerate(pairs.to_dicts()):
        key = {"stimulus": r["stimulus"], "question": "valence"}
        if k < silent:
            rows.append({**key, "problem": "gone"})
        else:
            rows.append({**key, "value": r["said"], "low": r["said"] - HALF, "high": r["said"] + HALF})
    return made.predictions("m", rows)


def scored(pairs: pl.DataFrame, silent: int = 0, **about: Any) -> Scores:
    snapshot, _ = made.numbers(per_cell=5)
    info = {"m": ModelInfo(spec="m", display_name="m", **about)} if about else None
    return score(snapshot, table(pairs, silent), ScoreOptions(slices=(), ceilings=False), about=info)


def facts(scores: Scores) -> IntervalFacts:
    details = scores.details["valence"].models["m"]
    assert isinstance(details, NumberDetails)
    assert details.intervals is not None
    return details.intervals


@pytest.mark.slow
def test_every_figure_by_hand(pairs: pl.DataFrame) -> None:
    result = scored(pairs)
    x, y = pairs["value"].to_numpy(), pairs["said"].to_numpy()
    off = np.abs(x - y)
    expected = {
        "interval_coverage": np.mean(off <= HALF),
        "interval_width": 2 * HALF,
        "interval_score": np.mean(2 * HALF + 2 / 0.1 * np.maximum(off - HALF, 0)),
        "crps": np.mean(crps_normal(x, y, np.full(x.size, HALF / stats.norm.ppf(0.95)))),
    }
    for metric, value in expected.items():
        each = result.find("valence", "m", metric)
        assert each is not None
        assert each.estimate.value == pytest.approx(float(value))
        if metric != "interval_width":
            assert each.estimate.low is not None
            assert each.estimate.low < float(each.estimate) < (each.estimate.high or 0)
    assert facts(result) == IntervalFacts(0.9, "the options", pairs.height)
    sharp = result.find("valence", "m", "crps")
    assert sharp is not None
    assert float(sharp.beyond_chance) > 0


def test_crps_is_its_definition() -> None:
    for x, mean, sd in ((0.3, 0.0, 1.0), (5.0, 4.0, 0.5), (-2.0, 1.0, 2.0)):

        def gap(z: float, x: float = x, mean: float = mean, sd: float = sd) -> float:
            return float((stats.norm.cdf(z, mean, sd) - (z >= x)) ** 2)

        expected = integrate.quad(gap, mean - 12 * sd, x)[0] + integrate.quad(gap, x, mean + 12 * sd)[0]
        result = crps_normal(np.array([x]), np.array([mean]), np.array([sd]))
        assert result.tolist() == pytest.approx([expected], abs=1e-6)
    assert crps_normal(np.array([3.0]), np.array([1.0]), np.array([0.0])).tolist() == [2.0]


def test_the_interval_score_is_proper() -> None:
    x = stream(2, "tests", "intervals").normal(size=200_000)
    true = np.asarray(stats.norm.ppf([0.05, 0.95]))
    best = interval_score(x, np.full(x.size, true[0]), np.full(x.size, true[1]), 0.9).mean()
    for factor in (0.7, 0.9, 1.1, 1.5):
        other = interval_score(x, np.full(x.size, factor * true[0]), np.full(x.size, factor * true[1]), 0.9).mean()
        assert other > best


@pytest.mark.slow
def test_failures_count_against_intervals(pairs: pl.DataFrame) -> None:
    full, part = scored(pairs), scored(pairs, silent=40)
    for metric, worse in (("interval_coverage", -1), ("interval_width", 1), ("interval_score", 1), ("crps", 1)):
        each, two = full.find("valence", "m", metric), part.find("valence", "m", metric)
        assert each is not None
        assert two is not None
        assert worse * (float(two.with_failures) - float(each.with_failures)) > 0
        assert two.estimate.counts["pairs"] == pairs.height - 40


@pytest.mark.slow
def test_the_models_own_confidence_is_used(pairs: pl.DataFrame) -> None:
    wide = scored(pairs, interval_confidence=0.5)
    assert facts(wide).confidence == 0.5
    assert facts(wide).confidence_from == "the model"
    usual, own = (scored(pairs).find("valence", "m", "interval_score"), wide.find("valence", "m", "interval_score"))
    assert usual is not None
    assert own is not None
    assert float(own.estimate) < float(usual.estimate)


def test_models_without_intervals_have_no_such_scores(pairs: pl.DataFrame) -> None:
    snapshot, _ = made.numbers(per_cell=5)
    bare = table(pairs).with_columns(pl.lit(None, dtype=pl.Float64).alias("low"))
    result = score(snapshot, bare, ScoreOptions(slices=(), ceilings=False))
    assert result.find("valence", "m", "crps") is None
    with pytest.raises(InputError, match="between 0 and 1"):
        ScoreOptions(interval_confidence=1.5)
