"""The how-to pages: what can run here runs as printed; every other command and option in them exists.

The read-me and the tutorial run as printed from the built wheel, by ``scripts/try_installs.py``; here only their options are
checked.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer.main
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.study import parse_study
from tests.cases import check_all
from tests.formats.workbook_files import Cell, write_xlsx

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))
RUN_FROM_THE_WHEEL = [ROOT / "README.md", ROOT / "docs" / "tutorial.md"]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
YAML = re.compile(r"^ *```yaml\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
COMMANDS: dict[str, Any] = getattr(typer.main.get_command(app), "commands", {})


def write_binary_files(page: str, folder: Path) -> None:
    """The files of pages about formats that cannot be printed."""
    if page == "excel":
        rows: list[list[Cell]] = [
            ["participant", "clip", "valence", "arousal"],
            ["p1", "c1", 7, 6],
            ["p1", "c2", 2, 3],
            ["p2", "c1", 8, 6],
            ["p2", "c2", 3, 1],
        ]
        write_xlsx(folder / "ratings.xlsx", {"Notes": [["Study 1"]], "Data": rows})
    elif page == "spss":
        pyreadstat = pytest.importorskip("pyreadstat")
        survey = {"id": ["p1", "p2"], "sex": [1.0, 2.0], "valence_1": [7.0, 6.0], "valence_2": [2.0, 99.0]}
        pyreadstat.write_sav(pl.DataFrame(survey), folder / "survey.sav", missing_ranges={"valence_2": [99]})


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_binary_files(page.stem, tmp_path)
    for language, name, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if name:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(block, encoding="utf-8")
            continue
        assert language not in {"csv", "json", "python"}, "a table or a module names its file"
        if language != "bash":
            continue
        for line in block.splitlines():
            program, *words = shlex.split(line)
            assert program == "heartfelt"
            done = CliRunner().invoke(app, words, catch_exceptions=False)
            assert done.exit_code == 0, f"{line}\n{done.output}"


def test_every_study_in_a_page_is_valid() -> None:
    studies = [(page, block) for page in PAGES for block in YAML.findall(page.read_text(encoding="utf-8"))]
    assert len(studies) >= 4
    for page, block in studies:
        parse_study(textwrap.dedent(block), page.name)


@check_all("page", [*RUN_FROM_THE_WHEEL, *PAGES], ids=lambda page: page.stem)
def test_every_option_in_a_page_is_one_of_its_command(page: Path) -> None:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"heartfelt ([a-z][^`\n|#]*)", text):
        command, *words = line.split()
        if command not in COMMANDS:
            continue
        chosen = COMMANDS[command]
        if words and words[0] in getattr(chosen, "commands", {}):
            chosen = chosen.commands[words[0]]
        options = {option for parameter in chosen.params for option in parameter.opts + parameter.secondary_opts}
        for word in words:
            if word.startswith("--"):
                assert word.split("=")[0] in options, f"{page.name}: heartfelt {command} {word}"
