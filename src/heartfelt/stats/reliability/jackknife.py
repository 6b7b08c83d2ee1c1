"""Two-way jackknife: the variance of a statistic of ratings whose items and raters are both samples.

The statistic is recomputed without each item, without each rater and without each rating. Leaving out items
shows the sampling of items and of their ratings; leaving out raters adds what raters do beyond the ratings
they give: V = V(items) + max(V(raters) - V(ratings), 0), enlarged for few raters (``stats._two_way``). This is
the inclusion and exclusion of two-way clusters (Cameron, Gelbach & Miller, 2011), with the raters' own part
held at or above zero. It assumes neither normal ratings nor raters of equal quality, which intervals from a
likelihood do.

Reliabilities move on the scale of log F, F = 1 + k r / (1 - r) being the ratio of mean squares that a
reliability r of single ratings implies for k of them. The recomputed statistics are moment estimates,
functions of a few sums, so the whole costs one pass over the ratings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.stats._two_way import TwoWaySpread, effective
from heartfelt.stats.reliability.design import Design
from heartfelt.stats.triples import Floats, Ints
from heartfelt.streams import stream

Rows: TypeAlias = npt.NDArray[np.float64]
Statistic: TypeAlias = Callable[[Rows], Floats]

NAME = "two-way jackknife over items and raters"
TOO_FEW = "fewer than three items or raters are too few to leave one out"
BLOCK = 200_000
MANY_RATINGS, FEW_GROUPS = 200_000, 10


def spread(without: Floats) -> float:
    """Delete-one jackknife variance from the values without each unit."""
    n = without.size
    if n < 2:
        return 0.0
    centred = without - without.mean()
    return float((n - 1) / n * (centred @ centred))


def two_way_variance(items: Floats, raters: Floats, ratings: Floats) -> float:
    """Variance from the values without each item, each rater and each rating."""
    return spread(items) + max(spread(raters) - spread(ratings), 0.0)


def half_width(variance: float, units: int, confidence: float) -> float:
    """t quantile with ``units`` - 1 degrees of freedom times the standard error."""
    from scipy.special import stdtrit

    return float(stdtrit(max(units - 1, 1), 0.5 + confidence / 2) * np.sqrt(variance))


class MomentJackknife:
    """Moment sums without each unit; ``cells`` gives each item's cell, whose mean is taken off."""

    def __init__(self, d: Design, cells: Ints | None = None) -> None:
        from heartfelt.stats import _kernels_leaving_out as leaving_out
        from heartfelt.stats._kernels_reliability import group

        self._d = d
        cell_of = np.zeros(len(d.items), np.int64) if cells is None else cells
        y = d.value - float(d.value.mean())
        item = _sums(d.item, y, len(d.items))
        rater = _sums(d.rater, y, len(d.raters))
        cell = np.zeros((int(cell_of.max()) + 1, 2))
        np.add.at(cell, cell_of, item)
        levels = [
            y.size,
            len(item),
            len(cell),
            y @ y,
            _squares(item),
            _squares(cell),
            len(rater),
            _squares(rater),
        ]
        self.total = np.array([*levels, item[:, 0] @ item[:, 0], rater[:, 0] @ rater[:, 0]])
        self._ratings = (d.item, d.rater, y, cell_of, item, rater, cell, self.total)
        by_item, by_rater = group(d.item, len(item)), group(d.rater, len(rater))
        self.items: Rows = leaving_out.without_groups(*by_item, False, self._ratings)
        self.raters: Rows = leaving_out.without_groups(*by_rater, True, self._ratings)

    def ratings(self, first: int, last: int) -> Rows:
        """The sums without each rating from ``first`` up to ``last``."""
        from heartfelt.stats import _kernels_leaving_out as leaving_out

        rows: Rows = leaving_out.without_ratings(self._ratings, first, last)
        return rows

    @property
    def units(self) -> int:
        """Items less cells plus one, or raters, whichever are fewer."""
        return int(min(self.total[1] - self.total[2] + 1, self.total[6]))

    def variances(self, *statistics: Statistic) -> list[float]:
        """Two-way variance of each statistic, given as functions of rows of sums."""
        return [s.items + max(s.raters - s.ratings, 0.0) for s in self.spreads(*statistics)]

    def spreads(self, *statistics: Statistic) -> list[TwoWaySpread]:
        """Variances of each statistic over items, raters and ratings."""
        ratings = [_Moments() for _ in statistics]
        for first in range(0, self._d.size, BLOCK):
            block = self.ratings(first, min(first + BLOCK, self._d.size))
            for moments, statistic in zip(ratings, statistics, strict=True):
                moments.add(statistic(block))
        counts = effective(self._d.per_item), effective(self._d.per_rater)
        return [
            TwoWaySpread(
                spread(statistic(self.items)), spread(statistic(self.raters)), moments.spread(), *counts
            )
            for moments, statistic in zip(ratings, statistics, strict=True)
        ]

    def why_unsteady(self) -> str | None:
        """Why nothing is left to compute from without some item or rater, or None."""
        if min(len(self._d.items), len(self._d.raters)) < 3:
            return TOO_FEW
        whole = _within(self.total[None])[0]
        for rows, unit in ((self.items, "item"), (self.raters, "rater")):
            if not (_within(rows) > 1e-9 * whole).all():
                return f"without one {unit} the other ratings of each item are all equal, or single"
        return None


