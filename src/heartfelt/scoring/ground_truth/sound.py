"""Loudness and length of the sounds behind items, as columns to give errors by."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import polars as pl

from heartfelt.analysis.systems.effects import loudness_of
from heartfelt.files import write_text
from heartfelt.snapshot import Snapshot

LOUDNESS, LENGTH = "loudness", "length"
MOST_MEASURED = 2_000
"""More clips than this are measured for their loudness only where that slice is asked for."""
LEAST_SPREAD = {LOUDNESS: (1.0, "LU"), LENGTH: (0.5, "s")}
"""Sounds whose lowest and highest tenth differ by less than this are taken as alike."""


def with_sound(
    items: pl.DataFrame, snapshot: Snapshot, *, measure: bool, wanted: Sequence[str]
) -> tuple[pl.DataFrame, list[str]]:
    """Items with loudness (LUFS) and length (seconds) where they are known, and the columns added.

    A column of the stimuli is used as it is. Sounds at hand are measured if ``measure``, or where ``wanted`` names loudness.
    """
    columns: dict[str, dict[str, float]] = {}
    if LENGTH not in items.columns and "duration" in snapshot.stimuli.columns:
        scored = pl.col("stimulus").is_in(items["stimulus"].unique().to_list())
        present = snapshot.stimuli.filter(scored & pl.col("duration").is_not_null())
        columns[LENGTH] = dict(present.select("stimulus", "duration").iter_rows())
    sounds, requested = len(columns.get(LENGTH, {})), LOUDNESS in wanted
    if LOUDNESS not in items.columns and (requested or (measure and 0 < sounds <= MOST_MEASURED)):
        columns[LOUDNESS] = _cached_loudness(snapshot)
    added = []
    for name, values in columns.items():
        if values:
            column = pl.col("stimulus").replace_strict(values, default=None, return_dtype=pl.Float64)
            items = items.with_columns(column.alias(name))
            added.append(name)
    return items, added


def _cached_loudness(snapshot: Snapshot) -> dict[str, float]:
    """The loudness of the sounds at hand; files that have not changed since are not measured again."""
    root, file = snapshot.source.media_root, loudness_cache()
    if root is None or "path" not in snapshot.stimuli.columns:
        return {}
    cached: dict[str, float | None] = {}
    with suppress(OSError, ValueError):
        cached = json.loads(file.read_text(encoding="utf-8"))
    keys = {}
    for name, path in snapshot.stimuli.select("stimulus", "path").drop_nulls().iter_rows():
        with suppress(OSError):
            status = (root / path).stat()
            keys[name] = f"{(root / path).resolve()}|{status.st_size}|{status.st_mtime_ns}"
    missing = {name for name, key in keys.items() if key not in cached}
    if missing:
        measured = loudness_of(snapshot, among=missing)
        cached |= {keys[name]: measured.get(name) for name in missing}
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, json.dumps(cached))
    return {name: value for name, key in keys.items() if (value := cached[key]) is not None}


def loudness_cache() -> Path:
    """The file measured loudness is stored in, below the user's cache folder."""
    from platformdirs import user_cache_path

    return user_cache_path("heartfelt") / "loudness.json"


def unavailable(name: str, items: pl.DataFrame) -> str | None:
    """Why errors are not given by loudness or length, or None."""
    if name not in items.columns or not items[name].is_not_null().any():
        return f"no {name} is known (no sounds at hand, or more than {MOST_MEASURED:,}; --slice {name} asks for it)"
    values, (least, unit) = items[name], LEAST_SPREAD[name]
    if values.dtype.is_numeric():
        low, high = (float(values.quantile(share) or 0.0) for share in (0.1, 0.9))
        if high - low < least:
            return f"clips differ by less than {least:g} {unit}"
    return None
