"""Compiled loops of permutation tests.

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
