"""Compiled loops over pairs of raters: only pairs that share an item are ever touched.

Votes are grouped by item with raters ascending within each, so a rater's partners with a higher code follow
them. For one rater at a time, the shared votes are gathered by partner and each pair is scored, whole and
without each shared item.
"""

# mypy: allow-untyped-defs
# numba infers the types of compiled functions from their arguments.
from __future__ import annotations

import numpy as np
from numba import njit

KAPPA, KAPPA_LINEAR, KAPPA_QUADRATIC, ACCURACY, BALANCED = range(5)
FINE, TOO_FEW, NO_CHANCE = range(3)


@njit(cache=True)
def _apart(kind, x, y):
    if kind == KAPPA_LINEAR:
        return abs(x - y)
    if kind == KAPPA_QUADRATIC:
        return (x - y) * (x - y)
    return 0.0 if x == y else 1.0


@njit(cache=True)
def _to_all(kind, x, scores, others, count):
    """Distance of a vote at ``x`` from all votes of the other rater."""
    total = 0.0
    if kind == KAPPA_LINEAR:
        if others.size <= count.size:
            for c in others:
                total += abs(x - scores[c])
        else:
            for c in range(count.size):
                total += count[c] * abs(x - scores[c])
    return total


@njit(cache=True)
def _kappa(n, observed, expected):
    return 1.0 - n * observed / expected if expected > 1e-12 * n * n else np.nan


@njit(cache=True)
def _score_kappa(kind, a, b, scores, count_a, count_b, without):
    """Cohen's kappa of two columns of votes as ``1 - n * observed / expected``, and without each row."""
    n = a.size
    for t in range(n):
        count_a[a[t]] += 1
        count_b[b[t]] += 1
    sum_a, sum_b, square_a, square_b, observed = 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(n):
        x, y = scores[a[t]], scores[b[t]]
        sum_a += x
        sum_b += y
        square_a += x * x
        square_b += y * y
        observed += _apart(kind, x, y)
    expected = 0.0
    if kind == KAPPA_QUADRATIC:
        expected = n * (square_a + square_b) - 2.0 * sum_a * sum_b
    else:
        for t in range(n):
            if kind == KAPPA:
                expected += n - count_b[a[t]]
            else:
                expected += _to_all(kind, scores[a[t]], scores, b, count_b)
    value = _kappa(n, observed, expected)
    for t in range(without.size):
        x, y = scores[a[t]], scores[b[t]]
        if kind == KAPPA:
            gone = 2.0 * n - count_b[a[t]] - count_a[b[t]]
        elif kind == KAPPA_QUADRATIC:
            gone = n * (x * x + y * y) - 2.0 * (x * sum_b + y * sum_a) + square_a + square_b
        else:
            gone = _to_all(kind, x, scores, b, count_b) + _to_all(kind, y, scores, a, count_a)
        apart = _apart(kind, x, y)
        without[t] = _kappa(n - 1, observed - apart, expected - gone + apart)
    for t in range(n):
        count_a[a[t]] = 0
        count_b[b[t]] = 0
    return value


@njit(cache=True)
def _score_accuracy(a, b, without):
    n = a.size
    same = 0
    for t in range(n):
        same += a[t] == b[t]
    for t in range(without.size):
        without[t] = (same - (a[t] == b[t])) / (n - 1.0) if n > 1 else np.nan
    return same / n


@njit(cache=True)
def _recall_without(total, kinds, right, count, hit):
    """Mean recall without one vote of a category with ``count`` votes, ``right`` of them met."""
    if count == 1:
        return (total - right) / (kinds - 1.0) if kinds > 1 else np.nan
    return (total - right / count + (right - hit) / (count - 1.0)) / kinds


@njit(cache=True)
def _score_balanced(a, b, count_a, count_b, right, without):
    """Mean of the balanced accuracies with either rater taken as the truth, and without each row."""
    for t in range(a.size):
        count_a[a[t]] += 1
        count_b[b[t]] += 1
        right[a[t]] += a[t] == b[t]
    total_a, total_b, kinds_a, kinds_b = 0.0, 0.0, 0.0, 0.0
    for t in range(a.size):
        total_a += right[a[t]] / (count_a[a[t]] * count_a[a[t]])
        kinds_a += 1.0 / count_a[a[t]]
        total_b += right[b[t]] / (count_b[b[t]] * count_b[b[t]])
        kinds_b += 1.0 / count_b[b[t]]
    kinds_a, kinds_b = np.round(kinds_a), np.round(kinds_b)
    for t in range(without.size):
        x, y = a[t], b[t]
        without[t] = 0.5 * (
            _recall_without(total_a, kinds_a, right[x], count_a[x], x == y)
            + _recall_without(total_b, kinds_b, right[y], count_b[y], x == y)
        )
    for t in range(a.size):
        count_a[a[t]] = 0
        count_b[b[t]] = 0
        right[a[t]] = 0
    return 0.5 * (total_a / kinds_a + total_b / kinds_b)


