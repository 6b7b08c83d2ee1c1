"""Files that version 0.7.0 wrote still open: a store, a snapshot, stored predictions and a bench.

``old_files/version_0_7`` was written by that version: a study of eight images, answered by six simulated raters over HTTP.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.cli import main
from heartfelt.collect.collection import collected_snapshot

OLD = Path(__file__).parent / "old_files" / "version_0_7"
HASH = "65e5f5434109a9b3118b3230be17fd02c581ede5767684fe38bc70b2d00c1696"
"""Of the snapshot, as version 0.7.0 computed it."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    folder = tmp_path / "old"
    shutil.copytree(OLD, folder)
    for packed in folder.rglob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    return folder


def test_a_snapshot_keeps_its_hash_when_it_is_read_and_written(old: Path, tmp_path: Path) -> None:
    snapshot = heartfelt.load(old / "snapshot")
    assert snapshot.hash == HASH
    assert (snapshot.ratings.height, snapshot.raters.height, snapshot.stimuli.height) == (48, 6, 8)
    snapshot.write(tmp_path / "again")
    assert heartfelt.load(tmp_path / "again").table_hashes == snapshot.table_hashes
    assert json.loads((tmp_path / "again" / "manifest.json").read_text(encoding="utf-8"))["hash"] == HASH


@pytest.mark.server
def test_a_store_is_migrated_and_gives_the_same_snapshot(old: Path) -> None:
    store = old / "study" / "collected.sqlite"
    with sqlite3.connect(store) as connection:
        before = connection.execute("select version_num from alembic_version").fetchall()
    assert before == [("0004",)]
    assert collected_snapshot(old / "study").hash == HASH
    with sqlite3.connect(store) as connection:
        assert connection.execute("select version_num from alembic_version").fetchall() > before


@pytest.mark.slow
def test_stored_predictions_are_scored(old: Path) -> None:
    stored = old / "bench" / "runs" / "intent" / "predictions.csv"
    bench = heartfelt.bench(old / "snapshot", {"stored": f"file:{stored}"})
    key = ["stimulus", "question", "value"]
    answers = bench.predictions.select(key).with_columns(pl.col("value").cast(pl.Float64))
    assert sorted(answers.rows()) == sorted(pl.read_csv(stored).select(key).rows())


@pytest.mark.slow
def test_a_bench_is_shown(old: Path, tmp_path: Path) -> None:
    assert main(["view", str(old / "bench"), str(tmp_path / "answers")]) == 0
    assert main(["site", str(old / "bench"), str(tmp_path / "site")]) == 0
    assert "pixels:brightness" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