class _Moments:
    """Sum and sum of squares of values that come in blocks, about the first of them."""

    def __init__(self) -> None:
        self.count, self.first, self.total, self.squares = 0, 0.0, 0.0, 0.0

    def add(self, values: Floats) -> None:
        """Count these values in."""
        if not self.count and values.size:
            self.first = float(values[0])
        about = values - self.first
        self.count += values.size
        self.total += float(about.sum())
        self.squares += float(about @ about)

    def spread(self) -> float:
        """Delete-one jackknife variance."""
        n = self.count
        return max((n - 1) / n * (self.squares - self.total**2 / n), 0.0) if n > 1 else 0.0


def log_f(sums: Rows) -> Floats:
    """Log ratio of the mean squares between items (within cells) and within items."""
    between, within = _mean_squares(sums)
    return np.log(np.maximum(between, 1e-12 * within) / within)


def log_within(sums: Rows) -> Floats:
    """Log mean square within items: the error variance of one rating."""
    return np.log(_mean_squares(sums)[1])


def moment_components(sums: Rows) -> tuple[Floats, Floats, Floats, Floats]:
    """Item, rater and residual variance and their error (rater + residual), by moments (Gao & Owen, 2017).

    No cells. The first two may be negative; residual and error are held above zero.
    """
    ratings, squares, grand = sums[:, 0], sums[:, 3], sums[:, 5]
    error = _within(sums)
    within_raters = (squares - sums[:, 7]) / np.maximum(ratings - sums[:, 6], 1.0)
    a, b = ratings - sums[:, 8] / ratings, ratings - sums[:, 9] / ratings
    residual = (within_raters * a + error * b - (squares - grand)) / np.maximum(a + b - ratings + 1.0, 1e-9)
    least = 1e-12 * np.maximum(squares, 1e-300) / ratings
    floor = np.maximum(1e-3 * error, least)
    return within_raters - residual, error - residual, np.maximum(residual, floor), np.maximum(error, least)


def log_agreement(sums: Rows, k: float) -> Floats:
    """Log of 1 + k times the ratio of item to error variance, by moments; no cells."""
    item, _, _, error = moment_components(sums)
    return np.log(np.maximum(1.0 + k * item / error, 1e-6))


def log_consistency(sums: Rows, k: float) -> Floats:
    """Log of 1 + k times the ratio of item to residual variance, by moments; no cells."""
    item, _, residual, _ = moment_components(sums)
    return np.log(np.maximum(1.0 + k * item / residual, 1e-6))


def on_log_f(reliability: float, k: float) -> float:
    """A reliability of single ratings on the log F scale of k ratings."""
    return float(np.log(max(1.0 + k * reliability / (1.0 - reliability), 1e-6)))


def from_log_f(z: float, k: float) -> float:
    """The reliability of single ratings at a place on the log F scale, at least -1."""
    f = float(np.expm1(min(z, 700.0)))
    return max(f / (f + k), -1.0) if f + k > 0 else -1.0


def moved(reliability: float, k: float, by: float) -> float:
    """A reliability of single ratings moved by ``by`` on the log F scale of k ratings."""
    f = (1.0 + k * reliability / (1.0 - reliability)) * float(np.exp(by))
    return (f - 1.0) / (f - 1.0 + k)


def _within(sums: Rows) -> Floats:
    """Mean square within items, as it comes."""
    return (sums[:, 3] - sums[:, 4]) / np.maximum(sums[:, 0] - sums[:, 1], 1.0)


def _mean_squares(sums: Rows) -> tuple[Floats, Floats]:
    between = (sums[:, 4] - sums[:, 5]) / np.maximum(sums[:, 1] - sums[:, 2], 1.0)
    within = (sums[:, 3] - sums[:, 4]) / np.maximum(sums[:, 0] - sums[:, 1], 1.0)
    return between, np.maximum(within, 1e-12 * np.maximum(sums[:, 3], 1e-300) / sums[:, 0])


def _sums(codes: Ints, y: Floats, count: int) -> npt.NDArray[np.float64]:
    return np.column_stack([np.bincount(codes, minlength=count), np.bincount(codes, y, minlength=count)])


def _squares(sums: Rows) -> float:
    return float((sums[:, 1] ** 2 / np.maximum(sums[:, 0], 1.0)).sum())


def group_variance(
    d: Design, statistic: Callable[[npt.NDArray[np.bool_]], float | None], groups: int, seed: int
) -> tuple[float, int] | None:
    """Two-way variance by leaving out groups of items, raters and ratings, and the number of groups.

    ``statistic`` takes the ratings to keep. None where it cannot be computed without some group. Above
    200,000 ratings there are at most ten groups: the statistic then takes longer than its interval is wide.
    """
    groups = min(groups, FEW_GROUPS) if d.size > MANY_RATINGS else groups
    rng = stream(seed, "reliability", "group jackknife")
    spreads: list[Floats] = []
    fewest = groups
    for codes, count in ((d.item, len(d.items)), (d.rater, len(d.raters)), (None, d.size)):
        parts = min(groups, count)
        fewest = min(fewest, parts)
        if parts < 3:
            return None
        dealt = rng.permutation(np.arange(count) % parts)
        member = dealt if codes is None else dealt[codes]
        values = [statistic(member != g) for g in range(parts)]
        known = [v for v in values if v is not None]
        if len(known) < parts:
            return None
        spreads.append(np.array(known))
    return two_way_variance(*spreads), fewest
