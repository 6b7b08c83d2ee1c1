"""How much of a column is still known from what is published, in the column itself or through another that says the same.

Of numbers it is the share of their variance between what is published; of everything else the information that every rater's
published value gives about the value as it was given, summed over raters (Gionis and Tassa 2009). An empty cell gives none, a band
or a union as much as it narrows the value down. What another column says by chance is subtracted (Miller 1955).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
ABSENT = 0
"""The code of a value that was not given, or is left out: nobody can tell which."""
_SHARED = 0.1
"""What a cell is worth whatever it says: a column in which all raters are alike is not worthless."""
_THROUGH_ANOTHER = 0.9
"""What information is worth that has to be looked up in another column."""


def codes_of(column: pl.Series) -> Codes:
    """A number for every value, and 0 where there is none."""
    ranks = column.cast(pl.String).rank("dense").fill_null(ABSENT)
    return ranks.to_numpy().astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A column as it was given."""

    codes: Codes
    numbers: Floats | None = None
    """The same as numbers, where the distance between two values means something."""

    @classmethod
    def of(cls, column: pl.Series) -> Given:
        """A column of the raters; years of dates are numbers."""
        if not column.dtype.is_numeric():
            return cls(codes_of(column))
        numbers = column.cast(pl.Float64).fill_nan(None)
        finite = numbers.set(numbers.is_infinite().fill_null(False), None)
        return cls(codes_of(finite), finite.fill_null(0.0).to_numpy())

    def held(self, published: Codes) -> tuple[float, float, float]:
        """What the published values tell about the given ones, what chance would tell, and all there is."""
        known = self.codes != ABSENT
        codes, published = self.codes[known], published[known]
        if not codes.size:
            return 0.0, 0.0, 0.0
        if self.numbers is not None:
            return _variance(self.numbers[known], published)
        return _information(codes, published)


def _variance(numbers: Floats, published: Codes) -> tuple[float, float, float]:
    size, shown = numbers.size, published != ABSENT
    apart = numbers - numbers.mean()
    total = float((apart**2).sum())
    if total == 0 or not shown.any():
        return 0.0, 0.0, float(size) if total else 0.0
    counts = np.bincount(published[shown])
    means = np.bincount(published[shown], weights=apart[shown]) / np.maximum(counts, 1)
    rest = float(((apart[shown] - means[published[shown]]) ** 2).sum() + (apart[~shown] ** 2).sum())
    bands = int((counts > 0).sum())
    return size * (1 - rest / total), size * (bands - 1) / (size - 1), float(size)


def _information(given: Codes, published: Codes) -> tuple[float, float, float]:
    size, shown, counts = given.size, published != ABSENT, np.bincount(given)
    total = -float(np.log(counts[given] / size).sum())
    given, published = given[shown], published[shown]
    if not given.size:
        return 0.0, 0.0, total
    width = int(published.max()) + 1
    pair = np.unique(given * width + published, return_inverse=True)[1]
    alone = np.bincount(published, minlength=width)
    held = float(np.log(np.bincount(pair)[pair] / alone[published] * size / counts[given]).sum())
    values, bands = np.unique(given).size, np.unique(published).size
    return held, (values - 1) * (bands - 1) / 2, total


def retained(given: Given, published: Codes, cell: float = 1e-9) -> float:
    """The share of a column that is still known from it as it is published; every ``cell`` is worth that much more."""
    held, _, total = given.held(published)
    known = given.codes != ABSENT
    size, shown = int(known.sum()), int((known & (published != ABSENT)).sum())
    return 1.0 if not size else float(np.clip((held + cell * shown) / (total + cell * size), 0.0, 1.0))


def retained_through(given: Given, other: Codes) -> float:
    """The share of a column that is known from another published column, beyond what chance would tell."""
    held, chance, total = given.held(other)
    size = int((given.codes != ABSENT).sum())
    return 0.0 if not size else float(np.clip((held - chance) / (total + _SHARED * size), 0.0, 1.0))


def losses(given: Sequence[Given], levels: Sequence[Sequence[Codes]]) -> Floats:
    """What is lost of every column by way of every column at every level: columns x columns x levels, 1 where there is none."""
    most = max(len(each) for each in levels)
    table = np.ones((len(given), len(given), most))
    for column, values in enumerate(given):
        for other, each in enumerate(levels):
            for level, published in enumerate(each):
                if column == other:
                    table[column, other, level] = 1 - retained(values, published, _SHARED)
                elif published.any():
                    table[column, other, level] = 1 - _THROUGH_ANOTHER * retained_through(values, published)
    return table


def lost(given: Sequence[Given], published: Codes) -> Floats:
    """What is lost of every column in a table as it is published."""
    table = losses(given, [[column] for column in published.T])
    return np.asarray(table[:, :, 0].min(axis=1))


def shared_weights(given: Sequence[Given], weights: Floats) -> Floats:
    """The weights of columns, divided among those that say the same: copies count once."""
    same = [
        1.0 + sum(retained_through(column, other.codes) for other in given if other is not column)
        for column in given
    ]
    return np.asarray(weights / np.array(same))
