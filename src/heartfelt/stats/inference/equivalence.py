"""Differences of means, and equivalence by two one-sided tests: is an effect inside margins set beforehand?

A difference of two means has Welch's t interval (each group with its own variance), the mean of paired
differences Student's.

``p`` is the larger of the two one-sided p-values; the two are equivalent at level 1 - alpha when it is below alpha,
which is when the 1 - 2 alpha interval (the one given) lies inside the margins. Margins are in the outcome's unit, or in
correlations. Not being significantly different is no evidence of equivalence; this is. Schuirmann (1987); Welch (1947)
for unequal variances; Fisher's z for correlations (Goertzen and Cribbie 2010).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats.columns.paired import Column
from heartfelt.stats.columns.paired import pairs as paired_rows
from heartfelt.stats.columns.triples import Floats, as_floats
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction import association


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalence:
    """The effect (the headline) with its 1 - 2 alpha interval, the margins and the two one-sided tests.

    ``p_above_low`` tests that the effect is above the lower margin, ``p_below_high`` that it is below the upper.
    """

    estimate: Estimate
    margins: tuple[float, float]
    p_above_low: float | None = None
    p_below_high: float | None = None
    df: float | None = None
    alpha: float
    method: str
    why_missing: str | None = None

    @property
    def p(self) -> float | None:
        """The larger one-sided p-value."""
        if self.p_above_low is None or self.p_below_high is None:
            return None
        return max(self.p_above_low, self.p_below_high)

    @property
    def equivalent(self) -> bool | None:
        """Whether equivalence is shown; None where it cannot be tested."""
        return None if self.p is None else self.p < self.alpha


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanDifference:
    """A mean difference with its standard error, or the reason there is none."""

    method: str
    counts: dict[str, int]
    value: float = 0.0
    error: float = 0.0
    df: float = 0.0
    why_missing: str | None = None
    why_no_error: str | None = None

    def estimate(self, confidence: float) -> Estimate:
        """The difference with its t interval."""
        if self.why_missing:
            return Estimate.missing(self.why_missing, self.method, self.counts)
        point_estimate = Estimate(value=self.value, method=self.method, counts=self.counts)
        if self.why_no_error:
            return point_estimate.without_interval(self.why_no_error)
        named = "Welch t" if self.method == "difference of means" else "Student t"
        return _bounds.with_t(point_estimate, self.error, self.df, named, confidence)


def independent(a: Column, b: Column) -> tuple[tuple[Floats, Floats], MeanDifference]:
    """The finite values of two groups, and the difference of their means."""
    columns = as_floats(a, "a"), as_floats(b, "b")
    first, second = (np.asarray(column[np.isfinite(column)]) for column in columns)
    left_out = columns[0].size + columns[1].size - first.size - second.size
    return (first, second), welch(first, second, left_out)


def welch(a: Floats, b: Floats, left_out: int = 0) -> MeanDifference:
    """Mean of ``a`` minus mean of ``b``, each with its own variance."""
    counts = {"a": a.size, "b": b.size, **({"left_out": left_out} if left_out else {})}
    difference = MeanDifference(method="difference of means", counts=counts)
    if a.size == 0 or b.size == 0:
        return replace(difference, why_missing="a group is empty")
    difference = replace(difference, value=float(a.mean() - b.mean()))
    if a.size < 2 or b.size < 2:
        return replace(difference, why_no_error="a group has a single value")
    shares = [float(np.var(group, ddof=1)) / group.size for group in (a, b)]
    total = shares[0] + shares[1]
    if total <= 1e-28 * max(float(a.mean() ** 2), float(b.mean() ** 2)):
        return replace(difference, why_no_error="neither group varies")
    df = _bounds.satterthwaite((shares[0], a.size - 1), (shares[1], b.size - 1))
    return replace(difference, error=math.sqrt(total), df=df)


def paired(a: Column, b: Column) -> tuple[Floats, MeanDifference]:
    """The differences of pairs, and their mean."""
    data = paired_rows(a, b)
    gaps = data.x - data.y
    difference = MeanDifference(method="mean of paired differences", counts=data.counts)
    if data.n == 0:
        return gaps, replace(difference, why_missing="no pairs")
    difference = replace(difference, value=float(gaps.mean()))
    if data.n < 2:
        return gaps, replace(difference, why_no_error="a single pair")
    error = float(gaps.std(ddof=1)) / math.sqrt(data.n)
    if error <= 1e-14 * abs(difference.value):
        return gaps, replace(difference, why_no_error="the differences do not vary")
    return gaps, replace(difference, error=error, df=data.n - 1.0)


def equivalence_mean(
    a: Column, b: Column, *, low: float, high: float, pairs: bool = False, alpha: float = 0.05
) -> Equivalence:
    """Test whether mean ``a`` minus mean ``b`` lies between the margins; ``pairs`` for paired columns."""
    _check(low, high, alpha, -math.inf, math.inf)
    effect = paired(a, b)[1] if pairs else independent(a, b)[1]
    method = "two one-sided tests, " + ("paired Student t" if pairs else "Welch t")
    estimate = effect.estimate(1 - 2 * alpha)
    reason = effect.why_missing or effect.why_no_error
    untested = Equivalence(estimate=estimate, margins=(low, high), alpha=alpha, method=method, why_missing=reason)
    if reason:
        return untested
    from scipy.special import stdtr

    above = float(stdtr(effect.df, -(effect.value - low) / effect.error))
    below = float(stdtr(effect.df, (effect.value - high) / effect.error))
    return replace(untested, p_above_low=above, p_below_high=below, df=effect.df)


def equivalence_correlation(
    x: Column,
    y: Column,
    *,
    low: float,
    high: float,
    kind: Literal["pearson", "spearman"] = "pearson",
    alpha: float = 0.05,
) -> Equivalence:
    """Test whether a correlation lies between the margins."""
    _check(low, high, alpha, -1.0, 1.0)
    if kind not in ("pearson", "spearman"):
        raise InputError(f"There is no equivalence test of '{kind}'.", "Choose 'pearson' or 'spearman'.")
    compute = association.pearson if kind == "pearson" else association.spearman
    estimate = compute(x, y, confidence=1 - 2 * alpha)
    method = f"two one-sided tests, {estimate.interval or 'Fisher z'}"
    reason = estimate.why_missing or estimate.why_no_interval
    untested = Equivalence(estimate=estimate, margins=(low, high), alpha=alpha, method=method, why_missing=reason)
    if estimate.value is None or reason:
        return untested
    n, value = estimate.counts["pairs"], estimate.value
    # Fisher's z with the sample's own error, as in the interval: test and interval then always agree.
    factor = 1.0 if kind == "pearson" else 1 + value * value / 2
    error = math.sqrt(factor / (n - 3))
    from scipy.special import ndtr

    above = float(ndtr(-(math.atanh(value) - math.atanh(low)) / error)) if low > -1 else 0.0
    below = float(ndtr((math.atanh(value) - math.atanh(high)) / error)) if high < 1 else 0.0
    return replace(untested, p_above_low=above, p_below_high=below)


def _check(low: float, high: float, alpha: float, least: float, most: float) -> None:
    if not least <= low < high <= most:
        raise InputError(f"The margins {low} and {high} are not a range.", "Pass low < high, within what is possible.")
    if not 0 < alpha < 0.5:
        raise InputError(f"alpha must lie between 0 and 0.5; got {alpha}.", "Pass 0.05 for example.")
    _bounds.check_confidence(1 - 2 * alpha)
