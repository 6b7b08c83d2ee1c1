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
from heartfelt.stats.triples import Floats


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
    between = float(sums @ means)
    within = max(float(centred @ centred) - between, 0.0)
    between = max(between - float(centred.sum()) ** 2 / d.size, 0.0)
    df_between, df_within = n.size - 1, d.size - n.size
    n0 = (d.size - float(n @ n) / d.size) / df_between if df_between else float(d.size)
    within = _clean(within, centred)
    return OneWay(
        between / df_between if df_between else 0.0,
        within / df_within if df_within else 0.0,
        df_between,
        df_within,
        n0,
        means + grand,
    )


def two_way(d: Design) -> TwoWay:
    """Two-way analysis of variance of a complete design with at least two items and two raters."""
    n, k = len(d.items), len(d.raters)
    centred = d.value - float(d.value.mean())
    item_sums = np.bincount(d.item, centred, minlength=n)
    rater_sums = np.bincount(d.rater, centred, minlength=k)
    items = float(item_sums @ item_sums) / k
    raters = float(rater_sums @ rater_sums) / n
    residual = _clean(max(float(centred @ centred) - items - raters, 0.0), centred)
    return TwoWay(items / (n - 1), raters / (k - 1), residual / ((n - 1) * (k - 1)), n, k)


def _clean(sum_of_squares: float, centred: Floats) -> float:
    """Rounding residue of a sum of squares that is zero in exact arithmetic."""
    return 0.0 if sum_of_squares <= 1e-13 * float(centred @ centred) * max(1.0, np.log2(centred.size)) else sum_of_squares
