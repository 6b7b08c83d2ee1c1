"""The page on models is held to the registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartfelt.models import MODELS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"


@pytest.mark.parametrize("name", MODELS.names())
def test_every_model_has_its_section(name: str) -> None:
    sections = PAGE.read_text(encoding="utf-8").split("\n### ")
    results = [section for section in sections if section.splitlines()[0] == f"`{name}`"]
    assert len(results) == 1
    model = MODELS[name]
    for fact in (model.requirement, model.licence, model.source):
        assert fact in results[0], fact


def test_the_page_names_the_switches() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for word in ("HEARTFELT_CACHE", "HEARTFELT_OFFLINE", "--from", "load_model", "resolve"):
        assert word in text
