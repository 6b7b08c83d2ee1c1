"""Split-half reliability: how well the means of two random halves of each item's ratings agree.

In each split every item's ratings are dealt into two halves (the odd one to either), the half means are
correlated over the items, and the correlation averaged over splits is stepped up by Spearman-Brown to the
full number of ratings. The step is 2 for equal even counts; in general it is the ratio of the mean error
variances, mean of (1/a + 1/b)/2 over mean of 1/n for halves a and b. Halves are dealt anew for each item, so
raters' levels count as error, as in ICC(1,k) and ICC(2,k).

Range: up to 1; may be negative. Items with one rating are left out and counted. Interval: two-way jackknife
on Fisher's z of the correlation, carried through Spearman-Brown; ``bound_if_careless`` likewise.

Splits are made in two ways with the same numbers: a compiled loop, and NumPy for ratings too few to be worth compiling for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values
from heartfelt.stats.estimate import Estimate, FutureRaters, check_future_raters
from heartfelt.stats.ratings import Ratings, as_ratings
from heartfelt.stats.reliability.spearman_brown import stepped_bound, stepped_up
from heartfelt.stats.reliability.two_way_jackknife import (
    FOR_ALIKE,
    NAME,
    TwoWaySpread,
    attentive_pairs,
    differences_of,
    effective,
    jackknife_variance,
)
from heartfelt.streams import stream

COMPILED_FROM = 400_000
"""Ratings times splits from which compiling pays."""
METHOD = "split-half, Spearman-Brown"


def split_half(
    rater: Ids | Ratings,
    item: Ids = None,
    value: Values = None,
    *,
    splits: int = 100,
    confidence: float = 0.95,
    seed: int = 0,
    future_raters: FutureRaters = "alike",
) -> Estimate:
    """Reliability of the items' mean ratings from random halves of each item's ratings."""
    _bounds.check_confidence(confidence)
    check_future_raters(future_raters)
    if splits < 1:
        raise InputError(f"A split-half reliability needs a split; got splits={splits}.", "Pass splits=100 or more.")
    d = as_ratings(rater, item, value)
    enough = int(np.count_nonzero(d.per_item >= 2))
    counts = d.counts | {"splits": splits}
    if enough < d.per_item.size:
        counts["items_with_one_rating"] = int(d.per_item.size - enough)
    if enough < 3:
        return Estimate.missing(f"{enough} items have two or more ratings; a correlation needs three", METHOD, counts)

    from heartfelt.stats.compiled._kernels_reliability import group

    starts, order = group(d.item, len(d.items))
    sorted_rater, values = d.rater[order], d.value[order] - float(d.value.mean())
    sums = [np.zeros(len(d.items)), np.zeros(len(d.raters)), np.zeros(d.size)]
    rng = stream(seed, "reliability", "split half")
    split = split_compiled if splits * d.size > COMPILED_FROM else split_at_once
    total = split(starts, sorted_rater, values, rng, splits, *sums)
    if total is None:
        return Estimate.missing("a half has no variance over the items", METHOD, counts)
    r, step = total / splits, length_factor(d.per_item)
    full = stepped_up(r, step)
    if not np.isfinite(full):
        return Estimate.missing(f"the halves correlate at {r:.3f}, which cannot be stepped up", METHOD, counts)
    point_estimate = Estimate(value=full, method=METHOD, confidence=confidence, counts=counts)
    bounds = _z_bounds(r, [s / splits for s in sums], d, confidence)
    if isinstance(bounds, str):
        return point_estimate.without_interval(bounds)
    low, high, careless = (float(np.tanh(bound)) for bound in bounds)
    bounded = point_estimate.with_interval(
        stepped_bound(low, step, full), stepped_up(high, step), f"{NAME}, Fisher z, {FOR_ALIKE}", confidence
    )
    stepped_estimate = replace(bounded, bound_if_careless=stepped_bound(careless, step, full))
    return stepped_estimate.for_future_raters(future_raters).informative(-1.0)


def length_factor(per_item: Ints) -> float:
    """How many times longer a full panel is than a half, in terms of mean error variance."""
    n = per_item[per_item >= 2].astype(np.float64)
    a = np.floor(n / 2)
    return float(np.mean((1 / a + 1 / (n - a)) / 2) / np.mean(1 / n))


def _z_bounds(r: float, without: list[Floats], d: Ratings, confidence: float) -> tuple[float, float, float] | str:
    """Bounds of the halves' correlation on Fisher's z and the lower one if some are careless, or why there are none."""
    limit = 1.0 - 1e-12
    if abs(r) >= limit:
        return "the halves agree perfectly"
    on_z = [np.arctanh(np.clip(part, -limit, limit)) for part in without]
    shared = d.per_item >= 2
    used = np.bincount(d.rater[shared[d.item]], minlength=len(d.raters))
    raters = int(np.count_nonzero(used))
    if raters < 3:
        return f"{raters} raters are too few to leave one out"
    # Items with one rating and raters of such items alone change nothing: they are not among the units.
    units = [on_z[0][shared], on_z[1][used > 0], on_z[2][np.repeat(shared, d.per_item)]]
    item_count, rater_count = effective(d.per_item[shared]), effective(used)
    of_items, of_raters, of_ratings = (jackknife_variance(part) for part in units)
    spread = TwoWaySpread(
        items=of_items, raters=of_raters, ratings=of_ratings, item_count=item_count, rater_count=rater_count
    )
    z = float(np.arctanh(r))
    unseen = float(np.arctanh(attentive_pairs(rater_count) * max(r, 0.0)))
    differences, response = differences_of(d), max(r, 0.0) / (1.0 + r)
    half = spread.reach_alike(response, confidence, None, differences.gain, differences.levels * response)
    careless = max(spread.reach_if_careless(max(z - unseen, 0.0) if r > 0 else 0.0, confidence), half)
    return z - half, z + half, z - careless


SPLITS_AT_ONCE = 20


def split_compiled(
    starts: Ints, rater: Ints, value: Floats, rng: np.random.Generator, splits: int, *sums: Floats
) -> float | None:
    """The sum of the halves' correlations over all splits; adds to ``sums`` those without each item, rater and rating.

    None where a half has no variance.
    """
    from heartfelt.stats.compiled._kernels_leaving_out import split_once

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
