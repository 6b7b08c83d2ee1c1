"""Compiled loops over pairs of raters: only pairs that share an item are ever touched.

Votes are grouped by item with raters ascending within each, so a rater's partners with a higher code follow
them. For one rater at a time, the shared votes are gathered by partner and each pair is scored, whole and
without each shared item.
"""

# mypy: allow-untyped-defs
# numba infers the types of compiled functions from their arguments.
from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.compiled import kernel as _compiled

compiled: Any = _compiled.compiled
SMALL = _compiled.SMALL

KAPPA, KAPPA_LINEAR, KAPPA_QUADRATIC, ACCURACY, BALANCED = range(5)
FINE, TOO_FEW, NO_CHANCE = range(3)


@compiled
def _distance(kind, x, y):
    if kind == KAPPA_LINEAR:
        return abs(x - y)
    if kind == KAPPA_QUADRATIC:
        return (x - y) * (x - y)
    return 0.0 if x == y else 1.0


@compiled
def _to_all(kind, x, scores, categories, count):
    """Distance of a vote at ``x`` from all votes of the other rater."""
    total = 0.0
    if kind == KAPPA_LINEAR:
        if categories.size <= count.size:
            for c in categories:
                total += abs(x - scores[c])
        else:
            for c in range(count.size):
                total += count[c] * abs(x - scores[c])
    return total


@compiled
def _kappa(n, observed, expected):
    return 1.0 - n * observed / expected if expected > 1e-12 * n * n else np.nan


@compiled
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
        observed += _distance(kind, x, y)
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
        distance = _distance(kind, x, y)
        without[t] = _kappa(n - 1, observed - distance, expected - gone + distance)
    for t in range(n):
        count_a[a[t]] = 0
        count_b[b[t]] = 0
    return value


@compiled
def _score_accuracy(a, b, without):
    n = a.size
    same = 0
    for t in range(n):
        same += a[t] == b[t]
    for t in range(without.size):
        without[t] = (same - (a[t] == b[t])) / (n - 1.0) if n > 1 else np.nan
    return same / n


@compiled
def _recall_without(total, kinds, right, count, hit):
    """Mean recall without one vote of a category with ``count`` votes, ``right`` of them met."""
    if count == 1:
        return (total - right) / (kinds - 1.0) if kinds > 1 else np.nan
    return (total - right / count + (right - hit) / (count - 1.0)) / kinds


@compiled
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


@compiled
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


@compiled
def _add(sums, row, value, n, sign):
    if not np.isnan(value):
        sums[row, 0] += sign * value
        sums[row, 1] += sign
        sums[row, 2] += sign * n * value
        sums[row, 3] += sign * n


@compiled
def _change(sums, row, full_score, score_without, n):
    _add(sums, row, full_score, n, -1.0)
    _add(sums, row, score_without, n - 1, 1.0)


@compiled
def _meet(start, item_of, rater, own_rows, met, partners):
    """Count the items shared with each later rater; returns how many raters and items in all."""
    result, total = 0, 0
    for k in own_rows:
        for q in range(k + 1, start[item_of[k] + 1]):
            s = rater[q]
            if met[s] == 0:
                partners[result] = s
                result += 1
            met[s] += 1
            total += 1
    return result, total


@compiled
def _gather(start, item_of, rater, code, own_rows, at, rows):
    """Lay out the shared votes partner by partner: own vote, other's vote, and where both stand."""
    for k in own_rows:
        for q in range(k + 1, start[item_of[k] + 1]):
            to = at[rater[q]]
            at[rater[q]] += 1
            rows[0, to] = code[k]
            rows[1, to] = code[q]
            rows[2, to] = k
            rows[3, to] = q


@compiled
def _score(kind, a, b, scores, counts, without):
    if kind == ACCURACY:
        return _score_accuracy(a, b, without)
    if kind == BALANCED:
        return _score_balanced(a, b, counts[0], counts[1], counts[2], without)
    return _score_kappa(kind, a, b, scores, counts[0], counts[1], without)


@compiled(interpret_below=SMALL)
def pair_scores(cast, scores, rater_start, order, kind, at_least, out, sums):
    """Score every pair of raters that shares an item; returns how many there are.

    ``cast`` holds start, each vote's item, rater and code. ``out`` receives the pairs (codes, shared items,
    value, why not). ``sums`` receives sums over the defined ones of value, 1, shared times value, and shared:
    overall, per rater, and their change without each item and each single vote (these two may have no rows).
    """
    start, item_of, rater, code = cast
    first, second, shared, value, reasons = out
    overall, by_rater, by_item, by_vote = sums
    people = rater_start.size - 1
    met, at, partners = np.zeros(people, np.int64), np.zeros(people, np.int64), np.zeros(people, np.int64)
    counts = np.zeros((3, scores.size), np.int64)
    changes = by_vote.shape[0] > 0
    pairs = 0
    for r in range(people):
        own_rows = order[rater_start[r] : rater_start[r + 1]]
        result, total = _meet(start, item_of, rater, own_rows, met, partners)
        if result == 0:
            continue
        offset = 0
        for s in _sort(partners[:result]):
            at[s] = offset
            offset += met[s]
        rows = np.empty((4, total), np.int64)
        space = np.empty(total if changes else 0)
        _gather(start, item_of, rater, code, own_rows, at, rows)
        for s in partners[:result]:
            n = met[s]
            met[s] = 0
            lo = at[s] - n
            first[pairs] = r
            second[pairs] = s
            shared[pairs] = n
            value[pairs] = np.nan
            reasons[pairs] = TOO_FEW
            if n >= at_least:
                without = space[lo : lo + n]
                got = _score(kind, rows[0, lo : lo + n], rows[1, lo : lo + n], scores, counts, without)
                value[pairs] = got
                reasons[pairs] = NO_CHANCE if np.isnan(got) else FINE
                _add(overall, 0, got, n, 1.0)
                _add(by_rater, r, got, n, 1.0)
                _add(by_rater, s, got, n, 1.0)
                if changes and not np.isnan(got):
                    for t in range(n):
                        score_without = without[t] if n > at_least else np.nan
                        k, q = rows[2, lo + t], rows[3, lo + t]
                        _change(by_item, item_of[k], got, score_without, n)
                        _change(by_vote, k, got, score_without, n)
                        _change(by_vote, q, got, score_without, n)
            pairs += 1
    return pairs
