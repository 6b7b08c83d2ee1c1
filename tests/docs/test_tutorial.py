"""The tutorial runs as printed, from a study's idea to its published benchmark.

Blocks marked no-run wait for people, or repeat what the read-me's test runs on the demo (plan, analyze).
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from heartfelt.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(bash|python|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.timeout(600)
def test_the_tutorial_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for language, block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if language == "yaml":
            name = block.splitlines()[0].removeprefix("# ")
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(block, encoding="utf-8")
        elif language == "python":
            exec(compile(block, str(PAGE), "exec"), {})  # the page's own code is what is under test
        else:
            for line in block.splitlines():
                program, *arguments = shlex.split(line)
                assert program == "heartfelt"
                assert main(arguments) == 0, line
    ratings = pl.read_parquet(tmp_path / "snapshot" / "ratings.parquet")
    assert ratings["stimulus"].n_unique() == 24
    assert "Emotion of three synthesisers" in (tmp_path / "published" / "README.md").read_text(
        encoding="utf-8"
    )
    scores = pl.read_csv(tmp_path / "scores" / "scores.csv")
    assert scores.height > 0
    assert "First study" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
