"""Equivalence by two one-sided tests: is the difference, or the correlation, inside margins set beforehand?

``p`` is the larger of the two one-sided p-values; the two are equivalent at level 1 - alpha when it is
below alpha, which is when the 1 - 2 alpha interval (the one given) lies inside the margins. Margins are in
the outcome's unit, or in correlations. Not being significantly different is no evidence of equivalence;
this is. Schuirmann (1987); Welch (1947) for unequal variances; Fisher's z for correlations (Goertzen and
Cribbie 2010).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from heartfelt.errors import InputError
from heartfelt.stats import _bounds, association
from heartfelt.stats._paired import Column
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference.mean_difference import Difference, finite, paired, welch
from heartfelt.stats.triples import as_floats


@dataclass(frozen=True, slots=True)
class Equivalence:
    """The effect (the headline) with its 1 - 2 alpha interval, the margins and the two one-sided tests.

    ``p_above_low`` tests that the effect is above the lower margin, ``p_below_high`` that it is below the
    upper.
    """

    estimate: Estimate
    margins: tuple[float, float]
    p_above_low: float | None
    p_below_high: float | None
    df: float | None
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

    @property
    def value(self) -> float | None:
        """The effect."""
        return self.estimate.value

    @property
    def low(self) -> float | None:
        """Its lower bound."""
        return self.estimate.low

    @property
    def high(self) -> float | None:
        """Its upper bound."""
        return self.estimate.high

    def to_json(self) -> dict[str, Any]:
        """A plain object."""
        return {
            "estimate": self.estimate.to_json(),
            "margins": list(self.margins),
            "p": self.p,
            "p_above_low": self.p_above_low,
            "p_below_high": self.p_below_high,
            "df": self.df,
            "alpha": self.alpha,
            "equivalent": self.equivalent,
            "method": self.method,
            **({"why_missing": self.why_missing} if self.why_missing else {}),
        }


def equivalence_mean(
    a: Column, b: Column, *, low: float, high: float, pairs: bool = False, alpha: float = 0.05
) -> Equivalence:
    """Test whether mean ``a`` minus mean ``b`` lies between the margins; ``pairs`` for paired columns."""
    _check(low, high, alpha, -math.inf, math.inf)
    if pairs:
        _, found = paired(a, b)
    else:
        first, second = finite(a, "a"), finite(b, "b")
        left_out = as_floats(a, "a").size + as_floats(b, "b").size - first.size - second.size
        found = welch(first, second, left_out)
    method = "two one-sided tests, " + ("paired Student t" if pairs else "Welch t")
    estimate = found.estimate(1 - 2 * alpha)
    why = found.why_missing or found.why_no_error
    if why:
        return Equivalence(estimate, (low, high), None, None, None, alpha, method, why)
    above, below = _t_tails(found, low, high)
    return Equivalence(estimate, (low, high), above, below, found.df, alpha, method)


def _t_tails(found: Difference, low: float, high: float) -> tuple[float, float]:
    from scipy.special import stdtr

    above = float(stdtr(found.df, -(found.value - low) / found.error))
    below = float(stdtr(found.df, (found.value - high) / found.error))
    return above, below


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
    why = estimate.why_missing or estimate.why_no_interval
    if estimate.value is None or why:
        return Equivalence(estimate, (low, high), None, None, None, alpha, method, why)
    n, value = estimate.counts["pairs"], estimate.value
    # Fisher's z with the sample's own error, as in the interval: test and interval then always agree.
    factor = 1.0 if kind == "pearson" else 1 + value * value / 2
    error = math.sqrt(factor / (n - 3))
    from scipy.special import ndtr

    above = float(ndtr(-(math.atanh(value) - math.atanh(low)) / error)) if low > -1 else 0.0
    below = float(ndtr((math.atanh(value) - math.atanh(high)) / error)) if high < 1 else 0.0
    return Equivalence(estimate, (low, high), above, below, None, alpha, method)


def _check(low: float, high: float, alpha: float, least: float, most: float) -> None:
    if not least <= low < high <= most:
        raise InputError(
            f"The margins {low} and {high} are not a range.", "Pass low < high, within what is possible."
        )
    if not 0 < alpha < 0.5:
        raise InputError(f"alpha must lie between 0 and 0.5; got {alpha}.", "Pass 0.05, say.")
    _bounds.check_confidence(1 - 2 * alpha)
