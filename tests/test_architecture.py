"""The rooms of the house and the one way imports may point, lazy imports included."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import heartfelt

ROOT = Path(heartfelt.__file__).parent
BASE = {
    "errors",
    "extras",
    "registry",
    "tables",
    "streams",
    "files",
    "progress",
    "serialization",
    "wording",
    "on_demand",
    "representation",
}
ORDER = (
    "base",
    "stats",
    "media",
    "study",
    "snapshot",
    "formats",
    "make",
    "simulate",
    "collect",
    "screening",
    "labels",
    "analysis",
    "models",
    "predictors",
    "scoring",
    "training",
    "benchmark",
    "conveyance",
    "datasets",
    "report",
    "publish",
    "web",
    "cli",
)
NEVER = {package: {"collect", "web"} for package in ORDER[ORDER.index("screening") : ORDER.index("web")]}
BANNED_NAMES = {"utils", "helpers", "manager", "misc", "common"}
HEAVY = {
    "torch",
    "transformers",
    "diffusers",
    "ray",
    "numba",
    "matplotlib",
    "statsmodels",
    "pandas",
    "fastapi",
    "soundfile",
}


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def room(dotted: list[str]) -> str:
    return "base" if dotted[0] in BASE else "cli" if dotted[0] == "__main__" else dotted[0]


def imported(path: Path) -> list[tuple[int, list[str]]]:
    """Every heartfelt module a file imports, at the top or inside a function, with its line."""
    found: list[tuple[int, list[str]]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            assert node.level == 0, f"{path}:{node.lineno}: write imports in full"
            if node.module == "heartfelt":
                names = [f"heartfelt.{alias.name}" for alias in node.names if not alias.name.startswith("__")]
            else:
                names = [node.module or ""]
        found += [(node.lineno, name.split(".")[1:]) for name in names if name.startswith("heartfelt.")]
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    here = room(list(path.relative_to(ROOT).with_suffix("").parts))
    assert here in ORDER, f"{here} has no place in the order of rooms"
    for line, target in imported(path):
        there = room(target)
        assert there in ORDER, (
            f"{path.name}:{line} imports heartfelt.{'.'.join(target)}, which has no place in the order"
        )
        assert ORDER.index(there) <= ORDER.index(here), f"{path.name}:{line}: {here} may not import {there}"
        assert there not in NEVER.get(here, set()), f"{path.name}:{line}: {here} never imports {there}"


def test_no_room_is_called_by_a_word_that_says_nothing() -> None:
    for path in modules():
        assert not BANNED_NAMES & set(path.relative_to(ROOT).with_suffix("").parts), path


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_heavy_libraries_are_imported_late(path: Path) -> None:
    if path.name.startswith("_kernels"):
        return
    # FastAPI reads the annotations of a route where its module is loaded; nothing loads the web room before it is wanted.
    # What draws with Matplotlib is a package of its own, which is loaded only where something is drawn.
    parts = path.relative_to(ROOT).parts
    heavy = HEAVY - ({"fastapi"} if parts[0] == "web" else set())
    heavy -= {"matplotlib"} if parts[:2] == ("report", "drawing") else set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not heavy & {name.split(".")[0] for name in names}, (
            f"{path}: import {names} where it is needed"
        )


def test_importing_heartfelt_loads_nothing_heavy() -> None:
    code = "import sys, heartfelt; from heartfelt import stats; print(' '.join(sorted({m.split('.')[0] for m in sys.modules})))"
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    assert not loaded & (HEAVY | {"pyarrow", "pydantic"})
