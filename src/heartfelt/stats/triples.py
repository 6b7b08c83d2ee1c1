"""Ratings as sparse triples: parallel arrays of rater, item and value, with ids coded as integers.

Every statistic of agreement and reliability starts here. Ids may be anything hashable, in a NumPy array, a
Polars or pandas column, or a list. Missing values (``None``, NaN) and infinities are left out and counted;
ids are coded in order of first appearance or by value, whichever is cheaper, so codes carry no meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError

Ids: TypeAlias = Any
Values: TypeAlias = Any
Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Codes:
    """Ids as integers ``0 … count-1``; ``names[code]`` is the id itself."""

    codes: Ints
    names: Sequence[Any]

    @property
    def count(self) -> int:
        """How many distinct ids there are."""
        return len(self.names)


def as_array(column: Any) -> npt.NDArray[Any]:
    """Return a one-dimensional NumPy array for any column-like input, copying only when it must."""
    if isinstance(column, np.ndarray):
        array = column
    elif hasattr(column, "to_numpy"):
        array = column.to_numpy()
    else:
        items = list(column)
        if items and all(isinstance(item, str) for item in items):
            array = np.asarray(items)
        elif items and not all(np.isscalar(item) or item is None for item in items):
            array = np.empty(len(items), dtype=object)
            array[:] = items
        else:
            array = np.asarray(items, dtype=object if len({type(item) for item in items}) > 1 else None)
    if array.ndim != 1:
        raise InputError(
            f"A column of ratings must have one dimension; this one has {array.ndim}.",
            "Pass parallel one-dimensional arrays: one entry per rating.",
        )
    return array


def as_floats(column: Any, name: str = "value") -> Floats:
    """Return values as float64, with ``None`` as NaN."""
    array = as_array(column)
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The column '{name}' holds something that is not a number: {error}.",
            "Pass numbers; code categories as integers first, or use a statistic for categories.",
        ) from error


def code(column: Any) -> Codes:
    """Code ids as integers. Small non-negative integers are taken almost as they are."""
    array = as_array(column)
    if array.dtype.kind in "iub" and array.size:
        array = array.astype(np.int64, copy=False)
        low, high = int(array.min()), int(array.max())
        if high - low < max(4 * array.size, 1024):
            shifted = array - low if low else array
            present = np.bincount(shifted, minlength=high - low + 1) > 0
            if present.all():
                return Codes(shifted, range(low, high + 1))
            rank = np.cumsum(present) - 1
            return Codes(rank[shifted], (np.flatnonzero(present) + low).tolist())
    if array.dtype == object:
        seen: dict[Any, int] = {}
        codes = np.fromiter((seen.setdefault(item, len(seen)) for item in array), np.int64, array.size)
        return Codes(codes, list(seen))
    if array.dtype.kind in "UST" and array.size > 256:
        import polars as pl

        series = pl.Series(array.astype(str).tolist()).cast(pl.Categorical)
        physical = series.to_physical()
        names = series.unique(maintain_order=True).cast(pl.String).to_list()
        order = physical.unique(maintain_order=True).to_numpy()
        lookup = np.empty(int(order.max()) + 1, dtype=np.int64)
        lookup[order] = np.arange(order.size)
        return Codes(lookup[physical.to_numpy()], names)
    names_array, codes = np.unique(array, return_inverse=True)
    return Codes(codes.astype(np.int64, copy=False), names_array.tolist())


@dataclass(frozen=True, slots=True)
class Triples:
    """Ratings with coded ids. ``left_out`` counts ratings without a finite value."""

    rater: Ints
    item: Ints
    value: Floats
    raters: Sequence[Any]
    items: Sequence[Any]
    left_out: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """What the ratings consist of, for an estimate's ``counts``."""
        return {
            "ratings": int(self.value.size),
            "items": len(self.items),
            "raters": len(self.raters),
            **({"left_out": self.left_out} if self.left_out else {}),
        }


def triples(rater: Ids, item: Ids, value: Values) -> Triples:
    """Code parallel columns as triples, leaving out ratings with no finite value."""
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
        rater_array, item_array, values = rater_array[keep], item_array[keep], values[keep]
    raters, items = code(rater_array), code(item_array)
    return Triples(raters.codes, items.codes, values, raters.names, items.names, left_out)
