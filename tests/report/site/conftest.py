"""A study with media, a release of it that holds out a part, and benches of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.labels import Benchmark, SplitOptions
from heartfelt.publishing.hiding.hold_out import hold_out
from heartfelt.report.bench import write_bench
from heartfelt.scoring import ModelInfo, ScoreOptions, score
from heartfelt.snapshot import Snapshot
from tests.report import studies
from tests.scoring import made

FEW = ScoreOptions(resamples=100)
HOSTILE = "</script><img src=x onerror=alert(1)> \u202eevil\u202c " + "long" * 300
SECRET = "sk-abcdefghijklmnop1234"
MODELS = {
    "chat:good@http://localhost:1/v1": ("Good <one>", 0.5),
    "file:/home/somebody/poor.csv": ("Poor & slow", 2.0),
    "flat": ("flat", None),
}


@dataclass(frozen=True)
class Made:
    """Where everything is: a snapshot with media, its benches, and a release with the benches of its private benchmark."""

    snapshot: Snapshot
    folder: Path
    private: Benchmark

    @property
    def hidden(self) -> set[str]:
        """The stimuli that are held out."""
        return set(self.private.part("test")["stimulus"])


def predicted(labels: pl.DataFrame) -> pl.DataFrame:
    """What three models answer: a good one, a poor one that fails at times, and one that says one thing."""
    draw = np.random.default_rng(5)
    tables = []
    for model, (_, noise) in MODELS.items():
        rows = []
        for k, (stimulus, question, label) in enumerate(labels.iter_rows()):
            value = 5.0 if noise is None else float(np.clip(label + draw.normal(0, noise), 1, 9))
            failed = model.startswith("file") and k % 9 == 0
            answer = {"problem": f"HTTP 401 Bearer {SECRET} {HOSTILE}"} if failed else {"value": value}
            rows.append({"stimulus": stimulus, "question": question, **answer})
        tables.append(made.predictions(model, rows))
    return pl.concat(tables)


def about() -> dict[str, ModelInfo]:
    """What is known of the models."""
    return {
        spec: ModelInfo(
            spec=spec,
            display_name=name,
            predictor=spec.partition(":")[0],
            version="2.1",
            hash="ab" * 32,
            identity=f"{spec} version 2.1",
        )
        for spec, (name, _) in MODELS.items()
    }


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("site")
    (folder / "media").mkdir()
    snapshot = studies.conveyance(folder / "media")
    snapshot.write(folder / "snapshot")
    held = hold_out(snapshot, "test", SplitOptions(shares={"train": 0.5, "test": 0.5}))
    held.snapshot.write(folder / "release" / "snapshot")
    assert held.benchmark is not None
    held.benchmark.write(folder / "release" / "benchmark")
    answers = predicted(held.private.items.select("stimulus", "question", "label"))
    write_bench(score(snapshot, answers, FEW, about=about()), answers, folder / "benches" / "first")
    write_bench(score(held.private, answers, FEW, about=about()), answers, folder / "private" / "all")
    return Made(snapshot, folder, held.private)
