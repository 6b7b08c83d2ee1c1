"""Sound files without tags: WAV, AIFF, FLAC, AU, CAF and Wave64; tags before and after any sound.

A chunk is kept only if it is known to be sound, and only with the bytes its kind has.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from heartfelt.media.metadata.pieces import Chunk, Piece, Span, chunks, length_of

_CAF_SOUND = frozenset({b"desc", b"data", b"pakt", b"chan", b"kuki"})
_W64_TAIL = bytes.fromhex("f3acd3118cd100c04f8edb8a")
_FLAC_SOUND = {0: 34, 3: 18}
"""Stream information and seek table, and the bytes each has or has for every point."""
_MOST_FRAMES = 8
_PLAIN_CODINGS = frozenset({1, 3, 6, 7})
_EXTENSIBLE = 0xFFFE
_UNKNOWN_SIZE = 0xFFFFFFFF


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
    return sum((byte & 0x7F) << 7 * position for position, byte in enumerate(reversed(size)))


# --- chunks ------------------------------------------------------------------------------------------------------------


def wav(data: bytes) -> Iterator[Piece]:
    """Format and samples; the sizes of files whose sizes were never filled in stay as they are."""
    streamed = data[4:8] in {b"\xff" * 4, b"\0" * 4}
    large, frames = len(data), 0
    chunks: dict[bytes, list[Piece]] = {}
    at = 12
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<4sI", data, at)
        begin = at + 8
        if kind == b"ds64":
            large, frames = struct.unpack_from("<QQ", data, begin + 8)
        if kind == b"data" and (size == _UNKNOWN_SIZE or (streamed and not size)):
            size = large
        chunks.setdefault(kind, _wav_chunk(data, kind, at, min(len(data), begin + size)))
        at = begin + size + size % 2
    if not {b"data", b"fmt "} <= chunks.keys():
        raise ValueError("no sound in it")
    parts = [*chunks[b"fmt "], *chunks.get(b"fact", ()), *chunks[b"data"]]
    total = 4 + sum(map(length_of, parts))
    if data[:4] in {b"RF64", b"BW64"}:
        ds64 = struct.pack("<4sIQQQI", b"ds64", 28, total + 36, large, frames, 0)
        yield data[:8] + b"WAVE" + ds64
    else:
        yield data[:4] + (data[4:8] if streamed else struct.pack("<I", total)) + b"WAVE"
    yield from parts


def _wav_chunk(data: bytes, kind: bytes, at: int, stop: int) -> list[Piece]:
    """What is kept of a chunk; nothing of most."""
    begin = at + 8
    if kind == b"fmt ":
        return _little_chunk(kind, _wav_format(data[begin:stop]))
    if kind == b"fact":
        return _little_chunk(kind, data[begin:stop][:4])
    return [Span(at, stop), bytes((stop - begin) % 2)] if kind == b"data" else []


def _little_chunk(kind: bytes, content: bytes) -> list[Piece]:
    return [struct.pack("<4sI", kind, len(content)) + content + bytes(len(content) % 2)]


def _wav_format(content: bytes) -> bytes:
    """How samples are coded, without what may follow it."""
    (coding,) = struct.unpack_from("<H", content)
    if coding in _PLAIN_CODINGS:
        return content[:16] + (bytes(2) if len(content) >= 18 else b"")
    if coding == _EXTENSIBLE:
        return content[:16] + struct.pack("<H", 22) + content[18:40]
    (extra,) = struct.unpack_from("<H", content, 16)
    return content[: 18 + extra]


def aiff(data: bytes) -> Iterator[Piece]:
    """Format and samples; the name of a compression is left out."""
    first: dict[bytes, Chunk] = {}
    for chunk in chunks(data, 12, ">4sI"):
        first.setdefault(chunk.kind, chunk)
    if not {b"COMM", b"SSND"} <= first.keys():
        raise ValueError("no sound in it")
    parts = [piece for chunk in first.values() for piece in _aiff_chunk(data, chunk)]
    yield data[:4] + struct.pack(">I", 4 + sum(map(length_of, parts))) + data[8:12]
    yield from parts


def _aiff_chunk(data: bytes, chunk: Chunk) -> Iterator[Piece]:
    """What is kept of a chunk, without gaps and names; nothing of most."""
    content = data[chunk.content : min(chunk.stop, chunk.content + 22)]
    (size,) = struct.unpack_from(">I", data, chunk.start + 4)
    if chunk.kind == b"FVER":
        yield struct.pack(">4sI", chunk.kind, 4) + content[:4].ljust(4, b"\0")
    elif chunk.kind == b"COMM":
        content = content + bytes(2) if size >= 22 else content[:18]
        yield struct.pack(">4sI", chunk.kind, len(content)) + content
    elif chunk.kind == b"SSND":
        (gap,) = struct.unpack_from(">I", data, chunk.content)
        first = chunk.content + 8 + gap
        if first > chunk.stop:
            raise ValueError("its samples begin beyond their end")
        yield struct.pack(">4sIII", chunk.kind, 8 + chunk.stop - first, 0, 0)
        yield Span(first, chunk.stop)
        yield bytes((chunk.stop - first) % 2)


def au(data: bytes) -> Iterator[Piece]:
    """Header and samples; the annotation between them is blank."""
    begin, size = struct.unpack_from(">II", data, 4)
    if begin < 24 or begin > len(data):
        raise ValueError("its samples begin beyond its end")
    stop = len(data) if size == _UNKNOWN_SIZE else min(len(data), begin + size)
    yield b".snd" + struct.pack(">I", 28) + data[8:24] + bytes(4)
    yield Span(begin, stop)


def caf(data: bytes) -> Iterator[Piece]:
    """Chunks with sixty-four bits of size."""
    yield Span(0, 8)
    seen_kinds: set[bytes] = set()
    for chunk in chunks(data, 8, ">4sq", unit=1):
        if chunk.kind in _CAF_SOUND and chunk.kind not in seen_kinds:
            seen_kinds.add(chunk.kind)
            yield Span(chunk.start, chunk.stop)
    if not {b"desc", b"data"} <= seen_kinds:
        raise ValueError("no sound in it")


def wave64(data: bytes) -> Iterator[Piece]:
    """Format and samples; chunks have sixty-four bits of size and begin at multiples of eight."""
    parts: list[Piece] = []
    seen_kinds: set[bytes] = set()
    at = 40
    while at + 24 <= len(data):
        (size,) = struct.unpack_from("<Q", data, at + 16)
        if size < 24:
            raise ValueError("a chunk without a size")
        stop = min(len(data), at + size)
        kind = data[at : at + 4]
        if kind in {b"fmt ", b"fact", b"data"} - seen_kinds and data[at + 4 : at + 16] == _W64_TAIL:
            seen_kinds.add(kind)
            content: Piece = Span(at + 24, stop)
            if kind == b"fmt ":
                content = _wav_format(data[at + 24 : stop])
            elif kind == b"fact":
                content = data[at + 24 : stop][:8]
            length = length_of(content)
            parts += [kind + _W64_TAIL + struct.pack("<Q", 24 + length), content, bytes(-length % 8)]
        at += (size + 7) // 8 * 8
    if not {b"fmt ", b"data"} <= seen_kinds:
        raise ValueError("no sound in it")
    yield data[:16] + struct.pack("<Q", 40 + sum(map(length_of, parts))) + data[24:40]
    yield from parts


# --- FLAC --------------------------------------------------------------------------------------------------------------


def flac(data: bytes) -> Iterator[Piece]:
    """Stream information, seek table and frames."""
    at = after_tags(data, 0) + 4
    yield b"fLaC"
    blocks: dict[int, bytes] = {}
    while True:
        head = data[at]
        size = int.from_bytes(data[at + 1 : at + 4], "big")
        if at + 4 + size > len(data):
            raise ValueError("a block reaches beyond the file")
        unit = _FLAC_SOUND.get(head & 0x7F)
        if unit is not None and size and size % unit == 0 and (unit == 18 or size == unit):
            blocks.setdefault(head & 0x7F, data[at + 1 : at + 4 + size])
        at += 4 + size
        if head & 0x80:
            break
    if 0 not in blocks:
        raise ValueError("it does not say how its sound is coded")
    for row, (kind, block) in enumerate(sorted(blocks.items())):
        yield bytes([kind | (0x80 if row == len(blocks) - 1 else 0)]) + block
    yield Span(at, _end_of_frames(data, at, before_tags(data)))


def _end_of_frames(data: bytes, begin: int, end: int) -> int:
    """Where the last frame ends: a frame's checksum, its last two bytes included, is zero.

    Raises ValueError where there is no such end: the last frame is damaged, and where it stops is not known.
    """
    if begin == end:
        return end
    sync, coding = data[begin : begin + 2], (data[begin + 2] & 0x0F, data[begin + 3] & 0x0E)
    start, tried = end - 1, 0
    fallback = None
    while tried < _MOST_FRAMES and (start := data.rfind(sync, begin, start + 1)) >= 0:
        head = data[start : min(end, start + 16)]
        if len(head) < 6 or (head[2] & 0x0F, head[3] & 0x0E) != coding or (size := _frame_head(head)) is None:
            continue
        tried += 1
        ending = _end_of_frame(data, start, start + size, end)
        if ending == end:
            return end
        fallback = ending if fallback is None else fallback
    if fallback is None:
        raise ValueError("its last frame is damaged")
    return fallback


def _end_of_frame(data: bytes, start: int, head: int, end: int) -> int | None:
    """The last position behind the frame's head at which the checksum is zero."""
    check, ending = 0, None
    for position, byte in enumerate(data[start:end], start + 1):
        check = (check << 8) & 0xFFFF ^ _CRC16[check >> 8 ^ byte]
        if not check and position > head:
            ending = position
    return ending


def _frame_head(head: bytes) -> int | None:
    """The bytes of a frame's head if its own checksum is right."""
    number = len(f"{head[4] ^ 0xFF:08b}".partition("1")[0]) or 1
    size = 4 + number + {6: 1, 7: 2}.get(head[2] >> 4, 0) + {12: 1, 13: 2, 14: 2}.get(head[2] & 15, 0)
    check = 0
    for byte in head[:size]:
        check = _CRC8[check ^ byte]
    return size + 1 if size < len(head) and head[size] == check else None


def _crc_table(bits: int, polynomial: int) -> list[int]:
    table = []
    for byte in range(256):
        value = byte << bits - 8
        for _ in range(8):
            value = value << 1 ^ (polynomial | 1 << bits if value >> bits - 1 else 0)
        table.append(value)
    return table


_CRC8, _CRC16 = _crc_table(8, 0x07), _crc_table(16, 0x8005)
