"""Which extra each command needs, checked before the command does anything.

What depends on a command's arguments (a predictor, a recipe, a database, a service) is checked by the command itself, as
its first step. The table in docs/installing.md is compared with this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import typer
from typer.models import CommandInfo

from heartfelt.extras import require_extra

NEEDS = {
    "demo": "all",
    **dict.fromkeys(
        (
            "serve",
            "preview",
            "snapshot",
            "backup",
            "restore",
            "simulate-collection",
            "study participants",
            "study erase",
            "study quota",
            "study token",
            "study adjudicators",
            "study reminders",
            "serve-benchmark",
            "serve-predictor",
        ),
        "serve",
    ),
    **dict.fromkeys(
        ("conveyance", "distances", "train", "evaluate", "experiment", "models pull", "models verify"), "predict"
    ),
}
"""The extra by command; commands that are not here run on the base install."""
DEFAULT_MODEL_NEEDS = {"predict": "predict"}
"""The extra of commands that ask a built-in model unless another is named, which is checked when the model is made."""


def commands_of(app: typer.Typer, prefix: str = "") -> Iterator[tuple[str, CommandInfo]]:
    """Every command with its name as it is typed, those of groups included."""
    for command in app.registered_commands:
        if command.callback is not None:
            name = command.name or command.callback.__name__.rstrip("_").replace("_", "-")
            yield f"{prefix}{name}", command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            title = group.name if isinstance(group.name, str) else group.typer_instance.info.name
            yield from commands_of(group.typer_instance, f"{prefix}{title} ")


def check_extras_first(app: typer.Typer) -> None:
    """Make every command that needs an extra ask for it before its own first line; other names of a command included."""
    commands = list(commands_of(app))
    needed = {command.callback: NEEDS[name] for name, command in commands if name in NEEDS}
    for _, command in commands:
        if command.callback is not None and command.callback in needed:
            command.callback = _checked(command.callback, needed[command.callback])


def _checked(callback: Callable[..., Any], extra: str) -> Callable[..., Any]:
    @wraps(callback)
    def call(*args: Any, **kwargs: Any) -> Any:
        require_extra(extra)
        return callback(*args, **kwargs)

    return call
