"""Loudness and length of the sounds behind items, as columns to give errors by."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from heartfelt.analysis.effects import loudness_of
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
    sounds, asked = len(columns.get(LENGTH, {})), LOUDNESS in wanted
    if LOUDNESS not in items.columns and (asked or (measure and 0 < sounds <= MOST_MEASURED)):
        columns[LOUDNESS] = loudness_of(snapshot)
    added = []
    for name, values in columns.items():
        if values:
            column = pl.col("stimulus").replace_strict(values, default=None, return_dtype=pl.Float64)
            items = items.with_columns(column.alias(name))
            added.append(name)
    return items, added


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
