"""Finding and probing media files: what is there, how long, how large; never an error, always a reason.

What was probed is remembered in a small file in the study folder, so that media are opened once and not at every
start. A file is taken for the one that was probed if its path, size, time of change and inode time are the same. A file
that was changed in the two seconds before it was probed could have been changed again within the resolution of the
clock: its content is hashed, and the hash is compared the next time. Without the small file, everything is probed again.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TypeAlias

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import inside, write_bytes
from heartfelt.progress import Progress

AUDIO = frozenset({".wav", ".flac", ".ogg", ".opus", ".mp3", ".aif", ".aiff", ".au", ".caf", ".w64"})
IMAGES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"})
CACHE_FILE = ".media-probes.parquet"
_VERSION = 1
_CLOCK_NS = 2_000_000_000

Row: TypeAlias = tuple[bool | int | float | str | None, ...]
FACTS: dict[str, type[pl.DataType]] = {
    "found": pl.Boolean,
    "duration": pl.Float64,
    "rate": pl.Int64,
    "channels": pl.Int64,
    "width": pl.Int64,
    "height": pl.Int64,
    "bytes": pl.Int64,
    "media_problem": pl.String,
}
_KEYS: dict[str, type[pl.DataType]] = {
    "path": pl.String,
    "size": pl.Int64,
    "modified": pl.Int64,
    "changed": pl.Int64,
    "hash": pl.String,
    "version": pl.Int64,
}
PROBED = tuple(FACTS)
AT_HAND = ("path", *PROBED)
"""Columns that say what was at hand when the data were read; they are no part of a snapshot's hash."""


@dataclass(frozen=True, slots=True)
class MediaFacts:
    """What a media file is, or why that is not known; the fields are the columns of :data:`FACTS`."""

    found: bool
    duration: float | None = None
    rate: int | None = None
    channels: int | None = None
    width: int | None = None
    height: int | None = None
    bytes: int | None = None
    media_problem: str | None = None


def probe(path: Path) -> MediaFacts:
    """Read a media file's header."""
    try:
        size = path.stat().st_size
    except OSError:
        return MediaFacts(found=False, media_problem="file not found")
    if not path.is_file():
        return MediaFacts(found=False, media_problem="not a file")
    if size == 0:
        return MediaFacts(found=True, bytes=0, media_problem="the file is empty")
    return _image(path, size) if path.suffix.lower() in IMAGES else _audio(path, size)


def _audio(path: Path, size: int) -> MediaFacts:
    import soundfile

    try:
        info = soundfile.info(str(path))
    except (soundfile.LibsndfileError, RuntimeError, TypeError) as error:
        problem = f"not readable as audio: {error}".splitlines()[0]
        return MediaFacts(found=True, bytes=size, media_problem=problem)
    return MediaFacts(True, info.frames / info.samplerate, info.samplerate, info.channels, bytes=size)


def _image(path: Path, size: int) -> MediaFacts:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            width, height = image.size
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as error:
        problem = f"not readable as an image: {error}".splitlines()[0]
        return MediaFacts(found=True, bytes=size, media_problem=problem)
    return MediaFacts(found=True, width=width, height=height, bytes=size)


@dataclass(slots=True)
class _Known:
    """One file as it was: size, times, the hash of one that was changed just before, and its facts."""

    size: int
    modified: int
    changed: int
    hash: str | None
    facts: Row


