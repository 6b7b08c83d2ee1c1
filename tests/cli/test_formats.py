"""``heartfelt formats``: the table, one format, and its command, which works as printed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from heartfelt.cli import main
from heartfelt.formats import FORMATS
from tests.facts import mentions


def test_the_table_is_short(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["formats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    named = [line.split()[0] for line in lines[1:] if line[:1].strip()]
    assert named[: len(FORMATS)] == FORMATS.names()
    assert len(lines) < 3 * len(FORMATS) + 5
    assert not any("--map" in line for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS.names())
def test_the_command_of_a_format_reads_its_example(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["formats", name, "--example", "example"]) == 0
    text = capsys.readouterr().out
    assert FORMATS[name].about in " ".join(text.split())
    assert all(f"  {option} " in text for option in FORMATS[name].options)
    command = next(line for line in text.splitlines() if line.startswith("  heartfelt import"))
    assert main(shlex.split(command)[1:]) == 0, capsys.readouterr().err
    assert (tmp_path / "snapshot" / "manifest.json").is_file()


def test_a_format_shows_lines_of_its_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats", "long"]) == 0
    text = capsys.readouterr().out
    assert "    rater,stimulus,question,value" in text
    assert "heartfelt import long ratings.csv snapshot" in text
    assert mentions(text, "heartfelt", "OUT")


def test_an_unknown_format_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats", "webmusra"]) == 2
    assert "Did you mean 'webmushra'?" in capsys.readouterr().err
    assert main(["formats", "--example", "somewhere"]) == 2
