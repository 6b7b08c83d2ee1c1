"""Compiled loops of the informativeness rule: does a rater's block of answers depend on what was played?"""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.compiled._kernels_resample import below
from heartfelt.stats.compiled.kernel import compiled


@compiled
def strength(y: Any, x: Any, permutation: Any, cross: bool) -> float:
    """Sum of squared products of answer columns with prediction columns; without ``cross``, of matching columns only."""
    trials, width = y.shape
    total = 0.0
    for c in range(width):
        for d in range(width):
            if c != d and not cross:
                continue
            product = 0.0
            for t in range(trials):
                product += y[t, c] * x[permutation[t], d]
            total += product * product
    return total


@compiled
def count_as_strong(y: Any, x: Any, order: Any, start: Any, cross: bool, draws: int, seed: int) -> int:
    """How many of ``draws`` shuffles within strata are as strong as the pairing observed.

    ``order`` sorts trials by stratum, and ``start[i]`` is where the stratum of ``order[i]`` begins in it.
    """
    permutation = np.arange(order.size)
    observed = strength(y, x, permutation, cross)
    state = np.uint64(seed)
    count = 0
    for _ in range(draws):
        first = 0
        while first < order.size:
            end = first
            while end < order.size and start[end] == first:
                end += 1
            for i in range(end - 1, first, -1):
                state, j = below(state, i - first + 1)
                j += first
                permutation[order[i]], permutation[order[j]] = permutation[order[j]], permutation[order[i]]
            first = end
        if strength(y, x, permutation, cross) >= observed * (1.0 - 1e-12):
            count += 1
    return count
