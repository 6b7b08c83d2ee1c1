"""A folder of tiny models, shared by all tests of generators that run them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks import _pipelines as tiny

from heartfelt.stimuli.generators.models.torch_models import library


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the models are written; one thread, as more would wait for each other."""
    torch = library("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("models")
    np.save(folder / "voice.npy", np.linspace(-1, 1, 8))
    tiny.write_hifigan(folder / "vocoder", tiny=True, mels=16)
    yield folder
    torch.set_num_threads(threads)
