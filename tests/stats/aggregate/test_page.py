"""The page on aggregation is held to the code: its example runs, every public name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heartfelt.stats import aggregate

PAGE = Path(__file__).resolve().parents[3] / "docs" / "stats" / "aggregate.md"


@pytest.mark.parametrize("name", aggregate.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert re.search(rf"`{name}[`(]", PAGE.read_text(encoding="utf-8"))


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, str(PAGE), "exec"), {})  # the page's own code is what is under test
    assert len(capsys.readouterr().out.splitlines()) == 3
