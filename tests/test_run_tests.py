"""Tests with a browser or server that fail in parallel are repeated once, alone; no others are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "run_tests.py"
SETTINGS = """[pytest]
markers =
    browser
    server
"""
TESTS = """
import pathlib
import pytest

def times(name):
    path = pathlib.Path(name)
    path.write_text(path.read_text() + "x" if path.exists() else "x")
    return len(path.read_text())

@pytest.mark.browser
def test_page():
    assert times("page") >= {page}

@pytest.mark.server
def test_server():
    assert times("server") >= {server}

@pytest.mark.parametrize("number", range({many}))
@pytest.mark.browser
def test_many(number):
    assert False

def test_number():
    assert times("number") >= {number}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("need", "status", "runs", "words"),
    [
        ({}, 0, (1, 1, 1), ""),
        ({"page": 2, "server": 2}, 0, (2, 2, 1), "PASSED ONLY ON A QUIET MACHINE: "),
        ({"page": 2, "server": 3}, 1, (2, 2, 1), "Repeating, alone, what failed: "),
        ({"page": 2, "number": 2}, 1, (1, 1, 1), "nothing is repeated"),
        ({"page": 2, "many": 12}, 1, (1, 1, 1), "13 tests failed: too many to repeat"),
    ],
    ids=["passes", "only alone", "fails again", "another failed too", "too many"],
)
def test_what_is_repeated(tmp_path: Path, need: dict[str, int], status: int, runs: tuple[int, ...], words: str) -> None:
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    counts = {"page": 1, "server": 1, "number": 1, "many": 0} | need
    (tmp_path / "test_it.py").write_text(TESTS.format(**counts))
    stale = tmp_path / ".pytest_cache" / "v" / "cache"
    stale.mkdir(parents=True)
    (stale / "lastfailed").write_text('{"test_it.py::test_gone": true}')
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "-q"], cwd=tmp_path, capture_output=True, text=True, timeout=240,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    assert tuple(len((tmp_path / name).read_text()) for name in ("page", "server", "number")) == runs
    assert words in done.stdout
    loud = done.stdout.split("QUIET MACHINE: ")[1:]
    assert loud == (["test_it.py::test_page, test_it.py::test_server\n"] if words.startswith("PASSED") else [])
