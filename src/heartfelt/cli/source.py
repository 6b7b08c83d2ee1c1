"""Reading whatever a command is pointed to: data in any format, or a study folder with what it has collected."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot


def read_source(
    source: Path,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Snapshot:
    """Read ``source``. A study folder that ratings were collected for is read with its ratings."""
    from heartfelt.formats.manifest import is_study
    from heartfelt.formats.reading import candidates, read_with

    if format is None and source.is_dir() and is_study(source) and not candidates(source):
        from heartfelt.collect.collection import collected_snapshot, has_collected

        if has_collected(source):
            return collected_snapshot(source, progress)
    return read_with(source, format, options or {}, progress)
