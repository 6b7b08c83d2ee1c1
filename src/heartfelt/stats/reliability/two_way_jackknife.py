"""The two-way jackknife: intervals of statistics of ratings whose items and raters are both samples.

The statistic is recomputed without each item, without each rater and without each rating. With V_items,
V_raters and V_ratings the variances found so, and R the (effective) number of raters,

    V = V_items + (1 + 4 / R) max(V_raters - V_ratings, 0).

Leaving out items shows the sampling of items and of their ratings; the difference is what raters add beyond
the noise of their single ratings. Few raters show too little of it, which the factor makes up for
(:func:`two_way_variance`, the one place for it; ``docs/stats/coverage.md`` compares it with nine others). Bounds
take Student's t with Satterthwaite's degrees of freedom. Neither normal ratings nor raters of equal quality
are assumed, which intervals from a likelihood do.

Reliabilities and agreement have two intervals. The one *for raters like these* draws the raters' part towards what
unequal gains usually cause, as a few raters hardly show it: with r the reliability and a standard deviation of .35
between gains (published panels: .29 to .37), Var(r) = 4 (.35 r (1 - r))^2 / R counts as much as four further raters,
unless the panel is precise enough to show that its raters differ less (the upper 90% bounds of the gains,
``stats.rater_differences``, and of V_raters); so does what R normal levels cause. The part over items is drawn towards
that of normal items in the same way, as much as four further items would. And the bound *if some future raters are
careless*: a panel may happen to contain no careless rater although its population does. By the rule of three, up to
three in R + 3 may be careless where none of R was; a reliability would then be lower by the share of pairs of raters
that are both attentive, R (R - 1) / ((R + 3) (R + 2)). That distance is added in quadrature to the half width from V.

Reliabilities move on the scale of log F, F = 1 + k r / (1 - r) being the ratio of mean squares that a
reliability r of single ratings implies for k of them. The recomputed statistics are moment estimates,
functions of a few sums, so the whole costs one pass over the ratings.

Sources: Cameron, Gelbach & Miller (2011) for the sum of variances; Efron & Stein (1981) for the jackknife;
Hanley & Lippman-Hand (1983) for the rule of three; Gao & Owen (2017) for the moments.
``docs/stats/reliability.md`` has the simulated coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.stats import _bounds
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.ratings import Ratings
from heartfelt.stats.reliability.rater_differences import (
    SHOWN,
    USUAL_GAIN,
    RaterDifferences,
    largest_gain,
    levels_apart,
)
from heartfelt.streams import stream

Sums: TypeAlias = npt.NDArray[np.float64]
Statistics: TypeAlias = Callable[[Sums], Sequence[Floats]]

NAME = "two-way jackknife over items and raters"
ITEMS_ALONE = "jackknife over items, raters assumed to differ as usual (only 2 raters)"
TOO_FEW = "fewer than three items or raters are too few to leave one out"
BLOCK = 200_000
MANY_RATINGS, FEW_GROUPS = 200_000, 10
_FEW_RATERS = 4.0
_UNSEEN = 3.0
_PRIOR_DF = 4.0
FOR_ALIKE = "for raters like these"


def half_width(variance: float, df: float, confidence: float) -> float:
    """Student's t quantile times the standard error."""
    return _bounds.t_quantile(confidence, max(df, 1.0)) * math.sqrt(variance)


def jackknife_variance(without: Floats) -> float:
    """Delete-one jackknife variance from the values without each unit."""
    n = without.size
    if n < 2:
        return 0.0
    centred = without - without.mean()
    return float((n - 1) / n * (centred @ centred))


def effective(sizes: npt.NDArray[Any]) -> float:
    """How many equal units would weigh as unevenly as these: (sum)^2 / sum of squares."""
    squares = float(np.square(sizes, dtype=np.float64).sum())
    return float(sizes.sum()) ** 2 / squares if squares > 0 else 0.0


def attentive_pairs(raters: float) -> float:
    """Share of pairs that are both attentive if three careless raters had joined a panel of this size."""
    return raters * (raters - 1.0) / ((raters + _UNSEEN) * (raters + _UNSEEN - 1.0))


def careless_share(raters: float) -> float:
    """Share of a panel of this size that three careless raters more would make up."""
    return _UNSEEN / (raters + _UNSEEN)


def rater_factor(rater_count: float) -> float:
    """What the raters' part is multiplied by, since few raters show too little of it."""
    return 1.0 + _FEW_RATERS / max(rater_count, 1.0)


