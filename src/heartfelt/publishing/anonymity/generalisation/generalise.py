"""k-anonymity and l-diversity by coarsening columns and, where that is not enough, leaving out single values.

Every column has a hierarchy of levels and is published at one of them (full-domain generalisation: Samarati 2001; Sweeney 2002), so
a value means the same in every row. A combination of levels costs the squared share that is lost of every column, times the
column's weight; what another published column says too is not lost, and columns that say the same share their weight. Combinations
are tried in the order of what they cost at least, until no other can be better (as in LeFevre, DeWitt and Ramakrishnan 2005); where
there are too many, from the top and from the bottom, the best step first (Fung, Wang and Yu 2005). Raters in groups that are too
small then lose single values; of the best combinations the one that is best after that is taken. Diversity is the number of
distinct values (Machanavajjhala et al. 2007).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.generalisation.hierarchies import Hierarchy
from heartfelt.publishing.anonymity.generalisation.information import (
    ABSENT,
    Codes,
    Floats,
    OriginalColumn,
    codes_of,
    losses,
    lost,
    retained,
    retained_through,
    shared_weights,
)
from heartfelt.publishing.anonymity.generalisation.suppress import Needs, groups_of, suppressed, suppressions

Levels = tuple[int, ...]
MOST_LISTED = 400_000
"""Combinations of levels that are all listed, each with what it costs at least."""
_MOST_TRIED = 1500
_MOST_CELLS_TRIED = 30_000_000
_MOST_CELLS_FINISHED = 1_200_000
_MOST_FINISHED = 120
"""Combinations of which it is worked out which single values have to go."""
_PER_GUESS = 8
_GUESSES = (0.5, 0.75, 1.0)
"""What raters in groups that are too small may lose of the rest: half of it, or all."""
_SAID_ELSEWHERE = 0.5
"""The share of a column that another has to hold for that to be mentioned."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GeneralisedColumn:
    """A column as it is published, and what that cost."""

    values: pl.Series
    about: str
    suppressed: int
    """Raters whose value is left out although the column is published."""
    lost: float
    """The share of the column's information that is lost."""
    emptied: int = 0
    """Raters whose value was given and is not published."""
    weight: float = 1.0
    also_in: tuple[str, float] | None = None
    """Another published column that holds more of its information, and the share."""


@dataclass(frozen=True, slots=True, eq=False)
class Generalised:
    """Columns of the raters such that every combination is shared by ``k`` of them."""

    columns: dict[str, GeneralisedColumn]
    groups: int
    smallest: int
    """The raters in the smallest group."""
    exhaustive: bool
    """Whether no combination of levels could have been better."""


def generalise(
    hierarchies: Sequence[Hierarchy],
    sensitive: Sequence[pl.Series],
    k: int,
    l: int,  # noqa: E741  # the literature's letter
    *,
    weights: Mapping[str, float] | None = None,
    earlier: pl.Series | None = None,
) -> Generalised:
    """Choose a level for every column, and which values are left out.

    ``weights`` say how much a column matters (1 if left out), ``earlier`` what each rater is known by already: groups are
    those of raters who share that too. An ``InputError`` where there are too few raters for a group.
    """
    rows = len(hierarchies[0].original) if hierarchies else 0
    if not hierarchies or not rows:
        return Generalised({}, 0, 0, True)
    secrets = [codes_of(column) for column in sensitive]
    earlier_groups = np.zeros(rows, dtype=np.int64) if earlier is None else codes_of(earlier)
    needs = Needs(k, l, secrets, earlier_groups)
    if needs.small(groups_of(earlier_groups[:, None])).any():
        among = "" if earlier is None else " within the groups that earlier releases make"
        raise InputError(
            f"{rows} raters cannot be k-anonymous with k = {k} and l = {l}{among}.", "Publish without demographics."
        )
    importance = np.array([(weights or {}).get(hierarchy.column, 1.0) for hierarchy in hierarchies])
    search = _Search(hierarchies, needs, importance)
    best, exhaustive = search.candidates()
    chosen, published = search.finished(best)
    counts = np.bincount(groups_of(published))
    columns = {
        hierarchy.column: search.column(index, chosen[index], published) for index, hierarchy in enumerate(hierarchies)
    }
    return Generalised(columns, counts.size, int(counts.min()), exhaustive)


