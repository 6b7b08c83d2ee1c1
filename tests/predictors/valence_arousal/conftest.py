"""The two MusicNN models, from the cache or pulled once; embeddings are kept in a folder of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartfelt.models import load_model
from heartfelt.models.store import PullError


@pytest.fixture(scope="session")
def musicnn() -> None:
    """The models behind the shipped head; skipped where they are not here and cannot be pulled."""
    for name in ("musicnn-msd", "musicnn-mtt"):
        try:
            load_model(name)
        except PullError as error:
            pytest.skip(f"{name} cannot be pulled: {error.problem}")


@pytest.fixture(autouse=True)
def _features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTFELT_FEATURES", str(tmp_path / "features"))
