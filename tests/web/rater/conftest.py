"""A real server around a real study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.web.rater.serving import Served


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Serves a study after a recipe; everything is stopped at the end."""
    running: list[Served] = []

    def start(recipe: str = "aimoclips", **options: object) -> Served:
        served = Served.start(recipe, tmp_path / f"study{len(running)}", **options)
        running.append(served)
        return served

    yield start
    for served in running:
        served.close()
