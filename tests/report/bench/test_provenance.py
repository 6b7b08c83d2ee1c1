"""A bench says which models answered, which version scored them, and how a file's own intervals did."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import polars as pl
import pytest

from heartfelt import __version__
from heartfelt.labels import labels
from heartfelt.predictors import PredictorInfo, Run, predictor_from
from heartfelt.predictors.trained.predictor import TrainedPredictor
from heartfelt.report.bench import run_bench
from heartfelt.scoring import ScoreOptions
from heartfelt.scoring.bench import BenchOptions, model_info
from heartfelt.snapshot import Snapshot
from tests.predictors.examples import trained_example
from tests.scoring import made


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return made.numbers(per_cell=3)[0]


@pytest.fixture(scope="module")
def answers(snapshot: Snapshot, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is 0.3 off and gives intervals a unit to each side."""
    held = labels(snapshot).table.select("stimulus", "question", (pl.col("value") + 0.3).alias("value"))
    path = tmp_path_factory.mktemp("answers") / "mine.csv"
    held.with_columns((pl.col("value") - 1).alias("low"), (pl.col("value") + 1).alias("high")).write_csv(path)
    return path


@pytest.mark.slow
def test_versions_models_and_options_are_named(snapshot: Snapshot, answers: Path, tmp_path: Path) -> None:
    spec = f"file:{answers}"
    options = BenchOptions(score=ScoreOptions(seed=7, ceilings=False, interval_confidence=0.8))
    run_bench(snapshot, [spec, "sham"], tmp_path / "out", options)
    answer = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert answer["heartfelt_version"] == __version__
    assert answer["hash"] == snapshot.hash
    assert answer["options"]["seed"] == 7
    info = answer["model_info"][spec]
    assert (info["spec"], info["predictor"]) == (spec, "file")
    assert info["hash"] == hashlib.sha256(answers.read_bytes()).hexdigest()
    assert answer["model_info"]["sham"]["identity"] == "sham clap-sham-v1"
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"Scored by heartfelt {__version__}" in page
    scores = {
        each["metric"]: each for each in answer["scores"] if each["model"] == spec and each["aggregation"] == "item"
    }
    assert scores["interval_coverage"]["estimate"]["value"] == 1.0
    assert scores["interval_coverage"]["estimate"]["low"] < 1
    assert scores["interval_width"]["estimate"]["value"] == pytest.approx(2.0)
    assert scores["interval_score"]["estimate"]["value"] == pytest.approx(2.0)
    assert answer["details"]["valence"]["models"][spec]["intervals"]["confidence"] == 0.8
    assert "coverage of the predictor&#39;s intervals" in page


def empty_run(model: str, identity: str, info: PredictorInfo) -> Run:
    return Run(
        model=model,
        identity=identity,
        predictor=info,
        counts={},
        seconds=0.0,
        usage=None,
        table=pl.DataFrame(),
        ledger=pl.DataFrame(),
        calls=None,
    )


def test_a_trained_model_says_its_name_hash_and_confidence(tmp_path: Path) -> None:
    predictor = predictor_from(f"trained:{trained_example(tmp_path)}")
    assert isinstance(predictor, TrainedPredictor)
    done = empty_run(predictor.spec, predictor.identity, predictor.info)
    info = model_info(predictor, done)
    assert (info.display_name, info.hash, info.interval_confidence) == ("example", predictor.model.hash, 0.9)


@pytest.mark.parametrize(
    ("identity", "version", "digest"),
    [
        ("endpoint http://localhost version 2.1, sends audio", "2.1", None),
        ("clap laion/clap@0123456789abcdef windows=1", "0123456789abcdef", "0123456789abcdef"),
        ("intent of labels 6ca007b910cc0cf1", None, None),
    ],
)
def test_versions_are_read_off_identities(identity: str, version: str | None, digest: str | None) -> None:
    predictor = predictor_from("sham")
    info = model_info(predictor, empty_run("m", identity, predictor.info))
    assert (info.version, info.hash) == (version, digest)
