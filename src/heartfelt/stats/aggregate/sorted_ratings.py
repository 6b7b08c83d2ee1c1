"""Ratings sorted by item, as the aggregation loops want them; numbers and categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from heartfelt.stats.columns.categories import categorise
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values, as_array
from heartfelt.stats.ratings import refuse_repeats, triples


class RatingFacts(TypedDict):
    """Whose and of what ratings are; arguments of ``Aggregate`` and ``CategoryConsensus``."""

    items: Sequence[Any]
    counts: Ints
    raters: Sequence[Any]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedRatings:
    """Ratings in order of item: ``starts[i] : starts[i + 1]`` are item i's.

    ``value`` holds numbers, or codes in the order of ``categories``.
    """

    starts: Ints
    rater: Ints
    value: npt.NDArray[Any]
    items: Sequence[Any]
    raters: Sequence[Any]
    left_out: int
    categories: Sequence[Any] = ()

    @property
    def counts(self) -> Ints:
        return np.diff(self.starts)

    @property
    def facts(self) -> RatingFacts:
        """What every result of an aggregation says of its ratings."""
        return {"items": self.items, "counts": self.counts, "raters": self.raters, "left_out": self.left_out}

    @property
    def item(self) -> Ints:
        return np.repeat(np.arange(len(self.items)), self.counts)


def sorted_ratings(rater: Ids, item: Ids, value: Values, *, repeats: bool) -> SortedRatings:
    """Sort numeric ratings by item; ``repeats`` says whether a rater may rate an item again."""
    from heartfelt.stats.compiled._kernels_reliability import group

    t = triples(rater, item, value)
    if not repeats:
        refuse_repeats(t)
    starts, order = group(t.item, len(t.items))
    return SortedRatings(
        starts=starts, rater=t.rater[order], value=t.value[order], items=t.items, raters=t.raters, left_out=t.left_out
    )


def sorted_categories(
    rater: Ids, item: Ids, value: Values, *, categories: Sequence[Any] | None, repeats: bool
) -> SortedRatings:
    """Sort categorical ratings by item. Missing answers (None, NaN) are left out and counted."""
    coded = categorise(as_array(value), categories)
    codes = np.where(coded.codes < 0, np.nan, coded.codes)
    s = sorted_ratings(rater, item, codes, repeats=repeats)
    return replace(s, value=s.value.astype(np.int64), categories=coded.names)


def item_means(item: Ints, value: Floats, items: int) -> tuple[Floats, Floats]:
    """Mean and sample standard deviation of each item's values: NaN without any, the latter also of a single one."""
    counts = np.bincount(item, minlength=items)
    means = np.where(counts > 0, np.bincount(item, value, items) / np.maximum(counts, 1), np.nan)
    squares = np.bincount(item, (value - means[item]) ** 2, items)
    return means, np.where(counts > 1, np.sqrt(squares / np.maximum(counts - 1, 1)), np.nan)
