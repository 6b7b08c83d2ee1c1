"""Finding and probing media files: what is there, how long, how large; never an error, always a reason.

What was probed is remembered in a small file in the study folder, so that media are opened once and not at every start. A file
counts as the one that was probed if its path, size, modification time and inode change time are the same. A file that was
changed in the two seconds before it was probed could have changed again within the clock's resolution: its content is
hashed, and the hash is compared the next time. Nothing depends on the remembered facts: without them, everything is probed.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeAlias

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import inside, write_bytes
from heartfelt.progress import Progress

AUDIO = frozenset({".wav", ".flac", ".ogg", ".opus", ".mp3", ".aif", ".aiff", ".au", ".caf", ".w64"})
IMAGES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"})
CACHE_FILE = ".media-probes.parquet"
_VERSION = 1
_RESOLUTION_NS = 2_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaFacts:
    """What a media file is, or why that could not be determined."""

    found: bool
    duration: float | None = None
    rate: int | None = None
    channels: int | None = None
    width: int | None = None
    height: int | None = None
    bytes: int | None = None
    media_problem: str | None = None


FACTS: dict[str, type[pl.DataType]] = {
    "found": pl.Boolean,
    "duration": pl.Float64,
    **dict.fromkeys(("rate", "channels", "width", "height", "bytes"), pl.Int64),
    "media_problem": pl.String,
}
"""The fields of :class:`MediaFacts` as columns of the stimuli."""
PROBED = tuple(FACTS)
AT_HAND = ("path", *PROBED)
"""Columns that describe the files present when the data were read; they are no part of a snapshot's hash."""
MADE_AT = "made_at"
"""When a stimulus was made: no part of a snapshot's hash either, so that making the same stimuli again gives the same one."""
_KEYS: dict[str, type[pl.DataType]] = {
    "path": pl.String,
    **dict.fromkeys(("size", "modified", "changed"), pl.Int64),
    "hash": pl.String,
    "version": pl.Int64,
}
_Row: TypeAlias = tuple[bool | int | float | str | None, ...]


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
    if path.suffix.lower() in IMAGES:
        from PIL import Image, UnidentifiedImageError

        try:
            with Image.open(path) as image:
                return MediaFacts(found=True, width=image.width, height=image.height, bytes=size)
        except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as error:
            problem = f"not readable as an image: {error}"
    else:
        import soundfile

        try:
            info = soundfile.info(str(path))
            return MediaFacts(
                found=True,
                duration=info.frames / info.samplerate,
                rate=info.samplerate,
                channels=info.channels,
                bytes=size,
            )
        except (soundfile.LibsndfileError, RuntimeError, TypeError) as error:
            problem = f"not readable as audio: {error}"
    return MediaFacts(found=True, bytes=size, media_problem=problem.splitlines()[0])


def probe_stimuli(
    stimuli: pl.DataFrame, root: Path, where: str, progress: Progress | None = None, home: Path | None = None
) -> pl.DataFrame:
    """Return the stimuli with what their media files are. A missing file is a row with a reason.

    A path that leads out of ``root`` is an error. With ``home``, what was probed is remembered in that folder, and only
    files that are new or changed are opened again.
    """
    if "path" not in stimuli.columns:
        return stimuli
    probes = _Probes(home, root)
    rows = probes.facts(stimuli["path"].to_list(), lambda name: inside(root, name, where), progress)
    probes.remember()
    probed = pl.DataFrame(rows, schema=FACTS, orient="row")
    columns = [name for name in PROBED if probed[name].null_count() < probed.height]
    return stimuli.drop(PROBED, strict=False).with_columns(probed.select(columns).get_columns())


def media_by_path(root: Path, kinds: Sequence[str] | frozenset[str] = AUDIO | IMAGES) -> dict[str, str]:
    """Map the end of each media file's path, as far as it names one file only, to the path relative to ``root``.

    ``images/red/p1.jpg`` is found as ``images/red/p1``, ``red/p1`` and, where no other folder has a ``p1``, as ``p1``, each with
    or without its suffix.
    """
    named: dict[str, set[str]] = {}
    for path in sorted(root.rglob("*")):
        if path.suffix.lower() in kinds and path.is_file():
            parts = path.relative_to(root).parts
            for start in range(len(parts)):
                end = PurePosixPath(*parts[start:])
                for name in (str(end), str(end.with_suffix(""))):
                    named.setdefault(name, set()).add("/".join(parts))
    return {name: next(iter(files)) for name, files in named.items() if len(files) == 1}


