"""The pictures of an AVIF or HEIC file: EXIF, XMP, names and descriptions are taken out of its list of items.

The list is written anew in its place; what becomes free is free space, so that pictures stay where they are (ISO/IEC 23008-12).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from heartfelt.media.metadata.boxes import Box, Range, child, children, colours, free, joined, masked, trimmed
from heartfelt.media.metadata.pieces import Piece, Span, length_of

_SHOWN_ITEMS = frozenset({b"av01", b"hvc1", b"hev1", b"avc1", b"grid", b"iovl", b"iden"})
_PROPERTIES = frozenset(
    b"ispe pixi av1C hvcC avcC colr pasp clap irot imir clli mdcv cclv a1op a1lx lsel rloc auxC free skip".split()
)
_AUXILIARY = (b"urn:mpeg:mpegB:cicp:systems:auxiliary:", b"urn:mpeg:hevc:2015:auxid:", b"urn:mpeg:avc:2015:auxid:")


class _Location(NamedTuple):
    """Where an item is: the bytes of its entry, and of its content in the file or, if ``inner``, in the item data box."""

    entry: bytes
    inner: bool
    ranges: list[Range]


def _shown_items(data: bytes, meta: Box) -> dict[int, Box]:
    """The entries of the items that are pictures."""
    box = _inside(data, meta, b"iinf")
    wide = data[box.content] > 0
    shown: dict[int, Box] = {}
    for entry in children(data, box.content + (8 if wide else 6), box.stop):
        version = data[entry.content]
        if entry.kind != b"infe" or version not in {2, 3}:
            raise ValueError("an item of an unknown kind")
        at = entry.content + 4
        (number,) = struct.unpack_from(">I" if version == 3 else ">H", data, at)
        if data[at + (6 if version == 3 else 4) :][:4] in _SHOWN_ITEMS:
            shown[number] = entry
    return shown


def _inside(data: bytes, meta: Box, kind: bytes) -> Box:
    box = child(data, meta._replace(content=meta.content + 4), kind)
    if box is None:
        raise ValueError(f"no box '{kind.decode()}' in it")
    return box


def _locations(data: bytes, meta: Box) -> dict[int, _Location]:
    box = _inside(data, meta, b"iloc")
    version, (of_extents, of_items) = data[box.content], data[box.content + 4 : box.content + 6]
    offset_size, length_size, base_size = of_extents >> 4, of_extents & 15, of_items >> 4
    index_size = of_items & 15 if version else 0
    at = box.content + 6
    number_size = 4 if version == 2 else 2
    count = _integer(data, at, number_size, box)
    at += number_size
    out: dict[int, _Location] = {}
    for _ in range(count):
        begin = at
        number = _integer(data, at, number_size, box)
        at += number_size
        method = _integer(data, at, 2, box) & 15 if version else 0
        at += 4 if version else 2
        base = _integer(data, at, base_size, box)
        at += base_size
        extents = _integer(data, at, 2, box)
        at += 2
        ranges: list[Range] = []
        for _ in range(extents):
            at += index_size
            start = base + _integer(data, at, offset_size, box)
            length = _integer(data, at + offset_size, length_size, box)
            at += offset_size + length_size
            ranges.append((start, start + length if length else box.stop + len(data)))
        if method > 1:
            raise ValueError("an item is made of others' data")
        out[number] = _Location(data[begin:at], method == 1, ranges)
    return out


def _integer(data: bytes, at: int, size: int, box: Box) -> int:
    if at + size > box.stop:
        raise ValueError("a table reaches beyond its box")
    return int.from_bytes(data[at : at + size], "big")


def item_ranges(data: bytes, meta: Box) -> list[Range]:
    """Where in the file the pictures are."""
    shown = _shown_items(data, meta)
    return [
        span
        for number, location in _locations(data, meta).items()
        if number in shown and not location.inner
        for span in location.ranges
    ]


def picture_items(data: bytes, meta: Box) -> Iterator[Piece]:
    """The box that lists pictures, as long as before."""
    shown, locations = _shown_items(data, meta), _locations(data, meta)
    yield Span(meta.start, meta.content + 4)
    freed = 0
    for box in children(data, meta.content + 4, meta.stop):
        parts = list(_cleaned(data, box, shown, locations))
        yield from parts
        freed += box.stop - box.start - sum(map(length_of, parts))
    if freed:
        yield struct.pack(">I4s", freed, b"free") + bytes(freed - 8)


def _cleaned(data: bytes, box: Box, shown: dict[int, Box], locations: dict[int, _Location]) -> Iterable[Piece]:
    """What is kept of a box about pictures."""
    match box.kind:
        case b"hdlr":
            return [Span(box.start, box.content + 12), bytes(max(0, box.stop - box.content - 12))]
        case b"pitm":
            return trimmed(data, box)
        case b"iinf":
            return [_listed(data, box, shown)]
        case b"iloc":
            return [_located(data, box, shown, locations)]
        case b"iref":
            return [_referred(data, box, set(shown))]
        case b"iprp":
            return _described(data, box)
        case b"idat":
            return _inner_pixels(box, [locations[number] for number in shown if number in locations])
    return free(box)


def _inner_pixels(box: Box, locations: list[_Location]) -> list[Piece]:
    """The pictures whose pixels are in the box itself; all else in it is blank."""
    ranges = [
        (box.content + start, box.content + stop)
        for location in locations
        if location.inner
        for start, stop in location.ranges
    ]
    return [Span(box.start, box.content), *masked(box.content, box.stop, joined(ranges))]


def _box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", len(content) + 8, kind) + content


def _listed(data: bytes, box: Box, shown: dict[int, Box]) -> bytes:
    """The items that are pictures, without their names."""
    entries = b""
    for entry in shown.values():
        kind_at = entry.content + 4 + (6 if data[entry.content] == 3 else 4)
        named = entry.stop - kind_at - 4
        entries += data[entry.start : kind_at + 4] + bytes(named)
    head = data[box.content : box.content + 4]
    count = struct.pack(">I" if head[0] else ">H", len(shown))
    return _box(b"iinf", head + count + entries)


def _located(data: bytes, box: Box, shown: dict[int, Box], locations: dict[int, _Location]) -> bytes:
    entries = [location.entry for number, location in locations.items() if number in shown]
    head = data[box.content : box.content + 6]
    count = struct.pack(">I" if head[0] == 2 else ">H", len(entries))
    return _box(b"iloc", head + count + b"".join(entries))


def _referred(data: bytes, box: Box, shown: set[int]) -> bytes:
    """References between pictures."""
    version = data[box.content]
    kind = "I" if version else "H"
    out = b""
    for reference in children(data, box.content + 4, box.stop):
        (source,) = struct.unpack_from(f">{kind}", data, reference.content)
        at = reference.content + struct.calcsize(kind)
        (count,) = struct.unpack_from(">H", data, at)
        targets = struct.unpack_from(f">{count}{kind}", data, at + 2)
        if source in shown and all(target in shown for target in targets):
            out += _box(reference.kind, struct.pack(f">{kind}H{count}{kind}", source, count, *targets))
    return _box(b"iref", data[box.content : box.content + 4] + out) if out else b""


def _described(data: bytes, box: Box) -> Iterator[Piece]:
    """Properties of pictures; descriptions and dates among them are blank, in their place in the list."""
    yield Span(box.start, box.content)
    for inner in children(data, box.content, box.stop):
        if inner.kind == b"ipma":
            yield Span(inner.start, inner.stop)
        elif inner.kind == b"ipco":
            yield Span(inner.start, inner.content)
            for property_box in children(data, inner.content, inner.stop):
                yield from _property(data, property_box)
        else:
            yield from free(inner)


def _property(data: bytes, box: Box) -> Iterator[Piece]:
    name = data[box.content + 4 : box.stop]
    if box.kind in {b"free", b"skip"} or box.kind not in _PROPERTIES:
        yield from free(box)
    elif box.kind == b"colr":
        yield from colours(data, box)
    elif box.kind == b"auxC":
        if not name.startswith(_AUXILIARY) or len(name) > 64:
            raise ValueError("an auxiliary picture of an unknown kind")
        yield Span(box.start, box.stop)
    else:
        yield from trimmed(data, box)
