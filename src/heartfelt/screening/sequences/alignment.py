"""The scores of ``_kernels_alignment`` by NumPy, many pairs at a time: for panels too small to be worth compiling for."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from heartfelt.screening.sequences import alignment_kernels as kernels
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.compiled.shuffles import numbers_below, successive_shuffles

How: TypeAlias = tuple[int, float, float]
PAIRS_AT_ONCE = 2000
path = kernels.path.interpreted  # type: ignore[attr-defined]  # a Kernel, which types take for the function itself
pair_weight = kernels.pair_weight.interpreted  # type: ignore[attr-defined]  # a Kernel, which types take for the function itself


def align_each(a: Floats, b: Floats, sa: Ints, sb: Ints | None, how: How, weight: Floats | float) -> Floats:
    """The best local score of each pair of sequences.

    Sequences are (pairs x trials x channels), padded with NaN at the end; ``a`` may be a single one. Without ``sb``, no
    two trials are of the same stimulus.
    """
    band, gap, rho = how
    base = -0.5 * np.log(1.0 - rho * rho)
    square_factor, joint = rho * rho / (2.0 * (1.0 - rho * rho)), rho / (1.0 - rho * rho)
    pairs, m = b.shape[:2]
    n, offsets = a.shape[-2], 2 * band + 1
    # Trials outside b score 0, so their cells never exceed their neighbours and need no special case.
    scores = np.zeros((n, offsets, pairs))
    for k in range(offsets):
        low, high = max(0, band - k), min(n, m + band - k)
        if low >= high:
            continue
        columns = slice(low + k - band, high + k - band)
        u, v = a[..., low:high, :], b[:, columns]
        terms = base - square_factor * (u * u + v * v) + joint * u * v
        score = np.where(np.isnan(terms), 0.0, terms).sum(2)
        if sb is not None:
            score[sa[..., low:high] == sb[:, columns]] = 0.0
        scores[low:high, k] = score.T
    scores *= weight
    before, now = np.zeros((offsets + 1, pairs)), np.zeros((offsets + 1, pairs))
    best = np.zeros(pairs)
    for i in range(n):
        np.maximum(before[:-1] + scores[i], before[1:] - gap, out=now[:-1])
        np.maximum(now, 0.0, out=now)
        for k in range(1, offsets):
            np.maximum(now[k], now[k - 1] - gap, out=now[k])
        np.maximum(best, now[:-1].max(0), out=best)
        before, now = now, before
    return best


def align(a: Floats, b: Floats, sa: Ints, sb: Ints, how: How, weight: float) -> float:
    return float(align_each(a, b[None], sa, sb[None], how, weight)[0])


def score_pairs(
    values: Floats, stimulus: Ints, edges: Ints, covariance: Floats, first: Ints, second: Ints, how: How
) -> Floats:
    sizes = np.diff(edges)
    row = np.repeat(np.arange(sizes.size), sizes)
    trial = np.arange(edges[-1]) - edges[row]
    sequences = np.full((sizes.size, int(sizes.max(initial=0)), values.shape[1]), np.nan)
    sequences[row, trial] = values
    stimuli = np.full(sequences.shape[:2], -1)
    stimuli[row, trial] = stimulus
    both = (covariance[first] + covariance[second]) / 2.0
    trace, square = np.trace(both, axis1=1, axis2=2), (both**2).sum((1, 2))
    weight = np.ones(first.size)
    np.divide(trace * trace, square * covariance.shape[1], out=weight, where=square > 0.0)
    out = np.zeros(first.size)
    for start in range(0, first.size, PAIRS_AT_ONCE):
        batch = slice(start, start + PAIRS_AT_ONCE)
        i, j = first[batch], second[batch]
        out[batch] = align_each(sequences[i], sequences[j], stimuli[i], stimuli[j], how, weight[batch])
    return out


def surrogate_scores(
    a: Floats, b: Floats, sa: Ints, how: How, weight: float, block: int, draws: int, seed: int
) -> Floats:
    """Scores of ``a`` against reshuffled ``b``: blocks in random order, each run backwards."""
    m = len(b)
    blocks = (m + block - 1) // block
    ends = np.arange(blocks - 1, 0, -1)
    numbers = numbers_below(seed, draws, [m, *(ends + 1)])
    order = successive_shuffles(blocks, ends, numbers[:, 1:])
    trial = (order[:, :, None] * block + np.arange(block)).reshape(draws, -1)
    trial = trial[trial < m].reshape(draws, m)
    return align_each(a, b[(trial[:, ::-1] + numbers[:, :1]) % m], sa, None, how, weight)


def best_elsewhere(a: Floats, b: Floats, sa: Ints, how: How, weight: float) -> float:
    """The best score of ``a`` against ``b`` turned round by more than twice the band."""
    m, reach = len(b), 2 * how[0]
    shifts = np.arange(reach + 1, m - reach)
    if not shifts.size:
        return 0.0
    turned = b[(np.arange(m) + shifts[:, None]) % m]
    return float(align_each(a, turned, sa, None, how, weight).max())
