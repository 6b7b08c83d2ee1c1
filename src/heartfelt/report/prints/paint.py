"""From a chart to a Matplotlib figure, by the chart's type."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from heartfelt.errors import UnknownNameError, suggestion
from heartfelt.report.chart import Chart
from heartfelt.report.prints.style import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TYPES = ("columns", "intervals", "plane", "map", "curve", "heatmap", "dumbbell")


def paint(chart: Chart) -> Figure:
    """Draw ``chart``."""
    if chart.type not in TYPES:
        raise UnknownNameError(
            f"There is no type of chart called '{chart.type}'.", suggestion(chart.type, TYPES, "Types")
        )
    painter: Callable[[Chart], Figure] = import_module(f"heartfelt.report.prints.{chart.type}").paint
    with style():
        return painter(chart)
