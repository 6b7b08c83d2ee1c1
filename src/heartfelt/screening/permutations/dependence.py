"""Whether a rater's block of answers depends on what was played: the permutation test of the informativeness rule."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.stats.columns.triples import Floats, Ints

Bools: TypeAlias = npt.NDArray[np.bool_]
CROSS_LIMIT = 4
"""Up to this many questions, an answer may also depend on what another question's answers predict."""
BEYOND_DOUBT = 8.0
"""Standard errors of the matching sum from which no shuffle in a million comes near, so none is drawn."""


def standardise(block: Floats, answered: Bools) -> Bools:
    """Centre each column over its seen entries and scale it to length 1, in place; which columns vary."""
    n = answered.sum(0)
    mean = np.where(answered, block, 0.0).sum(0) / np.maximum(n, 1)
    centred = np.where(answered, block - mean, 0.0)
    square = (centred**2).sum(0)
    varies: Bools = (n >= 3) & (square > 1e-12 * np.maximum(1.0, mean * mean * n))
    block[:, varies] = centred[:, varies] * (1.0 / np.sqrt(square[varies]))
    return varies


def moments(y: Floats, x: Floats, stratum: Ints) -> tuple[float, float]:
    """Mean and variance of the sum of column products when trials are permuted within strata."""
    mean, variance = 0.0, 0.0
    for level in np.unique(stratum):
        in_stratum = stratum == level
        n = int(in_stratum.sum())
        # Exact over all pairings within the stratum, so that no shuffle is drawn for the effect.
        my, mx = y[in_stratum].sum(0) / n, x[in_stratum].sum(0) / n
        mean += n * float(my @ mx)
        if n > 1:
            cy, cx = y[in_stratum] - my, x[in_stratum] - mx
            variance += float(((cy.T @ cy) * (cx.T @ cx)).sum()) / (n - 1)
    return mean, variance


def dependence(
    y: Floats, x: Floats, stratum: Ints, draws: int, seed: int, *, compiled: bool = True
) -> tuple[float, float, float, float]:
    """Matching sum, its null mean and variance, and the permutation p-value of any dependence.

    Trials are permuted within strata: trials on which the same questions were answered. A matching sum beyond doubt has
    the least p-value that ``draws`` can show. The number is the same whether loops are ``compiled`` or left to NumPy.
    """
    matching = float((y * x).sum())
    mean, variance = moments(y, x, stratum)
    if variance > 1e-12 and matching - mean > BEYOND_DOUBT * np.sqrt(variance):
        return matching, mean, variance, 1.0 / (draws + 1.0)
    cross = y.shape[1] <= CROSS_LIMIT
    order = np.argsort(stratum, kind="stable")
    start = np.searchsorted(stratum[order], stratum[order])
    if compiled:
        from heartfelt.screening.permutations.dependence_kernels import count_as_strong
    else:
        count_as_strong = count_as_strong_at_once
    as_strong = count_as_strong(y, x, order, start, cross, draws, seed)
    return matching, mean, variance, (as_strong + 1.0) / (draws + 1.0)


def count_as_strong_at_once(y: Floats, x: Floats, order: Ints, start: Ints, cross: bool, draws: int, seed: int) -> int:
    """How many shuffles are as strong as the pairing observed: all of them at once, by NumPy."""
    from heartfelt.stats.compiled.shuffles import numbers_below, successive_shuffles

    trials, width = y.shape
    counted = np.ones((width, width)) if cross else np.eye(width)
    observed = float(((y.T @ x) ** 2 * counted).sum())
    steps = np.lexsort((-np.arange(trials), start))
    steps = steps[steps > start[steps]]
    second = numbers_below(seed, draws, steps - start[steps] + 1) + start[steps]
    permutations = np.empty((draws, trials), np.int64)
    permutations[:, order] = order[successive_shuffles(trials, steps, second)]
    strengths = ((y.T @ x[permutations]) ** 2 * counted).sum((1, 2))
    return int((strengths >= observed * (1.0 - 1e-12)).sum())
