"""Each dataset is at home in its folder: nothing else names it, and everything else runs without it."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import heartfelt
from heartfelt.analysis.published import FIGURES
from heartfelt.formats import FORMATS
from heartfelt.registry import DuplicateNameError
from heartfelt.scoring.layouts import LAYOUTS
from heartfelt.screening.policy import POLICIES
from heartfelt.stimuli.starter import STARTERS
from heartfelt.study.recipes import RECIPES, drafted_recipe, recipe_study, reference_recipe

ROOT = Path(heartfelt.__file__).parent
NAMES = ("aigiemo", "aimoclips", "emolia", "musav", "musiceval", "vgmidi")
MAY_NAME = {  # a trained model, and a pilot that is built in, say which data their numbers come from
    "planning/pilots/builtin.py",
    "planning/pilots/builtin.toml",
    "predictors/trained/valence_arousal/shipped/README.md",
    "predictors/trained/valence_arousal/shipped/model.json",
}

RUN = """
import subprocess, sys
from pathlib import Path
import heartfelt
from heartfelt.cli import main
gone, out = sys.argv[1], Path(sys.argv[2])
assert not (Path(heartfelt.__file__).parent / "datasets" / gone).exists()
from heartfelt.formats import FORMATS
from heartfelt.study.recipes import RECIPES
assert "long" in FORMATS and not any(gone in name for name in [*FORMATS, *RECIPES])
for command in (["formats"], ["recipes"], ["analyze", "--help"]):
    assert main(command) == 0, command
from heartfelt.screening.policy import POLICIES
from heartfelt.scoring.layouts import LAYOUTS
from heartfelt.stimuli.starter import STARTERS
assert "default" in POLICIES and gone not in [*POLICIES, *LAYOUTS, *STARTERS]
source = FORMATS["long"].example(out / "in")
from heartfelt.analysis import analyze
found = analyze(heartfelt.read(source))
assert found is not None
"""


def test_every_dataset_is_looked_for() -> None:
    assert sorted(path.parent.name for path in (ROOT / "datasets").glob("*/__init__.py")) == sorted(NAMES)


def test_what_the_datasets_offer_is_found_where_it_is_needed() -> None:
    five = ["aigiemo", "aimoclips", "emolia-dim", "emolia-emo", "musiceval"]
    methods = ["abx", "arena", "best-worst", "cmos", "continuous", "dcr", "mushra", "preference", "ranking"]
    assert RECIPES.names() == STARTERS.names() == sorted([*five, *methods])
    tables = {"arena", "audiomos", "long", "means", "sheet", "voicemos", "votes", "webmushra", "wide"}
    tools = {name for name in FORMATS if type(FORMATS[name]).__module__.startswith("heartfelt.formats.tools.")}
    assert set(FORMATS) == {*five, *tables, *tools, "musav", "vgmidi"}
    assert (FIGURES.names(), LAYOUTS.names()) == (["aimoclips"], ["answers", "emolia", "inspect", "musiceval"])
    assert "musiceval" in POLICIES
    assert reference_recipe() == "aimoclips"
    assert drafted_recipe() == "aigiemo"
    assert recipe_study("aimoclips") is recipe_study("aimoclips")


def test_two_datasets_cannot_offer_one_name() -> None:
    with pytest.raises(DuplicateNameError, match="already a recipe called 'aimoclips'"):
        RECIPES.add("aimoclips", RECIPES["musiceval"])


def code_of(path: Path) -> str:
    """A module without its docstrings and comments, which may cite a source."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [part for part in node.body if not _is_docstring(part)] or [ast.Pass()]
    return ast.unparse(tree)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@pytest.mark.slow
def test_nothing_else_names_a_dataset() -> None:
    words = {name: re.compile(name, re.IGNORECASE) for name in NAMES}
    for path in sorted(ROOT.rglob("*")):
        relative = path.relative_to(ROOT).as_posix()
        if not path.is_file() or "__pycache__" in relative or relative in MAY_NAME:
            continue
        text = path.read_bytes().decode("utf-8", "ignore")
        named = [name for name, word in words.items() if word.search(text)]
        if named and path.suffix == ".py":
            text = code_of(path)
        for name in named:
            word = words[name]
            if not relative.startswith(f"datasets/{name}/"):
                lines = [line.strip() for line in text.splitlines() if word.search(line)]
                assert not lines, f"{relative}: only datasets/{name}/ knows {name}, but here is {lines[0]}"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_everything_else_runs_without_it(name: str, tmp_path: Path) -> None:
    # Compiled modules come along, or each copy would compile all of them; compiled loops would belong to the original.
    skipped = shutil.ignore_patterns("*.nbi", "*.nbc", "shipped")
    shutil.copytree(ROOT, tmp_path / "src" / "heartfelt", ignore=skipped)
    shutil.rmtree(tmp_path / "src" / "heartfelt" / "datasets" / name)
    # A fresh copy would compile its loops anew, which takes longer than running them as plain Python.
    plain = {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, name, str(tmp_path / "out")],
        env={"PYTHONPATH": str(tmp_path / "src"), "PATH": "/usr/bin", "HOME": str(tmp_path), **plain},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
