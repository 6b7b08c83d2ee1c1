"""BMP and TIFF pictures, written anew from header, palette and pixels: gaps, further tags and trailing bytes have no place."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from heartfelt.media.metadata.colour_profiles import cleaned_profile
from heartfelt.media.metadata.pieces import Piece, Span, length_of

# --- BMP ---------------------------------------------------------------------------------------------------------------

_BMP_HEADERS = frozenset({12, 40, 52, 56, 108, 124})
_UNCOMPRESSED, _RUN_LENGTHS, _MASKS = frozenset({0, 3, 6}), frozenset({1, 2}), {3: 12, 6: 16}
_EMBEDDED, _LINKED, _SRGB = b"DEBM", b"KNIL", b"BGRs"
_OWN_PRIMARIES = bytes(4)


def bmp(data: bytes) -> Iterator[Piece]:
    """Header, palette, pixels and the colours of a profile."""
    (size,) = struct.unpack_from("<I", data, 14)
    if size not in _BMP_HEADERS or 14 + size > len(data):
        raise ValueError("a header of an unknown kind")
    (begin,) = struct.unpack_from("<I", data, 10)
    info = bytearray(data[14 : 14 + size])
    if size == 12:
        width, height, _, bits = struct.unpack_from("<4H", info, 4)
        compression = colours = image_size = 0
    else:
        width, height, _, bits, compression, image_size = struct.unpack_from("<iiHHII", info, 4)
        (colours,) = struct.unpack_from("<I", info, 32)
    at = 14 + size
    masks = _MASKS.get(compression, 0) if size == 40 else 0
    palette = data[at + masks : at + masks + _palette_size(size, bits, colours)]
    if size > 12:
        palette = b"".join(palette[row : row + 3] + b"\0" for row in range(0, len(palette), 4))
        struct.pack_into("<II", info, 32, colours if bits <= 8 else 0, 0)
    pixels = list(_bmp_pixels(data, begin, (width, abs(height)), bits, compression, image_size))
    count = sum(map(length_of, pixels))
    if size > 12:
        struct.pack_into("<I", info, 20, count)
    profile = _bmp_profile(data, info, size + masks + len(palette) + count)
    start = 14 + size + masks + len(palette)
    total = start + count + len(profile)
    yield b"BM" + struct.pack("<I4xI", total, start) + bytes(info) + data[at : at + masks] + palette
    yield from pixels
    yield profile


def _palette_size(header: int, bits: int, colours: int) -> int:
    if bits > 8:
        return 0
    return 3 << bits if header == 12 else 4 * (colours if 0 < colours <= 1 << bits else 1 << bits)


def _bmp_pixels(
    data: bytes, begin: int, size: tuple[int, int], bits: int, compression: int, stated: int
) -> Iterator[Piece]:
    """The rows, with zeros where they are filled up to four bytes; run lengths as they are."""
    width, height = size
    if compression in _RUN_LENGTHS:
        if not 0 < stated <= len(data) - begin:
            raise ValueError("the size of its pixels is wrong")
        yield Span(begin, begin + stated)
        return
    if compression not in _UNCOMPRESSED or width <= 0 or bits not in {1, 4, 8, 16, 24, 32}:
        raise ValueError("pixels of an unknown kind")
    used = (width * bits + 7) // 8
    stride = (used + 3) // 4 * 4
    if begin < 26 or begin + stride * height > len(data) + stride - used:
        raise ValueError("its pixels reach beyond the file")
    filling = stride - used
    if not filling:
        yield Span(begin, begin + stride * height)
        return
    rows = memoryview(bytearray(data[begin : begin + stride * height].ljust(stride * height, b"\0")))
    for unused in range(used, stride):
        rows[unused::stride] = bytes(height)
    yield bytes(rows)


def _bmp_profile(data: bytes, info: bytearray, offset: int) -> bytes:
    """The profile behind the pixels, for which ``info`` is corrected; a link to a file names that file and is removed."""
    if len(info) < 108:
        return b""
    profile = None
    kind = bytes(info[56:60])
    if len(info) == 124:
        if kind == _EMBEDDED:
            start, size = struct.unpack_from("<II", info, 112)
            profile = cleaned_profile(data[14 + start : 14 + start + size])
        struct.pack_into("<III", info, 112, offset if profile else 0, len(profile or b""), 0)
    if kind != _OWN_PRIMARIES:
        info[56:60] = _EMBEDDED if profile else _SRGB
        info[60:108] = bytes(48)
    return profile or b""


# --- TIFF --------------------------------------------------------------------------------------------------------------

_TYPE_SIZES = {1: 1, 3: 2, 4: 4, 5: 8, 7: 1}
_LONG, _UNDEFINED = 4, 7
_SUBFILE, _WIDTH, _LENGTH, _BITS, _COMPRESSION, _SAMPLES, _ROWS, _PLANAR = (254, 256, 257, 258, 259, 277, 278, 284)
_STRIPS, _STRIP_SIZES, _TILES, _TILE_SIZES, _PALETTE, _PROFILE = 273, 279, 324, 325, 320, 34675
_COUNTS = {
    **dict.fromkeys((_WIDTH, _LENGTH, _COMPRESSION, 262, 266, 274, _SAMPLES, _ROWS, 282, 283, _PLANAR), 1),
    **dict.fromkeys((292, 293, 296, 317, 322, 323, 531), 1),
    **dict.fromkeys((_BITS, 280, 281, 338, 339), 8),
    318: 2,
    319: 6,
    529: 3,
    530: 2,
    532: 6,
}
"""The tags that are needed to show the picture, and the most values each can have."""
_READ = frozenset({_SUBFILE, _STRIPS, _STRIP_SIZES, _TILES, _TILE_SIZES, _PALETTE, _PROFILE})
_CODINGS = frozenset({1, 2, 3, 4, 5, 8, 32773, 32946})
"""Without, fax, LZW, deflate, PackBits; JPEG inside of TIFF has segments of its own and is refused."""
_REDUCED = 1
_MAX_PAGES = 10_000


class _Field(NamedTuple):
    kind: int
    values: int
    content: bytes


def tiff(data: bytes) -> Iterator[Piece]:
    """Every page with its pixels and the tags that are needed to show them; small copies of pages are left out."""
    order = "<" if data[:2] == b"II" else ">"
    (at,) = struct.unpack_from(f"{order}I", data, 4)
    pages: list[dict[int, _Field]] = []
    visited: set[int] = set()
    while at:
        if at in visited or len(visited) > _MAX_PAGES:
            raise ValueError("its pages lead back to each other")
        visited.add(at)
        fields, at = _directory(data, order, at)
        if not _number(fields, order, _SUBFILE, 0) & _REDUCED:
            pages.append(fields)
    if not pages:
        raise ValueError("no picture in it")
    if sum(stop - start for fields in pages for start, stop in _strips(data, fields, order)) > len(data):
        raise ValueError("its pages share their pixels")
    yield data[:4] + struct.pack(f"{order}I", 8)
    begin = 8
    for number, fields in enumerate(pages):
        page = list(_page(data, fields, order, begin, last=number == len(pages) - 1))
        begin += sum(map(length_of, page))
        yield from page


def _directory(data: bytes, order: str, at: int) -> tuple[dict[int, _Field], int]:
    (count,) = struct.unpack_from(f"{order}H", data, at)
    fields: dict[int, _Field] = {}
    for row in range(at + 2, at + 2 + 12 * count, 12):
        tag, kind, values = struct.unpack_from(f"{order}HHI", data, row)
        size = _TYPE_SIZES.get(kind, 0) * values
        start = row + 8
        if size > 4:
            (start,) = struct.unpack_from(f"{order}I", data, start)
        if size and (tag in _READ or tag in _COUNTS):
            if start + size > len(data):
                raise ValueError("a tag reaches beyond the file")
            fields[tag] = _Field(kind, values, data[start : start + size])
    (following,) = struct.unpack_from(f"{order}I", data, at + 2 + 12 * count)
    return fields, int(following)


def _numbers(fields: dict[int, _Field], order: str, tag: int) -> tuple[int, ...]:
    field = fields.get(tag)
    if field is None:
        return ()
    if field.kind not in {1, 3, _LONG}:
        raise ValueError(f"tag {tag} is no number")
    return struct.unpack(f"{order}{field.values}{'_B_HI'[field.kind]}", field.content)


def _number(fields: dict[int, _Field], order: str, tag: int, default: int) -> int:
    return next(iter(_numbers(fields, order, tag)), default)


def _strips(data: bytes, fields: dict[int, _Field], order: str) -> list[tuple[int, int]]:
    """Where the pixels of a page are; without coding, no more of them than the picture has."""
    tag, sizes_tag = (_TILES, _TILE_SIZES) if _TILES in fields else (_STRIPS, _STRIP_SIZES)
    starts, sizes = _numbers(fields, order, tag), list(_numbers(fields, order, sizes_tag))
    coding = _number(fields, order, _COMPRESSION, 1)
    if coding not in _CODINGS:
        raise ValueError(f"its pixels are coded in a way that may have metadata inside (compression {coding})")
    if not starts or len(starts) != len(sizes):
        raise ValueError("it does not say where its pixels are")
    if coding == 1 and tag == _STRIPS:
        longest = _uncoded_strip(fields, order)
        sizes = [min(size, longest) for size in sizes]
    spans = [(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    if any(stop > len(data) for _, stop in spans):
        raise ValueError("its pixels reach beyond the file")
    return spans


def _uncoded_strip(fields: dict[int, _Field], order: str) -> int:
    """The bytes of a strip of pixels without coding."""
    height = _number(fields, order, _LENGTH, 0)
    rows = min(_number(fields, order, _ROWS, height), height)
    planar = _number(fields, order, _PLANAR, 1) == 2
    samples = 1 if planar else _number(fields, order, _SAMPLES, 1)
    return rows * ((_number(fields, order, _WIDTH, 0) * samples * _number(fields, order, _BITS, 1) + 7) // 8)


def _page(data: bytes, fields: dict[int, _Field], order: str, begin: int, *, last: bool) -> Iterator[Piece]:
    """A directory at ``begin``, its values, and its pixels."""
    spans = _strips(data, fields, order)
    fields_written = _shown_fields(fields, order)
    tags = (_TILES, _TILE_SIZES) if _TILES in fields else (_STRIPS, _STRIP_SIZES)
    for tag in tags:
        fields_written[tag] = _Field(_LONG, len(spans), bytes(4 * len(spans)))
    pixels_at = begin + 6 + 12 * len(fields_written)
    pixels_at += sum(_even(len(field.content)) for field in fields_written.values() if len(field.content) > 4)
    starts = []
    pixels: list[Piece] = []
    for start, stop in spans:
        starts.append(pixels_at)
        pixels += [Span(start, stop), bytes((stop - start) % 2)]
        pixels_at += _even(stop - start)
    for tag, values in zip(tags, (starts, [stop - start for start, stop in spans]), strict=True):
        fields_written[tag] = _Field(_LONG, len(values), struct.pack(f"{order}{len(values)}I", *values))
    yield _written_directory(fields_written, order, begin, following=0 if last else pixels_at)
    yield from pixels


def _shown_fields(fields: dict[int, _Field], order: str) -> dict[int, _Field]:
    """The fields that are needed to show a page, but for where its pixels are."""
    out = {
        tag: field
        for tag, field in fields.items()
        if tag in _COUNTS and field.kind != _UNDEFINED and field.values <= _COUNTS[tag]
    }
    palette = fields.get(_PALETTE)
    if palette is not None and palette.values == 3 << _number(fields, order, _BITS, 1):
        out[_PALETTE] = palette
    profile = cleaned_profile(fields[_PROFILE].content) if _PROFILE in fields else None
    if profile is not None:
        out[_PROFILE] = _Field(_UNDEFINED, len(profile), profile)
    return out


def _written_directory(fields: dict[int, _Field], order: str, begin: int, *, following: int) -> bytes:
    """A directory at ``begin``, the next of which is at ``following``, and the values that do not fit into it."""
    directory, content = struct.pack(f"{order}H", len(fields)), b""
    content_at = begin + 6 + 12 * len(fields)
    for tag, field in sorted(fields.items()):
        value = field.content.ljust(4, b"\0")
        if len(field.content) > 4:
            value = struct.pack(f"{order}I", content_at + len(content))
            content += field.content + bytes(len(field.content) % 2)
        directory += struct.pack(f"{order}HHI", tag, field.kind, field.values) + value
    return directory + struct.pack(f"{order}I", following) + content


def _even(size: int) -> int:
    return size + size % 2
