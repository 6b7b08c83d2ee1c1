"""Measure how the code reads: size, names, complexity, comments.

    python scripts/measures.py [FOLDER]    the source folder if left out

Complexity is counted as radon counts it, closures apart. A vague name is a variable, parameter or function
called one of ``VAGUE``. Compare figures between commits; none of them is a verdict.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

VAGUE = {
    "along", "apart", "asked", "besides", "drawn", "each", "found", "given", "held", "here", "kept",
    "known", "laid", "left", "made", "meant", "mine", "off", "other", "others", "own", "place",
    "places", "plain", "put", "rest", "said", "seen", "such", "taken", "them", "there", "thing",
    "things", "told", "under", "what", "who", "whole", "why",
}  # fmt: skip
COMPLEX = 10
SHORT_MODULE = 40
BROAD = {"Exception", "BaseException"}
PRAGMAS = ("noqa", "type: ignore", "fmt: ", "pragma: ")
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def measure(root: Path) -> dict[str, float]:
    """Every measure of the modules below ``root``, by what is measured."""
    texts = {path.relative_to(root): path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    lines = {path: text.count("\n") for path, text in texts.items()}
    total = sum(lines.values())
    functions = [node for tree in trees.values() for node in _functions(tree)]
    vague = sum(name.strip("_").lower() in VAGUE for name in _names(nodes))
    classes = Counter(name for tree in trees.values() for name in {node.name for node in _classes(tree)})
    return {
        "lines": total,
        "packages": len({path.parts[0] for path in texts if len(path.parts) > 1}),
        "modules": len(texts),
        f"modules under {SHORT_MODULE} lines": sum(
            count < SHORT_MODULE for path, count in lines.items() if path.name != "__init__.py"
        ),
        "vague names per 1,000 lines": 1000 * vague / total,
        f"functions above complexity {COMPLEX} per 1,000": 1000
        * sum(complexity(function) > COMPLEX for function in functions)
        / max(1, len(functions)),
        "public class names in two or more modules": sum(
            count > 1 for name, count in classes.items() if not name.startswith("_")
        ),
        "dict[str, Any]": sum(text.count("dict[str, Any]") for text in texts.values()),
        "comments, % of lines": 100 * sum(map(_comments, texts.values())) / total,
        "broad excepts": sum(isinstance(node, ast.ExceptHandler) and _is_broad(node) for node in nodes),
    }


def complexity(function: _Function) -> int:
    """One more than the branches of a function, less those of functions inside it."""
    return 1 + sum(map(_branches, function.body))


def _branches(node: ast.AST) -> int:
    if isinstance(node, _Function | ast.ClassDef):
        return 0
    match node:
        case ast.If() | ast.IfExp() | ast.Assert():
            branches = 1
        case ast.For() | ast.AsyncFor() | ast.While():
            branches = 1 + bool(node.orelse)
        case ast.Try() | ast.TryStar():
            branches = len(node.handlers) + bool(node.orelse)
        case ast.BoolOp():
            branches = len(node.values) - 1
        case ast.comprehension():
            branches = 1 + len(node.ifs)
        case ast.Match():
            branches = len(node.cases) - any(_is_wildcard(case.pattern) for case in node.cases)
        case _:
            branches = 0
    return branches + sum(map(_branches, ast.iter_child_nodes(node)))


def _is_wildcard(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _functions(tree: ast.Module) -> Iterator[_Function]:
    """Functions of a module and methods of its classes; closures belong to neither."""
    for scope in (tree, *_classes(tree)):
        yield from (node for node in scope.body if isinstance(node, _Function))


def _classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, _Function):
            yield node.name


def _is_broad(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in BROAD) for kind in kinds)


def _comments(text: str) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = (token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT)
    return sum(not comment.startswith(PRAGMAS) for comment in comments)


def main(arguments: list[str]) -> None:
    """Print the measures of a folder."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[1] / "src" / "heartfelt"
    for name, value in measure(root).items():
        print(f"{name:46} {value:>9,.1f}" if isinstance(value, float) else f"{name:46} {value:>9,}")


if __name__ == "__main__":
    main(sys.argv[1:])
