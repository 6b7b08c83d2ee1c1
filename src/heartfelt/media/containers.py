"""Audio files as containers: is a file whole, and is the same sound the same bytes?

libsndfile reads a cut-off WAV or Ogg file as a shorter clip without a word, so the container itself is asked
whether its end is there. It also numbers Ogg streams by the clock; ``settle_ogg`` puts a number made from the
content in its place, so that one sound encoded twice is one file.

Source: RIFF/WAVE (IBM and Microsoft 1991), EBU Tech 3306 (RF64), RFC 3533 (Ogg), RFC 9639 (FLAC).
"""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Iterator
from typing import BinaryIO

_OGG_TAIL = 2 * 65_307
_OGG_LAST = 0x04


def what_is_missing(file: BinaryIO) -> str | None:
    """Say how the file falls short of what its own header promises; None when it does not, or cannot tell."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    head = file.read(12)
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return _wave_shortfall(file, size)
    if head[:4] == b"OggS":
        file.seek(max(0, size - _OGG_TAIL))
        return _ogg_shortfall(file.read())
    return None


def _wave_shortfall(file: BinaryIO, size: int) -> str | None:
    at = 12
    while at + 8 <= size:
        file.seek(at)
        name, length = struct.unpack("<4sI", file.read(8))
        if name == b"data":
            # A writer that streamed did not know the length and left the largest number, or none.
            unknown = length in (0, 0xFFFFFFFF) or length >= 0x7FFFFF00
            available = size - at - 8
            if length > available and not unknown:
                return f"its header promises {length} bytes of sound and {available} are there"
            return None
        at += 8 + length + (length & 1)
    return "it has no sound data after its header"


def _ogg_shortfall(tail: bytes) -> str | None:
    at = tail.rfind(b"OggS")
    if at < 0:
        return "it does not end with an Ogg page"
    page = tail[at:]
    if len(page) < 27 or len(page) < 27 + page[26] + sum(page[27 : 27 + page[26]]):
        return "its last Ogg page is cut off"
    if not page[5] & _OGG_LAST:
        return "its last Ogg page is not marked as the end of the stream"
    return None


def settle_ogg(content: bytes) -> bytes:
    """Return an Ogg file with its stream number taken from its content instead of the clock."""
    pages = list(_ogg_pages(content))
    without_serials = b"".join(page[:14] + bytes(4) + page[18:22] + bytes(4) + page[26:] for page in pages)
    serial = hashlib.sha256(without_serials).digest()[:4]
    settled = bytearray()
    for page in pages:
        fresh = page[:14] + serial + page[18:22] + bytes(4) + page[26:]
        settled += fresh[:22] + struct.pack("<I", _ogg_checksum(fresh)) + fresh[26:]
    return bytes(settled)


def _ogg_pages(content: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(content):
        segments = content[at + 26]
        end = at + 27 + segments + sum(content[at + 27 : at + 27 + segments])
        yield content[at:end]
        at = end


def _shifted(byte: int) -> int:
    value = byte << 24
    for _ in range(8):
        value = ((value << 1) ^ 0x04C11DB7 if value & 0x80000000 else value << 1) & 0xFFFFFFFF
    return value


_CHECKSUMS = tuple(_shifted(byte) for byte in range(256))


def _ogg_checksum(page: bytes) -> int:
    value = 0
    for byte in page:
        value = ((value << 8) & 0xFFFFFFFF) ^ _CHECKSUMS[(value >> 24) ^ byte]
    return value
