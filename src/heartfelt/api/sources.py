"""The snapshot behind whatever a person may hand over."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heartfelt.extras import require_extra
from heartfelt.options import SourceOptions
from heartfelt.progress import Progress

if TYPE_CHECKING:
    from heartfelt.snapshot import Snapshot


def snapshot_of(source: object, reading: SourceOptions | None = None, progress: Progress | None = None) -> Snapshot:
    """A snapshot itself, a panel's, or what can be read from a path or a table."""
    from heartfelt.screening import Panel
    from heartfelt.snapshot import Snapshot

    reading = reading or SourceOptions()
    if isinstance(source, Snapshot):
        return source
    if isinstance(source, Panel):
        return source.snapshot()
    return read_source(source, reading.format, reading.map, progress)


def read_source(
    source: Any,
    format: str | None = None,
    options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> Snapshot:
    """Read ``source``. A study folder that ratings were collected for is read with its ratings."""
    from heartfelt.collect.stored import has_collected
    from heartfelt.formats.format import candidates, read_with

    if isinstance(source, Path | str) and format is None:
        folder = Path(source)
        if has_collected(folder) and not candidates(folder):
            require_extra("serve")
            from heartfelt.collect.collection import collected_snapshot

            return collected_snapshot(folder, progress)
    return read_with(source, format, options or {}, progress)


def read_parts(
    source: object, reading: SourceOptions, layout: str | None, progress: Progress | None = None
) -> list[Snapshot]:
    """Read ``source`` once, or once in each of the formats that a published layout is made of."""
    from heartfelt.formats.format import candidates
    from heartfelt.scoring.layouts import LAYOUTS

    formats: tuple[str, ...] = ()
    if layout and reading.format is None and isinstance(source, Path | str):
        formats = LAYOUTS[layout].formats_of(candidates(Path(source)))
    if not formats:
        return [snapshot_of(source, reading, progress)]
    return [read_source(source, name, reading.map, progress) for name in formats]


def screened(snapshot: Snapshot, policy: str) -> Snapshot:
    """What a policy retains of a snapshot."""
    from heartfelt.screening import screen

    return snapshot if policy == "flag-only" else screen(snapshot, policy).snapshot()
