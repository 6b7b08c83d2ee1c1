"""The guide to the analysis runs as written, and names every part there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heartfelt.labels import METHODS
from tests.analysis.test_parts import PARTS

GUIDE = Path(__file__).parents[2] / "docs" / "analysis.md"
HEAD = {"heartfelt", "schema", "kind", "source", "study", "hash", "policy", "seed", "why_missing"}


@pytest.mark.slow
def test_the_guide_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.S)
    assert blocks
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, GUIDE.name, "exec"), scope)  # a guide's own code, as a reader would run it


def test_every_part_and_method_has_its_row() -> None:
    text = GUIDE.read_text()
    for name in (*set(PARTS) - HEAD, *METHODS):
        assert f"`{name}`" in text, name
