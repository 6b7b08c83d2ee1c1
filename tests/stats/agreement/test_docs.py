from __future__ import annotations

import re
from pathlib import Path

import pytest

from heartfelt.stats import agreement
from tests.cases import check_all

PAGE = Path(__file__).resolve().parents[3] / "docs" / "stats" / "agreement.md"


@pytest.fixture(scope="module")
def text() -> str:
    return PAGE.read_text(encoding="utf-8")


@check_all("name", agreement.__all__)
def test_every_public_name_is_documented(name: str, text: str) -> None:
    assert re.search(rf"`{name}[`(]", text)


def test_the_example_runs_and_says_what_it_prints(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), {})  # the page's own code is what is under test
    printed = capsys.readouterr().out
    claimed = re.search(r"# (0\.\d+ \[.*\])", text)
    assert claimed
    assert printed.startswith(claimed[1])
