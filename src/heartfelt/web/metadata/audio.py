"""Sound files without tags: MP3, WAV, AIFF, FLAC, AU, CAF and Wave64."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from heartfelt.web.metadata.pieces import Piece, Span, length_of

_WAV_SOUND = frozenset({b"fmt ", b"data", b"fact", b"ds64", b"wavl"})
_AIFF_SOUND = frozenset({b"COMM", b"SSND", b"FVER"})
_CAF_SOUND = frozenset({b"desc", b"data", b"pakt", b"chan", b"kuki"})
_W64_SOUND = frozenset({b"fmt ", b"data", b"fact"})
_W64_TAIL = bytes.fromhex("f3acd3118cd100c04f8edb8a")
_FLAC_SOUND = frozenset({0, 3})


def mp3(data: bytes) -> Iterator[Piece]:
    """The frames: no ID3 before or after them, no APE, no Lyrics3."""
    yield Span(after_tags(data, 0), before_tags(data))


def after_tags(data: bytes, at: int) -> int:
    """Where the sound begins after ID3v2 and APE tags."""
    while True:
        if data[at : at + 3] == b"ID3" and at + 10 <= len(data):
            size = 0
            for byte in data[at + 6 : at + 10]:
                size = size << 7 | byte & 0x7F
            at += 10 + size + (10 if data[at + 5] & 0x10 else 0)
            while at < len(data) and not data[at]:
                at += 1
        elif data[at : at + 8] == b"APETAGEX" and at + 32 <= len(data):
            at += 32 + int(struct.unpack_from("<I", data, at + 12)[0])
        else:
            return min(at, len(data))


def before_tags(data: bytes) -> int:
    """Where the sound ends before ID3v1, APE, Lyrics3 and appended ID3v2 tags."""
    stop = len(data)
    while True:
        if data[max(0, stop - 128) : stop][:3] == b"TAG":
            stop -= 128
            if data[max(0, stop - 227) : stop][:4] == b"TAG+":
                stop -= 227
        elif data[max(0, stop - 32) : stop][:8] == b"APETAGEX":
            size, flags = struct.unpack_from("<I4xI", data, stop - 20)
            stop -= size + (32 if flags & 0x80000000 else 0)
        elif data[max(0, stop - 9) : stop] == b"LYRICS200" and data[stop - 15 : stop - 9].isdigit():
            stop -= 15 + int(data[stop - 15 : stop - 9])
        elif data[max(0, stop - 10) : stop][:3] == b"3DI":
            size = 0
            for byte in data[stop - 4 : stop]:
                size = size << 7 | byte & 0x7F
            stop -= size + 20
        else:
            return max(0, stop)
        if stop <= 0:
            return 0


def wav(data: bytes) -> Iterator[Piece]:
    """Format and samples; RF64 and files whose sizes were never filled in stay as they are read."""
    yield from _chunks(data, _WAV_SOUND, "<")


def aiff(data: bytes) -> Iterator[Piece]:
    """The same for AIFF."""
    yield from _chunks(data, _AIFF_SOUND, ">")


def _chunks(data: bytes, sound: frozenset[bytes], order: str) -> Iterator[Piece]:
    parts: list[Piece] = []
    streamed = data[4:8] in {b"\xff" * 4, b"\0" * 4}
    large = len(data)
    at = 12
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}4sI", data, at)
        if kind == b"ds64":
            (large,) = struct.unpack_from("<Q", data, at + 16)
        if kind == b"data" and (size == 0xFFFFFFFF or (streamed and not size)):
            size = large
        stop = min(len(data), at + 8 + size + size % 2)
        if kind in sound:
            parts.append(Span(at, stop))
        at = stop
    if not parts:
        raise ValueError("no sound in it")
    size = 4 + sum(length_of(part) for part in parts)
    yield data[:4] + (data[4:8] if streamed else struct.pack(f"{order}I", size)) + data[8:12]
    yield from parts


def flac(data: bytes) -> Iterator[Piece]:
    """Stream information, seek table and frames."""
    at = after_tags(data, 0) + 4
    yield b"fLaC"
    kept: list[tuple[int, bytes]] = []
    while True:
        head = data[at]
        size = int.from_bytes(data[at + 1 : at + 4], "big")
        if at + 4 + size > len(data):
            raise ValueError("a block reaches beyond the file")
        if head & 0x7F in _FLAC_SOUND:
            kept.append((head & 0x7F, data[at + 1 : at + 4 + size]))
        at += 4 + size
        if head & 0x80:
            break
    for place, (kind, block) in enumerate(kept):
        yield bytes([kind | (0x80 if place == len(kept) - 1 else 0)]) + block
    yield Span(at, before_tags(data))


def au(data: bytes) -> Iterator[Piece]:
    """The annotation between header and samples is blank."""
    (begin,) = struct.unpack_from(">I", data, 4)
    yield Span(0, 24)
    yield bytes(begin - 24)
    yield Span(begin, len(data))


def caf(data: bytes) -> Iterator[Piece]:
    """Chunks with sixty-four bits of size."""
    yield Span(0, 8)
    at = 8
    while at + 12 <= len(data):
        kind, size = struct.unpack_from(">4sq", data, at)
        stop = len(data) if size < 0 else min(len(data), at + 12 + size)
        if kind in _CAF_SOUND:
            yield Span(at, stop)
        at = stop


def wave64(data: bytes) -> Iterator[Piece]:
    """What is not sound is blank: sizes and places stay."""
    yield Span(0, 40)
    at = 40
    while at + 24 <= len(data):
        (size,) = struct.unpack_from("<Q", data, at + 16)
        stop = min(len(data), at + (size + 7) // 8 * 8)
        if size < 24:
            raise ValueError("a chunk without a size")
        if data[at : at + 4] in _W64_SOUND and data[at + 4 : at + 16] == _W64_TAIL:
            yield Span(at, stop)
        else:
            yield Span(at, at + 24)
            yield bytes(stop - at - 24)
        at = stop
    yield Span(at, len(data))
