"""What was probed before: a small file in the study folder, so that media are opened once and not at every start.

A file is taken for the one that was probed if its path, size, time of change and inode time are the same. A file that
was changed in the two seconds before it was probed could have been changed again within the clock's grain: its content
is hashed, and the hash is compared the next time. Nothing depends on the file: without it, everything is probed.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TypeAlias

import polars as pl

from heartfelt.files import write_bytes
from heartfelt.progress import Progress

CACHE_FILE = ".media-probes.parquet"
_VERSION = 1
_GRAIN_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class MediaFacts:
    """What a media file is, or why that could not be told."""

    found: bool
    duration: float | None = None
    rate: int | None = None
    channels: int | None = None
    width: int | None = None
    height: int | None = None
    bytes: int | None = None
    media_problem: str | None = None


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
assert tuple(FACTS) == tuple(field.name for field in fields(MediaFacts))


@dataclass(slots=True)
class _Known:
    """One file as it was: size, times, the hash of one that was changed just before, and its facts."""

    size: int
    modified: int
    changed: int
    hash: str | None
    facts: Row


class Probed:
    """The facts of the media below ``root``, remembered in ``home``."""

    def __init__(self, home: Path | None, root: Path) -> None:
        self._file = None if home is None else home / CACHE_FILE
        self._root = str(root)
        self._known: dict[str, _Known] = {}
        self._used: dict[str, _Known] = {}
        self._read()
        self.probed = 0
        """How many files had to be opened."""

    def _read(self) -> None:
        if self._file is None or not self._file.is_file():
            return
        try:
            frame = pl.read_parquet(self._file)
            if frame.schema != pl.Schema({**_KEYS, **FACTS}) or set(frame["version"]) - {_VERSION}:
                return
        except (OSError, pl.exceptions.PolarsError):
            return
        for path, size, modified, changed, digest, _, *facts in frame.iter_rows():
            self._known[path] = _Known(size, modified, changed, digest, tuple(facts))

    def facts(
        self,
        paths: Sequence[str | None],
        locate: Callable[[str], Path],
        probe: Callable[[Path], MediaFacts],
        report: Progress | None,
    ) -> list[Row]:
        """The facts of every path in order; only those that are not known are located and probed, several at a time."""
        from concurrent.futures import ThreadPoolExecutor

        rows: list[Row | None] = [self._remembered(path) for path in paths]
        todo = [place for place, row in enumerate(rows) if row is None]
        done = len(rows) - len(todo)
        if report is not None and done:
            report("probing media", done, len(rows))

        def look(place: int) -> Row:
            path = paths[place]
            return _NO_PATH if path is None else self._probe(path, locate(path), probe)

        # A path that leads out of the folder is an error before anything is opened.
        for place in todo:
            path = paths[place]
            if path is not None:
                locate(path)
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            for place, row in zip(todo, pool.map(look, todo), strict=True):
                rows[place] = row
                done += 1
                if report is not None:
                    report("probing media", done, len(rows))
        return [row for row in rows if row is not None]

    def _remembered(self, path: str | None) -> Row | None:
        known = None if path is None else self._known.get(path)
        if known is None or path is None:
            return None
        try:
            status = os.stat(f"{self._root}/{path}")  # noqa: PTH116 - a Path for each of 160,000 files takes seconds
        except OSError:
            return None
        if (status.st_size, status.st_mtime_ns, status.st_ctime_ns) != (
            known.size,
            known.modified,
            known.changed,
        ):
            return None
        if known.hash is not None and known.hash != _hash(Path(self._root, path)):
            return None
        self._used[path] = known
        return known.facts

    def _probe(self, path: str, file: Path, probe: Callable[[Path], MediaFacts]) -> Row:
        self.probed += 1
        try:
            before = file.stat()
        except OSError:
            return astuple(probe(file))
        facts = astuple(probe(file))
        fresh = time.time_ns() - max(before.st_mtime_ns, before.st_ctime_ns) < _GRAIN_NS
        digest = _hash(file) if fresh else None
        self._used[path] = _Known(before.st_size, before.st_mtime_ns, before.st_ctime_ns, digest, facts)
        return facts

    def remember(self) -> None:
        """Write the file anew if anything was probed. A folder that cannot be written to goes without."""
        if self._file is None or (not self.probed and len(self._used) == len(self._known)):
            return
        rows = [
            (path, one.size, one.modified, one.changed, one.hash, _VERSION, *one.facts)
            for path, one in self._used.items()
        ]
        frame = pl.DataFrame(rows, schema={**_KEYS, **FACTS}, orient="row")
        out = io.BytesIO()
        frame.write_parquet(out, compression="zstd")
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
