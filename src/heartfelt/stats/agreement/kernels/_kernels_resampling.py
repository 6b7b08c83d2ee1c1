"""Compiled loops that leave out or resample raters and items, for the intervals of Krippendorff's alpha."""

# mypy: allow-untyped-defs
# numba infers the types of compiled functions from their arguments.
from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.compiled import kernel as _compiled

compiled: Any = _compiled.compiled
SMALL = _compiled.SMALL


@compiled
def _alpha(within, n, across, full_across):
    if n < 2 or across <= 1e-12 * full_across:
        return np.nan
    return 1.0 - (n - 1.0) * within / across


@compiled(interpret_below=SMALL)
def totals(start, inside, across):
    """Pairable ratings, and their disagreement within items and overall."""
    n, within, total_across = 0, 0.0, 0.0
    for i in range(start.size - 1):
        m = start[i + 1] - start[i]
        if m >= 2:
            q = 0.0
            for k in range(start[i], start[i + 1]):
                q += inside[k]
                total_across += across[k]
            within += q / (m - 1)
            n += m
    return n, within, total_across


@compiled(interpret_below=SMALL)
def deletions(start, rater, inside, across, rater_sums, fixed):
    """Alpha without each item, without each rater, and the spread of alpha without each single rating.

    ``fixed`` is the code of a rater that is never left out (-1 for none). Returns alphas per item and per
    rater (NaN where undefined or absent), what each rater takes away, and count, sum and sum of squares of
    the changes by single ratings.
    """
    n, within, total_across = totals(start, inside, across)
    alpha = _alpha(within, n, total_across, total_across)
    by_item = np.full(start.size - 1, np.nan)
    loss = np.zeros((rater_sums.shape[0], 3))
    cells, first, second = 0, 0.0, 0.0
    for i in range(start.size - 1):
        m = start[i + 1] - start[i]
        if m < 2:
            continue
        q, g = 0.0, 0.0
        for k in range(start[i], start[i + 1]):
            q += inside[k]
            g += across[k]
        by_item[i] = _alpha(within - q / (m - 1), n - m, total_across - 2.0 * g + q, total_across)
        for k in range(start[i], start[i + 1]):
            if m == 2:
                d_within, d_n, d_across, without = q, 2, g, by_item[i]
            else:
                d_within = q / (m - 1) - (q - 2.0 * inside[k]) / (m - 2)
                d_n, d_across = 1, across[k]
                without = _alpha(within - d_within, n - 1, total_across - 2.0 * d_across, total_across)
            if rater.size:
                if rater[k] == fixed:
                    continue
                row = loss[rater[k]]
                row[0] += d_within
                row[1] += d_n
                row[2] += d_across
            if not np.isnan(without):
                cells += 1
                first += without - alpha
                second += (without - alpha) ** 2
    by_rater = np.full(rater_sums.shape[0], np.nan)
    for r in range(rater_sums.shape[0]):
        if loss[r, 1] > 0 and r != fixed:
            by_rater[r] = _alpha(
                within - loss[r, 0], n - loss[r, 1], total_across - 2.0 * loss[r, 2] + rater_sums[r, 3], total_across
            )
    return by_item, by_rater, loss[:, 1], cells, first, second


@compiled
def _weighted_item(code, rater, scores, nominal, weight, category_weight):
    """Weighted count, count of squares, and disagreement of distinct raters within one item."""
    a, a2, q = 0.0, 0.0, 0.0
    for k in range(code.size):
        w = weight[rater[k]]
        a += w
        a2 += w * w
    if a * a - a2 <= 1e-9:
        return 0.0, 0.0, 0.0
    if nominal:
        for k in range(code.size):
            category_weight[code[k]] += weight[rater[k]]
        same = 0.0
        for k in range(code.size):
            same += weight[rater[k]] * category_weight[code[k]]
        for k in range(code.size):
            category_weight[code[k]] = 0.0
        q = a * a - same
    else:
        for d in range(scores.shape[1]):
            s, s2 = 0.0, 0.0
            for k in range(code.size):
                w, x = weight[rater[k]], scores[code[k], d]
                s += w * x
                s2 += w * x * x
            q += max(2.0 * (a * s2 - s * s), 0.0)
    return a, a2, q / (a * a - a2)


@compiled
def _ranks(start, rater, code, times, weight, scores):
    """Mid-ranks of the resampled pairable ratings, scaled to (0, 1), into the first column of ``scores``."""
    scores[:, 0] = 0.0
    for i in range(start.size - 1):
        if times[i] > 0:
            a, a2 = 0.0, 0.0
            for k in range(start[i], start[i + 1]):
                a += weight[rater[k]]
                a2 += weight[rater[k]] ** 2
            if a * a - a2 > 1e-9:
                for k in range(start[i], start[i + 1]):
                    scores[code[k], 0] += times[i] * weight[rater[k]]
    n = max(scores[:, 0].sum(), 1.0)
    below = 0.0
    for c in range(scores.shape[0]):
        category_weight = scores[c, 0]
        scores[c, 0] = (below + 0.5 * category_weight) / n
        below += category_weight


@compiled
def weighted_alpha(start, rater, code, scores, kind, times, weight, tiny):
    """Alpha where item i counts ``times[i]`` times and rater r ``weight[r]`` times, never meeting a copy.

    ``kind``: 0 nominal, 1 scores as given, 2 mid-ranks taken anew into the one column of ``scores``.
    """
    margin, category_weight = np.zeros(scores.shape[0]), np.zeros(scores.shape[0])
    if kind == 2:
        _ranks(start, rater, code, times, weight, scores)
    n, n2, within = 0.0, 0.0, 0.0
    for i in range(start.size - 1):
        if times[i] == 0:
            continue
        a, a2, q = _weighted_item(
            code[start[i] : start[i + 1]], rater[start[i] : start[i + 1]], scores, kind == 0, weight, category_weight
        )
        if a > 0.0:
            n += times[i] * a
            n2 += times[i] * times[i] * a2
            within += times[i] * a * q
            for k in range(start[i], start[i + 1]):
                margin[code[k]] += times[i] * weight[rater[k]]
    if n * n - n2 <= 0.0:
        return np.nan
    across = 0.0
    if kind == 0:
        across = n * n - np.sum(margin * margin)
    else:
        for d in range(scores.shape[1]):
            s, s2 = 0.0, 0.0
            for c in range(margin.size):
                s += margin[c] * scores[c, d]
                s2 += margin[c] * scores[c, d] ** 2
            across += max(2.0 * (n * s2 - s * s), 0.0)
    if across <= tiny * n * n:
        return np.nan
    return 1.0 - (within / n) / (across / (n * n - n2))
