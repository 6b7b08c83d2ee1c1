"""Random halves of each item's ratings, and their correlation without each item, rater and rating.

Two ways to the same numbers: a compiled loop over the splits, and NumPy for ratings too few to be worth compiling for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from heartfelt.stats.triples import Floats, Ints

SPLITS_AT_ONCE = 20


def split_compiled(
    starts: Ints, rater: Ints, value: Floats, rng: np.random.Generator, splits: int, *sums: Floats
) -> float | None:
    """The sum of the halves' correlations over all splits; adds to ``sums`` those without each item, rater and rating.

    None where a half has no variance.
    """
    from heartfelt.stats._kernels_leaving_out import split_once

    total = 0.0
    for _ in range(splits):
        r = split_once(starts, rater, value, rng.random(value.size), *sums)
        if r == 2.0:
            return None
        total += r
    return total


def split_at_once(
    starts: Ints, rater: Ints, value: Floats, rng: np.random.Generator, splits: int, *sums: Floats
) -> float | None:
    """The same by NumPy, a batch of splits at a time: for ratings too few to be worth compiling for."""
    by_item, by_rater, by_rating = sums
    total = 0.0
    for first in range(0, splits, SPLITS_AT_ONCE):
        count = min(SPLITS_AT_ONCE, splits - first)
        full_correlation, without = _leave_out(starts, rater, value, rng.random((count, value.size)), by_rater.size)
        if np.isnan(full_correlation).any():
            return None
        for part, into in zip(without, (by_item, by_rater, by_rating), strict=True):
            into += np.where(np.isnan(part), full_correlation[:, None], part).sum(0)
        total += float(full_correlation.sum())
    return total


def _leave_out(
    starts: Ints, rater: Ints, value: Floats, uniform: Floats, raters: int
) -> tuple[Floats, tuple[Floats, ...]]:
    """Per split: the halves' correlation, and the correlations without each item, rater and rating (NaN if undefined)."""
    sizes = np.diff(starts)
    item = np.repeat(np.arange(sizes.size), sizes)
    half = _deal(starts, sizes, uniform)
    splits, rows = uniform.shape[0], np.arange(uniform.shape[0])[:, None]
    cell = (rows * sizes.size + item) * 2 + half
    shape = (splits, sizes.size, 2)
    size = np.bincount(cell.ravel(), minlength=splits * sizes.size * 2).reshape(shape).astype(np.float64)
    added = np.bincount(cell.ravel(), np.tile(value, splits), splits * sizes.size * 2).reshape(shape)
    shared = sizes >= 2
    means = np.divide(added, size, out=np.zeros(shape), where=size > 0)
    old = _pair_sums(means[..., 0], means[..., 1], shared)
    total = old.sum(1)
    full_correlation = _correlation(total)
    # Each rating's half without it; an item whose half it was alone leaves with it.
    own_mean = np.take_along_axis(means[:, item], half[..., None], 2)[..., 0]
    own_size = np.take_along_axis(size[:, item], half[..., None], 2)[..., 0]
    remaining = own_size - 1.0
    moved = np.divide(own_mean * own_size - value, remaining, out=np.zeros(remaining.shape), where=remaining > 0)
    a = np.where(half == 0, moved, means[:, item, 0])
    b = np.where(half == 1, moved, means[:, item, 1])
    change = _pair_sums(a, b, shared[item] & (remaining > 0)) - old[:, item]
    slot = (rows * raters + rater).ravel()
    per_rater = [np.bincount(slot, part.ravel(), splits * raters) for part in np.moveaxis(change, -1, 0)]
    by_rater = np.stack(per_rater, axis=-1).reshape(splits, raters, 6)
    everything = total[:, None]
    return full_correlation, tuple(_correlation(everything + part) for part in (-old, by_rater, change))


def _deal(starts: Ints, sizes: Ints, uniform: Floats) -> Ints:
    """Deal each item's ratings into halves 0 and 1, one row per split, as the compiled loop does."""
    splits = len(uniform)
    position = np.tile(np.arange(uniform.shape[1]) - np.repeat(starts[:-1], sizes), (splits, 1))
    rows = np.arange(splits)[:, None]
    for i in range(int(sizes.max(initial=0)) - 1, 0, -1):
        low = starts[:-1][sizes > i]
        partner = low + (uniform[:, low + i] * (i + 1)).astype(np.int64)
        saved = position[:, low + i]
        position[:, low + i] = position[rows, partner]
        position[rows, partner] = saved
    at = np.minimum(starts[:-1], max(uniform.shape[1] - 1, 0))
    cut = sizes // 2 + ((sizes % 2 == 1) & (uniform[:, at] < 0.5))
    return np.where(position < np.repeat(cut, sizes, axis=1), 0, 1)


def _pair_sums(a: Floats, b: Floats, counted: npt.NDArray[np.bool_]) -> Floats:
    """Count, sums, squares and products of pairs of half means; zeros where a pair is not counted."""
    return np.stack([np.ones_like(a), a, b, a * a, b * b, a * b], axis=-1) * counted[..., None]


def _correlation(sums: Floats) -> Floats:
    """Pearson correlations from (n, x, y, xx, yy, xy) sums; NaN where it is undefined."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    n = np.maximum(n, 1.0)
    of_x, of_y = xx - x * x / n, yy - y * y / n
    defined = (sums[..., 0] >= 3.0) & (of_x > 1e-12 * xx) & (of_y > 1e-12 * yy)
    scale = np.sqrt(np.where(defined, of_x * of_y, 1.0))
    return np.where(defined, (xy - x * y / n) / scale, np.nan)
