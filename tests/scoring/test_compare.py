"""Comparison and ranks: ties where the data cannot tell, and a plan for more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from heartfelt.labels import labels
from heartfelt.scoring import ScoreOptions, Scores, score
from heartfelt.scoring.comparison.compare import Entrant, compare, ranks
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.streams import stream
from tests.facts import mentions
from tests.scoring import made

SOURCE = "simulation: models of known quality, and models that are equally good"
TASK = ScoringTask(id="t", kind="numbers", questions=(), headline="pearson")


def entrant(name: str, truth: npt.NDArray[np.float64], said: npt.NDArray[np.float64]) -> Entrant:
    rows = pl.DataFrame(
        {"stimulus": [str(k) for k in range(truth.size)], "question": "q", "truth": truth, "said": said}
    )
    return Entrant(model=name, rows=rows, value=float(np.corrcoef(truth, said)[0, 1]))


@pytest.mark.slow
def test_equal_models_are_seldom_told_apart_whatever_their_number() -> None:
    draw = stream(1, "tests", "compare")
    wrong = 0
    for _ in range(120):
        truth = draw.normal(size=80)
        models = [entrant(str(k), truth, truth + draw.normal(size=80)) for k in range(4)]
        wrong += any(pair.apart for pair in compare(models, TASK))
    assert wrong / 120 <= 0.11


def test_ranks_are_ranges_where_the_data_cannot_tell() -> None:
    draw = stream(2, "tests", "compare")
    truth = draw.normal(size=300)
    twins = truth + draw.normal(0, 1, 300)
    models = [
        entrant("best", truth, truth + draw.normal(0, 0.2, 300)),
        entrant("twin a", truth, twins + draw.normal(0, 0.05, 300)),
        entrant("twin b", truth, twins + draw.normal(0, 0.05, 300)),
        entrant("worst", truth, draw.normal(0, 1, 300)),
        Entrant(model="other", rows=pl.DataFrame(), value=None, why_unranked="it could not be asked"),
    ]
    pairs = compare(models, TASK)
    results = {rank.model: rank for rank in ranks(models, pairs, TASK)}
    assert [results[name].words for name in ("best", "twin a", "twin b", "worst", "other")] == [
        "1",
        "2–3",
        "2–3",
        "4",
        "–",
    ]
    assert mentions(results["other"].why_none, "could", "asked")
    (tie,) = [pair for pair in pairs if not pair.apart]
    assert {tie.first, tie.second} == {"twin a", "twin b"}
    assert float(tie.more_stimuli) >= 1
    adjusted = [pair.p_adjusted for pair in pairs]
    raw = [pair.p.value for pair in pairs]
    assert all(a is not None and r is not None and a >= r for a, r in zip(adjusted, raw, strict=True))


def test_pairs_are_compared_on_the_items_both_answered() -> None:
    draw = stream(3, "tests", "compare")
    truth = draw.normal(size=60)
    each, two = (entrant("a", truth, truth + draw.normal(size=60)), entrant("b", truth, truth + draw.normal(size=60)))
    two = Entrant(model="b", rows=two.rows[10:], value=two.value)
    each = Entrant(model="a", rows=each.rows[:50], value=each.value)
    (pair,) = compare([each, two], TASK)
    assert pair.difference.counts["pairs"] == 40
    expected = [
        np.corrcoef(
            m.rows.filter(pl.col("stimulus").cast(int).is_between(10, 49)).select("truth", "said").to_numpy().T
        )[0, 1]
        for m in (each, two)
    ]
    assert pair.difference.value == pytest.approx(expected[0] - expected[1])


@pytest.mark.slow
def test_a_left_out_rater_is_shown_but_not_ranked() -> None:
    snapshot, truth = made.numbers(per_cell=3)
    held = labels(snapshot).table
    good = made.predictions("good", [{"stimulus": n, "question": "valence", "value": v} for n, v in truth.items()])
    rows = [
        {"stimulus": r["stimulus"], "question": "valence", "value": round(r["value"]), "against": r["value"] + 0.5}
        for r in held.to_dicts()[5:]
    ]
    result: Scores = score(snapshot, pl.concat([good, made.predictions("human", rows)]), ScoreOptions(resamples=200))
    rank = {rank.model: rank for rank in result.ranks}
    assert rank["good"].words == "1"
    assert mentions(rank["human"].why_none, "against", "labels")
    assert result.comparisons == ()
    error = result.find("valence", "human", "mse")
    assert error is not None
    gaps = [(r["value"] - r["against"]) ** 2 for r in rows]
    assert error.estimate.value == pytest.approx(sum(gaps) / len(gaps))
    # Items without another label to hold it against are no failures of its: they have no label for it.
    assert result.coverage["human"]["valence"].without_label == 5
