"""Ogg files (Vorbis, Opus, Speex, FLAC) with a comment packet that is empty but as long as it was, so no page moves."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from heartfelt.web.metadata.pieces import Piece, Span

_EMPTY = struct.pack("<II", 0, 0)


def _table() -> tuple[int, ...]:
    out = []
    for start in range(256):
        value = start << 24
        for _ in range(8):
            value = (value << 1) ^ (0x04C11DB7 if value & 0x80000000 else 0)
        out.append(value & 0xFFFFFFFF)
    return tuple(out)


_CRC = _table()


def checksum(page: bytes | bytearray) -> int:
    """The checksum of a page whose checksum field is zero."""
    value = 0
    for byte in page:
        value = (value << 8 & 0xFFFFFFFF) ^ _CRC[value >> 24 ^ byte]
    return value


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
        if stream is None or stream.done:
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
        self.whole = b""

    @property
    def done(self) -> bool:
        return self.packet > 1

    def blank(self, page: bytearray, at: int, lacing: bytes) -> None:
        """Write the empty comments over the second packet, as far as it lies on this page."""
        for size in lacing:
            if self.packet == 0:
                self.codec = (self.codec + page[at : at + size])[:8]
            elif self.packet == 1:
                self._fill(page, at, size)
            at += size
            if size < 255:
                self.packet += 1

    def _fill(self, page: bytearray, at: int, size: int) -> None:
        if not self.written:
            self.whole = self._comments(bytes(page[at : at + size]))
        content = self.whole[self.written : self.written + size]
        page[at : at + size] = content + bytes(size - len(content))
        self.written += size

    def _comments(self, first: bytes) -> bytes:
        if self.codec.startswith(b"\x01vorbis"):
            return b"\x03vorbis" + _EMPTY + b"\x01"
        if self.codec.startswith(b"OpusHead"):
            return b"OpusTags" + _EMPTY
        if self.codec.startswith(b"\x7fFLAC"):
            return first[:4] + _EMPTY
        return _EMPTY
