"""Covariates of the stimuli: numeric columns, or the loudness measured from the media."""

from __future__ import annotations

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
    """Each covariate's number for the stimuli that have one, and notes on what is missing."""
    out: dict[str, dict[str, float]] = {}
    stimuli, notes = snapshot.stimuli, []
    for name in names:
        if name in stimuli.columns:
            if not stimuli[name].dtype.is_numeric():
                raise InputError(
                    f"The column '{name}' of the stimuli is not a number.", "Name a numeric column."
                )
            column = stimuli.select("stimulus", pl.col(name).cast(pl.Float64))
            out[name] = dict(column.filter(pl.col(name).is_finite()).iter_rows())
        elif name == LOUDNESS and snapshot.source.media_root is not None:
            out[name] = loudness_of(snapshot, progress)
        else:
            raise InputError(
                f"The stimuli have no column '{name}'.",
                suggestion(name, [*stimuli.columns, LOUDNESS], "They have"),
            )
        lost = stimuli.height - len(out[name])
        if lost:
            notes.append(
                f"{lost:,} of {stimuli.height:,} stimuli have no {name}; models with it leave them out."
            )
    return out, notes


def loudness_of(snapshot: Snapshot, progress: Progress | None = None) -> dict[str, float]:
    """Integrated loudness (LUFS) of every stimulus whose audio is available and not silent."""
    root = snapshot.source.media_root
    if root is None or "path" not in snapshot.stimuli.columns:
        return {}
    rows = snapshot.stimuli.select("stimulus", "path").drop_nulls().rows()
    measured: dict[str, float] = {}
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        values = pool.map(lambda row: _loudness(root / row[1]), rows)
        for done, ((name, _), value) in enumerate(zip(rows, values, strict=True), 1):
            if progress is not None and done % 20 == 0:
                progress("measuring loudness", done, len(rows))
            if value is not None:
                measured[name] = value
    return measured


def _loudness(path: Path) -> float | None:
    from heartfelt.media.audio import loudness, read_audio

    try:
        audio = read_audio(path)
        return loudness(audio.samples, audio.rate).value
    except HeartfeltError:
        return None
