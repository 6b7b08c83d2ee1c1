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
