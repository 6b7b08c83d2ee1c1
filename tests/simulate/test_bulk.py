from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt import simulate
from heartfelt.errors import InputError
from heartfelt.simulate import bulk


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 2, 999, 40_001])
def test_rows_are_exact_and_keys_unique(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "_CHUNK_TRIALS", 777)
    made = simulate.long_csv(tmp_path / "deep/long.csv", rows, per_rater=50)
    table = pl.read_csv(made.path)
    assert table.columns == ["rater", "stimulus", "question", "value", "position", "seconds"]
    assert table.height == rows == made.rows
    assert not table.select("rater", "stimulus", "question").is_duplicated().any()
    assert table["rater"].n_unique() == made.raters
    assert table["stimulus"].n_unique() == made.stimuli
    assert table["value"].is_between(1, 9).all()
    assert table["seconds"].min() > 0  # type: ignore[operator]  # a number, the column is not empty
    assert table["position"].is_between(1, 50).all()
    assert [p.name for p in made.path.parent.iterdir()] == ["long.csv"]


@pytest.mark.slow
def test_planted_spreads_and_balance(tmp_path: Path) -> None:
    made = simulate.long_csv(tmp_path / "long.csv", 120_000, questions=2, per_rater=200, per_stimulus=12, seed=1)
    table = pl.read_csv(made.path)
    counts = table.group_by("stimulus", "question").len()["len"].to_numpy()
    assert counts.min() >= 11
    assert counts.max() <= 12
    within = float(np.mean(table.group_by("stimulus", "question").agg(pl.col("value").var())["value"].to_numpy()))
    # Rater bias and noise, and a twelfth of a point squared for rounding.
    assert within == pytest.approx(0.7**2 + 1.3**2 + 1 / 12, rel=0.06)
    assert float(table["value"].to_numpy().var()) == pytest.approx(1.2**2 + within, rel=0.06)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    digests = [
        hashlib.sha256(simulate.long_csv(tmp_path / f"{k}.csv", 5_000, seed=seed).path.read_bytes()).hexdigest()
        for k, seed in enumerate((3, 3, 4))
    ]
    assert digests[0] == digests[1] != digests[2]


def test_nothing_is_left_behind_by_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> pl.DataFrame:
        raise OSError("no space left")

    monkeypatch.setattr(bulk, "_chunk", broken)
    with pytest.raises(OSError, match="no space"):
        simulate.long_csv(tmp_path / "long.csv", 10)
    assert list(tmp_path.iterdir()) == []


def test_no_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        simulate.long_csv(tmp_path / "long.csv", 0)
