"""The application with all its commands, which register themselves as their modules are loaded."""

from __future__ import annotations

from copy import copy
from functools import cache
from importlib import import_module
from typing import Any

from typer.main import get_command, get_command_name, solve_typer_info_defaults

from heartfelt.cli.command import app
from heartfelt.cli.needs import check_extras_first

__all__ = ["app", "command_tree"]

for module in (
    "heartfelt.cli.design.study",
    "heartfelt.cli.design.planning",
    "heartfelt.cli.design.make",
    "heartfelt.cli.design.generate",
    "heartfelt.cli.design.draft",
    "heartfelt.cli.collecting.serve",
    "heartfelt.cli.collecting.collect",
    "heartfelt.cli.analysis.data",
    "heartfelt.cli.analysis.formats",
    "heartfelt.cli.analysis.analyze",
    "heartfelt.cli.modelling.bench",
    "heartfelt.cli.modelling.distances",
    "heartfelt.cli.publishing.site",
    "heartfelt.cli.publishing.challenge",
    "heartfelt.cli.modelling.predict",
    "heartfelt.cli.modelling.train",
    "heartfelt.cli.modelling.experiment",
    "heartfelt.cli.publishing.publish",
    "heartfelt.cli.publishing.deposit",
    "heartfelt.cli.modelling.models",
    "heartfelt.cli.analysis.words",
    "heartfelt.cli.collecting.demo",
):
    import_module(module)

check_extras_first(app)


@cache
def command_tree(first: str | None) -> Any:
    """What parses and runs a command line that begins with the word ``first``.

    Typer reads the signatures of all commands for each command line, which takes longer than many of them run. Here only the
    command that is named is read, and once; where none is named, all are.
    """
    commands = [command for command in app.registered_commands if _name(command) == first]
    groups = [group for group in app.registered_groups if solve_typer_info_defaults(group).name == first]
    only = copy(app)
    if len(commands) + len(groups) == 1:
        only.registered_commands, only.registered_groups = commands, groups
    tree = get_command(only)
    _share_option(tree, next(option for option in tree.params if option.name == "verbose"))
    return tree


def _share_option(command: Any, option: Any) -> None:
    """Give all commands an option of the whole program, so that it can also stand after a command's name."""
    for inner in getattr(command, "commands", {}).values():
        inner.params.append(option)
        _share_option(inner, option)


def _name(command: Any) -> str:
    return command.name or get_command_name(command.callback.__name__)
