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
class OriginalColumn:
    """A column before it is generalised."""

    codes: Codes
    numbers: Floats | None = None
    """The same as numbers, where the distance between two values means something."""

    @classmethod
    def of(cls, column: pl.Series) -> OriginalColumn:
        """A column of the raters; years of dates are numbers."""
        if not column.dtype.is_numeric():
            return cls(codes_of(column))
        numbers = column.cast(pl.Float64).fill_nan(None)
        finite = numbers.set(numbers.is_infinite().fill_null(False), None)
        return cls(codes_of(finite), finite.fill_null(0.0).to_numpy())

    def information(self, published: Codes) -> tuple[float, float, float]:
        """What the published values tell about the given ones, what chance would tell, and all there is."""
        stated = self.codes != ABSENT
        codes, published = self.codes[stated], published[stated]
        if not codes.size:
            return 0.0, 0.0, 0.0
        if self.numbers is not None:
            return _variance(self.numbers[stated], published)
        return _information(codes, published)


def _variance(numbers: Floats, published: Codes) -> tuple[float, float, float]:
    size, shown = numbers.size, published != ABSENT
    deviations = numbers - numbers.mean()
    total = float((deviations**2).sum())
    if total == 0 or not shown.any():
        return 0.0, 0.0, float(size) if total else 0.0
    counts = np.bincount(published[shown])
    means = np.bincount(published[shown], weights=deviations[shown]) / np.maximum(counts, 1)
    unexplained = float(((deviations[shown] - means[published[shown]]) ** 2).sum() + (deviations[~shown] ** 2).sum())
    bands = int((counts > 0).sum())
    return size * (1 - unexplained / total), size * (bands - 1) / (size - 1), float(size)


def _information(original: Codes, published: Codes) -> tuple[float, float, float]:
    size, shown, counts = original.size, published != ABSENT, np.bincount(original)
    total = -float(np.log(counts[original] / size).sum())
    original, published = original[shown], published[shown]
    if not original.size:
        return 0.0, 0.0, total
    width = int(published.max()) + 1
    # One number for each pair of values, so that one count gives the joint distribution.
    pair = np.unique(original * width + published, return_inverse=True)[1]
    alone = np.bincount(published, minlength=width)
    mutual = float(np.log(np.bincount(pair)[pair] / alone[published] * size / counts[original]).sum())
    values, bands = np.unique(original).size, np.unique(published).size
    return mutual, (values - 1) * (bands - 1) / 2, total


def retained(original: OriginalColumn, published: Codes, cell: float = 1e-9) -> float:
    """The share of a column that is still known from it as it is published; every ``cell`` is worth that much more."""
    information, _, total = original.information(published)
    stated = original.codes != ABSENT
    size, shown = int(stated.sum()), int((stated & (published != ABSENT)).sum())
    return 1.0 if not size else float(np.clip((information + cell * shown) / (total + cell * size), 0.0, 1.0))


def retained_through(original: OriginalColumn, other_column: Codes) -> float:
    """The share of a column that is known from another published column, beyond what chance would tell."""
    information, chance, total = original.information(other_column)
    size = int((original.codes != ABSENT).sum())
    return 0.0 if not size else float(np.clip((information - chance) / (total + _SHARED * size), 0.0, 1.0))


def losses(originals: Sequence[OriginalColumn], levels: Sequence[Sequence[Codes]]) -> Floats:
    """What is lost of every column by way of every column at every level: columns x columns x levels, 1 where there is none."""
    most = max(len(column_levels) for column_levels in levels)
    table = np.ones((len(originals), len(originals), most))
    for column, values in enumerate(originals):
        for other_column, column_levels in enumerate(levels):
            for level, published in enumerate(column_levels):
                if column == other_column:
                    table[column, other_column, level] = 1 - retained(values, published, _SHARED)
                elif published.any():
                    table[column, other_column, level] = 1 - _THROUGH_ANOTHER * retained_through(values, published)
    return table


def lost(originals: Sequence[OriginalColumn], published: Codes) -> Floats:
    """What is lost of every column in a table as it is published."""
    table = losses(originals, [[column] for column in published.T])
    return np.asarray(table[:, :, 0].min(axis=1))


def shared_weights(originals: Sequence[OriginalColumn], weights: Floats) -> Floats:
    """The weights of columns, divided among those that say the same: copies count once."""
    same = [
        1.0
        + sum(retained_through(column, other_column.codes) for other_column in originals if other_column is not column)
        for column in originals
    ]
    return np.asarray(weights / np.array(same))
