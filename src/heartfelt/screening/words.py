"""How numbers read in a flag's sentence."""

from __future__ import annotations

import math


def chance(p: float) -> str:
    """A p-value as text: ``p = .032`` or ``p < .001``."""
    if not math.isfinite(p):
        return "p unknown"
    if p < 0.001:
        return "p < .001"
    return f"p = {p:.3f}".replace("0.", ".", 1) if p < 1 else "p = 1"


def number(value: float, places: int = 2) -> str:
    """A number with a fixed count of places, without a negative zero."""
    if not math.isfinite(value):
        return "unknown"
    text = f"{value:.{places}f}"
    return text[1:] if text.startswith("-") and float(text) == 0 else text


def listed(names: list[str], most: int = 6) -> str:
    """Names in a row: ``a``, ``a and b``, ``a, b and 4 more``."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
