"""Pages of the command reference, from the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from typing import Any


@cache
def commands() -> dict[str, Any]:
    """Every command by its full name, such as ``models fetch``, in the order of the help."""
    from typer.main import get_command

    from heartfelt.cli.app import app

    return dict(_walk(get_command(app), ""))


def _walk(command: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, each in command.commands.items():
        if each.hidden:
            continue
        if hasattr(each, "commands"):
            yield from _walk(each, f"{prefix}{name} ")
        else:
            yield prefix + name, each


def pages() -> dict[str, str]:
    """The Markdown of each page by its path below ``commands/``."""
    result = {"index.md": _overview()}
    for name, command in commands().items():
        result[f"{name.replace(' ', '-')}.md"] = _page(name, command)
    return result


def _overview() -> str:
    from heartfelt.cli.panels import PANELS

    parts = [
        "# Commands\n\nEvery command and option, generated from the program. A mistake is answered with the problem, the fix and "
        "exit code 2; `heartfelt COMMAND --help` shows the same options in the terminal.\n"
    ]
    for panel, names in PANELS.items():
        rows = [
            f"| [`heartfelt {name}`]({name.replace(' ', '-')}.md) | {_first(command)} |"
            for first in names
            for name, command in commands().items()
            if name.split()[0] == first
        ]
        parts.append(f"## {panel}\n\n| command | what it does |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _first(command: Any) -> str:
    return _cell((command.help or "").split("\n\n")[0])


def _page(name: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [
        each for each in command.params if each.param_type_name == "option" and each.name != "help" and not each.hidden
    ]
    usage = " ".join(["heartfelt", name, *(_usage(each) for each in arguments), *(["[OPTIONS]"] if options else [])])
    parts = [f"# heartfelt {name}\n", _prose(command.help or ""), f"```text\n{usage}\n```\n"]
    if arguments:
        rows = [f"| `{_metavar(each)}` | {_cell(each.help or '')} |" for each in arguments]
        parts.append("## Arguments\n\n| argument | meaning |\n|---|---|\n" + "\n".join(rows) + "\n")
    panels: dict[str, list[Any]] = {}
    for each in options:
        panels.setdefault(getattr(each, "rich_help_panel", None) or "Options", []).append(each)
    for title, inside in panels.items():
        rows = [f"| {_flags(each)} | {_meaning(each)} | {_default(each)} |" for each in inside]
        parts.append(f"## {title}\n\n| option | meaning | default |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _prose(text: str) -> str:
    return re.sub(r"``([^`]+)``", r"`\1`", inspect.cleandoc(text)) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"``([^`]+)``", r"`\1`", " ".join(text.split())).replace("|", "\\|").replace("<", "&lt;")


def _metavar(parameter: Any) -> str:
    return parameter.metavar or str(parameter.name).upper()


def _usage(argument: Any) -> str:
    text = _metavar(argument) + ("..." if argument.nargs == -1 else "")
    return text if argument.required else f"[{text}]"


def _flags(option: Any) -> str:
    names = [*option.opts, *option.secondary_opts]
    takes = "" if option.is_flag else f" {option.metavar or _type(option)}".replace("|", "\\|")
    return ", ".join(
        f"`{each}{takes if place == 0 else ''}`" for place, each in enumerate(sorted(names, key=len, reverse=True))
    )


def _type(option: Any) -> str:
    """What an option takes, whichever Typer describes it."""
    choices = getattr(getattr(option, "type", None), "choices", None)
    if choices:
        return "|".join(map(str, choices))
    described = getattr(option, "type_descriptor", None)
    name = described.annotation.__name__ if described else option.type.name
    return {"integer": "N", "int": "N", "float": "X", "Path": "FILE", "path": "FILE"}.get(name, "TEXT")


def _meaning(option: Any) -> str:
    text = _cell(option.help or "")
    return f"{text} May be repeated." if option.multiple and "repeated" not in text else text


def _default(option: Any) -> str:
    value = option.default
    if option.required:
        return "required"
    if callable(value) or value is None or value in ((), [], "") or value is False:
        return ""
    if value is True:
        return "on"
    return f"`{value}`"
