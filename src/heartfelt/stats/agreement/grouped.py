"""Ratings grouped by item: how every agreement statistic reads its columns.

Columns are parallel, ids anything hashable, values numbers or categories. ``rater=None`` means votes without
identities. Ratings without a value (``None``, NaN, infinities) are left out and counted. One rater rates an
item once: a second rating of the same item by the same rater is an error, because whether to keep the first,
the last or the mean is a choice about the study. A ``prior`` (one machine value per item) joins as one more
rater who is not part of the sample of raters.

Categories are coded by ``stats.categories``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats.columns.categories import CodedCategories, absent, categorise
from heartfelt.stats.columns.paired import same_length
from heartfelt.stats.columns.triples import IdCodes, Ints, as_array, as_floats, code
from heartfelt.stats.ratings import Ratings
from heartfelt.stats.reliability.rater_differences import MANY_RATERS, USUAL, RaterDifferences
from heartfelt.stats.reliability.two_way_jackknife import differences_of, differences_of_votes

Prior: TypeAlias = Mapping[Any, Any] | tuple[Any, Any] | None

PRIOR_NAME = "prior"
_WITHOUT = {
    "rater": ", or pass rater=None if no vote carries an identity.",
    "item": ": a rating without an item says nothing.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """Item ``i`` has the ratings ``start[i]:start[i + 1]``; ``value`` holds numbers or category codes.

    Codes may have gaps: an item or rater without ratings takes no part. ``rater`` is empty when raters are
    unknown; ``prior`` is the code of the prior among the raters, or -1.
    """

    start: Ints
    rater: npt.NDArray[np.int32]
    value: npt.NDArray[Any]
    raters: Sequence[Any]
    items: Sequence[Any]
    categories: CodedCategories | None
    left_out: int
    prior: int
    prior_unused: int

    @property
    def named(self) -> CodedCategories:
        assert self.categories is not None
        return self.categories

    @property
    def sizes(self) -> Ints:
        return np.diff(self.start)

    def counts(self, at_least: int = 2) -> dict[str, int]:
        """What takes part in a statistic over items with ``at_least`` ratings, for an estimate's counts.

        ``left_out`` ratings have no value, ``unused`` ones are on items with too few, ``prior_unused`` priors
        are for items nobody rated; each is named only where there are any.
        """
        sizes = self.sizes
        used = sizes >= at_least
        out = {"ratings": int(sizes[used].sum()), "items": int(used.sum())}
        if self.rater.size:
            from heartfelt.stats.agreement.kernels._kernels_agreement import participants

            taking_part = participants(self.start, self.rater, len(self.raters), at_least)
            out["raters"] = int(np.count_nonzero(taking_part))
            if self.prior >= 0:
                out["priors"] = int(taking_part[self.prior])
                out["ratings"] -= out["priors"]
                out["raters"] -= int(out["priors"] > 0)
        extra = {"left_out": self.left_out, "unused": int(sizes[~used].sum()), "prior_unused": self.prior_unused}
        return out | {name: count for name, count in extra.items() if count}


def grouped(
    rater: Any,
    item: Any,
    value: Any,
    *,
    numbers: bool,
    prior: Prior = None,
    categories: Sequence[Any] | None = None,
    by_rater: bool = False,
) -> Grouped:
    """Read parallel columns; ``numbers`` or categories; ``by_rater`` orders raters within each item."""
    from heartfelt.stats.agreement.kernels import _kernels_agreement as kernels
    from heartfelt.stats.compiled._kernels_reliability import group

    value_column = contiguous(as_floats(value)) if numbers else as_array(value)
    items = ids(item, "item")
    raters = IdCodes(np.empty(0, np.int64), ()) if rater is None else ids(rater, "rater")
    rater_column = {} if rater is None else {"rater": raters.codes}
    same_length({**rater_column, "item": items.codes, "value": value_column})
    prior_items, prior_values = read_prior(prior)
    human = value_column.size
    if prior_items:
        value_column = _joined(value_column, prior_values, numbers)
    if numbers:
        coded, kinds, present = value_column, None, np.isfinite(value_column)
    else:
        kinds = categorise(value_column, categories)
        coded, present = kinds.codes, kinds.codes >= 0
    left_out = int(human - np.count_nonzero(present[:human]))
    rater_codes, item_codes, names, unused, prior_code = raters.codes, items.codes, raters.names, 0, -1
    if present[human:].any():
        item_codes = np.concatenate([item_codes, _positions(prior_items, items, present[:human])])
        unused = int(np.count_nonzero(present[human:] & (item_codes[human:] < 0)))
        present = present & (item_codes >= 0)
        if rater is not None:
            prior_code, names = len(names), [*names, PRIOR_NAME]
            rater_codes = np.concatenate([rater_codes, np.full(len(prior_items), prior_code)])
    present = present[: item_codes.size]
    if not present.all():
        # Codes keep their gaps: an item that lost all its ratings stays behind empty.
        coded, item_codes = coded[: present.size][present], item_codes[present]
        rater_codes = rater_codes if rater is None else rater_codes[present]
    if by_rater:
        _, order = group(rater_codes, len(names))
        rater_codes, item_codes, coded = rater_codes[order], item_codes[order], coded[order]
    start, grouped_rater, grouped_code = kernels.group(item_codes, len(items.names), rater_codes, coded)
    if grouped_rater.size:
        i, r = kernels.grouped_duplicate(start, grouped_rater, len(names))
        if i >= 0:
            raise duplicate(names[r], items.names[i])
    return Grouped(
        start=start,
        rater=grouped_rater,
        value=grouped_code,
        raters=names,
        items=items.names,
        categories=kinds,
        left_out=left_out,
        prior=prior_code,
        prior_unused=unused,
    )


def differences_in(ratings: Grouped) -> RaterDifferences:
    """What ratings of items with two or more show of how far raters differ; of categories, in their shares alone."""
    if not ratings.rater.size:
        return USUAL
    used = ratings.sizes >= 2
    item = np.repeat(np.cumsum(used) - 1, ratings.sizes)
    keep = np.repeat(used, ratings.sizes)
    if ratings.prior >= 0:
        keep &= ratings.rater != ratings.prior
    item, rater, value = item[keep], ratings.rater[keep], ratings.value[keep]
    people = np.cumsum(np.bincount(rater) > 0) - 1
    if not item.size or people[-1] >= MANY_RATERS:
        return USUAL
    value = value.astype(np.float64)
    if ratings.categories is None:
        # On the scale of their spread no square overflows.
        value = (value - value[0]) / max(float(np.ptp(value)), 1e-300)
    d = Ratings(
        rater=people[rater], item=item, value=value, raters=range(int(people[-1]) + 1), items=range(int(item[-1]) + 1)
    )
    return differences_of(d) if ratings.categories is None else differences_of_votes(d)


def duplicate(rater: Any, item: Any) -> InputError:
    return InputError(
        f"Rater {rater!r} rated item {item!r} more than once.",
        "Keep one rating per rater and item (the last, or their mean), or pass rater=None "
        "if the votes carry no identities.",
    )


def ids(column: Any, kind: str) -> IdCodes:
    """Code ids; whole numbers of a small span keep their gaps, which costs nothing."""
    array = as_array(column) if is_whole(column) else np.empty(0)
    if array.size and array.dtype.kind in "iu" and array.dtype != np.uint64:
        integers = contiguous(array.astype(np.int64, copy=False))
        low, high = int(integers.min()), int(integers.max())
        if high - low < max(4 * integers.size, 1024):
            return IdCodes(integers - low if low else integers, range(low, high + 1))
    coded = code(column)
    only_text = isinstance(coded.names, range) or set(map(type, coded.names)) <= {str}
    if not only_text and any(absent(name) for name in coded.names):
        raise InputError(f"Some ratings have no {kind}.", f"Leave these ratings out first{_WITHOUT[kind]}")
    return coded


def is_whole(column: Any) -> bool:
    """Whether a NumPy, Polars or pandas column holds whole numbers, by its type alone."""
    kind = getattr(column, "dtype", None)
    return kind is not None and getattr(kind, "kind", str(kind)[:1].lower()) in ("i", "u")


def contiguous(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array laid out as compiled loops expect it, copied only when it is strided or read-only."""
    return np.require(array, requirements=["C", "W"])


