"""Ratings as a design: who rated what, whether every rater rated every item, and how many ratings each item has.

Where a rater may rate an item once, repeats are refused: averaged in silently they would pass for further raters.
Functions of ratings take the three columns, or a ``Ratings`` made of them once; what several figures share
(the fitted model, the sums without each unit) is then computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values, as_array, as_floats, code

T = TypeVar("T")


@dataclass(frozen=True, eq=False, kw_only=True)
class Ratings:
    """Ratings with coded ids. ``left_out`` counts those without a finite value."""

    rater: Ints
    item: Ints
    value: Floats
    raters: Sequence[Any]
    items: Sequence[Any]
    left_out: int = 0
    _shared: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def size(self) -> int:
        return int(self.value.size)

    @property
    def complete(self) -> bool:
        """Whether every rater rated every item."""
        return self.size > 0 and self.size == len(self.items) * len(self.raters)

    @property
    def counts(self) -> dict[str, int]:
        left_out = {"left_out": self.left_out} if self.left_out else {}
        return {"ratings": self.size, "items": len(self.items), "raters": len(self.raters), **left_out}

    @cached_property
    def per_item(self) -> Ints:
        return np.bincount(self.item, minlength=len(self.items))

    @cached_property
    def per_rater(self) -> Ints:
        return np.bincount(self.rater, minlength=len(self.raters))

    @property
    def item_means(self) -> Floats:
        return np.asarray(np.bincount(self.item, self.value, minlength=len(self.items)) / self.per_item)

    def shared(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` gives, computed when it is first asked for under this key."""
        if key not in self._shared:
            self._shared[key] = make()
        return cast("T", self._shared[key])

    def part(self, keep: Any) -> Ratings:
        """The ratings where ``keep`` is true, with ids coded afresh."""
        raters, rater = np.unique(self.rater[keep], return_inverse=True)
        items, item = np.unique(self.item[keep], return_inverse=True)
        return Ratings(
            rater=rater.astype(np.int64),
            item=item.astype(np.int64),
            value=self.value[keep],
            raters=[self.raters[i] for i in raters],
            items=[self.items[i] for i in items],
        )


def triples(rater: Ids, item: Ids, value: Values) -> Ratings:
    """Code parallel columns, leaving out ratings with no finite value; a rater may rate an item again."""
    values = as_floats(value)
    rater_array, item_array = as_array(rater), as_array(item)
    if not rater_array.size == item_array.size == values.size:
        raise InputError(
            f"The columns differ in length: rater {rater_array.size}, item {item_array.size}, value {values.size}.",
            "Pass parallel arrays: one entry per rating in each.",
        )
    keep = np.isfinite(values)
    left_out = int(values.size - np.count_nonzero(keep))
    if left_out:
        rater, item, values = rater_array[keep], item_array[keep], values[keep]
    raters, items = code(rater), code(item)
    return Ratings(
        rater=raters.codes, item=items.codes, value=values, raters=raters.names, items=items.names, left_out=left_out
    )


def as_ratings(rater: Ids | Ratings, item: Ids = None, value: Values = None) -> Ratings:
    """Code the ratings and refuse repeated (rater, item) pairs; ``Ratings`` are taken as they are."""
    if isinstance(rater, Ratings):
        return rater
    ratings = triples(rater, item, value)
    refuse_repeats(ratings)
    return ratings


def refuse_repeats(t: Ratings) -> None:
    """Raise an InputError that names the first repeated (rater, item) pair."""
    cells = len(t.items) * len(t.raters)
    # A table of all pairs is quicker than grouping where it is hardly larger than the ratings.
    if t.value.size <= cells <= 4 * t.value.size:
        key = t.item * len(t.raters) + t.rater
        times = np.bincount(key, minlength=cells)
        repeats = int(t.value.size - np.count_nonzero(times))
        first = int(np.argmax(times[key] > 1)) if repeats else -1
    elif t.value.size:
        from heartfelt.stats.compiled import _kernels_reliability as kernels

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
