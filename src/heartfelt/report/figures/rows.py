"""Rows of a chart with intervals, panels of them, and the marks between rows that differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heartfelt.analysis.effects import ADJUSTED, ONE_WAY
from heartfelt.report.reading import Analysis, bounds_of, rows, value_of
from heartfelt.report.words import chance_of, number, stars

MARKS = 3
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def row_of(label: str, estimate: Any, colour: str, note: str = "") -> dict[str, Any]:
    """One row: a label, an estimate as the summary holds it, and the words a reader sees on it."""
    value, (low, high) = value_of(estimate), bounds_of(estimate)
    bounds = "" if low is None else f" [{number(low, 2)}, {number(high, 2)}]"
    words = f"{label}\n{number(value, 2)}{bounds}" + (f"\n{note}" if note else "")
    return {"label": label, "value": value, "low": low, "high": high, "colour": colour, "words": words}


def panel_of(title: str, made: Sequence[dict[str, Any]], axis: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A panel of rows; ``more`` may hold ``bars``, ``lines``, ``brackets`` and ``ties``."""
    usual: dict[str, Any] = {"bars": False, "lines": [], "brackets": []}
    return {"title": title, "rows": list(made), "value": axis, **usual, **more}


def numbers(made: Sequence[dict[str, Any]]) -> list[float | None]:
    """Everything an axis must hold."""
    return [row[key] for row in made for key in ("value", "low", "high")]


def lettered(place: int, title: str) -> str:
    """A panel's title with its letter."""
    return f"({LETTERS[place % len(LETTERS)]}) {title}"


def brackets(
    analysis: Analysis, keys: Sequence[str], labels: Sequence[str], **where: Any
) -> list[dict[str, Any]]:
    """The three significant pairs that differ least, by the test of the model that compares them where it was made."""
    pairs = [
        pair
        for pair in rows(analysis, "pairwise", **where)
        if pair.get("a") in keys and pair.get("b") in keys and pair.get("difference") is not None
    ]
    families = list(dict.fromkeys((str(pair.get("method")), pair.get("model")) for pair in pairs))
    first = min(families, key=lambda family: (family[0] != ADJUSTED, family[0] != ONE_WAY), default=None)
    found = [
        pair
        for pair in pairs
        if pair.get("significant") and (str(pair.get("method")), pair.get("model")) == first
    ]
    found.sort(key=lambda pair: abs(float(pair["difference"])))
    return [_bracket(pair, keys, labels) for pair in found[:MARKS]]


def _bracket(pair: dict[str, Any], keys: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
    a, b = keys.index(pair["a"]), keys.index(pair["b"])
    apart = number(abs(float(pair["difference"])), 2)
    words = f"{labels[a]} and {labels[b]} differ by {apart}\n{chance_of(pair.get('p'))}, {pair.get('method')}"
    return {"a": min(a, b), "b": max(a, b), "stars": stars(pair.get("p")), "words": words}
