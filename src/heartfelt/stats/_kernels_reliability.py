"""Compiled loops of the reliability statistics. Ratings come sorted by item or rater (``starts`` marks the
groups)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = Any


@njit(cache=True)
def group(codes: Array, count: int) -> tuple[Array, Array]:
    """Starts of each group and the order that sorts ratings by group, keeping the order within one."""
    starts = np.zeros(count + 1, np.int64)
    for c in codes:
        starts[c + 1] += 1
    for g in range(count):
        starts[g + 1] += starts[g]
    fill = starts[:-1].copy()
    order = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        c = codes[i]
        order[fill[c]] = i
        fill[c] += 1
    return starts, order


@njit(cache=True)
def repeated_pairs(starts: Array, order: Array, other: Array, count: int) -> tuple[int, int]:
    """How many ratings repeat a (group, other) pair, and where the first of them stands."""
    seen = np.full(count, -1, np.int64)
    repeats, first = 0, -1
    for g in range(starts.size - 1):
        for i in range(starts[g], starts[g + 1]):
            c = other[order[i]]
            if seen[c] == g:
                repeats += 1
                if first < 0:
                    first = order[i]
            seen[c] = g
    return repeats, first


@njit(cache=True)
def level_lists(starts: Array, small: Array, fixed: Array, q: int, p: int) -> tuple[Array, Array, Array]:
    """For each group its levels on the other side (weight 1) and its distinct fixed effects (weight =
    ratings)."""
    bounds = np.zeros(starts.size, np.int64)
    levels = np.empty(2 * small.size, np.int64)
    weights = np.empty(2 * small.size, np.float64)
    slot = np.full(p, -1, np.int64)
    at = 0
    for g in range(starts.size - 1):
        for i in range(starts[g], starts[g + 1]):
            levels[at] = small[i]
            weights[at] = 1.0
            at += 1
        head = at
        for i in range(starts[g], starts[g + 1]):
            f = fixed[i]
            if slot[f] < head:
                slot[f] = at
                levels[at] = q + f
                weights[at] = 0.0
                at += 1
            weights[slot[f]] += 1.0
        bounds[g + 1] = at
    return bounds, levels[:at].copy(), weights[:at].copy()


@njit(cache=True)
def pairs_add(bounds: Array, levels: Array, weights: Array, scale: Array, out: Array) -> None:
    """``out += sum_g scale[g] m_g m_g'`` on and below the diagonal, m_g the level counts of group g."""
    for g in range(bounds.size - 1):
        s = scale[g]
        if s == 0.0:
            continue
        for i in range(bounds[g], bounds[g + 1]):
            a, wa = levels[i], s * weights[i]
            for j in range(bounds[g], i + 1):
                b = levels[j]
                if a >= b:
                    out[a, b] += wa * weights[j]
                else:
                    out[b, a] += wa * weights[j]


@njit(cache=True)
def pairs_sum(
    bounds: Array, levels: Array, weights: Array, scale: Array, matrix: Array, root: Array
) -> float:
    """``sum_g scale[g] m_g' R M R m_g`` for a symmetric matrix given on and below its diagonal."""
    total = 0.0
    for g in range(bounds.size - 1):
        part = 0.0
        for i in range(bounds[g], bounds[g + 1]):
            a = levels[i]
            wa = weights[i] * root[a]
            for j in range(bounds[g], i):
                b = levels[j]
                entry = matrix[a, b] if a >= b else matrix[b, a]
                part += 2.0 * wa * weights[j] * root[b] * entry
            part += wa * wa * matrix[a, a]
        total += scale[g] * part
    return total


@njit(cache=True)
def add_ones(small: Array, fixed: Array, q: int, out: Array) -> None:
    """``out += Z'Z`` on and below the diagonal, for one small level and one fixed effect per rating."""
    for i in range(small.size):
        s, f = small[i], q + fixed[i]
        out[s, s] += 1.0
        out[f, f] += 1.0
        out[f, s] += 1.0


