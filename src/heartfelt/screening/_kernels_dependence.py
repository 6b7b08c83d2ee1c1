"""Compiled loops of the informativeness rule: does a rater's block of answers depend on what was played?"""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats._kernels_resample import below, compiled

CROSS_LIMIT = 4
BEYOND_DOUBT = 8.0
"""Standard errors of the matching sum from which no shuffle in a million comes near, so none is drawn."""


@compiled
def standardise(block: Any, seen: Any) -> Any:
    """Centre each column over its seen entries and scale it to length 1, in place; which columns vary."""
    trials, width = block.shape
    varies = np.zeros(width, dtype=np.bool_)
    for c in range(width):
        n, total = 0, 0.0
        for t in range(trials):
            if seen[t, c]:
                n += 1
                total += block[t, c]
        if n < 3:
            continue
        mean, square = total / n, 0.0
        for t in range(trials):
            if seen[t, c]:
                square += (block[t, c] - mean) ** 2
        if square <= 1e-12 * max(1.0, mean * mean * n):
            continue
        varies[c] = True
        scale = 1.0 / np.sqrt(square)
        for t in range(trials):
            block[t, c] = (block[t, c] - mean) * scale if seen[t, c] else 0.0
    return varies


@compiled
def moments(y: Any, x: Any, stratum: Any, strata: int) -> Any:
    """Mean and variance of the sum of column products when trials are permuted within strata."""
    trials, width = y.shape
    mean, variance = 0.0, 0.0
    for g in range(strata):
        n = 0
        for t in range(trials):
            if stratum[t] == g:
                n += 1
        my, mx = np.zeros(width), np.zeros(width)
        for t in range(trials):
            if stratum[t] == g:
                for c in range(width):
                    my[c] += y[t, c] / n
                    mx[c] += x[t, c] / n
        for c in range(width):
            mean += n * my[c] * mx[c]
        if n < 2:
            continue
        for c in range(width):
            for d in range(width):
                cy, cx = 0.0, 0.0
                for t in range(trials):
                    if stratum[t] == g:
                        cy += (y[t, c] - my[c]) * (y[t, d] - my[d])
                        cx += (x[t, c] - mx[c]) * (x[t, d] - mx[d])
                variance += cy * cx / (n - 1)
    return mean, variance


@compiled
def strength(y: Any, x: Any, place: Any, cross: bool) -> Any:
    """Sum of squared products of answer columns with prediction columns, and the sum of matching products."""
    trials, width = y.shape
    total, matching = 0.0, 0.0
    for c in range(width):
        for d in range(width):
            if c != d and not cross:
                continue
            product = 0.0
            for t in range(trials):
                product += y[t, c] * x[place[t], d]
            total += product * product
            if c == d:
                matching += product
    return total, matching


@compiled
def dependence(y: Any, x: Any, stratum: Any, strata: int, draws: int, seed: int) -> Any:
    """Matching sum, its null mean and variance, and the permutation p-value of any dependence.

    Trials are permuted within strata: trials on which the same questions were answered. A matching sum beyond doubt has
    the least p-value that ``draws`` can show.
    """
    trials, width = y.shape
    cross = width <= CROSS_LIMIT
    place = np.arange(trials)
    observed, matching = strength(y, x, place, cross)
    mean, variance = moments(y, x, stratum, strata)
    if variance > 1e-12 and matching - mean > BEYOND_DOUBT * np.sqrt(variance):
        return matching, mean, variance, 1.0 / (draws + 1.0)
    state = np.uint64(seed)
    order = np.argsort(stratum)
    as_large = 1
    for _ in range(draws):
        start = 0
        while start < trials:
            end = start
            while end < trials and stratum[order[end]] == stratum[order[start]]:
                end += 1
            for i in range(end - 1, start, -1):
                state, j = below(state, i - start + 1)
                j += start
                place[order[i]], place[order[j]] = place[order[j]], place[order[i]]
            start = end
        drawn, _matching = strength(y, x, place, cross)
        if drawn >= observed * (1.0 - 1e-12):
            as_large += 1
    return matching, mean, variance, as_large / (draws + 1.0)
