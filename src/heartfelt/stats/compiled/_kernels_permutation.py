"""Compiled loops of permutation tests.

Generators are SplitMix64, seeded from a named stream; shuffles are Fisher-Yates. Statistics that two arrangements share
count as equal when they differ by less than ``slack``, so that rounding cannot decide a p-value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.compiled._kernels_resample import _GOLDEN, below, concordance, mix
from heartfelt.stats.compiled.kernel import compiled


@compiled
def _pick(pool: Any, i: int, end: int, state: Any) -> Any:
    """Swap a random one of the entries from ``i`` up to ``end`` into place ``i``; the generator's next state and the entry."""
    state, step = below(state, end - i)
    picked = pool[i + step]
    pool[i + step] = pool[i]
    pool[i] = picked
    return state, picked


@compiled
def shuffle_sums(values: Floats, size: int, resamples: int, state: Any) -> Floats:
    """Per random division: sum and sum of squares of the first ``size`` values."""
    pool = values.copy()
    out = np.empty((resamples, 2))
    for r in range(resamples):
        total, squares = 0.0, 0.0
        for i in range(size):
            state, picked = _pick(pool, i, pool.size, state)
            total += picked
            squares += picked * picked
        out[r, 0], out[r, 1] = total, squares
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
                # One random word serves 64 signs.
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
            for i in range(starts[block], starts[block + 1]):
                state, picked = _pick(pool, i, starts[block + 1], state)
                total += picked * x[i]
        out[r] = total
    return out


@compiled
def shuffle_matches(label: Ints, answer: Ints, weight: Floats, starts: Ints, resamples: int, state: Any) -> Floats:
    """Per shuffle of the answers within blocks: the summed weight of the labels they equal. Rows are sorted by block."""
    pool = answer.copy()
    out = np.empty(resamples)
    for r in range(resamples):
        total = 0.0
        for block in range(starts.size - 1):
            for i in range(starts[block], starts[block + 1]):
                state, picked = _pick(pool, i, starts[block + 1], state)
                if picked == label[i]:
                    total += weight[label[i]]
        out[r] = total
    return out


@compiled
def shuffle_concordance(rank: Ints, order: Ints, starts: Ints, resamples: int, state: Any) -> Floats:
    """Per shuffle of y's places: concordant minus discordant pairs. ``order`` and ``starts`` sort rows by x."""
    pool, scores = rank.copy(), np.zeros(rank.size, np.int64)
    rank_count = pool.max() + 1
    out = np.empty(resamples)
    for r in range(resamples):
        for i in range(pool.size - 1):
            state, _ = _pick(pool, i, pool.size, state)
        out[r] = concordance(order, starts, pool, rank_count, False, scores)
    return out
