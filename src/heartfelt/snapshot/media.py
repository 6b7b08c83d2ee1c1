"""Finding and probing media files: what is there, how long, how large; never an error, always a reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import inside
from heartfelt.progress import Progress
from heartfelt.snapshot.probed import FACTS, MediaFacts, Probed

AUDIO = frozenset({".wav", ".flac", ".ogg", ".opus", ".mp3", ".aif", ".aiff", ".au", ".caf", ".w64"})
IMAGES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"})

PROBED = ("found", "duration", "rate", "channels", "width", "height", "bytes", "media_problem")
AT_HAND = ("path", *PROBED)
"""Columns that say what was at hand when the data were read; they are no part of a snapshot's hash."""


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
        return _image(path, size)
    return _audio(path, size)


def _audio(path: Path, size: int) -> MediaFacts:
    import soundfile

    try:
        info = soundfile.info(str(path))
    except (soundfile.LibsndfileError, RuntimeError, TypeError) as error:
        return MediaFacts(
            found=True, bytes=size, media_problem=f"not readable as audio: {error}".splitlines()[0]
        )
    return MediaFacts(True, info.frames / info.samplerate, info.samplerate, info.channels, bytes=size)


def _image(path: Path, size: int) -> MediaFacts:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            width, height = image.size
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as error:
        return MediaFacts(
            found=True, bytes=size, media_problem=f"not readable as an image: {error}".splitlines()[0]
        )
    return MediaFacts(found=True, width=width, height=height, bytes=size)


def probe_stimuli(
    stimuli: pl.DataFrame,
    root: Path,
    where: str,
    progress: Progress | None = None,
    home: Path | None = None,
) -> pl.DataFrame:
    """Return the stimuli with what their media files are. A missing file is a row with a reason.

    A path that leads out of ``root`` is an error. With ``home``, what was probed is remembered in that folder, and only
    files that are new or were changed are opened again.
    """
    if "path" not in stimuli.columns:
        return stimuli
    cache = Probed(home, root)
    rows = cache.facts(stimuli["path"].to_list(), lambda name: inside(root, name, where), probe, progress)
    cache.remember()
    probed = pl.DataFrame(rows, schema=FACTS, orient="row")
    kept = [name for name in PROBED if probed[name].null_count() < probed.height]
    return stimuli.drop([n for n in PROBED if n in stimuli.columns]).with_columns(
        probed.select(kept).get_columns()
    )


def find_media(root: Path, kinds: Sequence[str] | frozenset[str] = AUDIO | IMAGES) -> dict[str, str]:
    """Map each media file's stem to its path relative to ``root``; two files of one stem are an error."""
    found: dict[str, str] = {}
    for path in sorted(root.rglob("*")):
        if path.suffix.lower() in kinds and path.is_file():
            relative = path.relative_to(root).as_posix()
            if path.stem in found:
                raise InputError(
                    f"Two media files are called '{path.stem}': {found[path.stem]} and {relative} (in {root}).",
                    "Remove one, or give the stimuli a 'path' column.",
                )
            found[path.stem] = relative
    return found