def read_prior(prior: Prior) -> tuple[list[Any], list[Any]]:
    """A prior as parallel lists of items and values."""
    if prior is None:
        return [], []
    if isinstance(prior, Mapping):
        return list(prior), list(prior.values())
    try:
        items, values = (as_array(column).tolist() for column in prior)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The prior cannot be read: {error}.", "Pass a mapping of item to value, or a pair of columns."
        ) from error
    if len(items) != len(values):
        raise InputError(f"The prior has {len(items)} items but {len(values)} values.", "Pass one value per item.")
    if len(set(items)) != len(items):
        twice = next(name for at, name in enumerate(items) if name in set(items[:at]))
        raise InputError(f"The prior has item {twice!r} more than once.", "Pass one value per item.")
    return items, values


def _joined(column: npt.NDArray[Any], more: list[Any], numbers: bool) -> npt.NDArray[Any]:
    if numbers:
        return np.concatenate([column, as_floats(more, "prior")])
    added_column = as_array(more)
    numeric = [array.dtype.kind in "iufb" for array in (column, added_column)]
    if numeric[0] != numeric[1] or "O" in (column.dtype.kind, added_column.dtype.kind):
        column, added_column = column.astype(object), added_column.astype(object)
    return np.concatenate([column, added_column])


def _positions(names: list[Any], items: IdCodes, present: npt.NDArray[np.bool_]) -> Ints:
    """The code of each named item, -1 where it has no rating that is present."""
    rated = np.bincount(items.codes[present], minlength=len(items.names)) > 0
    where = {items.names[at]: at for at in np.flatnonzero(rated).tolist()}
    return np.array([where.get(name, -1) for name in names], dtype=np.int64)
