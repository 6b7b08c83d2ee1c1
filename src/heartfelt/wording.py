"""How numbers, p-values, intervals, counts and lists read in sentences, tables and figures.

Numbers have thousands separators and a typographic minus sign; nothing is shown as a negative zero. Figures that cannot exceed 1
(correlations, shares, p-values) are printed without a leading zero in running text, as papers do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

MINUS = "\u2212"
MISSING = "\u2013"


class Bounded(Protocol):
    """What has a value with an interval, or the reason there is none: an ``Estimate``."""

    @property
    def value(self) -> float | None:
        """The number."""

    @property
    def low(self) -> float | None:
        """The lower end of its interval."""

    @property
    def high(self) -> float | None:
        """The upper end of its interval."""

    @property
    def why_missing(self) -> str | None:
        """Why there is no number."""


def number(value: float | None, decimals: int | None = None) -> str:
    """A number with so many ``decimals``; without, as many as it needs: counts none, small values three, others two."""
    if value is None or not math.isfinite(value):
        return MISSING
    if decimals is None:
        decimals = 0 if isinstance(value, int) or abs(value) >= 1000 else 3 if abs(value) < 1 else 2
    text = f"{value:,.{decimals}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", MINUS)


def share(value: float | None, decimals: int = 2) -> str:
    """A number that cannot exceed 1, without its leading zero: ``.84``."""
    text = number(value, decimals)
    return text.replace("0.", ".", 1) if text.startswith(("0.", f"{MINUS}0.")) else text


def probability(value: float | None) -> str:
    """A probability to two places that is never shown as a certainty: ``.93``, ``above .99``, ``below .01``."""
    if value is not None and value >= 0.995:
        return "above .99"
    return "below .01" if value is not None and value < 0.005 else share(value)


def percent(value: float | None, decimals: int = 0) -> str:
    """A share in percent: ``52%``."""
    return MISSING if value is None else f"{number(100 * value, decimals)}%"


def data_size(count: int) -> str:
    """A number of bytes in decimal units: ``812 B``, ``1.4 MB``."""
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{number(size, 0 if unit == 'B' or size >= 100 else 1)} {unit}"


def p_value(p: float | None, *, bare: bool = False) -> str:
    """``p < .001`` or ``p = .032``; ``bare`` for a column of p-values: ``< .001`` or ``.032``."""
    if p is None or not math.isfinite(p):
        return MISSING if bare else "p not available"
    if p < 0.001:
        return "< .001" if bare else "p < .001"
    text = "1" if p >= 0.9995 else share(p, 3)
    return text if bare else f"p = {text}"


def stars(p: float | None) -> str:
    """Significance marks: * below .05, ** below .01, *** below .001."""
    if p is None or p >= 0.05:
        return ""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*"


def interval(estimate: Bounded | None, decimals: int | None = None, *, bare: bool = False) -> str:
    """``0.71 [0.68, 0.74]``, or the reason where there is no value; ``bare`` drops leading zeros: ``.71 [.68, .74]``."""
    if estimate is None:
        return MISSING
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None:
        return f"none: {estimate.why_missing or 'no reason given'}"
    if decimals is None:
        largest = max(abs(limit) for limit in (value, low, high) if limit is not None)
        decimals = 2 if bare or largest >= 1 else 3
    if bare and 0.985 <= value < 1:
        decimals = max(decimals, 3)
    write = share if bare else number
    if low is None or high is None:
        return write(value, decimals)
    if low < high and write(low, decimals) == write(high, decimals):
        # An interval that rounds to a point would look like a certainty.
        decimals += 1
    return f"{write(value, decimals)} [{write(low, decimals)}, {write(high, decimals)}]"


def percent_interval(estimate: Bounded) -> str:
    """``52% [49, 55]``."""
    text = percent(estimate.value)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{number(100 * estimate.low, 0)}, {number(100 * estimate.high, 0)}]"


def money(amount: float, least_decimals: int = 0) -> str:
    """An amount in any currency: four significant digits, two decimals from 1,000, at least ``least_decimals``; no exponent."""
    digits = 2 if amount >= 1_000 else 3 - math.floor(math.log10(amount)) if amount > 0 else 0
    integer_part, _, decimals = f"{amount:,.{max(0, digits)}f}".partition(".")
    decimals = decimals.rstrip("0").ljust(least_decimals, "0")
    return f"{integer_part}.{decimals}" if decimals else integer_part


def plural(count: int, singular: str, several: str | None = None) -> str:
    """``1 rater``, ``2 raters``."""
    return f"{count:,} {singular if count == 1 else several or singular + 's'}"


def listed(names: Sequence[str], most: int = 8) -> str:
    """``a, b and c``; of more than ``most`` names the first, and how many are left."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0] if names else "none"


def sentence(clauses: Sequence[str]) -> str:
    """Clauses as one sentence that begins with a capital; nothing for no clauses."""
    text = "; ".join(clauses)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def spaced(name: str) -> str:
    """An id as words: underscores become spaces."""
    return name.replace("___", " / ").replace("_", " ").strip()
