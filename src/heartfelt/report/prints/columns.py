"""Columns (histograms). A panel has ``bars`` of ``{label, value, colour}``, an ``x`` label and a ``y`` axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartfelt.report.chart import Chart
from heartfelt.report.prints.style import COLUMN, PAGE, grid_of, gridlines, longest, scale, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def paint(chart: Chart) -> Figure:
    """Draw the columns."""
    from matplotlib.figure import Figure

    down, across = grid_of(len(chart.panels), 3)
    width = COLUMN if across == 1 else PAGE
    figure = Figure(figsize=(width, 0.3 + down * (2.1 if across < 3 else 1.8)), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    for axes, panel in zip(grid.flat, chart.panels, strict=False):
        bars = panel["bars"]
        places = range(len(bars))
        axes.bar(places, [bar["value"] for bar in bars], width=0.82, color=[bar["colour"] for bar in bars])
        axes.set_title(shortened(panel["title"], 60 // across))
        scale(axes, "y", panel["y"])
        gridlines(axes, "y")
        labels = [shortened(str(bar["label"]), 24) for bar in bars]
        step = max(
            1, len(bars) * (longest(labels) + 1) // (52 if width == PAGE and across == 1 else 60 // across)
        )
        turned = longest(labels) > 6 and len(bars) > 4
        axes.set_xticks(
            list(places)[:: 1 if turned else step],
            labels[:: 1 if turned else step],
            rotation=40 if turned else 0,
            ha="right" if turned else "center",
            rotation_mode="anchor" if turned else "default",
        )
        axes.set_xlabel(panel["x"]["label"])
        room = max(0.0, (5 - len(bars)) / 2)
        axes.set_xlim(-0.6 - room, len(bars) - 0.4 + room)
    for axes in list(grid.flat)[len(chart.panels) :]:
        axes.set_axis_off()
    return figure