class _Cache:
    """The facts of the media below ``root``, remembered in ``home``."""

    def __init__(self, home: Path | None, root: Path, where: str) -> None:
        self._file = None if home is None else home / CACHE_FILE
        self._root = root
        self._where = where
        self._known: dict[str, _Known] = {}
        self._used: dict[str, _Known] = {}
        self._read()

    def _read(self) -> None:
        if self._file is None or not self._file.is_file():
            return
        try:
            frame = pl.read_parquet(self._file)
        except (OSError, pl.exceptions.PolarsError):
            return
        if frame.schema != pl.Schema({**_KEYS, **FACTS}) or set(frame["version"]) - {_VERSION}:
            return
        for path, size, modified, changed, digest, _, *facts in frame.iter_rows():
            self._known[path] = _Known(size, modified, changed, digest, tuple(facts))

    def facts(self, paths: Sequence[str | None], progress: Progress | None) -> list[Row]:
        """The facts of every path in order; only those that are not known are probed, several at a time."""
        rows = [self._remembered(path) for path in paths]
        todo = [place for place, row in enumerate(rows) if row is None]
        done = len(rows) - len(todo)
        if progress is not None and done:
            progress("probing media", done, len(rows))
        # A path that leads out of the folder is an error before anything is opened.
        files = {path: inside(self._root, path, self._where) for place in todo if (path := paths[place])}

        def look(place: int) -> Row:
            path = paths[place]
            return _NO_PATH if not path else self._probe(path, files[path])

        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            for place, row in zip(todo, pool.map(look, todo), strict=True):
                rows[place] = row
                done += 1
                if progress is not None:
                    progress("probing media", done, len(rows))
        return [row for row in rows if row is not None]

    def _remembered(self, path: str | None) -> Row | None:
        known = None if path is None else self._known.get(path)
        if known is None or path is None:
            return None
        try:
            status = os.stat(f"{self._root}/{path}")  # noqa: PTH116 - a Path for each of 160,000 files takes seconds
        except OSError:
            return None
        same = (known.size, known.modified, known.changed)
        if (status.st_size, status.st_mtime_ns, status.st_ctime_ns) != same:
            return None
        if known.hash is not None and known.hash != _hash(self._root / path):
            return None
        self._used[path] = known
        return known.facts

    def _probe(self, path: str, file: Path) -> Row:
        try:
            before = file.stat()
        except OSError:
            return astuple(probe(file))
        facts = astuple(probe(file))
        fresh = time.time_ns() - max(before.st_mtime_ns, before.st_ctime_ns) < _CLOCK_NS
        digest = _hash(file) if fresh else None
        self._used[path] = _Known(before.st_size, before.st_mtime_ns, before.st_ctime_ns, digest, facts)
        return facts

    def remember(self) -> None:
        """Write the file anew if anything was probed. A folder that cannot be written to goes without."""
        if self._file is None or self._used == self._known:
            return
        rows = [
            (path, known.size, known.modified, known.changed, known.hash, _VERSION, *known.facts)
            for path, known in self._used.items()
        ]
        out = io.BytesIO()
        pl.DataFrame(rows, schema={**_KEYS, **FACTS}, orient="row").write_parquet(out, compression="zstd")
        try:
            write_bytes(self._file, out.getvalue())
        except OSError:
            return


_NO_PATH: Row = astuple(MediaFacts(False, media_problem="no path given"))


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    except OSError:
        return ""


def probe_stimuli(
    stimuli: pl.DataFrame, root: Path, where: str, progress: Progress | None = None, home: Path | None = None
) -> pl.DataFrame:
    """Return the stimuli with what their media files are. A missing file is a row with a reason.

    A path that leads out of ``root`` is an error. With ``home``, what was probed is remembered in that folder, and only
    files that are new or were changed are opened again.
    """
    if "path" not in stimuli.columns:
        return stimuli
    cache = _Cache(home, root, where)
    rows = cache.facts(stimuli["path"].to_list(), progress)
    cache.remember()
    probed = pl.DataFrame(rows, schema=FACTS, orient="row")
    filled = [column for column in probed if column.null_count() < probed.height]
    return stimuli.drop(PROBED, strict=False).with_columns(filled)


def find_media(root: Path, kinds: frozenset[str] = AUDIO | IMAGES) -> dict[str, str]:
    """Map each media file's stem to its path relative to ``root``; two files of one stem are an error."""
    paths: dict[str, str] = {}
    for path in sorted(root.rglob("*")):
        if path.suffix.lower() in kinds and path.is_file():
            relative = path.relative_to(root).as_posix()
            if path.stem in paths:
                raise InputError(
                    f"Two media files are called '{path.stem}': {paths[path.stem]} and {relative} (in {root}).",
                    "Remove one, or give the stimuli a 'path' column.",
                )
            paths[path.stem] = relative
    return paths
