"""Columns of categories as codes: numbers, words or anything hashable, in an order, with missing answers marked.

Without a list, the categories are those that occur, ascending where they can be compared, else as they appear. A list gives
them all in order, which matters where unused categories count or where words have an order. ``None``, NaN and infinities are
missing answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats.columns.triples import Floats, Ints, code


@dataclass(frozen=True, slots=True)
class CodedCategories:
    """``codes`` index ``names``, -1 for a missing answer; ``listed`` when the caller gave their list."""

    codes: Ints
    names: list[Any]
    listed: bool

    @property
    def count(self) -> int:
        return len(self.names)

    def scores(self) -> Floats:
        """Where each category lies: numbers at their value, words at their place in the list given."""
        if all(isinstance(name, (int, float, np.number, np.bool_)) for name in self.names):
            return np.array([float(name) for name in self.names], dtype=np.float64)
        if not self.listed:
            raise InputError(
                "Weights need an order, and these categories are words.",
                "Pass categories=[...] from lowest to highest, or code the categories as numbers.",
            )
        return np.arange(self.count, dtype=np.float64)


def categorise(column: npt.NDArray[Any], categories: Sequence[Any] | None = None) -> CodedCategories:
    """Code answers by category, ascending or in the order given."""
    codes, names = answer_codes(column)
    if categories is None:
        try:
            order = sorted(names)
        except TypeError:
            order = names
    else:
        order = list(categories)
        strange = [name for name in names if name not in order]
        if len(set(order)) != len(order):
            raise InputError("The list of categories names one twice.", "Name each category once.")
        if strange:
            raise InputError(
                f"The answer {strange[0]!r} is not among the categories {order!r}.",
                "Add it to categories=, or leave such answers out first.",
            )
    if order == names:
        return CodedCategories(codes, order, categories is not None)
    index = {name: at for at, name in enumerate(order)}
    lookup = np.array([*(index[name] for name in names), -1], dtype=np.int64)
    return CodedCategories(lookup[codes], order, categories is not None)


def answer_codes(column: npt.NDArray[Any]) -> tuple[Ints, list[Any]]:
    """Codes of the answers, -1 where missing, and their names."""
    if column.dtype.kind == "f":
        finite = np.isfinite(column)
        values = column[finite]
        small = np.abs(values).max(initial=0.0) < 2**53 and bool((values == np.floor(values)).all())
        coded = code(values.astype(np.int64) if small else values)
        codes = np.full(column.size, -1, dtype=np.int64)
        codes[finite] = coded.codes
        return codes, [float(name) for name in coded.names]
    coded = code(column)
    names = [bool(name) for name in coded.names] if column.dtype.kind == "b" else list(coded.names)
    is_answer = np.array([not absent(name) for name in names], dtype=np.bool_)
    if is_answer.all():
        return coded.codes, names
    lookup = np.where(is_answer, np.cumsum(is_answer) - 1, -1)
    return lookup[coded.codes], [name for name, is_kept in zip(names, is_answer, strict=True) if is_kept]


def absent(answer: Any) -> bool:
    """Whether an answer is missing: ``None``, NaN, an infinity, or a table library's own mark."""
    if answer is None or (isinstance(answer, float) and not math.isfinite(answer)):
        return True
    try:
        return bool(answer != answer)
    except (TypeError, ValueError):
        return True
