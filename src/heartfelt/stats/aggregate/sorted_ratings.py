"""Ratings sorted by item, as the aggregation loops want them; numbers and categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.ratings import refuse_repeats
from heartfelt.stats.triples import Floats, Ids, Ints, Triples, Values, as_array, code, triples


@dataclass(frozen=True, slots=True)
class SortedRatings:
    """Ratings in order of item: ``starts[i] : starts[i + 1]`` are item i's."""

    starts: Ints
    rater: Ints
    value: Floats
    items: Sequence[Any]
    raters: Sequence[Any]
    left_out: int

    @property
    def counts(self) -> Ints:
        """Ratings per item."""
        return np.diff(self.starts)


@dataclass(frozen=True, slots=True)
class SortedCategories:
    """The same with categories coded in ``categories`` order."""

    starts: Ints
    rater: Ints
    category: Ints
    items: Sequence[Any]
    raters: Sequence[Any]
    categories: Sequence[Any]
    left_out: int

    @property
    def counts(self) -> Ints:
        """Ratings per item."""
        return np.diff(self.starts)


def sorted_ratings(rater: Ids, item: Ids, value: Values, *, repeats: bool) -> SortedRatings:
    """Sort numeric ratings by item; ``repeats`` says whether a rater may rate an item again."""
    t = triples(rater, item, value)
    if not repeats:
        refuse_repeats(t)
    return _sorted(t)


def sorted_categories(
    rater: Ids, item: Ids, value: Values, *, categories: Sequence[Any] | None, repeats: bool
) -> SortedCategories:
    """Sort categorical ratings by item. Missing answers (None, NaN) are left out and counted.

    Categories are put in the given order, else in ascending order where they can be compared, else as they
    appear.
    """
    answers = as_array(value)
    coded, names = _codes(answers, categories)
    s = sorted_ratings(rater, item, coded, repeats=repeats)
    return SortedCategories(s.starts, s.rater, s.value.astype(np.int64), s.items, s.raters, names, s.left_out)


def _sorted(t: Triples) -> SortedRatings:
    from heartfelt.stats._kernels_reliability import group

    starts, order = group(t.item, len(t.items))
    return SortedRatings(starts, t.rater[order], t.value[order], t.items, t.raters, t.left_out)


def _codes(answers: Any, categories: Sequence[Any] | None) -> tuple[Floats, Sequence[Any]]:
    """Codes of the answers (NaN for missing ones) and the categories in order."""
    if answers.dtype.kind in "fc":
        gone = ~np.isfinite(answers)
    elif answers.dtype == object:
        gone = np.array(
            [x is None or (isinstance(x, float) and not np.isfinite(x)) for x in answers], dtype=bool
        )
    else:
        gone = np.zeros(answers.size, dtype=bool)
    seen = code(answers[~gone] if gone.any() else answers)
    names = list(seen.names)
    if categories is None:
        try:
            order = sorted(names)
        except TypeError:
            order = names
    else:
        order = list(categories)
        unknown = [name for name in names if name not in order]
        if unknown:
            raise InputError(
                f"The category {unknown[0]!r} is not among the categories given.",
                "Add it, or correct the answer.",
            )
        if len(set(order)) != len(order):
            raise InputError("The categories given repeat one.", "List each category once.")
    position = {name: float(i) for i, name in enumerate(order)}
    lookup = np.array([position[name] for name in names], dtype=np.float64)
    out = np.full(answers.size, np.nan)
    if names:
        out[~gone] = lookup[seen.codes]
    return out, order