@njit(cache=True)
def _sort(codes):
    """Shell sort, in place: compiles in a fraction of the time of a library sort."""
    gap = codes.size // 2
    while gap > 0:
        for i in range(gap, codes.size):
            c, j = codes[i], i
            while j >= gap and codes[j - gap] > c:
                codes[j] = codes[j - gap]
                j -= gap
            codes[j] = c
        gap = 1 if gap == 2 else (5 * gap) // 11
    return codes


@njit(cache=True)
def _grown(array):
    bigger = np.empty(2 * array.size, array.dtype)
    bigger[: array.size] = array
    return bigger


@njit(cache=True)
def _add(sums, value, n, sign):
    if not np.isnan(value):
        sums[0] += sign * value
        sums[1] += sign
        sums[2] += sign * n * value
        sums[3] += sign * n


@njit(cache=True)
def pair_scores(start, item_of, rater, code, scores, rater_start, order, kind, at_least, changes):
    """Score every pair of raters that shares an item.

    Returns the pairs (codes, shared items, value, why not) and sums over the defined ones of value, 1, shared
    times value, and shared: overall, per rater, and their change without each item and each single vote (these
    two have no rows unless ``changes``).
    """
    people, width = rater_start.size - 1, scores.size
    first, second = np.empty(1024, np.int32), np.empty(1024, np.int32)
    shared, value = np.empty(1024, np.int32), np.empty(1024, np.float64)
    why = np.empty(1024, np.int8)
    whole, by_rater = np.zeros(4), np.zeros((people, 4))
    by_item = np.zeros((start.size - 1 if changes else 0, 4))
    by_vote = np.zeros((code.size if changes else 0, 4))
    met, at = np.zeros(people, np.int64), np.zeros(people, np.int64)
    count_a, count_b, right = np.zeros(width, np.int64), np.zeros(width, np.int64), np.zeros(width, np.int64)
    partners = np.empty(people, np.int64)
    pairs = 0
    for r in range(people):
        total, found = 0, 0
        for k in order[rater_start[r] : rater_start[r + 1]]:
            for q in range(k + 1, start[item_of[k] + 1]):
                s = rater[q]
                if met[s] == 0:
                    partners[found] = s
                    found += 1
                met[s] += 1
                total += 1
        if total == 0:
            continue
        _sort(partners[:found])
        place = 0
        for s in partners[:found]:
            at[s] = place
            place += met[s]
        a, b = np.empty(total, np.int64), np.empty(total, np.int64)
        ka, kb = np.empty(total, np.int64), np.empty(total, np.int64)
        room = np.empty(total if changes else 0)
        for k in order[rater_start[r] : rater_start[r + 1]]:
            for q in range(k + 1, start[item_of[k] + 1]):
                to = at[rater[q]]
                at[rater[q]] += 1
                a[to], b[to], ka[to], kb[to] = code[k], code[q], k, q
        for s in partners[:found]:
            n = met[s]
            met[s] = 0
            lo, hi = at[s] - n, at[s]
            if pairs == first.size:
                first, second, shared = _grown(first), _grown(second), _grown(shared)
                value, why = _grown(value), _grown(why)
            first[pairs], second[pairs], shared[pairs] = r, s, n
            value[pairs], why[pairs] = np.nan, TOO_FEW
            if n >= at_least:
                without = room[lo:hi]
                if kind == ACCURACY:
                    got = _score_accuracy(a[lo:hi], b[lo:hi], without)
                elif kind == BALANCED:
                    got = _score_balanced(a[lo:hi], b[lo:hi], count_a, count_b, right, without)
                else:
                    got = _score_kappa(kind, a[lo:hi], b[lo:hi], scores, count_a, count_b, without)
                value[pairs], why[pairs] = got, NO_CHANCE if np.isnan(got) else FINE
                _add(whole, got, n, 1.0)
                _add(by_rater[r], got, n, 1.0)
                _add(by_rater[s], got, n, 1.0)
                if not np.isnan(got):
                    for t in range(without.size):
                        left = without[t] if n > at_least else np.nan
                        k, q = ka[lo + t], kb[lo + t]
                        for sums in (by_item[item_of[k]], by_vote[k], by_vote[q]):
                            _add(sums, got, n, -1.0)
                            _add(sums, left, n - 1, 1.0)
            pairs += 1
    table = (first[:pairs], second[:pairs], shared[:pairs], value[:pairs], why[:pairs])
    return table, whole, by_rater, by_item, by_vote
