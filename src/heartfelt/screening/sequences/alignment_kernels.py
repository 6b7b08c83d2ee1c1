"""Compiled loops of the collusion rule: local alignment of two answer sequences within a band.

A sequence is a (trials x channels) array of standardised answers, NaN where there is none. The score of two aligned
trials is the log likelihood ratio, in nats, of two answers that correlate at ``rho`` against two independent ones,
times ``weight`` (which stops correlated channels from counting twice). Trials of the same stimulus score nothing.
A trial skipped in either sequence costs ``gap``. ``how`` is (band, gap, rho); ``sa`` and ``sb`` are the stimuli.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.compiled._kernels_resample import below
from heartfelt.stats.compiled.kernel import compiled


@compiled
def align(a: Any, b: Any, sa: Any, sb: Any, how: Any, weight: float) -> float:
    """The best local score with offsets of at most ``band`` trials."""
    band, gap, rho = how
    n, width, m = a.shape[0], a.shape[1], b.shape[0]
    base = -0.5 * np.log(1.0 - rho * rho)
    square_factor, joint = rho * rho / (2.0 * (1.0 - rho * rho)), rho / (1.0 - rho * rho)
    wide = 2 * band + 1
    before, now = np.zeros(wide), np.zeros(wide)
    best = 0.0
    for i in range(n):
        for k in range(wide):
            j = i + k - band
            if j < 0 or j >= m:
                now[k] = 0.0
                continue
            score = 0.0
            if sa[i] != sb[j]:
                for c in range(width):
                    u, v = a[i, c], b[j, c]
                    term = base - square_factor * (u * u + v * v) + joint * u * v
                    if term == term:
                        score += term
            h = before[k] + score * weight
            if k + 1 < wide and before[k + 1] - gap > h:
                h = before[k + 1] - gap
            if k > 0 and now[k - 1] - gap > h:
                h = now[k - 1] - gap
            if h < 0.0:
                h = 0.0
            now[k] = h
            if h > best:
                best = h
        for k in range(wide):
            before[k] = now[k]
    return best


@compiled
def pair_weight(cov_a: Any, cov_b: Any) -> float:
    """The effective share of independent channels: (trace)^2 / (trace of the square) / channels."""
    width = cov_a.shape[0]
    trace, square = 0.0, 0.0
    for c in range(width):
        trace += (cov_a[c, c] + cov_b[c, c]) / 2.0
        for d in range(width):
            square += ((cov_a[c, d] + cov_b[c, d]) / 2.0) ** 2
    return trace * trace / square / width if square > 0.0 else 1.0


@compiled
def score_pairs(seq: Any, stim: Any, edges: Any, cov: Any, first: Any, second: Any, how: Any) -> Any:
    out = np.zeros(first.size)
    for p in range(first.size):
        i, j = first[p], second[p]
        weight = pair_weight(cov[i], cov[j])
        out[p] = align(
            seq[edges[i] : edges[i + 1]],
            seq[edges[j] : edges[j + 1]],
            stim[edges[i] : edges[i + 1]],
            stim[edges[j] : edges[j + 1]],
            how,
            weight,
        )
    return out


@compiled
def surrogate_scores(a: Any, b: Any, sa: Any, how: Any, weight: float, block: int, draws: int, seed: int) -> Any:
    """Scores of ``a`` against reshuffled ``b``: blocks in random order, each run backwards.

    A block keeps the values and (being reversed) the autocorrelation of ``b`` but no stretch of its sequence.
    """
    state = np.uint64(seed)
    m = b.shape[0]
    blocks = (m + block - 1) // block
    order = np.arange(blocks)
    nowhere = np.full(m, -1)
    shuffled = np.empty_like(b)
    out = np.empty(draws)
    for draw in range(draws):
        state, start = below(state, m)
        for i in range(blocks - 1, 0, -1):
            state, j = below(state, i + 1)
            order[i], order[j] = order[j], order[i]
        at = m - 1
        for which in order:
            for t in range(block):
                i = which * block + t
                if i < m:
                    shuffled[at] = b[(i + start) % m]
                    at -= 1
        out[draw] = align(a, shuffled, sa, nowhere, how, weight)
    return out


@compiled
def best_elsewhere(a: Any, b: Any, sa: Any, how: Any, weight: float) -> float:
    """The best score of ``a`` against ``b`` turned round by more than twice the band."""
    band, m = how[0], b.shape[0]
    nowhere = np.full(m, -1)
    turned = np.empty_like(b)
    best = 0.0
    for shift in range(2 * band + 1, m - 2 * band):
        for j in range(m):
            turned[j] = b[(j + shift) % m]
        score = align(a, turned, sa, nowhere, how, weight)
        if score > best:
            best = score
    return best


@compiled
def path(a: Any, b: Any, sa: Any, sb: Any, how: Any, weight: float) -> Any:
    """The aligned trials of the best local alignment, as pairs of places, last first."""
    band, gap, rho = how
    n, width, m = a.shape[0], a.shape[1], b.shape[0]
    base = -0.5 * np.log(1.0 - rho * rho)
    square_factor, joint = rho * rho / (2.0 * (1.0 - rho * rho)), rho / (1.0 - rho * rho)
    h = np.zeros((n + 1, m + 1))
    move = np.zeros((n + 1, m + 1), dtype=np.int8)
    top_i, top_j = 0, 0
    for i in range(1, n + 1):
        for j in range(max(1, i - band), min(m, i + band) + 1):
            score = 0.0
            if sa[i - 1] != sb[j - 1]:
                for c in range(width):
                    u, v = a[i - 1, c], b[j - 1, c]
                    term = base - square_factor * (u * u + v * v) + joint * u * v
                    if term == term:
                        score += term
            best, step = 0.0, 0
            if h[i - 1, j - 1] + score * weight > best:
                best, step = h[i - 1, j - 1] + score * weight, 1
            if j < i + band and h[i - 1, j] - gap > best:
                best, step = h[i - 1, j] - gap, 2
            if j > i - band and h[i, j - 1] - gap > best:
                best, step = h[i, j - 1] - gap, 3
            h[i, j], move[i, j] = best, step
            if best > h[top_i, top_j]:
                top_i, top_j = i, j
    out = np.empty((n + m, 2), dtype=np.int64)
    count, i, j = 0, top_i, top_j
    while move[i, j] > 0:
        if move[i, j] == 1:
            out[count, 0], out[count, 1] = i - 1, j - 1
            count += 1
            i, j = i - 1, j - 1
        elif move[i, j] == 2:
            i -= 1
        else:
            j -= 1
    return out[:count]


@compiled
def shared_grams(gram: Any, rater: Any, position: Any, band: int, crowd: int, most: int) -> Any:
    """Pairs of raters with the same n-gram at places within the band; entries are sorted by gram, then place.

    Grams shared by more than ``crowd`` raters in reach are passed over: they say nothing about a pair.
    """
    out = np.empty((most, 2), dtype=np.int64)
    count = 0
    for i in range(gram.size):
        j = i + 1
        while j < gram.size and gram[j] == gram[i] and position[j] - position[i] <= band and j - i <= crowd:
            if rater[i] != rater[j]:
                if count >= most:
                    return out[:count]
                out[count, 0] = min(rater[i], rater[j])
                out[count, 1] = max(rater[i], rater[j])
                count += 1
            j += 1
    return out[:count]
