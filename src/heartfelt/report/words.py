"""How numbers read on a page and in a figure: one way for values, intervals, p-values and counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MINUS = "\u2212"


def number(value: float | None, places: int | None = None) -> str:
    """A number with as many places as it needs: counts whole, large values few, coefficients three."""
    if value is None:
        return "–"
    if isinstance(value, int) and places is None:
        return f"{value:,}".replace("-", MINUS)
    if not math.isfinite(value):
        return "–"
    if places is None:
        places = 3 if abs(value) < 1 else 2 if abs(value) < 1000 else 0
    text = f"{value:,.{places}f}"
    if text.startswith("-") and float(text.replace(",", "")) == 0:
        text = text[1:]
    return text.replace("-", MINUS)


def chance(p: float | None) -> str:
    """A p-value as papers print it: ``< .001`` or ``.032``."""
    if p is None:
        return "–"
    if p < 0.001:
        return "< .001"
    return f"{p:.3f}".replace("0.", ".", 1) if p < 0.9995 else "1"


def stars(p: float | None) -> str:
    """Significance marks: * below .05, ** below .01, *** below .001."""
    if p is None or p >= 0.05:
        return ""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*"


def interval(estimate: Mapping[str, Any] | None, places: int | None = None) -> str:
    """``0.71 [0.68, 0.74]``; the reason where there is no value."""
    if estimate is None:
        return "–"
    value = estimate.get("value")
    if value is None:
        return f"none: {estimate.get('why_missing') or 'no reason given'}"
    low, high = estimate.get("low"), estimate.get("high")
    if low is None or high is None:
        return number(value, places)
    if places is None:
        places = 2 if max(abs(value), abs(low), abs(high)) >= 1 else 3
    return f"{number(value, places)} [{number(low, places)}, {number(high, places)}]"


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 rater``, ``2 raters``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def plain(name: str) -> str:
    """An id as words: underscores become spaces."""
    return name.replace("___", " / ").replace("_", " ").strip()


COEFFICIENTS = {
    "alpha_interval": "Krippendorff's alpha (interval)",
    "alpha_ordinal": "Krippendorff's alpha (ordinal)",
    "alpha_nominal": "Krippendorff's alpha (nominal)",
    "icc1": "ICC(1), one rater",
    "icc1k": "ICC(1,k), mean of the raters",
    "icc2": "ICC(2,1), one rater",
    "icc2k": "ICC(2,k), mean of the raters",
    "icc3": "ICC(3,1), one rater",
    "icc3k": "ICC(3,k), mean of the raters",
    "split_half": "Split-half (Spearman-Brown)",
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa, mean of pairs",
    "cohen_kappa_quadratic": "Cohen's kappa, quadratic weights",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
    "exact_agreement": "All raters agree",
    "pairwise_accuracy": "Accuracy between two raters",
    "pairwise_balanced_accuracy": "Balanced accuracy between two raters",
    "leave_one_out": "One rater against the majority of the others",
    "ceiling": "Ceiling of correlation",
    "correlation": "Ceiling of correlation",
    "accuracy": "Ceiling of accuracy",
    "rmse": "Floor of the error (RMSE)",
}


def coefficient(name: str) -> str:
    """A coefficient by its usual name."""
    return COEFFICIENTS.get(name, plain(name))


def effect(name: str) -> str:
    """An effect of a model: interactions with a cross."""
    return name.replace(":", " × ")


def measure(name: object) -> str:
    """What is compared: the mean rating or a deviation from the reference."""
    return {"signed": "signed deviation", "absolute": "absolute deviation", "value": "mean rating"}.get(
        str(name), plain(str(name))
    )


def chance_of(p: float | None) -> str:
    """A p-value with its letter: ``p < .001`` or ``p = .032``."""
    text = chance(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"
