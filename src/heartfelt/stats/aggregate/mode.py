"""The most frequent answer to each item, with an explicit policy for ties.

| ties | a tied item gets |
|---|---|
| "lowest" | the first of the tied categories in category order |
| "highest" | the last |
| "missing" | no category |
| "split" | no single category; its support is shared equally among the tied ones |

Category order is the one passed, else ascending, else order of appearance. ``shares`` is the share of the
item's ratings that chose the (or each) most frequent category, its standard error sqrt(p (1 - p) / n).
Categories may be numbers, strings or anything hashable. A rater may rate an item once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.aggregate.result import Consensus
from heartfelt.stats.aggregate.sorted_ratings import sorted_categories
from heartfelt.stats.triples import Ids, Values

SUPPORT_CELLS = 20_000_000
Ties: TypeAlias = Literal["lowest", "highest", "missing", "split"]


def mode(
    rater: Ids, item: Ids, value: Values, *, ties: Ties = "missing", categories: Sequence[Any] | None = None
) -> Consensus:
    """Most frequent category per item, its share, and the number of ties."""
    from heartfelt.stats import _kernels_aggregate as kernels

    if ties not in ("lowest", "highest", "missing", "split"):
        raise InputError(
            f"There is no tie policy '{ties}'.", "Use 'lowest', 'highest', 'missing' or 'split'."
        )
    s = sorted_categories(rater, item, value, categories=categories, repeats=False)
    votes, bounds, winners = kernels.plurality(s.starts, s.category, len(s.categories))
    number = np.diff(bounds)
    tied = number > 1
    chosen = (
        winners[bounds[1:] - 1] if ties == "highest" else winners[bounds[:-1]] if winners.size else winners
    )
    single = ties in ("lowest", "highest")
    notes = [f"{np.count_nonzero(tied)} of {len(s.items)} items are tied"] if tied.any() else []
    values = [None if tied[i] and not single else s.categories[chosen[i]] for i in range(len(s.items))]
    large = len(s.items) * len(s.categories) > SUPPORT_CELLS
    support = np.zeros((0 if large else len(s.items), len(s.categories)))
    if large:
        notes.append("no table of support: there are too many items and categories")
    elif ties == "split":
        support[np.repeat(np.arange(number.size), number), winners] = np.repeat(
            1.0 / np.maximum(number, 1), number
        )
    else:
        named = np.flatnonzero(~tied | single)
        support[named, chosen[named]] = 1.0
    shares = votes / np.maximum(s.counts, 1)
    return Consensus(
        s.items,
        values,
        shares,
        np.sqrt(shares * (1.0 - shares) / np.maximum(s.counts, 1)),
        s.counts,
        s.categories,
        support,
        f"mode, ties {ties}",
        s.raters,
        left_out=s.left_out,
        notes=tuple(notes),
        why_missing="the most frequent categories are tied",
    )
