"""Colours that stay apart for colour-blind readers and in grey print (after Okabe and Ito)."""

from __future__ import annotations

INK = "#1d2330"
SOFT = "#5b6472"
LINE = "#d9dde4"

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0609a", "#8a6d00", "#2b8cbe", "#6b6b6b", "#7a3b00")
SHAPES = ("circle", "square", "triangle", "diamond")
FLAGGED = "#d55e00"
BASE_COLOUR = "#0072b2"


def colour(index: int) -> str:
    """The colour at a place; they repeat."""
    return COLOURS[index % len(COLOURS)]


def distinct(index: int) -> str:
    """The colour at a place, for many things that are always labelled too: darker, then lighter ones follow the first eight."""
    turn, base = index // len(COLOURS), colour(index)
    return (base, mix(base, INK, 0.45), mix(base, "#ffffff", 0.4))[turn % 3]


def mix(colour: str, second_colour: str, share: float) -> str:
    """The colour ``share`` of the way from ``colour`` to ``second_colour``."""
    a, b = (tuple(int(text[i : i + 2], 16) for i in (1, 3, 5)) for text in (colour, second_colour))
    share = min(max(share, 0.0), 1.0)
    return "#" + "".join(f"{round(x + (y - x) * share):02x}" for x, y in zip(a, b, strict=True))
