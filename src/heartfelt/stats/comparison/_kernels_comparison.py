"""Compiled loops over pairs of contestants: the slope and the information of a logistic model in one pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heartfelt.stats.compiled.kernel import SMALL, compiled

_FEW = 200
"""Loops that a fit calls thousands of times are interpreted up to about forty pairs."""


@compiled(interpret_below=SMALL)
def count_pairs(first: Any, second: Any, value: Any, size: int, ordered: bool) -> Any:
    """The pairs that occur, in order, and how often the first won, tied and lost; both orders together unless ``ordered``."""
    table = np.zeros((size * size, 3), np.int32)
    for k in range(first.size):
        i, j = first[k], second[k]
        outcome = 0 if value[k] == 1.0 else (1 if value[k] == 0.5 else 2)
        if i > j and not ordered:
            i, j, outcome = j, i, 2 - outcome
        table[i * size + j, outcome] += 1
    occurring = 0
    for cell in range(size * size):
        if table[cell, 0] + table[cell, 1] + table[cell, 2] > 0:
            occurring += 1
    first_codes, right = np.empty(occurring, np.int64), np.empty(occurring, np.int64)
    sums = np.empty((occurring, 3))
    row = 0
    for cell in range(size * size):
        if table[cell, 0] + table[cell, 1] + table[cell, 2] > 0:
            first_codes[row], right[row] = cell // size, cell % size
            for outcome in range(3):
                sums[row, outcome] = table[cell, outcome]
            row += 1
    return first_codes, right, sums


@compiled
def _add_pairs(first: Any, second: Any, sums: Any, ties: bool, at: Any, slope: Any, matrix: Any) -> None:
    """Slope and information of strengths (and, with ``ties``, of Davidson's log nu, the last parameter) at a point.

    Without ``ties`` a tie is half a win each. The cross terms of log nu are in the last row alone.
    """
    slope[:] = 0.0
    matrix[:] = 0.0
    last = at.size - 1
    nu = math.exp(at[last]) if ties else 0.0
    for k in range(first.size):
        won, tied, lost = sums[k, 0], sums[k, 1], sums[k, 2]
        total = won + tied + lost
        if total == 0.0:
            continue
        i, j = first[k], second[k]
        d = at[i] - at[j]
        # The larger of win and loss is scaled to 1, so that nothing overflows.
        e = math.exp(-abs(d))
        if ties:
            draw = nu * math.sqrt(e)
            z = 1.0 + e + draw
            draw /= z
            lead = (1.0 - e) / z if d >= 0 else (e - 1.0) / z
            g = (won - lost - total * lead) / 2
            h = total * ((1.0 + e) / z - lead * lead) / 4
            cross = -total * lead * draw / 2
            slope[last] += tied - total * draw
            matrix[last, last] += total * draw * (1 - draw)
            matrix[last, i] += cross
            matrix[last, j] -= cross
        else:
            q = 1.0 / (1.0 + e)
            g = won + tied / 2 - total * (q if d >= 0 else e * q)
            h = total * e * q * q
        slope[i] += g
        slope[j] -= g
        matrix[i, i] += h
        matrix[j, j] += h
        matrix[i, j] -= h
        matrix[j, i] -= h


@compiled(interpret_below=_FEW)
def pair_pass(first: Any, second: Any, sums: Any, ties: bool, at: Any) -> Any:
    """Slope and information at a point, as ``_add_pairs`` writes them."""
    slope, matrix = np.empty(at.size), np.empty((at.size, at.size))
    _add_pairs(first, second, sums, ties, at, slope, matrix)
    return slope, matrix


@compiled(interpret_below=_FEW)
def pair_likelihood(first: Any, second: Any, sums: Any, strengths: Any, ties: bool, tie: float) -> float:
    """Log-likelihood of Davidson's model with its log nu or, without ``ties``, of Bradley and Terry's."""
    out = 0.0
    nu = math.exp(tie) if ties else 0.0
    for k in range(first.size):
        d = strengths[first[k]] - strengths[second[k]]
        total = sums[k, 0] + sums[k, 1] + sums[k, 2]
        e = math.exp(-abs(d))
        out += (sums[k, 0] - sums[k, 2]) * d / 2 - total * (abs(d) / 2 + math.log(1.0 + e + nu * math.sqrt(e)))
        if ties:
            out += sums[k, 1] * tie
    return out


@compiled(interpret_below=_FEW)
def pair_totals(first: Any, second: Any, sums: Any, size: int) -> Any:
    """Each contestant's wins less losses, and its comparisons."""
    lead, total = np.zeros(size), np.zeros(size)
    for k in range(first.size):
        i, j = first[k], second[k]
        ahead, count = sums[k, 0] - sums[k, 2], sums[k, 0] + sums[k, 1] + sums[k, 2]
        lead[i] += ahead
        lead[j] -= ahead
        total[i] += count
        total[j] += count
    return lead, total


@compiled
def _odds(items: Any, begin: int, end: int, sign: float, strengths: Any, p: Any) -> Any:
    """Write the odds of each item of a set to be chosen, the largest 1; returns the log of that scale and the sum of the odds."""
    top = -np.inf
    for k in range(begin, end):
        top = max(top, sign * strengths[items[k]])
    total = 0.0
    for k in range(begin, end):
        p[k - begin] = math.exp(sign * strengths[items[k]] - top)
        total += p[k - begin]
    return top, total


@compiled
def choice_pass(starts: Any, items: Any, sign: Any, weight: Any, stages: Any, strengths: Any, size: int) -> Any:
    """Log-likelihood, slope and information of choices from sets; the chosen item stands first in its set.

    An item's odds in its set are exp(sign * strength): sign 1 chooses the best, -1 the worst. Each choice counts with its
    ``weight``. Only the listed ``stages`` are added.
    """
    slope = np.zeros(size)
    matrix = np.zeros((size, size))
    likelihood = 0.0
    p = np.empty(size)
    for s in stages:
        begin, end = starts[s], starts[s + 1]
        top, total = _odds(items, begin, end, sign[s], strengths, p)
        likelihood += weight[s] * (sign[s] * strengths[items[begin]] - top - math.log(total))
        slope[items[begin]] += weight[s] * sign[s]
        for k in range(begin, end):
            p[k - begin] /= total
            slope[items[k]] -= weight[s] * sign[s] * p[k - begin]
            matrix[items[k], items[k]] += weight[s] * p[k - begin]
        for k in range(begin, end):
            for m in range(begin, end):
                matrix[items[k], items[m]] -= weight[s] * p[k - begin] * p[m - begin]
    return likelihood, slope, matrix


@compiled
def choice_slopes(starts: Any, items: Any, sign: Any, weight: Any, unit: Any, units: int, strengths: Any) -> Any:
    """The slope of the choices of each unit."""
    out = np.zeros((units, strengths.size))
    p = np.empty(strengths.size)
    for s in range(sign.size):
        begin, end = starts[s], starts[s + 1]
        _, total = _odds(items, begin, end, sign[s], strengths, p)
        out[unit[s], items[begin]] += weight[s] * sign[s]
        for k in range(begin, end):
            out[unit[s], items[k]] -= weight[s] * sign[s] * (p[k - begin] / total)
    return out


@compiled
def _solve(matrix: Any, rhs: Any, out: Any) -> bool:
    """Solve by Cholesky in the lower triangle, in place; False where the matrix is not positive definite but for rounding."""
    n = rhs.size
    for j in range(n):
        s = matrix[j, j]
        for k in range(j):
            s -= matrix[j, k] * matrix[j, k]
        if s <= 1e-13 * matrix[j, j]:
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
def _reach(first: Any, second: Any, sums: Any, ties: bool, at: Any) -> float:
    """The largest difference of strengths that were compared, or log nu if that is larger.

    Strengths have mean zero, so that two that are worlds apart need not be far from it themselves.
    """
    reach = abs(at[at.size - 1]) if ties else 0.0
    for k in range(first.size):
        if sums[k].sum() > 0.0:
            reach = max(reach, abs(at[first[k]] - at[second[k]]))
    return reach


@compiled
def _maximise(first: Any, second: Any, sums: Any, ties: bool, at: Any, size: int, far: float) -> bool:
    """Newton's method from ``at``, in place; False where there is no finite maximum."""
    width = at.size
    slope, step, after = np.empty(width), np.empty(width), np.empty(width)
    matrix = np.empty((width, width))
    for _ in range(60):
        _add_pairs(first, second, sums, ties, at, slope, matrix)
        # Only differences are known: a constant makes the information invertible and moves none of them.
        constant = np.trace(matrix[:size, :size]) / (size * size)
        matrix[:size, :size] += constant
        if not _solve(matrix, slope, step):
            return False
        rise = np.sum(slope * step)
        length = 1.0
        while length > 1e-9:
            _add_pairs(first, second, sums, ties, at + length * step, after, matrix)
            if np.sum(after * step) >= -0.9 * rise:
                break
            length /= 2
        at += length * step
        if _reach(first, second, sums, ties, at) > far:
            return False
        if length * np.max(np.abs(step)) < 1e-7:
            return True
    return False


@compiled
def fit_each(first: Any, second: Any, sums: Any, ties: bool, start: Any, size: int, far: float) -> Any:
    """Fit every resample (``sums`` has one table of pairs per resample) from ``start``; NaN where no finite maximum exists."""
    out = np.full((sums.shape[0], start.size), np.nan)
    for b in range(sums.shape[0]):
        at = start.copy()
        if _maximise(first, second, sums[b], ties, at, size, far):
            out[b] = at
            out[b, :size] -= np.mean(at[:size])
    return out
