"""The rating design: who rated what, whether every rater rated every item, and how many ratings each item
has.

A rater may rate an item once. Repeats are refused: averaged in silently they would pass for further raters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.triples import Floats, Ids, Ints, Triples, Values, triples


@dataclass(frozen=True, slots=True)
class Design:
    """Ratings with coded ids, no (rater, item) pair twice, and the number of ratings per item and rater."""

    rater: Ints
    item: Ints
    value: Floats
    raters: Sequence[Any]
    items: Sequence[Any]
    per_item: Ints
    per_rater: Ints
    left_out: int = 0

    @property
    def size(self) -> int:
        """Number of ratings."""
        return int(self.value.size)

    @property
    def complete(self) -> bool:
        """Whether every rater rated every item."""
        return self.size > 0 and self.size == len(self.items) * len(self.raters)

    @property
    def counts(self) -> dict[str, int]:
        """Counts for an estimate."""
        left_out = {"left_out": self.left_out} if self.left_out else {}
        return {"ratings": self.size, "items": len(self.items), "raters": len(self.raters), **left_out}

    def part(self, keep: Any) -> Design:
        """The design of the ratings where ``keep`` is true, with ids coded afresh."""
        kept_raters, rater = np.unique(self.rater[keep], return_inverse=True)
        kept_items, item = np.unique(self.item[keep], return_inverse=True)
        return Design(
            rater.astype(np.int64),
            item.astype(np.int64),
            self.value[keep],
            [self.raters[i] for i in kept_raters],
            [self.items[i] for i in kept_items],
            np.bincount(item, minlength=kept_items.size),
            np.bincount(rater, minlength=kept_raters.size),
        )


def rating_design(rater: Ids, item: Ids, value: Values) -> Design:
    """Code the ratings and refuse repeated (rater, item) pairs."""
    t = triples(rater, item, value)
    per_item = np.bincount(t.item, minlength=len(t.items))
    per_rater = np.bincount(t.rater, minlength=len(t.raters))
    refuse_repeats(t)
    return Design(t.rater, t.item, t.value, t.raters, t.items, per_item, per_rater, t.left_out)


def refuse_repeats(t: Triples) -> None:
    """Raise an InputError that names the first repeated (rater, item) pair."""
    cells = len(t.items) * len(t.raters)
    if t.value.size <= cells <= 4 * t.value.size:
        key = t.item * len(t.raters) + t.rater
        times = np.bincount(key, minlength=cells)
        repeats = int(t.value.size - np.count_nonzero(times))
        first = int(np.argmax(times[key] > 1)) if repeats else -1
    elif t.value.size:
        from heartfelt.stats import _kernels_reliability as kernels

        starts, order = kernels.group(t.item, len(t.items))
        repeats, first = kernels.repeated_pairs(starts, order, t.rater, len(t.raters))
    else:
        return
    if repeats:
        raise InputError(
            f"Rater {t.raters[t.rater[first]]!r} rated item {t.items[t.item[first]]!r} more than once "
            f"({repeats} repeated rating{'s' if repeats > 1 else ''} in all).",
            "Keep one rating per rater and item, such as the first or the mean of the repeats.",
        )
