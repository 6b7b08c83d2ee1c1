"""A report without pictures: no file is missing that the page links to, and the page still draws its figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.report import write_analysis
from tests.analysis.made import answers, snapshot, stimuli


@pytest.mark.slow
@pytest.mark.parametrize("figures", [True, False])
def test_every_file_that_is_linked_is_there(figures: bool, tmp_path: Path) -> None:
    table = stimuli(12, 2)
    made = analyze(snapshot("opinion", table, answers("opinion", table)), AnalyzeOptions(resamples=100))
    folder = write_analysis(made, tmp_path / "report", figures=figures)
    page = (folder / "report.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'(?:href|src)="(figures/[^"]+)"', page))
    assert linked
    assert all((folder / name).is_file() for name in linked)
    kinds = {path.suffix for path in (folder / "figures").iterdir()}
    assert kinds == ({".csv", ".pdf", ".png", ".svg"} if figures else {".csv"})
    assert 'data-figure="' in page
