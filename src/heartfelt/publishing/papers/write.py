"""All papers of a release: what a reader, a reviewer or a machine needs to know to use the data."""

from __future__ import annotations

from pathlib import Path

from heartfelt.progress import Progress
from heartfelt.publishing.release import Release


def write_papers(release: Release, folder: Path, progress: Progress | None = None) -> None:
    """Write every paper into the release's ``folder``, after the layouts; ``write_checksums`` comes last of all."""
