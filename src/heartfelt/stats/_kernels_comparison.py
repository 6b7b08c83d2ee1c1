"""Compiled loops over pairs of contestants: the slope and the information of a logistic model in one pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heartfelt.stats._kernels_resample import compiled


@compiled
def logistic_pass(first: Any, second: Any, won: Any, total: Any, strengths: Any, order: float) -> Any:
    """Slope by each strength and the Laplacian of the information, for pairs with ``won`` of ``total`` comparisons."""
    size = strengths.size
    slope = np.zeros(size)
    diagonal = np.zeros(size)
    matrix = np.zeros((size, size))
    for k in range(first.size):
        i, j = first[k], second[k]
        d = strengths[i] - strengths[j] + order
        e = math.exp(-abs(d))
        p = 1.0 / (1.0 + e) if d >= 0 else e / (1.0 + e)
        h = total[k] * e / ((1.0 + e) * (1.0 + e))
        g = won[k] - total[k] * p
        slope[i] += g
        slope[j] -= g
        diagonal[i] += h
        diagonal[j] += h
        matrix[i, j] -= h
        matrix[j, i] -= h
    for i in range(size):
        matrix[i, i] = diagonal[i]
    return slope, matrix


@compiled
def choice_pass(starts: Any, items: Any, sign: Any, stages: Any, strengths: Any, size: int) -> Any:
    """Log-likelihood, slope and information of choices from sets; the chosen item stands first in its set.

    An item's weight in its set is exp(sign * strength): sign 1 chooses the best, -1 the worst. Only the listed ``stages`` are added.
    """
    slope = np.zeros(size)
    matrix = np.zeros((size, size))
    likelihood = 0.0
    longest = 0
    for s in stages:
        longest = max(longest, starts[s + 1] - starts[s])
    p = np.empty(longest)
    for s in stages:
        begin, end = starts[s], starts[s + 1]
        top = -np.inf
        for k in range(begin, end):
            top = max(top, sign[s] * strengths[items[k]])
        total = 0.0
        for k in range(begin, end):
            p[k - begin] = math.exp(sign[s] * strengths[items[k]] - top)
            total += p[k - begin]
        likelihood += sign[s] * strengths[items[begin]] - top - math.log(total)
        slope[items[begin]] += sign[s]
        for k in range(begin, end):
            p[k - begin] /= total
            slope[items[k]] -= sign[s] * p[k - begin]
            matrix[items[k], items[k]] += p[k - begin]
        for k in range(begin, end):
            for m in range(begin, end):
                matrix[items[k], items[m]] -= p[k - begin] * p[m - begin]
    return likelihood, slope, matrix


@compiled
def choice_slopes(starts: Any, items: Any, sign: Any, unit: Any, units: int, strengths: Any) -> Any:
    """The slope of the choices of each unit."""
    out = np.zeros((units, strengths.size))
    for s in range(sign.size):
        begin, end = starts[s], starts[s + 1]
        top = -np.inf
        for k in range(begin, end):
            top = max(top, sign[s] * strengths[items[k]])
        total = 0.0
        for k in range(begin, end):
            total += math.exp(sign[s] * strengths[items[k]] - top)
        out[unit[s], items[begin]] += sign[s]
        for k in range(begin, end):
            out[unit[s], items[k]] -= sign[s] * math.exp(sign[s] * strengths[items[k]] - top) / total
    return out
