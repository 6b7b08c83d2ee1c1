"""Compiled loops that leave out one item, rater or rating at a time: split halves and moment sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.compiled.kernel import SMALL, compiled

Array = Any


@compiled
def _correlation(s: Array) -> float:
    """Pearson correlation from (n, x, y, xx, yy, xy) sums; 2 where it is undefined."""
    n = s[0]
    if n < 3.0:
        return 2.0
    xx = s[3] - s[1] * s[1] / n
    yy = s[4] - s[2] * s[2] / n
    xy = s[5] - s[1] * s[2] / n
    if xx <= 1e-12 * s[3] or yy <= 1e-12 * s[4]:
        return 2.0
    r: float = xy / np.sqrt(xx * yy)
    return r


@compiled
def _pair_sums(count: float, a: float, b: float, out: Array) -> None:
    out[0] = count
    out[1] = count * a
    out[2] = count * b
    out[3] = count * a * a
    out[4] = count * b * b
    out[5] = count * a * b


@compiled
def _deal(starts: Array, value: Array, uniform: Array, half: Array, means: Array, size: Array) -> Array:
    """Deal each item's ratings into two halves; writes their half, the half means and sizes, returns the sums."""
    total = np.zeros(6)
    part = np.empty(6)
    for g in range(starts.size - 1):
        lo, n = starts[g], starts[g + 1] - starts[g]
        if n < 2:
            continue
        for i in range(n):
            half[lo + i] = i
        for i in range(n - 1, 0, -1):
            j = int(uniform[lo + i] * (i + 1))
            half[lo + i], half[lo + j] = half[lo + j], half[lo + i]
        cut = n // 2
        if n % 2 == 1 and uniform[lo] < 0.5:
            cut += 1
        for i in range(lo, lo + n):
            half[i] = 0 if half[i] < cut else 1
            means[g, half[i]] += value[i]
            size[g, half[i]] += 1.0
        means[g, 0] /= size[g, 0]
        means[g, 1] /= size[g, 1]
        _pair_sums(1.0, means[g, 0], means[g, 1], part)
        total += part
    return total


@compiled
def _or(r: float, otherwise: float) -> float:
    return otherwise if r == 2.0 else r


@compiled
def split_once(
    starts: Array, rater: Array, value: Array, uniform: Array, by_item: Array, by_rater: Array, by_rating: Array
) -> float:
    """One random split of each item's ratings; adds the correlation without each item, rater and rating.

    Returns the correlation of the half means (two where there is none).
    """
    items = starts.size - 1
    half = np.empty(rater.size, np.int64)
    means, size = np.zeros((items, 2)), np.zeros((items, 2))
    total = _deal(starts, value, uniform, half, means, size)
    full_correlation = _correlation(total)
    if full_correlation == 2.0:
        return full_correlation
    change = np.zeros((by_rater.size, 6))
    old, part = np.empty(6), np.empty(6)
    for g in range(items):
        lo, hi = starts[g], starts[g + 1]
        if hi - lo < 2:
            by_item[g] += full_correlation
            by_rating[lo:hi] += full_correlation
            continue
        _pair_sums(1.0, means[g, 0], means[g, 1], old)
        by_item[g] += _or(_correlation(total - old), full_correlation)
        for i in range(lo, hi):
            h = half[i]
            remaining = size[g, h] - 1.0
            part[:] = 0.0
            if remaining > 0:
                moved = (means[g, h] * size[g, h] - value[i]) / remaining
                _pair_sums(1.0, means[g, 0] if h == 1 else moved, means[g, 1] if h == 0 else moved, part)
            part -= old
            by_rating[i] += _or(_correlation(total + part), full_correlation)
            change[rater[i]] += part
    for c in range(by_rater.size):
        by_rater[c] += _or(_correlation(total + change[c]), full_correlation)
    return full_correlation


# Columns of the moment sums: ratings, items, cells, sum of squares, item sums^2/n, cell sums^2/n, raters,
# rater sums^2/n, sum of item counts^2, sum of rater counts^2.
SUMS = 10


@compiled
def _square(s: float, n: float) -> float:
    return s * s / n if n > 0 else 0.0


@compiled
def _shorten(level: Array, y: float, row: Array, number: int, squares: int, counts: int) -> None:
    """Take one rating off an item or rater with (count, sum) ``level``, in the columns given."""
    n, s = level[0], level[1]
    if n <= 1.0:
        row[number] -= 1.0
    row[squares] += _square(s - y, n - 1.0) - _square(s, n)
    row[counts] += 1.0 - 2.0 * n


@compiled(interpret_below=SMALL)
def without_ratings(ratings: Array, first: int, last: int) -> Array:
    """The sums without each rating from ``first`` up to ``last``."""
    item_code, rater_code, value, cell_of, item, rater, cell, total = ratings
    out = np.empty((last - first, SUMS))
    for j in range(first, last):
        row = out[j - first]
        row[:] = total
        i, y = item_code[j], value[j]
        c = cell_of[i]
        row[0] -= 1.0
        row[3] -= y * y
        _shorten(item[i], y, row, 1, 4, 8)
        _shorten(rater[rater_code[j]], y, row, 6, 7, 9)
        row[5] += _square(cell[c, 1] - y, cell[c, 0] - 1.0) - _square(cell[c, 1], cell[c, 0])
        if cell[c, 0] <= 1.0:
            row[2] -= 1.0
    return out


@compiled(interpret_below=SMALL)
def without_groups(starts: Array, order: Array, by_rater: bool, ratings: Array) -> Array:
    """The sums without each rater's ratings (``by_rater``) or without each item's.

    ``ratings``: item and rater of each, value, cell of each item, (count, sum) per item, rater and cell,
    and the sums with everything.
    """
    item_code, rater_code, value, cell_of, item, rater, cell, total = ratings
    groups = starts.size - 1
    out = np.empty((groups, SUMS))
    count = np.zeros(cell.shape[0])
    gone = np.zeros(cell.shape[0])
    touched = np.empty(cell.shape[0], np.int64)
    for g in range(groups):
        row = out[g]
        row[:] = total
        used = 0
        for at in range(starts[g], starts[g + 1]):
            j = order[at]
            i, y = item_code[j], value[j]
            c = cell_of[i]
            if count[c] == 0.0:
                touched[used] = c
                used += 1
            count[c] += 1.0
            gone[c] += y
            row[0] -= 1.0
            row[3] -= y * y
            if by_rater:
                _shorten(item[i], y, row, 1, 4, 8)
            else:
                _shorten(rater[rater_code[j]], y, row, 6, 7, 9)
        if by_rater:
            row[6] -= 1.0
            row[7] -= _square(rater[g, 1], rater[g, 0])
            row[9] -= rater[g, 0] ** 2
        else:
            row[1] -= 1.0
            row[4] -= _square(item[g, 1], item[g, 0])
            row[8] -= item[g, 0] ** 2
        for u in range(used):
            c = touched[u]
            remaining = cell[c, 0] - count[c]
            row[5] += _square(cell[c, 1] - gone[c], remaining) - _square(cell[c, 1], cell[c, 0])
            if remaining <= 0:
                row[2] -= 1.0
            count[c] = 0.0
            gone[c] = 0.0
    return out
