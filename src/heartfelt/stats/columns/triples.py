"""Columns as arrays, with ids coded as integers: what every statistic starts from.

Ids may be anything hashable, in a NumPy array, a Polars or pandas column, or a list; they are coded in order of first
appearance or by value, whichever is cheaper, so codes carry no meaning. Ratings are sparse triples, parallel columns of rater,
item and value (``heartfelt.stats.ratings``); missing values (``None``, NaN) and infinities are left out and counted.
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
class IdCodes:
    """Ids as integers ``0 … count-1``; ``names[code]`` is the id itself."""

    codes: Ints
    names: Sequence[Any]

    @property
    def count(self) -> int:
        return len(self.names)


def as_array(column: Any) -> npt.NDArray[Any]:
    """Return a one-dimensional NumPy array for any column-like input, copying only when it must."""
    if isinstance(column, np.ndarray):
        array = column
    elif hasattr(column, "to_numpy"):
        array = column.to_numpy()
    else:
        array = _array_of(list(column))
    if array.ndim != 1:
        raise InputError(
            f"A column of ratings must have one dimension; this one has {array.ndim}.",
            "Pass parallel one-dimensional arrays: one entry per rating.",
        )
    return array


def _array_of(items: list[Any]) -> npt.NDArray[Any]:
    if items and all(isinstance(item, str) for item in items):
        return np.asarray(items)
    if all(np.isscalar(item) or item is None for item in items):
        return np.asarray(items, dtype=object if len({type(item) for item in items}) > 1 else None)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def as_floats(column: Any, name: str = "value") -> Floats:
    """Return values as float64, with ``None`` as NaN."""
    array = as_array(column)
    try:
        if array.dtype == object and hasattr(column, "isna"):
            array = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The column '{name}' holds something that is not a number: {error}.",
            "Pass numbers; code categories as integers first, or use a statistic for categories.",
        ) from error


def code(column: Any) -> IdCodes:
    """Code ids as integers. Small non-negative integers are taken almost as they are."""
    quick = text_series(column)
    if quick is not None:
        return _series_codes(quick)
    array = as_array(column)
    near = _near_codes(array) if array.dtype.kind in "iub" and array.size else None
    if near is not None:
        return near
    if array.dtype.kind in "UST" and array.size > 256:
        return _text_codes(array.astype(str).tolist())
    if array.dtype == object:
        return _object_codes(array)
    names_array, codes = np.unique(array, return_inverse=True)
    return IdCodes(codes.astype(np.int64, copy=False), names_array.tolist())


def _near_codes(array: npt.NDArray[Any]) -> IdCodes | None:
    """Codes of whole numbers that lie near one another, without sorting them; None for others."""
    if array.dtype == np.uint64 and int(array.max()) > np.iinfo(np.int64).max:
        return None
    array = array.astype(np.int64, copy=False)
    low, high = int(array.min()), int(array.max())
    if high - low >= max(4 * array.size, 1024):
        return None
    shifted = array - low if low else array
    present = np.bincount(shifted, minlength=high - low + 1) > 0
    if present.all():
        return IdCodes(shifted, range(low, high + 1))
    rank = np.cumsum(present) - 1
    return IdCodes(rank[shifted], (np.flatnonzero(present) + low).tolist())


def _object_codes(array: npt.NDArray[Any]) -> IdCodes:
    """Codes of anything hashable, in order of first appearance."""
    if array.size > 256 and type(array[0]) is str and all(type(item) is str for item in array):
        return _text_codes(array.tolist())
    code_of: dict[Any, int] = {}
    codes = np.fromiter((code_of.setdefault(item, len(code_of)) for item in array), np.int64, array.size)
    return IdCodes(codes, list(code_of))


def id_array(column: Any) -> npt.NDArray[Any]:
    """The same as ``as_array``, but a Polars column of text without gaps comes as codes by first appearance."""
    quick = _polars_text(column)
    return as_array(column) if quick is None else quick.codes


def text_array(column: Any) -> npt.NDArray[Any]:
    """The same as ``as_array``, but a Polars column of text without gaps comes as fixed-width text."""
    quick = _polars_text(column)
    return as_array(column) if quick is None else np.asarray(quick.names)[quick.codes]


def _polars_text(column: Any) -> IdCodes | None:
    """Codes of a Polars column of text or categories without gaps, which need not become Python strings."""
    series = None if isinstance(column, list) else text_series(column)
    return None if series is None else _series_codes(series)


def text_series(column: Any) -> Any:
    """A Polars column of text or categories without gaps, also from a long list of text; None for anything else."""
    listed = isinstance(column, list) and len(column) > 256 and type(column[0]) is str
    if not listed and not type(column).__module__.startswith("polars"):
        return None
    import polars as pl

    if listed:
        try:
            column = pl.Series(column, dtype=pl.String)
        except TypeError:
            return None
    textual = isinstance(column, pl.Series) and column.dtype in (pl.String, pl.Categorical, pl.Enum)
    return column if textual and column.len() and not column.null_count() else None


def _text_codes(texts: list[str]) -> IdCodes:
    import polars as pl

    return _series_codes(pl.Series(texts, dtype=pl.String))


def _series_codes(column: Any) -> IdCodes:
    import polars as pl

    series = column.cast(pl.Categorical) if column.dtype == pl.String else column
    physical = series.to_physical().to_numpy()
    first = np.full(int(physical.max()) + 1, -1, dtype=np.int64)
    # Of entries assigned twice the last one stays, so from the end it is the first appearance that does.
    first[physical[::-1]] = np.arange(physical.size - 1, -1, -1)
    occurring = np.flatnonzero(first >= 0)
    order = occurring[np.argsort(first[occurring])]
    lookup = np.empty(first.size, dtype=np.int64)
    lookup[order] = np.arange(order.size)
    return IdCodes(lookup[physical], series.gather(first[order]).cast(pl.String).to_list())
