"""k-anonymity and l-diversity by coarsening columns and, where that is not enough, leaving out single values.

Every column has a hierarchy of levels and is published at one of them (full-domain generalisation: Samarati 2001; Sweeney 2002), so
a value means the same in every row. Where all combinations of levels are few they are all tried, which gives the best; else levels
are refined from the top, the most useful first (Fung, Wang and Yu 2005). A combination costs the share of each column's entropy
that is lost (Gionis and Tassa 2009), with raters in groups that are too small counted as lost altogether. Those raters then lose
single values until their group is large enough. Diversity is the number of distinct values (Machanavajjhala et al. 2007).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.hierarchies import Hierarchy

Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
MOST_TRIED = 4096
_MOST_JOINED = 20
_MOST_ROWS_TRIED = 4_000_000
_SHARED = 0.1
"""What a column is worth in which all values are the same, in nats."""
_ABSENT = 0
"""The code of a value that was not given, or is left out: nobody can tell which."""


@dataclass(frozen=True, slots=True, eq=False)
class GeneralisedColumn:
    """A column as it is published, and what that cost."""

    values: pl.Series
    about: str
    suppressed: int
    """Raters whose value is left out although the column is published."""
    lost: float
    """The share of the column's entropy that is lost."""


@dataclass(frozen=True, slots=True, eq=False)
class Generalised:
    """Columns of the raters such that every combination is shared by ``k`` of them."""

    columns: dict[str, GeneralisedColumn]
    groups: int
    smallest: int
    """The raters in the smallest group."""
    exhaustive: bool
    """Whether all combinations of levels were tried."""


def generalise(
    hierarchies: Sequence[Hierarchy],
    sensitive: Sequence[pl.Series],
    k: int,
    l: int,  # noqa: E741  # the literature's letter
) -> Generalised:
    """Choose a level for every column, and which values are left out.

    An ``InputError`` where there are fewer than ``k`` raters, or a sensitive column has fewer than ``l`` values.
    """
    rows = len(hierarchies[0].original) if hierarchies else 0
    if not hierarchies or not rows:
        return Generalised({}, 0, 0, True)
    secrets = [_codes(column) for column in sensitive]
    if rows < k or any(np.unique(codes).size < l for codes in secrets):
        raise InputError(
            f"{rows} raters cannot be k-anonymous with k = {k}.", "Publish without demographics."
        )
    coded = [[_codes(level.values) for level in each.levels] for each in hierarchies]
    costs = [_level_costs(each.original, levels) for each, levels in zip(hierarchies, coded, strict=True)]
    sizes = [len(levels) for levels in coded]
    exhaustive = math.prod(sizes) <= MOST_TRIED and math.prod(sizes) * rows <= _MOST_ROWS_TRIED
    search = _Search(coded, costs, secrets, k, l)
    chosen = search.best_of_all() if exhaustive else search.best_from_the_top()
    published = _suppressed(search.at(chosen), secrets, k, l)
    groups = _groups(published)
    columns = {
        each.column: _column(each, level, coded[place][level], published[:, place])
        for place, (each, level) in enumerate(zip(hierarchies, chosen, strict=True))
    }
    counts = np.bincount(groups)
    return Generalised(columns, counts.size, int(counts.min()), exhaustive)


def _codes(column: pl.Series) -> Codes:
    """A number for every value, and 0 where there is none."""
    ranks = column.cast(pl.String).rank("dense").fill_null(_ABSENT)
    return ranks.to_numpy().astype(np.int64)


def _entropy(codes: Codes) -> float:
    shares = np.unique(codes, return_counts=True)[1] / codes.size
    return float(-(shares * np.log(shares)).sum())


def _level_costs(original: pl.Series, levels: Sequence[Codes]) -> list[float]:
    """The share of entropy that each level loses; a value that all raters share is still worth a little."""
    full = _entropy(_codes(original)) + _SHARED
    return [1 - (_entropy(codes) + _SHARED) / full if codes.any() else 1.0 for codes in levels]


def _groups(matrix: Codes) -> Codes:
    """The number of the group that each row belongs to: rows with the same values in all columns."""
    groups = np.zeros(matrix.shape[0], dtype=np.int64)
    for column in matrix.T:
        pairs = groups * (int(column.max()) + 1) + column
        groups = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return groups


