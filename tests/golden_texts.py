"""Whole texts, compared with the files in ``tests/golden``: where sentences are tested, and nowhere else.

After a change of wording that is meant, run the tests that failed with ``UPDATE_GOLDEN=1`` and read what git says has changed.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import heartfelt

FOLDER = Path(__file__).with_name("golden")


def assert_golden(name: str, text: str) -> None:
    """Fail with the difference where a text is not that of the file; the version of heartfelt may differ."""
    path = FOLDER / name
    text = text.replace(heartfelt.__version__, "VERSION").rstrip("\n") + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    before = path.read_text(encoding="utf-8")
    difference = difflib.unified_diff(before.splitlines(), text.splitlines(), f"golden/{name}", "now", lineterm="")
    assert text == before, "\n".join(difference)
