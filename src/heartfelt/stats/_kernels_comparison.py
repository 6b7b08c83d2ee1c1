"""Compiled loops over pairs of contestants: the slope and the information of a logistic model in one pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heartfelt.stats._kernels_resample import compiled


@compiled
def logistic_pass(first: Any, second: Any, won: Any, total: Any, strengths: Any) -> Any:
    """Slope by each strength and the Laplacian of the information, for pairs with ``won`` of ``total`` comparisons."""
    size = strengths.size
    slope = np.zeros(size)
    diagonal = np.zeros(size)
    matrix = np.zeros((size, size))
    for k in range(first.size):
        i, j = first[k], second[k]
        d = strengths[i] - strengths[j]
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

    An item's weight in its set is exp(sign * strength): sign 1 chooses the best, -1 the worst. Only the listed
    ``stages`` are added.
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


@compiled
def _pair_slopes(
    first: Any, second: Any, sums: Any, ties: bool, at: Any, size: int, slope: Any, matrix: Any
) -> None:
    """Slope and information of strengths (and, with ``ties``, of Davidson's log nu in the last place) at a point."""
    slope[:] = 0.0
    matrix[:] = 0.0
    last = size
    for k in range(first.size):
        won, tied, lost = sums[k, 0], sums[k, 1], sums[k, 2]
        total = won + tied + lost
        if total == 0.0:
            continue
        i, j = first[k], second[k]
        d = at[i] - at[j]
        if ties:
            top = max(abs(d) / 2, at[last])
            win, loss, draw = math.exp(d / 2 - top), math.exp(-d / 2 - top), math.exp(at[last] - top)
            z = win + loss + draw
            win, loss, draw = win / z, loss / z, draw / z
            lead = win - loss
            g = (won - lost - total * lead) / 2
            h = total * (win + loss - lead * lead) / 4
            cross = -total * lead * draw / 2
            slope[last] += tied - total * draw
            matrix[last, last] += total * draw * (1 - draw)
            matrix[last, i] += cross
            matrix[last, j] -= cross
        else:
            e = math.exp(-abs(d))
            p = 1.0 / (1.0 + e) if d >= 0 else e / (1.0 + e)
            g = won + tied / 2 - total * p
            h = total * e / ((1.0 + e) * (1.0 + e))
        slope[i] += g
        slope[j] -= g
        matrix[i, i] += h
        matrix[j, j] += h
        matrix[max(i, j), min(i, j)] -= h


@compiled
def _solve(matrix: Any, rhs: Any, out: Any) -> bool:
    """Solve by Cholesky in the lower triangle, in place; False where the matrix is not positive definite."""
    n = rhs.size
    for j in range(n):
        s = matrix[j, j]
        for k in range(j):
            s -= matrix[j, k] * matrix[j, k]
        if s <= 0.0:
            return False
        root = math.sqrt(s)
        matrix[j, j] = root
        for i in range(j + 1, n):
            s = matrix[i, j]
            for k in range(j):
                s -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = s / root
    for i in range(n):
        s = rhs[i]
        for k in range(i):
            s -= matrix[i, k] * out[k]
        out[i] = s / matrix[i, i]
    for i in range(n - 1, -1, -1):
        s = out[i]
        for k in range(i + 1, n):
            s -= matrix[k, i] * out[k]
        out[i] = s / matrix[i, i]
    return True


@compiled
def fit_each(first: Any, second: Any, sums: Any, ties: bool, start: Any, size: int, far: float) -> Any:
    """Fit every resample (``sums`` has one table of pairs per resample) from ``start``; NaN where no finite maximum exists."""
    width = size + 1 if ties else size
    out = np.full((sums.shape[0], width), np.nan)
    slope, step, after = np.empty(width), np.empty(width), np.empty(width)
    matrix = np.empty((width, width))
    for b in range(sums.shape[0]):
        at = start.copy()
        for _ in range(60):
            _pair_slopes(first, second, sums[b], ties, at, size, slope, matrix)
            constant = 0.0
            for i in range(size):
                constant += matrix[i, i]
            constant /= size * size
            for i in range(size):
                for j in range(i + 1):
                    matrix[i, j] += constant
            if not _solve(matrix, slope, step):
                break
            rise = 0.0
            for i in range(width):
                rise += slope[i] * step[i]
            length = 1.0
            while length > 1e-9:
                _pair_slopes(first, second, sums[b], ties, at + length * step, size, after, matrix)
                along = 0.0
                for i in range(width):
                    along += after[i] * step[i]
                if along >= -0.9 * rise:
                    break
                length /= 2
            at += length * step
            change = length * np.max(np.abs(step))
            if np.max(np.abs(at)) > far:
                break
            if change < 1e-7:
                mean = np.mean(at[:size])
                out[b] = at
                out[b, :size] -= mean
                break
    return out
