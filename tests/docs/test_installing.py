"""The page on installing says what each command needs, and so do the commands themselves; sizes are checked with the installs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from scripts.try_installs import ENVIRONMENTS, INSTALLED

from heartfelt.cli.app import app
from heartfelt.cli.needs import NEEDS, commands_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")


def documented() -> dict[str, str]:
    """Each command of the table with the first install its row names."""
    rows = re.findall(r"^\| (`.+) \| (.+) \|$", PAGE.partition("## Which command needs what")[2], re.MULTILINE)
    return {
        command: re.match(r"`?(\w+)`?", needed)[1]  # type: ignore[index]  # every cell has a word
        for commands, needed in rows
        for command in re.findall(r"`([^`]+)`", commands)
    }


def test_every_command_is_in_the_table_with_the_extra_it_asks_for() -> None:
    commands = {name for name, _ in commands_of(app)}
    table = {name: extra for name, extra in documented().items() if " --" not in name}
    assert set(table) == commands
    assert {name: extra for name, extra in table.items() if extra != "base"} == NEEDS


def test_every_install_that_is_tried_and_every_extra_is_on_the_page() -> None:
    installs = {match["install"] for match in INSTALLED.finditer(PAGE)}
    tried = {"pip install ." if name == "base" else f'pip install ".[{name}]"' for name in ENVIRONMENTS}
    assert installs == tried
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for_developers = {"dev", "peers", "browser", "servers", "docs"}
    for extra in set(project["optional-dependencies"]) - for_developers:
        assert f"`{extra}`" in PAGE or f"[{extra}]" in PAGE, extra
    versions = {text.rpartition(" ")[2] for text in project["classifiers"] if "Python :: 3." in text}
    assert all(version in PAGE for version in versions)
