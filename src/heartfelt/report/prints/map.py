"""Maps of what was perceived, one per system.

A panel has axes ``x`` and ``y``, ``points`` ``{x, y, group}``, ``crosses`` (references), ``stars`` (means), ``ellipses``
``{x, y, long, short, angle, group}`` with the angle in radians, and ``colours`` by group.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heartfelt.report.chart import Chart
from heartfelt.report.palette import INK, LINE
from heartfelt.report.prints.style import PAGE, grid_of, scale, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def paint(chart: Chart) -> Figure:
    """Draw the maps in rows of three, with one legend."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    down, across = grid_of(len(chart.panels), 3)
    side = PAGE / max(across, 2)
    figure = Figure(figsize=(side * across, 0.45 + down * (side * 0.98)), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for place, (axes, panel) in enumerate(zip(grid.flat, chart.panels, strict=False)):
        _panel(axes, panel)
        if place % across:
            axes.set_ylabel("")
        if place + across < len(chart.panels):
            axes.set_xlabel("")
    for axes in list(grid.flat)[len(chart.panels) :]:
        axes.set_axis_off()
    keys = [
        Line2D([], [], linestyle="", marker="o", color=entry["colour"], markersize=5, label=entry["label"])
        for entry in chart.legend
    ]
    keys += [
        Line2D([], [], linestyle="", marker="*", color=INK, markersize=7, label="mean"),
        Line2D([], [], linestyle="", marker="x", color=INK, markersize=5, label="reference"),
    ]
    figure.legend(
        handles=keys,
        loc="outside lower center",
        ncols=3 if across < 3 else 6,
        handletextpad=0.1,
        columnspacing=0.9,
        fontsize=6.3,
    )
    return figure


def _panel(axes: Axes, panel: Mapping[str, Any]) -> None:
    from matplotlib.patches import Ellipse

    colours = panel["colours"]
    axes.set_title(shortened(panel["title"], 28))
    for key in ("x", "y"):
        low, high = panel[key]["low"], panel[key]["high"]
        room = 0.04 * (high - low)
        scale(axes, key, {**panel[key], "low": low - room, "high": high + room})
        (axes.axvline if key == "x" else axes.axhline)((low + high) / 2, color=LINE, linewidth=0.8, zorder=0)
    axes.set_aspect(
        "equal"
        if panel["x"]["high"] - panel["x"]["low"] == panel["y"]["high"] - panel["y"]["low"]
        else "auto",
        adjustable="box",
    )
    points = panel["points"]
    if points:
        axes.scatter(
            [p["x"] for p in points],
            [p["y"] for p in points],
            s=4,
            c=[colours.get(p["group"] or "", colours[""]) for p in points],
            alpha=0.45,
            linewidths=0,
            zorder=2,
            rasterized=len(points) > 2000,
        )
    for e in panel["ellipses"]:
        colour = colours.get(e["group"] or "", colours[""])
        place, size, angle = (e["x"], e["y"]), (2 * e["long"], 2 * e["short"]), math.degrees(e["angle"])
        axes.add_patch(Ellipse(place, *size, angle=angle, facecolor=colour, alpha=0.1, linewidth=0, zorder=1))
        axes.add_patch(
            Ellipse(place, *size, angle=angle, fill=False, edgecolor=colour, linewidth=0.9, zorder=3)
        )
    _marks(axes, panel["crosses"], colours, "x")
    _marks(axes, panel["stars"], colours, "*")


def _marks(axes: Axes, marks: Sequence[Mapping[str, Any]], colours: Mapping[str, str], shape: str) -> None:
    """Crosses, or stars with an outline."""
    if not marks:
        return
    across, up = [mark["x"] for mark in marks], [mark["y"] for mark in marks]
    shades = [colours.get(mark["group"] or "", colours[""]) for mark in marks]
    if shape == "x":
        axes.scatter(across, up, marker=shape, s=14, c=shades, linewidths=0.9, zorder=5)
    else:
        axes.scatter(across, up, marker=shape, s=60, c=shades, edgecolors=INK, linewidths=0.5, zorder=5)
