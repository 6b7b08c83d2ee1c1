"""Clips that need not be sound: what is run on them never listens. The MusicNN model, and a folder of embeddings for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartfelt.predictors.weights import load_model
from heartfelt.predictors.weights.store import PullError
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


@pytest.fixture(scope="session")
def musicnn() -> None:
    """The models behind the shipped head and its predecessors; skipped where they are not here and cannot be pulled."""
    for name in ("musicnn-msd", "musicnn-mtt"):
        try:
            load_model(name)
        except PullError as error:
            pytest.skip(f"{name} cannot be pulled: {error.problem}")


@pytest.fixture(autouse=True)
def _features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTFELT_FEATURES", str(tmp_path / "features"))
