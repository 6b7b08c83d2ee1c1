"""The command line as users meet it: two lines and exit code 2 for a mistake, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import heartfelt
from heartfelt.cli import main
from heartfelt.formats import FORMATS
from heartfelt.study.recipes import RECIPES
from tests.facts import mentions


def run(*arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, list[str]]:
    code = main([str(argument) for argument in arguments])
    answer = capsys.readouterr()
    return code, answer.out, answer.err.strip().splitlines()


@pytest.mark.slow
def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version", capsys=capsys)[:2] == (0, f"heartfelt {heartfelt.__version__}\n")
    code, text, _ = run("--help", capsys=capsys)
    assert code == 0
    assert "import" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["import"],
        ["import", "aimoclips", "nowhere", "out"],
        ["import", "aimoclip", ".", "out"],
        ["show", "nowhere"],
        ["show", "--wrong"],
        ["export", "long", "nowhere", "out"],
        ["new", "aimoclip", "out"],
        ["check", "nowhere"],
        ["import", "long", ".", "out", "--map", "x"],
        ["new", "aimoclips", "out", "--per-cell", "0"],
    ],
    ids=" ".join,
)
def test_mistakes_are_two_lines(
    arguments: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, answer = run(*arguments, capsys=capsys)
    assert code == 2
    assert len(answer) == 2, answer
    assert list(tmp_path.iterdir()) == []


def test_a_fault_of_ours_says_so_in_two_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr("heartfelt.study.json_schema", broken)
    monkeypatch.delenv("HEARTFELT_TRACEBACK", raising=False)
    code, _, answer = run("schema", capsys=capsys)
    assert code == 1
    assert answer[0] == "heartfelt failed: ZeroDivisionError: boom"
    assert len(answer) == 2


@pytest.mark.slow
def test_import_show_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = FORMATS["aimoclips"].example(tmp_path / "in")
    code, text, _ = run("import", "aimoclips", source, tmp_path / "snap", capsys=capsys)
    assert code == 0
    assert "11 rated stimuli, 1 unrated" in text
    assert "44 x 2 ratings, 4 raters" in text
    code, text, _ = run("show", tmp_path / "snap", capsys=capsys)
    assert (code, "ratings per item" in text, "█" in text) == (0, True, True)
    code, _, _ = run("export", "long", tmp_path / "snap", tmp_path / "out", capsys=capsys)
    assert code == 0
    assert (
        heartfelt.read(tmp_path / "out").table_hashes["ratings"]
        == heartfelt.load(tmp_path / "snap").table_hashes["ratings"]
    )


@pytest.mark.slow
def test_the_folder_to_make_must_be_free_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "snap").mkdir()
    (tmp_path / "snap" / "x").write_text("precious")
    code, _, answer = run("import", "aimoclips", "nowhere", tmp_path / "snap", capsys=capsys)
    assert (code, "already exists" in answer[0]) == (2, True)


def test_real_data(shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = run("import", "aimoclips", shared_data / "aimoclips", tmp_path / "aimo", capsys=capsys)
    assert code == 0
    assert mentions(text, "991 rated", "17 unrated", "6 systems", "12 intents")
    assert "6,162 x 2 ratings, 111 raters" in text


@pytest.mark.slow
def test_means_say_what_they_cannot_tell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = FORMATS["means"].example(tmp_path / "in")
    _, text, _ = run("import", "means", source, tmp_path / "snap", capsys=capsys)
    assert mentions(text, "6 published", "means", "ratings")


@pytest.mark.slow
def test_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = run("schema", capsys=capsys)
    assert code == 0
    assert "questions" in json.loads(text)["properties"]


@pytest.mark.slow
def test_recipes_and_formats_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert all(name in run("recipes", capsys=capsys)[1] for name in RECIPES)
    assert all(name in run("formats", capsys=capsys)[1] for name in FORMATS)


@pytest.mark.slow
def test_a_closed_pipe_is_no_fault() -> None:
    code = f"{sys.executable} -m heartfelt schema | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {code}"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr
