"""Compiled loops that leave out one item, rater or rating at a time: split halves and moment sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = Any


@njit(cache=True)
def _correlation(s: Array) -> float:
    """Pearson correlation from (n, x, y, xx, yy, xy) sums; two stands for none."""
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


@njit(cache=True)
def _pair_sums(count: float, a: float, b: float, out: Array) -> None:
    out[0] = count
    out[1] = count * a
    out[2] = count * b
    out[3] = count * a * a
    out[4] = count * b * b
    out[5] = count * a * b


@njit(cache=True)
def split_once(
    starts: Array,
    rater: Array,
    value: Array,
    uniform: Array,
    by_item: Array,
    by_rater: Array,
    by_rating: Array,
) -> float:
    """One random split of each item's ratings; adds the correlation without each item, rater and rating.

    Returns the correlation of the half means (two where there is none).
    """
    items = starts.size - 1
    place = np.empty(rater.size, np.int64)
    first = np.zeros((items, 2))
    size = np.zeros((items, 2))
    total = np.zeros(6)
    part = np.empty(6)
    for g in range(items):
        lo, n = starts[g], starts[g + 1] - starts[g]
        if n < 2:
            continue
        for i in range(n):
            place[lo + i] = i
        for i in range(n - 1, 0, -1):
            j = int(uniform[lo + i] * (i + 1))
            place[lo + i], place[lo + j] = place[lo + j], place[lo + i]
        cut = n // 2
        if n % 2 == 1 and uniform[lo] < 0.5:
            cut += 1
        for i in range(n):
            half = 0 if place[lo + i] < cut else 1
            place[lo + i] = half
            first[g, half] += value[lo + i]
            size[g, half] += 1.0
        first[g, 0] /= size[g, 0]
        first[g, 1] /= size[g, 1]
        _pair_sums(1.0, first[g, 0], first[g, 1], part)
        total += part
    whole = _correlation(total)
    if whole == 2.0:
        return whole
    change = np.zeros((by_rater.size, 6))
    old = np.empty(6)
    for g in range(items):
        lo, hi = starts[g], starts[g + 1]
        if hi - lo < 2:
            by_item[g] += whole
            for i in range(lo, hi):
                by_rating[i] += whole
            continue
        _pair_sums(1.0, first[g, 0], first[g, 1], old)
        r = _correlation(total - old)
        by_item[g] += whole if r == 2.0 else r
        for i in range(lo, hi):
            half = place[i]
            left = size[g, half] - 1.0
            if left > 0:
                moved = (first[g, half] * size[g, half] - value[i]) / left
                if half == 0:
                    _pair_sums(1.0, moved, first[g, 1], part)
                else:
                    _pair_sums(1.0, first[g, 0], moved, part)
            else:
                part[:] = 0.0
            part -= old
            r = _correlation(total + part)
            by_rating[i] += whole if r == 2.0 else r
            change[rater[i]] += part
    for c in range(by_rater.size):
        r = _correlation(total + change[c])
        by_rater[c] += whole if r == 2.0 else r
    return whole


# Columns of the moment sums: ratings, items, cells, sum of squares, item sums^2/n, cell sums^2/n, raters,
# rater sums^2/n, sum of item counts^2, sum of rater counts^2.
SUMS = 10


@njit(cache=True)
def _square(s: float, n: float) -> float:
    return s * s / n if n > 0 else 0.0


@njit(cache=True)
def _drop(y: float, item: Array, i: int, rater: Array, r: int, out: Array) -> None:
    """Add to ``out`` what leaving one rating out does to the sums, cells apart."""
    n, s = item[i, 0], item[i, 1]
    m, t = rater[r, 0], rater[r, 1]
    out[0] -= 1.0
    out[3] -= y * y
    if n <= 1.0:
        out[1] -= 1.0
    out[4] += _square(s - y, n - 1.0) - _square(s, n)
    out[8] += 1.0 - 2.0 * n
    if m <= 1.0:
        out[6] -= 1.0
    out[7] += _square(t - y, m - 1.0) - _square(t, m)
    out[9] += 1.0 - 2.0 * m


@njit(cache=True)
def without_ratings(
    item_code: Array,
    rater_code: Array,
    value: Array,
    cell_of: Array,
    item: Array,
    rater: Array,
    cell: Array,
    total: Array,
    first: int,
    last: int,
) -> Array:
    """The sums without each rating from ``first`` up to ``last``."""
    out = np.empty((last - first, SUMS))
    for j in range(first, last):
        row = out[j - first]
        row[:] = total
        i, y = item_code[j], value[j]
        c = cell_of[i]
        _drop(y, item, i, rater, rater_code[j], row)
        row[5] += _square(cell[c, 1] - y, cell[c, 0] - 1.0) - _square(cell[c, 1], cell[c, 0])
        if cell[c, 0] <= 1.0:
            row[2] -= 1.0
    return out


@njit(cache=True)
def without_groups(
    starts: Array,
    order: Array,
    by_rater: bool,
    item_code: Array,
    rater_code: Array,
    value: Array,
    cell_of: Array,
    item: Array,
    rater: Array,
    cell: Array,
    total: Array,
) -> Array:
    """The sums without each rater's ratings (``by_rater``) or without each item's."""
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
            r = rater_code[j]
            c = cell_of[i]
            if count[c] == 0.0:
                touched[used] = c
                used += 1
            count[c] += 1.0
            gone[c] += y
            row[0] -= 1.0
            row[3] -= y * y
            if by_rater:
                n, s = item[i, 0], item[i, 1]
                row[4] += _square(s - y, n - 1.0) - _square(s, n)
                row[8] += 1.0 - 2.0 * n
                if n <= 1.0:
                    row[1] -= 1.0
            else:
                n, s = rater[r, 0], rater[r, 1]
                row[7] += _square(s - y, n - 1.0) - _square(s, n)
                row[9] += 1.0 - 2.0 * n
                if n <= 1.0:
                    row[6] -= 1.0
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
            left = cell[c, 0] - count[c]
            row[5] += _square(cell[c, 1] - gone[c], left) - _square(cell[c, 1], cell[c, 0])
            if left <= 0:
                row[2] -= 1.0
            count[c] = 0.0
            gone[c] = 0.0
    return out
