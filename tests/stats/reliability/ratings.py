"""Simulated ratings shared by the reliability tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Triple = tuple[Ints, Ints, Floats]


@dataclass(frozen=True)
class Crossed:
    """Items rated by ``per_item`` raters drawn afresh; normal effects with these variances."""

    items: int
    raters: int
    per_item: int
    item: float = 1.0
    rater: float = 0.3
    residual: float = 1.0

    def draw(self, rng: np.random.Generator) -> Triple:
        item = np.repeat(np.arange(self.items), self.per_item)
        rater = np.concatenate([rng.permutation(self.raters)[: self.per_item] for _ in range(self.items)])
        value = (
            rng.normal(0, self.item**0.5, self.items)[item]
            + rng.normal(0, self.rater**0.5, self.raters)[rater]
            + rng.normal(0, self.residual**0.5, item.size)
        )
        return rater, item, value


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Jackknife variances over items, raters and ratings with the effective numbers; half widths as the docs define them."""

    items: float
    raters: float
    ratings: float
    n_items: float
    n_raters: float

    def alike(
        self, response: float, normal_items: float, confidence: float, gain: float = 0.35, level_response: float = 0.0
    ) -> float:
        """For raters like these: four raters with these gains and normal levels, and four normal items, join what was seen."""
        free_raters, free_items = self.n_raters - 1, self.n_items - 1
        usual = 4 * gain**2 * response**2 / self.n_raters
        usual = min(usual, self.raters * free_raters / stats.chi2.ppf(0.1, free_raters))
        seen = (1 + 1 / self.n_raters) * max(self.raters - self.ratings, 0.0)
        usual += 2 / free_raters * level_response**2
        of_raters = (4 * usual + free_raters * seen) / (4 + free_raters)
        of_items = (4 * normal_items + free_items * self.items) / (4 + free_items)
        variance = of_items + of_raters
        df = variance**2 / (of_items**2 / free_items + of_raters**2 / (4 + free_raters))
        return float(stats.t.ppf(0.5 + confidence / 2, df) * math.sqrt(variance))

    def if_careless(self, distance: float, confidence: float) -> float:
        """If some future raters are careless, who would move the statistic by ``distance``."""
        part = (1 + 4 / self.n_raters) * max(self.raters - self.ratings, 0.0)
        doubt = max(part, min(self.raters, self.items))
        variance = self.items + part
        df = variance**2 / (self.items**2 / (self.n_items - 1) + doubt**2 / (self.n_raters - 1))
        return math.hypot(stats.t.ppf(0.5 + confidence / 2, df) * math.sqrt(variance), distance)

    @property
    def attentive(self) -> float:
        """The share of pairs that are both attentive if three careless raters had joined the panel."""
        return self.n_raters * (self.n_raters - 1) / ((self.n_raters + 3) * (self.n_raters + 2))


def gain_to_count_on(data: Triple) -> float:
    """The upper 90% bound of the standard deviation of gains, slopes on the items' means over their reliability; .35 at most."""
    rater, item, value = data
    means = np.bincount(item, value) / np.bincount(item)
    raters = np.unique(rater)
    if min(np.bincount(rater)) < 4:
        return 0.35
    slopes, left, squares = [], [], 0.0
    for r in raters:
        x, y = means[item[rater == r]], value[rater == r]
        slope, start = np.polyfit(x, y, 1)
        slopes.append(slope)
        left.append(((y - start - slope * x) ** 2).sum() / (x.size - 2))
        squares += ((x - x.mean()) ** 2).sum()
    per_item = value.size / means.size
    reliable = 1 - np.mean(left) / per_item * (value.size - raters.size) / squares
    free = raters.size - 1
    largest = np.sqrt(np.var(slopes, ddof=1) * free / stats.chi2.ppf(0.1, free))
    return float(min(0.35, largest / reliable)) if reliable > 0.3 else 0.35


def gains_with_doubt(data: Triple) -> tuple[float, float, float]:
    """The residual variance that is gains, the variance of its error, and by how much it may be too low."""
    rater, item, value = data
    means, raters = np.bincount(item, value) / np.bincount(item), np.unique(rater)
    slopes, errors, steep, squares = [], [], [], 0.0
    for r in raters:
        x, y = means[item[rater == r]], value[rater == r]
        fit = stats.linregress(x, y)
        slopes.append(fit.slope)
        errors.append(fit.stderr**2)
        # A rater's own noise is in the labels of the items rated: one in (ratings / items) of its variance.
        steep.append(fit.slope - fit.stderr**2 * x.size * means.size / value.size)
        squares += ((x - x.mean()) ** 2).sum()
    noise, scale = np.mean(errors), squares / value.size
    beyond = max(np.var(slopes, ddof=1) - noise, 0.0)
    # The variance of (slopes' variance - noise): 2 (beyond + noise)^2 less what is due to these raters' own gains.
    error = 2 * ((beyond + noise) ** 2 - beyond**2) / (raters.size - 1) * scale**2
    steeper = max(np.var(steep, ddof=1) - noise, 0.0) / max(np.mean(steep), 0.3)
    return float(beyond * scale), float(error), float(max(steeper - beyond, 0.0) * scale)


