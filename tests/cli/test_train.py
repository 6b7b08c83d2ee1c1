"""``heartfelt train`` and ``heartfelt evaluate`` on a snapshot with planted truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.errors import InputError
from heartfelt.predictors.trained.model import load_trained
from tests.training.studies import planted


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEARTFELT_FEATURES", str(tmp_path / "features"))
    return planted(tmp_path / "media", 3).write(tmp_path / "snapshot")


def ask(*words: str) -> tuple[int, str, BaseException | None]:
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.stdout, done.exception


@pytest.mark.slow
def test_a_model_and_its_evaluation(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    code, answer, error = ask("train", str(source), "-o", str(out), "--recipe", "digits", "--policy", "none")
    assert code == 0, error
    assert "leave one system out" in answer
    assert load_trained(out).outputs[0].question == "valence"
    rows = json.loads((out / "evaluation" / "evaluation.json").read_text())["rows"]
    assert {row["protocol"] for row in rows} == {"five-fold", "leave-one-system-out", "within-cells"}
    assert "Scores" in (out / "README.md").read_text()


@pytest.mark.slow
def test_an_evaluation_alone(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "evaluation"
    words = ["--recipe", "digits", "--policy", "none", "--heads", "ridge"]
    code, _, error = ask("evaluate", str(source), "-o", str(out), *words)
    assert code == 0, error
    assert (out / "report.html").is_file()
    assert not (out / "model.json").exists()


@pytest.mark.slow
def test_a_folder_that_is_there_and_an_unknown_head_are_refused(source: Path, tmp_path: Path) -> None:
    _, _, error = ask("train", str(source), "-o", str(source), "--recipe", "digits")
    assert isinstance(error, InputError)
    assert "already exists" in error.problem
    _, _, error = ask("train", str(source), "-o", str(tmp_path / "x"), "--heads", "forest")
    assert isinstance(error, InputError)
    assert not (tmp_path / "x").exists()
