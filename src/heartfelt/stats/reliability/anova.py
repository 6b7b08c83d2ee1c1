"""Mean squares of ratings: between items, between raters, residual, and within items.

Conventions: sums are taken about the grand mean, so large offsets lose no digits. ``n0`` is the effective
number of ratings per item of an unbalanced one-way layout, (N - sum n_i^2 / N) / (items - 1); it equals the
common number when all items have the same.

Source: Searle, Casella & McCulloch, Variance Components (1992), chapter 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.stats.reliability.design import Design
from heartfelt.stats.triples import Floats, Ints


@dataclass(frozen=True, slots=True)
class OneWay:
    """Between and within mean squares of a one-way layout of items."""

    between: float
    within: float
    df_between: int
    df_within: int
    n0: float
    item_means: Floats


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Mean squares of a complete items x raters layout with one rating per cell."""

    items: float
    raters: float
    residual: float
    n: int
    k: int


def one_way(d: Design) -> OneWay:
    """One-way analysis of variance of the items; needs two items and one item with two ratings."""
    grand = float(d.value.mean())
    centred = d.value - grand
    n = d.per_item
    sums = np.bincount(d.item, centred, minlength=n.size)
    means = sums / n
    between = _product(sums, means)
    total = _product(centred, centred)
    within = _clean(max(total - between, 0.0), total, d.size)
    between = max(between - float(centred.sum()) ** 2 / d.size, 0.0)
    df_between, df_within = n.size - 1, d.size - n.size
    n0 = (d.size - _product(n, n) / d.size) / df_between if df_between else float(d.size)
    return OneWay(
        between / df_between if df_between else 0.0,
        within / df_within if df_within else 0.0,
        df_between,
        df_within,
        n0,
        means + grand,
    )


def two_way(d: Design, table: OneWay) -> TwoWay:
    """Two-way analysis of variance of a complete design with two or more items and raters, from its one-way
    table."""
    n, k = len(d.items), len(d.raters)
    within = table.within * table.df_within
    total = table.between * table.df_between + within
    sums = np.bincount(d.rater, d.value - float(d.value.mean()), minlength=k)
    raters = _clean(float(sums @ sums) / n, total, d.size)
    residual = _clean(max(within - raters, 0.0), total, d.size)
    return TwoWay(table.between, raters / (k - 1), residual / ((n - 1) * (k - 1)), n, k)


def _product(a: Floats | Ints, b: Floats | Ints) -> float:
    """Inner product without BLAS, whose threads cost more than the sum; pairwise, so long sums keep their digits."""
    return float((a * b).sum())


def _clean(sum_of_squares: float, total: float, size: int) -> float:
    """A sum of squares, or zero where it is no more than the rounding of the total."""
    return 0.0 if sum_of_squares <= 1e-14 * total * size**0.5 else sum_of_squares
