"""Which groups differ: all pairs at once, with the chance of any false alarm controlled.

``tukey`` pools the variance (Tukey-Kramer for unequal sizes; Hayter 1984 shows that it keeps its level), or takes it
from a larger model. ``games_howell`` gives every pair its own variance and Welch degrees of freedom (Games and Howell
1976), for groups that differ in spread. ``holm`` corrects any list of p-values (Holm 1979). Differences are ``a`` minus
``b`` in the outcome's unit; p-values and intervals are simultaneous. Groups are in sorted order.

The studentized range is the span of k normal means over an independent standard deviation. Both integrals of its
distribution are trapezoid sums, which converge exponentially here: over the smallest of the k values (the integrand is
as smooth and as thin-tailed as a normal density), and over the logarithm of the standard deviation. They are written
for the upper tail, so that small p-values keep their digits. Lund and Lund (1983) give the integrals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats._bounds import satterthwaite
from heartfelt.stats.columns.paired import Column, coded, present, same_length
from heartfelt.stats.columns.triples import Floats, as_array, as_floats
from heartfelt.stats.estimate import Estimate

_REACH = 8.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One comparison; ``p`` and ``significant`` are None where the estimate has no interval."""

    a: Any
    b: Any
    estimate: Estimate = field(metadata={"formerly": "difference"})
    statistic: float | None = None
    df: float | None = None
    p: float | None = None
    significant: bool | None = None
    standard_error: float | None = None

    @property
    def difference(self) -> float | None:
        return self.estimate.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairwise:
    """All comparisons of a set of groups."""

    pairs: tuple[Pair, ...]
    method: str
    confidence: float = field(metadata={"formerly": "level"})
    counts: Mapping[str, int]
    why_missing: str | None = field(default=None, metadata={"omit": True})

    @property
    def significant(self) -> tuple[Pair, ...]:
        """The pairs that differ at this confidence."""
        return tuple(pair for pair in self.pairs if pair.significant)

    @property
    def largest(self) -> Estimate:
        """The difference furthest from 0, whichever its sign."""
        estimates = [pair.estimate for pair in self.pairs if pair.estimate.value is not None]
        if not estimates:
            return Estimate.missing(self.why_missing or "no pair can be compared", self.method, self.counts)
        return max(estimates, key=lambda estimate: abs(float(estimate)))

    def __getitem__(self, names: tuple[Any, Any]) -> Pair:
        return {(pair.a, pair.b): pair for pair in self.pairs}[names]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjusted:
    """P-values corrected for their number, in the order given; None stays None and does not count."""

    p: tuple[float | None, ...]
    adjusted: tuple[float | None, ...]
    significant: tuple[bool | None, ...]
    confidence: float = field(metadata={"formerly": "level"})
    method: str = "Holm"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Groups:
    names: list[Any]
    sizes: Floats
    means: Floats
    squares: Floats
    counts: dict[str, int]

    def difference(self, i: int, j: int) -> Estimate:
        """The difference of two groups, without an interval."""
        counts = {"rows": int(self.sizes[i] + self.sizes[j])}
        return Estimate(value=float(self.means[i] - self.means[j]), method="difference of means", counts=counts)

    def untested(self, method: str, confidence: float, reason: str) -> Pairwise:
        """No comparison, and why."""
        return Pairwise(pairs=(), method=method, confidence=confidence, counts=self.counts, why_missing=reason)


Difference = tuple[Estimate, float, float] | Estimate
"""A difference with its standard error times the square root of a half and its degrees of freedom, or one without a test."""


