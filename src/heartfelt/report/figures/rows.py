"""Rows of a chart with intervals, and the marks between those that differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heartfelt.report.reading import Analysis, bounds_of, rows, value_of
from heartfelt.report.words import chance, number, stars

MARKS = 3


def estimate_row(
    label: str, value: float | None, low: float | None, high: float | None, colour: str, note: str = ""
) -> dict[str, Any]:
    """One row: a label, a value with its interval, and the words a reader sees on it."""
    bounds = "" if low is None or high is None else f" [{number(low, 2)}, {number(high, 2)}]"
    words = f"{label}\n{number(value, 2)}{bounds}" + (f"\n{note}" if note else "")
    return {"label": label, "value": value, "low": low, "high": high, "colour": colour, "words": words}


def row_of(label: str, estimate: Any, colour: str, note: str = "") -> dict[str, Any]:
    """One row of an estimate as the summary holds it."""
    low, high = bounds_of(estimate)
    return estimate_row(label, value_of(estimate), low, high, colour, note)


def brackets(
    analysis: Analysis, keys: Sequence[str], labels: Sequence[str], **where: Any
) -> list[dict[str, Any]]:
    """The three significant pairs that differ least, by the first post-hoc method reported, Tukey-Kramer before others."""
    found = [
        pair
        for pair in rows(analysis, "pairwise", **where)
        if pair.get("significant")
        and pair.get("a") in keys
        and pair.get("b") in keys
        and pair.get("difference") is not None
    ]
    methods = sorted(
        {str(pair.get("method")) for pair in rows(analysis, "pairwise", **where)},
        key=lambda name: "tukey" not in name.casefold(),
    )
    found = [pair for pair in found if not methods or str(pair.get("method")) == methods[0]]
    found.sort(key=lambda pair: abs(float(pair["difference"])))
    places = {key: place for place, key in enumerate(keys)}
    return [
        {
            "a": min(places[pair["a"]], places[pair["b"]]),
            "b": max(places[pair["a"]], places[pair["b"]]),
            "stars": stars(pair.get("p")),
            "words": (
                f"{labels[places[pair['a']]]} and {labels[places[pair['b']]]} differ by {number(abs(float(pair['difference'])), 2)}"
                f" (p {chance(pair.get('p')) if (pair.get('p') or 0) < 0.001 else '= ' + chance(pair.get('p'))}, {pair.get('method')})"
            ),
        }
        for pair in found[:MARKS]
    ]
