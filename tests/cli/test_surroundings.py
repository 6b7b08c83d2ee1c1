"""The command line where the disk is full, the terminal knows few letters, or the locale is C."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import heartfelt
from heartfelt.cli import PLAIN_LETTERS
from heartfelt.formats import FORMATS

SMALL = 3000
"""Bytes a file may have before the system says that there is no more space."""
NARROW = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


def run(
    *arguments: object, full_disk: bool = False, settings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, SMALL))

    return subprocess.run(
        [sys.executable, "-m", "heartfelt", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=240,
        # A full disk would cut the compiled modules too, for everyone who imports them afterwards.
        env={**os.environ, **(settings or {}), **({"PYTHONDONTWRITEBYTECODE": "1"} if full_disk else {})},
        preexec_fn=limit if full_disk else None,
    )


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("surroundings")
    heartfelt.read(FORMATS["aimoclips"].example(folder / "in"), "aimoclips").write(folder / "snapshot")
    return folder / "snapshot"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["new", "export", "import", "analyze", "bench"])
def test_a_full_disk_is_two_lines_and_nothing_half_written(command: str, snapshot: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = {
        "new": ["new", "aimoclips", out],
        "export": ["export", "long", snapshot, out],
        "import": ["import", "aimoclips", FORMATS["aimoclips"].example(tmp_path / "in"), out],
        "analyze": ["analyze", snapshot, "--out", out],
        "bench": ["bench", snapshot, "--model", "constant", "--out", out],
    }[command]
    done = run(*arguments, full_disk=True)
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 2, done.stderr
    assert len(lines) == 2
    assert lines[0] == "The disk is full; the output was not written." or "cache" in lines[0]
    assert "Traceback" not in done.stderr
    assert "fault in heartfelt" not in done.stderr
    assert not out.exists() or command == "bench", list(out.rglob("*"))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.slow
@pytest.mark.parametrize("terminal", NARROW)
def test_a_terminal_with_few_letters_shows_the_nearest_ones(terminal: str, snapshot: Path) -> None:
    every: list[list[object]] = [
        ["show", snapshot],
        ["check", snapshot / "…nowhere"],
        ["--help"],
        ["recipes"],
        ["formats"],
    ]
    # The other two terminals know more letters than ASCII or as many; what draws bars and what names a file will do.
    shown = []
    for arguments in every if terminal == "ascii" else every[:2]:
        done = run(*arguments, settings=NARROW[terminal])
        assert "fault in heartfelt" not in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
        shown.append(done.stdout)
    assert "#" in shown[0]


def test_every_letter_the_command_line_draws_has_a_plain_one() -> None:
    root = Path(heartfelt.__file__).parent / "cli"
    letters = {
        letter
        for path in root.rglob("*.py")
        if path.name != "__init__.py"
        for letter in path.read_text(encoding="utf-8")
        if not letter.isascii()
    }
    assert letters <= {chr(code) for code in PLAIN_LETTERS}, letters


@pytest.mark.slow
def test_a_study_without_its_media_is_not_called_ready(tmp_path: Path) -> None:
    made = run("new", "aimoclips", tmp_path / "study", "--no-media")
    assert made.returncode == 0, made.stderr
    done = run("check", "--no-pages", tmp_path / "study")
    assert done.returncode == 2
    assert "media files are missing" in done.stderr
    assert "valid." not in done.stdout