def level_share(rater: Any, item: Any, *columns: Any) -> float:
    """The share of raters' levels in the error of a rating, from the expectations of three sums of squares over the columns."""
    n = rater.size
    per_item, per_rater = np.bincount(item), np.bincount(rater)
    sums = np.zeros(3)
    for column in columns:
        y = column - column.mean()
        for at, (codes, sizes) in enumerate(((item, per_item), (rater, per_rater))):
            sums[at] += y @ y - (np.bincount(codes, y) ** 2 / sizes).sum()
        sums[2] += y @ y
    expected = [
        [0, n - per_item.size, n - per_item.size],
        [n - per_rater.size, 0, n - per_rater.size],
        [n - (per_item**2).sum() / n, n - (per_rater**2).sum() / n, n - 1],
    ]
    _, of_raters, residual = np.linalg.solve(expected, sums)
    return float(max(of_raters / (of_raters + residual), 0.0))


def levels_apart(data: Triple) -> float:
    """The share of the levels' variance by which items' means differ."""
    rater, item, value = data
    return float(1 - value.size / (item.max() + 1) * (np.bincount(rater) ** 2).sum() / value.size**2)


def log_f(r: float, k: float) -> float:
    return math.log(1 + k * r / (1 - r))


def from_log_f(z: float, k: float) -> float:
    return float(math.expm1(z) / (math.expm1(z) + k))


def ragged(seed: int, items: int, raters: int, share: float) -> Triple:
    """A complete design of which a share of the ratings is kept, at least one per item."""
    rng = np.random.default_rng(seed)
    item, rater = (a.ravel() for a in np.indices((items, raters)))
    keep = rng.random(item.size) < share
    keep[:: raters + 1] = True
    value = rng.normal(0, 1, items)[item] + rng.normal(0, 0.7, raters)[rater] + rng.normal(0, 1.2, item.size)
    return rater[keep], item[keep], value[keep]


def complete(seed: int, items: int, raters: int) -> Triple:
    return ragged(seed, items, raters, 1.1)


def designs() -> dict[str, Triple]:
    """Small designs of every kind, the degenerate ones included."""
    rng = np.random.default_rng(11)
    item, rater = (a.ravel() for a in np.indices((9, 5)))
    level, clear = rng.normal(size=9), rng.normal(size=5)
    whole = complete(4, 12, 5)
    return {
        "complete": whole,
        "many_raters": complete(6, 6, 14),
        "ragged": ragged(7, 25, 9, 0.6),
        "sparse": Crossed(40, 12, 3).draw(np.random.default_rng(2)),
        "no_item_variance": Crossed(20, 8, 3, item=0.0).draw(np.random.default_rng(2)),
        "no_rater_variance": Crossed(20, 8, 3, rater=0.0).draw(np.random.default_rng(3)),
        "little_rater_variance": Crossed(20, 8, 3, rater=0.0).draw(np.random.default_rng(4)),
        "one_rating_per_rater": (np.arange(30), np.arange(30) // 3, rng.normal(size=30) + np.repeat(rng.normal(size=10), 3)),
        "one_rating_per_item": (np.arange(30) % 6, np.arange(30), rng.normal(size=30)),
        "nobody_differs": (rater, item, np.round(level)[item]),
        "exact_sums": (rater, item, level[item] + clear[rater]),
        "two_raters": complete(9, 10, 2),
        "three_raters": ragged(10, 12, 3, 0.9),
        "two_items": complete(12, 2, 6),
        "all_equal": (rater, item, np.full(45, 3.0)),
        "one_item": (np.arange(6), np.zeros(6, np.int64), rng.normal(size=6)),
        "with_gaps": (whole[0], whole[1], np.where(np.arange(60) % 11 == 3, np.nan, whole[2])),
        "negative": (rater, item, np.where((rater + item) % 2 == 0, 1.0, -1.0) + 0.1 * rng.normal(size=45)),
    }  # fmt: skip


def crossed(seed: int, n: int = 90) -> dict[str, Any]:
    """Ratings by system with a covariate; pairs of rater and item repeat."""
    rng = np.random.default_rng(seed)
    rater, item = rng.integers(0, 7, n), rng.integers(0, 12, n)
    system = np.array(["a", "b", "c"])[item % 3]
    loud = rng.normal(size=n)
    y = (
        0.7 * (system == "b") + 0.3 * loud + 0.8 * rng.normal(size=7)[rater] + 0.6 * rng.normal(size=12)[item]
        + rng.normal(size=n)
    )  # fmt: skip
    return {"rater": rater, "item": item, "system": system, "loud": loud, "y": y, "day": rng.integers(0, 5, n)}


def of_rows(rows: Any) -> tuple[Any, Any, Any]:
    """A table with a row for each item and a column for each rater as columns of raters, items and values."""
    item, rater = np.indices(np.shape(rows))
    return rater.ravel(), item.ravel(), np.ravel(rows)


RATER = np.array([0, 1, 2, 0, 1, 2, 3, 0, 1, 3, 2, 3, 1, 5, 2, 3, 4])
ITEM = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 6, 6])
VALUE = np.array([1.0, 2, 2, 4, 5, 3, 5, 2, 4, 6, 5, 1, 3, 9, 7, 5, 6])
CATEGORY = np.array([0, 0, 1, 1, 1, 0, 1, 2, 2, 2, 2, 0, 0, 1, 2, 2, 0])


def winner_of(counts: Any) -> int | None:
    top = np.flatnonzero(counts == counts.max())
    return int(top[0]) if top.size == 1 and counts.max() > 0 else None
