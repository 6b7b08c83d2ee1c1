"""Four walks through the code are as short as docs/architecture.md says, and none grows."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")

SCRIPT = Path(__file__).parents[1] / "scripts" / "walks.py"
TOLERANCE = 0.02
"""Libraries call back a little differently from version to version."""


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("walks", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for their annotations
    spec.loader.exec_module(module)
    return module


walks = load_script()


def documented(name: str) -> tuple[int, int, int]:
    title = walks.WALKS[name].title
    for row in walks.documented().splitlines():
        cells = [cell.strip() for cell in row.split("|")]
        if cells[1:2] == [title]:
            return int(cells[2]), int(cells[3]), int(cells[4])
    pytest.fail(f"docs/architecture.md has no walk '{title}'; run python scripts/walks.py --write")


@pytest.mark.slow
@pytest.mark.parametrize("name", walks.WALKS)
def test_a_walk_is_as_documented_and_within_its_limit(name: str) -> None:
    counted = walks.count(name).numbers
    for kind, number, written, limit in zip(
        ("modules", "functions", "switches"), counted, documented(name), walks.WALKS[name].limit, strict=True
    ):
        slack = 2 + TOLERANCE * number
        assert abs(number - written) <= slack, f"{number} {kind}: run python scripts/walks.py --write"
        assert number <= limit + slack, f"{number} {kind}: more than the {limit} allowed"


@pytest.mark.parametrize("name", walks.WALKS)
def test_a_limit_that_the_table_meets_is_lowered_to_it_or_the_aim(name: str) -> None:
    walk = walks.WALKS[name]
    for written, aim, limit in zip(documented(name), walk.aim, walk.limit, strict=True):
        assert limit <= max(aim, written), f"lower the limit of '{walk.title}' to {max(aim, written)}"