@dataclass(frozen=True, slots=True)
class PairwiseComparison:
    """How pairs of so many groups are compared."""

    method: str
    groups: int
    confidence: float

    def all_pairs(
        self,
        names: Sequence[Any],
        difference: Callable[[int, int], Difference],
        counts: Mapping[str, int],
        why_missing: str | None = None,
    ) -> Pairwise:
        """Compare every two of the named groups, which ``difference`` knows by their places."""
        pairs = []
        for i, j in combinations(range(len(names)), 2):
            compared = difference(i, j)
            if isinstance(compared, Estimate):
                pairs.append(Pair(a=names[i], b=names[j], estimate=compared))
            else:
                pairs.append(self._pair(names[i], names[j], *compared))
        return Pairwise(
            pairs=tuple(pairs), method=self.method, confidence=self.confidence, counts=counts, why_missing=why_missing
        )

    def _pair(self, a: Any, b: Any, point_estimate: Estimate, scale: float, df: float) -> Pair:
        difference = float(point_estimate)
        q, half = abs(difference) / scale, critical(self.confidence, self.groups, df) * scale
        p = upper_tail(q, self.groups, df)
        bounded = point_estimate.with_interval(difference - half, difference + half, self.method, self.confidence)
        return Pair(
            a=a,
            b=b,
            estimate=bounded,
            statistic=q / math.sqrt(2),
            df=float(df),
            p=p,
            significant=p < 1 - self.confidence,
            standard_error=scale * math.sqrt(2),
        )


def tukey(
    outcome: Column,
    group: Column,
    *,
    confidence: float = 0.95,
    mean_square: float | None = None,
    df: float | None = None,
) -> Pairwise:
    """Compare all pairs with a pooled variance.

    ``mean_square`` and ``df`` take the residual of a larger model in place of the spread within groups.
    """
    if (mean_square is None) != (df is None):
        raise InputError("A mean square needs its degrees of freedom.", "Pass both, or neither.")
    _bounds.check_confidence(confidence)
    groups, method = _groups(outcome, group), "Tukey-Kramer"
    free = float(groups.sizes.sum()) - len(groups.names) if df is None else df
    reason = _too_few(groups)
    if reason is None and free <= 0:
        reason = "every group has a single row: no residual degrees of freedom"
    if reason:
        return groups.untested(method, confidence, reason)
    error = float(groups.squares.sum()) / free if mean_square is None else mean_square
    reason = None if error > 0 else "no variation within the groups"

    def difference(i: int, j: int) -> Difference:
        if reason:
            return groups.difference(i, j).without_interval(reason)
        return groups.difference(i, j), math.sqrt(error / 2 * (1 / groups.sizes[i] + 1 / groups.sizes[j])), free

    compare = PairwiseComparison(method, len(groups.names), confidence)
    return compare.all_pairs(groups.names, difference, groups.counts, reason)


def games_howell(outcome: Column, group: Column, *, confidence: float = 0.95) -> Pairwise:
    """Compare all pairs, each with its own variances. Groups of a single row take no part."""
    _bounds.check_confidence(confidence)
    groups, method = _groups(outcome, group), "Games-Howell"
    able = groups.sizes > 1
    reason = _too_few(groups)
    if reason is None and np.count_nonzero(able) < 2:
        reason = "fewer than two groups have two rows"
    if reason:
        return groups.untested(method, confidence, reason)
    shares = groups.squares / np.maximum(groups.sizes - 1, 1) / groups.sizes

    def difference(i: int, j: int) -> Difference:
        total = shares[i] + shares[j]
        if not (able[i] and able[j]):
            return groups.difference(i, j).without_interval("a group has a single row")
        if not total > 0:
            return groups.difference(i, j).without_interval("no variation within either group")
        df = satterthwaite(*((float(shares[k]), groups.sizes[k] - 1) for k in (i, j)))
        return groups.difference(i, j), math.sqrt(total / 2), df

    compare = PairwiseComparison(method, int(np.count_nonzero(able)), confidence)
    return compare.all_pairs(groups.names, difference, groups.counts)


def holm(p: Sequence[float | None], *, confidence: float = 0.95) -> Adjusted:
    """Correct p-values by Holm's step-down procedure."""
    _bounds.check_confidence(confidence)
    ranked = [(float(value), index) for index, value in enumerate(p) if value is not None]
    for value, _ in ranked:
        if not 0 <= value <= 1:
            raise InputError(f"A p-value lies between 0 and 1; got {value}.", "Pass None where there is none.")
    adjusted: list[float | None] = [None] * len(p)
    running = 0.0
    for rank, (value, index) in enumerate(sorted(ranked)):
        running = max(running, min((len(ranked) - rank) * value, 1.0))
        adjusted[index] = running
    # Equality counts, as for a single p-value at its level; rounding must not decide it.
    cut = (1 - confidence) * (1 + 1e-12)
    significant = tuple(None if value is None else value <= cut for value in adjusted)
    p_values = tuple(None if value is None else float(value) for value in p)
    return Adjusted(p=p_values, adjusted=tuple(adjusted), significant=significant, confidence=confidence)


