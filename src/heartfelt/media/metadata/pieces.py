"""A file as pieces: stretches of the original and bytes of our own, read as if they were one file."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

_BLOCK = 65_536
_LETTERS = bytes(97 + byte % 26 for byte in range(256))


class Span(NamedTuple):
    """A stretch of the original file, in bytes from its beginning."""

    start: int
    stop: int


class Noise(NamedTuple):
    """Letters that a seed gives, made when they are read."""

    seed: bytes
    size: int

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` to before ``stop``."""
        first, last = start // _BLOCK, -(-stop // _BLOCK)
        blocks = (
            hashlib.shake_128(self.seed + struct.pack(">I", number)).digest(_BLOCK) for number in range(first, last)
        )
        return b"".join(blocks).translate(_LETTERS)[start - first * _BLOCK : stop - first * _BLOCK]


Piece: TypeAlias = bytes | Span | Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class StrippedFile:
    """A file and its pieces without metadata."""

    data: bytes
    parts: list[Piece]


def length_of(piece: Piece) -> int:
    """How many bytes a piece gives."""
    if isinstance(piece, Noise):
        return piece.size
    return piece.stop - piece.start if isinstance(piece, Span) else len(piece)


class Chunk(NamedTuple):
    """A part of a file that begins with its kind and size: where its content begins, and where it or the file ends."""

    kind: bytes
    start: int
    content: int
    stop: int


def chunks(data: bytes, at: int, head: str, end: int | None = None, *, unit: int = 2) -> Iterator[Chunk]:
    """The chunks from ``at`` on, whose kind and size are packed as ``head`` and whose content fills whole units.

    A negative size reaches to the end.
    """
    end = len(data) if end is None else end
    size_of_head = struct.calcsize(head)
    while at + size_of_head <= end:
        kind, size = struct.unpack_from(head, data, at)
        content = at + size_of_head
        stop = end if size < 0 else content + int(size)
        yield Chunk(kind, at, content, min(stop, end))
        at = stop + (content - stop) % unit


def read_pieces(data: bytes, pieces: Iterable[Piece]) -> bytes:
    """What the pieces of the file ``data`` give."""
    return b"".join(
        data[piece.start : piece.stop]
        if isinstance(piece, Span)
        else piece.read(0, piece.size)
        if isinstance(piece, Noise)
        else piece
        for piece in pieces
    )


@dataclass(frozen=True)
class Pieces:
    """What is sent in the place of a file."""

    parts: tuple[Piece, ...]

    @classmethod
    def of(cls, parts: Iterable[Piece]) -> Pieces:
        """Join stretches that touch and leave empty ones out."""
        joined: list[Piece] = []
        for part in parts:
            last = joined[-1] if joined else None
            if not length_of(part):
                continue
            if isinstance(part, Span) and isinstance(last, Span) and last.stop == part.start:
                joined[-1] = Span(last.start, part.stop)
            elif isinstance(part, bytes) and isinstance(last, bytes):
                joined[-1] = last + part
            else:
                joined.append(part)
        return cls(tuple(joined))

    @cached_property
    def size(self) -> int:
        """How many bytes are sent in all."""
        return sum(length_of(part) for part in self.parts)


def read_range(path: Path, pieces: Pieces, start: int, stop: int) -> bytes:
    """The bytes from ``start`` to before ``stop`` of what is sent for the file."""
    out: list[bytes] = []
    at = 0
    with path.open("rb") as file:
        for part in pieces.parts:
            size = length_of(part)
            low, high = max(0, start - at), min(size, stop - at)
            at += size
            if low >= high:
                continue
            if isinstance(part, Noise):
                out.append(part.read(low, high))
            elif isinstance(part, bytes):
                out.append(part[low:high])
            else:
                file.seek(part.start + low)
                out.append(file.read(high - low))
    return b"".join(out)
