"""Traces over time: the raters' lines, what they share, its band, and below it how far apart raters are."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from heartfelt.report.charts import Axis, Key, TracePanel, axis
from heartfelt.report.drawing.style import COLUMN, PAGE, PrintFigure, gridlines, rows_and_columns, scale, shortened
from heartfelt.report.palette import BASE_COLOUR, SOFT

ROW = 2.1
"""Inches for the panels of one row."""


def draw_traces(panels: Sequence[TracePanel], _: Sequence[Key]) -> Figure:
    """Two panels across, each with its spread below it."""
    down, across = rows_and_columns(len(panels), 2)
    figure = PrintFigure(figsize=(PAGE if across > 1 else COLUMN * 1.4, 0.2 + ROW * down), layout="constrained")
    grid = figure.subfigures(down, across, squeeze=False)
    for index, part in enumerate(grid.flat):
        if index < len(panels):
            panel = panels[index]
            above, below = part.subplots(2, 1, sharex=True, height_ratios=(3, 1))
            _courses(above, panel)
            _spread(below, panel)
    return figure


def _courses(axes: Axes, panel: TracePanel) -> None:
    axes.set_title(shortened(panel.title, 40))
    gridlines(axes, "y")
    scale(axes, "y", panel.y)
    lines = [list(zip(panel.moments, rater_values, strict=True)) for rater_values in panel.raters]
    axes.add_collection(LineCollection(lines, colors=SOFT, linewidths=0.4, alpha=0.45, zorder=2), autolim=False)
    if panel.low:
        axes.fill_between(panel.moments, panel.low, panel.high, color=BASE_COLOUR, alpha=0.2, linewidth=0, zorder=3)
    axes.plot(panel.moments, panel.shared, color=BASE_COLOUR, linewidth=1.3, zorder=4)


def _spread(axes: Axes, panel: TracePanel) -> None:
    scale(axes, "x", panel.x)
    height = axis("SD", [spread for _, spread in panel.spread], include=[0.0])
    scale(
        axes,
        "y",
        Axis(label="SD", low=height.low, high=height.high, ticks=height.ticks[:: max(1, len(height.ticks) - 1)]),
    )
    axes.plot([at for at, _ in panel.spread], [spread for _, spread in panel.spread], color=SOFT, linewidth=0.9)
