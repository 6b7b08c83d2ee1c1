"""Sentences name options: each that is written anywhere in the package must be one that a command has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import heartfelt
from heartfelt.cli.app import app

PACKAGE = Path(heartfelt.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
OTHER_PROGRAMS = {
    "extras.py": {"--force"},
    "study/parts/branding.py": {"--accent", "--accent-ink", "--card", "--paper", "--ring", "--tint"},
    "web/challenge/pages.py": {"--data-binary"},
    "report/site/pages.py": {"--data-binary"},
    "predictors/weights/hub.py": {"--local-dir"},
    "predictors/weights/store.py": {
        "--dest", "--disable-pip-version-check", "--no-deps", "--no-input", "--only-binary", "--quiet", "--retries",
    },
}  # fmt: skip


def commands(command: Any) -> Iterator[Any]:
    yield command
    for each in getattr(command, "commands", {}).values():
        yield from commands(each)


@pytest.mark.slow
def test_every_option_that_is_named_exists() -> None:
    known = {
        name
        for command in commands(typer.main.get_command(app))
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    } | {"--help"}
    assert len(known) > 100
    unknown = []
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        allowed = known | OTHER_PROGRAMS.get(place, set())
        unknown += [
            (place, node.lineno, option)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            for option in OPTION.findall(node.value)
            if option not in allowed
        ]
    assert unknown == []
