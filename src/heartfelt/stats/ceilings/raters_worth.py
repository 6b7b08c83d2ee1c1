"""How many ratings per stimulus a model's answer is worth.

The mean of k new ratings of a stimulus, by raters drawn for it, correlates with the stimulus's true value by
sqrt(k v / (k v + e)), where v is the variance of the true values and e that of a single rating about its stimulus (raters' levels
and residual). A model correlates with the true values by cov(model, label) / sqrt(var(model) v), since the noise of labels is
independent of the model. The worth is the k at which the two are equal,

    k = (e / v) R / (1 - R),    R = cov(model, label)^2 / (var(model) v),

a real number from 0 up: 0.5 is half as much as one rating. With both calibrated by a line, the mean squared error from the
true values is v (1 - R) for the model and v e / (k v + e) for the mean, so they are equal at the same k. The variances are
moments of the crossed model (Gao & Owen 2017; ``two_way_jackknife``), in time linear in the number of ratings.

*Interval*: all k at which Fisher's z of the model's correlation with the labels does not differ from that which k ratings would
have. Its variance at each k comes from leaving out every item, rater and rating in turn (Cameron, Gelbach & Miller 2011, as
in ``two_way_jackknife``), by the delta method from the covariance of three quantities: z, log(v / e) and log(var(label) / e).
Items of one prompt are one group, left out together to first order. Inverting the test gives bounds that reach 0 where the model
may be no better than chance, and have no upper end where it may be as good as any number of ratings. ``docs/stats/coverage.md`` has
the simulated coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.ratings import Ratings
from heartfelt.stats.reliability.two_way_jackknife import (
    BLOCK,
    MomentJackknife,
    TwoWaySpread,
    effective,
    moment_components,
    moment_jackknife,
)

METHOD = "number of ratings whose mean correlates with the true values as the model does, crossed moments"
INTERVAL = "inverted test of equal correlations, two-way jackknife"
MEANS_INTERVAL = "inverted test of equal correlations, jackknife over items"
FEWEST_ITEMS = 5
_GRID = np.geomspace(1e-3, 1e4, 561)
_FLOOR = 1e-6
SpreadOf: TypeAlias = Callable[[Floats], TwoWaySpread]
"""The spread of a combination of the three quantities, by its weights."""


@dataclass(frozen=True, slots=True)
class RatersWorth:
    """The number of ratings per stimulus that the model's answer is worth, or why there is none.

    ``at_least`` is the lower bound where there is no upper one; ``correlation`` is that of the model with the true values.
    """

    raters: Estimate
    at_least: float | None = None
    correlation: float | None = None


def raters_worth(d: Ratings, predicted: Floats, *, group: Ints | None = None, confidence: float = 0.95) -> RatersWorth:
    """The worth of ``predicted``, one finite number for each of ``d.items``, from single ratings.

    ``group`` numbers the items that belong together, such as those of one prompt.
    """
    _bounds.check_confidence(confidence)
    if predicted.size != len(d.items) or not np.isfinite(predicted).all():
        raise InputError("Every rated item needs one finite prediction.", "Fill in failed predictions before asking.")
    reason = None
    if min(len(d.items), len(d.raters)) < FEWEST_ITEMS - 2 or len(d.items) < FEWEST_ITEMS:
        reason = f"{len(d.items)} items and {len(d.raters)} raters; at least {FEWEST_ITEMS} and 3 are needed"
    elif d.per_item.max() < 2:
        reason = "every item has one rating, so the noise of a rating is not known"
    if reason:
        return RatersWorth(Estimate.missing(reason, METHOD, d.counts))
    if float(np.ptp(predicted)) <= 1e-12 * max(float(np.abs(predicted).max()), 1e-300):
        nothing = Estimate(value=0.0, method=METHOD, counts=d.counts, why_no_interval="the predictions do not vary")
        return RatersWorth(nothing, None, 0.0)
    sums = moment_jackknife(d)
    model = _ModelSums(d, predicted)
    overall = _quantities(model.total[None], sums.total[None])
    items = _covariance(_quantities(model.items(), sums.items), group)
    raters = _covariance(_quantities(model.raters(), sums.raters))
    ratings = _covariance_of_ratings(model, sums)
    item_count = effective(d.per_item if group is None else np.bincount(group, d.per_item))
    rater_count = effective(d.per_rater)

    def spread(gradient: Floats) -> TwoWaySpread:
        of_items, of_raters, of_ratings = (float(gradient @ matrix @ gradient) for matrix in (items, raters, ratings))
        return TwoWaySpread(
            items=of_items, raters=of_raters, ratings=of_ratings, item_count=item_count, rater_count=rater_count
        )

    return _Inversion(overall[0], confidence, d.counts, INTERVAL).worth(spread)


def worth_from_means(
    label: Floats, error: Floats, n: Floats, predicted: Floats, *, group: Ints | None = None, confidence: float = 0.95
) -> RatersWorth:
    """The worth from published means with their standard errors and counts; intervals take items alone as a sample."""
    present = np.isfinite(label) & np.isfinite(error) & (n > 1) & np.isfinite(predicted)
    y, squared, k, m = label[present], error[present] ** 2, n[present], predicted[present]
    counts = {"items": int(present.sum()), "ratings": int(k.sum())}
    if y.size < FEWEST_ITEMS:
        reason = f"{y.size} items with a standard error and two ratings or more; at least {FEWEST_ITEMS} are needed"
        return RatersWorth(Estimate.missing(reason, METHOD, counts))
    y, m = y - y.mean(), m - m.mean()
    columns = np.column_stack([np.ones(y.size), m, y, m * m, m * y, y * y])
    noise = np.column_stack([squared, (k - 1) * k * squared, k - 1])
    rows = np.vstack([columns.sum(axis=0), columns.sum(axis=0) - columns])
    noises = np.vstack([noise.sum(axis=0), noise.sum(axis=0) - noise])
    z, spread = _correlations(rows)
    single = np.maximum(noises[:, 1] / noises[:, 2], 1e-300)
    true = np.maximum(spread - noises[:, 0] / rows[:, 0], _FLOOR * single)
    values = np.column_stack([z, np.log(true / single), np.log(spread / single)])
    of_present = None if group is None else group[present]
    items = _covariance(values[1:], of_present)
    item_count = float(y.size) if of_present is None else effective(np.bincount(of_present))

    def only_items(gradient: Floats) -> TwoWaySpread:
        return TwoWaySpread(
            items=float(gradient @ items @ gradient), raters=0.0, ratings=0.0, item_count=item_count, rater_count=1.0
        )

    return _Inversion(values[0], confidence, counts, MEANS_INTERVAL).worth(only_items)


class _ModelSums:
    """Sums over items of predictions and mean ratings, and the same without each item, rater or rating.

    Columns: items, predictions, labels, their squares and product (predictions squared, product, labels squared).
    """

    def __init__(self, d: Ratings, predicted: Floats) -> None:
        self._d = d
        self._m = predicted - predicted.mean()
        self._y = d.value - d.value.mean()
        self._totals = np.bincount(d.item, self._y, minlength=len(d.items))
        self._label = self._totals / d.per_item
        m, label = self._m, self._label
        self._rows = np.column_stack([np.ones(m.size), m, label, m * m, m * label, label * label])
        self.total = self._rows.sum(axis=0)

    def items(self) -> Floats:
        return np.asarray(self.total - self._rows)

    def raters(self) -> Floats:
        out = np.tile(self.total, (len(self._d.raters), 1))
        for start in range(0, self._d.size, BLOCK):
            stop = min(start + BLOCK, self._d.size)
            change, rater = self._changes(start, stop), self._d.rater[start:stop]
            for column in range(6):
                out[:, column] += np.bincount(rater, change[:, column], minlength=len(out))
        return out

    def ratings(self, start: int, stop: int) -> Floats:
        return np.asarray(self.total + self._changes(start, stop))

    def _changes(self, start: int, stop: int) -> Floats:
        """What leaving out each of these ratings adds to the sums; an item without another rating is left out with it."""
        item, y = self._d.item[start:stop], self._y[start:stop]
        n, m, old = self._d.per_item[item], self._m[item], self._label[item]
        new = (self._totals[item] - y) / np.maximum(n - 1, 1)
        zero, change = np.zeros(m.size), new - old
        moved = np.column_stack([zero, zero, change, zero, m * change, new * new - old * old])
        return np.where((n > 1)[:, None], moved, -self._rows[item])


def _correlations(sums: Floats) -> tuple[Floats, Floats]:
    n = sums[:, 0]
    m, label = sums[:, 1] / n, sums[:, 2] / n
    of_model, of_label = sums[:, 3] / n - m * m, sums[:, 5] / n - label * label
    product = np.sqrt(np.maximum(of_model, 0.0) * np.maximum(of_label, 0.0))
    r = np.divide(sums[:, 4] / n - m * label, product, out=np.zeros_like(n), where=product > 1e-300)
    return np.arctanh(np.clip(r, -1 + 1e-9, 1 - 1e-9)), np.maximum(of_label, 1e-300) * n / np.maximum(n - 1, 1)


def _quantities(model: Floats, sums: Floats) -> Floats:
    """z of the model and the labels, log(v / e) and log(var(label) / e), one row for each set of sums."""
    z, spread = _correlations(model)
    true, _, _, single = moment_components(sums)
    return np.column_stack([z, np.log(np.maximum(true, _FLOOR * single) / single), np.log(spread / single)])


def _covariance(without: Floats, group: Ints | None = None) -> Floats:
    """The jackknife covariance; what items of one group do together is added up before it is squared."""
    centred = without - without.mean(axis=0)
    if group is not None:
        codes = np.unique(group, return_inverse=True)[1]
        sums = np.column_stack([np.bincount(codes, column) for column in centred.T])
        groups = max(len(sums), 2)
        return np.asarray(((len(without) - 1) / len(without)) ** 2 * groups / (groups - 1) * (sums.T @ sums))
    return np.asarray((len(without) - 1) / len(without) * (centred.T @ centred))


def _covariance_of_ratings(model: _ModelSums, sums: MomentJackknife) -> Floats:
    n = int(sums.total[0])
    total, squares, about = np.zeros(3), np.zeros((3, 3)), None
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        values = _quantities(model.ratings(start, stop), sums.ratings(start, stop))
        about = values[0] if about is None else about
        # Sums about the first value: their squares would lose the small moves that single ratings make.
        values = values - about
        total, squares = total + values.sum(axis=0), squares + values.T @ values
    return np.asarray((n - 1) / n * (squares - np.outer(total, total) / n))


@dataclass(frozen=True, slots=True)
class _Inversion:
    """The three quantities, and the k that the test of equal correlations does not reject."""

    values: Floats
    confidence: float
    counts: dict[str, int]
    interval: str

    def worth(self, spread_of: SpreadOf) -> RatersWorth:
        z, u, w = self.values
        if u <= math.log(_FLOOR) + 1e-9:
            reason = (
                "the stimuli do not differ beyond the noise of their ratings, so there is no true value to compare with"
            )
            return RatersWorth(Estimate.missing(reason, METHOD, self.counts))
        squared = math.tanh(max(z, 0.0)) ** 2 * math.exp(w - u)
        statistic = np.array([self._statistic(k, spread_of) for k in _GRID])
        accepted = np.flatnonzero(np.abs(statistic) <= 1.0)
        low = min(_crossing(statistic, 1.0), float(_GRID[-1]))
        high = _crossing(statistic, -1.0)
        correlation = math.copysign(min(math.sqrt(math.tanh(z) ** 2 * math.exp(w - u)), 1.0), z)
        estimate = Estimate(value=0.0, method=METHOD, confidence=self.confidence, counts=self.counts)
        if not accepted.size and statistic[0] < -1.0:
            below = estimate.without_interval("it correlates with the labels the wrong way round")
            return RatersWorth(below, None, correlation)
        if squared >= 1.0:
            reason = (
                f"the model agrees with the labels as well as any number of ratings; worth at least {low:.2g} ratings"
            )
            return RatersWorth(Estimate.missing(reason, METHOD, self.counts), low, correlation)
        value = math.exp(-u) * squared / (1.0 - squared)
        estimate = replace(estimate, value=value)
        if math.isinf(high):
            reason = f"no upper end: the model may be as good as any number of ratings; worth at least {low:.2g}"
            return RatersWorth(estimate.without_interval(reason), low, correlation)
        bounds = min(low, value), max(high, value)
        return RatersWorth(estimate.with_interval(*bounds, self.interval, self.confidence), correlation=correlation)

    def _statistic(self, k: float, spread_of: SpreadOf) -> float:
        """The difference of the two z over the half width of its interval."""
        z, u, w = self.values
        share = k * math.exp(u) / (k * math.exp(u) + 1.0)
        q = min(math.sqrt(math.exp(u - w) * share), 1 - 1e-6)
        # Derivatives of atanh(q) in u and w, since log q = (u - w + log share) / 2.
        slope = q / (1.0 - q * q) / 2.0
        spread = spread_of(np.array([1.0, -slope * (2.0 - share), slope]))
        quantile = _bounds.t_quantile(self.confidence, spread.df)
        return float((z - math.atanh(q)) / max(quantile * math.sqrt(spread.variance), 1e-300))


def _crossing(statistic: Floats, level: float) -> float:
    """The k at which the falling statistic passes a level: 0 or infinity where it does so beyond the grid."""
    above = np.flatnonzero(statistic > level)
    if not above.size:
        return 0.0
    last = int(above[-1])
    if last == statistic.size - 1:
        return math.inf
    share = (statistic[last] - level) / (statistic[last] - statistic[last + 1])
    return float(_GRID[last] * (_GRID[last + 1] / _GRID[last]) ** share)
