"""``heartfelt distances``: tables, notes and files from a folder of systems."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from heartfelt.cli import main
from tests.scoring.test_distances import OneBlock, files, study


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEARTFELT_FEATURES", str(tmp_path / "features"))
    for place, system in enumerate(("near", "mid", "far")):
        files(tmp_path / "systems" / system, place, 14, place)
    return tmp_path


@pytest.mark.slow
def test_distances_of_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "out"
    command = [
        "distances",
        str(folder / "systems"),
        "--embedding",
        OneBlock.name,
        "--metric",
        "fad,kad",
        "-o",
        str(out),
    ]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "leave-one-out" in shown
    assert "Correlation" not in shown, "nobody rated these"
    assert {path.name for path in out.iterdir()} == {
        "correlations.csv", "distances.csv", "distances.json", "figures", "ledger.csv", "report.html",
    }  # fmt: skip
    assert pl.read_csv(out / "distances.csv").select("low", "high").drop_nulls().height == 6
    assert main(command) == 2
    assert "already exists" in capsys.readouterr().err


def test_distances_of_a_snapshot_beside_peoples_means(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study(folder / "systems").write(folder / "snapshot")
    media = folder / "snapshot"
    for path in (folder / "systems").rglob("*.wav"):
        copy = media / path.relative_to(folder / "systems")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    options = ["--embedding", OneBlock.name, "--reference", "system=near", "--metric", "kad", "--components", "4"]
    code = main(["distances", str(folder / "snapshot"), *options, "-o", str(folder / "out")])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    assert "Correlation of closeness" in shown.out
    assert "2 systems" in shown.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--embedding", "musik"], "musik"),
        (["--embedding", OneBlock.name, "--metric", "fda"], "no distance 'fda'"),
        (["--embedding", OneBlock.name, "--reference", "system=nobody"], "no system 'nobody'"),
    ],
)
def test_mistakes_are_two_lines(
    folder: Path, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["distances", str(folder / "systems"), *options, "-o", str(folder / "out")]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error
    assert not (folder / "out").exists()


@pytest.mark.slow
def test_pictures_that_cannot_be_read_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    for system in "AB":
        (tmp_path / "systems" / system).mkdir(parents=True)
        for place in range(5):
            pixels = rng.integers(0, 255, (48, 48, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "systems" / system / f"{place}.png")
    (tmp_path / "systems" / "A" / "broken.png").write_bytes(b"no picture")
    out = tmp_path / "out"
    assert main(["distances", str(tmp_path / "systems"), "--embedding", "picture", "-o", str(out)]) == 0
    ledger = pl.read_csv(out / "ledger.csv")
    assert ledger["stimulus"].to_list() == ["A/broken.png"]
    assert "1 row in the ledger" in capsys.readouterr().out
    found = pl.read_csv(out / "distances.csv")
    assert found["metric"].unique().sort().to_list() == ["fid", "kid"]
    assert "an interval needs 10" in found.filter(pl.col("metric") == "kid")["why"][0]