def _too_small(groups: Codes, secrets: Sequence[Codes], k: int, l: int) -> Flags:  # noqa: E741  # the literature's letter
    """Which rows are in a group of fewer than ``k``, or with fewer than ``l`` values of a sensitive column."""
    small = np.bincount(groups) < k
    for codes in secrets:
        width = int(codes.max()) + 1
        pairs = np.unique(groups * width + codes)
        small |= np.bincount(pairs // width, minlength=small.size) < l
    return np.asarray(small[groups])


class _Search:
    """Tries combinations of levels."""

    def __init__(
        self,
        coded: Sequence[Sequence[Codes]],
        costs: Sequence[Sequence[float]],
        secrets: Sequence[Codes],
        k: int,
        l: int,  # noqa: E741  # the literature's letter
    ) -> None:
        self.coded, self.costs, self.secrets, self.k, self.l = coded, costs, secrets, k, l
        self._known: dict[tuple[int, ...], float] = {}

    def at(self, levels: Sequence[int]) -> Codes:
        """The codes of every column at its level."""
        return np.column_stack([self.coded[place][level] for place, level in enumerate(levels)])

    def cost(self, levels: tuple[int, ...]) -> float:
        """The squared shares of entropy lost, counting everything of raters in groups that are too small as lost.

        Squares, because a column that is gone is worse than two columns that are half as detailed.
        """
        if levels not in self._known:
            small = _too_small(_groups(self.at(levels)), self.secrets, self.k, self.l)
            left_out = float(small.mean())
            coarse = (self.costs[place][level] for place, level in enumerate(levels))
            self._known[levels] = sum((cost * (1 - left_out) + left_out) ** 2 for cost in coarse)
        return self._known[levels]

    def best_of_all(self) -> tuple[int, ...]:
        """The cheapest combination; the finer ones first where several are equal."""
        return min(itertools.product(*(range(len(levels)) for levels in self.coded)), key=self.cost)

    def best_from_the_top(self) -> tuple[int, ...]:
        """Refine one column at a time, each time the one that gains most, until nothing gains."""
        levels = tuple(len(each) - 1 for each in self.coded)
        while True:
            better = min(self._neighbours(levels), key=self.cost, default=levels)
            if self.cost(better) >= self.cost(levels):
                return levels
            levels = better

    def _neighbours(self, levels: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for place, known in enumerate(self.coded):
            for level in range(len(known)):
                if level != levels[place]:
                    yield (*levels[:place], level, *levels[place + 1 :])


def _suppressed(
    matrix: Codes,
    secrets: Sequence[Codes],
    k: int,
    l: int,  # noqa: E741  # the literature's letter
) -> Codes:
    """The codes with single values left out until every group is large and diverse enough.

    A row that has lost a value joins a group and never leaves one, so groups that are large enough stay so.
    """
    out = matrix.copy()
    order = sorted(range(out.shape[1]), key=lambda place: -np.unique(out[:, place]).size)
    small = _too_small(_groups(out), secrets, k, l)
    for place in order:
        if not small.any():
            return out
        out[small, place] = _ABSENT
        small = _too_small(_groups(out), secrets, k, l)
    out[small] = matrix[small]
    while small.any():
        # Too few are left to make a group of their own: they join another group, which loses the same values.
        groups = _groups(out)
        counts = np.bincount(groups)
        sizes = np.where(np.bincount(groups, weights=small) > 0, counts, out.shape[0] + 1)
        out = _joined(out, groups, int(sizes.argmin()), order, secrets, k, l)
        small = _too_small(_groups(out), secrets, k, l)
    return out


def _joined(
    matrix: Codes,
    groups: Codes,
    number: int,
    order: Sequence[int],
    secrets: Sequence[Codes],
    k: int,
    l: int,  # noqa: E741  # the literature's letter
) -> Codes:
    """The codes with one group joined to another, whichever costs the fewest values."""
    counts = np.bincount(groups)
    first = np.unique(groups, return_index=True)[1]
    own, others = matrix[first[number]], matrix[first]
    best: tuple[int, int, list[int]] | None = None
    for length in range(1, len(order) + 1):
        gone, rest = list(order[:length]), list(order[length:])
        alike = (others[:, rest] == own[rest]).all(axis=1)
        alike[number] = False
        costs = counts * (others[:, gone] != _ABSENT).sum(axis=1)
        for other in sorted(np.flatnonzero(alike).tolist(), key=lambda each: (costs[each], each))[
            :_MOST_JOINED
        ]:
            cost = int(costs[other] + counts[number] * (own[gone] != _ABSENT).sum())
            if best is not None and cost >= best[0]:
                break
            both = (groups == number) | (groups == other)
            if both.sum() >= k and all(np.unique(codes[both]).size >= l for codes in secrets):
                best = (cost, other, gone)
                break
    out = matrix.copy()
    if best is None:
        counts[number] = out.shape[0] + 1
        best = (0, int(counts.argmin()), list(order))
    rows = np.flatnonzero((groups == number) | (groups == best[1]))
    out[rows[:, None], np.array(best[2])] = _ABSENT
    return out


def _column(each: Hierarchy, level: int, before: Codes, after: Codes) -> GeneralisedColumn:
    gone = pl.Series((before != _ABSENT) & (after == _ABSENT))
    chosen = each.levels[level]
    values = chosen.values.alias(each.column).set(gone, None)
    original = _codes(each.original)
    full = _entropy(original)
    joint = _entropy(_groups(np.column_stack([original, after])))
    shared = full + _entropy(after) - joint
    lost = 0.0 if full == 0 else min(1.0, max(0.0, 1 - shared / full))
    return GeneralisedColumn(values, chosen.about, int(gone.sum()), lost)
