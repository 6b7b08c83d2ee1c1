"""The one thing in EXIF a picture needs: which way up it is."""

from __future__ import annotations

import struct

_ORIENTATION = 0x0112
_SHORT = 3


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
