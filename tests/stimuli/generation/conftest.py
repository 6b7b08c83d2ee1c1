"""The generator ``tones`` is registered for the length of a test; licences are remembered in a folder of the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartfelt.stimuli import GENERATORS
from heartfelt.stimuli.generation import licences
from tests.stimuli.generation import tones


@pytest.fixture(autouse=True)
def _tones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(GENERATORS._things, "tones", tones.KIND)
    monkeypatch.setattr(licences, "licence_file", lambda: tmp_path / "config" / "licences.json")
    tones.CALLS.clear()
