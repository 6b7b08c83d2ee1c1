"""Sound files without tags: MP3, WAV, AIFF, FLAC, AU, CAF, Wave64, Ogg (Vorbis, Opus, Speex, FLAC), MP4 and M4A."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from heartfelt.media.metadata.pieces import Piece, Span, length_of

_WAV_SOUND = frozenset({b"fmt ", b"data", b"fact", b"ds64", b"wavl"})
_AIFF_SOUND = frozenset({b"COMM", b"SSND", b"FVER"})
_CAF_SOUND = frozenset({b"desc", b"data", b"pakt", b"chan", b"kuki"})
_W64_SOUND = frozenset({b"fmt ", b"data", b"fact"})
_W64_TAIL = bytes.fromhex("f3acd3118cd100c04f8edb8a")
_FLAC_SOUND = frozenset({0, 3})
_INSIDE = frozenset({b"moov", b"trak", b"mdia", b"minf", b"moof", b"traf", b"mvex", b"edts", b"dinf"})
_BLANK = frozenset({b"udta", b"meta", b"uuid", b"free", b"skip", b"wide", b"Xtra", b"cprt"})
_DATED = frozenset({b"mvhd", b"tkhd", b"mdhd"})
_PICTURES = frozenset({b"avif", b"avis", b"heic", b"heix", b"mif1", b"msf1"})
_EMPTY_COMMENTS = struct.pack("<II", 0, 0)
_OGG_COMMENTS = {
    b"\x01vorbis": b"\x03vorbis" + _EMPTY_COMMENTS + b"\x01",
    b"OpusHead": b"OpusTags" + _EMPTY_COMMENTS,
}
"""The empty comment packet of a codec, by how its first packet begins; Speex has nothing around the comments."""


def mp3(data: bytes) -> Iterator[Piece]:
    """The frames: no ID3 before or after them, no APE, no Lyrics3."""
    yield Span(after_tags(data, 0), before_tags(data))


def after_tags(data: bytes, at: int) -> int:
    """Where the sound begins after ID3v2 and APE tags."""
    while True:
        if data[at : at + 3] == b"ID3" and at + 10 <= len(data):
            at += 10 + _seven_bits(data[at + 6 : at + 10]) + (10 if data[at + 5] & 0x10 else 0)
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
            stop -= _seven_bits(data[stop - 4 : stop]) + 20
        else:
            return max(0, stop)
        if stop <= 0:
            return 0


def _seven_bits(size: bytes) -> int:
    """A size of which every byte gives seven bits, as ID3 writes it."""
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(reversed(size)))


def wav_or_aiff(data: bytes) -> Iterator[Piece]:
    """Format and samples; RF64 and files whose sizes were never filled in stay as they are read."""
    sound, order = (_AIFF_SOUND, ">") if data[8:11] == b"AIF" else (_WAV_SOUND, "<")
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
    blocks: list[tuple[int, bytes]] = []
    while True:
        head = data[at]
        size = int.from_bytes(data[at + 1 : at + 4], "big")
        if at + 4 + size > len(data):
            raise ValueError("a block reaches beyond the file")
        if head & 0x7F in _FLAC_SOUND:
            blocks.append((head & 0x7F, data[at + 1 : at + 4 + size]))
        at += 4 + size
        if head & 0x80:
            break
    for place, (kind, block) in enumerate(blocks):
        yield bytes([kind | (0x80 if place == len(blocks) - 1 else 0)]) + block
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


# --- Ogg: the comment packet is emptied in place, so that no page moves ------------------------------------------------


_MIRRORED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def checksum(page: bytes | bytearray) -> int:
    """The checksum of a page whose checksum field is zero: zlib's polynomial with all bits the other way round."""
    mirrored = zlib.crc32(page.translate(_MIRRORED_BITS), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2)


def ogg(data: bytes) -> Iterator[Piece]:
    """Every page as it is, but for those the comments of a stream are on."""
    at = 0
    streams: dict[int, _Stream] = {}
    while at + 27 <= len(data) and data[at : at + 4] == b"OggS":
        segments = data[at + 26]
        lacing = data[at + 27 : at + 27 + segments]
        begin = at + 27 + segments
        stop = begin + sum(lacing)
        if stop > len(data):
            break
        (serial,) = struct.unpack_from("<I", data, at + 14)
        if data[at + 5] & 2:
            streams[serial] = _Stream()
        stream = streams.get(serial)
        if stream is None or stream.packet > 1:
            yield Span(at, stop)
        else:
            page = bytearray(data[at:stop])
            stream.blank(page, 27 + segments, lacing)
            page[22:26] = bytes(4)
            page[22:26] = struct.pack("<I", checksum(page))
            yield bytes(page)
        at = stop
    yield Span(at, len(data))


class _Stream:
    """Where one logical stream is: its first packet says the codec, its second holds the comments."""

    def __init__(self) -> None:
        self.packet = 0
        self.codec = b""
        self.written = 0
        self.comments = b""

    def blank(self, page: bytearray, at: int, lacing: bytes) -> None:
        """Write the empty comments over the second packet, as far as it lies on this page."""
        for size in lacing:
            if self.packet == 0:
                self.codec = (self.codec + page[at : at + size])[:8]
            elif self.packet == 1:
                if not self.written:
                    self.comments = self._empty(bytes(page[at : at + size]))
                content = self.comments[self.written : self.written + size]
                page[at : at + size] = content.ljust(size, b"\0")
                self.written += size
            at += size
            if size < 255:
                self.packet += 1

    def _empty(self, packet: bytes) -> bytes:
        if self.codec.startswith(b"\x7fFLAC"):
            return packet[:4] + _EMPTY_COMMENTS
        known = (empty for start, empty in _OGG_COMMENTS.items() if self.codec.startswith(start))
        return next(known, _EMPTY_COMMENTS)


# --- MP4: boxes that describe the file are blanked in place, so that every offset stays right --------------------------


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
