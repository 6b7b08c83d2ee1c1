"""Compiled loops over the votes of each item: chance-corrected coefficients and tallies of right and wrong.

``start[i]:start[i + 1]`` are the votes of item ``i``; ``code`` is their category, ``rater`` who cast them
(may be empty). An influence is the first-order effect of an item, rater or vote on a statistic; what a vote
does to its item's own share is taken exactly, by counting the item without it.
"""

# mypy: allow-untyped-defs
# numba infers the types of compiled functions from their arguments.
from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.compiled import kernel as _compiled

compiled: Any = _compiled.compiled
SMALL = _compiled.SMALL

UNANIMOUS, MEAN_PAIRS, POOLED_PAIRS, LEAVE_ONE_OUT, AGAINST_PRIOR = range(5)
IDENTITY, LINEAR, QUADRATIC, ORDINAL = range(4)


@compiled
def weight(kind, x, y, k, j, reach, width):
    """Credit for two votes at places ``x`` and ``y`` (the ``k``-th and ``j``-th category): 1 when equal."""
    if k == j:
        return 1.0
    if kind == LINEAR:
        return 1.0 - abs(x - y) / reach
    if kind == QUADRATIC:
        return 1.0 - (x - y) ** 2 / reach**2
    if kind == ORDINAL:
        steps = abs(k - j)
        return 1.0 - steps * (steps + 1.0) / (width * (width - 1.0))
    return 0.0


@compiled
def _tally_item(code, count, cats):
    """Count categories of one item into ``count`` and list them in ``cats``; returns how many."""
    d = 0
    for c in code:
        if count[c] == 0:
            cats[d] = c
            d += 1
        count[c] += 1
    return d


@compiled(interpret_below=SMALL)
def credits(start, code, kind, scores, widest):
    """Per vote, the credit summed over all votes of its item, itself included."""
    out = np.zeros(code.size)
    width = scores.size
    reach = scores.max() - scores.min() if width else 1.0
    count = np.zeros(width, np.int64)
    cats = np.zeros(min(widest, width) + 1, np.int64)
    sums = np.zeros(width)
    for i in range(start.size - 1):
        votes = code[start[i] : start[i + 1]]
        d = _tally_item(votes, count, cats)
        for a in range(d):
            c = cats[a]
            sums[c] = count[c]
            if kind != IDENTITY:
                for b in range(d):
                    if b != a:
                        e = cats[b]
                        sums[c] += count[e] * weight(kind, scores[c], scores[e], c, e, reach, width)
        for k in range(start[i], start[i + 1]):
            out[k] = sums[code[k]]
        for a in range(d):
            count[cats[a]] = 0
    return out


@compiled(interpret_below=SMALL)
def agreement_parts(start, code, credit, width):
    """Items, items with two votes, their mean agreement, and the mean over items of category shares."""
    items, paired, agreement = 0, 0, 0.0
    share = np.zeros(width)
    for i in range(start.size - 1):
        m = start[i + 1] - start[i]
        if m == 0:
            continue
        items += 1
        q = 0.0
        for k in range(start[i], start[i + 1]):
            share[code[k]] += 1.0 / m
            q += credit[k]
        if m >= 2:
            paired += 1
            agreement += (q - m) / (m * (m - 1.0))
    return items, paired, agreement / max(paired, 1), share / max(items, 1)


@compiled(interpret_below=SMALL)
def chance_influence(cast, credit, slope, level, facts, people, fixed):
    """Influences on ``(pa - pe) / (1 - pe)``; ``slope`` is the derivative of ``pe`` by category share.

    ``cast`` holds start, rater and code; ``level`` is the mean slope; ``facts`` holds items, paired items,
    ``pa``, ``pe`` and the coefficient.
    """
    start, rater, code = cast
    items, paired, pa, pe, value = facts
    by_item = np.zeros(start.size - 1)
    by_rater = np.zeros(people)
    votes = np.zeros(people)
    cells, first, second = 0, 0.0, 0.0
    for i in range(start.size - 1):
        m = start[i + 1] - start[i]
        if m == 0:
            continue
        q, e = 0.0, 0.0
        for k in range(start[i], start[i + 1]):
            q += credit[k]
            e += slope[code[k]] / m
        a = (q - m) / (m * (m - 1.0)) if m >= 2 else pa
        by_item[i] = ((a - pa) / paired - (1.0 - value) * (e - level) / items) / (1.0 - pe)
        for k in range(start[i], start[i + 1]):
            d_a, d_e = a - pa, e - level
            if m >= 3:
                d_a = a - (q - 2.0 * credit[k] + 1.0 - (m - 1.0)) / ((m - 1.0) * (m - 2.0))
            if m >= 2:
                d_e = e - (m * e - slope[code[k]]) / (m - 1.0)
            effect = (d_a / paired - (1.0 - value) * d_e / items) / (1.0 - pe)
            if rater.size:
                if rater[k] == fixed:
                    continue
                by_rater[rater[k]] += effect
                votes[rater[k]] += 1
            cells += 1
            first += effect
            second += effect * effect
    return by_item, by_rater, votes, cells, first, second


@compiled
def _majority_of_others(n, top, tops, runner_up, leader, c):
    """The single most frequent category among the votes other than one for ``c`` (``n`` of them), or -1."""
    if n == top:
        if tops == 1:
            return c if n - 1 > runner_up else -1
        return -2 if tops == 2 else -1
    return leader if tops == 1 else -1


