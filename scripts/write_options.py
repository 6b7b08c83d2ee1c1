"""Write what follows from the options classes: types for editors and tables in the docs; ``--check`` only compares.

Type checkers and editors read ``heartfelt/api/__init__.pyi`` and ``heartfelt/snapshot/shortcuts.pyi``; at run time
``heartfelt.arguments`` makes the same signatures. In the docs, a table stands between ``<!-- options CLASS: NAME NAME -->`` and
``<!-- end of options -->``.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from heartfelt import api
from heartfelt.arguments import option_classes
from heartfelt.options import options_of
from heartfelt.snapshot.shortcuts import METHODS

TOP = Path(__file__).resolve().parents[1]
ROOT = TOP / "src" / "heartfelt"
HEAD = "# Written by scripts/write_options.py from the options classes; run it again after changing an option.\n"
TABLE = re.compile(
    r"(?P<start><!-- options (?P<kind>[\w.]+): (?P<names>[\w ]+) -->)\n(?s:.*?)(?P<end><!-- end of options -->)"
)
BUILT_IN = {"str", "int", "float", "bool", "object", "None", "dict", "list", "tuple"}


def main(check: bool) -> int:
    """Write the files, or compare them with what is there; 1 where one is out of date."""
    stale = False
    for path, text in (stubs() | tables()).items():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale = True
        print(f"{path} {'is out of date: run python scripts/write_options.py' if check else 'written'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    return int(check and stale)


def tables() -> dict[Path, str]:
    """The pages of the docs that have tables of options, with the tables as they should be."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted((TOP / "docs").rglob("*.md"))}
    return {path: TABLE.sub(_table, text) for path, text in pages.items() if TABLE.search(text)}


def _table(match: re.Match[str]) -> str:
    module, _, kind = match["kind"].rpartition(".")
    options = options_of(getattr(import_module(module), kind))
    rows = ["| flag | keyword | meaning |", "|---|---|---|"]
    for name in match["names"].split():
        field = options[name]
        value = f" {field.option.metavar}" if field.option.metavar else ""
        help_ = field.option.help.replace("|", "\\|")
        rows.append(f"| `{field.flags[0]}{value}` | `{name}` | {help_} |")
    return "\n".join([match["start"], *rows, match["end"]])


def stubs() -> dict[Path, str]:
    """The text of each stub by its path."""
    functions = {name: getattr(api, name) for name in sorted(api.FUNCTIONS)}
    defined = "\n\n".join(_definition(name, function) for name, function in functions.items())
    public = f"{_imports(functions.values())}\n{defined}\n\n__all__ = {sorted(functions)!r}\n"
    methods = {name: functions[name] for name in METHODS}
    bodies = "\n\n".join(_definition(name, function, method=True) for name, function in methods.items())
    body = "\n".join(f"    {line}" if line else "" for line in bodies.splitlines())
    shortcuts = f"{_imports(methods.values())}\nMETHODS: tuple[str, ...]\n\nclass Shortcuts:\n{body}\n"
    return {
        ROOT / "api" / "__init__.pyi": _formatted(f"{HEAD}{public}"),
        ROOT / "snapshot" / "shortcuts.pyi": _formatted(f"{HEAD}{shortcuts}"),
    }


def _definition(name: str, function: Callable[..., Any], *, method: bool = False) -> str:
    signature = inspect.signature(function)
    parts = ["self"] if method else []
    keyword_only = False
    for parameter in list(signature.parameters.values())[1 if method else 0 :]:
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
        parts.append(f"{parameter.name}: {parameter.annotation}{default}")
    return f"def {name}({', '.join(parts)}) -> {signature.return_annotation}: ..."


def _default(value: object) -> str:
    is_short = value is None or (isinstance(value, bool | int | float | str) and len(repr(value)) < 40)
    return repr(value) if is_short or value == () else "..."


def _imports(functions: Iterable[Callable[..., Any]]) -> str:
    """Where the names in the signatures come from: as the module of each function and those of its options see them."""
    homes: dict[str, str] = {}
    for function in functions:
        inner, signature = inspect.unwrap(function), inspect.signature(function)
        modules = {"Sequence": "collections.abc", "Path": "pathlib"}
        for _, offered in option_classes(inner).values():
            for field in offered.values():
                for base in field.owner.__mro__[:-1]:
                    modules |= dict(_names_of(base.__module__))
        modules |= dict(_names_of(inner.__module__))
        texts = [str(parameter.annotation) for parameter in signature.parameters.values()]
        for text in [*texts, str(signature.return_annotation)]:
            names = re.sub(r"(?<=[a-z])\.\w+|'[^']*'", "", text)
            for name in set(re.findall(r"\b[A-Za-z_]\w*\b", names)) - BUILT_IN:
                if homes.setdefault(name, modules[name]) != modules[name]:
                    raise SystemExit(f"'{name}' is {homes[name]}.{name} and {modules[name]}.{name}.")
    lines = [f"from {module} import {name}" for name, module in sorted(homes.items()) if module]
    ours = [f"    {line}" for line in lines if line.startswith("from heartfelt")]
    others = [line for line in lines if not line.startswith("from heartfelt")]
    others += ["from typing import TYPE_CHECKING", *(["import polars as pl"] if "pl" in homes else [])]
    # A snapshot's methods return what is made of snapshots: as imports for type checkers only, the circle can be read.
    return "\n".join([*others, "", "if TYPE_CHECKING:", *ours, ""])


@cache
def _names_of(module: str) -> tuple[tuple[str, str], ...]:
    """The names a module defines or imports, at its top or for type checkers, with the module they come from."""
    tree = ast.parse(Path(import_module(module).__file__ or "").read_text(encoding="utf-8"))
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__":
            names += [(alias.asname or alias.name, node.module) for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [(alias.asname, "") for alias in node.names if alias.asname]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names.append((node.name, module))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append((node.target.id, module))
    return tuple(names)


def _formatted(text: str) -> str:
    """As the repository's formatter writes it."""
    for command in (["check", "--select", "I,F401", "--fix", "--quiet"], ["format", "--quiet"]):
        ruff = [str(Path(sys.executable).with_name("ruff")), *command, "--stdin-filename", "stub.pyi", "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
