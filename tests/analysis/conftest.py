"""Shared by the tests of the analysis."""

from __future__ import annotations

from pathlib import Path

import pytest

import heartfelt
from heartfelt.analysis import Analysis, analyze
from heartfelt.snapshot import Snapshot


@pytest.fixture(scope="session")
def aimoclips(shared_data: Path) -> Snapshot:
    return heartfelt.read(shared_data / "aimoclips", media="not-probed")


@pytest.fixture(scope="session")
def clips(aimoclips: Snapshot) -> Analysis:
    return analyze(aimoclips)
