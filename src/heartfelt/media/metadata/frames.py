"""MP3 and AAC streams: frame after frame, without the tags and other bytes before, between and after them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from heartfelt.media.metadata.audio import after_tags, before_tags
from heartfelt.media.metadata.pieces import Piece, Span

_SYNC = re.compile(rb"\xff[\xe0-\xff]")
_KILOBITS = {
    (1, 1): (0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (1, 2): (0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (1, 3): (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (2, 1): (0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (2, 2): (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_RATES = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
_ENCODERS = (b"LAME", b"Lavf", b"Lavc")
_INFO_FIELDS = ((1, 4), (2, 4), (4, 100), (8, 4))
"""The flags of an information frame and the bytes of the field that each announces."""
_ENCODER_TEXT, _ENCODER_FIELDS = 9, 36


def mpeg_frame(data: bytes, at: int) -> int:
    """The length of the MPEG audio frame that begins at ``at``; 0 if none does."""
    head = data[at : at + 4]
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return 0
    version, layer = head[1] >> 3 & 3, 4 - (head[1] >> 1 & 3)
    rate, bit_rate = head[2] >> 2 & 3, head[2] >> 4
    if version == 1 or layer == 4 or rate == 3 or bit_rate in {0, 15}:
        return 0
    kilobits = _KILOBITS[(1, layer) if version == 3 else (2, min(layer, 2))][bit_rate]
    hertz, padding = _RATES[version][rate], head[2] >> 1 & 1
    if layer == 1:
        return (12_000 * kilobits // hertz + padding) * 4
    return (72_000 if layer == 3 and version != 3 else 144_000) * kilobits // hertz + padding


def aac_frame(data: bytes, at: int) -> int:
    """The length of the ADTS frame that begins at ``at``; 0 if none does."""
    head = data[at : at + 7]
    if len(head) < 7 or head[0] != 0xFF or head[1] & 0xF6 != 0xF0:
        return 0
    length = (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5
    return length if length >= 7 else 0


def mp3(data: bytes) -> Iterator[Piece]:
    """The frames: no ID3, APE or Lyrics3 around them, and no text in the one that describes the others."""
    first = True
    for begin, stop in _frames(data, mpeg_frame):
        if first:
            yield _without_texts(data[begin:stop])
            first = False
        else:
            yield Span(begin, stop)


def aac(data: bytes) -> Iterator[Piece]:
    """The frames of an AAC stream."""
    for begin, stop in _frames(data, aac_frame):
        yield Span(begin, stop)


def _frames(data: bytes, length: Callable[[bytes, int], int]) -> Iterator[tuple[int, int]]:
    """Where frames begin and end; the first is one that another one or a tag follows, or that ends with the file."""
    at, end = after_tags(data, 0), before_tags(data)
    size = length(data, at)
    any_frame = False
    while at < end:
        following = length(data, at + size) if size and at + size < end else 0
        if size and (any_frame or following or at + size >= end or data[at + size : at + size + 3] == b"ID3"):
            yield at, min(at + size, end)
            any_frame = True
            at, size = at + size, following
        else:
            at, size = _next_frame(data, at + 1, end, length)
    if not any_frame:
        raise ValueError("no frames in it")


def _next_frame(data: bytes, at: int, end: int, length: Callable[[bytes, int], int]) -> tuple[int, int]:
    """Where the next frame begins that another one follows or that ends with the file, and its length."""
    while (match := _SYNC.search(data, at, end)) is not None:
        at = match.start()
        size = length(data, at)
        if size and (at + size == end or length(data, at + size)):
            return at, size
        at += 1
    return end, 0


def _without_texts(frame: bytes) -> bytes:
    """The first frame: where it describes the others (Xing, LAME), what is no number is blank."""
    version, mono = frame[1] >> 3 & 3, frame[3] >> 6 == 3
    side = (17 if mono else 32) if version == 3 else (9 if mono else 17)
    at = 4 + side
    if frame[at : at + 4] not in {b"Xing", b"Info"} or len(frame) < at + 8:
        return frame
    flags = frame[at + 7]
    at += 8 + sum(size for flag, size in _INFO_FIELDS if flags & flag)
    text = frame[at : at + _ENCODER_TEXT]
    numbers = frame[at + _ENCODER_TEXT : at + _ENCODER_FIELDS]
    # Some decoders read delay and padding, which follow, behind any name, others only behind one they know.
    encoder = text[:4] + b"3.100" if text[:4] in _ENCODERS else b"encoder\0\0" if text[:1].strip(b"\0") else bytes(9)
    described = frame[:at] + encoder + numbers
    return described[: len(frame)].ljust(len(frame), b"\0")
