"""Two parallel columns, cleaned: what statistics of a prediction against a label start from.

A pair with no finite number (or no category) on either side is left out and counted; nothing is filled in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats.columns.triples import Floats, Ints, Values, as_array, as_floats, code

Column = Values
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class PairedValues:
    """Labels ``x`` and predictions ``y``: numbers as floats, categories as codes, two-class labels as 0 and 1.

    ``used`` marks the rows of the input they came from; ``names[code]`` is a category.
    """

    x: npt.NDArray[Any]
    y: npt.NDArray[Any]
    used: Flags
    names: Sequence[Any] = ()

    @property
    def n(self) -> int:
        return int(self.x.size)

    @property
    def left_out(self) -> int:
        """How many pairs lacked one side."""
        return int(self.used.size - self.x.size)

    @property
    def counts(self) -> dict[str, int]:
        return {"pairs": self.n, **({"left_out": self.left_out} if self.left_out else {})}

    @cached_property
    def by_x(self) -> Sorted:
        return sort_rows(self.x)

    @cached_property
    def by_y(self) -> Sorted:
        return sort_rows(self.y)


@dataclass(frozen=True, slots=True)
class ResampledUnits:
    """What is left out or drawn as a whole: single pairs, or clusters where ``codes`` gives that of each pair."""

    count: int
    codes: Ints | None = None

    @property
    def name(self) -> str:
        return "pair" if self.codes is None else "cluster"

    @property
    def counts(self) -> dict[str, int]:
        """Counts for an estimate, beyond those of the pairs."""
        return {} if self.codes is None else {"clusters": self.count}

    @property
    def over(self) -> str:
        """What a method's name adds."""
        return "" if self.codes is None else " over clusters"

    def sums(self, influence: Floats) -> Floats:
        """Influence per unit, scaled so that the mean over units moves the statistic."""
        if self.codes is None:
            return influence
        sums = np.bincount(self.codes, weights=influence, minlength=self.count)
        return np.asarray(sums * (self.count / influence.size))


def units_of(used: Flags, group: Column | None) -> ResampledUnits:
    """The units of the rows in use: clusters by the ids in ``group``, single rows without it."""
    if group is None:
        return ResampledUnits(int(np.count_nonzero(used)))
    codes, count = cluster_codes(group, used)
    return ResampledUnits(count, codes)


def same_length(columns: Mapping[str, npt.NDArray[Any]]) -> None:
    if len({column.size for column in columns.values()}) > 1:
        sizes = ", ".join(f"{name} {column.size}" for name, column in columns.items())
        raise InputError(f"The columns differ in length: {sizes}.", "Pass parallel arrays of one length.")


def pairs(x: Column, y: Column) -> PairedValues:
    """Clean two numeric columns."""
    first, second = as_floats(x, "x"), as_floats(y, "y")
    same_length({"x": first, "y": second})
    used = np.isfinite(first) & np.isfinite(second)
    if used.all():
        return PairedValues(first, second, used)
    return PairedValues(first[used], second[used], used)


def present(column: npt.NDArray[Any]) -> Flags:
    """Which entries of a column of ids or categories are not missing (``None`` or NaN)."""
    if column.dtype.kind == "f":
        return np.asarray(~np.isnan(column))
    if column.dtype == object:
        return np.fromiter((item is not None and item == item for item in column), np.bool_, column.size)
    return np.ones(column.size, dtype=np.bool_)


def _is_text(column: npt.NDArray[Any]) -> bool:
    if column.dtype.kind in "UST":
        return True
    return column.dtype == object and any(isinstance(item, str) for item in column)


def categories(label: Column, predicted: Column) -> PairedValues:
    """Code two columns of categories jointly, in sorted order where the categories can be sorted."""
    first, second = as_array(label), as_array(predicted)
    same_length({"label": first, "predicted": second})
    used = present(first) & present(second)
    first, second = first[used], second[used]
    if first.size == 0:
        empty = np.zeros(0, np.int64)
        return PairedValues(empty, empty, used)
    if _is_text(first) != _is_text(second):
        raise InputError(
            "Labels and predictions are of different kinds: one column holds text, the other numbers.",
            "Code both the same way, so that equal categories compare equal.",
        )
    names, codes = _coded_in_order(np.concatenate([first, second]))
    return PairedValues(codes[: first.size], codes[first.size :], used, names)


