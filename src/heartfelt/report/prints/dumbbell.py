"""Before and after. A panel has a ``value`` axis and ``rows`` of ``{label, before, after}``, each side ``{value, low, high}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartfelt.report.chart import Chart
from heartfelt.report.palette import SOFT
from heartfelt.report.prints.style import MARKERS, PAGE, gridlines, scale, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

APART = 0.16


def paint(chart: Chart) -> Figure:
    """Draw the panels below each other, each with its own unit."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    sizes = [len(panel["rows"]) + 1.4 for panel in chart.panels]
    figure = Figure(figsize=(PAGE * 0.8, 0.45 + 0.2 * sum(sizes) + 0.15 * len(sizes)), layout="constrained")
    grid = figure.subplots(len(chart.panels), 1, squeeze=False, height_ratios=sizes)
    for axes, panel in zip(grid.flat, chart.panels, strict=True):
        gridlines(axes, "x")
        scale(axes, "x", panel["value"])
        for place, row in enumerate(panel["rows"]):
            axes.plot(
                [row["before"]["value"], row["after"]["value"]], [place - APART, place + APART], color=SOFT, linewidth=0.8, zorder=2
            )
            for side, entry, offset in (("before", chart.legend[0], -APART), ("after", chart.legend[1], APART)):
                one = row[side]
                if one["low"] is not None:
                    axes.hlines(place + offset, one["low"], one["high"], color=entry["colour"], linewidth=1.0, zorder=3)
                axes.plot(
                    one["value"], place + offset, MARKERS[entry["shape"]], color=entry["colour"], markersize=3.6, zorder=4
                )
        axes.set_yticks(range(len(panel["rows"])), [wrapped(row["label"], 60).split("\n")[0] for row in panel["rows"]], fontsize=6.3)
        axes.set_ylim(len(panel["rows"]) - 0.4, -0.6)
    keys = [
        Line2D([], [], linestyle="", marker=MARKERS[entry["shape"]], color=entry["colour"], markersize=4, label=entry["label"])
        for entry in chart.legend
    ]
    figure.legend(handles=keys, loc="outside upper right", ncols=2, handletextpad=0.2)
    return figure
