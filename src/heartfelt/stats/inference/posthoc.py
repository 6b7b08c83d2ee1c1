"""Which groups differ: all pairs at once, with the chance of any false alarm held.

``tukey`` pools the variance (Tukey-Kramer for unequal sizes; Hayter 1984 shows that it holds its level), or
takes it from a larger model. ``games_howell`` gives every pair its own variance and Welch degrees of
freedom (Games and Howell 1976), for groups that differ in spread. ``holm`` corrects any list of p-values
(Holm 1979). Differences are ``a`` minus ``b`` in the outcome's unit; p-values and intervals are
simultaneous. Groups are in sorted order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats._paired import Column, coded, present, same_length
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference.studentized_range import critical, upper_tail
from heartfelt.stats.triples import Floats, as_array, as_floats


@dataclass(frozen=True, slots=True)
class Pair:
    """One comparison; ``p`` and ``significant`` are None where the estimate has no interval."""

    a: Any
    b: Any
    estimate: Estimate
    statistic: float | None
    df: float | None
    p: float | None
    significant: bool | None

    @property
    def difference(self) -> float | None:
        """Mean of ``a`` minus mean of ``b``."""
        return self.estimate.value

    @property
    def low(self) -> float | None:
        """The difference's lower bound."""
        return self.estimate.low

    @property
    def high(self) -> float | None:
        """The difference's upper bound."""
        return self.estimate.high

    def to_json(self) -> dict[str, Any]:
        """A plain object."""
        return {
            "a": self.a,
            "b": self.b,
            "difference": self.estimate.to_json(),
            "df": self.df,
            "p": self.p,
            "significant": self.significant,
        }


@dataclass(frozen=True, slots=True)
class Pairwise:
    """All comparisons of a set of groups. The headline is the largest difference, whichever its sign."""

    pairs: tuple[Pair, ...]
    method: str
    confidence: float
    counts: dict[str, int]
    why_missing: str | None = None

    @property
    def significant(self) -> tuple[Pair, ...]:
        """The pairs that differ at this level."""
        return tuple(pair for pair in self.pairs if pair.significant)

    @property
    def largest(self) -> Estimate:
        """The difference furthest from 0."""
        found = [pair.estimate for pair in self.pairs if pair.estimate.value is not None]
        if not found:
            return Estimate.missing(self.why_missing or "no pair can be compared", self.method, self.counts)
        return max(found, key=lambda estimate: abs(float(estimate)))

    @property
    def value(self) -> float | None:
        """The largest difference."""
        return self.largest.value

    @property
    def low(self) -> float | None:
        """Its lower bound."""
        return self.largest.low

    @property
    def high(self) -> float | None:
        """Its upper bound."""
        return self.largest.high

    def __getitem__(self, names: tuple[Any, Any]) -> Pair:
        for pair in self.pairs:
            if (pair.a, pair.b) == names:
                return pair
        raise KeyError(names)

    def to_json(self) -> dict[str, Any]:
        """A plain object."""
        return {
            "method": self.method,
            "level": self.confidence,
            "pairs": [pair.to_json() for pair in self.pairs],
            **{f"n_{name}": count for name, count in self.counts.items()},
            **({"why_missing": self.why_missing} if self.why_missing else {}),
        }


@dataclass(frozen=True, slots=True)
class Adjusted:
    """P-values corrected for their number, in the order given; None stays None and does not count."""

    p: tuple[float | None, ...]
    adjusted: tuple[float | None, ...]
    significant: tuple[bool | None, ...]
    confidence: float
    method: str = "Holm"

    def to_json(self) -> dict[str, Any]:
        """A plain object."""
        return {
            "method": self.method,
            "level": self.confidence,
            "p": list(self.p),
            "adjusted": list(self.adjusted),
            "significant": list(self.significant),
        }


@dataclass(frozen=True, slots=True)
class _Groups:
    names: list[Any]
    sizes: Floats
    means: Floats
    squares: Floats
    counts: dict[str, int]


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
    found, method = _groups(outcome, group), "Tukey-Kramer"
    _bounds.check_confidence(confidence)
    why = _too_few(found)
    free = float(found.sizes.sum()) - len(found.names) if df is None else df
    if why is None and free <= 0:
        why = "every group has a single row: no residual degrees of freedom"
    if why:
        return _unmade(found, method, confidence, why)
    error = float(found.squares.sum()) / free if mean_square is None else mean_square
    if not error > 0:
        return _unmade(found, method, confidence, "no variation within the groups", with_differences=True)
    cut = critical(confidence, len(found.names), free)
    pairs = []
    for i, j in combinations(range(len(found.names)), 2):
        scale = math.sqrt(error / 2 * (1 / found.sizes[i] + 1 / found.sizes[j]))
        pairs.append(_pair(found, (i, j), (scale, free, cut), (method, confidence)))
    return Pairwise(tuple(pairs), method, confidence, found.counts)


