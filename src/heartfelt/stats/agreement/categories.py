"""Categories of votes: names in order, a code per vote, and how far apart two categories are.

Without a list, the categories are those that occur, sorted. ``categories=`` gives the full list in order,
which matters where unused categories count (Gwet) or where words have an order (weights). Distances between
numbers are distances between the numbers; words are as far apart as their places in the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats.triples import Ints, code


@dataclass(frozen=True, slots=True)
class Categories:
    """``codes`` index ``names``, -1 for a missing vote; ``given`` when the caller fixed the list."""

    codes: Ints
    names: list[Any]
    given: bool

    @property
    def count(self) -> int:
        """How many categories there are."""
        return len(self.names)

    def scores(self) -> npt.NDArray[np.float64]:
        """Where each category lies, for weights that depend on distance."""
        if all(_is_number(name) for name in self.names):
            return np.array([float(name) for name in self.names], dtype=np.float64)
        if not self.given:
            raise InputError(
                "Weights need an order, and these categories are words.",
                "Pass categories=[...] from lowest to highest, or code the categories as numbers.",
            )
        return np.arange(self.count, dtype=np.float64)


def categorise(column: npt.NDArray[Any], given: Sequence[Any] | None = None) -> Categories:
    """Code votes by category, sorted by value or in the order given."""
    codes, names = _coded(column)
    if given is not None:
        order = {name: at for at, name in enumerate(given)}
        if len(order) != len(given):
            raise InputError("The list of categories names one twice.", "Name each category once.")
        strange = [name for name in names if name not in order]
        if strange:
            raise InputError(
                f"The vote {strange[0]!r} is not among the categories {list(given)!r}.",
                "Add it to categories=, or leave such votes out first.",
            )
        return Categories(_recoded(codes, [order[name] for name in names]), list(given), True)
    try:
        order_of = sorted(range(len(names)), key=names.__getitem__)
    except TypeError:
        order_of = sorted(range(len(names)), key=lambda at: (str(type(names[at])), str(names[at])))
    place = [0] * len(names)
    for to, at in enumerate(order_of):
        place[at] = to
    return Categories(_recoded(codes, place), [names[at] for at in order_of], False)


def _coded(column: npt.NDArray[Any]) -> tuple[Ints, list[Any]]:
    if column.dtype == object:
        column = _narrowed(column)
    if column.dtype.kind == "f":
        finite = np.isfinite(column)
        whole = np.where(finite, column, 0.0)
        small = np.abs(whole).max(initial=0.0) < 2**53 and bool((whole == np.floor(whole)).all())
        coded = code(whole[finite].astype(np.int64) if small else whole[finite])
        codes = np.full(column.size, -1, dtype=np.int64)
        codes[finite] = coded.codes
        return codes, list(coded.names)
    coded = code(column)
    names = list(coded.names)
    missing = [at for at, name in enumerate(names) if absent(name)]
    if not missing:
        return coded.codes, [bool(name) for name in names] if column.dtype.kind == "b" else names
    place = [-1] * len(names)
    kept = [at for at in range(len(names)) if at not in set(missing)]
    for to, at in enumerate(kept):
        place[at] = to
    return _recoded(coded.codes, place), [names[at] for at in kept]


def absent(thing: Any) -> bool:
    """Whether something stands for nothing: ``None``, NaN, or a table library's own mark."""
    if thing is None:
        return True
    try:
        return bool(thing != thing)
    except (TypeError, ValueError):
        return True


def _narrowed(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers and ``None`` as floats; anything else as it is."""
    if all(item is None or _is_number(item) for item in column):
        return column.astype(np.float64)
    return column


def _is_number(thing: Any) -> bool:
    return isinstance(thing, (int, float, np.integer, np.floating, np.bool_))


def _recoded(codes: Ints, place: list[int]) -> Ints:
    if place == list(range(len(place))):
        return codes
    lookup = np.array([*place, -1], dtype=np.int64)
    return lookup[codes]
