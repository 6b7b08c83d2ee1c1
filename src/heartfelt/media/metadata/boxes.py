"""The boxes that MP4, MOV, AVIF and HEIC files are made of: reading them, and blanking them in their place."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from heartfelt.media.metadata.colour_profiles import cleaned_profile
from heartfelt.media.metadata.pieces import Piece, Span

Range: TypeAlias = tuple[int, int]
_SIZES = {
    b"pasp": 8, b"clap": 32, b"fiel": 2, b"gama": 4, b"clli": 4, b"mdcv": 24, b"btrt": 12, b"frma": 4, b"enda": 2,
    b"ispe": 12, b"irot": 1, b"imir": 1, b"a1op": 1, b"lsel": 2, b"rloc": 12, b"vmhd": 12, b"smhd": 8, b"trex": 24,
    b"mfhd": 8, b"mehd": 12, b"tfdt": 12, b"mfro": 8, b"ccst": 8, b"pitm": 8,
}  # fmt: skip
"""The most bytes of content a box of a fixed size has."""
_ROWS = {
    b"stts": (8, 8), b"ctts": (8, 8), b"stsc": (8, 12), b"stco": (8, 4), b"co64": (8, 8), b"stss": (8, 4), b"stps": (8, 4),
}  # fmt: skip
"""The bytes before the rows of a table, the last four of which count them, and the bytes of a row."""


class Box(NamedTuple):
    """A box: its kind, where it begins, where its content begins and where it ends."""

    kind: bytes
    start: int
    content: int
    stop: int


def children(data: bytes, at: int, end: int) -> Iterator[Box]:
    """The boxes between two places."""
    while at + 8 <= end:
        size, kind = struct.unpack_from(">I4s", data, at)
        head = 8
        if size == 1 and at + 16 <= end:
            (size,) = struct.unpack_from(">Q", data, at + 8)
            head = 16
        stop = end if size == 0 else at + size
        if (size and size < head) or stop > end:
            raise ValueError("a box reaches beyond its place")
        yield Box(kind, at, at + head, stop)
        at = stop


def child(data: bytes, box: Box, *kinds: bytes) -> Box | None:
    """The first box of a kind inside of ``box``, or inside of that, and so on."""
    for kind in kinds:
        inside = next((inner for inner in children(data, box.content, box.stop) if inner.kind == kind), None)
        if inside is None:
            return None
        box = inside
    return box


def free(box: Box) -> Iterator[Piece]:
    """Free space of zeros in the place of a box."""
    yield Span(box.start, box.start + 4)
    yield b"free"
    yield Span(box.start + 8, box.content)
    yield bytes(box.stop - box.content)


def joined(ranges: Sequence[Range]) -> list[Range]:
    """The same bytes in ascending ranges that do not touch."""
    out: list[Range] = []
    for start, stop in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(stop, out[-1][1])
        elif start < stop:
            out.append((start, stop))
    return out


def masked(begin: int, end: int, ranges: Sequence[Range] | None) -> Iterator[Piece]:
    """The bytes between two places, with zeros outside of the ranges; None keeps them all."""
    at = begin
    for start, stop in ((begin, end),) if ranges is None else ranges:
        low, high = max(start, at), min(stop, end)
        if low < high:
            yield bytes(low - at)
            yield Span(low, high)
            at = high
    yield bytes(end - at)


def trimmed(data: bytes, box: Box) -> Iterator[Piece]:
    """A box of numbers with zeros behind as many as its kind has."""
    size = _SIZES.get(box.kind)
    if box.kind in _ROWS:
        head, row = _ROWS[box.kind]
        (count,) = struct.unpack_from(">I", data, box.content + head - 4)
        size = head + row * count
    stop = box.stop if size is None else min(box.stop, box.content + size)
    yield Span(box.start, stop)
    yield bytes(box.stop - stop)


def colours(data: bytes, box: Box) -> Iterator[Piece]:
    """Colours as numbers, or a profile without its texts in the same space."""
    kind = data[box.content : box.content + 4]
    if kind in {b"nclx", b"nclc"}:
        stop = min(box.stop, box.content + (11 if kind == b"nclx" else 10))
        yield Span(box.start, stop)
        yield bytes(box.stop - stop)
        return
    room = box.stop - box.content - 4
    profile = cleaned_profile(data[box.content + 4 : box.stop], room) if kind in {b"prof", b"rICC"} else None
    if profile is None or len(profile) != room:
        raise ValueError("its colour profile cannot be read")
    yield Span(box.start, box.content + 4)
    yield profile
