"""Public data, scored end to end."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from scipy.stats import pearsonr

from heartfelt.formats import read
from heartfelt.labels import labels
from heartfelt.predictors import cases, predictor_from, run
from heartfelt.scoring import ScoreOptions, score

SOURCE = "scipy.stats.pearsonr on the public ratings; cell means with the clip's own label left out"


@pytest.mark.slow
def test_what_knowing_the_cell_gives(shared_data: Path) -> None:
    snapshot = read(shared_data / "aimoclips")
    held = labels(snapshot).table
    tables = []
    for name in ("intent", "system-mean", "human"):
        predictor = predictor_from(name)
        predictor.learn(snapshot, held)
        tables.append(run(predictor, cases(snapshot, ["valence"])).table)
    result = score(snapshot, pl.concat(tables), ScoreOptions(resamples=200))
    both = tables[0].join(
        held.select("stimulus", "question", pl.col("value").alias("label")), on=["stimulus", "question"]
    )
    each = result.find("valence", "intent")
    assert each is not None
    assert each.estimate.value == pytest.approx(pearsonr(both["label"], both["value"])[0])
    assert each.estimate.counts["pairs"] == 991
    assert 0.8 < float(each.of_ceiling) < 1
    assert [rank.model for rank in result.ranked("valence")][:2] == ["intent", "system-mean"]
    # The mean of the others falls where a clip rises above them: within cells, it is no help.
    within = result.find("valence", "intent", aggregation="within cells")
    assert within is not None
    assert (within.estimate.value or -1.0) < 0.05
    human = result.find("valence", "human")
    assert human is not None
    assert float(human.estimate) == pytest.approx(float(result.details["valence"].one_rater), abs=0.08)
