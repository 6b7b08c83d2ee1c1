"""The page on texts is held to the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "stats" / "text.md"


@pytest.mark.parametrize(
    "name", ["bleu", "bleu_counts", "bleu_value", "cider", "corpus", "distinct", "lexical", "mtld", "rouge_l", "words"]
)
def test_every_function_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE.read_text(encoding="utf-8")


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, PAGE.name, "exec"), {})  # the page's own code is what is under test
    assert len(capsys.readouterr().out.splitlines()) == 3
