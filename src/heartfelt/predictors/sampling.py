"""A few items that stand for many: a seeded sample, balanced over questions, systems and intents.

Items are picked one by one: each time from a question, system and intent that were picked least so far (each counted against
an equal share), ties drawn from the seed. Stimuli are in one seeded order, the same under every question, so that a larger
sample asks everything about the same stimuli. The order of the rows does not matter.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.streams import stream

Ints: TypeAlias = npt.NDArray[np.int64]
BALANCED_OVER = ("question", "system", "intent")


def balanced_sample(items: pl.DataFrame, size: int, seed: int = 0) -> pl.DataFrame:
    """``stimulus, question`` of ``size`` items (all, if there are no more), in the order they were given.

    ``items`` has the columns stimulus and question and, where known, system and intent.
    """
    factors = [name for name in BALANCED_OVER if name in items.columns]
    given = items.select("stimulus", *factors).with_row_index("_at")
    if given.height <= size:
        return items.select("stimulus", "question")
    codes = {name: _codes(given[name].cast(pl.String).fill_null("")) for name in factors}
    names = given["stimulus"].unique().sort()
    order = stream(seed, "sample", "stimuli").permutation(len(names))
    place = dict(zip(names.to_list(), order.tolist(), strict=True))
    rank = np.array([place[name] for name in given["stimulus"].to_list()])
    strata, of_stratum = np.unique(np.stack(list(codes.values()), axis=1), axis=0, return_inverse=True)
    queues = _queues(of_stratum.ravel(), rank, len(strata))
    picked = _picked(strata, queues, size, seed)
    return given.filter(pl.col("_at").is_in(picked)).select("stimulus", "question")


def _codes(column: pl.Series) -> Ints:
    return np.unique(column.to_numpy().astype(str), return_inverse=True)[1].astype(np.int64)


def _queues(of_stratum: Ints, rank: Ints, strata: int) -> list[list[int]]:
    """The rows of each stratum, the first to be picked last."""
    queues: list[list[int]] = [[] for _ in range(strata)]
    for row in np.lexsort((rank,))[::-1].tolist():
        queues[of_stratum[row]].append(row)
    return queues


def _picked(strata: Ints, queues: list[list[int]], size: int, seed: int) -> list[int]:
    levels = [int(column.max()) + 1 for column in strata.T]
    counts = [np.zeros(count) for count in levels]
    tie = stream(seed, "sample", "ties").random(len(strata)) * 1e-6
    left = np.array([len(queue) for queue in queues])
    taken = np.zeros(len(strata))
    out: list[int] = []
    for _ in range(size):
        cost = tie + np.where(left > 0, 0.0, np.inf)
        for column, count in enumerate(counts):
            cost = cost + count[strata[:, column]] * levels[column]
        best = int(np.argmin(cost + 1e-3 * taken))
        out.append(queues[best].pop())
        left[best] -= 1
        taken[best] += 1
        for column, count in enumerate(counts):
            count[strata[best, column]] += 1
    return out
