"""Sound and film in boxes (MP4, M4A, MOV; AVIF and HEIC): only boxes that are needed to play or show them keep their content.

Everything else becomes free space of zeros in its place, so that every offset stays right. Of the media data, only what a
track or a picture refers to is kept (ISO/IEC 14496-12; QuickTime File Format).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from heartfelt.media.metadata.boxes import Box, Range, child, children, colours, free, joined, masked, trimmed
from heartfelt.media.metadata.picture_items import item_ranges, picture_items
from heartfelt.media.metadata.pieces import Piece, Span

_PLAYED = frozenset({b"soun", b"vide", b"pict", b"auxv"})
"""Kinds of tracks that are heard or seen; texts, places and time codes are not."""
_INSIDE = {
    b"": b"ftyp moov moof mdat sidx styp mfra meta",
    b"moov": b"mvhd trak mvex",
    b"trak": b"tkhd edts mdia tref",
    b"edts": b"elst",
    b"tref": b"auxl prem",
    b"mdia": b"mdhd hdlr minf",
    b"minf": b"vmhd smhd dinf stbl",
    b"dinf": b"dref",
    b"stbl": b"stsd stts ctts cslg stsc stsz stz2 stco co64 stss stps sdtp sbgp sgpd",
    b"mvex": b"mehd trex",
    b"moof": b"mfhd traf",
    b"traf": b"tfhd tfdt trun sbgp sgpd sdtp",
    b"mfra": b"tfra mfro",
    b"wave": b"frma esds alac chan enda mp4a",
}
"""The boxes that are kept, by the box they are in; all others are blanked."""
KEPT: dict[bytes, frozenset[bytes]] = {name: frozenset(inside.split()) for name, inside in _INSIDE.items()}
_ENTRY = frozenset(
    b"avcC hvcC av1C vpcC esds dOps dfLa dac3 dec3 alac colr pasp clap fiel gama chan wave clli mdcv ccst auxi btrt".split()
)
"""What describes a codec inside of a sample entry."""
_DATED = frozenset({b"mvhd", b"tkhd", b"mdhd"})
_SOUND_ENTRY, _FILM_ENTRY = 36, 86
_MORE_OF_SOUND = {1: 16, 2: 36}
"""The bytes by which QuickTime's versions of a sound entry are longer."""


def mp4(data: bytes) -> Iterator[Piece]:
    """Boxes as they are needed; user data, tags, texts and dates become free space of zeros."""
    boxes = list(children(data, 0, len(data)))
    shown_ranges = _shown_ranges(data, boxes)
    seen_kinds: set[bytes] = set()
    for box in boxes:
        if box.kind == b"mdat":
            yield Span(box.start, box.content)
            yield from masked(box.content, box.stop, shown_ranges)
        elif box.kind == b"meta" and b"meta" not in seen_kinds:
            yield from picture_items(data, box)
        elif box.kind in {b"moov", b"meta"} and box.kind in seen_kinds:
            yield from free(box)
        else:
            yield from _cleaned(data, box, b"")
        seen_kinds.add(box.kind)


def _shown_ranges(data: bytes, boxes: list[Box]) -> list[Range] | None:
    """Where in the file is what tracks and pictures refer to; None in a file of fragments, which is kept whole."""
    # Of boxes that occur again the first counts.
    by_kind = {box.kind: box for box in reversed(boxes)}
    movie, pictures, fragmented = by_kind.get(b"moov"), by_kind.get(b"meta"), b"moof" in by_kind
    if movie is None and pictures is None:
        raise ValueError("no sound and no picture in it")
    played = [] if movie is None else _played_tracks(data, movie, fragmented=fragmented)
    shown = [span for track in played for span in _chunks(data, track)]
    if pictures is not None:
        shown += item_ranges(data, pictures)
    return None if fragmented else joined(shown)


def _played_tracks(data: bytes, movie: Box, *, fragmented: bool) -> list[Box]:
    tracks = [box for box in children(data, movie.content, movie.stop) if box.kind == b"trak"]
    played = [track for track in tracks if _handler(data, track) in _PLAYED]
    if fragmented and len(played) < len(tracks):
        raise ValueError("its fragments hold texts or places beside sound or film")
    return played


