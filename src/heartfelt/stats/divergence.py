"""How far a predicted distribution over categories is from the votes, and whether the right one is near its top.

Distributions are rows that add up to 1, one column a category. The Jensen-Shannon divergence is in bits: 0 where the two
agree, 1 where they share no category (Lin 1991). An item is a hit among the first ``k`` where fewer than ``k`` categories
are given more than its own; where the k-th place is shared, it counts the share of the tied that fit, so that equal shares
for all give ``k`` over the number of categories.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats.triples import Floats, Ints


def jensen_shannon(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """The divergence of each row of ``first`` from that of ``second``, in bits."""
    a, b = _rows(first), _rows(second)
    if a.shape != b.shape:
        raise InputError(
            "The two tables of distributions differ in shape.", "Use the same categories in both."
        )
    middle = (a + b) / 2
    return np.clip((_relative(a, middle) + _relative(b, middle)) / 2, 0.0, 1.0)


def top_k(label: npt.ArrayLike, shares: npt.ArrayLike, k: int) -> Floats:
    """For each row, whether the category ``label`` (a column number) is among the ``k`` with the largest shares."""
    table = _rows(shares)
    own: Ints = np.asarray(label, dtype=np.int64)
    if k < 1 or own.shape != (table.shape[0],):
        raise InputError(
            "There must be one label a row, and k from 1.", "Pass the column number of each label."
        )
    mine = table[np.arange(own.size), own][:, None]
    above = (table > mine).sum(axis=1)
    tied = (table == mine).sum(axis=1)
    return np.asarray(np.clip((k - above) / tied, 0.0, 1.0), dtype=np.float64)


def _rows(shares: npt.ArrayLike) -> npt.NDArray[np.float64]:
    table: npt.NDArray[Any] = np.asarray(shares, dtype=np.float64)
    if table.ndim != 2 or not np.all(np.isfinite(table)) or np.any(table < 0):
        raise InputError(
            "Shares must be a table of numbers from 0 up.", "Give one row an item, one column a category."
        )
    total = table.sum(axis=1, keepdims=True)
    if np.any(total <= 0):
        raise InputError("A row of shares adds up to nothing.", "Leave out items without shares.")
    return np.asarray(table / total)


def _relative(p: npt.NDArray[np.float64], middle: npt.NDArray[np.float64]) -> Floats:
    there = p > 0
    logs = np.zeros_like(p)
    np.log2(p, out=logs, where=there)
    other = np.zeros_like(p)
    np.log2(middle, out=other, where=there)
    return np.asarray((p * (logs - other)).sum(axis=1))
