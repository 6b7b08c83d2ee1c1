"""Two columns side by side, cleaned: what statistics of a prediction against a label start from.

A pair with no finite number (or no category) on either side is left out and counted; nothing is filled in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats.triples import Floats, Ints, Values, as_array, as_floats, code

Column = Values


@dataclass(frozen=True, slots=True)
class Pairs:
    """Parallel finite numbers; ``kept`` marks the rows of the input they came from."""

    x: Floats
    y: Floats
    kept: npt.NDArray[np.bool_]

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return int(self.x.size)

    @property
    def left_out(self) -> int:
        """How many pairs had no finite number on one side."""
        return int(self.kept.size - self.x.size)

    @property
    def counts(self) -> dict[str, int]:
        """For an estimate's ``counts``."""
        return counted(self.n, self.left_out)


@dataclass(frozen=True, slots=True)
class Categories:
    """Labels and predictions coded jointly; ``names[code]`` is the category."""

    label: Ints
    predicted: Ints
    names: Sequence[Any]
    kept: npt.NDArray[np.bool_]

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return int(self.label.size)

    @property
    def counts(self) -> dict[str, int]:
        """For an estimate's ``counts``."""
        return counted(self.n, int(self.kept.size - self.label.size))


def counted(pairs: int, left_out: int) -> dict[str, int]:
    """The counts of a paired statistic."""
    return {"pairs": pairs, **({"left_out": left_out} if left_out else {})}


def same_length(columns: Mapping[str, npt.NDArray[Any]]) -> None:
    """Refuse columns that do not run in parallel."""
    if len({column.size for column in columns.values()}) > 1:
        sizes = ", ".join(f"{name} {column.size}" for name, column in columns.items())
        raise InputError(f"The columns differ in length: {sizes}.", "Pass parallel arrays of one length.")


def pairs(x: Column, y: Column) -> Pairs:
    """Clean two numeric columns."""
    first, second = as_floats(x, "x"), as_floats(y, "y")
    same_length({"x": first, "y": second})
    kept = np.isfinite(first) & np.isfinite(second)
    if kept.all():
        return Pairs(first, second, kept)
    return Pairs(first[kept], second[kept], kept)


def present(column: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which entries of a column of ids or categories are there at all (not ``None``, not NaN)."""
    if column.dtype.kind == "f":
        return np.asarray(~np.isnan(column))
    if column.dtype == object:
        return np.fromiter((item is not None and item == item for item in column), np.bool_, column.size)
    return np.ones(column.size, dtype=np.bool_)


def _is_text(column: npt.NDArray[Any]) -> bool:
    if column.dtype.kind in "UST":
        return True
    return column.dtype == object and any(isinstance(item, str) for item in column)


def categories(label: Column, predicted: Column) -> Categories:
    """Code two columns of categories jointly, in sorted order where the categories can be sorted."""
    first, second = as_array(label), as_array(predicted)
    same_length({"label": first, "predicted": second})
    kept = present(first) & present(second)
    first, second = first[kept], second[kept]
    if first.size and _is_text(first) != _is_text(second):
        raise InputError(
            "Labels and predictions are of different kinds: one column holds text, the other numbers.",
            "Code both the same way, so that equal categories compare equal.",
        )
    if first.size == 0:
        nothing = np.zeros(0, np.int64)
        return Categories(nothing, nothing, (), kept)
    joint = code(np.concatenate([first, second]))
    names, codes = _sorted(list(joint.names), joint.codes)
    return Categories(codes[: first.size], codes[first.size :], names, kept)


def _sorted(names: list[Any], codes: Ints) -> tuple[list[Any], Ints]:
    try:
        order = sorted(range(len(names)), key=names.__getitem__)
    except TypeError:
        return names, codes
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    return [names[i] for i in order], place[codes]


def coded(column: Column, what: str) -> tuple[list[Any], Ints, npt.NDArray[np.bool_]]:
    """Code one column of ids in sorted order: names, codes of the present rows, and which rows those are."""
    array = as_array(column)
    kept = present(array)
    if not kept.any() and array.size:
        raise InputError(f"The column '{what}' holds no entries at all.", "Pass one id per row.")
    array = array if kept.all() else array[kept]
    if array.size == 0:
        return [], np.zeros(0, np.int64), kept
    found = code(array)
    names, codes = _sorted(list(found.names), found.codes)
    return names, codes, kept


def as_flags(column: Column, positive: Any = None) -> npt.NDArray[Any]:
    """A two-class column: as it is, or 1 and 0 by equality with ``positive``, missing entries staying
    missing.
    """
    array = as_array(column)
    if positive is None:
        return array
    there = present(array)
    flags = np.full(array.size, np.nan)
    flags[there] = [item == positive for item in array[there].tolist()]
    return flags


def binary(label: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Two-class labels without gaps as true or false: booleans, or zeros and ones."""
    if label.dtype.kind == "b":
        return label
    found = list(dict.fromkeys(label.tolist())) if label.dtype == object else np.unique(label).tolist()
    if not all(item in (0, 1) for item in found):
        raise InputError(
            f"Two-class labels must be true/false or 0/1; found {found[:4]}.",
            "Name the category that counts as positive, or pass `label == that_category`.",
        )
    return np.asarray(label == 1, dtype=np.bool_)
