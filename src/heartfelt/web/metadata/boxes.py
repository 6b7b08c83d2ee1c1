"""MP4 and M4A files: what describes them is blank, in its place, so that every offset stays right."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from heartfelt.web.metadata.pieces import Piece, Span

_INSIDE = frozenset({b"moov", b"trak", b"mdia", b"minf", b"moof", b"traf", b"mvex", b"edts", b"dinf"})
_BLANK = frozenset({b"udta", b"meta", b"uuid", b"free", b"skip", b"wide", b"Xtra", b"cprt"})
_DATED = frozenset({b"mvhd", b"tkhd", b"mdhd"})
_PICTURES = frozenset({b"avif", b"avis", b"heic", b"heix", b"mif1", b"msf1"})


def mp4(data: bytes) -> Iterator[Piece]:
    """Boxes as they are; user data, tags and free space become free space of zeros."""
    if data[8:12] in _PICTURES:
        raise ValueError("pictures in boxes keep what they need where tags are")
    yield from _boxes(data, 0, len(data))


def _boxes(data: bytes, at: int, end: int) -> Iterator[Piece]:
    while at + 8 <= end:
        size, kind = struct.unpack_from(">I4s", data, at)
        head = 8
        if size == 1:
            (size,) = struct.unpack_from(">Q", data, at + 8)
            head = 16
        stop = end if size == 0 else at + size
        if (size and size < head) or stop > end:
            raise ValueError("a box reaches beyond its place")
        if kind in _INSIDE:
            yield Span(at, at + head)
            yield from _boxes(data, at + head, stop)
        elif kind in _BLANK:
            yield Span(at, at + 4)
            yield b"free"
            yield Span(at + 8, at + head)
            yield bytes(stop - at - head)
        elif kind in _DATED:
            wide = 8 if data[at + head] == 1 else 4
            yield Span(at, at + head + 4)
            yield bytes(2 * wide)
            yield Span(at + head + 4 + 2 * wide, stop)
        elif kind == b"hdlr":
            yield Span(at, at + head + 24)
            yield bytes(max(0, stop - at - head - 24))
        else:
            yield Span(at, stop)
        at = stop
    yield Span(at, end)
