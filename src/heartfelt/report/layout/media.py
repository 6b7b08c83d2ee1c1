"""Media of a page: inside it, as files next to it, or linked where they are, relative to the page."""

from __future__ import annotations

import base64
import mimetypes
import os
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path
from urllib.parse import quote

import polars as pl

from heartfelt.errors import HeartfeltError
from heartfelt.media.images.image import thumbnail
from heartfelt.snapshot import Snapshot

EMBED_AT_MOST = 24 * 2**20
THUMBNAILS_AT_MOST = 2 * 2**20
_TYPES = {".opus": "audio/ogg", ".ogg": "audio/ogg", ".flac": "audio/flac", ".wav": "audio/wav", ".mp3": "audio/mpeg"}


def media_sources(snapshot: Snapshot, page: Path) -> dict[str, str]:
    """What the page plays for each stimulus: a data address if all media fit into the page, else a relative path."""
    paths = media_paths(snapshot.stimuli, snapshot.source.media_root)
    if sum(path.stat().st_size for path in paths.values()) > EMBED_AT_MOST:
        return {name: relative_address(path, page.parent) for name, path in paths.items()}
    return {name: _embedded(path) for name, path in paths.items()}


def media_beside(snapshot: Snapshot, names: Collection[str], folder: Path, page: Path) -> dict[str, str]:
    """What the page plays for the named stimuli: files copied into ``folder``/media if they are small, else where they are.

    ``page`` is where the page will be in the end, in the folder that ``folder`` becomes.
    """
    root = snapshot.source.media_root
    paths = {name: path for name, path in media_paths(snapshot.stimuli, root).items() if name in names}
    large = sum(path.stat().st_size for path in paths.values()) > EMBED_AT_MOST
    if root is None or large or any(".." in path.relative_to(root).parts for path in paths.values()):
        return {name: relative_address(path, page.parent) for name, path in paths.items()}
    sources = {}
    for name, path in paths.items():
        relative = Path("media") / path.relative_to(root)
        (folder / relative).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / relative)
        sources[name] = quote(relative.as_posix())
    return sources


def thumbnails(snapshot: Snapshot, names: Iterable[str]) -> dict[str, str]:
    """Small pictures of images as data addresses; those that cannot be read, or are too many for a page, are left out."""
    paths, out, size = media_paths(snapshot.stimuli, snapshot.source.media_root), {}, 0
    for name in names:
        try:
            small = thumbnail(paths[name]) if name in paths else b""
        except HeartfeltError:
            continue
        size += len(small)
        if small and size <= THUMBNAILS_AT_MOST:
            out[name] = f"data:image/jpeg;base64,{base64.b64encode(small).decode()}"
    return out


def media_paths(stimuli: pl.DataFrame, root: Path | None) -> dict[str, Path]:
    """The media files below ``root`` that were there when the stimuli were read, by stimulus."""
    if root is None or not {"path", "found"} <= set(stimuli.columns):
        return {}
    existing = stimuli.filter(pl.col("found") & (pl.col("path") != ""))
    return {name: root / path for name, path in existing.select("stimulus", "path").iter_rows()}


def relative_address(path: Path, folder: Path) -> str:
    """The address of a file for a page in ``folder``."""
    return quote(Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix())


def _embedded(path: Path) -> str:
    kind = _TYPES.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
