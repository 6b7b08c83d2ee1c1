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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.agreement.grouped import Grouped
from heartfelt.stats.columns.triples import Floats, Ints, code

LEVELS = ("nominal", "ordinal", "interval", "ratio")

_SCALING_LIMIT = 256
_TAIL = 42.0


@dataclass(frozen=True, slots=True)
class RatingDistances:
    """Per rating: distance to the item's other ratings (``inside``) and to all pairable ones (``across``).

    ``by_rater[:, 3]`` is the distance within what leaves with each rater.
    """

    inside: Floats
    across: Floats
    by_rater: Floats


def placed(ratings: Grouped, level: str) -> tuple[Ints, Floats]:
    """Values as codes, and the place of each code for a level: one column per axis, none when nominal."""
    if ratings.categories is not None:
        return ratings.value, np.empty((ratings.categories.count, 0))
    values, codes = _distinct(ratings.value)
    if level == "interval":
        return codes, _scaled(values)[:, None]
    if level == "ratio":
        return codes, np.column_stack([*ratio_axes(values), np.zeros(values.size)])
    used = np.repeat(ratings.sizes >= 2, ratings.sizes)
    return codes, midranks(np.bincount(codes[used], minlength=values.size))[:, None]


def midranks(counts: Ints) -> Floats:
    """Mid-rank of each value, in ratings, measured from the middle of all."""
    return np.asarray(np.cumsum(counts) - 0.5 * counts - 0.5 * counts.sum())


def distances(ratings: Grouped, level: str, raters: bool) -> RatingDistances:
    """Sum squared distances for every rating, and within raters when ``raters``."""
    from heartfelt.stats.agreement.kernels import _kernels_agreement as kernels

    n = ratings.value.size
    out = RatingDistances(np.zeros(n), np.zeros(n), np.zeros((len(ratings.raters) if raters else 0, 4)))
    if level == "interval":
        kernels.add_scores(ratings.start, ratings.rater, _scaled(ratings.value), out.inside, out.across, out.by_rater)
        return out
    if ratings.categories is not None:
        width = ratings.categories.count
        kernels.add_categories(ratings.start, ratings.value, width, out.inside, out.across)
        if raters:
            taken_rater, taken_code = kernels.votes_leaving(ratings.start, ratings.rater, ratings.value)
            out.by_rater[:, 3] = _unequal(taken_rater, taken_code, len(ratings.raters), width)
        return out
    axes: Iterable[Floats]
    if level == "ordinal":
        codes, scores = placed(ratings, level)
        axes = scores.T
    else:
        values, codes = _distinct(ratings.value)
        axes = ratio_axes(values)
    for axis in axes:
        kernels.add_scores(ratings.start, ratings.rater, axis[codes], out.inside, out.across, out.by_rater)
    return out


def _unequal(rater: Ints, code: Ints, people: int, width: int) -> Floats:
    """Ordered pairs of unequal categories within each rater's set."""
    total = np.bincount(rater, minlength=people).astype(np.float64)
    if people * width <= 4 * rater.size + 1024:
        cells = np.bincount(rater * width + code, minlength=people * width).reshape(people, width)
        same = np.square(cells, dtype=np.float64).sum(axis=1)
    else:
        kinds, times = np.unique(rater * width + code, return_counts=True)
        same = np.bincount(kinds // width, weights=np.square(times, dtype=np.float64), minlength=people)
    return np.asarray(total**2 - same)


def _distinct(values: Floats) -> tuple[Floats, Ints]:
    """Distinct values in order and the code of each rating; whole numbers of small span cost no sorting."""
    low, high = (values.min(), values.max()) if values.size else (0.0, 0.0)
    if high - low < 4 * values.size and max(-low, high) < 2**52:
        integers = values.astype(np.int64)
        if (integers == values).all():
            coded = code(integers)
            return np.asarray(coded.names, dtype=np.float64), coded.codes
    distinct, codes = np.unique(values, return_inverse=True)
    return distinct, codes.astype(np.int64, copy=False)


def _scaled(values: Floats) -> Floats:
    """The values, brought near one when their squares would leave the range of floating point."""
    if not values.size:
        return values
    low, high = float(values.min()), float(values.max())
    reach = max(high / 2 - low / 2, 1e-300)
    if 1e-100 < reach < 1e100:
        return values
    return np.asarray(values / reach - (low / 2 + high / 2) / reach)


def ratio_axes(values: Floats) -> Iterator[Floats]:
    """Axes on which squared distance is ``((x - y) / (x + y))**2``, for sorted distinct values from 0 up."""
    if values.size and values[0] < 0:
        raise InputError(
            f"The ratio level needs values from zero up; there is {values[0]:g}.",
            "Use level='interval' for values that can be negative.",
        )
    yield from _scaling_axes(values) if values.size <= _SCALING_LIMIT else _wave_axes(values)


def _wave_axes(values: Floats) -> Iterator[Floats]:
    zero = int(values[0] == 0)
    s = np.log(values[zero:])
    s -= 0.5 * (s[0] + s[-1])
    # The sum repeats itself with this period: the values' own span and room in which the kernel has died away.
    step = 2 * np.pi / (s[-1] - s[0] + _TAIL)
    w = step * np.arange(1, int(np.ceil(_TAIL / np.pi / step)) + 1)
    weight = 4 * step * w / np.sinh(np.pi * w)
    for frequency, height in zip(w, np.sqrt(weight / 2), strict=True):
        for wave in (np.cos, np.sin):
            axis = np.zeros(values.size)
            axis[zero:] = height * wave(frequency * s)
            yield axis
    if zero:
        # Half the weights is how far every other value lies from the origin, where zero stands so far.
        axis = np.zeros(values.size)
        axis[0] = np.sqrt(1 - weight.sum() / 2)
        yield axis


def _scaling_axes(values: Floats) -> Iterator[Floats]:
    total = values[:, None] + values[None, :]
    total[total == 0] = 1.0
    squared = ((values[:, None] - values[None, :]) / total) ** 2
    means = squared.mean(axis=0)
    inner = -0.5 * (squared - means[:, None] - means[None, :] + means.mean()) if values.size else squared
    size, axes = np.linalg.eigh(inner)
    positive = size > 1e-15 * size.max(initial=0.0)
    yield from np.ascontiguousarray((axes[:, positive] * np.sqrt(size[positive])).T)
