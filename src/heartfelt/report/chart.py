"""What a figure shows, as plain data: Matplotlib draws it for print, the page's script draws it for reading.

Both draw the same numbers, and ``rows`` is the table behind them. ``panels`` are read by the chart's type; the keys of
each type stand at the top of its module in ``heartfelt.report.prints``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Plain: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure ready to be drawn."""

    type: str
    title: str
    caption: str
    panels: Sequence[Plain]
    rows: Sequence[Plain]
    legend: Sequence[Plain] = ()
    """Entries ``{label, colour, shape}``."""

    def to_json(self) -> dict[str, Any]:
        """Everything but the table."""
        return {
            "type": self.type,
            "title": self.title,
            "caption": self.caption,
            "panels": [dict(panel) for panel in self.panels],
            "legend": [dict(entry) for entry in self.legend],
        }


@dataclass(frozen=True, slots=True)
class Absent:
    """A figure this study has no data for, and why."""

    why: str


def axis(
    label: str, values: Sequence[float | None], *, include: Sequence[float] = (), pad: float = 0.06
) -> dict[str, Any]:
    """An axis wide enough for ``values`` and ``include``, with round ticks."""
    known = [float(value) for value in (*values, *include) if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    margin = (high - low) * pad
    low, high = low - margin * (low not in include), high + margin * (high not in include)
    return {"label": label, "low": low, "high": high, "ticks": ticks(low, high)}


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between ``low`` and ``high``."""
    import math

    raw = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(place * step, 10) for place in range(first, last + 1)]
