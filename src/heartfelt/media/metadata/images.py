"""Pictures without text chunks, comments, EXIF (but for the orientation), texts of colour profiles and whatever follows their end.

A chunk is kept only if it is known to be shown, and only with the bytes its kind has: there is no room for anything else.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Sequence

from heartfelt.media.metadata.colour_profiles import cleaned_profile
from heartfelt.media.metadata.pieces import Chunk, Piece, Span, chunks, length_of

_PNG_PIXELS = frozenset({b"IDAT", b"fdAT"})
_PNG_SIZES = {
    b"IHDR": 13, b"PLTE": 768, b"tRNS": 256, b"cHRM": 32, b"gAMA": 4, b"sBIT": 4, b"sRGB": 1, b"cICP": 4, b"mDCV": 24,
    b"cLLI": 8, b"bKGD": 6, b"pHYs": 9, b"hIST": 512, b"acTL": 8, b"fcTL": 26,
}  # fmt: skip
"""The most bytes of content a chunk that is shown can have; one with more is not what it says."""
_JPEG_MARKER = re.compile(rb"\xff+[^\x00\xff\xd0-\xd7]")
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
_JPEG_SHOWN = frozenset({*range(0xC0, 0xD0), 0xDB, 0xDC, 0xDD, 0xDE, 0xDF}) - {0xC8}
_SOS, _EOI = 0xDA, 0xD9
_JPEG_PROFILE = b"ICC_PROFILE\0"
_PROFILE_PART = 65_519
_WEBP_PIXELS = frozenset({b"VP8 ", b"VP8L", b"ALPH"})
_WEBP_PROFILE, _WEBP_EXIF, _WEBP_XMP = 0x20, 0x08, 0x04
_GIF_LOOPS = (b"NETSCAPE2.0", b"ANIMEXTS1.0")
_ORIENTATION = 0x0112
_SHORT = 3
_MOST_PROFILE = 1 << 24


def png(data: bytes) -> Iterator[Piece]:
    """Chunks that are shown, and no others."""
    if data[12:16] != b"IHDR":
        raise ValueError("it does not begin with its header")
    yield Span(0, 8)
    at = 8
    while at + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        stop = at + 12 + size
        if kind == b"IEND":
            yield _chunk(b"IEND", b"")
            return
        if kind in _PNG_PIXELS or size <= _PNG_SIZES.get(kind, -1):
            yield Span(at, min(stop, len(data)))
        elif kind == b"iCCP" and (profile := _png_profile(data[at + 8 : stop - 4])) is not None:
            yield _chunk(b"iCCP", b"icc\0\0" + zlib.compress(profile, 9))
        elif kind == b"eXIf" and (turned := orientation(data[at + 8 : stop - 4])) is not None:
            yield _chunk(b"eXIf", only_orientation(turned))
        at = stop


def _png_profile(content: bytes) -> bytes | None:
    compressed = content.partition(b"\0")[2][1:]
    try:
        return cleaned_profile(zlib.decompressobj().decompress(compressed, _MOST_PROFILE))
    except zlib.error:
        return None


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", len(content), kind) + content + struct.pack(">I", zlib.crc32(kind + content))


def jpeg(data: bytes) -> Iterator[Piece]:
    """Segments that are shown: of the application's own only JFIF, colour profile, Adobe's transform and the orientation."""
    yield Span(0, 2)
    at = 2
    has_profile = False
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
        elif marker == 0xE2 and data[begin + 4 : begin + 16] == _JPEG_PROFILE:
            if not has_profile:
                yield from _jpeg_profile(data, begin)
            has_profile = True
        elif marker in _JPEG_SHOWN:
            yield Span(begin, stop)
        else:
            yield _application(marker, data[begin + 4 : stop])
        at = stop


def _application(marker: int, content: bytes) -> bytes:
    """What is kept of a segment of an application; nothing of most."""
    if marker == 0xE1 and content.startswith(b"Exif\0\0"):
        turned = orientation(content[6:])
        return b"" if turned is None else _segment(marker, b"Exif\0\0" + only_orientation(turned))
    if marker == 0xE0 and content.startswith(b"JFIF\0") and len(content) >= 12:
        # Version, unit and density; the small picture that may follow is left out.
        return _segment(marker, content[:12] + b"\0\0")
    if marker == 0xEE and content.startswith(b"Adobe") and len(content) >= 12:
        return _segment(marker, content[:12])
    return b""


def _segment(marker: int, content: bytes) -> bytes:
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(content) + 2) + content


def _jpeg_profile(data: bytes, at: int) -> Iterator[Piece]:
    """The colour profile, whose parts may stand in any order, without its texts."""
    parts: dict[int, bytes] = {}
    while (match := _JPEG_MARKER.match(data, at)) is not None and data[match.end() - 1] not in {_SOS, _EOI}:
        begin = match.end() - 2
        if data[begin + 1] in _JPEG_BARE:
            at = begin + 2
            continue
        at = begin + 2 + int(struct.unpack_from(">H", data, begin + 2)[0])
        if data[begin + 1] == 0xE2 and data[begin + 4 : begin + 16] == _JPEG_PROFILE:
            parts.setdefault(data[begin + 16], data[begin + 18 : at])
    profile = cleaned_profile(b"".join(parts[number] for number in sorted(parts)))
    if profile is not None:
        pieces = [profile[start : start + _PROFILE_PART] for start in range(0, len(profile), _PROFILE_PART)]
        for number, piece in enumerate(pieces, 1):
            yield _segment(0xE2, _JPEG_PROFILE + bytes([number, len(pieces)]) + piece)


def webp(data: bytes) -> Iterator[Piece]:
    """The chunks of the picture; EXIF is cut down to the orientation, the profile to its colours, XMP left out."""
    all_chunks = list(chunks(data, 12, "<4sI"))
    pixels = [piece for chunk in all_chunks for piece in _webp_shown(data, chunk)]
    if not pixels:
        raise ValueError("no picture in it")
    header = next((c for c in all_chunks if c.kind == b"VP8X" and c.stop - c.content >= 10), None)
    parts = pixels if header is None else _webp_extended(data, header, all_chunks, pixels)
    yield b"RIFF" + struct.pack("<I", 4 + sum(map(length_of, parts))) + b"WEBP"
    yield from parts


def _webp_shown(data: bytes, chunk: Chunk) -> list[Piece]:
    """The pixels of a chunk, or how they are animated."""
    if chunk.kind in _WEBP_PIXELS:
        return _webp_pixels(chunk)
    if chunk.kind == b"ANIM":
        return [struct.pack("<4sI", chunk.kind, 6) + data[chunk.content : chunk.stop][:6].ljust(6, b"\0")]
    return _webp_frame(data, chunk) if chunk.kind == b"ANMF" else []


def _webp_extended(data: bytes, header: Chunk, all_chunks: Sequence[Chunk], pixels: list[Piece]) -> list[Piece]:
    """The pixels behind a header whose flags say that a profile and an orientation come with them."""
    profile = next(filter(None, map(cleaned_profile, _contents(data, all_chunks, b"ICCP"))), None)
    blocks = (block.removeprefix(b"Exif\0\0") for block in _contents(data, all_chunks, b"EXIF"))
    turned = next((turn for turn in map(orientation, blocks) if turn is not None), None)
    flags = data[header.content] & ~(_WEBP_PROFILE | _WEBP_EXIF | _WEBP_XMP)
    flags |= (_WEBP_PROFILE if profile else 0) | (_WEBP_EXIF if turned else 0)
    size = data[header.content + 4 : header.content + 10]
    head = _riff_chunk(b"VP8X", bytes([flags]) + bytes(3) + size)
    behind = [_riff_chunk(b"EXIF", only_orientation(turned))] if turned else []
    return [head, *([_riff_chunk(b"ICCP", profile)] if profile else []), *pixels, *behind]


def _contents(data: bytes, all_chunks: Sequence[Chunk], kind: bytes) -> Iterator[bytes]:
    return (data[chunk.content : chunk.stop] for chunk in all_chunks if chunk.kind == kind)


def _riff_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack("<4sI", kind, len(content)) + content + bytes(len(content) % 2)


def _webp_pixels(chunk: Chunk) -> list[Piece]:
    size = chunk.stop - chunk.content
    return [chunk.kind + struct.pack("<I", size), Span(chunk.content, chunk.stop), bytes(size % 2)]


def _webp_frame(data: bytes, frame: Chunk) -> list[Piece]:
    """A frame of an animation: its place and pixels."""
    pixels = [
        piece
        for chunk in chunks(data, frame.content + 16, "<4sI", frame.stop)
        if chunk.kind in _WEBP_PIXELS
        for piece in _webp_pixels(chunk)
    ]
    size = 16 + sum(map(length_of, pixels))
    return [struct.pack("<4sI", b"ANMF", size) + data[frame.content : frame.content + 16], *pixels]


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
            at = _after_blocks(data, at + 11 + (3 << (local & 7) + 1 if local & 0x80 else 0))
            yield Span(begin, at)
        elif kind == 0x21:
            at = _after_blocks(data, at + 2)
            yield _gif_extension(data[begin:at])
        else:
            raise ValueError("no block where one should be")


def _after_blocks(data: bytes, at: int) -> int:
    while data[at]:
        at += 1 + data[at]
    return at + 1


def _gif_extension(block: bytes) -> bytes:
    """Timing and transparency of the next frame, or how often it all repeats: the first block of each, and no more."""
    if block[1:3] == b"\xf9\x04":
        return block[:7] + b"\0"
    if block[1:3] == b"\xff\x0b" and block[3:14] in _GIF_LOOPS and block[14:16] == b"\x03\x01":
        return block[:18] + b"\0"
    return b""


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
    for row in range(count):
        at = first + 2 + 12 * row
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
