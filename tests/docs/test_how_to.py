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

import pytest
import typer.main
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.study import parse_study

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))
RUN_FROM_THE_WHEEL = [ROOT / "README.md", ROOT / "docs" / "tutorial.md"]
BLOCK = re.compile(r"^```(bash|csv|python)(?: (\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
YAML = re.compile(r"^ *```yaml\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
COMMANDS: dict[str, Any] = getattr(typer.main.get_command(app), "commands", {})


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for language, name, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if name:
            (tmp_path / name).write_text(block, encoding="utf-8")
            continue
        assert language == "bash", "a table or a module names its file"
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


@pytest.mark.parametrize("page", [*RUN_FROM_THE_WHEEL, *PAGES], ids=lambda page: page.stem)
def test_every_option_in_a_page_is_one_of_its_command(page: Path) -> None:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"heartfelt ([a-z][^`\n|#]*)", text):
        command, *words = line.split()
        if command not in COMMANDS:
            continue
        chosen = COMMANDS[command]
        if words and words[0] in getattr(chosen, "commands", {}):
            chosen = chosen.commands[words[0]]
        options = {
            option for parameter in chosen.params for option in parameter.opts + parameter.secondary_opts
        }
        for word in words:
            if word.startswith("--"):
                assert word.split("=")[0] in options, f"{page.name}: heartfelt {command} {word}"
