"""Do predictions say anything about the labels? Tests of no association, by rearranging predictions.

What a prediction earns on an item is either the product of two numbers (correlations, squared errors, areas under the curve)
or the weight of a category that was named correctly; a metric whose margins are fixed rises with the sum over items. The sum
is compared with what it becomes when predictions go to other items. Items of one system are alike, in labels and in the errors
of a predictor, so that a rearrangement keeps systems together. The sum is what predictions earn *within* systems (beyond the
mean over all ways to assign a system's predictions to its items) plus what they earn *between* systems (that mean).

- **Other stimuli of these systems**: predictions are shuffled within systems, and systems with each other. The statistic is
  the larger of two standardised sums, the part within systems and the whole: either can be lost in the noise of the other.
  Rows that share a stimulus are not exchangeable one by one; there the sign of all that a stimulus earns is flipped instead.
- **Other systems**: the sign of what each system earns within is flipped as a whole, and systems are shuffled. A predictor that
  is right in some systems and wrong in others is then no better than chance, however many items they have.

p-values are two-sided: twice the share of rearrangements that reach the observed statistic in its direction, the observed one
included (Phipson and Smyth 2010). Up to seven units all rearrangements are enumerated, beyond that ``RESAMPLES`` are drawn. Sums
over more than ``LARGE`` units are drawn from the normal distribution with the variance that rearranging has (Hoeffding 1951,
*Ann. Math. Stat.* 22), so that a million items take no longer than reading them. Restricted permutation: Anderson and ter Braak
(2003), *J. Stat. Comput. Simul.* 73; sign flips over clusters: Canay, Romano and Shaikh (2017), *Econometrica* 85.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import derived_seed, stream

RESAMPLES = 9999
FEWEST = 999
"""The most and the fewest rearrangements that are drawn."""
ENUMERATED = 7
"""Units of which all rearrangements are taken."""
LARGE = 3000
"""Units beyond which sums are drawn from a normal distribution."""
_SLACK = 1e-9
STIMULI = "p-value, predictions rearranged within and between systems"
NO_SYSTEMS = "p-value, predictions rearranged"
SYSTEMS = "p-value, systems rearranged"


@dataclass(frozen=True, kw_only=True, eq=False)
class Earnings:
    """Labels and predictions by row, and what a prediction earns on a label.

    With ``weight`` both are codes of categories and a correct one earns the weight of its category; without, the product.
    ``system`` is the system of each row as a code from 0 up, ``stimulus`` that of its stimulus where some have several rows.
    """

    label: npt.NDArray[Any]
    predicted: npt.NDArray[Any]
    system: Ints
    weight: Floats | None = None
    stimulus: Ints | None = None

    @property
    def systems(self) -> int:
        return self.sizes.size

    @cached_property
    def sizes(self) -> Ints:
        return np.bincount(self.system)

    @cached_property
    def labels_of(self) -> Floats:
        """Systems by categories (one column for numbers): the sum of the labels, weighted."""
        if self.weight is None:
            return _sums(self.system, self.label)[:, None]
        return _counted(self.system, self.label, self.systems, self.weight.size) * self.weight

    @cached_property
    def predicted_of(self) -> Floats:
        """Systems by categories: the mean prediction, or the share of each category among the predictions."""
        if self.weight is None:
            return (np.bincount(self.system, weights=self.predicted) / self.sizes)[:, None]
        counts = _counted(self.system, self.predicted, self.systems, self.weight.size)
        return np.asarray(counts / self.sizes[:, None])

    @cached_property
    def between(self) -> float:
        """What predictions earn if those of each system are assigned to its items at random."""
        return float(np.sum(self.labels_of * self.predicted_of))

    @cached_property
    def within_rows(self) -> Floats:
        """What each row earns beyond the mean over its system's labels and over its system's predictions; sums to what
        predictions earn within systems.
        """
        label_mean = self.labels_of / self.sizes[:, None]
        if self.weight is None:
            centred = self.label - label_mean[self.system, 0]
            return np.asarray(centred * (self.predicted - self.predicted_of[self.system, 0]))
        hit_weight = np.where(self.label == self.predicted, self.weight[self.label], 0.0)
        by_label = self.weight[self.label] * self.predicted_of[self.system, self.label]
        by_prediction = label_mean[self.system, self.predicted]
        return np.asarray(
            hit_weight - by_label - by_prediction + (label_mean * self.predicted_of).sum(axis=1)[self.system]
        )

    def shuffled_within(self, resamples: int, seed: int) -> Floats:
        """What predictions earn within systems after each of ``resamples`` shuffles."""
        from heartfelt.stats.compiled._kernels_permutation import shuffle_matches, shuffle_products

        if self.stimulus is not None:
            return _flipped(_sums(self.stimulus, self.within_rows), resamples, seed, "within")
        if self.label.size > LARGE:
            return _normal(self._variance_within(), resamples, seed, "within")
        state = np.uint64(derived_seed(seed, "no association", "within"))
        order = np.argsort(self.system, kind="stable")
        starts = np.append(0, np.cumsum(self.sizes))
        label, predicted = self.label[order], self.predicted[order]
        if self.weight is None:
            sums = shuffle_products(label, predicted, starts, resamples, state)
        else:
            sums = shuffle_matches(label, predicted, self.weight, starts, resamples, state)
        return np.asarray(sums - self.between)

    def _variance_within(self) -> float:
        several = np.maximum(self.sizes - 1, 1)
        if self.weight is None:
            squares = []
            for column in (self.label, self.predicted):
                mean = np.bincount(self.system, weights=column) / self.sizes
                squares.append(np.bincount(self.system, weights=(column - mean[self.system]) ** 2))
            return float(np.sum(squares[0] * squares[1] / several))
        total = 0.0
        for labels, shares, size, free in zip(self.labels_of, self.predicted_of, self.sizes, several, strict=True):
            first = np.diag(labels * self.weight) - np.outer(labels, labels) / size
            second = size * (np.diag(shares) - np.outer(shares, shares))
            total += float(np.sum(first * second)) / free
        return total

    def shuffled_between(self, resamples: int, seed: int) -> Floats:
        """What predictions earn between systems after each shuffle of the systems; all of them where they are few."""
        if self.systems > LARGE:
            labels, predicted = (part - part.mean(axis=0) for part in (self.labels_of, self.predicted_of))
            variance = float(np.sum((labels.T @ labels) * (predicted.T @ predicted))) / (self.systems - 1)
            mean = float(self.labels_of.sum(axis=0) @ self.predicted_of.mean(axis=0))
            return mean + _normal(variance, resamples, seed, "between")
        if self.systems <= ENUMERATED and math.factorial(self.systems) <= resamples:
            return self._assigned(np.array(list(permutations(range(self.systems)))))
        draw, units = stream(seed, "no association", "between"), np.arange(self.systems)
        step = max(2_000_000 // self.systems, 1)
        parts = [
            self._assigned(draw.permuted(np.broadcast_to(units, (min(step, resamples - start), units.size)), axis=1))
            for start in range(0, resamples, step)
        ]
        return np.concatenate(parts)

    def _assigned(self, order: Ints) -> Floats:
        """What predictions earn between systems where each system gets those of another."""
        columns = zip(self.labels_of.T, self.predicted_of.T, strict=True)
        return np.asarray(sum(predicted[order] @ labels for labels, predicted in columns))


def _flipped(values: Floats, resamples: int, seed: int, name: str) -> Floats:
    from heartfelt.stats.compiled._kernels_permutation import flip_sums

    if values.size > LARGE:
        return _normal(float(values @ values), resamples, seed, name)
    return flip_sums(values, resamples, np.uint64(derived_seed(seed, "no association", name)))


def _normal(variance: float, resamples: int, seed: int, name: str) -> Floats:
    return stream(seed, "no association", name).normal(0.0, math.sqrt(max(variance, 0.0)), resamples)


def _sums(codes: Ints, values: Floats) -> Floats:
    return np.asarray(np.bincount(codes, weights=values), np.float64)


def _counted(first: Ints, second: Ints, rows: int, columns: int) -> Floats:
    flat = np.bincount(first * columns + second, minlength=rows * columns)
    return flat.reshape(rows, columns).astype(np.float64)


def no_association(
    earnings: Earnings, *, confidence: float = 0.95, seed: int = 0, resamples: int = RESAMPLES
) -> Estimate:
    """The p-value of no association for other stimuli: neither within systems nor between them.

    Missing where so few items could never give one below 1 - confidence.
    """
    rows = earnings.label.size
    if rows < 2:
        return Estimate.missing("fewer than two predictions", NO_SYSTEMS)
    if earnings.systems == rows:
        # A single item of every system: items and systems are the same.
        earnings = replace(earnings, system=np.zeros(rows, np.int64))
    name = NO_SYSTEMS if earnings.systems == 1 else STIMULI
    counts = {"pairs": rows, **({} if earnings.systems == 1 else {"systems": earnings.systems})}
    within_observed = float(earnings.within_rows.sum())
    if earnings.systems == 1 and earnings.stimulus is None and rows <= ENUMERATED:
        reason = too_few_ways(rows, math.factorial(rows), confidence, "item")
        values = replace(earnings, system=np.arange(rows)).shuffled_between(RESAMPLES, seed) - earnings.between
        exact = _p_value(within_observed, values, name, counts, exact=True)
        return Estimate.missing(reason, name, counts) if reason else exact
    resamples = min(max(resamples, FEWEST), RESAMPLES)
    within = earnings.shuffled_within(resamples, seed)
    if earnings.systems == 1:
        return _p_value(within_observed, within, name, counts)
    between_values = earnings.shuffled_between(resamples, seed)
    if between_values.size < resamples:
        between_values = stream(seed, "no association", "drawn").choice(between_values, resamples)
    centre = float(between_values.mean())
    totals = within + between_values - centre
    total = within_observed + earnings.between - centre
    # Predictions that do not vary within systems leave rounding errors there.
    least = _SLACK * max(abs(within_observed), abs(earnings.between), float(totals.std()), 1e-300)
    varying = [
        (observed, values) for observed, values in ((within_observed, within), (total, totals)) if values.std() > least
    ]
    parts = [(observed / float(values.std()), values / float(values.std())) for observed, values in varying]
    if not parts:
        return Estimate.missing("rearranging the predictions changes nothing", name, counts)
    observed, arranged = (np.array([part[side] for part in parts]) for side in (0, 1))
    better = _p_value(float(observed.max()), arranged.max(axis=0), name, counts, upper=True)
    worse = _p_value(float(observed.min()), arranged.min(axis=0), name, counts, upper=False)
    return better if float(better) <= float(worse) else worse


def no_association_over_systems(earnings: Earnings, *, confidence: float = 0.95, seed: int = 0) -> Estimate:
    """The p-value of no association for other systems; missing where so few systems could never give a small one."""
    systems = earnings.systems
    counts = {"pairs": int(earnings.label.size), "systems": systems}
    system_sums = _sums(earnings.system, earnings.within_rows)
    scale = max(float(np.abs(earnings.within_rows).max(initial=0.0)), abs(earnings.between), 1e-300)
    system_sums = system_sums[np.abs(system_sums) > _SLACK * scale]
    ways = math.factorial(min(systems, 20)) * 2 ** min(system_sums.size, 60)
    reason = too_few_ways(systems, ways, confidence)
    if reason:
        return Estimate.missing(reason, SYSTEMS, counts)
    total = float(system_sums.sum()) + earnings.between
    between = earnings.shuffled_between(RESAMPLES, seed)
    if systems <= ENUMERATED:
        from heartfelt.stats.compiled._kernels_permutation import all_flip_sums

        flipped = np.sort(all_flip_sums(system_sums)) if system_sums.size else np.zeros(1)
        centre = float(between.mean())
        slack = _SLACK * max(abs(total), scale)
        # Every choice of signs with every order of the systems.
        reached = np.searchsorted(flipped, total - between - slack)
        above = int(np.sum(flipped.size - reached))
        below = int(np.sum(np.searchsorted(flipped, total - between + slack, side="right")))
        upper = total >= centre
        p = min(2 * (above if upper else below) / (flipped.size * between.size), 1.0)
        return Estimate(value=p, method=SYSTEMS, counts=counts, why_no_interval="exact")
    flips = _flipped(system_sums, RESAMPLES, seed, "systems") if system_sums.size else np.zeros(RESAMPLES)
    return _p_value(total, flips + between, SYSTEMS, counts)


def too_few_ways(units: int, ways: int, confidence: float, unit: str = "system") -> str | None:
    """Why no p-value of so few rearrangements can fall below 1 - confidence; None where one can."""
    if 2 / ways <= (1 - confidence) * (1 + 1e-12):
        return None
    named = unit if units == 1 else f"{unit}s"
    level = f"{1 - confidence:.3g}".removeprefix("0")
    return f"{units} {named} can be rearranged in only {ways} ways, too few for a p-value below {level}"


def _p_value(
    observed: float,
    values: Floats,
    name: str,
    counts: dict[str, int],
    *,
    upper: bool | None = None,
    exact: bool = False,
) -> Estimate:
    """Twice the share of ``values`` that reach ``own``: from above where ``upper``, by default in its own direction."""
    centre, spread = float(values.mean()), float(values.std())
    slack = _SLACK * max(abs(observed), float(np.abs(values).max()))
    if spread <= slack:
        return Estimate.missing("rearranging the predictions changes nothing", name, counts)
    upper = observed > centre if upper is None else upper
    hits = int(np.count_nonzero(values >= observed - slack if upper else values <= observed + slack))
    total = int(values.size)
    if exact:
        return Estimate(value=min(2 * hits / total, 1.0), method=name, counts=counts, why_no_interval="exact")
    with_resamples = {**counts, "resamples": total}
    p = min(2 * (hits + 1) / (total + 1), 1.0)
    return Estimate(value=p, method=name, counts=with_resamples, why_no_interval="a p-value")
