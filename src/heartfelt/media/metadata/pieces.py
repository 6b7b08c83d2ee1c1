"""A file as pieces: stretches of the original and bytes of our own, read as if they were one file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias


class Span(NamedTuple):
    """A stretch of the original file, in bytes from its beginning."""

    start: int
    stop: int


Piece: TypeAlias = bytes | Span


def length_of(piece: Piece) -> int:
    """How many bytes a piece gives."""
    return piece.stop - piece.start if isinstance(piece, Span) else len(piece)


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
            if isinstance(part, bytes):
                out.append(part[low:high])
            else:
                file.seek(part.start + low)
                out.append(file.read(high - low))
    return b"".join(out)
