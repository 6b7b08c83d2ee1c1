"""A bench of 48 clips stays small: its page, and its folder besides media."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.report.bench import write_bench
from heartfelt.scoring import ScoreOptions, score, truth_of
from heartfelt.scoring.bench.stacking import with_stacks
from tests.scoring import made


@pytest.mark.slow
def test_a_bench_of_48_clips_is_small(tmp_path: Path) -> None:
    snapshot, truth = made.numbers(per_cell=2)
    tables = []
    for seed in range(8):
        draw = np.random.default_rng(seed)
        rows = [
            {"stimulus": name, "question": "valence", "value": value + draw.normal(0, 0.5 + 0.2 * seed)}
            for name, value in truth.items()
        ]
        tables.append(made.predictions(f"model-{seed}", rows))
    predictions = pl.concat(tables)
    assert len(truth) == 48
    scores = with_stacks(score(snapshot, predictions, ScoreOptions(resamples=100)), truth_of(snapshot))
    folder = write_bench(scores, predictions, tmp_path / "bench", snapshot=snapshot)
    assert (folder / "report.html").stat().st_size < 500_000
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 1_050_000
