"""The references that are generated for the site, for tests that everything registered is in them."""

from __future__ import annotations

import functools
import importlib
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "scripts" / "docs_site"


@functools.cache
def _pages(script: str) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        pages: dict[str, str] = importlib.import_module(script).pages()
    return pages


def settings_pages() -> dict[str, str]:
    """The pages below ``settings/`` by name."""
    return _pages("settings_reference")


def command_pages() -> dict[str, str]:
    """The pages below ``commands/`` by name."""
    return _pages("commands")


def format_page() -> str:
    """The page of the formats' options."""
    return _pages("formats")["index.md"]


def sections(page: str) -> dict[str, str]:
    """The text of each section of a page by its heading."""
    return dict(part.split("\n", 1) for part in page.split("\n## ")[1:])


def meanings(text: str) -> dict[str, str]:
    """What the last cell says of each name in the first cell of a table's rows."""
    rows = [re.split(r"(?<!\\)\|", line.strip("| ")) for line in text.splitlines() if line.startswith("| `")]
    return {cells[0].strip().strip("`"): cells[-1].strip() for cells in rows}
