"""The page on models is held to the registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartfelt.predictors.weights import MODELS
from tests.cases import check_all
from tests.docs.reference import sections, settings_pages

PAGE = Path(__file__).resolve().parents[3] / "docs" / "models.md"


@pytest.mark.slow
@check_all("name", MODELS.names())
def test_every_model_has_its_section(name: str) -> None:
    """With its licence and authors in the generated reference; the page says how it is used."""
    assert f"`{name}`" in PAGE.read_text(encoding="utf-8")
    text = sections(settings_pages()["models.md"])[name]
    model = MODELS[name]
    for fact in (model.about[1:], model.requirement, model.licence, model.source, model.credit):
        assert fact in text, fact


def test_the_page_names_the_switches() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for word in ("HEARTFELT_CACHE", "HEARTFELT_OFFLINE", "--from", "load_model", "resolve"):
        assert word in text
