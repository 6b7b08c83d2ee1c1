"""The page on metrics is held to the registry."""

from __future__ import annotations

import re
from pathlib import Path

from heartfelt.predictors import PREDICTORS
from heartfelt.predictors.measures.audio.speech_mos import EchoMos, SpeechMos
from tests.cases import check_all

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "which-metric.md").read_text(encoding="utf-8")
GENERAL = {"endpoint", "file", "call", "tagger", "chat", "trained"}
"""Asks something of the user's own, which no page can measure."""
FROM_LABELS = {"constant", "system-mean", "intent", "human", "sham", "first"}
"""Baselines: what the labels or the order of presentation alone give."""


@check_all("name", sorted({*PREDICTORS.names()} - GENERAL - FROM_LABELS))
def test_every_metric_has_a_row(name: str) -> None:
    rows = re.findall(rf"^\| \[`{name}`\]\(\.\./predictors\.md#{name}\).*\|$", PAGE, re.MULTILINE)
    assert len(rows) == 1
    cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
    assert len(cells) == 6
    assert all(cells)


def test_every_speech_score_is_in_a_row() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "speech-mos" in line]
    for name in (*SpeechMos.scores, *EchoMos.scores):
        assert any(f"`{name}`" in row or f"`{name.split('-')[0]}-…`" in row for row in rows), name


def test_the_tables_have_intervals_and_ceilings() -> None:
    for heading in ("AImoclips", "OASIS", "AVT"):
        section = PAGE.split(f"### {heading}")[1].split("\n### ")[0]
        assert "ceiling" in section
        assert len(re.findall(r"\[-?\.\d\d, -?\.\d\d\]", section)) >= 8
