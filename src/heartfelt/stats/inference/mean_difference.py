"""The difference of two means, or the mean of paired differences, with Welch's or Student's t interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from heartfelt.stats import _bounds
from heartfelt.stats._paired import Column, pairs
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats, as_floats


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference with its standard error, or the reason there is none."""

    value: float
    error: float
    df: float
    method: str
    counts: dict[str, int]
    why_missing: str | None = None
    why_no_error: str | None = None

    def estimate(self, confidence: float) -> Estimate:
        """The difference with its t interval."""
        if self.why_missing:
            return Estimate.missing(self.why_missing, self.method, self.counts)
        plain = Estimate(self.value, method=self.method, counts=self.counts)
        if self.why_no_error:
            return _bounds.bounded(plain, None, "", confidence, self.why_no_error)
        half = _bounds.t_quantile(confidence, self.df) * self.error
        named = "Welch t" if self.method == "difference of means" else "Student t"
        return plain.with_interval(self.value - half, self.value + half, named, confidence)


def finite(column: Column, name: str) -> Floats:
    """The column's finite numbers."""
    values = as_floats(column, name)
    return np.asarray(values[np.isfinite(values)])


def welch(a: Floats, b: Floats, left_out: int = 0) -> Difference:
    """Mean of ``a`` minus mean of ``b``, each with its own variance."""
    counts = {"a": a.size, "b": b.size, **({"left_out": left_out} if left_out else {})}
    method = "difference of means"
    if a.size == 0 or b.size == 0:
        return Difference(0.0, 0.0, 0.0, method, counts, "a group is empty")
    value = float(a.mean() - b.mean())
    if a.size < 2 or b.size < 2:
        return Difference(value, 0.0, 0.0, method, counts, None, "a group has a single value")
    shares = [float(np.var(group, ddof=1)) / group.size for group in (a, b)]
    total = shares[0] + shares[1]
    if total <= 1e-28 * max(float(a.mean() ** 2), float(b.mean() ** 2)):
        return Difference(value, 0.0, 0.0, method, counts, None, "neither group varies")
    df = total**2 / (shares[0] ** 2 / (a.size - 1) + shares[1] ** 2 / (b.size - 1))
    return Difference(value, math.sqrt(total), df, method, counts)


def paired(a: Column, b: Column) -> tuple[Floats, Difference]:
    """The differences of pairs, and their mean."""
    data = pairs(a, b)
    gaps = data.x - data.y
    method = "mean of paired differences"
    if data.n == 0:
        return gaps, Difference(0.0, 0.0, 0.0, method, data.counts, "no pairs")
    value = float(gaps.mean())
    if data.n < 2:
        return gaps, Difference(value, 0.0, 0.0, method, data.counts, None, "a single pair")
    error = float(gaps.std(ddof=1)) / math.sqrt(data.n)
    if error <= 1e-14 * abs(value) or error == 0:
        return gaps, Difference(value, 0.0, 0.0, method, data.counts, None, "the differences do not vary")
    return gaps, Difference(value, error, data.n - 1.0, method, data.counts)
