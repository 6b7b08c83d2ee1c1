"""Squared distances between ratings at each level of measurement, as sums that cost no pairs.

Each level places values so that squared straight-line distance is Krippendorff's difference function:
nominal one axis per category, interval the value itself, ordinal the mid-rank among pairable values, ratio
``((x - y) / (x + y))**2`` along several axes. Sums over all pairs then follow from sums over single ratings.

The ratio level: with ``s = log x`` the difference is ``1 - sech((s - t) / 2)**2``, whose second term is a
positive definite function of ``s - t``. Few distinct values are placed by classical scaling, many by the
cosines and sines of its Fourier integral (trapezoidal rule, which converges geometrically here). Zero lies
at distance one from everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.agreement.grouped import Grouped
from heartfelt.stats.triples import Floats, Ints

LEVELS = ("nominal", "ordinal", "interval", "ratio")

_SCALING_LIMIT = 256
_TAIL = 42.0


@dataclass(frozen=True, slots=True)
class Distances:
    """Per rating: distance to the item's other ratings (``inside``) and to all pairable ones (``across``).

    ``own[:, 3]`` is the distance within what leaves with each rater.
    """

    inside: Floats
    across: Floats
    own: Floats


@dataclass(frozen=True, slots=True)
class Placed:
    """Values as codes and the place of each code; ``scores`` has one column per axis, none when nominal."""

    codes: Ints
    scores: Floats


def place(ratings: Grouped, level: str) -> Placed:
    """Place the values of pairable ratings for a level."""
    if ratings.categories is not None:
        return Placed(ratings.value, np.empty((ratings.categories.count, 0)))
    values, codes = np.unique(ratings.value, return_inverse=True)
    if level == "interval":
        return Placed(codes, _scaled(values)[:, None])
    if level == "ratio":
        return Placed(codes, ratio_axes(values))
    used = np.repeat(ratings.sizes >= 2, ratings.sizes)
    counts = np.bincount(codes[used], minlength=values.size)
    return Placed(codes, midranks(counts)[:, None])


def midranks(counts: Ints) -> Floats:
    """Mid-rank of each value, in ratings, measured from the middle of all."""
    below = np.cumsum(counts) - counts
    ranks: Floats = below + 0.5 * counts - 0.5 * counts.sum()
    return ranks


def distances(ratings: Grouped, level: str, raters: bool) -> Distances:
    """Sum squared distances for every rating, and within raters when ``raters``."""
    from heartfelt.stats import _kernels_agreement as kernels

    n = ratings.value.size
    out = Distances(np.zeros(n), np.zeros(n), np.zeros((len(ratings.raters) if raters else 0, 4)))
    if level == "interval":
        kernels.add_scores(
            ratings.start, ratings.rater, _scaled(ratings.value), out.inside, out.across, out.own
        )
        return out
    placed = place(ratings, level)
    if ratings.categories is not None:
        width = ratings.categories.count
        kernels.add_categories(ratings.start, placed.codes, width, out.inside, out.across)
        if raters:
            item_of = np.repeat(np.arange(ratings.start.size - 1), ratings.sizes)
            starts, order = kernels.order_by(ratings.rater, len(ratings.raters))
            kernels.own_categories(ratings.start, item_of, placed.codes, width, starts, order, out.own)
        return out
    for axis in placed.scores.T:
        z = np.ascontiguousarray(axis)[placed.codes]
        kernels.add_scores(ratings.start, ratings.rater, z, out.inside, out.across, out.own)
    return out


def _scaled(values: Floats) -> Floats:
    """The values, brought near one when their squares would leave the range of floating point."""
    if not values.size:
        return values
    low, high = float(values.min()), float(values.max())
    reach = max(high / 2 - low / 2, 1e-300)
    if 1e-100 < reach < 1e100:
        return values
    scaled: Floats = values / reach - (low / 2 + high / 2) / reach
    return scaled


def ratio_axes(values: Floats) -> Floats:
    """Axes on which squared distance is ``((x - y) / (x + y))**2``, for sorted distinct values from 0 up."""
    if values.size and values[0] < 0:
        raise InputError(
            f"The ratio level needs values from zero up; there is {values[0]:g}.",
            "Use level='interval' for values that can be negative.",
        )
    if values.size <= _SCALING_LIMIT:
        return _scaling_axes(values)
    zero = values[0] == 0
    s = np.log(values[1:] if zero else values)
    s -= 0.5 * (s[0] + s[-1])
    step = 2 * np.pi / (s[-1] - s[0] + _TAIL)
    w = step * np.arange(1, int(np.ceil(_TAIL / np.pi / step)) + 1)
    with np.errstate(over="ignore"):
        weight = 4 * step * w / np.sinh(np.pi * w)
    axes = np.zeros((values.size, 2 * w.size + int(zero)))
    turn = np.outer(s, w)
    # The share at frequency zero moves nothing, and 1 - it is what the squares of the rest add up to.
    axes[int(zero) :, : w.size] = np.sqrt(weight / 2) * np.cos(turn)
    axes[int(zero) :, w.size : 2 * w.size] = np.sqrt(weight / 2) * np.sin(turn)
    if zero:
        axes[0, -1] = np.sqrt(1 - weight.sum() / 2)
    return axes


def _scaling_axes(values: Floats) -> Floats:
    total = values[:, None] + values[None, :]
    total[total == 0] = 1.0
    squared = ((values[:, None] - values[None, :]) / total) ** 2
    means = squared.mean(axis=0)
    inner = -0.5 * (squared - means[:, None] - means[None, :] + means.mean()) if values.size else squared
    size, axes = np.linalg.eigh(inner)
    kept = size > 1e-15 * size.max(initial=0.0)
    placed: Floats = axes[:, kept] * np.sqrt(size[kept])
    return placed
