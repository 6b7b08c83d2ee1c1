"""Covariates of the stimuli: numeric columns, or the loudness measured from the media."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl

from heartfelt.errors import HeartfeltError, InputError, suggestion
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot

LOUDNESS = "loudness"


def covariate_columns(
    snapshot: Snapshot, names: tuple[str, ...], progress: Progress | None = None
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Each covariate's number for the stimuli that have one, and remarks on what is missing."""
    out: dict[str, dict[str, float]] = {}
    notes: list[str] = []
    for name in names:
        if name in snapshot.stimuli.columns:
            column = snapshot.stimuli[name]
            if not column.dtype.is_numeric():
                raise InputError(
                    f"The column '{name}' of the stimuli is not a number.", "Name a numeric column."
                )
            frame = snapshot.stimuli.select("stimulus", pl.col(name).cast(pl.Float64))
            found = {
                key: value for key, value in frame.iter_rows() if value is not None and math.isfinite(value)
            }
        elif name == LOUDNESS and snapshot.source.media_root is not None:
            found = loudness_of(snapshot, progress)
        else:
            raise InputError(
                f"The stimuli have no column '{name}'.",
                suggestion(name, [*snapshot.stimuli.columns, LOUDNESS], "They have"),
            )
        lost = snapshot.stimuli.height - len(found)
        if lost:
            notes.append(
                f"{lost:,} of {snapshot.stimuli.height:,} stimuli have no {name}; models with it leave them out."
            )
        out[name] = found
    return out, notes


def loudness_of(snapshot: Snapshot, progress: Progress | None = None) -> dict[str, float]:
    """Integrated loudness (LUFS) of every stimulus whose audio is at hand and not silent."""
    root = snapshot.source.media_root
    if root is None or "path" not in snapshot.stimuli.columns:
        return {}
    rows = snapshot.stimuli.select("stimulus", "path").drop_nulls().rows()
    found: dict[str, float] = {}
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        levels = pool.map(lambda row: _level(root / row[1]), rows)
        for done, ((name, _), value) in enumerate(zip(rows, levels, strict=True), 1):
            if progress is not None and done % 20 == 0:
                progress("measuring loudness", done, len(rows))
            if value is not None:
                found[name] = value
    return found


def _level(path: Path) -> float | None:
    from heartfelt.media.audio import loudness, read_audio

    try:
        audio = read_audio(path)
        return loudness(audio.samples, audio.rate).value
    except HeartfeltError:
        return None
