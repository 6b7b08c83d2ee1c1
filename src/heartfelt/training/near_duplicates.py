"""Stimuli that are nearly the same: the same file, the same picture saved again, the same sound cut or encoded anew.

Three signs, any of which is enough: equal content; pictures whose difference hashes (16 x 16 comparisons of neighbouring grey
values) differ in at most ``HASH_BITS`` of 256 bits; embeddings, each column standardised, with a cosine of at least what the
embedding gives as its ``near_duplicate``. On OASIS the closest strangers differ in 48 bits and have a cosine of .80; pictures saved
again at a third of the quality differ in at most 17 bits, mirrored or cropped ones have a cosine of .85 or more. On AImoclips the
closest strangers have a cosine of .966; the same clip at half the level or as MP3 mostly has .99, without its first
0.3 s .965 or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import HeartfeltError

Ints: TypeAlias = npt.NDArray[np.int64]
Bits: TypeAlias = npt.NDArray[np.uint8]
HASH_BITS = 32
_SIDE = 16
_MOST_STIMULI = 20_000
_BLOCK = 512


def picture_hash(path: Path) -> Bits | None:
    """The difference hash of a picture as 32 bytes; None where it cannot be read."""
    from PIL import Image

    from heartfelt.media.image import decode_image

    try:
        grey = decode_image(path.read_bytes()).convert("L")
    except (HeartfeltError, OSError):
        return None
    small = np.asarray(grey.resize((_SIDE + 1, _SIDE), Image.Resampling.LANCZOS), dtype=np.int16)
    return np.packbits((small[:, 1:] > small[:, :-1]).ravel())


def near_duplicates(
    contents: Sequence[str],
    embedding: npt.NDArray[np.float32],
    cosine: float | None,
    hashes: Sequence[Bits | None] = (),
) -> Ints:
    """A number for each stimulus, the same for those that are nearly the same, over any number of steps."""
    size = len(contents)
    parent = list(range(size))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    def join(one: int, other: int) -> None:
        first, second = sorted((root(one), root(other)))
        parent[second] = first

    seen: dict[str, int] = {}
    for at, content in enumerate(contents):
        join(seen.setdefault(content, at), at)
    for one, other in (*_close_embeddings(embedding, cosine), *_close_hashes(hashes)):
        join(one, other)
    return np.array([root(at) for at in range(size)], dtype=np.int64)


def _close_embeddings(embedding: npt.NDArray[np.float32], cosine: float | None) -> list[tuple[int, int]]:
    size = len(embedding)
    if cosine is None or not 3 <= size <= _MOST_STIMULI:
        return []
    spread = embedding.std(axis=0)
    whole = (embedding - embedding.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0)
    length = np.linalg.norm(whole, axis=1, keepdims=True)
    unit = (whole / np.where(length > 1e-9, length, 1.0)).astype(np.float32)
    out: list[tuple[int, int]] = []
    for start in range(0, size, _BLOCK):
        close = unit[start : start + _BLOCK] @ unit.T >= cosine
        out += [(start + int(one), int(other)) for one, other in zip(*np.nonzero(close), strict=True)]
    return [(one, other) for one, other in out if one < other]


def _close_hashes(hashes: Sequence[Bits | None]) -> list[tuple[int, int]]:
    known = [(at, bits) for at, bits in enumerate(hashes) if bits is not None]
    if not 2 <= len(known) <= _MOST_STIMULI:
        return []
    places = [at for at, _ in known]
    # A bit that differs lowers the product of +1 and -1 by two.
    signs = np.unpackbits(np.stack([bits for _, bits in known]), axis=1).astype(np.float32) * 2 - 1
    out: list[tuple[int, int]] = []
    for start in range(0, len(known), _BLOCK):
        apart = (signs.shape[1] - signs[start : start + _BLOCK] @ signs.T) / 2
        for one, other in zip(*np.nonzero(apart <= HASH_BITS), strict=True):
            if start + int(one) < int(other):
                out.append((places[start + int(one)], places[int(other)]))
    return out
