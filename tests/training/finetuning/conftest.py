"""The study and the user's own recipe that tests of fine-tuning share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from heartfelt.snapshot import Snapshot
from tests.plugins import use_plugin
from tests.training.finetuning.studies import own_recipe, tones

use_plugin("heartfelt-backbones")


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Thirty-six tones with ratings."""
    return tones(tmp_path_factory.mktemp("tones"), 36)


@pytest.fixture(scope="session")
def my_package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the recipe that docs/training.md shows, importable as ``my_package``."""
    folder = own_recipe(tmp_path_factory.mktemp("own"))
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("my_package", None)
