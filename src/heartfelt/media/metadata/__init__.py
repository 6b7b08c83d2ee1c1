"""Media without their metadata: tags, comments and dates could reveal to a rater what made a stimulus, and to readers who.

Nothing is decoded or encoded again. A file is described as pieces: parts of the original, and a few bytes that replace
others. Originals are never written to. A format keeps only what is known to be heard or seen; a file of another format, or
one that cannot be parsed, is refused by name.
"""

from __future__ import annotations

import logging
import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

from heartfelt.media.metadata.containers import Container, container_of
from heartfelt.media.metadata.padding import SMALLEST, with_padding
from heartfelt.media.metadata.pieces import Piece, Pieces, Span, read_range

__all__ = [
    "SMALLEST",
    "Pieces",
    "Span",
    "UnknownMetadataError",
    "has_metadata",
    "padded",
    "read_range",
    "stripped",
    "without_metadata",
]

_log = logging.getLogger(__name__)
_BLOCK = 1 << 20


class UnknownMetadataError(Exception):
    """A file whose metadata cannot be located: of an unknown format, or damaged."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path.name}: {reason}")
        self.reason = reason
        """What is the matter and what to do about it, without the file's name."""


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
    if not path.stat().st_size:
        return Pieces.of(with_padding(None, b"", [], size, seed))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        data: bytes = mapped  # type: ignore[assignment]  # as below
        container = container_of(data)
        try:
            parts = _parts(data, container)
        except (ValueError, IndexError, struct.error):
            return Pieces.of(with_padding(None, data, [Span(0, len(data))], size, seed))
        return Pieces.of(with_padding(container.cleaner, data, parts, size, seed))


def without_metadata(path: Path) -> Pieces:
    """The file without its metadata; an :class:`UnknownMetadataError` where that cannot be guaranteed."""
    if not path.stat().st_size:
        return Pieces(())
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        # A memory map reads, slices and searches as bytes do, without the file being read whole.
        data: bytes = mapped  # type: ignore[assignment]  # see above
        container = container_of(data)
        try:
            return Pieces.of(_parts(data, container))
        except (ValueError, IndexError, struct.error) as error:
            detail = "" if container.cleaner is None else f" ({error})"
            reason = f"metadata cannot be removed from {container.name}{detail}: {container.fix}"
            raise UnknownMetadataError(path, reason) from error


def _parts(data: bytes, container: Container) -> list[Piece]:
    if container.cleaner is None:
        raise ValueError(container.name)
    parts = list(container.cleaner(data))
    if any(isinstance(part, Span) and not 0 <= part.start <= part.stop <= len(data) for part in parts):
        raise ValueError("it ends too early")
    return parts


def has_metadata(path: Path) -> bool:
    """Whether cleaning would change the file, or could not be done."""
    try:
        pieces = without_metadata(path)
    except UnknownMetadataError:
        return True
    return pieces.size != path.stat().st_size or any(clean != original for clean, original in _replaced(path, pieces))


def _replaced(path: Path, pieces: Pieces) -> Iterator[tuple[bytes, bytes]]:
    """Of a file as long as its clean form, stretches of both."""
    original = Pieces((Span(0, pieces.size),))
    for at in range(0, pieces.size, _BLOCK):
        stop = min(pieces.size, at + _BLOCK)
        yield read_range(path, pieces, at, stop), read_range(path, original, at, stop)
