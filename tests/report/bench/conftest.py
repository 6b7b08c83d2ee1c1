"""Benches of every kind of task, made once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.labels import labels
from heartfelt.report.bench import write_bench
from heartfelt.scoring import ScoreOptions, Scores, score
from heartfelt.snapshot import Snapshot
from tests.report import studies
from tests.scoring import made

FEW = ScoreOptions(resamples=200)


def told(snapshot: Snapshot) -> pl.DataFrame:
    """Three models of a study of numbers: one good, one poor that fails at times, one that says one thing."""
    held = labels(snapshot).table.filter(pl.col("value").is_not_null())
    draw = np.random.default_rng(5)
    tables = []
    for model, noise in (("good <one>", 0.5), ("poor", 2.0), ("flat", None)):
        rows = []
        for k, row in enumerate(held.iter_rows(named=True)):
            answer = 5.0 if noise is None else float(row["value"] + draw.normal(0, noise))
            gone = model == "poor" and k % 9 == 0
            rows.append(
                {
                    "stimulus": row["stimulus"],
                    "question": row["question"],
                    **({"problem": "HTTP 500"} if gone else {"value": answer}),
                }
            )
        tables.append(made.predictions(model, rows))
    return pl.concat(tables)


@pytest.fixture(scope="session")
def sounding(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Tones on two axes."""
    return studies.conveyance(tmp_path_factory.mktemp("bench-tones"))


@pytest.fixture(scope="session")
def numbered(sounding: Snapshot) -> Scores:
    return score(sounding, told(sounding), FEW)


@pytest.fixture(scope="session")
def folder(sounding: Snapshot, numbered: Scores, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a bench of numbers, with media."""
    return write_bench(numbered, told(sounding), tmp_path_factory.mktemp("bench") / "one", snapshot=sounding)


@pytest.fixture(scope="session")
def sided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a bench of presence: a model of scores and one of probabilities."""
    snapshot, truth = made.presence(stimuli=40)
    draw = np.random.default_rng(2)
    keys = [{"stimulus": s, "question": q} for s, q in truth]
    scores = [{**key, "score": float(v - 1 + draw.normal(0, 0.7))} for key, v in zip(keys, truth.values(), strict=True)]
    chances = []
    for key, value in zip(keys, truth.values(), strict=True):
        chance = float(1 / (1 + np.exp(-(2 * value - 1.2 + draw.normal()))))
        shares = made.shares({"no": 1 - chance, "weak": chance / 2, "strong": chance / 2})
        chances.append({**key, "value": float(chance > 0.5), "shares": shares})
    answer = pl.concat([made.predictions("similar", scores), made.predictions("likely", chances)])
    result = score(snapshot, answer, ScoreOptions(resamples=200, ceilings=False))
    return write_bench(result, answer, tmp_path_factory.mktemp("bench") / "two")


@pytest.fixture(scope="session")
def worded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a bench of categories and captions."""
    snapshot = made.feelings(stimuli=25)
    rows = [{"stimulus": f"c{k}", "question": "feeling", "answer": ("joy", "fear", "calm")[k % 3]} for k in range(25)]
    rows += [{"stimulus": f"c{k}", "question": "caption", "answer": f"a joy song number {k}"} for k in range(25)]
    answer = made.predictions("talker", rows)
    result = score(snapshot, answer, ScoreOptions(resamples=200, ceilings=False))
    return write_bench(result, answer, tmp_path_factory.mktemp("bench") / "three")
