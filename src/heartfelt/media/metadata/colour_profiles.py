"""ICC colour profiles without their texts, dates and makers: what is left says how colours are to be shown.

A profile is written anew with the tags that colour transforms read, each cut to the size its type needs (ICC.1:2022, sections
7 to 10). Description and copyright, which the specification requires, become empty texts.
"""

from __future__ import annotations

import hashlib
import struct
from typing import NamedTuple

_HEADER = 128
_MAX_TAGS = 100
_COLORIMETRIC = frozenset(
    b"rXYZ gXYZ bXYZ rTRC gTRC bTRC kTRC wtpt bkpt lumi chad cicp tech A2B0 A2B1 A2B2 B2A0 B2A1 B2A2 gamt".split()
)
_TEXTS = (b"desc", b"cprt")
_DATE = struct.pack(">6H", 2000, 1, 1, 0, 0, 0)
_PARAMETERS = {0: 1, 1: 3, 2: 4, 3: 5, 4: 7}
"""How many numbers a parametric curve of each type has."""
_FIXED_SIZES = {b"XYZ ": 20, b"sf32": 44, b"sig ": 12, b"cicp": 12}


class _Tag(NamedTuple):
    signature: bytes
    start: int
    size: int


def cleaned_profile(profile: bytes, length: int = 0) -> bytes | None:
    """The profile without texts, at least ``length`` bytes long; None for bytes that are no profile, which decoders ignore.

    Raises ValueError for a profile whose colours are described in a way that is not parsed here.
    """
    if len(profile) < _HEADER + 4 or profile[36:40] != b"acsp":
        return None
    (count,) = struct.unpack_from(">I", profile, _HEADER)
    if count > _MAX_TAGS or _HEADER + 4 + 12 * count > len(profile):
        return None
    tags = [_Tag(*struct.unpack_from(">4sII", profile, _HEADER + 4 + 12 * row)) for row in range(count)]
    if any(tag.start + tag.size > len(profile) for tag in tags):
        return None
    version = profile[8]
    contents: dict[bytes, bytes] = {}
    for tag in tags:
        if tag.signature in _COLORIMETRIC:
            contents.setdefault(tag.signature, _exact(profile[tag.start : tag.start + tag.size]))
        elif tag.signature in _TEXTS:
            contents.setdefault(tag.signature, _empty_text(tag.signature, version))
    return _written(profile[:_HEADER], contents, length)


def _exact(content: bytes) -> bytes:
    """The element without whatever stands behind its numbers."""
    kind = content[:4]
    size = _size_of(kind, content)
    if size is None or size > len(content):
        raise ValueError(f"its colour profile has an element of type '{kind.decode('latin-1')}'")
    return kind + bytes(4) + content[8:size]


def _size_of(kind: bytes, content: bytes) -> int | None:
    """The bytes an element of this type has; None for a type that is not parsed here."""
    if kind == b"curv":
        return 12 + 2 * int(struct.unpack_from(">I", content, 8)[0])
    if kind == b"para":
        numbers = _PARAMETERS.get(int(struct.unpack_from(">H", content, 8)[0]))
        return None if numbers is None else 12 + 4 * numbers
    if kind in {b"mft1", b"mft2"}:
        inputs, outputs, points = content[8:11]
        entries = exits = 256
        if inputs > 15:
            return None
        grid: int = pow(points, inputs)
        if kind == b"mft2":
            entries, exits = struct.unpack_from(">HH", content, 48)
        values = entries * inputs + grid * outputs + exits * outputs
        return 48 + values if kind == b"mft1" else 52 + 2 * values
    return _FIXED_SIZES.get(kind)


def _empty_text(signature: bytes, version: int) -> bytes:
    if version >= 4:
        return b"mluc" + struct.pack(">4xII", 0, 12)
    if signature == b"cprt":
        return b"text" + bytes(5)
    return b"desc" + struct.pack(">4xI", 1) + bytes(1 + 4 + 4 + 2 + 1 + 67)


def _written(header: bytes, contents: dict[bytes, bytes], length: int) -> bytes:
    """A profile of these elements, with zeros up to a length; equal curves are stored once."""
    at = _HEADER + 4 + 12 * len(contents)
    starts: dict[bytes, int] = {}
    table = struct.pack(">I", len(contents))
    body = b""
    for signature, content in contents.items():
        if content not in starts:
            starts[content] = at + len(body)
            body += content + bytes(-len(content) % 4)
        table += struct.pack(">4sII", signature, starts[content], len(content))
    body = body.ljust(length - at, b"\0")
    size = struct.pack(">I", at + len(body))
    version_to_connection = header[8:24]
    flags, attributes = bytes(3) + header[47:48], bytes(4) + header[60:64]
    intent_and_illuminant = header[64:80]
    head = size + bytes(4) + version_to_connection + _DATE + b"acsp" + bytes(4)
    identity = bytes(16)
    if header[8] >= 4:
        unidentified = head + bytes(12) + attributes + bytes(4) + intent_and_illuminant[4:] + bytes(48)
        identity = hashlib.md5(unidentified + table + body, usedforsecurity=False).digest()
    return head + flags + bytes(8) + attributes + intent_and_illuminant + bytes(4) + identity + bytes(28) + table + body
