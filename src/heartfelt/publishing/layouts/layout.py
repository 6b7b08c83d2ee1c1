"""The registry of layouts, and how rows are spread over files of a limited size."""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.publishing.release.release import ReleaseLayout
from heartfelt.registry import Registry

_HOME = "heartfelt.publishing.layouts"
LAYOUTS: Registry[ReleaseLayout] = Registry(
    "release layout",
    homes=[f"{_HOME}.{module}" for module in ("csv_tables", "huggingface", "published", "snapshot_folder", "shards")],
)
USUAL_LAYOUTS = ("huggingface", "csv")
"""What is written besides the snapshot if nothing else is asked for."""


def shard_bounds(sizes: Sequence[int], limit: int, most: int | None = None) -> list[tuple[int, int]]:
    """Start and end of consecutive rows that fit into one file: at most ``limit`` bytes and ``most`` rows, at least one row."""
    bounds, start, total = [], 0, 0
    for at, size in enumerate(sizes):
        if at > start and (total + size > limit or (most is not None and at - start >= most)):
            bounds.append((start, at))
            start, total = at, 0
        total += size
    return [*bounds, (start, len(sizes))]
