"""A real server around a real study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.rater.serving import Served
from tests.web.rater.sets import Judge, serve_study_of_sets

if TYPE_CHECKING:
    from playwright.sync_api import Browser


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


@pytest.fixture
def serve_sets(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Serves studies whose trials present sets."""
    running: list[Served] = []

    def start(*given: Any, **how: Any) -> Served:
        running.append(serve_study_of_sets(tmp_path / f"study{len(running)}", *given, **how))
        return running[-1]

    yield start
    for served in running:
        served.close()


@pytest.fixture
def judge(browser: Browser) -> Iterator[Callable[..., Judge]]:
    """People who compare, by keyboard or by touch; nothing may have been complained about in the end."""
    came: list[Judge] = []

    def start(served: Served, hand: str = "keyboard", **context: Any) -> Judge:
        came.append(Judge(browser, served, hand, **context))
        return came[-1]

    yield start
    for visitor in came:
        visitor.quiet()
        visitor.close()
