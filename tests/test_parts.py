"""The map of the packages in docs/architecture.md is true, and no folder shows more than one can take in."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("parts", Path(__file__).parents[1] / "scripts" / "parts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


parts = load_script()


def test_the_map_is_that_of_the_code() -> None:
    page = parts.PAGE.read_text(encoding="utf-8")
    assert parts.documented(page) == parts.table(), "run python scripts/parts.py --write"


def test_every_part_says_what_it_holds() -> None:
    assert not [part for part, description in parts.parts().items() if not description.endswith(".")]


def test_no_folder_is_crowded() -> None:
    assert not parts.crowded()
