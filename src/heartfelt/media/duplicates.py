"""Near-duplicates of images: the same file, or the same picture saved again at another size, quality or format.

The hash is the difference hash of 256 bits: the image in grey, reduced to 17 x 16, each value compared with its left neighbour. Two
images are near-duplicates if their hashes differ in at most ``HASH_BITS`` bits; a group is everything connected by such pairs. On
OASIS the closest strangers differ in 48 bits, pictures saved again at a third of the quality in at most 17. Mirrored, rotated and
strongly cropped copies are not recognised.

Not every pair is compared. The bits are divided into 17 bands of 15 or 16; two hashes with at most 32 differing bits have a band
in which they differ in at most one, so each hash is compared only with those in the same or a neighbouring bucket of a band
(multi-index hashing, Norouzi, Punjani and Fleet 2012). No pair is missed. Equal hashes, such as those of blank images, are joined
before that and cost nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import HeartfeltError
from heartfelt.media.image import decode_image
from heartfelt.progress import Progress
from heartfelt.stats.triples import Ints

Bits: TypeAlias = npt.NDArray[np.uint8]

HASH_BITS = 32
_SIDE = 16
_BANDS = HASH_BITS // 2 + 1


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Images that are nearly the same."""

    paths: tuple[Path, ...]
    """At least two, in the order they were given."""
    most_bits: int
    """The largest number of bits in which an image differs from the first."""


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """The near-duplicates among some images."""

    groups: tuple[DuplicateGroup, ...]
    """In the order of their first images."""
    images: int
    """How many could be compared."""
    problems: tuple[tuple[Path, str], ...] = ()
    """Images that could not be read, and why."""

    @property
    def extra(self) -> int:
        """Images that would be left out if each group kept one."""
        return sum(len(group.paths) - 1 for group in self.groups)


def image_hash(source: Path | str | bytes) -> Bits:
    """The difference hash of an image, as 32 bytes."""
    from PIL import Image

    grey = decode_image(source).convert("L")
    small = np.asarray(grey.resize((_SIDE + 1, _SIDE), Image.Resampling.LANCZOS), dtype=np.int16)
    return np.packbits((small[:, 1:] > small[:, :-1]).ravel())


def duplicate_groups(hashes: Sequence[Bits | None]) -> Ints:
    """For each hash, the place of the first in its group; one without a hash is a group of its own."""
    groups = np.arange(len(hashes), dtype=np.int64)
    known = np.array([at for at, bits in enumerate(hashes) if bits is not None], dtype=np.int64)
    if known.size < 2:
        return groups
    from heartfelt.media._kernels_pixels import join_close

    unique, first, inverse = np.unique(
        np.stack([bits for bits in hashes if bits is not None]),
        axis=0,
        return_index=True,
        return_inverse=True,
    )
    # In the order given, so that the lowest place is the first of a group.
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    ordered = np.ascontiguousarray(unique[order])
    bits = np.unpackbits(ordered, axis=1).astype(np.int64)
    # Neighbouring bits are alike; a band takes every seventeenth.
    parts = [bits[:, band::_BANDS] for band in range(_BANDS)]
    keys = np.stack([part @ (1 << np.arange(part.shape[1])) for part in parts])
    widths = np.array([part.shape[1] for part in parts], dtype=np.int64)
    lowest = join_close(ordered.view(np.uint64), keys, widths, HASH_BITS)
    groups[known] = known[first[order][lowest[rank[inverse.ravel()]]]]
    return groups


def find_near_duplicates(
    paths: Sequence[Path | str], progress: Progress | None = None, workers: int | None = None
) -> NearDuplicates:
    """The groups of nearly equal images among files; one that cannot be read is listed with its reason."""
    files = [Path(path) for path in paths]
    hashes: list[Bits | None] = []
    problems: list[tuple[Path, str]] = []
    with ThreadPoolExecutor(workers or min(8, os.cpu_count() or 1)) as pool:
        for path, (bits, problem) in zip(files, pool.map(_hashed, files), strict=True):
            hashes.append(bits)
            if problem is not None:
                problems.append((path, problem))
            if progress is not None:
                progress("comparing images", len(hashes), len(files))
    members: dict[int, list[int]] = {}
    for at, first in enumerate(duplicate_groups(hashes).tolist()):
        members.setdefault(first, []).append(at)
    groups = tuple(
        DuplicateGroup(tuple(files[at] for at in group), _most_bits([hashes[at] for at in group]))
        for group in members.values()
        if len(group) > 1
    )
    return NearDuplicates(groups, len(files) - len(problems), tuple(problems))


def _hashed(path: Path) -> tuple[Bits | None, str | None]:
    try:
        return image_hash(path), None
    except HeartfeltError as error:
        return None, error.problem


def _most_bits(hashes: Sequence[Bits | None]) -> int:
    known = np.stack([bits for bits in hashes if bits is not None])
    return int(np.bitwise_count(known ^ known[0]).sum(axis=1).max())
