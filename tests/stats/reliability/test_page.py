"""The page on reliability is held to the code: its example runs, every public name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heartfelt.stats import reliability
from heartfelt.stats.ceilings.noise_ceiling import METRICS
from tests.cases import check_all

PAGE = Path(__file__).resolve().parents[3] / "docs" / "stats" / "reliability.md"


@check_all("name", [n for n in reliability.__all__ if n.islower()] + ["ceiling", *METRICS])
def test_every_public_name_is_documented(name: str) -> None:
    assert re.search(rf"`{name}[`(]", PAGE.read_text(encoding="utf-8"))


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, str(PAGE), "exec"), {})  # the page's own code is what is under test
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert "two-way jackknife" in lines[0]
    assert not any("missing" in line for line in lines)
