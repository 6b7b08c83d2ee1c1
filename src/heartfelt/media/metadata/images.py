"""Pictures without text chunks, comments, EXIF (but for the orientation) and whatever follows their end."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator

from heartfelt.media.metadata.pieces import Piece, Span, length_of

_PNG_SHOWN = frozenset(
    b"IHDR PLTE IDAT IEND tRNS cHRM gAMA sBIT sRGB cICP mDCV cLLI bKGD pHYs hIST acTL fcTL fdAT".split()
)
_JPEG_MARKER = re.compile(rb"\xff+[^\x00\xff\xd0-\xd7]")
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
_SOS, _EOI, _COMMENT = 0xDA, 0xD9, 0xFE
_WEBP_SHOWN = frozenset({b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF", b"ICCP"})
_GIF_LOOPS = (b"NETSCAPE2.0", b"ANIMEXTS1.0")
_ORIENTATION = 0x0112
_SHORT = 3


def png(data: bytes) -> Iterator[Piece]:
    """Chunks that are shown, and no others."""
    yield Span(0, 8)
    at = 8
    while at + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        stop = at + 12 + size
        if kind in _PNG_SHOWN:
            yield Span(at, min(stop, len(data)))
        elif kind == b"iCCP":
            profile = data[at + 8 : stop - 4].partition(b"\0")[2]
            yield _chunk(b"iCCP", b"icc\0" + profile)
        elif kind == b"eXIf" and (turned := orientation(data[at + 8 : stop - 4])) is not None:
            yield _chunk(b"eXIf", only_orientation(turned))
        if kind == b"IEND":
            return
        at = stop


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", len(content), kind) + content + struct.pack(">I", zlib.crc32(kind + content))


def jpeg(data: bytes) -> Iterator[Piece]:
    """Segments that are shown: of the application's own only JFIF, colour profile and Adobe's transform."""
    yield Span(0, 2)
    at = 2
    while at + 2 <= len(data):
        match = _JPEG_MARKER.match(data, at)
        if match is None:
            raise ValueError("no marker where one should be")
        marker, begin = data[match.end() - 1], match.end() - 2
        if marker == _EOI:
            yield Span(begin, begin + 2)
            return
        if marker in _JPEG_BARE:
            yield Span(begin, begin + 2)
            at = begin + 2
            continue
        stop = begin + 2 + int(struct.unpack_from(">H", data, begin + 2)[0])
        if marker == _SOS:
            following = _JPEG_MARKER.search(data, stop)
            stop = len(data) if following is None else following.start()
            yield Span(begin, stop)
        else:
            yield from _segment(data, marker, begin, stop)
        at = stop


def _segment(data: bytes, marker: int, begin: int, stop: int) -> Iterator[Piece]:
    content = data[begin + 4 : min(stop, begin + 18)]
    if marker == 0xE1 and content.startswith(b"Exif\0\0"):
        turned = orientation(data[begin + 10 : stop])
        if turned is not None:
            block = b"Exif\0\0" + only_orientation(turned)
            yield b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block
    elif marker == 0xE0 and content.startswith(b"JFIF\0"):
        # Version, unit and density; the small picture that may follow is left out.
        yield b"\xff\xe0\x00\x10" + data[begin + 4 : begin + 16] + b"\0\0"
    elif (
        (marker == 0xE2 and content.startswith(b"ICC_PROFILE\0"))
        or (marker == 0xEE and content.startswith(b"Adobe"))
        or (not 0xE0 <= marker <= 0xEF and marker != _COMMENT)
    ):
        yield Span(begin, stop)


def webp(data: bytes) -> Iterator[Piece]:
    """The chunks of the picture; EXIF is cut down to the orientation, XMP left out."""
    chunks: list[tuple[bytes, int, int]] = []
    turned, at = None, 12
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<4sI", data, at)
        stop = min(len(data), at + 8 + size + size % 2)
        chunks.append((kind, at, stop))
        if kind == b"EXIF" and turned is None:
            turned = orientation(data[at + 8 : at + 8 + size].removeprefix(b"Exif\0\0"))
        at = stop
    parts: list[Piece] = []
    for kind, at, stop in chunks:
        if kind in _WEBP_SHOWN:
            parts.append(Span(at, stop))
        elif kind == b"VP8X":
            flags = data[at + 8] & ~0x0C | (0x08 if turned is not None else 0)
            parts.append(data[at : at + 8] + bytes([flags]) + data[at + 9 : stop])
        elif kind == b"EXIF" and turned is not None:
            block = only_orientation(turned)
            parts.append(struct.pack("<4sI", b"EXIF", len(block)) + block)
    yield b"RIFF" + struct.pack("<I", 4 + sum(map(length_of, parts))) + b"WEBP"
    yield from parts


def gif(data: bytes) -> Iterator[Piece]:
    """Frames and loops, without comments, texts and other applications' blocks."""
    flags = data[10]
    at = 13 + (3 << (flags & 7) + 1 if flags & 0x80 else 0)
    yield Span(0, at)
    while at < len(data):
        begin, kind = at, data[at]
        if kind == 0x3B:
            yield Span(at, at + 1)
            return
        if kind == 0x2C:
            local = data[at + 9]
            at += 10 + (3 << (local & 7) + 1 if local & 0x80 else 0) + 1
            shown = True
        elif kind == 0x21:
            shown = data[at + 1] == 0xF9 or (data[at + 1] == 0xFF and data[at + 3 : at + 14] in _GIF_LOOPS)
            at += 2
        else:
            raise ValueError("no block where one should be")
        while data[at]:
            at += 1 + data[at]
        at += 1
        if shown:
            yield Span(begin, at)


# --- EXIF: the orientation is all a picture needs ----------------------------------------------------------------------


def orientation(block: bytes) -> int | None:
    """The orientation (2 to 8) a TIFF block asks for; None if it is upright or the block cannot be read."""
    order = {b"II": "<", b"MM": ">"}.get(block[:2])
    if order is None or len(block) < 14:
        return None
    (first,) = struct.unpack_from(f"{order}I", block, 4)
    if first + 2 > len(block):
        return None
    (count,) = struct.unpack_from(f"{order}H", block, first)
    for place in range(count):
        at = first + 2 + 12 * place
        if at + 12 > len(block):
            return None
        tag, kind, _, value = struct.unpack_from(f"{order}HHIH", block, at)
        if tag == _ORIENTATION:
            return int(value) if kind == _SHORT and 2 <= value <= 8 else None
    return None


def only_orientation(value: int) -> bytes:
    """A TIFF block that says nothing but the orientation."""
    entry = struct.pack(">HHIHH", _ORIENTATION, _SHORT, 1, value, 0)
    return b"MM\x00\x2a\x00\x00\x00\x08\x00\x01" + entry + b"\x00\x00\x00\x00"
