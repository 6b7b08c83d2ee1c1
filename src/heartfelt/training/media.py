"""The media files of the stimuli a model is trained on: read several at a time, with what tells near-duplicates apart."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import polars as pl

from heartfelt.errors import HeartfeltError
from heartfelt.files import inside
from heartfelt.media.images.duplicates import Bits, image_hash
from heartfelt.media.sound import read_samples
from heartfelt.media.sounds.checks import sound_hash
from heartfelt.progress import Progress
from heartfelt.scoring.grouping import picture_hash
from heartfelt.snapshot import Snapshot

T = TypeVar("T")
NO_FILE = "its media file is not available"


def read_media(
    snapshot: Snapshot,
    stimuli: pl.DataFrame,
    read: Callable[[str, Path], T | str],
    *,
    doing: str = "",
    progress: Progress | None = None,
    workers: int = 4,
) -> Iterator[tuple[str, T | str]]:
    """What ``read`` makes of the file of each stimulus, in their order; a sentence where the file cannot be used."""
    root = snapshot.source.media_root
    names = stimuli["stimulus"].cast(pl.String).to_list()
    paths = [
        None if root is None or path is None else inside(Path(root), path, "stimuli")
        for path in texts_of(stimuli, "path")
    ]

    def attempt(name: str, path: Path | None) -> T | str:
        if path is None or not path.is_file():
            return NO_FILE
        try:
            return read(name, path)
        except HeartfeltError as error:
            return error.problem

    # Threads serve: reading and decoding files release the interpreter.
    with ThreadPoolExecutor(min(workers, os.cpu_count() or 1)) as pool:
        for done, (name, result) in enumerate(zip(names, pool.map(attempt, names, paths), strict=True), 1):
            if progress is not None:
                progress(doing, done, len(names))
            yield name, result


def fingerprint_of(media: str) -> Callable[[Path], Bits | None]:
    """What recognises near-duplicates of a medium; files that cannot be read raise."""
    if media == "image":
        return image_hash
    if media in ("audio", "speech"):
        return lambda path: sound_hash(*read_samples(path))
    return lambda _: None


def picture_hashes(snapshot: Snapshot, stimuli: pl.DataFrame) -> tuple[Bits | None, ...]:
    """The hashes of pictures, for detecting near-duplicates; nothing for other media."""
    if snapshot.study.media != "image":
        return ()
    hashes = read_media(snapshot, stimuli, lambda _, path: picture_hash(path))
    return tuple(None if isinstance(bits, str) else bits for _, bits in hashes)


def texts_of(stimuli: pl.DataFrame, column: str) -> tuple[str | None, ...]:
    """A column as text; None for every row where there is none."""
    if column not in stimuli.columns:
        return (None,) * stimuli.height
    return tuple(stimuli[column].cast(pl.String).to_list())