class _Search:
    """Tries combinations of levels."""

    def __init__(self, hierarchies: Sequence[Hierarchy], needs: Needs, weights: Floats) -> None:
        self.hierarchies, self.needs, self.stated = hierarchies, needs, weights
        self.coded = [[codes_of(level.values) for level in hierarchy.levels] for hierarchy in hierarchies]
        self.given = [OriginalColumn.of(hierarchy.original) for hierarchy in hierarchies]
        self.weights = shared_weights(self.given, weights)
        self.losses = losses(self.given, self.coded)
        self.rows, self.columns = len(hierarchies[0].original), len(hierarchies)
        self._costs: dict[Levels, tuple[float, ...]] = {}
        self._finished: dict[Levels, float] = {}
        self.budget = min(_MOST_TRIED, max(50, _MOST_CELLS_TRIED // (self.rows * self.columns)))

    def at(self, levels: Sequence[int]) -> Codes:
        """The codes of every column at its level."""
        return np.column_stack([self.coded[column][level] for column, level in enumerate(levels)])

    def cost(self, levels: Levels) -> float:
        """What a combination costs, if raters in groups that are too small lose half of what is left."""
        return self._guessed(levels)[0]

    def _guessed(self, levels: Levels) -> tuple[float, ...]:
        if levels not in self._costs:
            small = float(self.needs.small(self.needs.groups(self.at(levels))).mean())
            gone = self.losses[:, np.arange(self.columns), list(levels)].min(axis=1)
            self._costs[levels] = tuple(
                float((self.weights * (gone + guess * small * (1 - gone)) ** 2).sum()) for guess in _GUESSES
            )
        return self._costs[levels]

    def candidates(self) -> tuple[list[Levels], bool]:
        """The best combinations, and whether nothing better can be left."""
        if math.prod(map(len, self.coded)) > MOST_LISTED:
            # From nothing at all and from everything as given: the two ends of the lattice seldom lead to the same minimum.
            for levels in (tuple(len(column_levels) - 1 for column_levels in self.coded), (0,) * self.columns):
                self._descend(levels)
            return self._best(), False
        listed, least = self._listed()
        worst: list[float] = []
        for tried, position in enumerate(np.argsort(least, kind="stable").tolist()):
            if len(worst) == _PER_GUESS and least[position] >= -worst[0]:
                return self._best(), True
            if tried >= self.budget:
                break
            cost = self.cost(tuple(listed[position].tolist()))
            # A heap of the best costs so far, negative: its top is the worst of them, and what has to be beaten.
            (heapq.heappushpop if len(worst) == _PER_GUESS else heapq.heappush)(worst, -cost)
        everything = len(self._costs) == len(least)
        if not everything:
            self._descend(tuple(len(column_levels) - 1 for column_levels in self.coded))
        return self._best(), everything

    def _listed(self) -> tuple[Codes, Floats]:
        """Every combination of levels, and what it costs if nobody stands out."""
        listed = np.indices([len(column_levels) for column_levels in self.coded]).reshape(self.columns, -1).T
        least = np.zeros(len(listed))
        for column, weight in enumerate(self.weights):
            gone = np.ones(len(listed))
            for other_column in range(self.columns):
                np.minimum(gone, self.losses[column, other_column, listed[:, other_column]], out=gone)
            least += weight * gone**2
        return listed, least

    def _best(self) -> list[Levels]:
        best = [
            heapq.nsmallest(_PER_GUESS, self._costs, key=lambda levels: (self._costs[levels][guess], levels))
            for guess in range(len(_GUESSES))
        ]
        return list(dict.fromkeys(levels for ranked in zip(*best, strict=True) for levels in ranked))

    def _descend(self, levels: Levels) -> None:
        """Change one column at a time, each time the one that gains most, until nothing gains or enough was tried."""
        most = len(self._costs) + self.budget
        while len(self._costs) < most:
            better = min(self._neighbours(levels), key=self.cost, default=levels)
            if self.cost(better) >= self.cost(levels):
                return
            levels = better

    def _neighbours(self, levels: Levels) -> Iterator[Levels]:
        for column, column_levels in enumerate(self.coded):
            for level in range(len(column_levels)):
                if level != levels[column]:
                    yield (*levels[:column], level, *levels[column + 1 :])

    def finished(self, candidates: Sequence[Levels]) -> tuple[Levels, Codes]:
        """The combination that costs least once nobody stands out, and what is then published."""
        most = min(_MOST_FINISHED, max(2, _MOST_CELLS_FINISHED // (self.rows * self.columns)))
        for levels in candidates[:most]:
            self._finish(levels)
        while len(self._finished) < most:
            best = self._cheapest(1)[0]
            for levels in self._neighbours(best):
                if len(self._finished) < most:
                    self._finish(levels)
            if self._cheapest(1)[0] == best:
                break
        ways = [
            (self._cost_of(published), levels, published)
            for levels in self._cheapest(_PER_GUESS if most == _MOST_FINISHED else 1)
            for published in suppressions(self.at(levels), self.needs, self.weights)
        ]
        _, levels, published = min(ways, key=lambda way: way[:2])
        return levels, published

    def _finish(self, levels: Levels) -> None:
        if levels not in self._finished:
            self._finished[levels] = self._cost_of(suppressed(self.at(levels), self.needs, self.weights))

    def _cheapest(self, count: int) -> list[Levels]:
        return heapq.nsmallest(count, self._finished, key=lambda levels: (self._finished[levels], levels))

    def _cost_of(self, published: Codes) -> float:
        return float((self.weights * lost(self.given, published) ** 2).sum())

    def column(self, column: int, level: int, published: Codes) -> GeneralisedColumn:
        hierarchy, after = self.hierarchies[column], published[:, column]
        gone = pl.Series((self.coded[column][level] != ABSENT) & (after == ABSENT))
        values = hierarchy.levels[level].values.alias(hierarchy.column).set(gone, None)
        retained_share = retained(self.given[column], after)
        shares = {
            other_hierarchy.column: retained_through(self.given[column], published[:, at])
            for at, other_hierarchy in enumerate(self.hierarchies)
        }
        elsewhere = max(shares, key=lambda name: shares[name], default=None)
        also_in = None
        if elsewhere is not None and shares[elsewhere] > max(retained_share, _SAID_ELSEWHERE):
            also_in = (elsewhere, shares[elsewhere])
        emptied = int(((self.given[column].codes != ABSENT) & (after == ABSENT)).sum())
        weight = float(self.stated[column])
        return GeneralisedColumn(
            values=values,
            about=hierarchy.levels[level].about,
            suppressed=int(gone.sum()),
            lost=1 - retained_share,
            emptied=emptied,
            weight=weight,
            also_in=also_in,
        )