def _coded_in_order(column: npt.NDArray[Any]) -> tuple[list[Any], Ints]:
    """Names in sorted order, where they can be sorted, and the code of each entry."""
    ids = code(column)
    names, rank = in_order(list(ids.names))
    return names, rank[ids.codes]


def in_order(names: list[Any]) -> tuple[list[Any], Ints]:
    """Names in sorted order, or as they are where they cannot be sorted, and the new place of each."""
    try:
        order = sorted(range(len(names)), key=names.__getitem__)
    except TypeError:
        return names, np.arange(len(names))
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    return [names[i] for i in order], rank


def coded(column: Column, column_name: str) -> tuple[list[Any], Ints, Flags]:
    """Code a column of ids in sorted order: names, codes of the entries present, and which rows those are."""
    array = as_array(column)
    used = present(array)
    if not used.any() and array.size:
        raise InputError(f"The column '{column_name}' has no entries.", "Pass one id per row.")
    if not used.any():
        return [], np.zeros(0, np.int64), used
    names, codes = _coded_in_order(array if used.all() else array[used])
    return names, codes, used


def cluster_codes(group: Column, used: Flags, name: str = "group") -> tuple[Ints, int]:
    """The cluster of each row in use as a code, and how many clusters there are."""
    ids = as_array(group)
    if ids.size != used.size:
        raise InputError(f"The column '{name}' has {ids.size} rows, the others {used.size}.", "Pass one id per row.")
    names, codes, has_id = coded(ids[used], name)
    if not has_id.all():
        raise InputError(f"A row has no id in '{name}'.", "Give every row an id, or leave out those without.")
    return codes, len(names)


def as_flags(column: Column, positive: Any = None) -> npt.NDArray[Any]:
    """A two-class column: as it is, or 1 and 0 by equality with ``positive``; missing entries stay missing."""
    array = as_array(column)
    if positive is None:
        return array
    has_label = present(array)
    flags = np.full(array.size, np.nan)
    flags[has_label] = [item == positive for item in array[has_label].tolist()]
    return flags


def binary(label: npt.NDArray[Any]) -> Flags:
    """Two-class labels without gaps as true or false: booleans, or zeros and ones."""
    if label.dtype.kind == "b":
        return label
    values = list(dict.fromkeys(label.tolist())) if label.dtype == object else np.unique(label).tolist()
    if not all(item in (0, 1) for item in values):
        raise InputError(
            f"Two-class labels must be true/false or 0/1; got {values[:4]}.",
            "Name the category that counts as positive, or pass `label == that_category`.",
        )
    return np.asarray(label == 1, dtype=np.bool_)


def is_constant(column: Floats) -> bool:
    """Whether a column is a single value, up to rounding."""
    span = float(column.max() - column.min())
    return span <= 1e-13 * float(np.abs(column).max())


@dataclass(frozen=True, slots=True)
class Sorted:
    """Rows in the order of a column: ``order[starts[g]:starts[g + 1]]`` are the rows of its g-th distinct value.

    ``rank`` is each row's rank among the distinct values, from 0.
    """

    order: Ints
    starts: Ints
    rank: Ints

    @property
    def distinct(self) -> int:
        return int(self.starts.size - 1)

    @property
    def sizes(self) -> Ints:
        return np.diff(self.starts)


def sort_rows(column: Floats) -> Sorted:
    """Sort a column once, keeping its ties together."""
    order = np.argsort(column, kind="stable").astype(np.int64, copy=False)
    ordered = column[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if order.size else np.zeros(0, np.bool_)
    starts = np.append(np.flatnonzero(new), order.size).astype(np.int64)
    rank = np.empty(order.size, np.int64)
    rank[order] = np.cumsum(new) - 1
    return Sorted(order, starts, rank)


def correlation(x: Floats, y: Floats) -> float | None:
    """Pearson's correlation; None where a column does not vary, up to rounding."""
    a, b = x - x.mean(), y - y.mean()
    below = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip((a @ b) / below, -1.0, 1.0)) if below > 1e-12 * x.size else None


def mid_ranks(column: Floats) -> Floats:
    """Ranks from 1, ties sharing their mean rank."""
    by = sort_rows(column)
    return np.asarray((by.starts[1:] + by.starts[:-1] + 1)[by.rank] / 2)
