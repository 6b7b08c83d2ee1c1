"""Write the types of the public functions and of a snapshot's methods, from their options classes; ``--check`` only compares.

Type checkers and editors read ``heartfelt/api/__init__.pyi`` and ``heartfelt/snapshot/shortcuts.pyi``; at run time
``heartfelt.arguments`` makes the same signatures.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from heartfelt import api
from heartfelt.arguments import option_classes
from heartfelt.snapshot.shortcuts import METHODS

ROOT = Path(__file__).resolve().parents[1] / "src" / "heartfelt"
HEAD = (
    "# Written by scripts/write_stubs.py from the options classes; run it again after changing an option.\n"
)
BUILT_IN = {"str", "int", "float", "bool", "object", "None", "dict", "list", "tuple"}


def main(check: bool) -> int:
    """Write the stubs, or compare them with what is there; 1 where one is out of date."""
    stale = [path for path, text in stubs().items() if not path.is_file() or path.read_text() != text]
    for path in stale:
        print(f"{path} {'is out of date: run python scripts/write_stubs.py' if check else 'written'}")
        if not check:
            path.write_text(stubs()[path], encoding="utf-8")
    return int(check and bool(stale))


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
    plain = value is None or (isinstance(value, bool | int | float | str) and len(repr(value)) < 40)
    return repr(value) if plain or value == () else "..."


def _imports(functions: Any) -> str:
    """Where the names in the signatures come from, as their modules import or define them."""
    known: dict[str, tuple[str, str]] = {
        "Sequence": ("collections.abc", "Sequence"),
        "Path": ("pathlib", "Path"),
    }
    wanted: set[str] = set()
    for function in functions:
        inner = inspect.unwrap(function)
        fields = [field for _, offered in option_classes(inner).values() for field in offered.values()]
        for module in {inner.__module__, *(field.owner.__module__ for field in fields)}:
            known |= dict(_names_of(module))
        signature = inspect.signature(function)
        texts = [str(each.annotation) for each in signature.parameters.values()]
        for text in [*texts, str(signature.return_annotation)]:
            text = re.sub(r"(?<=[a-z])\.\w+", "", text)
            wanted |= set(re.findall(r"\b[A-Za-z_]\w*\b", re.sub(r"'[^']*'|\"[^\"]*\"", "", text)))
    modules = defaultdict(set)
    for name in wanted - BUILT_IN:
        module, original = known.get(name, ("", name))
        if module:
            modules[module].add(original)
        elif name != "pl":
            raise SystemExit(f"No module of '{name}' was seen: import it where the option is defined.")
    texts = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(modules.items())]
    ours = [f"    {text}" for text in texts if text.startswith("from heartfelt")]
    lines = [text for text in texts if not text.startswith("from heartfelt")]
    lines += ["from typing import TYPE_CHECKING", *(["import polars as pl"] if "pl" in wanted else [])]
    # A snapshot's methods return what is made of snapshots: as imports for type checkers only, the circle can be read.
    return "\n".join([*lines, "", "if TYPE_CHECKING:", *ours, ""])


def _names_of(module: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """The names a module imports or defines at its top or for type checkers, with where they come from."""
    tree = ast.parse(Path(import_module(module).__file__ or "").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name, (module, node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, (module, node.target.id)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__":
            for alias in node.names:
                yield alias.asname or alias.name, (node.module, alias.name)


def _formatted(text: str) -> str:
    """As the repository's formatter writes it."""
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format", "--quiet"]):
        ruff = [str(Path(sys.executable).with_name("ruff")), *command, "--stdin-filename", "stub.pyi", "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
