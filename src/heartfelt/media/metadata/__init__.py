"""Media without their metadata: tags, comments and dates could reveal to a rater what made a stimulus.

Nothing is decoded or encoded again. A file is described as pieces: parts of the original, and a few bytes that replace
others. Originals are never written to.
"""

from __future__ import annotations

import logging
import mmap
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from heartfelt.media.metadata import audio, images
from heartfelt.media.metadata.padding import SMALLEST, with_padding
from heartfelt.media.metadata.pieces import Piece, Pieces, Span, read_range

__all__ = [
    "SMALLEST",
    "Pieces",
    "Span",
    "UnknownMetadataError",
    "padded",
    "read_range",
    "stripped",
    "without_metadata",
]

_log = logging.getLogger("heartfelt.media.metadata")


class UnknownMetadataError(Exception):
    """A file whose metadata cannot be located: of an unknown format, or damaged."""


Cleaner = Callable[[bytes], Iterator[Piece]]
_STARTS: tuple[tuple[int, bytes, Cleaner], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", images.png),
    (0, b"\xff\xd8\xff", images.jpeg),
    (0, b"GIF8", images.gif),
    (8, b"WEBP", images.webp),
    (8, b"WAVE", audio.wav_or_aiff),
    (8, b"AIF", audio.wav_or_aiff),
    (0, b"OggS", audio.ogg),
    (0, b"fLaC", audio.flac),
    (0, b".snd", audio.au),
    (0, b"caff", audio.caf),
    (0, b"riff", audio.wave64),
    (4, b"ftyp", audio.mp4),
    (0, b"BM", lambda data: iter((Span(0, len(data)),))),
)


def cleaner_of(data: bytes) -> Cleaner | None:
    """The function that strips such a file, by its first bytes; None for an unknown format."""
    for place, start, cleaner in _STARTS:
        if data[place : place + len(start)] == start:
            return cleaner
    begin = audio.after_tags(data, 0)
    if begin and data[begin : begin + 4] == b"fLaC":
        return audio.flac
    if begin or (data[:1] == b"\xff" and len(data) > 1 and data[1] & 0xE0 == 0xE0):
        return audio.mp3
    return None


def stripped(path: Path) -> Pieces:
    """The file without its metadata. A file that cannot be parsed is sent unchanged, with a warning."""
    try:
        return without_metadata(path)
    except UnknownMetadataError as error:
        _log.warning("%s", error)
        return Pieces((Span(0, path.stat().st_size),))


def padded(path: Path, size: int, seed: bytes) -> Pieces:
    """The file without its metadata, made ``size`` bytes long: at least ``SMALLEST`` more than ``stripped`` gives.

    Where the format has no room for it, padding stands behind the end.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        data: bytes = mapped  # type: ignore[assignment]  # as below
        cleaner = cleaner_of(data)
        try:
            parts = [] if cleaner is None else list(cleaner(data))
        except (ValueError, IndexError, struct.error):
            cleaner = None
        if cleaner is None:
            parts = [Span(0, len(data))]
        return Pieces.of(with_padding(cleaner, data, parts, size, seed))


def without_metadata(path: Path) -> Pieces:
    """The file without its metadata; an :class:`UnknownMetadataError` where that cannot be guaranteed."""
    if not path.stat().st_size:
        return Pieces(())
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        # A memory map reads, slices and searches as bytes do, without the file being read whole.
        data: bytes = mapped  # type: ignore[assignment]  # see above
        cleaner = cleaner_of(data)
        if cleaner is None:
            raise UnknownMetadataError(f"{path.name}: cannot strip metadata from this format")
        try:
            return Pieces.of(cleaner(data))
        except (ValueError, IndexError, struct.error) as error:
            raise UnknownMetadataError(f"{path.name}: cannot strip metadata ({error})") from error