def _cleaned(data: bytes, box: Box, parent: bytes, handler: bytes = b"") -> Iterator[Piece]:
    """A box inside of one of kind ``parent``, in a track with ``handler``."""
    if box.kind == b"trak":
        handler = _handler(data, box)
    if box.kind not in KEPT[parent] or (box.kind == b"trak" and handler not in _PLAYED):
        yield from free(box)
    elif box.kind in _DATED:
        yield from _undated(data, box)
    elif box.kind == b"hdlr":
        # What kind of track it is; maker and name are blank.
        yield Span(box.start, min(box.stop, box.content + 12))
        yield bytes(max(0, box.stop - box.content - 12))
    elif box.kind == b"stsd":
        yield from _entries(data, box, sound=handler == b"soun")
    elif box.kind == b"dref":
        yield from _references(data, box)
    elif box.kind in KEPT:
        yield Span(box.start, box.content)
        at = box.content
        for inner in children(data, box.content, box.stop):
            yield from _cleaned(data, inner, box.kind, handler)
            at = inner.stop
        yield bytes(box.stop - at)
    else:
        yield from trimmed(data, box)


def _undated(data: bytes, box: Box) -> Iterator[Piece]:
    """When a track was made and changed is zero: four bytes each, eight in version 1."""
    width = 8 if data[box.content] == 1 else 4
    dates = box.content + 4
    if dates + 2 * width > box.stop:
        raise ValueError("a box is too short")
    yield Span(box.start, dates)
    yield bytes(2 * width)
    yield Span(dates + 2 * width, box.stop)


def _references(data: bytes, box: Box) -> Iterator[Piece]:
    """Media data are in the file itself; an alias, which names folders and people, becomes that statement."""
    yield Span(box.start, box.content + 8)
    for entry in children(data, box.content + 8, box.stop):
        if entry.stop < entry.content + 4 or not data[entry.content + 3] & 1:
            raise ValueError("its media data are in another file")
        yield data[entry.start : entry.start + 4] + b"url " + b"\0\0\0\1"
        yield bytes(entry.stop - entry.start - 12)


# --- tracks ------------------------------------------------------------------------------------------------------------


def _handler(data: bytes, track: Box) -> bytes:
    box = child(data, track, b"mdia", b"hdlr")
    return b"" if box is None else data[box.content + 8 : box.content + 12]


def _entries(data: bytes, box: Box, *, sound: bool) -> Iterator[Piece]:
    """How samples are coded, without the names of makers."""
    yield Span(box.start, box.content + 8)
    for entry in children(data, box.content + 8, box.stop):
        head = bytearray(data[entry.start : entry.stop][:_FILM_ENTRY])
        (version,) = struct.unpack_from(">H", head, 16)
        inner = _SOUND_ENTRY + _MORE_OF_SOUND.get(version, 0) if sound else _FILM_ENTRY
        head[20:24] = bytes(4)
        if not sound:
            head[50:82] = bytes(32)
        if entry.start + inner > entry.stop:
            raise ValueError("a box is too short")
        yield bytes(head[:inner])
        at = entry.start + inner
        for part in children(data, at, entry.stop):
            yield from _description(data, part, _ENTRY)
            at = part.stop
        yield bytes(entry.stop - at)


def _description(data: bytes, part: Box, kinds: frozenset[bytes]) -> Iterator[Piece]:
    if part.kind not in kinds:
        yield from free(part)
    elif part.kind == b"colr":
        yield from colours(data, part)
    elif part.kind == b"wave":
        yield Span(part.start, part.content)
        at = part.content
        for inner in children(data, part.content, part.stop):
            yield from _description(data, inner, KEPT[b"wave"])
            at = inner.stop
        yield bytes(part.stop - at)
    elif part.kind == b"dfLa":
        yield from _flac_blocks(data, part)
    else:
        yield from trimmed(data, part)


