"""Compiled loops of mixed models and permutation tests.

Generators are SplitMix64, seeded from a named stream; shuffles are Fisher-Yates. Statistics that two
arrangements share count as equal when they differ by less than ``slack``, so that rounding cannot decide a
p-value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats._kernels_resample import _GOLDEN, _HALF, compiled, mix
from heartfelt.stats.triples import Floats, Ints


@compiled
def add_rows(codes: Ints, rows: Floats, out: Floats) -> None:
    """Add each row to the row of ``out`` its code names."""
    for i in range(codes.size):
        place = codes[i]
        for k in range(rows.shape[1]):
            out[place, k] += rows[i, k]


@compiled
def gram(starts: Ints, columns: Ints, values: Floats, dense: Floats, weights: Floats, out: Floats) -> None:
    """Add the weighted sum of ``b b'`` over levels to the lower triangle of ``out``.

    A level's b is sparse (``columns`` and ``values`` from ``starts``) followed by its row of ``dense``.
    """
    width = dense.shape[1]
    first = out.shape[0] - width
    for level in range(starts.size - 1):
        weight = weights[level]
        if weight == 0.0:
            continue
        begin, end = starts[level], starts[level + 1]
        for i in range(begin, end):
            scaled = weight * values[i]
            row = columns[i]
            for j in range(begin, i + 1):
                out[row, columns[j]] += scaled * values[j]
        for k in range(width):
            scaled = weight * dense[level, k]
            if scaled == 0.0:
                continue
            for j in range(begin, end):
                out[first + k, columns[j]] += scaled * values[j]
            for m in range(k + 1):
                out[first + k, first + m] += scaled * dense[level, m]


@compiled
def factor_upper(matrix: Floats) -> bool:
    """Turn the upper triangle of a symmetric matrix into its Cholesky factor in place; False if it has
    none.
    """
    order = matrix.shape[0]
    for k in range(order):
        if not matrix[k, k] > 0.0:
            return False
        pivot = np.sqrt(matrix[k, k])
        for j in range(k, order):
            matrix[k, j] /= pivot
        for i in range(k + 1, order):
            scale = matrix[k, i]
            for j in range(i, order):
                matrix[i, j] -= scale * matrix[k, j]
    return True


@compiled
def inverse_of_factor(factor: Floats, order: int) -> Floats:
    """The inverse of the leading block whose upper Cholesky factor is given."""
    turned = np.zeros((order, order))
    for i in range(order - 1, -1, -1):
        for k in range(i + 1, order):
            scale = factor[i, k]
            for j in range(k, order):
                turned[i, j] -= scale * turned[k, j]
        turned[i, i] = 1.0
        for j in range(i, order):
            turned[i, j] /= factor[i, i]
    columns = turned.T.copy()
    out = np.zeros((order, order))
    for i in range(order):
        for k in range(i, order):
            scale = turned[i, k]
            for j in range(k + 1):
                out[i, j] += scale * columns[k, j]
    return out


@compiled
def _below(state: Any, bound: int) -> Any:
    return np.int64(((mix(state) >> _HALF) * np.uint64(bound)) >> _HALF)


@compiled
def shuffle_sums(values: Floats, size: int, resamples: int, state: Any) -> Floats:
    """Per random division: sum and sum of squares of the first ``size`` values."""
    n = values.size
    pool = values.copy()
    out = np.empty((resamples, 2))
    for r in range(resamples):
        total, squares = 0.0, 0.0
        for i in range(size):
            state += _GOLDEN
            j = i + _below(state, n - i)
            picked = pool[j]
            pool[j] = pool[i]
            pool[i] = picked
            total += picked
            squares += picked * picked
        out[r, 0] = total
        out[r, 1] = squares
    return out


@compiled
def flip_sums(values: Floats, resamples: int, state: Any) -> Floats:
    """Per random choice of signs: the sum of the values."""
    out = np.empty(resamples)
    for r in range(resamples):
        total = 0.0
        bits = np.uint64(0)
        for i in range(values.size):
            if i % 64 == 0:
                state += _GOLDEN
                bits = mix(state)
            total += values[i] if bits & np.uint64(1) else -values[i]
            bits >>= np.uint64(1)
        out[r] = total
    return out


@compiled
def all_flip_sums(values: Floats) -> Floats:
    """The sum of the values under every choice of signs."""
    count = 1 << values.size
    out = np.empty(count)
    for mask in range(count):
        total = 0.0
        for i in range(values.size):
            total += values[i] if (mask >> i) & 1 else -values[i]
        out[mask] = total
    return out


@compiled
def shuffle_products(x: Floats, y: Floats, starts: Ints, resamples: int, state: Any) -> Floats:
    """Per shuffle of y within blocks: the sum of products with x. Rows are sorted by block."""
    pool = y.copy()
    out = np.empty(resamples)
    for r in range(resamples):
        total = 0.0
        for block in range(starts.size - 1):
            begin, end = starts[block], starts[block + 1]
            for i in range(begin, end):
                state += _GOLDEN
                j = i + _below(state, end - i)
                picked = pool[j]
                pool[j] = pool[i]
                pool[i] = picked
                total += picked * x[i]
        out[r] = total
    return out


@compiled
def shuffle_concordance(place: Ints, order: Ints, starts: Ints, resamples: int, state: Any) -> Floats:
    """Per shuffle of y's places: concordant minus discordant pairs. ``order`` and ``starts`` sort rows by
    x.
    """
    pool = place.copy()
    n = pool.size
    places = 0
    for i in range(n):
        places = max(places, pool[i] + 1)
    out = np.empty(resamples)
    tree, same = np.zeros(places + 1, np.int64), np.zeros(places, np.int64)
    for r in range(resamples):
        for i in range(n - 1):
            state += _GOLDEN
            j = i + _below(state, n - i)
            picked = pool[j]
            pool[j] = pool[i]
            pool[i] = picked
        tree[:] = 0
        same[:] = 0
        net, total = 0, 0
        for g in range(starts.size - 1):
            for k in range(starts[g], starts[g + 1]):
                p = pool[order[k]]
                node = p
                less = 0
                while node > 0:
                    less += tree[node]
                    node &= node - 1
                net += 2 * less + same[p] - total
            for k in range(starts[g], starts[g + 1]):
                p = pool[order[k]]
                same[p] += 1
                total += 1
                node = p + 1
                while node <= places:
                    tree[node] += 1
                    node += node & -node
        out[r] = net
    return out
