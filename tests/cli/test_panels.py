"""The commands by their names: every one in a panel, old names with a note, and no sentence that names an old or unknown one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

import heartfelt
from heartfelt.cli import main
from heartfelt.cli.app import app, command_tree
from heartfelt.cli.panels import PANELS

PACKAGE = Path(heartfelt.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
MENTION = re.compile(r"(?P<quote>['`\"(/]?)\bheartfelt (?P<words>[a-z][a-z-]*(?: [a-z][a-z-]*)?)")
TEXTS = {".md", ".toml", ".yaml", ".html", ".js", ".j2", ".txt", ".service", ".timer", ""}


@cache
def commands() -> dict[str, Any]:
    found: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # it is a group
    return found


def test_every_command_is_in_one_panel_and_none_is_hidden() -> None:
    listed = [name for names in PANELS.values() for name in names]
    assert len(listed) == len(set(listed)) <= 40
    assert set(commands()) == set(listed)
    assert not any(command.hidden for command in commands().values())


def test_the_help_shows_the_panels_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    marks = [f"─ {panel} ─" for panel in PANELS]
    assert re.findall("|".join(marks), text) == marks
    shown = re.findall(r"^│ ([a-z][a-z-]*) ", text, re.MULTILINE)
    assert shown == [name for names in PANELS.values() for name in names]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "fix"),
    [
        ("tokn", "Did you mean 'heartfelt study token'?"),
        ("leaderboard", "See 'heartfelt --help'."),
        ("participants", "Did you mean 'heartfelt study participants'?"),
        ("erase", "Did you mean 'heartfelt study erase'?"),
        ("analyse", "Did you mean 'heartfelt analyze'?"),
        ("pull", "Did you mean 'heartfelt models pull'?"),
    ],
)
def test_an_unknown_name_leads_to_the_current_one(typed: str, fix: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([typed, "x"]) == 2
    assert capsys.readouterr().err.splitlines() == [f"There is no command '{typed}'.", fix]


def sentences(path: Path) -> Iterator[str]:
    """The texts of a file; the words of a list that begins with the program are one text."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield text
        return
    if '"heartfelt"' not in text and not MENTION.search(text):
        return  # it only imports the package
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.List):
            yield " ".join(
                part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "…"
                for part in node.elts
            ).replace("-m heartfelt", "`heartfelt")


def problem(quoted: bool, words: list[str]) -> str | None:
    """What is wrong with a command that a text names; a text may also say that heartfelt does something."""
    command = commands().get(words[0])
    if command is None:
        return "unknown" if quoted else None
    inside = getattr(command, "commands", None)
    return "unknown" if quoted and inside and words[1:] and words[1] not in inside else None


@pytest.mark.slow
def test_every_command_that_is_named_exists_under_that_name() -> None:
    files = [path for path in PACKAGE.rglob("*") if path.suffix in TEXTS | {".py"} and path.is_file()]
    files += [*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]
    files += [path for path in (ROOT / "deploy").rglob("*") if path.is_file()]
    named, wrong = 0, []
    for path in files:
        if path.name in {"panels.py", "SHA256SUMS"}:
            continue
        for text in sentences(path):
            for mention in MENTION.finditer(text):
                words = mention["words"].split()
                named += bool(mention["quote"])
                reason = problem(mention["quote"] in {"'", "`", "/"}, words)
                wrong += [f"{path.name}: heartfelt {' '.join(words)} is {reason}"] if reason else []
    assert wrong == []
    assert named > 50


@pytest.mark.parametrize("words", ["token", "study tokens", "new-study"])
def test_a_command_that_does_not_exist_is_noticed(words: str) -> None:
    assert problem(True, words.split()) is not None


@pytest.mark.slow
def test_a_command_that_is_read_alone_is_the_one_of_the_whole_tree() -> None:
    """Only the command that is named is read; it must parse and describe itself as it would among all the others."""
    whole = command_tree(None)
    for name, command in whole.commands.items():
        alone = command_tree(name)
        assert list(alone.commands) == [name]
        assert alone.params[0].opts == whole.params[0].opts
        assert _described(alone.commands[name]) == _described(command)
    assert command_tree("nonsense").commands.keys() == whole.commands.keys()


def _described(command: Any) -> Any:
    """The help, the panel and the parameters of a command, and of those in it."""
    inner = {name: _described(each) for name, each in getattr(command, "commands", {}).items()}
    parameters = [(each.name, each.opts, each.required, each.nargs) for each in command.params]
    return command.name, command.help, command.hidden, command.rich_help_panel, parameters, inner
