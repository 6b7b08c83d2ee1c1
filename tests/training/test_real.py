"""Real photographs with published norms: a few dozen are enough to see that pleasant is told from unpleasant."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.predictors.weights import load_model
from heartfelt.predictors.weights.store import PullError
from heartfelt.training import TrainOptions, train
from tests.training.studies import value_of


@pytest.mark.slow
def test_valence_of_photographs(shared_data: Path, tmp_path: Path) -> None:
    try:
        load_model("efficientnet-lite2-stages")
    except PullError as error:
        pytest.skip(f"EfficientNet-Lite cannot be pulled: {error.problem}")
    norms = pl.read_csv(shared_data / "oasis" / "norms.csv").sort("valence_mean")
    chosen = pl.concat([norms.head(40), norms.tail(40)]).filter(
        pl.col("file").map_elements(lambda name: (shared_data / "oasis" / "images" / name).is_file(), pl.Boolean)
    )
    (tmp_path / "images").mkdir()
    for name in chosen["file"]:
        shutil.copy(shared_data / "oasis" / "images" / name, tmp_path / "images" / name)
    chosen.write_csv(tmp_path / "norms.csv")
    snapshot = heartfelt.read(tmp_path, format="means", scale={"valence": "1-7", "arousal": "1-7"})
    made = train(snapshot, TrainOptions(recipe="va-image", heads=("ridge",), features=tmp_path / "features"))
    result = {row.question: row for row in made.evaluation.rows}
    assert value_of(result["valence"].pearson) > 0.5
    assert value_of(result["valence"].ceiling) > 0.99
    assert (result["valence"].ceiling.low or 0.0) > 0.98
    assert made.model.outputs[0].bounds == (1.0, 7.0)