def find_media(root: Path, kinds: Sequence[str] | frozenset[str] = AUDIO | IMAGES) -> dict[str, str]:
    """Map each media file's stem to its path relative to ``root``; two files with the same stem are an error."""
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


class _Probe(NamedTuple):
    """One file as it was: size, times, the hash of a file changed just before, and its facts."""

    stamp: tuple[int, int, int]
    hash: str | None
    facts: _Row


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


class _Probes:
    """The facts of the media below ``root``, remembered in ``home``."""

    def __init__(self, home: Path | None, root: Path) -> None:
        self._file = None if home is None else home / CACHE_FILE
        self._root = str(root)
        self._known = self._read()
        self._used: dict[str, _Probe] = {}
        self._probed = 0

    def _read(self) -> dict[str, _Probe]:
        if self._file is None or not self._file.is_file():
            return {}
        try:
            frame = pl.read_parquet(self._file)
        except (OSError, pl.exceptions.PolarsError):
            return {}
        if frame.schema != pl.Schema({**_KEYS, **FACTS}) or set(frame["version"]) - {_VERSION}:
            return {}
        return {
            path: _Probe((size, modified, changed), digest, tuple(facts))
            for path, size, modified, changed, digest, _, *facts in frame.iter_rows()
        }

    def facts(self, paths: Sequence[str | None], locate: Callable[[str], Path], report: Progress | None) -> list[_Row]:
        """The facts of every path in order; only those not known are located and probed, several at a time."""
        rows = list(map(self._remembered, paths))
        missing = [index for index, row in enumerate(rows) if row is None]
        # A path that leads out of the folder is an error before anything is opened.
        files = [None if (path := paths[index]) is None else (path, locate(path)) for index in missing]
        done = len(rows) - len(missing)
        if report is not None and done:
            report("probing media", done, len(rows))
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            for index, row in zip(missing, pool.map(self._probe, files), strict=True):
                rows[index] = row
                done += 1
                if report is not None:
                    report("probing media", done, len(rows))
        return list(filter(None, rows))

    def _remembered(self, path: str | None) -> _Row | None:
        stored = None if path is None else self._known.get(path)
        if path is None or stored is None:
            return None
        try:
            status = os.stat(f"{self._root}/{path}")  # noqa: PTH116 - a Path for each of 160,000 files takes seconds
        except OSError:
            return None
        unsure = stored.hash is not None
        if _stamp(status) != stored.stamp or (unsure and stored.hash != _hash(Path(self._root, path))):
            return None
        self._used[path] = stored
        return stored.facts

    def _probe(self, named: tuple[str, Path] | None) -> _Row:
        if named is None:
            return astuple(MediaFacts(found=False, media_problem="no path given"))
        path, file = named
        self._probed += 1
        try:
            before = file.stat()
        except OSError:
            return astuple(probe(file))
        facts = astuple(probe(file))
        fresh = time.time_ns() - max(before.st_mtime_ns, before.st_ctime_ns) < _RESOLUTION_NS
        digest = _hash(file) if fresh else None
        self._used[path] = _Probe(_stamp(before), digest, facts)
        return facts

    def remember(self) -> None:
        """Write the file again if anything was probed. A folder that cannot be written to is left alone."""
        if self._file is None or (not self._probed and len(self._used) == len(self._known)):
            return
        rows = [(path, *p.stamp, p.hash, _VERSION, *p.facts) for path, p in self._used.items()]
        out = io.BytesIO()
        pl.DataFrame(rows, schema={**_KEYS, **FACTS}, orient="row").write_parquet(out, compression="zstd")
        try:
            write_bytes(self._file, out.getvalue())
        except OSError:
            return


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    except OSError:
        return ""