def _groups(outcome: Column, group: Column) -> _Groups:
    values, ids = as_floats(outcome, "outcome"), as_array(group)
    same_length({"outcome": values, "group": ids})
    usable = np.isfinite(values) & present(ids)
    values = values[usable]
    names, codes, _ = coded(ids[usable], "group")
    sizes = np.bincount(codes, minlength=len(names)).astype(np.float64)
    means = np.bincount(codes, weights=values, minlength=len(names)) / np.maximum(sizes, 1)
    deviations = values - means[codes]
    squares = np.bincount(codes, weights=deviations * deviations, minlength=len(names)).astype(np.float64)
    # Spread no larger than rounding is none.
    squares[squares <= 1e-26 * sizes * means**2] = 0.0
    left_out = int(usable.size - values.size)
    counts = {"rows": values.size, "groups": len(names), **({"left_out": left_out} if left_out else {})}
    return _Groups(names=names, sizes=sizes, means=means, squares=squares, counts=counts)


def _too_few(groups: _Groups) -> str | None:
    return f"{len(groups.names)} groups; at least 2 are needed" if len(groups.names) < 2 else None


def _range_tail(span: Floats, groups: int) -> Floats:
    """Chance that the range of ``groups`` standard normals exceeds each span."""
    from scipy.special import ndtr

    step = 0.3 if groups < 10 else 0.15
    # Beyond a span of 80 the chance is 0 to the last digit; a grid that grew with the span would not fit in memory.
    far = _REACH + min(float(span.max()), 80.0) / 2
    top = np.arange(-_REACH, far + step, step)
    below = ndtr(top)
    density = np.exp(-0.5 * top * top) / math.sqrt(2 * math.pi) * below ** (groups - 1) * groups * step
    share = np.minimum(ndtr(top - span[:, None]) / below, 1 - 1.2e-16)
    return np.asarray(np.minimum(-np.expm1((groups - 1) * np.log1p(-share)) @ density, 1.0))


def upper_tail(q: float, groups: int, df: float) -> float:
    """Chance that the studentized range exceeds ``q``."""
    if q <= 0:
        return 1.0
    if not math.isfinite(df) or df > 1e8:
        return float(_range_tail(np.array([q]), groups)[0])
    # Density of u = ln(s): proportional to exp(df * u - df * exp(2u) / 2). Times the range's own tail, which
    # falls like exp(-q² s² / 4), the product peaks at a smaller s.
    peak = 0.5 * math.log(df / (df + q * q / 2))
    reach = 32 / df
    low = peak - reach - math.sqrt(reach)
    high = 0.5 * math.log1p(2 * reach + 2 * math.sqrt(reach))
    step = min(0.6 / math.sqrt(2 * df + 2), 0.18)
    u = np.arange(low, high + step, step)
    log_constant = math.log(2) + 0.5 * df * math.log(df / 2) - math.lgamma(df / 2)
    weight = np.exp(log_constant + df * u - 0.5 * df * np.exp(2 * u)) * step
    return min(float(weight @ _range_tail(q * np.exp(u), groups)), 1.0)


@lru_cache(maxsize=512)
def critical(confidence: float, groups: int, df: float) -> float:
    """The value of the studentized range exceeded with chance ``1 - confidence``, by secants on log scales."""
    from scipy.special import stdtrit

    target = math.log1p(-confidence)

    def gap(log_q: float) -> float:
        return math.log(max(upper_tail(math.exp(log_q), groups, df), 1e-300)) - target

    # Bonferroni's value for all pairs is close, and a little above, so that only steps down can be long.
    start = math.sqrt(2) * -float(stdtrit(df, (1 - confidence) / (groups * (groups - 1))))
    before, log_value = math.log(start), math.log(start) - 0.02
    gap_before, gap_here = gap(before), gap(log_value)
    for _ in range(50):
        if abs(gap_here) < 1e-12 or gap_here == gap_before:
            break
        step = -gap_here * (log_value - before) / (gap_here - gap_before)
        before, gap_before = log_value, gap_here
        log_value += max(step, -0.5)
        gap_here = gap(log_value)
    return math.exp(log_value)
