"""Random numbers and shuffles of all draws at once: those that compiled loops draw one by one, number for number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heartfelt.stats.columns.triples import Ints
from heartfelt.stats.compiled._kernels_resample import _GOLDEN, _HALF, mix


def numbers_below(seed: int, draws: int, sizes: Sequence[int] | Ints) -> Ints:
    """For each draw, a number from 0 to ``size - 1`` for each size, as ``below`` gives them in this order."""
    bounds = np.asarray(sizes, np.uint64)
    steps = np.arange(1, draws * bounds.size + 1, dtype=np.uint64).reshape(draws, bounds.size)
    bits = mix.function(np.uint64(seed) + steps * _GOLDEN)  # type: ignore[attr-defined]  # a Kernel, which types take for the function itself
    numbers: Ints = (((bits >> _HALF) * bounds) >> _HALF).astype(np.int64)
    return numbers


def successive_shuffles(length: int, first: Sequence[int] | Ints, second: Ints) -> Ints:
    """The order of ``length`` things after each draw: a row of ``second`` gives the place that each of ``first`` is
    swapped with, and every draw begins with the order that the one before left.
    """
    draws = len(second)
    rows = np.arange(draws)
    swapped = np.tile(np.arange(length)[:, None], draws)
    for step, position in enumerate(first):
        partner = second[:, step]
        saved = swapped[position].copy()
        swapped[position] = swapped[partner, rows]
        swapped[partner, rows] = saved
    orders, order = np.ascontiguousarray(swapped.T), np.arange(length)
    for draw in range(draws):
        orders[draw] = order = order[orders[draw]]
    return orders
