"""Files made longer without a change to what is heard or seen: of a set, all are sent with the same number of bytes.

A hidden reference is the same file as the open one, so its size and its bytes would give it away. Padding goes where each
format has room for what decoders skip, and is different for every name a file is sent under. It is plain letters, made from a
seed when it is sent. What cannot be hidden: who decodes the files can compare the sound or the picture itself.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from typing import TypeAlias

from heartfelt.media.metadata import audio, films, frames, images, ogg
from heartfelt.media.metadata.ogg_padding import pad_ogg
from heartfelt.media.metadata.pieces import Noise, Piece, Span, StrippedFile, length_of

SMALLEST = 4096
"""Bytes of padding that every format can take, whatever surrounds them."""
_LONGEST_SEGMENT = 60_000
_LONGEST_BLOCK = 8_000_000
_APPLICATION = 2
_LAST = 0x80
Padder: TypeAlias = Callable[[StrippedFile, int, bytes], list[Piece]]
"""From a file, how many bytes to add and a seed to the pieces with padding."""


def _parts(extra: int, overhead: int, longest: int, seed: bytes) -> list[Noise]:
    """Noise that makes ``extra`` bytes with so much around each part of it, no part longer than ``longest``."""
    count = -(-extra // (longest + overhead))
    size, remainder = divmod(extra - count * overhead, count)
    return [Noise(seed + bytes([number % 256]), size + (number < remainder)) for number in range(count)]


def _wav_or_aiff(file: StrippedFile, extra: int, seed: bytes) -> list[Piece]:
    """A chunk before that of the samples: one behind them could not be found where their size was never filled in."""
    head, *chunks = file.parts
    assert isinstance(head, bytes)
    order, kind = (">", b"APPL") if head[:4] == b"FORM" else ("<", b"JUNK")
    odd = extra % 2
    noise = Noise(seed, extra - odd - 8)
    samples = next(row for row, chunk in enumerate(chunks) if _kind_of(file, chunk) in {b"data", b"SSND"})
    (size,) = struct.unpack(f"{order}I", head[4:8])
    if 0 < size < 0xFFFFFFFF - extra:
        head = head[:4] + struct.pack(f"{order}I", size + extra - odd) + head[8:]
    elif head[12:16] == b"ds64":
        (size,) = struct.unpack_from("<Q", head, 20)
        head = head[:20] + struct.pack("<Q", size + extra - odd) + head[28:]
    chunk = struct.pack(f"{order}4sI", kind, noise.size)
    return [head, *chunks[:samples], chunk, noise, *chunks[samples:], bytes(odd)]


def _kind_of(file: StrippedFile, chunk: Piece) -> bytes:
    """The four letters a chunk begins with."""
    if isinstance(chunk, bytes):
        return chunk[:4]
    return file.data[chunk.start : chunk.start + 4] if isinstance(chunk, Span) else b""


def _flac(file: StrippedFile, extra: int, seed: bytes) -> list[Piece]:
    """Blocks of an application behind the stream's description."""
    mark, description, *other_parts = file.parts
    assert isinstance(description, bytes)
    noises = _parts(extra, 8, _LONGEST_BLOCK, seed)
    only = bool(description[0] & _LAST)
    blocks: list[Piece] = []
    for number, noise in enumerate(noises):
        kind = _APPLICATION | (_LAST if only and number == len(noises) - 1 else 0)
        blocks += [bytes([kind]) + (noise.size + 4).to_bytes(3, "big") + b"fill", noise]
    return [mark, bytes([description[0] & ~_LAST]) + description[1:], *blocks, *other_parts]


def _mp3(file: StrippedFile, extra: int, seed: bytes) -> list[Piece]:
    """A private frame in a tag before the sound."""
    noise = Noise(seed, extra - 22)
    frame = b"PRIV" + _seven_bits(noise.size + 2) + b"\0\0" + b"-\0"
    return [b"ID3\x04\0\0" + _seven_bits(extra - 10) + frame, noise, *file.parts]


def _seven_bits(size: int) -> bytes:
    return bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0))


def _au(file: StrippedFile, extra: int, seed: bytes) -> list[Piece]:
    head, *samples = file.parts
    assert isinstance(head, bytes)
    return [head[:4] + struct.pack(">I", len(head) + extra) + head[8:], Noise(seed, extra), *samples]


def _mp4(file: StrippedFile, extra: int, seed: bytes) -> list[Piece]:
    return [*file.parts, struct.pack(">I4s", extra, b"free"), Noise(seed, extra - 8)]


def _png(file: StrippedFile, extra: int, seed: bytes) -> list[Piece]:
    """A private chunk before the end."""
    noise = Noise(seed, extra - 12)
    check = zlib.crc32(noise.read(0, noise.size), zlib.crc32(b"fiLl"))
    chunk: list[Piece] = [struct.pack(">I4s", noise.size, b"fiLl"), noise, struct.pack(">I", check)]
    return [*file.parts[:-1], *chunk, file.parts[-1]]


def _jpeg(file: StrippedFile, extra: int, seed: bytes) -> list[Piece]:
    """Comments behind the JFIF header, which has to come first."""
    first = 2 if len(file.parts) > 1 and isinstance(file.parts[1], bytes) and file.parts[1][:2] == b"\xff\xe0" else 1
    comments: list[Piece] = []
    for noise in _parts(extra, 4, _LONGEST_SEGMENT, seed):
        comments += [b"\xff\xfe" + struct.pack(">H", noise.size + 2), noise]
    return [*file.parts[:first], *comments, *file.parts[first:]]


def _webp(file: StrippedFile, extra: int, seed: bytes) -> list[Piece]:
    """A chunk that no decoder knows, behind the picture's."""
    head, *chunks = file.parts
    assert isinstance(head, bytes)
    odd = extra % 2
    noise = Noise(seed, extra - odd - 8)
    (size,) = struct.unpack("<I", head[4:8])
    head = head[:4] + struct.pack("<I", size + extra - odd) + head[8:]
    return [head, *chunks, struct.pack("<4sI", b"fill", noise.size), noise, bytes(odd)]


def _behind(file: StrippedFile, extra: int, seed: bytes) -> list[Piece]:
    """Behind the end, which decoders of the other formats do not read beyond."""
    return [*file.parts, Noise(seed, extra)]


_PADDERS: dict[Callable[..., object], Padder] = {
    audio.wav: _wav_or_aiff,
    audio.aiff: _wav_or_aiff,
    audio.flac: _flac,
    frames.mp3: _mp3,
    ogg.ogg: pad_ogg,
    audio.au: _au,
    films.mp4: _mp4,
    images.png: _png,
    images.jpeg: _jpeg,
    images.webp: _webp,
}


def with_padding(
    cleaner: Callable[..., object] | None, data: bytes, parts: Sequence[Piece], size: int, seed: bytes
) -> list[Piece]:
    """The pieces of a file with padding, of ``size`` bytes in all; at least ``SMALLEST`` more than without."""
    extra = size - sum(map(length_of, parts))
    assert extra >= SMALLEST, "less than every format can take"
    padder = _behind if cleaner is None else _PADDERS.get(cleaner, _behind)
    padded = padder(StrippedFile(data=data, parts=list(parts)), extra, seed)
    assert sum(map(length_of, padded)) == size, "the size all files of a set have"
    return padded
