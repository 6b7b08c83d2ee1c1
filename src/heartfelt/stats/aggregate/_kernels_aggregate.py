"""Compiled loops of the aggregation methods. Ratings come sorted by item; ``starts`` marks the items."""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.compiled.kernel import SMALL, compiled

Array = Any

EPSILON = 1e-8
LEAST = 1e-6


@compiled
def sort_items(starts: Array, value: Array) -> Array:
    out = value.copy()
    for g in range(starts.size - 1):
        out[starts[g] : starts[g + 1]] = np.sort(out[starts[g] : starts[g + 1]])
    return out


@compiled
def median_moments(
    starts: Array,
    value: Array,
    offset: Array,
    lower: Array,
    upper: Array,
    moment_below: Array,
    right: Array,
    tail: Array,
) -> tuple[Array, Array]:
    """Median and its exact bootstrap standard error per item, from weight tables found at ``offset[n]``."""
    items = starts.size - 1
    median = np.full(items, np.nan)
    error = np.full(items, np.nan)
    for g in range(items):
        lo = starts[g]
        n = starts[g + 1] - lo
        if n == 0:
            continue
        middle = 0.5 * (value[lo + (n - 1) // 2] + value[lo + n // 2])
        median[g] = middle
        if n == 1:
            continue
        at = offset[n]
        first_l = 0.0
        first_u = 0.0
        second_l = 0.0
        second_u = 0.0
        cross = 0.0
        running = 0.0
        for i in range(n):
            x = value[lo + i] - middle
            first_l += lower[at + i] * x
            first_u += upper[at + i] * x
            second_l += lower[at + i] * x * x
            second_u += upper[at + i] * x * x
            cross += running * right[at + i] * x + (lower[at + i] - moment_below[at + i] * tail[at + i]) * x * x
            running += moment_below[at + i] * x
        mean = 0.5 * (first_l + first_u)
        error[g] = np.sqrt(max(0.25 * (second_l + second_u + 2.0 * cross) - mean * mean, 0.0))
    return median, error


@compiled(interpret_below=SMALL)
def plurality(starts: Array, category: Array, categories: int) -> tuple[Array, Array, Array]:
    """Per item the votes of its most frequent category, and which categories have as many (ascending)."""
    items = starts.size - 1
    votes = np.zeros(items, np.int64)
    bounds = np.zeros(items + 1, np.int64)
    winners = np.empty(category.size, np.int64)
    count = np.zeros(categories, np.int64)
    at = 0
    for g in range(items):
        best = 0
        for i in range(starts[g], starts[g + 1]):
            count[category[i]] += 1
            best = max(best, count[category[i]])
        votes[g] = best
        head = at
        for i in range(starts[g], starts[g + 1]):
            c = category[i]
            if count[c] == best and best > 0:
                winners[at] = c
                at += 1
            count[c] = 0
        winners[head:at] = np.sort(winners[head:at])
        bounds[g + 1] = at
    return votes, bounds, winners[:at].copy()


@compiled
def _weigh(sums: Array, count: Array, leverage: bool, floor: float, spread: Array, state: Array) -> None:
    """Bias, inconsistency and weight of each rater from sums of residuals; the pooled spread where none is own.

    ``sums`` holds per rater the residuals, their squares and one minus the leverage of their ratings; ``state``
    bias and weight.
    """
    pooled = 0.0
    total = 0.0
    for r in range(count.size):
        freedom = sums[r, 2] * (1.0 - 1.0 / count[r]) if leverage else count[r]
        mean = sums[r, 0] / count[r] if count[r] > 1 else 0.0
        squares = max(sums[r, 1] - count[r] * mean * mean, 0.0)
        pooled += squares
        total += freedom
        state[r, 0] += mean
        spread[r] = np.sqrt(squares / freedom) if count[r] > 1 and freedom > LEAST else -1.0
    shared = np.sqrt(pooled / max(total, 1.0))
    for r in range(count.size):
        if spread[r] < 0.0:
            spread[r] = shared
        state[r, 1] = 1.0 / (max(spread[r], floor) ** 2 + EPSILON)


@compiled
def _project(
    starts: Array, rater: Array, value: Array, leverage: bool, state: Array, quality: Array, sums: Array
) -> float:
    """One pass: weighted quality of each item and the raters' sums of residuals from it; the squared change."""
    moved = 0.0
    sums[:] = 0.0
    for g in range(starts.size - 1):
        top = 0.0
        low = 0.0
        for i in range(starts[g], starts[g + 1]):
            r = rater[i]
            top += state[r, 1] * (value[i] - state[r, 0])
            low += state[r, 1]
        s = top / low
        moved += (s - quality[g]) ** 2
        quality[g] = s
        for i in range(starts[g], starts[g + 1]):
            r = rater[i]
            e = value[i] - s - state[r, 0]
            sums[r, 0] += e
            sums[r, 1] += e * e
        if leverage:
            share = 1.0 / low
            for i in range(starts[g], starts[g + 1]):
                sums[rater[i], 2] += 1.0 - state[rater[i], 1] * share
    return moved


@compiled(interpret_below=SMALL)
def alternate(
    starts: Array, rater: Array, value: Array, raters: int, floor: float, leverage: bool, tolerance: float, limit: int
) -> tuple[Array, Array, Array, int, float]:
    """P.910 alternating projection: quality, bias, inconsistency, iterations and the last change."""
    count = np.zeros(raters)
    for r in rater:
        count[r] += 1.0
    quality = np.zeros(starts.size - 1)
    spread = np.zeros(raters)
    # Half the memory traffic: the loop reads the raters twice in every iteration.
    rater = rater.astype(np.int32)
    sums = np.zeros((raters, 4))
    state = np.zeros((raters, 2))
    state[:, 1] = 1.0
    _project(starts, rater, value, leverage, state, quality, sums)
    iterations = 0
    change = np.inf
    while iterations < limit and change >= tolerance:
        _weigh(sums, count, leverage, floor, spread, state)
        change = np.sqrt(_project(starts, rater, value, leverage, state, quality, sums))
        iterations += 1
    for r in range(raters):
        if count[r] > 1:
            state[r, 0] += sums[r, 0] / count[r]
    return quality, state[:, 0].copy(), spread, iterations, change


@compiled
def maximise(
    starts: Array, rater: Array, category: Array, posterior: Array, raters: int, prior_weight: float
) -> tuple[Array, Array]:
    """Class shares, and answer probabilities as [rater, answer, class], from the posterior."""
    items, k = posterior.shape
    table = np.full((raters, k, k), prior_weight)
    for g in range(items):
        for i in range(starts[g], starts[g + 1]):
            r, c = rater[i], category[i]
            for t in range(k):
                table[r, c, t] += posterior[g, t]
    for r in range(raters):
        for t in range(k):
            total = 0.0
            for c in range(k):
                total += table[r, c, t]
            if total > 0.0:
                for c in range(k):
                    table[r, c, t] /= total
    shares = np.zeros(k)
    for g in range(items):
        for t in range(k):
            shares[t] += posterior[g, t]
    return shares / items, table


@compiled
def expect(starts: Array, rater: Array, category: Array, shares: Array, table: Array, posterior: Array) -> float:
    """Write the posterior of every item; return the log likelihood."""
    items, k = posterior.shape
    logs = np.empty(table.shape)
    floor = -700.0
    for r in range(table.shape[0]):
        for c in range(k):
            for t in range(k):
                p = table[r, c, t]
                logs[r, c, t] = np.log(p) if p > 1e-300 else floor
    start = np.empty(k)
    for t in range(k):
        start[t] = np.log(shares[t]) if shares[t] > 1e-300 else floor
    total = 0.0
    line = np.empty(k)
    for g in range(items):
        for t in range(k):
            line[t] = start[t]
        for i in range(starts[g], starts[g + 1]):
            r, c = rater[i], category[i]
            for t in range(k):
                line[t] += logs[r, c, t]
        # The largest exponent is taken out, so that posteriors of items with many answers do not all round to 0.
        top = line[0]
        for t in range(1, k):
            top = max(top, line[t])
        low = 0.0
        for t in range(k):
            line[t] = np.exp(line[t] - top)
            low += line[t]
        for t in range(k):
            posterior[g, t] = line[t] / low
        total += top + np.log(low)
    return total


@compiled
def shared_information(starts: Array, rater: Array, weight: Array, raters: int) -> Array:
    """Information on the raters' biases with the items' qualities eliminated, dense over raters."""
    out = np.zeros((raters, raters))
    for g in range(starts.size - 1):
        total = 0.0
        for i in range(starts[g], starts[g + 1]):
            total += weight[rater[i]]
        for i in range(starts[g], starts[g + 1]):
            r = rater[i]
            out[r, r] += weight[r]
            for j in range(starts[g], starts[g + 1]):
                out[r, rater[j]] -= weight[r] * weight[rater[j]] / total
    return out


@compiled
def two_way_errors(starts: Array, rater: Array, weight: Array, bias_covariance: Array) -> tuple[Array, Array]:
    """Variance of each item's quality with that of the biases, and each rater's sum of one minus leverage.

    ``bias_covariance`` is dense over raters, or holds the variances alone in its first column.
    """
    items = starts.size - 1
    variance = np.zeros(items)
    free = np.zeros(weight.size)
    dense = bias_covariance.shape[1] == bias_covariance.shape[0]
    shared = np.zeros(rater.size)
    for g in range(items):
        lo, hi = starts[g], starts[g + 1]
        total = 0.0
        for i in range(lo, hi):
            total += weight[rater[i]]
        if total <= 0.0:
            continue
        item_variance = 1.0 / total
        for i in range(lo, hi):
            r = rater[i]
            if dense:
                with_rater = 0.0
                for j in range(lo, hi):
                    with_rater += weight[rater[j]] / total * bias_covariance[rater[j], r]
            else:
                with_rater = weight[r] / total * bias_covariance[r, 0]
            shared[i] = with_rater
            item_variance += weight[r] / total * with_rater
        variance[g] = item_variance
        for i in range(lo, hi):
            r = rater[i]
            spread = bias_covariance[r, r] if dense else bias_covariance[r, 0]
            free[r] += 1.0 - weight[r] * max(item_variance + spread - 2.0 * shared[i], 0.0)
    return variance, free


@compiled
def weighted_two_way(
    starts: Array, rater: Array, value: Array, weight: Array, fixed: Array, tolerance: float, limit: int
) -> tuple[Array, Array, Array]:
    """Quality and bias by weighted least squares with these weights, and each rater's sum of squared residuals.

    The biases of ``held`` raters stay zero.
    """
    items = starts.size - 1
    quality = np.zeros(items)
    bias = np.zeros(weight.size)
    count = np.zeros(weight.size)
    for r in rater:
        count[r] += 1.0
    sums = np.zeros(weight.size)
    for _ in range(limit):
        moved = 0.0
        sums[:] = 0.0
        for g in range(items):
            top = 0.0
            low = 0.0
            for i in range(starts[g], starts[g + 1]):
                r = rater[i]
                top += weight[r] * (value[i] - bias[r])
                low += weight[r]
            quality[g] = top / low
            for i in range(starts[g], starts[g + 1]):
                sums[rater[i]] += value[i] - quality[g]
        for r in range(weight.size):
            if not fixed[r]:
                new = sums[r] / count[r]
                moved = max(moved, abs(new - bias[r]))
                bias[r] = new
        if moved < tolerance:
            break
    squares = np.zeros(weight.size)
    for g in range(items):
        for i in range(starts[g], starts[g + 1]):
            squares[rater[i]] += (value[i] - quality[g] - bias[rater[i]]) ** 2
    return quality, bias, squares
