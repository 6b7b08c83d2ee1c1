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
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import HeartfeltError
from heartfelt.media.images.image import decode_image
from heartfelt.media.images.pixels import MeasuredImage, measure_image
from heartfelt.progress import Progress
from heartfelt.stats.columns.triples import Ints

if TYPE_CHECKING:
    from PIL.Image import Image

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


def image_hash(source: Path | str | bytes | Image) -> Bits:
    """The difference hash of an image (a path, the bytes of a file, or what ``decode_image`` returned), as 32 bytes."""
    from PIL.Image import Resampling

    image = decode_image(source) if isinstance(source, Path | str | bytes) else source
    grey = image.convert("L")
    small = np.asarray(grey.resize((_SIDE + 1, _SIDE), Resampling.LANCZOS), dtype=np.int16)
    return np.packbits((small[:, 1:] > small[:, :-1]).ravel())


def duplicate_groups(hashes: Sequence[Bits | None]) -> Ints:
    """For each hash, the place of the first in its group; one without a hash is a group of its own."""
    groups = np.arange(len(hashes), dtype=np.int64)
    hashed = np.array([at for at, bits in enumerate(hashes) if bits is not None], dtype=np.int64)
    if hashed.size < 2:
        return groups
    from heartfelt.media.images._kernels_pixels import join_close

    unique, first, inverse = np.unique(
        np.stack([bits for bits in hashes if bits is not None]), axis=0, return_index=True, return_inverse=True
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
    groups[hashed] = hashed[first[order][lowest[rank[inverse.ravel()]]]]
    return groups


def find_near_duplicates(
    paths: Sequence[Path | str], progress: Progress | None = None, workers: int | None = None
) -> NearDuplicates:
    """The groups of nearly equal images among files; one that cannot be read is listed with its reason."""
    files, hashes = [Path(path) for path in paths], list[Bits | str]()
    with ThreadPoolExecutor(workers or min(8, os.cpu_count() or 1)) as pool:
        for result in pool.map(_hashed, files):
            hashes.append(result)
            if progress is not None:
                progress("comparing images", len(hashes), len(files))
    return _grouped(files, hashes)


def measure_and_compare(
    paths: Sequence[Path | str], progress: Progress | None = None, workers: int | None = None
) -> tuple[tuple[MeasuredImage, ...], NearDuplicates]:
    """What ``measure_images`` and ``find_near_duplicates`` say of files, with each image decoded once for both."""
    files, results = [Path(path) for path in paths], list[tuple[MeasuredImage, Bits | str]]()
    with ThreadPoolExecutor(workers or min(8, os.cpu_count() or 1)) as pool:
        for result in pool.map(_measured_and_hashed, files):
            results.append(result)
            if progress is not None:
                progress("measuring and comparing images", len(results), len(files))
    return tuple(image for image, _ in results), _grouped(files, [bits for _, bits in results])


def _hashed(path: Path) -> Bits | str:
    """The hash of an image, or why it has none."""
    try:
        return image_hash(path)
    except HeartfeltError as error:
        return error.problem


def _measured_and_hashed(path: Path) -> tuple[MeasuredImage, Bits | str]:
    try:
        image = decode_image(path)
    except HeartfeltError as error:
        return MeasuredImage(path, problem=error.problem), error.problem
    return MeasuredImage(path, measure_image(image)), image_hash(image)


def _grouped(files: Sequence[Path], results: Sequence[Bits | str]) -> NearDuplicates:
    """The groups by the hashes of files, or the reasons why there are none."""
    hashes = [None if isinstance(result, str) else result for result in results]
    problems = [(path, result) for path, result in zip(files, results, strict=True) if isinstance(result, str)]
    members: dict[int, list[int]] = {}
    for at, first in enumerate(duplicate_groups(hashes).tolist()):
        members.setdefault(first, []).append(at)
    groups = tuple(
        DuplicateGroup(tuple(files[at] for at in group), _most_bits([hashes[at] for at in group]))
        for group in members.values()
        if len(group) > 1
    )
    return NearDuplicates(groups, len(files) - len(problems), tuple(problems))


def _most_bits(hashes: Sequence[Bits | None]) -> int:
    present = np.stack([bits for bits in hashes if bits is not None])
    return int(np.bitwise_count(present ^ present[0]).sum(axis=1).max())
