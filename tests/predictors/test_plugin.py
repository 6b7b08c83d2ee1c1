"""The package of docs/how-to/own-predictor.md, as printed: installed with pip, then used from the command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

from tests.facts import mentions
from tests.predictors.studies import snapshot

# Installing and every command take a process of their own.
pytestmark = pytest.mark.slow
PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "own-predictor.md"
FILES = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))


def install(source: Path, files: Mapping[str, str], target: Path) -> None:
    """Install a package of these files with pip, from nothing but what is on this machine."""
    # Imported here, setuptools would meet the distutils of the standard library that others imported before.
    if find_spec("setuptools") is None:
        pytest.skip("setuptools builds the package")
    source.mkdir(parents=True)
    for name, content in files.items():
        (source / name).write_text(content, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-index"]
    options = ["--no-deps", "--no-build-isolation", "--target", str(target)]
    done = subprocess.run([*pip, *options, str(source)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with the page's, and one that does not load."""
    home = tmp_path_factory.mktemp("plugin")
    assert set(FILES) == {"pyproject.toml", "heartfelt_pauses.py"}
    install(home / "heartfelt-pauses", FILES, home / "site")
    broken = {
        "pyproject.toml": FILES["pyproject.toml"].replace("pauses", "broken").replace("levels", "dull"),
        "heartfelt_broken.py": "import no_such_module_here\n",
    }
    install(home / "heartfelt-broken", broken, home / "site")
    return home / "site"


def heartfelt(site: Path, *arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(site), *(path for path in sys.path if path)])
    environment = {**os.environ, "PYTHONPATH": paths, "HEARTFELT_FEATURES": str(folder / "features")}
    command = [sys.executable, "-m", "heartfelt", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240, cwd=folder)


def test_it_is_listed_and_so_is_the_one_that_does_not_load(site: Path, tmp_path: Path) -> None:
    rows = {
        row["name"]: row
        for row in json.loads(heartfelt(site, "models", "predictors", "--json", folder=tmp_path).stdout)
    }
    assert rows["pauses"]["package"] == "heartfelt_pauses"
    assert rows["constant"]["package"] == "heartfelt"
    assert "no_such_module_here" in rows["broken"]["problem"]
    listed = heartfelt(site, "models", "predictors", folder=tmp_path).stdout
    assert "share of the clip that is silent" in listed
    assert mentions(listed, "predictor", "'broken'")


def test_files_are_predicted_with_it(site: Path, tmp_path: Path) -> None:
    sound = np.sin(np.arange(16_000) * 0.2)
    sound[4_000:] = 0
    soundfile.write(tmp_path / "a.wav", sound, 16_000)
    done = heartfelt(site, "predict", "a.wav", "--model", "pauses", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["question"], row["score"]) == ("pauses", pytest.approx(0.75, abs=0.011))
    broken = heartfelt(site, "predict", "a.wav", "--model", "broken", folder=tmp_path)
    assert broken.returncode != 0
    assert "no_such_module_here" in broken.stderr
    assert "Traceback" not in broken.stderr


def test_it_is_scored_against_raters(site: Path, tmp_path: Path) -> None:
    snapshot(tmp_path / "study", 8).write(tmp_path / "rated")
    models = ["--model", "pauses:-40", "--model", "constant"]
    done = heartfelt(site, "bench", "rated", *models, "--out", "scores", folder=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    tables = [pl.read_parquet(path) for path in (tmp_path / "scores").rglob("predictions.parquet")]
    mine = next(table for table in tables if "pauses:-40" in table["model"].to_list())
    mine = mine.filter((pl.col("model") == "pauses:-40") & (pl.col("question") == "valence"))
    assert mine.height == 8
    assert mine["score"].is_not_null().all()


def test_a_head_is_trained_on_its_embedding(site: Path, tmp_path: Path) -> None:
    data = snapshot(tmp_path / "study", 24)
    data.write(tmp_path / "rated")
    arguments = ["train", "rated", "--embedding", "levels", "--policy", "none", "--heads", "ridge", "--out", "head"]
    done = heartfelt(site, *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert json.loads((tmp_path / "head" / "model.json").read_text())["embedding"] == "levels"