def games_howell(outcome: Column, group: Column, *, confidence: float = 0.95) -> Pairwise:
    """Compare all pairs, each with its own variances. Groups of a single row take no part."""
    found, method = _groups(outcome, group), "Games-Howell"
    _bounds.check_confidence(confidence)
    able = found.sizes > 1
    why = _too_few(found)
    if why is None and np.count_nonzero(able) < 2:
        why = "fewer than two groups have two rows"
    if why:
        return _unmade(found, method, confidence, why)
    groups = int(np.count_nonzero(able))
    shares = found.squares / np.maximum(found.sizes - 1, 1) / found.sizes
    pairs = []
    for i, j in combinations(range(len(found.names)), 2):
        total = shares[i] + shares[j]
        if not (able[i] and able[j]):
            pairs.append(_no_test(found, (i, j), method, confidence, "a group has a single row"))
        elif not total > 0:
            pairs.append(_no_test(found, (i, j), method, confidence, "no variation within either group"))
        else:
            parts = shares[i] ** 2 / (found.sizes[i] - 1) + shares[j] ** 2 / (found.sizes[j] - 1)
            free = float(total**2 / parts)
            spread = (math.sqrt(total / 2), free, critical(confidence, groups, free))
            pairs.append(_pair(found, (i, j), spread, (method, confidence), groups))
    return Pairwise(tuple(pairs), method, confidence, found.counts)


def holm(p: Sequence[float | None], *, confidence: float = 0.95) -> Adjusted:
    """Correct p-values by Holm's step-down procedure."""
    _bounds.check_confidence(confidence)
    known = [(float(value), index) for index, value in enumerate(p) if value is not None]
    for value, _ in known:
        if not 0 <= value <= 1:
            raise InputError(
                f"A p-value lies between 0 and 1; got {value}.", "Pass None where there is none."
            )
    adjusted: list[float | None] = [None] * len(p)
    running = 0.0
    for rank, (value, index) in enumerate(sorted(known)):
        running = max(running, min((len(known) - rank) * value, 1.0))
        adjusted[index] = running
    # Equality counts, as for a single p-value at its level; rounding must not decide it.
    cut = (1 - confidence) * (1 + 1e-12)
    significant = tuple(None if value is None else value <= cut for value in adjusted)
    plain = tuple(None if value is None else float(value) for value in p)
    return Adjusted(plain, tuple(adjusted), significant, confidence)


def _groups(outcome: Column, group: Column) -> _Groups:
    values, ids = as_floats(outcome, "outcome"), as_array(group)
    same_length({"outcome": values, "group": ids})
    kept = np.isfinite(values) & present(ids)
    values = values[kept]
    names, codes, _ = coded(ids[kept], "group")
    sizes = np.bincount(codes, minlength=len(names)).astype(np.float64)
    means = np.bincount(codes, weights=values, minlength=len(names)) / np.maximum(sizes, 1)
    apart = values - means[codes]
    squares = np.bincount(codes, weights=apart * apart, minlength=len(names)).astype(np.float64)
    # Spread at the level of rounding is none.
    squares[squares <= 1e-26 * sizes * means**2] = 0.0
    left_out = int(kept.size - values.size)
    counts = {"rows": values.size, "groups": len(names), **({"left_out": left_out} if left_out else {})}
    return _Groups(names, sizes, means, squares, counts)


def _too_few(found: _Groups) -> str | None:
    return f"{len(found.names)} groups; at least 2 are needed" if len(found.names) < 2 else None


def _pair(
    found: _Groups,
    which: tuple[int, int],
    spread: tuple[float, float, float],
    how: tuple[str, float],
    groups: int | None = None,
) -> Pair:
    (i, j), (scale, df, cut), (method, level) = which, spread, how
    difference = float(found.means[i] - found.means[j])
    q = abs(difference) / scale
    p = upper_tail(q, groups or len(found.names), df)
    counts = {"rows": int(found.sizes[i] + found.sizes[j])}
    estimate = Estimate(difference, method="difference of means", counts=counts).with_interval(
        difference - cut * scale, difference + cut * scale, method, level
    )
    return Pair(found.names[i], found.names[j], estimate, q / math.sqrt(2), df, p, p < 1 - level)


def _no_test(found: _Groups, which: tuple[int, int], method: str, confidence: float, why: str) -> Pair:
    i, j = which
    counts = {"rows": int(found.sizes[i] + found.sizes[j])}
    plain = Estimate(float(found.means[i] - found.means[j]), method="difference of means", counts=counts)
    estimate = _bounds.bounded(plain, None, method, confidence, why)
    return Pair(found.names[i], found.names[j], estimate, None, None, None, None)


def _unmade(
    found: _Groups, method: str, confidence: float, why: str, with_differences: bool = False
) -> Pairwise:
    indices = list(combinations(range(len(found.names)), 2)) if with_differences else []
    pairs = tuple(_no_test(found, which, method, confidence, why) for which in indices)
    return Pairwise(pairs, method, confidence, found.counts, why)