def _flac_blocks(data: bytes, part: Box) -> Iterator[Piece]:
    """The description of the stream; other blocks become padding."""
    yield Span(part.start, part.content + 4)
    at = part.content + 4
    while at + 4 <= part.stop:
        stop = at + 4 + int.from_bytes(data[at + 1 : at + 4], "big")
        if stop > part.stop:
            raise ValueError("a block reaches beyond its place")
        if data[at] & 0x7F == 0:
            yield Span(at, stop)
        else:
            yield bytes([data[at] & 0x80 | 1]) + data[at + 1 : at + 4] + bytes(stop - at - 4)
        at = stop
    yield bytes(part.stop - at)


def _chunks(data: bytes, track: Box) -> Iterator[Range]:
    """Where the samples of a track are in the file."""
    table = child(data, track, b"mdia", b"minf", b"stbl")
    inside = () if table is None else children(data, table.content, table.stop)
    boxes = {box.kind: box for box in inside}
    offset_box = boxes.get(b"co64") or boxes.get(b"stco")
    spread = boxes.get(b"stsc")
    if offset_box is None or spread is None:
        raise ValueError("it does not say where its samples are")
    offsets = _table(data, offset_box, 1, "Q" if offset_box.kind == b"co64" else "I")
    runs = _table(data, spread, 3, "I")
    sizes = _SampleSizes(data, boxes)
    sample = run = 0
    for number in range(len(offsets)):
        while run + 3 < len(runs) and runs[run + 3] <= number + 1:
            run += 3
        count = runs[run + 1] if runs else 0
        length = sizes.total(sample, sample + count)
        if offsets[number] + length > len(data):
            length = max(0, len(data) - offsets[number])
        yield offsets[number], offsets[number] + length
        sample += count


def _table(data: bytes, box: Box, columns: int, kind: str) -> tuple[int, ...]:
    (count,) = struct.unpack_from(">I", data, box.content + 4)
    if box.content + 8 + count * columns * struct.calcsize(f">{kind}") > box.stop:
        raise ValueError("a table reaches beyond its box")
    return struct.unpack_from(f">{count * columns}{kind}", data, box.content + 8)


class _SampleSizes:
    """The bytes of each sample of a track, or of all of them."""

    def __init__(self, data: bytes, boxes: dict[bytes, Box]) -> None:
        self.each, self.count = 0, 0
        self.sizes: tuple[int, ...] = ()
        if (box := boxes.get(b"stsz")) is not None:
            self.each, self.count = struct.unpack_from(">II", data, box.content + 4)
            if self.each == 1:
                self.each = _frame_size(data, boxes.get(b"stsd"))
            elif not self.each:
                self.sizes = _table(data, box._replace(content=box.content + 4), 1, "I")
        elif (box := boxes.get(b"stz2")) is not None:
            bits, self.count = data[box.content + 7], struct.unpack_from(">I", data, box.content + 8)[0]
            if bits not in {8, 16}:
                raise ValueError("sizes of samples of an unknown kind")
            wide = box._replace(content=box.content + 4)
            self.sizes = _table(data, wide, 1, "B" if bits == 8 else "H")

    def total(self, first: int, last: int) -> int:
        """The bytes of the samples from ``first`` to before ``last``."""
        if self.each:
            return self.each * (last - first)
        return sum(self.sizes[first:last])


def _frame_size(data: bytes, descriptions: Box | None) -> int:
    """The bytes of a moment of uncompressed sound, which QuickTime files state as one byte."""
    if descriptions is None:
        return 1
    at = descriptions.content + 8
    (version,) = struct.unpack_from(">H", data, at + 16)
    channels, bits = struct.unpack_from(">HH", data, at + 24)
    if version == 1:
        per_packet, _, per_frame = struct.unpack_from(">III", data, at + 36)
        return max(1, -(-int(per_frame) // max(1, int(per_packet))))
    if version == 2:
        channels, _, bits = struct.unpack_from(">III", data, at + 48)
    return max(1, int(channels) * int(bits) // 8)
