"""How numbers read in sentences: as papers print them, without a leading zero where a figure cannot pass 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Est = Mapping[str, Any]


def number(value: float | None, places: int = 2) -> str:
    """A number with fixed places and no negative zero."""
    if value is None:
        return "none"
    text = f"{value:,.{places}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.,") else text


def share(value: float | None, places: int = 2) -> str:
    """A number that cannot pass 1, without its leading zero: ``.84``."""
    text = number(value, places)
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def p_value(p: float | None) -> str:
    """``p < .001`` or ``p = .032``."""
    if p is None:
        return "p not available"
    return "p < .001" if p < 0.001 else f"p = {share(p, 3)}"


def with_interval(found: Est, places: int = 2, *, bare: bool = True) -> str:
    """``.84 [.80, .87]``; ``bare`` drops leading zeros."""
    write = share if bare else number
    if found["value"] is None:
        return "not available"
    if bare and 0.985 <= found["value"] < 1:
        places = max(places, 3)
    text = write(found["value"], places)
    if found.get("low") is None or found.get("high") is None:
        return text
    if write(found["low"], places) == write(found["high"], places) and found["low"] < found["high"]:
        # An interval that rounds to a point would look like a certainty.
        places += 1
    return f"{write(found['value'], places)} [{write(found['low'], places)}, {write(found['high'], places)}]"


def f_test(row: Mapping[str, Any]) -> str:
    """``F(5, 974) = 150.53, p < .001, eta squared = .123``."""
    if row["F"] is None:
        return f"no test ({row.get('why_missing', 'no F')})"
    second = row["df"][1]
    df = "inf" if second is None else f"{second:.0f}" if float(second).is_integer() else f"{second:.1f}"
    text = f"F({row['df'][0]}, {df}) = {number(row['F'])}, {p_value(row['p'])}"
    eta = row.get("eta_squared")
    return text if eta is None else f"{text}, eta squared = {share(eta, 3)}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 rater``, ``2 raters``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def sentence(parts: Sequence[str]) -> str:
    """Clauses as one sentence that begins with a capital; nothing for no clauses."""
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def listed(names: Sequence[str], most: int = 8) -> str:
    """``a, b and c``; long lists are cut with how many are left."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"
