"""Fleiss' kappa: agreement of many raters on unordered categories, beyond chance.

Chance agreement is that of votes drawn from the shares all raters together gave to each category. With equal
numbers of votes per item this is the original coefficient; with unequal numbers it is Gwet's generalisation,
in which every item weighs the same (see ``chance``).

Source: Fleiss, Measuring nominal scale agreement among many raters, 1971; Gwet, Handbook of Inter-Rater
Reliability, 4th edition, 2014.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.agreement.chance import coefficient
from heartfelt.stats.agreement.grouped import Prior, grouped
from heartfelt.stats.agreement.interval import Interval, wanted
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import as_array, as_floats, code


def fleiss_kappa(
    rater: Any,
    item: Any,
    value: Any,
    *,
    interval: str | Interval | None = "jackknife",
    resample: str | None = None,
    prior: Prior = None,
) -> Estimate:
    """Fleiss' kappa of votes, any number per item; ``rater=None`` for votes without identities."""
    votes = grouped(rater, item, value, numbers=False, prior=prior)
    return coefficient(votes, "Fleiss' kappa", None, wanted(interval, resample, "jackknife"))


def fleiss_kappa_counts(
    item: Any, category: Any, count: Any, *, interval: str | Interval | None = "jackknife"
) -> Estimate:
    """Fleiss' kappa of a table of votes: parallel columns of item, category and how many votes it got."""
    counts = as_floats(count, "count")
    if not np.isfinite(counts).all() or (counts < 0).any() or (counts != np.floor(counts)).any():
        raise InputError("Some counts of votes are not whole numbers from zero up.", "Pass plain counts.")
    items, kinds = as_array(item), as_array(category)
    if not items.size == kinds.size == counts.size:
        raise InputError(
            f"The columns differ in length: item {items.size}, category {kinds.size}, count {counts.size}.",
            "Pass parallel arrays: one entry per item and category.",
        )
    times = counts.astype(np.int64)
    pair = code(items).codes * (code(kinds).count + 1) + code(kinds).codes
    if np.unique(pair).size != pair.size:
        raise InputError("An item has two counts for one category.", "Add them up first.")
    votes = grouped(None, np.repeat(items, times), np.repeat(kinds, times), numbers=False)
    return coefficient(votes, "Fleiss' kappa", None, wanted(interval, None, "jackknife"))
