"""``heartfelt score``: the same bytes whatever the machine's settings, the order of rows and the kind of file."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.errors import InputError
from heartfelt.scoring import ScoreOptions
from heartfelt.scoring.bench.manifest import LIBRARIES, differences, fixed_settings, rounded
from heartfelt.scoring.bench.pinned import ScoringRequest, score_pinned, verify
from heartfelt.scoring.bench.prediction_file import FileScorer
from heartfelt.serialization import dumps
from tests.facts import mentions
from tests.web.challenge.made import benchmark, predictions

TOP = Path(__file__).parents[3]
OTHER_MACHINE = {
    "OPENBLAS_CORETYPE": "Prescott",
    "OPENBLAS_NUM_THREADS": "4",
    "POLARS_MAX_THREADS": "3",
    "NUMBA_NUM_THREADS": "2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4",
    "PYTHONHASHSEED": "7",
}


@pytest.mark.slow
def test_the_same_bytes_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ScoreOptions(part="test", resamples=100)
    folder, table = benchmark().write(tmp_path / "benchmark"), predictions()
    table.write_csv(tmp_path / "model.csv")
    first = score_pinned(folder, tmp_path / "model.csv", options)
    assert first.manifest.settings == fixed_settings()
    # Rows of the file and of the benchmark in another order, another kind of file, and a parent with other settings.
    shuffled = {
        name: getattr(benchmark(), name).sample(fraction=1, shuffle=True, seed=5) for name in ("items", "stimuli")
    }
    other = replace(benchmark(), **shuffled).write(tmp_path / "shuffled")
    table.sample(fraction=1, shuffle=True, seed=6).write_parquet(tmp_path / "model.parquet")
    with monkeypatch.context() as patch:
        for name, value in OTHER_MACHINE.items():
            patch.setenv(name, value)
        again = score_pinned(other, tmp_path / "model.parquet", options)
    assert again.text == first.text
    assert [each.where for each in differences(first.manifest, again.manifest)] == ["scored.file", "scored.file_sha256"]
    # Without the fixed settings the digits that are written are still the same.
    asked = dumps(ScoringRequest(str(folder), str(tmp_path / "model.csv"), options), indent=None)
    plain = {name: value for name, value in os.environ.items() if name not in fixed_settings()}
    command = [sys.executable, "-m", "heartfelt.scoring.bench.pinned"]
    done = subprocess.run(
        command, input=asked, capture_output=True, text=True, env={**plain, **OTHER_MACHINE}, check=True
    )
    assert json.loads(done.stdout)["scores"] == first.text
    # An earlier run is verified from its folder, whatever else was different then.
    result = verify(again, first.write(tmp_path / "scores"))
    assert (result.same, len(result.facts), result.numbers) == (True, 2, ())


def evaluator() -> tuple[list[str], dict[str, str]]:
    """Entry point and environment of the evaluator's container, without its folders."""
    text = re.sub(r"\\\n", " ", (TOP / "deploy" / "evaluator" / "Containerfile").read_text("utf-8"))
    entry = json.loads(re.findall(r"(?m)^ENTRYPOINT (.*)$", text)[0])
    words = [word for line in re.findall(r"(?m)^ENV (.*)$", text) for word in shlex.split(line)]
    settings = dict(word.split("=", 1) for word in words)
    return entry, {name: value for name, value in settings.items() if not value.startswith("/")}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the container's settings are those of x86-64")
def test_the_evaluator_has_the_fixed_settings() -> None:
    assert {**evaluator()[1], **fixed_settings()} == evaluator()[1]
    pinned = (TOP / "constraints.txt").read_text("utf-8")
    assert all(re.search(rf"(?m)^{name}==", pinned) for name in LIBRARIES)


@pytest.mark.slow
def test_the_command_writes_and_verifies(tmp_path: Path) -> None:
    folder, file, out = benchmark().write(tmp_path / "benchmark"), tmp_path / "m.csv", tmp_path / "out"
    predictions().write_csv(file)
    common = ["score", str(folder), str(file)]
    # First as the evaluator's container does it: its entry point, with the settings it has.
    entry, settings = evaluator()
    assert entry == ["heartfelt", "score"]
    command = [sys.executable, "-m", *entry, *common[1:], "--part", "test", "--resamples", "500"]
    subprocess.run([*command, "--out", str(out)], env={**os.environ, **settings}, check=True, capture_output=True)
    assert {path.name for path in out.iterdir()} == {"scores.json", "scores.csv", "manifest.json"}
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["scored"]["benchmark"] == benchmark().hash
    assert manifest["options"]["part"] == "test"
    assert str(tmp_path) not in (out / "manifest.json").read_text() + (out / "scores.json").read_text()
    # Against the same computation without a second process: the same numbers, before rounding.
    here = FileScorer.of(benchmark(), ScoreOptions(part="test", resamples=500)).score_file(file)
    written = {
        (row["task"], row["metric"], row["aggregation"], row["at"] or ""): row["with_failures_value"]
        for row in pl.read_csv(out / "scores.csv").to_dicts()
    }
    for score in here.scores.scores:
        value = written[score.task, score.metric, score.aggregation, score.at]
        exact = score.with_failures.value
        assert (value is None) == (exact is None)
        assert exact is None or value == pytest.approx(exact, rel=1e-8)
    # Verifying takes part and resamples from the manifest.
    predictions(seed=2).write_csv(file)
    done = CliRunner().invoke(app, [*common, "--verify", str(out)], catch_exceptions=False)
    assert done.exit_code == 1
    assert "Not verified." in done.output
    assert "scored.file_sha256" in done.output
    assert mentions(done.output, "values", "scores.json")
    assert "options." not in done.output


@pytest.mark.slow
def test_labels_come_from_the_benchmark_and_rows_of_other_items_are_counted(tmp_path: Path) -> None:
    file, options = tmp_path / "m.csv", ScoreOptions(part="test", resamples=100, ceilings=False, slices=())
    table, scorer = predictions(right=0.2), FileScorer.of(benchmark(), options)
    table.write_csv(file)
    honest = scorer.score_file(file).scores
    table.with_columns(pl.col("value").alias("against")).write_csv(file)
    cheated = scorer.score_file(file).scores
    assert cheated.headline("valence", "m") == honest.headline("valence", "m")
    assert any("against" in note for note in cheated.notes)
    predictions(part=None, right=0.2).write_csv(file)
    everything = scorer.score_file(file)
    assert everything.answers[0].unused.height == (benchmark().items["split"] == "train").sum()
    with pytest.raises(InputError, match="no part 'tset'"):
        FileScorer.of(benchmark(), ScoreOptions(part="tset"))
    public = replace(benchmark(), items=benchmark().part("train"))
    with pytest.raises(InputError, match="has no labels") as error:
        FileScorer.of(public, ScoreOptions(part="test"))
    assert "held out" in error.value.fix


def test_numbers_are_rounded_to_significant_digits_and_differences_are_named() -> None:
    assert rounded({"a": [0.12345678949, 3, True, None, 1.5e-20], "b": "x"}) == {
        "a": [0.123456789, 3, True, None, 1.5e-20],
        "b": "x",
    }
    before, now = {"a": [1.0, {"b": 2.0}], "c": 1}, {"a": [1.0, {"b": 2.5}], "d": 1}
    assert [str(each) for each in differences(before, now)] == [
        "a.1.b: 2.0 before, 2.5 now",
        "c: 1 before, nothing now",
        "d: nothing before, 1 now",
    ]