@compiled
def _pair_contributions(kind, count, cats, d, m, space):
    """One item's pairs of votes: those that agree, of all, by category where pooled; returns how many entries."""
    kinds, hits, trials = space
    if m < 2:
        return 0
    if kind == POOLED_PAIRS:
        for a in range(d):
            n = count[cats[a]]
            kinds[a], hits[a], trials[a] = cats[a], n * (n - 1.0), n * (m - 1.0)
        return d
    kinds[0], hits[0], trials[0] = 0, 0.0, 1.0
    for a in range(d):
        n = count[cats[a]]
        if kind == MEAN_PAIRS:
            hits[0] += n * (n - 1.0) / (m * (m - 1.0))
        elif n == m:
            hits[0] = 1.0
    return 1


@compiled
def _leaders(count, cats, d):
    """The most votes of a category, how many have as many, the votes of the runner-up, and two of the leading categories."""
    top, tops, runner_up, leader, second_leader = 0, 0, 0, -1, -1
    for a in range(d):
        n = count[cats[a]]
        if n > top:
            top, tops, runner_up, leader, second_leader = n, 1, top, cats[a], -1
        elif n == top and n > 0:
            tops, second_leader = tops + 1, cats[a]
        elif n > runner_up:
            runner_up = n
    return top, tops, runner_up, leader, second_leader


@compiled
def _contributions(kind, count, cats, d, m, prior, space):
    """One item's right answers and trials by true category; returns how many entries, and ties."""
    kinds, hits, trials = space
    if kind <= POOLED_PAIRS:
        return _pair_contributions(kind, count, cats, d, m, space), 0
    if m < (1 if kind == AGAINST_PRIOR else 3) or (kind == AGAINST_PRIOR and prior < 0):
        return 0, 0
    top, tops, runner_up, leader, second_leader = _leaders(count, cats, d)
    if kind == AGAINST_PRIOR:
        kinds[0], hits[0], trials[0] = leader, 1.0 if prior == leader else 0.0, 1.0
        return (1, 0) if tops == 1 else (0, 1)
    entries, ties = 0, 0
    for a in range(d):
        c = cats[a]
        n = count[c]
        if n == 0:
            continue
        truth = _majority_of_others(n, top, tops, runner_up, leader, c)
        if truth == -2:
            truth = second_leader if c == leader else leader
        if truth == -1:
            ties += n
            continue
        kinds[entries], hits[entries], trials[entries] = truth, n if truth == c else 0, n
        entries += 1
    return entries, ties


@compiled(interpret_below=SMALL)
def tally(start, code, kind, prior, width, widest):
    """Right answers and trials by true category over all items; ties; items that took part."""
    hit, trial = np.zeros(width), np.zeros(width)
    count = np.zeros(width, np.int64)
    space = min(widest, width) + 1
    cats, kinds = np.zeros(space, np.int64), np.zeros(space, np.int64)
    hits, trials = np.zeros(space), np.zeros(space)
    ties, items = 0, 0
    for i in range(start.size - 1):
        m = start[i + 1] - start[i]
        d = _tally_item(code[start[i] : start[i + 1]], count, cats)
        entries, tied = _contributions(kind, count, cats, d, m, prior[i] if prior.size else -1, (kinds, hits, trials))
        ties += tied
        items += entries > 0
        for a in range(entries):
            hit[kinds[a]] += hits[a]
            trial[kinds[a]] += trials[a]
        for a in range(d):
            count[cats[a]] = 0
    return hit, trial, ties, items


@compiled(interpret_below=SMALL)
def tally_influence(cast, kind, prior, slopes, widest, people, fixed):
    """Influences on a function of the tallies with derivatives ``slopes`` (by right answers, by trials).

    ``cast`` holds start, rater and code. Also returned: the trials of each item, those that vanish with each
    rater, and the rater's votes that took part.
    """
    start, rater, code = cast
    width = slopes.shape[1]
    count = np.zeros(width, np.int64)
    space = min(widest, width) + 1
    cats, kinds = np.zeros(space, np.int64), np.zeros(space, np.int64)
    hits, trials = np.zeros(space), np.zeros(space)
    effect_of, lost_of = np.zeros(width), np.zeros(width)
    by_item, item_trials = np.zeros(start.size - 1), np.zeros(start.size - 1)
    by_rater, rater_trials, rater_votes = np.zeros(people), np.zeros(people), np.zeros(people)
    cells, first, second = 0, 0.0, 0.0
    for i in range(start.size - 1):
        m = start[i + 1] - start[i]
        d = _tally_item(code[start[i] : start[i + 1]], count, cats)
        message = prior[i] if prior.size else -1
        entries, _ = _contributions(kind, count, cats, d, m, message, (kinds, hits, trials))
        for a in range(entries):
            by_item[i] += hits[a] * slopes[0, kinds[a]] + trials[a] * slopes[1, kinds[a]]
            item_trials[i] += trials[a]
        for b in range(d):
            c = cats[b]
            count[c] -= 1
            entries, _ = _contributions(kind, count, cats, d, m - 1, message, (kinds, hits, trials))
            count[c] += 1
            effect_of[c], lost_of[c] = by_item[i], item_trials[i]
            for a in range(entries):
                effect_of[c] -= hits[a] * slopes[0, kinds[a]] + trials[a] * slopes[1, kinds[a]]
                lost_of[c] -= trials[a]
        for k in range(start[i], start[i + 1]):
            c = code[k]
            if item_trials[i] == 0.0 and lost_of[c] == 0.0:
                continue
            if rater.size:
                if rater[k] == fixed:
                    continue
                by_rater[rater[k]] += effect_of[c]
                rater_trials[rater[k]] += lost_of[c]
                rater_votes[rater[k]] += 1
            cells += 1
            first += effect_of[c]
            second += effect_of[c] ** 2
        for a in range(d):
            count[cats[a]] = 0
    return by_item, item_trials, by_rater, rater_trials, rater_votes, cells, first, second
