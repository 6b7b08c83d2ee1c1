"""Clips that need not be sound: what is run on them never listens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.predictors.studies import CountedMedia


@pytest.fixture
def clips(tmp_path: Path) -> list[Path]:
    """Twenty-four files, none of which was read."""
    folder = tmp_path / "clips"
    folder.mkdir()
    out = []
    for place in range(24):
        path = folder / f"c{place:02}.wav"
        path.write_bytes(f"clip {place}".encode() * 100)
        out.append(path)
    CountedMedia.reads.clear()
    return out


@pytest.fixture(scope="session")
def transformers() -> None:
    """Skips the test where the library is absent; it is not loaded while tests are collected."""
    pytest.importorskip("transformers", exc_type=ImportError)