def two_way_variance(
    *, items: float, raters: float, ratings: float, item_df: float, rater_count: float
) -> tuple[float, float]:
    """The variance of a statistic whose items and raters are both samples, and Satterthwaite's degrees of freedom."""
    part = rater_factor(rater_count) * max(raters - ratings, 0.0)
    variance = items + part
    # Where rating noise swamps the raters' part, that part is known no better than its noise allows.
    doubt = max(part, min(raters, items))
    below = items**2 / item_df + doubt**2 / max(rater_count - 1.0, 1.0)
    return variance, max(variance**2 / below, 1.0) if below > 0 else item_df


@dataclass(frozen=True, slots=True)
class RaterVariance:
    """Jackknife variances of a statistic over ``count`` raters and over their single ratings."""

    raters: float
    ratings: float
    count: int

    def added_to(self, items: float, df: float) -> tuple[float, float]:
        """The variance with that over items, which has ``df`` degrees of freedom, and those of the sum."""
        return two_way_variance(
            items=items, raters=self.raters, ratings=self.ratings, item_df=df, rater_count=self.count
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoWaySpread:
    """Jackknife variances over items, raters and single ratings, and the effective numbers left out."""

    items: float
    raters: float
    ratings: float
    item_count: float
    rater_count: float

    @property
    def plain_variance(self) -> float:
        """The variance of the statistic, nothing made up for few raters."""
        return self.items + max(self.raters - self.ratings, 0.0)

    def _combined(self) -> tuple[float, float]:
        return two_way_variance(
            items=self.items,
            raters=self.raters,
            ratings=self.ratings,
            item_df=max(self.item_count - 1.0, 1.0),
            rater_count=self.rater_count,
        )

    @property
    def variance(self) -> float:
        return self._combined()[0]

    @property
    def df(self) -> float:
        """Satterthwaite's degrees of freedom, at least 1."""
        return self._combined()[1]

    def bounds(self, centre: float, confidence: float) -> tuple[float, float]:
        """Bounds about ``centre`` on the scale of the variances."""
        half = half_width(self.variance, self.df, confidence)
        return centre - half, centre + half

    def alike(self, usual: float, normal_items: float | None = None, levels: float = 0.0) -> tuple[float, float]:
        """Variance and degrees of freedom for raters like these.

        ``usual`` is the variance that usual gains cause and ``levels`` that of normal levels, which count as four further
        raters; ``normal_items`` that over items which normal items would give, which counts as four further items.
        """
        from scipy.special import chdtri

        # Two raters cannot be left out: nothing is seen of how they differ, and the usual stands alone.
        raters = max(self.rater_count - 1.0, 1e-3) if self.raters > 0 else 0.0
        excess = (1.0 + 1.0 / max(self.rater_count, 1.0)) * max(self.raters - self.ratings, 0.0)
        if raters:
            usual = min(usual, self.raters * raters / float(chdtri(raters, 1.0 - SHOWN)))
        part = (_PRIOR_DF * (usual + levels) + raters * excess) / (_PRIOR_DF + raters)
        items, free = self.items, max(self.item_count - 1.0, 1.0)
        if normal_items is not None:
            items = (_PRIOR_DF * normal_items + free * self.items) / (_PRIOR_DF + free)
            # Two raters of unequal gain vary less over items than they do over pairs of raters.
            items = items if raters else max(items, normal_items)
        variance = items + part
        doubt = items**2 / free + part**2 / (_PRIOR_DF + raters)
        return variance, variance**2 / doubt if doubt > 0 else free

    def reach_alike(
        self,
        response: float,
        confidence: float,
        normal_items: float | None = None,
        gain: float = USUAL_GAIN,
        level_response: float = 0.0,
    ) -> float:
        """How far bounds for raters like these lie from the value.

        ``response`` is how much the statistic changes, on its scale, per unit of the log of the items' variance,
        ``level_response`` the same of the variance of raters' levels; ``gain`` is the standard deviation of gains to count on.
        """
        usual = (2.0 * response * gain) ** 2 / max(self.rater_count, 1.0)
        levels = 2.0 * level_response**2 / max(self.rater_count - 1.0, 1.0)
        return half_width(*self.alike(usual, normal_items, levels), confidence)

    def reach_if_careless(self, distance: float, confidence: float) -> float:
        """How far the bound lies if unseen careless raters may move the statistic by ``distance``."""
        return math.hypot(half_width(self.variance, self.df, confidence), distance)


class MomentJackknife:
    """Moment sums without each unit; ``cells`` gives each item's cell, whose mean is taken off.

    Columns of the sums: ratings, items, cells, sum of squares, item sums^2/n, cell sums^2/n, raters, rater
    sums^2/n, sum of item counts^2, sum of rater counts^2.
    """

    def __init__(self, d: Ratings, cells: Ints | None = None) -> None:
        from heartfelt.stats.compiled import _kernels_leaving_out as leaving_out
        from heartfelt.stats.compiled._kernels_reliability import group

        self._d = d
        cell_of = np.zeros(len(d.items), np.int64) if cells is None else cells
        y = d.value - float(d.value.mean())
        item, rater = (
            np.column_stack([counts, np.bincount(codes, y, minlength=counts.size)])
            for codes, counts in ((d.item, d.per_item), (d.rater, d.per_rater))
        )
        cell = np.zeros((int(cell_of.max()) + 1, 2))
        np.add.at(cell, cell_of, item)
        squares = [float((s[:, 1] ** 2 / np.maximum(s[:, 0], 1.0)).sum()) for s in (item, cell, rater)]
        levels = [y.size, len(item), len(cell), y @ y, squares[0], squares[1], len(rater), squares[2]]
        self.total = np.array([*levels, item[:, 0] @ item[:, 0], rater[:, 0] @ rater[:, 0]])
        self._ratings = (d.item, d.rater, y, cell_of, item, rater, cell, self.total)
        by_item, by_rater = group(d.item, len(item)), group(d.rater, len(rater))
        self.items: Sums = leaving_out.without_groups(*by_item, False, self._ratings)
        self.raters: Sums = leaving_out.without_groups(*by_rater, True, self._ratings)

    def ratings(self, first: int, last: int) -> Sums:
        """The sums without each rating from ``first`` up to ``last``."""
        from heartfelt.stats.compiled import _kernels_leaving_out as leaving_out

        sums: Sums = leaving_out.without_ratings(self._ratings, first, last)
        return sums

    @property
    def units(self) -> int:
        """Items less cells plus one, or raters, whichever are fewer."""
        return int(min(self.total[1] - self.total[2] + 1, self.total[6]))

    def spreads(self, statistics: Statistics) -> list[TwoWaySpread]:
        """Variances over items, raters and ratings of each of the statistics that a function of the sums
        gives; of two raters, over items alone.
        """
        item_count, rater_count = effective(self._d.per_item), effective(self._d.per_rater)
        of_items = [jackknife_variance(values) for values in statistics(self.items)]
        of_raters = of_ratings = [0.0] * len(of_items)
        if len(self._d.raters) >= 3:
            of_raters = [jackknife_variance(values) for values in statistics(self.raters)]
            of_ratings = self._over_ratings(statistics)
        return [
            TwoWaySpread(items=items, raters=raters, ratings=ratings, item_count=item_count, rater_count=rater_count)
            for items, raters, ratings in zip(of_items, of_raters, of_ratings, strict=True)
        ]

    def _over_ratings(self, statistics: Statistics) -> list[float]:
        """Jackknife variances over single ratings, a block of them at a time."""
        moments: list[list[float]] = []
        for start in range(0, self._d.size, BLOCK):
            block = statistics(self.ratings(start, min(start + BLOCK, self._d.size)))
            # Count, sum and sum of squares about the first value, since ratings come in blocks.
            moments = moments or [[0.0, 0.0, 0.0, float(values[0])] for values in block]
            for row, values in zip(moments, block, strict=True):
                about = values - row[3]
                row[:3] = row[0] + values.size, row[1] + float(about.sum()), row[2] + float(about @ about)
        return [max((n - 1) / n * (squares - total**2 / n), 0.0) for n, total, squares, _ in moments]

    def why_unsteady(self, fewest_raters: int = 3) -> str | None:
        """Why nothing is left to compute from without some item or rater, or None; two raters are not left out."""
        if len(self._d.items) < 3 or len(self._d.raters) < fewest_raters:
            return TOO_FEW
        within_all = _within(self.total[None])[0]
        for sums, unit in ((self.items, "item"), (self.raters, "rater")):
            if (unit == "item" or len(self._d.raters) > 2) and not (_within(sums) > 1e-9 * within_all).all():
                return f"without one {unit} the other ratings of each item are all equal, or single"
        return None


def moment_jackknife(d: Ratings) -> MomentJackknife:
    """The sums of these ratings without cells, computed once."""
    return d.shared("moment jackknife", lambda: MomentJackknife(d))


def differences_of(d: Ratings) -> RaterDifferences:
    """What these ratings show of how far raters differ, computed once."""

    def computed() -> RaterDifferences:
        y = d.value - float(d.value.mean())
        of_items, of_raters = (
            float((np.bincount(codes, y) ** 2 / counts).sum())
            for codes, counts in ((d.item, d.per_item), (d.rater, d.per_rater))
        )
        levels = _level_share(d, float(y @ y), of_items, of_raters)
        return RaterDifferences(gain=largest_gain(d), levels=levels, apart=levels_apart(d))

    return d.shared("rater differences", computed)


def differences_of_votes(d: Ratings) -> RaterDifferences:
    """The same of codes of categories: levels are raters' shares of them, and gains are taken to be as usual."""
    code, count = d.value.astype(np.int64), int(d.value.max(initial=0)) + 1

    def squares(codes: Ints, sizes: Ints) -> float:
        votes = np.bincount(codes * count + code, minlength=sizes.size * count).reshape(sizes.size, count)
        return float((votes.astype(np.float64) ** 2 / sizes[:, None]).sum())

    grand = squares(np.zeros_like(code), np.array([d.size]))
    of_items, of_raters = squares(d.item, d.per_item) - grand, squares(d.rater, d.per_rater) - grand
    levels = _level_share(d, d.size - grand, of_items, of_raters)
    return RaterDifferences(levels=levels, apart=levels_apart(d))


def _level_share(d: Ratings, squares: float, of_items: float, of_raters: float) -> float:
    """The share of raters' levels in the error of a rating, from sums of squares about the mean."""
    sizes = [float(np.square(counts, dtype=np.float64).sum()) for counts in (d.per_item, d.per_rater)]
    sums = [d.size, len(d.items), 1.0, squares, of_items, 0.0, len(d.raters), of_raters, *sizes]
    _, _, residual, error = moment_components(np.array([sums]))
    return max(1.0 - float(residual[0] / error[0]), 0.0)


def _within(sums: Sums) -> Floats:
    return (sums[:, 3] - sums[:, 4]) / np.maximum(sums[:, 0] - sums[:, 1], 1.0)


def log_f(sums: Sums) -> Floats:
    """Log ratio of the mean squares between items (within cells) and within items."""
    between = (sums[:, 4] - sums[:, 5]) / np.maximum(sums[:, 1] - sums[:, 2], 1.0)
    within = np.maximum(_within(sums), 1e-12 * np.maximum(sums[:, 3], 1e-300) / sums[:, 0])
    return np.log(np.maximum(between, 1e-12 * within) / within)


def moment_components(sums: Sums) -> tuple[Floats, Floats, Floats, Floats]:
    """Item, rater and residual variance and their error (rater + residual), by moments.

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


def log_ratio(part: Floats, remainder: Floats, k: float) -> Floats:
    """Log of 1 + k times the ratio of two variances, the log F scale of moments."""
    return np.log(np.maximum(1.0 + k * part / remainder, 1e-6))


def on_log_f(reliability: float, k: float) -> float:
    """A reliability of single ratings on the log F scale of k ratings."""
    return float(np.log(max(1.0 + k * reliability / (1.0 - reliability), 1e-6)))


def normal_log_f(items: float, k: float) -> float:
    """The variance of log F that normal ratings of so many items, k each, would give."""
    return 2.0 / max(items - 1.0, 1.0) * (1.0 + 1.0 / max(k - 1.0, 0.5))


def from_log_f(z: float, k: float) -> float:
    """The reliability of single ratings at a place on the log F scale, at least -1."""
    f = float(np.expm1(min(z, 700.0)))
    return max(f / (f + k), -1.0) if f + k > 0 else -1.0


def group_variance(
    d: Ratings, statistic: Callable[[npt.NDArray[np.bool_]], float | None], groups: int, seed: int
) -> tuple[float, int] | None:
    """Two-way variance by leaving out groups of items, raters and ratings, and the number of groups.

    ``statistic`` takes the ratings to keep. None where it cannot be computed without some group. Above
    200,000 ratings there are at most ten groups: the statistic then takes longer than its interval is wide.
    """
    groups = min(groups, FEW_GROUPS) if d.size > MANY_RATINGS else groups
    rng = stream(seed, "reliability", "group jackknife")
    variances, fewest = [], groups
    for codes, count in ((d.item, len(d.items)), (d.rater, len(d.raters)), (None, d.size)):
        parts = min(groups, count)
        fewest = min(fewest, parts)
        if parts < 3:
            return None
        dealt = rng.permutation(np.arange(count) % parts)
        member = dealt if codes is None else dealt[codes]
        values = [statistic(member != g) for g in range(parts)]
        if any(value is None for value in values):
            return None
        variances.append(jackknife_variance(np.array(values, np.float64)))
    return variances[0] + max(variances[1] - variances[2], 0.0), fewest