@njit(cache=True)
def gather(small: Array, fixed: Array, f: Array, q: int, m: int) -> Array:
    """``Z'f``: sums of f per small level and per fixed effect."""
    out = np.zeros(m)
    for i in range(small.size):
        out[small[i]] += f[i]
        out[q + fixed[i]] += f[i]
    return out


@njit(cache=True)
def group_sums(starts: Array, f: Array) -> Array:
    """Sums of f per group."""
    out = np.zeros(starts.size - 1)
    for g in range(starts.size - 1):
        s = 0.0
        for i in range(starts[g], starts[g + 1]):
            s += f[i]
        out[g] = s
    return out


@njit(cache=True)
def shrink(starts: Array, f: Array, factor: Array) -> Array:
    """``Wf``: f less ``factor[g]`` times its group sum."""
    out = np.empty(f.size)
    for g in range(starts.size - 1):
        s = 0.0
        for i in range(starts[g], starts[g + 1]):
            s += f[i]
        s *= factor[g]
        for i in range(starts[g], starts[g + 1]):
            out[i] = f[i] - s
    return out


@njit(cache=True)
def fitted(small: Array, fixed: Array, coefficients: Array, q: int) -> Array:
    """``Z x`` per rating."""
    out = np.empty(small.size)
    for i in range(small.size):
        out[i] = coefficients[small[i]] + coefficients[q + fixed[i]]
    return out


@njit(cache=True)
def spread(starts: Array, per_group: Array) -> Array:
    """A group's number for each of its ratings."""
    out = np.empty(starts[-1])
    for g in range(starts.size - 1):
        for i in range(starts[g], starts[g + 1]):
            out[i] = per_group[g]
    return out


@njit(cache=True)
def system_product(
    starts: Array, small: Array, fixed: Array, factor: Array, root: Array, q: int, x: Array
) -> Array:
    """The mixed-model system (after elimination of the groups) times each column of x."""
    m, k = x.shape
    out = np.zeros((m, k))
    sums = np.empty(k)
    for g in range(starts.size - 1):
        sums[:] = 0.0
        for i in range(starts[g], starts[g + 1]):
            s, f = small[i], q + fixed[i]
            for c in range(k):
                sums[c] += root[s] * x[s, c] + root[f] * x[f, c]
        for i in range(starts[g], starts[g + 1]):
            s, f = small[i], q + fixed[i]
            for c in range(k):
                value = root[s] * x[s, c] + root[f] * x[f, c] - factor[g] * sums[c]
                out[s, c] += value
                out[f, c] += value
    for a in range(m):
        for c in range(k):
            out[a, c] *= root[a]
            if a < q:
                out[a, c] += x[a, c]
    return out


@njit(cache=True)
def level_forms(
    bounds: Array, levels: Array, weights: Array, scale: Array, root: Array, left: Array, right: Array
) -> Array:
    """``left' R (sum_g scale[g] m_g m_g') R right`` for each column."""
    k = left.shape[1]
    out = np.zeros(k)
    for g in range(bounds.size - 1):
        for c in range(k):
            a = 0.0
            b = 0.0
            for i in range(bounds[g], bounds[g + 1]):
                w = weights[i] * root[levels[i]]
                a += w * left[levels[i], c]
                b += w * right[levels[i], c]
            out[c] += scale[g] * a * b
    return out


@njit(cache=True)
def inverse_of_factor(chol: Array) -> Array:
    """Lower triangle of (L L')^-1 from the lower triangle of L, by row operations that vectorise."""
    m = chol.shape[0]
    x = np.zeros((m, m))
    for i in range(m):
        x[i, i] = 1.0
        for k in range(i):
            f = chol[i, k]
            for j in range(k + 1):
                x[i, j] -= f * x[k, j]
        d = 1.0 / chol[i, i]
        for j in range(i + 1):
            x[i, j] *= d
    out = np.zeros((m, m))
    for k in range(m):
        for a in range(k + 1):
            f = x[k, a]
            for j in range(a + 1):
                out[a, j] += f * x[k, j]
    return out


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
