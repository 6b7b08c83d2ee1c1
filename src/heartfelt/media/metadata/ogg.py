"""Ogg files (Vorbis, Opus, Speex, FLAC, Theora): the comments of a stream are emptied in place, streams of text left out."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from heartfelt.media.metadata.pieces import Piece, Span

_EMPTY_COMMENTS = struct.pack("<II", 0, 0)
_COMMENTS = {
    b"\x01vorbis": b"\x03vorbis" + _EMPTY_COMMENTS + b"\x01",
    b"OpusHead": b"OpusTags" + _EMPTY_COMMENTS,
    b"\x80theora": b"\x81theora" + _EMPTY_COMMENTS,
    b"Speex   ": _EMPTY_COMMENTS,
    b"\x7fFLAC": b"",
}
"""The empty comment packet of a codec, by how its first packet begins; FLAC has a block in the place of each packet."""
_FLAC = b"\x7fFLAC"
_FIRST_SIZES = {b"\x01vorbis": 30, b"\x80theora": 42, b"Speex   ": 80, _FLAC: 51}
"""The bytes of a codec's first packet; that of Opus depends on its channels."""
_SPEEX_VERSION = slice(8, 28)
_MIRRORED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def checksum(page: bytes | bytearray) -> int:
    """The checksum of a page whose checksum field is zero: zlib's polynomial with all bits the other way round."""
    mirrored = zlib.crc32(page.translate(_MIRRORED_BITS), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2)


def ogg(data: bytes) -> Iterator[Piece]:
    """The pages of sound and film; bytes between pages and pages with a wrong checksum, which no decoder reads, are left out."""
    streams: dict[int, _Stream | None] = {}
    at = data.find(b"OggS")
    while at >= 0 and at + 27 <= len(data):
        begin = at + 27 + data[at + 26]
        lacing = data[at + 27 : begin]
        stop = begin + sum(lacing)
        page = bytearray(data[at:stop])
        stated = page[22:26]
        page[22:26] = bytes(4)
        if stop > len(data) or struct.pack("<I", checksum(page)) != stated:
            at = data.find(b"OggS", at + 4)
            continue
        (serial,) = struct.unpack_from("<I", data, at + 14)
        if data[at + 5] & 2:
            streams[serial] = _Stream.of(bytes(page[begin - at :]))
        stream = streams.get(serial)
        if stream is not None and stream.has_headers_to_come:
            stream.blank(page, begin - at, lacing)
            page[22:26] = struct.pack("<I", checksum(page))
            yield bytes(page)
        elif stream is not None:
            yield Span(at, stop)
        at = data.find(b"OggS", stop)
    if not any(streams.values()):
        raise ValueError("no stream of a known kind in it")


class _Stream:
    """Where one logical stream is: its first packet says the codec, its second holds the comments."""

    def __init__(self, codec: bytes) -> None:
        self.codec = codec
        self.packet = 0
        self.written = 0
        self.replacement = b""
        self.has_headers_to_come = True

    @classmethod
    def of(cls, first_packet: bytes) -> _Stream | None:
        """The stream that begins so; None if it is not one of sound or film."""
        return next((cls(start) for start in _COMMENTS if first_packet.startswith(start)), None)

    def blank(self, page: bytearray, at: int, lacing: bytes) -> None:
        """Write over the headers, as far as they lie on this page."""
        for size in lacing:
            if not self.written:
                header = self._replacement(bytes(page[at : at + size]))
                if header is None:
                    self.has_headers_to_come = False
                    return
                self.replacement = header
            content = self.replacement[self.written : self.written + size]
            page[at : at + size] = content.ljust(size, b"\0")
            self.written += size
            at += size
            if size < 255:
                self.packet += 1
                self.written = 0

    def _replacement(self, packet: bytes) -> bytes | None:
        """What a header becomes, with zeros behind it; None for a packet that is no header with texts."""
        if self.packet == 0:
            head = packet[: _FIRST_SIZES.get(self.codec, _opus_size(packet))]
            if self.codec == b"Speex   ":
                version = b"1.2".ljust(20, b"\0")
                head = head[: _SPEEX_VERSION.start] + version + head[_SPEEX_VERSION.stop :]
            return head
        if self.codec != _FLAC:
            return _COMMENTS[self.codec] if self.packet == 1 else None
        if packet[:1] == b"\xff" or not packet:
            return None
        # Blocks stay as long as they are: comments without a comment, and padding in the place of all others.
        return bytes([packet[0] & 0x80 | (4 if self.packet == 1 else 1)]) + packet[1:4]


def _opus_size(packet: bytes) -> int:
    return 19 if len(packet) < 19 or not packet[18] else 21 + packet[9]
